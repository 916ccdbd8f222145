//! What a person may do when a run has ended: commands to type, and edits that open again what failed.
//!
//! Invariant: what is named changes something. Not here: what the next run makes of an edit (`correct`).

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{correct, draft::Draft};
use crate::{
    event::Reason,
    graph::Ix,
    measure,
    search::rounds::{self, Round},
    state::{Ended, FailureClass, RunStatus, State, Task, Try, atom::replans},
    verdict::assertions,
};

/// Next moves named at most, unless more limits than usual meet.
const MOVES_MAX: usize = 5;

pub(super) fn next_moves(draft: &Draft, status: RunStatus, reason: Reason) -> Vec<String> {
    let mut moves = Vec::new();
    match (status, reason) {
        (RunStatus::Completed, _) => moves.push("descent apply".to_string()),
        (RunStatus::Stopped, _) => moves.push("descent run".to_string()),
        (_, Reason::NoChoice) => moves = out_of_a_dead_end(draft),
        (_, Reason::Iterations) => moves.push(raise("max_iterations")),
        (_, Reason::Time) => moves.push(raise("time_budget")),
        (_, Reason::InDoubt) => {
            let doubts = correct::doubts(&draft.state);
            for doubt in doubts.iter().take(MOVES_MAX / 2) {
                for answer in ["--done", "--retry"] {
                    moves.push(format!("descent resolve {} {answer}", doubt.attempt));
                }
            }
        }
        (_, Reason::Confirmation) => {
            let open = assertions::open(&draft.state);
            moves.extend(open.iter().map(|name| assertions::command(name)));
            moves.truncate(MOVES_MAX - 1);
            moves.push("descent run".to_string());
        }
        (_, _) => moves.push("descent status".to_string()),
    }
    moves
}

fn raise(limit: &str) -> String {
    format!("raise {limit} in the state file, then descent run")
}

/// Where every choice was tried: what failed, and what would open it again.
fn out_of_a_dead_end(draft: &Draft) -> Vec<String> {
    let (mut failed, mut remedies) = (Vec::new(), BTreeSet::new());
    for x in draft.graph.tasks() {
        let Some(task) = draft.task_of(draft.graph.id(x)) else {
            continue;
        };
        let opening = task.tries.iter().filter(|tried| tried.has_failed());
        let mut opening = opening
            .map(|tried| remedy(&draft.state, task, tried))
            .peekable();
        if opening.peek().is_some() {
            failed.push(format!("descent why {}", draft.graph.id(x)));
        }
        remedies.extend(opening.flatten());
    }
    remedies.extend(draft.graph.plans().filter_map(|x| planned_out(draft, x)));
    failed.truncate(MOVES_MAX.saturating_sub(remedies.len() + 1).max(1));
    let mut moves = failed;
    moves.push("add a choice or change an atom in the state file, then descent run".to_string());
    moves.extend(remedies.into_iter().map(|remedy| match remedy {
        Remedy::Raise(limit) => raise(limit),
        Remedy::Mend => "mend what made it fail, then descent run".to_string(),
    }));
    moves
}

/// What opens again what failed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Remedy {
    /// The next run forgets it.
    Mend,
    Raise(&'static str),
}

/// `None` where an agent gave up: only another task helps.
fn remedy(state: &State, task: &Task, tried: &Try) -> Option<Remedy> {
    let constraints = &state.objective.constraints;
    if !matches!(
        tried.ended,
        Some(Ended::Failed(FailureClass::Environmental))
    ) {
        let is_spent = tried.attempts >= measure::attempts_max(state, task);
        return is_spent.then_some(Remedy::Raise("max_attempts"));
    }
    Some(if task.interruptions >= constraints.max_interruptions() {
        Remedy::Raise("max_interruptions")
    } else if tried.repairs > constraints.max_repairs() {
        Remedy::Raise("max_repairs")
    } else {
        Remedy::Mend
    })
}

/// The limit that keeps a planning step from being planned again. What it was granted inside of a plan stays.
fn planned_out(draft: &Draft, x: Ix) -> Option<Remedy> {
    let context = draft.standing.context(x)?;
    let plan = draft
        .plan_of(draft.graph.id(x))
        .filter(|plan| plan.grant.is_none())?;
    let last = Round::Made {
        may_plan_again: false,
    };
    if rounds::round(&draft.state, plan, context) != last {
        return None;
    }
    let constraints = &draft.state.objective.constraints;
    let is_of_all = replans(&draft.state) >= u64::from(constraints.max_replans());
    Some(Remedy::Raise(if is_of_all {
        "max_replans"
    } else {
        "max_refinements_per_atom"
    }))
}
