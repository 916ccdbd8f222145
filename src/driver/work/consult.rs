//! Questions to judging roles: asked once, the answer on the disk before the loop acts on it.
//!
//! Not here: which question, and what an answer means (the core).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use descent_core::{
    assessment, doc,
    event::{ConsultAnswer, ConsultEnd, Input, Outcome},
    fragment::delta,
    graph::unjudged,
    id::{AtomId, AttemptId},
    phase_summary,
    prompt::{self, RatedDifference, RatingInputs},
    rating,
    state::{Check, Consult, Intent, Leaf, Role, SideEffect, Usage},
    step::run_end,
    validation, wording,
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{has_room, thinking::DeltaLook};
use crate::{
    agent::{self, QUESTION_SLOT, QuestionForm, QuestionJob},
    clock::Clock,
    driver::{
        agents::Agents,
        blocking::blocking,
        executor::RealExecutor,
        leftovers::{mark_of, note_of_consult},
    },
    failure::Failure,
    process::{Programs, environment::Environment},
    store::StatePlace,
    workspace::{Checkout, Workspaces},
};

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
    Ok(Some(Input::Consulted { consult: c.consult.id, end: Box::new(end_of(outcome)) }))
}

/// A question with its prompt, and the form of its answer.
struct PutQuestion {
    prompt: prompt::Prompt,
    form: QuestionForm,
}

async fn ask(c: &Consulting, cancel: &CancellationToken) -> Result<Option<Outcome>, Failure> {
    let (workspaces, commit) = (c.workspaces.clone(), c.consult.commit.clone());
    let made =
        blocking(move || workspaces.for_checks(Checkout::Consult, commit.as_ref())).await??;
    let Some(PutQuestion { prompt, form }) = question(c, &made.path).await? else {
        return Ok(None);
    };
    let maker = c.agents.maker(&c.intent, false, &c.environment, QUESTION_SLOT)?;
    let tree = made.path.clone();
    let job = QuestionJob {
        intent: &c.intent,
        prompt: &prompt,
        maker,
        cwd: made.path,
        dir: c.dir.clone(),
        started: note_of_consult(&c.place),
        env: c.environment.clone(),
        programs: &*c.programs,
        mark: c.mark.clone(),
        form,
        timeout: timeout(c),
    };
    [&job.cwd, &job.dir].into_iter().try_for_each(|at| has_room(at))?;
    let Some(mut outcome) = agent::make(job.into(), cancel).await? else {
        return Ok(None);
    };
    if c.consult.role == Role::Refine
        && let ConsultAnswer::Value(node) = agent::answer_of(&outcome)
    {
        let look = look_at(c, &tree);
        outcome.facts = look.facts(&node);
        outcome.shell_faults = look.shell_faults(&node);
    }
    let (dir, intent, kept) = (c.dir.clone(), c.intent.clone(), outcome.clone());
    blocking(move || agent::record(&dir, &intent, &kept, true)).await??;
    Ok(Some(outcome))
}

/// How long an answer may take.
fn timeout(c: &Consulting) -> Duration {
    let attempt_ms = c.world.state.objective.constraints.attempt_timeout_ms();
    match c.consult.role {
        Role::Answer => agent::WORDING_MAX.min(Duration::from_millis(attempt_ms)),
        _ => agent::ANSWER_MAX,
    }
}

/// The question by its role; `None` if its subject is no more.
async fn question(c: &Consulting, tree: &Path) -> Result<Option<PutQuestion>, Failure> {
    match c.consult.role {
        Role::Validate if c.consult.atom.is_some() => Ok(of_plan(c)),
        Role::Summarise => Ok(of_results(c)),
        Role::Validate => Ok(Some(of_phases(c))),
        Role::Refine => Ok(Some(of_change(c, tree))),
        Role::Assess => Ok(Some(of_pass(c))),
        Role::Profile => Ok(Some(of_kind(c))),
        Role::Answer => of_ending(c).await,
        _ => of_leaf(c).await,
    }
}

fn of_plan(c: &Consulting) -> Option<PutQuestion> {
    let prompt = prompt::validating(&c.world, &c.consult, c.clock.now())?;
    let judged = unjudged::find(&c.world.graph, &c.world.state, &c.consult.subject)?;
    let fault = move |object: &str| {
        let node = validation::read_text(object);
        let is_known = |id: &str| judged.is_of_it(id);
        let read = node.and_then(|node| validation::read(&node, is_known));
        read.err()
    };
    Some(PutQuestion {
        prompt,
        form: QuestionForm {
            role: c.consult.role,
            schema: validation::SCHEMA.to_owned(),
            fault: Arc::new(fault),
        },
    })
}

/// The results of a phase, to be put in short.
fn of_results(c: &Consulting) -> Option<PutQuestion> {
    let prompt = prompt::summarising(&c.world, &c.consult, c.clock.now())?;
    let fault = |object: &str| {
        let node = validation::read_text(object);
        node.and_then(|node| phase_summary::read(&node)).err()
    };
    Some(PutQuestion {
        prompt,
        form: QuestionForm {
            role: c.consult.role,
            schema: phase_summary::SCHEMA.to_owned(),
            fault: Arc::new(fault),
        },
    })
}

/// All phases of a pass together.
fn of_phases(c: &Consulting) -> PutQuestion {
    let world = c.world.clone();
    let fault = move |object: &str| {
        let node = validation::read_text(object);
        let is_known =
            |id: &str| id == unjudged::WHOLE_PLAN || world.state.atom(&AtomId::new(id)).is_some();
        let read = node.and_then(|node| validation::read(&node, is_known));
        read.err()
    };
    PutQuestion {
        prompt: prompt::reviewing(&c.world, c.clock.now()),
        form: QuestionForm {
            role: c.consult.role,
            schema: validation::SCHEMA.to_owned(),
            fault: Arc::new(fault),
        },
    }
}

/// A change of the plan, looked at in the tree in which it would be carried out.
fn of_change(c: &Consulting, tree: &Path) -> PutQuestion {
    let look = look_at(c, tree);
    let fault = move |object: &str| {
        let node = validation::read_text(object);
        node.and_then(|node| look.fault(&node)).err()
    };
    PutQuestion {
        prompt: prompt::refining(&c.world, c.agents.worker().as_ref(), c.clock.now()),
        form: QuestionForm {
            role: c.consult.role,
            schema: delta::schema(),
            fault: Arc::new(fault),
        },
    }
}

fn of_pass(c: &Consulting) -> PutQuestion {
    let world = c.world.clone();
    let fault = move |object: &str| {
        let node = validation::read_text(object);
        let is_known = |id: &str| world.state.atom(&AtomId::new(id)).is_some();
        let criteria = &world.state.objective.constraints.convergence;
        let read = node.and_then(|node| assessment::read(&node, criteria, is_known));
        read.err()
    };
    PutQuestion {
        prompt: prompt::assessing(&c.world, c.clock.now()),
        form: QuestionForm {
            role: c.consult.role,
            schema: assessment::SCHEMA.to_owned(),
            fault: Arc::new(fault),
        },
    }
}

/// The kind of the task.
fn of_kind(c: &Consulting) -> PutQuestion {
    PutQuestion { prompt: prompt::profiling(&c.world, c.clock.now()), form: agent::kind_of_task() }
}

/// The words of the final answer, where it is asked for with the difference that the work made.
async fn of_ending(c: &Consulting) -> Result<Option<PutQuestion>, Failure> {
    let compares = wording::compares(&c.world.state);
    let difference = if compares { Some(difference(c, None).await?) } else { None };
    let Some(result) = run_end::last_result(&c.world) else {
        return Ok(None);
    };
    let prompt = prompt::wording(&c.world, &result, difference.as_ref(), c.clock.now());
    let fault = move |object: &str| {
        let node = validation::read_text(object);
        node.and_then(|node| wording::read(&node, compares)).err()
    };
    let form = QuestionForm {
        role: c.consult.role,
        schema: wording::schema(compares),
        fault: Arc::new(fault),
    };
    Ok(Some(PutQuestion { prompt, form }))
}

fn look_at(c: &Consulting, tree: &Path) -> DeltaLook {
    DeltaLook {
        world: c.world.clone(),
        consult: c.consult.id.clone(),
        tree: tree.to_owned(),
        path: c.environment.path(),
        has_worker: c.agents.worker().is_some(),
    }
}

async fn of_leaf(c: &Consulting) -> Result<Option<PutQuestion>, Failure> {
    let Some(check) = prompt::rated_leaf(&c.world, &c.consult).cloned() else {
        return Ok(None);
    };
    let prompt = told(c, &check).await?;
    Ok(prompt.map(|prompt| PutQuestion { prompt, form: form(c, check) }))
}

fn form(c: &Consulting, check: Check) -> QuestionForm {
    let schema = rating::schema(&check).map(|schema| doc::write_compact(&schema));
    QuestionForm {
        role: c.consult.role,
        schema: schema.unwrap_or_default(),
        fault: Arc::new(move |object| {
            let node = agent::object(object);
            node.and_then(|node| rating::read(&check, &node)).err()
        }),
    }
}

/// The prompt of the question about a leaf.
async fn told(c: &Consulting, check: &Check) -> Result<Option<prompt::Prompt>, Failure> {
    let scope = match check.leaf() {
        Some(Leaf::Quality(leaf)) => leaf.scope.clone(),
        _ => None,
    };
    let difference = difference(c, scope).await?;
    Ok(prompt::rating(&RatingInputs {
        world: &c.world,
        session: &c.session,
        consult: &c.consult,
        difference: &difference,
        now: c.clock.now(),
    }))
}

/// The difference from the start of the run to the tree that is looked at.
async fn difference(c: &Consulting, scope: Option<String>) -> Result<RatedDifference, Failure> {
    let start = c.world.state.run.started_from.as_ref();
    let from = start.map(|start| start.commit.clone());
    let (workspaces, to) = (c.workspaces.clone(), c.consult.commit.clone());
    let difference = blocking(move || match (workspaces.trees(), from, to) {
        (Some(trees), Some(from), Some(to)) => trees.difference(&from, &to, scope.as_deref()),
        _ => Ok(RatedDifference::default()),
    });
    Ok(difference.await??)
}

fn end_of(outcome: Outcome) -> ConsultEnd {
    ConsultEnd {
        usage: outcome.usage.clone(),
        duration_ms: outcome.duration_ms,
        facts: outcome.facts.clone(),
        shell_faults: outcome.shell_faults.clone(),
        answer: agent::answer_of(&outcome),
    }
}
