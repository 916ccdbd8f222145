//! Questions to judging roles: asked once, the answer on the disk before the loop acts on it.
//!
//! Not here: which question, and what an answer means (the core).

use std::{path::Path, time::Duration};

use descent_core::{
    assessment, doc,
    event::{ConsultAnswer, ConsultEnd, Input, Outcome},
    fragment::delta,
    graph::unjudged,
    id::{AtomId, AttemptId},
    phase_summary,
    prompt::{self, Prompt, RatedDifference, RatingInputs},
    rating,
    state::{Consult, Intent, Leaf, Role, SideEffect, Usage},
    step::run_end,
    validation, wording,
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use super::{has_room, thinking::DeltaLook};
use crate::{
    agent::{self, AttemptJob, QUESTION_SLOT, QuestionForm},
    driver::{blocking::blocking, executor::RealExecutor, leftovers::note_of_consult},
    failure::Failure,
    workspace::Checkout,
};

/// A question, with the state that recorded it.
pub(super) struct Consulting {
    pub(super) executor: RealExecutor,
    pub(super) world: World,
    pub(super) session: Session,
    pub(super) consult: Consult,
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
    let intent = intent_of(&c.consult);
    let (attempts, its) = (c.executor.place.attempts(), intent.clone());
    let known = blocking(move || agent::finished(&attempts, &its)).await?;
    let outcome = match known {
        // It was answered before the loop died: nobody is asked twice.
        Some(outcome) => outcome,
        None => match ask(&c, intent, &cancel).await? {
            Some(outcome) => outcome,
            None => return Ok(None),
        },
    };
    Ok(Some(Input::Consulted { consult: c.consult.id, end: Box::new(end_of(outcome)) }))
}

async fn ask(
    c: &Consulting,
    intent: Intent,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, Failure> {
    let executor = &c.executor;
    let (workspaces, commit) = (executor.workspaces.clone(), c.consult.commit.clone());
    let made =
        blocking(move || workspaces.for_checks(Checkout::Consult, commit.as_ref())).await??;
    let tree = made.path;
    let Some((prompt, form)) = question(c, &tree).await? else {
        return Ok(None);
    };
    let maker = executor.agents.maker(&intent, false, &executor.environment, QUESTION_SLOT)?;
    let started = note_of_consult(&executor.place);
    let job = executor.job(&intent, maker, tree.clone(), started, timeout(c));
    let dir = job.dir.clone();
    [&tree, &dir].into_iter().try_for_each(|at| has_room(at))?;
    let made = agent::make(AttemptJob::question(job, &prompt, form), cancel).await?;
    let Some(mut outcome) = made else {
        return Ok(None);
    };
    if c.consult.role == Role::Refine
        && let ConsultAnswer::Value(node) = agent::answer_of(&outcome)
    {
        let look = look_at(c, &tree);
        outcome.facts = look.facts(&node);
        outcome.shell_faults = look.shell_faults(&node);
    }
    let kept = outcome.clone();
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

/// A question, and the form of its answer.
type PutQuestion = (Prompt, QuestionForm);

/// The question by its role; `None` if its subject is no more.
async fn question(c: &Consulting, tree: &Path) -> Result<Option<PutQuestion>, Failure> {
    let now = c.executor.clock.now();
    let (world, consult, role) = (c.world.clone(), &c.consult, c.consult.role);
    Ok(Some(match role {
        Role::Validate if consult.atom.is_some() => {
            let judged = unjudged::find(&world.graph, &world.state, &consult.subject);
            let (Some(prompt), Some(judged)) = (prompt::validating(&world, consult, now), judged)
            else {
                return Ok(None);
            };
            let read = move |node: &_| validation::read(node, |id| judged.is_of_it(id));
            (prompt, QuestionForm::new(role, validation::SCHEMA, read))
        }
        Role::Validate => {
            // All phases of a pass together.
            let prompt = prompt::reviewing(&world, now);
            let is_known = move |id: &str| id == unjudged::WHOLE_PLAN || has_atom(&world, id);
            let read = move |node: &_| validation::read(node, &is_known);
            (prompt, QuestionForm::new(role, validation::SCHEMA, read))
        }
        Role::Summarise => {
            let Some(prompt) = prompt::summarising(&world, consult, now) else {
                return Ok(None);
            };
            (prompt, QuestionForm::new(role, phase_summary::SCHEMA, phase_summary::read))
        }
        Role::Refine => {
            let prompt = prompt::refining(&world, c.executor.agents.worker().as_ref(), now);
            // The change is looked at in the tree in which it would be carried out.
            let look = look_at(c, tree);
            (prompt, QuestionForm::new(role, delta::schema(), move |node| look.fault(node)))
        }
        Role::Assess => {
            let prompt = prompt::assessing(&world, now);
            let read = move |node: &_| {
                let criteria = &world.state.objective.constraints.convergence;
                assessment::read(node, criteria, |id| has_atom(&world, id))
            };
            (prompt, QuestionForm::new(role, assessment::SCHEMA, read))
        }
        Role::Profile => (prompt::profiling(&world, now), agent::kind_of_task()),
        Role::Answer => {
            let compares = wording::compares(&world.state);
            let difference = if compares { Some(difference(c, None).await?) } else { None };
            let Some(result) = run_end::last_result(&world) else {
                return Ok(None);
            };
            let prompt = prompt::wording(&world, &result, difference.as_ref(), now);
            let read = move |node: &_| wording::read(node, compares);
            (prompt, QuestionForm::new(role, wording::schema(compares), read))
        }
        _ => return of_leaf(c).await,
    }))
}

fn has_atom(world: &World, id: &str) -> bool {
    world.state.atom(&AtomId::new(id)).is_some()
}

fn look_at(c: &Consulting, tree: &Path) -> DeltaLook {
    DeltaLook {
        world: c.world.clone(),
        consult: c.consult.id.clone(),
        tree: tree.to_owned(),
        path: c.executor.environment.path(),
        has_worker: c.executor.agents.worker().is_some(),
    }
}

async fn of_leaf(c: &Consulting) -> Result<Option<PutQuestion>, Failure> {
    let Some(check) = prompt::rated_leaf(&c.world, &c.consult).cloned() else {
        return Ok(None);
    };
    let scope = match check.leaf() {
        Some(Leaf::Quality(leaf)) => leaf.scope.clone(),
        _ => None,
    };
    let difference = difference(c, scope).await?;
    let prompt = prompt::rating(&RatingInputs {
        world: &c.world,
        session: &c.session,
        consult: &c.consult,
        difference: &difference,
        now: c.executor.clock.now(),
    });
    let schema = rating::schema(&check).map(|schema| doc::write_compact(&schema));
    let read = move |node: &_| rating::read(&check, node);
    let form = QuestionForm::new(c.consult.role, schema.unwrap_or_default(), read);
    Ok(prompt.map(|prompt| (prompt, form)))
}

/// The difference from the start of the run to the tree that is looked at.
async fn difference(c: &Consulting, scope: Option<String>) -> Result<RatedDifference, Failure> {
    let start = c.world.state.run.started_from.as_ref();
    let from = start.map(|start| start.commit.clone());
    let (workspaces, to) = (c.executor.workspaces.clone(), c.consult.commit.clone());
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
