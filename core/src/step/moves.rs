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
    graph::{Ix, Kind},
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
        (_, Reason::Unavailable) => moves.push("mend what it says, then descent run".to_string()),
        (RunStatus::Stopped, _) => moves.push("descent run".to_string()),
        (_, Reason::NoChoice) => moves = out_of_a_dead_end(draft),
        (_, Reason::Iterations) => moves.push(raise(draft, "max_iterations")),
        (_, Reason::Time) => moves.push(raise(draft, "time_budget")),
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

/// The command that doubles a limit.
fn raise(draft: &Draft, limit: &str) -> String {
    let constraints = &draft.state.objective.constraints;
    let count = |count: u64| count.saturating_mul(2).max(1);
    let value = match limit {
        "max_iterations" => count(draft.state.run.iteration.max(1)),
        "max_attempts" => count(u64::from(constraints.max_attempts_of_any())),
        "max_interruptions" => count(u64::from(constraints.max_interruptions())),
        "max_repairs" => count(u64::from(constraints.max_repairs())),
        "max_replans" => count(u64::from(constraints.max_replans())),
        "max_refinements_per_atom" => count(u64::from(constraints.max_refinements_per_atom())),
        _ => return format!("descent run --set {limit}={}m", minutes(draft)),
    };
    format!("descent run --set {limit}={value}")
}

/// Twice the active time that was spent, in whole minutes.
fn minutes(draft: &Draft) -> u64 {
    (draft.spent_ms() / 60_000)
        .saturating_add(1)
        .saturating_mul(2)
}

/// What a person looks at first: the groups whose choices failed or were refuted, since none of the choices alone is the
/// cause; then what failed whatever is chosen.
fn causes(draft: &Draft) -> Vec<String> {
    let graph = &draft.graph;
    let failed = graph.tasks().filter(|x| {
        let task = draft.task_of(graph.id(*x));
        task.is_some_and(|task| task.tries.iter().any(|tried| tried.has_failed()))
    });
    let mut groups: BTreeSet<Ix> = BTreeSet::new();
    let mut alone: Vec<Ix> = Vec::new();
    for x in failed {
        let above = graph
            .above(x)
            .filter(|y| graph.vertex(*y).kind == Kind::Any);
        match above.last() {
            Some(group) => drop(groups.insert(group)),
            None => alone.push(x),
        }
    }
    if !draft.refuted.is_empty() {
        groups.extend(
            graph
                .groups()
                .filter(|group| graph.above(*group).next().is_none()),
        );
    }
    let causes = alone.into_iter().chain(groups);
    causes
        .map(|x| format!("descent why {}", graph.id(x)))
        .collect()
}

/// Where every choice was tried: what failed, and what would open it again.
fn out_of_a_dead_end(draft: &Draft) -> Vec<String> {
    let (mut failed, mut remedies) = (causes(draft), BTreeSet::new());
    for x in draft.graph.tasks() {
        let Some(task) = draft.task_of(draft.graph.id(x)) else {
            continue;
        };
        let opening = task.tries.iter().filter(|tried| tried.has_failed());
        remedies.extend(opening.filter_map(|tried| remedy(&draft.state, task, tried)));
    }
    remedies.extend(draft.graph.plans().filter_map(|x| planned_out(draft, x)));
    failed.truncate(MOVES_MAX.saturating_sub(remedies.len() + 1).max(1));
    let mut moves = failed;
    moves.push("add a choice or change an atom in the state file, then descent run".to_string());
    moves.extend(remedies.into_iter().map(|remedy| match remedy {
        Remedy::Raise(limit) => raise(draft, limit),
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
