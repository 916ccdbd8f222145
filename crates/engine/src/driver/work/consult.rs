//! Questions to agents that think: asked once, the answer on the disk before the loop acts on it. The form of the answers of
//! planners and probes, and faults that the core cannot see.
//!
//! Not here: which question, and what an answer means (the core).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use descent_core::{
    answer_forms,
    doc::Node,
    event::{ConsultAnswer, ConsultEnd, Input, Outcome},
    fragment::{self, ProposedParts, delta, delta::DeltaRequest},
    id::ConsultId,
    json_schema,
    judging::PlanFacts,
    state::{
        AnswerForm, Check, Consult, Intent, Leaf, Moment, Question, Role,
        answer_records::ProbeAnswer,
    },
    wording,
    world::{Session, World, fragment_request},
};
use descent_minds::prompt::{self, Prompt, QuestionInputs, RatedDifference};
use tokio_util::sync::CancellationToken;

use super::{Attempting, has_room};
use crate::{
    driver::{
        executor::{RealExecutor, blocking, with_trees},
        resume::note_of,
    },
    plan_surroundings::PlanPlace,
};
use descent_agent::agent::{self, AttemptJob, LiveUsage, ObjectJudge, QUESTION_SLOT, QuestionForm};
use descent_store as store;
use descent_system::failure::Failure;
use descent_workspace::{Checkout, Warmth};

/// A question, with the state that recorded it.
pub(super) struct Consulting {
    pub(super) executor: RealExecutor,
    pub(super) cancel: CancellationToken,
    pub(super) world: World,
    pub(super) session: Session,
    pub(super) consult: Consult,
}

pub(super) async fn consult(c: Consulting) -> Result<Option<Input>, Failure> {
    let intent = Intent::of_question(&c.consult);
    let (attempts, its) = (c.executor.place.attempts(), intent.clone());
    let known = blocking(move || Ok(agent::finished(&attempts, &its))).await?;
    let outcome = match known {
        // It was answered before the loop died: nobody is asked twice.
        Some(outcome) => outcome,
        None => match ask(&c, intent).await? {
            Some(outcome) => outcome,
            None => return Ok(None),
        },
    };
    let end = ConsultEnd {
        answer: agent::answer_of(&outcome),
        usage: outcome.usage,
        duration_ms: outcome.duration_ms,
        facts: outcome.facts,
        shell_faults: outcome.shell_faults,
    };
    Ok(Some(Input::Consulted { consult: c.consult.id, end: Box::new(end) }))
}

async fn ask(c: &Consulting, intent: Intent) -> Result<Option<Outcome>, Failure> {
    let executor = &c.executor;
    let (workspaces, commit) = (executor.workspaces.clone(), c.consult.commit.clone());
    let made = blocking(move || {
        Ok(workspaces.for_checks(Checkout::Consult, commit.as_ref(), Warmth::Cold)?)
    })
    .await?;
    let tree = made.path;
    let Some((prompt, form)) = question(c, &tree).await? else {
        return Ok(None);
    };
    let maker = executor.agents.maker(&intent, false, &executor.environment, QUESTION_SLOT)?;
    let started = note_of(&executor.place, QUESTION_SLOT);
    let job = executor.job(&intent, maker, tree.clone(), started, timeout(c), None);
    let dir = job.dir.clone();
    [&tree, &dir].into_iter().try_for_each(|at| has_room(at))?;
    let mut attempt = AttemptJob::question(job, &prompt, form);
    let before = agent::kept_usage(&executor.place.attempts(), &intent).unwrap_or_default();
    attempt.usage = LiveUsage::new(attempt.context.maker.price(), before);
    let usage = attempt.usage.clone();
    let made = tokio::select! {
        made = agent::make(attempt, &c.cancel) => made?,
        never = executor.follow(&intent, &usage) => match never {},
    };
    let Some(mut outcome) = made else {
        return Ok(None);
    };
    if c.consult.question.row().form == AnswerForm::Change
        && let ConsultAnswer::Value(node) = agent::answer_of(&outcome)
    {
        let look = look_at(c, &tree);
        outcome.facts = look.facts(&node);
        outcome.shell_faults = look.shell_faults(&node);
    }
    let kept = outcome.clone();
    blocking(move || Ok(agent::record(&dir, &intent, &kept, true)?)).await?;
    Ok(Some(outcome))
}

/// How long an answer may take.
fn timeout(c: &Consulting) -> Duration {
    let attempt_ms = c.world.state.objective.constraints.attempt_timeout_ms();
    match c.consult.question.row().moment {
        Moment::Ended => agent::WORDING_MAX.min(Duration::from_millis(attempt_ms)),
        _ => agent::ANSWER_MAX,
    }
}

/// A question, and the form of its answer.
type PutQuestion = (Prompt, QuestionForm);

/// The words of the question, and the form of its answer; `None` if its subject is no more.
async fn question(c: &Consulting, tree: &Path) -> Result<Option<PutQuestion>, Failure> {
    let (consult, asked) = (&c.consult, c.consult.question);
    let state = &c.world.state;
    let rated = answer_forms::rated_leaf(state, consult).and_then(Check::leaf);
    let difference = match rated {
        Some(Leaf::Quality(leaf)) => Some(difference(c, leaf.scope.clone()).await?),
        _ if asked == Question::Word && wording::compares(state) => {
            Some(difference(c, None).await?)
        }
        _ => None,
    };
    let schema = answer_forms::schema(&c.world, asked, Some(consult));
    let form = if asked.row().form == AnswerForm::Change {
        // The change is looked at in the tree in which it would be carried out.
        let look = look_at(c, tree);
        QuestionForm::new(asked, schema, move |node| look.fault(node))
    } else {
        let (world, consult) = (c.world.clone(), consult.clone());
        let judge = move |node: &_| answer_forms::judge(&world, &consult, node);
        QuestionForm::new(asked, schema, judge)
    };
    let worker = c.executor.agents.worker();
    let inputs = QuestionInputs {
        world: &c.world,
        now: c.executor.clock.now(),
        consult: Some(consult),
        session: Some(&c.session),
        difference: difference.as_ref(),
        worker: worker.as_ref(),
    };
    Ok(prompt::question(asked, &inputs).map(|prompt| (prompt, form)))
}

fn look_at(c: &Consulting, tree: &Path) -> DeltaLook {
    DeltaLook {
        world: c.world.clone(),
        consult: c.consult.id.clone(),
        place: place_in(Some(tree.to_owned()), &c.executor, &c.world),
        has_worker: c.executor.agents.worker().is_some(),
    }
}

/// The difference to the tree that is looked at: from the start of the run, or from what an attempt is laid on.
async fn difference(c: &Consulting, scope: Option<String>) -> Result<RatedDifference, Failure> {
    let start = c.world.state.run.started_from.as_ref();
    let from = start.map(|start| start.commit.clone());
    let from = c.consult.from.clone().or(from);
    let (to, rates) = (c.consult.commit.clone(), c.consult.leaf.is_some());
    let difference = with_trees(&c.executor.workspaces, move |workspaces| {
        match (workspaces.trees(), from, to) {
            (Some(trees), Some(from), Some(to)) => {
                let mut found = trees.difference(&from, &to, scope.as_deref())?;
                if rates {
                    found.whole = trees.whole_texts(&to, &found.files)?;
                }
                Ok(found)
            }
            _ => Ok(RatedDifference::default()),
        }
    });
    difference.await
}

/// The form of the answer of an attempt that only thinks.
pub(super) fn form(a: &Attempting) -> Option<QuestionForm> {
    let (schema, fault): (String, ObjectJudge) = if a.intent.role == Role::Probe {
        let read = |text: &str| answer_forms::read::<ProbeAnswer>(&answer_forms::object(text)?);
        let schema = json_schema::of_answer(&ProbeAnswer::RULE, &[]);
        (schema, Arc::new(move |text: &str| read(text).err()))
    } else if a.is_plan {
        let (world, intent, place) = (a.world.clone(), a.intent.clone(), place_of(a));
        let fault = move |object: &str| {
            let asked = fragment_request(&world, &intent);
            fragment::fault(asked, object, |questions| place.facts(questions))
        };
        (fragment::schema(), Arc::new(fault))
    } else {
        return None;
    };
    Some(QuestionForm { duty: a.intent.role.into(), schema, fault })
}

/// The tree of an attempt as the place of its plan. Without one everything counts as being there.
fn place_of(a: &Attempting) -> PlanPlace {
    let project = a.executor.workspaces.as_left(a.slot).ok().map(|dir| dir.path);
    place_in(project, &a.executor, &a.world)
}

fn place_in(project: Option<PathBuf>, executor: &RealExecutor, world: &World) -> PlanPlace {
    let constraints = world.state.objective.constraints.clone();
    PlanPlace { project, path: executor.environment.path(), constraints }
}

/// The things that a plan names and the machine lacks.
pub(super) fn facts(a: &Attempting, outcome: &Outcome) -> PlanFacts {
    place_of(a).facts(fragment::proposed(outcome).questions)
}

/// Faults of a plan that the core cannot see.
pub(super) fn shell_faults(outcome: &Outcome, has_worker: bool) -> Vec<(String, String)> {
    unseen(fragment::proposed(outcome), has_worker)
}

fn unseen(proposed: ProposedParts, has_worker: bool) -> Vec<(String, String)> {
    let patterns = store::pattern_faults(&proposed.patterns).into_iter();
    let patterns = patterns.map(|fault| (fault.pointer, fault.message));
    let what = "it has no `action`, and there is no worker to do it";
    let nobody = proposed.without_action.into_iter().filter(|_| !has_worker);
    patterns.chain(nobody.map(|at| (at, what.to_owned()))).collect()
}

/// A refiner's change beside the plan that it changes, and the place in which it would be carried out.
struct DeltaLook {
    world: World,
    consult: ConsultId,
    place: PlanPlace,
    has_worker: bool,
}

impl DeltaLook {
    fn request(&self) -> DeltaRequest<'_> {
        DeltaRequest { state: &self.world.state, graph: &self.world.graph, consult: &self.consult }
    }

    fn facts(&self, answer: &Node) -> PlanFacts {
        self.place.facts(delta::proposed(self.request(), answer).questions)
    }

    fn shell_faults(&self, answer: &Node) -> Vec<(String, String)> {
        unseen(delta::proposed(self.request(), answer), self.has_worker)
    }

    /// # Errors
    /// What keeps an answer from being a change, in words to mend it by.
    fn fault(&self, answer: &Node) -> Result<(), String> {
        let judged = delta::judge(self.request(), answer, &self.facts(answer));
        let mut faults = judged.err().unwrap_or_default();
        let unseen = self.shell_faults(answer);
        faults.extend(fragment::faults_of_shell(&unseen));
        let lines: Vec<String> = faults.iter().map(fragment::line).collect();
        if lines.is_empty() { Ok(()) } else { Err(lines.join("; ")) }
    }
}
