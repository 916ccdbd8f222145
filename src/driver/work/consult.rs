//! Questions to judging roles: asked once, the answer on the disk before the loop acts on it.
//!
//! Not here: which question, and what an answer means (the core).

use std::{path::PathBuf, sync::Arc, time::Duration};

use descent_core::{
    doc::{self, Node},
    event::{AgentEnd, ConsultAnswer, ConsultEnd, Input, Outcome},
    id::{AtomId, AttemptId},
    prompt::{self, RatedDifference, RatingInputs},
    rating,
    state::{Check, Consult, Intent, Leaf, SideEffect, Usage},
    verdict::CommandEnd,
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::has_room;
use crate::{
    agent::{self, InputFile, LiveUsage, QuestionForm},
    clock::Clock,
    driver::{
        agents::Agents,
        blocking,
        executor::RealExecutor,
        leftovers::{mark_of, note_of_consult},
    },
    failure::Failure,
    process::{Programs, environment::Environment},
    store::StatePlace,
    workspace::{Checkout, Workspaces},
};

/// How long an answer may take, with its repairs.
const ANSWER_MAX: Duration = Duration::from_secs(5 * 60);
/// The exit code of a command that asks to be tried again.
const TRY_AGAIN: i32 = 75;
/// The slot of a question: no attempt has it.
const NO_SLOT: usize = usize::MAX;

/// Everything that a question needs, from the state that recorded it.
pub(super) struct Consulting {
    consult: Consult,
    intent: Intent,
    world: World,
    session: Session,
    agents: Agents,
    workspaces: Workspaces,
    environment: Environment,
    programs: Arc<dyn Programs>,
    clock: Arc<dyn Clock>,
    place: StatePlace,
    dir: PathBuf,
    mark: String,
}

impl Consulting {
    pub(super) fn of(
        executor: &RealExecutor,
        world: &World,
        session: &Session,
        consult: Consult,
    ) -> Self {
        let intent = intent_of(&consult);
        let place = executor.place.clone();
        Self {
            dir: place.attempts().join(intent.id.as_str()),
            mark: mark_of(&place, &executor.run, &intent.id),
            world: world.clone(),
            session: session.clone(),
            agents: executor.agents.clone(),
            workspaces: executor.workspaces.clone(),
            environment: executor.environment.clone(),
            programs: Arc::clone(&executor.programs),
            clock: Arc::clone(&executor.clock),
            place,
            intent,
            consult,
        }
    }
}

/// The identity of a question in its own directory: its answer is bound to it like the outcome of an attempt.
fn intent_of(consult: &Consult) -> Intent {
    Intent {
        id: AttemptId::new(consult.id.as_str()),
        atom: AtomId::new(consult.id.as_str()),
        context: consult.digest(),
        choices: Default::default(),
        epoch: consult.epoch,
        n: consult.n,
        effect: SideEffect::Tree,
        base: consult.commit.clone(),
        role: consult.role,
        agent: Some(consult.agent.clone()),
        reserved: Usage::default(),
        at: consult.at.clone(),
        extra: Default::default(),
    }
}

pub(super) async fn consult(
    c: Consulting,
    cancel: CancellationToken,
) -> Result<Option<Input>, Failure> {
    let (attempts, intent) = (c.place.attempts(), c.intent.clone());
    let known = blocking(move || agent::finished(&attempts, &intent)).await?;
    let outcome = match known {
        // It was answered before the loop died: nobody is asked twice.
        Some(outcome) => outcome,
        None => match ask(&c, &cancel).await? {
            Some(outcome) => outcome,
            None => return Ok(None),
        },
    };
    Ok(Some(Input::Consulted {
        consult: c.consult.id,
        end: Box::new(end_of(outcome)),
    }))
}

async fn ask(c: &Consulting, cancel: &CancellationToken) -> Result<Option<Outcome>, Failure> {
    let Some(check) = prompt::rated_leaf(&c.world, &c.consult).cloned() else {
        return Ok(None);
    };
    let (workspaces, commit) = (c.workspaces.clone(), c.consult.commit.clone());
    let made =
        blocking(move || workspaces.for_checks(Checkout::Consult, commit.as_ref())).await??;
    let Some(prompt) = told(c, &check).await? else {
        return Ok(None);
    };
    let maker = c.agents.maker(&c.intent, false, &c.environment, NO_SLOT)?;
    let files = prompt.files.iter().map(|file| InputFile {
        name: file.name.to_owned(),
        bytes: file.text.clone().into_bytes(),
    });
    let job = agent::AttemptJob {
        intent: &c.intent,
        prompt: prompt.text(),
        files: files.collect(),
        bindings: String::new(),
        usage: LiveUsage::new(maker.price(), Usage::default()),
        maker,
        cwd: made.path,
        dir: c.dir.clone(),
        started: note_of_consult(&c.place),
        timeout: ANSWER_MAX,
        env: c.environment.clone(),
        programs: &*c.programs,
        mark: c.mark.clone(),
        setup: None,
        session: None,
        keep: None,
        shape: None,
        budget: None,
        question: Some(form(c, check)),
    };
    [&job.cwd, &job.dir]
        .into_iter()
        .try_for_each(|at| has_room(at))?;
    let Some(outcome) = agent::make(job, cancel).await? else {
        return Ok(None);
    };
    let (dir, intent, kept) = (c.dir.clone(), c.intent.clone(), outcome.clone());
    blocking(move || agent::record(&dir, &intent, &kept, true)).await??;
    Ok(Some(outcome))
}

fn form(c: &Consulting, check: Check) -> QuestionForm {
    let schema = rating::schema(&check).map(|schema| doc::write_compact(&schema));
    QuestionForm {
        role: c.consult.role,
        schema: schema.unwrap_or_default(),
        fault: Arc::new(move |object| {
            let read = object_of(object).ok_or_else(|| "it is no JSON object".to_owned());
            read.and_then(|node| rating::read(&check, &node)).err()
        }),
    }
}

/// The prompt of the question; git is asked for the difference.
async fn told(c: &Consulting, check: &Check) -> Result<Option<prompt::Prompt>, Failure> {
    let scope = match check.leaf() {
        Some(Leaf::Quality(leaf)) => leaf.scope.clone(),
        _ => None,
    };
    let from = c
        .world
        .state
        .run
        .started_from
        .as_ref()
        .map(|start| start.commit.clone());
    let (workspaces, to) = (c.workspaces.clone(), c.consult.commit.clone());
    let difference = blocking(move || match (workspaces.trees(), from, to) {
        (Some(trees), Some(from), Some(to)) => trees.difference(&from, &to, scope.as_deref()),
        _ => Ok(RatedDifference::default()),
    });
    let difference = difference.await??;
    Ok(prompt::rating(&RatingInputs {
        world: &c.world,
        session: &c.session,
        consult: &c.consult,
        difference: &difference,
        now: c.clock.now(),
    }))
}

/// A text that is one JSON object.
pub fn object_of(text: &str) -> Option<Node> {
    let parsed = doc::parse(text.trim(), &doc::Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    node.filter(|node| node.as_object().is_some())
}

fn end_of(outcome: Outcome) -> ConsultEnd {
    ConsultEnd {
        usage: outcome.usage.clone(),
        duration_ms: outcome.duration_ms,
        answer: answer_of(&outcome),
    }
}

/// The answer in the outcome of a question, not judged yet.
pub fn answer_of(outcome: &Outcome) -> ConsultAnswer {
    match &outcome.agent_end {
        Some(AgentEnd::Unavailable {
            kind,
            words,
            variable,
        }) => {
            return ConsultAnswer::Unavailable {
                kind: *kind,
                words: words.clone(),
                variable: variable.clone(),
            };
        }
        Some(AgentEnd::Limited { until }) => return ConsultAnswer::Limited { until: *until },
        Some(AgentEnd::Done) | None => {}
        Some(end) => return ConsultAnswer::Silent(end.text()),
    }
    let last = outcome.last_line.as_deref().unwrap_or_default();
    match &outcome.how {
        CommandEnd::Exit(0) => {}
        CommandEnd::Exit(TRY_AGAIN) => {
            return ConsultAnswer::Silent(format!("it asks to be tried again: {last}"));
        }
        how => return ConsultAnswer::Silent(format!("{}: {last}", how.text())),
    }
    if let Some(fault) = &outcome.report_fault {
        return ConsultAnswer::Faulty(fault.clone());
    }
    let printed = outcome.stdout.as_deref().unwrap_or_default();
    match object_of(&agent::last_object(printed)) {
        Some(object) => ConsultAnswer::Value(object),
        None => ConsultAnswer::Faulty("its answer holds no JSON object".to_owned()),
    }
}
