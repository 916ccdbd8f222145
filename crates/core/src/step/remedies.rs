//! Suggests what a person may do after a run: commands to type, and edits that open failed work again.
//!
//! Invariant: every remedy changes something. Not here: what the next run makes of an edit (`change`).

use super::transaction::Transaction;
use crate::doc::prelude::*;
use crate::state::limits::{INTERRUPTIONS_MAX, REPAIRS_MAX};
use crate::{
    event::Reason,
    graph::{Ix, NodeKind},
    id::AtomId,
    measure, profile,
    search::ranking::{self, Round},
    state::{
        AtomStatus, FailureClass, OnStuck, RunStatus, State, Task, Try, TryEnd, UsageLimit,
        atom::replans_left,
    },
    verdict::assertions,
    world::earlier,
};

/// Next moves at most, unless more limits than usual are reached.
const MOVES_MAX: usize = 5;

pub(super) fn next_moves(
    transaction: &Transaction,
    status: RunStatus,
    reason: Reason,
) -> Vec<String> {
    let mut moves = Vec::new();
    match (status, reason) {
        (RunStatus::Completed, _) => moves.push(after_completion(&transaction.state).to_string()),
        (RunStatus::Stopped, _) => moves.push("descent run".to_string()),
        (_, Reason::NoChoice) => moves = out_of_a_dead_end(transaction),
        (_, Reason::Passes) => moves = more_passes(transaction),
        (_, Reason::Abandoned) => {
            moves.push(more_planning(transaction));
            moves.extend(out_of_a_dead_end(transaction));
            moves.truncate(MOVES_MAX);
        }
        (_, Reason::Iterations) => moves.push(raise(transaction, RaisableLimit::Iterations)),
        (_, Reason::Time) => moves.push(raise(transaction, RaisableLimit::Time)),
        (_, Reason::Calls | Reason::Tokens | Reason::Cost) => {
            let limit = reason.usage_limit().map(RaisableLimit::Usage);
            moves.extend(limit.map(|limit| raise(transaction, limit)));
        }
        (_, Reason::InDoubt) => {
            let doubts = earlier::doubts(&transaction.state);
            for doubt in doubts.iter().take(MOVES_MAX / 2) {
                for answer in ["", " --no"] {
                    moves.push(format!("descent confirm {}{answer}", doubt.attempt));
                }
            }
        }
        (_, Reason::Guidance) => moves = guidance(&transaction.state),
        (_, Reason::Confirmation) => {
            let open = assertions::open(&transaction.state);
            moves.extend(open.iter().map(|name| assertions::command(name)));
            let waiting = transaction.state.run.in_flight.iter();
            moves.extend(waiting.map(|intent| format!("descent diff {}", intent.atom)));
            moves.truncate(MOVES_MAX - 1);
            moves.push("descent run".to_string());
        }
        (_, _) => moves.push("descent status".to_string()),
    }
    moves
}

/// Commands for the atoms that need guidance.
fn guidance(state: &State) -> Vec<String> {
    let asks = state.atoms.iter().filter(|(_, atom)| {
        let status = atom.task().map(|task| &task.status);
        status == Some(&AtomStatus::NeedsGuidance)
    });
    let asks = asks.take(MOVES_MAX / 2);
    let moves = asks.flat_map(|(id, atom)| match atom.task().and_then(Task::open_question) {
        Some(_) => Vec::from([answer(id), format!("descent why {id}")]),
        None => Vec::from([guide(id), format!("descent why {id}")]),
    });
    moves.collect()
}

/// The command that answers the question of an atom.
pub fn answer(id: &AtomId) -> String {
    format!("descent guide \"the answer\" --for {id}")
}

/// The command that helps an atom.
pub fn guide(id: &AtomId) -> String {
    format!("descent guide \"what it should know\" --for {id}")
}

/// The open atoms under the selection in force that an agent called impossible, with its words.
pub(super) fn blocked(transaction: &Transaction) -> Vec<(&AtomId, &str)> {
    let blocked = transaction.live_tasks().filter_map(|(x, task)| match &task.status {
        AtomStatus::Invalid(report) => Some((transaction.graph.id(x), report.words.as_str())),
        _ => None,
    });
    blocked.collect()
}

/// Commands that try the first failed task under the selection in force again: as it is, or with a person's words.
fn tried_again(transaction: &Transaction) -> Vec<String> {
    let graph = &transaction.graph;
    let mut failed = graph.tasks_as_written().filter(|x| transaction.active.is_live(*x));
    let failed = failed.find_map(|x| {
        let task = transaction.task_of(graph.id(x))?;
        let mut ends = task.tries.iter().filter_map(|tried| tried.ended.as_ref());
        let is_wrong = ends.any(|end| matches!(end, TryEnd::Failed(FailureClass::Logical)));
        (is_wrong && task.status == AtomStatus::Failed).then_some((graph.id(x), task))
    });
    failed.map_or_else(Vec::new, |(id, task)| {
        let mut moves = vec![format!("descent retry {id}")];
        let asks = transaction.state.objective.constraints.on_stuck() == OnStuck::Ask;
        moves.extend((asks || task.spec.action.is_none()).then(|| guide(id)));
        moves
    })
}

/// A command after which planning goes on: the limits that are used up most are raised.
fn more_planning(transaction: &Transaction) -> String {
    let twice = u64::from(transaction.state.objective.constraints.planning.changes()) * 2;
    format!("descent run --set planning.changes={twice} --set law=show")
}

/// A command that allows another pass: what binds is raised, be it the limit, the kind of task, or both.
fn more_passes(transaction: &Transaction) -> Vec<String> {
    let state = &transaction.state;
    let allocated = state.run.passes.as_ref().map_or(1, |count| count.allocated);
    let most = profile::max_passes(&state.objective.constraints);
    let worth = profile::in_force(state).map_or(u32::MAX, |one| profile::passes(&one, u32::MAX));
    let mut sets = String::new();
    if most <= allocated {
        let twice = u64::from(allocated) * 2;
        sets.push_str(&format!(" --set planning.passes={twice}"));
    }
    let mut moves = vec!["descent edit".to_string()];
    if worth <= allocated {
        let said = state.objective.constraints.profile.clone();
        let said = said.or_else(|| profile::inferred_text(state));
        let more = said.and_then(|said| profile::worth_more(&said, allocated));
        let Some(more) = more else {
            return moves;
        };
        sets.push_str(&format!(" --set profile={}", more.as_str()));
    }
    moves.insert(0, format!("descent run{sets}"));
    moves
}

/// A limit that a person may raise, so that the run goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RaisableLimit {
    Attempts,
    Replans,
    Refinements,
    Iterations,
    Time,
    Usage(UsageLimit),
}

/// The command that doubles a limit. For attempts it doubles the limit of what failed, for iterations and time the
/// amount spent.
fn raise(transaction: &Transaction, limit: RaisableLimit) -> String {
    let constraints = &transaction.state.objective.constraints;
    let twice = |count: u32| u64::from(count).saturating_mul(2).max(1).to_string();
    let (key, value) = match limit {
        RaisableLimit::Attempts => ("max_attempts", twice(attempts_of_failed(transaction))),
        RaisableLimit::Replans => ("planning.changes", twice(constraints.planning.changes())),
        RaisableLimit::Refinements => {
            ("planning.refinements", twice(constraints.planning.refinements()))
        }
        RaisableLimit::Iterations => {
            let spent = transaction.state.run.iteration.max(1);
            ("budget.iterations", spent.saturating_mul(2).to_string())
        }
        RaisableLimit::Time => {
            let minutes = (transaction.spent_ms() / 60_000).saturating_add(1);
            ("budget.time", format!("{}m", minutes.saturating_mul(2)))
        }
        RaisableLimit::Usage(limit) => {
            let spent = transaction.state.run.spent.usage.of(limit);
            let most = constraints.usage(limit).unwrap_or(0).max(spent).max(1);
            (limit.key(), limit.text(most.saturating_mul(2)))
        }
    };
    format!("descent run --set {key}={value}")
}

/// The largest limit of attempts among the tasks that failed.
fn attempts_of_failed(transaction: &Transaction) -> u32 {
    let tasks = transaction.open_tasks().map(|(_, task)| task);
    let failed = tasks.filter(|task| task.tries.iter().any(|tried| tried.has_failed()));
    let limits = failed.map(|task| measure::attempts_max(&transaction.state, task));
    limits.max().unwrap_or(1)
}

/// The next command; a result that changes no file needs no `apply`.
pub fn after_completion(state: &State) -> &'static str {
    let run = &state.run;
    let start = run.started_from.as_ref().map(|start| &start.commit);
    if run.result() == start { "descent verify" } else { "descent apply" }
}

/// Commands that show the causes. Groups whose choices failed or were refuted come last, since no choice alone is the
/// cause. Tasks that failed whatever is chosen come first.
fn causes(transaction: &Transaction) -> Vec<String> {
    let graph = &transaction.graph;
    let failed = graph.tasks_as_written().filter(|x| {
        let task = transaction.task_of(graph.id(*x));
        task.is_some_and(|task| task.tries.iter().any(|tried| tried.has_failed()))
    });
    let mut groups: BTreeSet<Ix> = BTreeSet::new();
    let mut alone: Vec<Ix> = Vec::new();
    for x in failed {
        let above = graph.above(x).filter(|y| graph.vertex(*y).kind == NodeKind::Any);
        match above.last() {
            Some(group) => drop(groups.insert(group)),
            None => alone.push(x),
        }
    }
    if !transaction.refuted.is_empty() {
        groups.extend(graph.groups().filter(|group| graph.above(*group).next().is_none()));
    }
    let causes = alone.into_iter().chain(groups);
    causes.map(|x| format!("descent why {}", graph.id(x))).collect()
}

/// For a run in which every choice was tried: what failed, and what would open it again.
fn out_of_a_dead_end(transaction: &Transaction) -> Vec<String> {
    let (mut failed, mut remedies) = (causes(transaction), BTreeSet::new());
    let answers = blocked(transaction).into_iter().take(MOVES_MAX / 2);
    let answers = answers.map(|(id, _)| guide(id));
    for (x, task) in transaction.open_tasks() {
        let opening = task.tries.iter().filter(|tried| tried.has_failed());
        let id = transaction.graph.id(x);
        remedies.extend(opening.filter_map(|tried| remedy(&transaction.state, id, task, tried)));
    }
    remedies.extend(transaction.graph.plans().filter_map(|x| planned_out(transaction, x)));
    let grant = transaction.state.run.grant.as_ref();
    if grant.is_some_and(|grant| grant.is_in_force() && grant.left == 0) {
        remedies.insert(Remedy::Raise(RaisableLimit::Replans));
    }
    failed.truncate(MOVES_MAX.saturating_sub(remedies.len() + 1).max(1));
    let mut moves: Vec<String> = answers.chain(failed).collect();
    moves.push("add a choice or change an atom in the state file, then descent run".to_string());
    moves.extend(remedies.into_iter().map(|remedy| match remedy {
        Remedy::Raise(limit) => raise(transaction, limit),
        Remedy::Retry(id) => format!("descent retry {id}"),
        Remedy::Mend => "mend what made it fail, then descent run".to_string(),
    }));
    moves.extend(tried_again(transaction));
    moves
}

/// An edit or command that opens failed work again.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Remedy {
    /// The next run forgets it.
    Mend,
    Retry(AtomId),
    Raise(RaisableLimit),
}

/// `None` if an agent gave up: only another task helps.
fn remedy(state: &State, id: &AtomId, task: &Task, tried: &Try) -> Option<Remedy> {
    if !matches!(tried.ended, Some(TryEnd::Failed(FailureClass::Environmental))) {
        let is_spent = tried.attempts >= measure::attempts_max(state, task);
        return is_spent.then_some(Remedy::Raise(RaisableLimit::Attempts));
    }
    let is_over = task.interruptions >= INTERRUPTIONS_MAX || tried.repairs > REPAIRS_MAX;
    Some(if is_over { Remedy::Retry(id.clone()) } else { Remedy::Mend })
}

/// The limit that keeps a planning step from being planned again; `None` for a step inside a plan, whose grant stays.
fn planned_out(transaction: &Transaction, x: Ix) -> Option<Remedy> {
    let context = transaction.active.context(x)?;
    let plan = transaction.plan_of(transaction.graph.id(x)).filter(|plan| plan.grant.is_none())?;
    let last = Round::Made { may_plan_again: false };
    if ranking::round(&transaction.state, plan, context) != last {
        return None;
    }
    let is_of_all = replans_left(&transaction.state) == 0;
    Some(Remedy::Raise(if is_of_all { RaisableLimit::Replans } else { RaisableLimit::Refinements }))
}
