//! The next command for a person to type.
//!
//! Invariant: it changes something, and following it from command to command never comes back to where it began.
//! Not here: all the ways out of a dead end, which the last result names.

use super::StatusView;
use crate::doc::prelude::*;
use crate::{
    id::{AtomId, CommitId},
    state::{AtomStatus, Reason, RunStatus},
    step::{remedies, run_end},
    verdict::assertions,
    wording,
    world::{World, earlier::doubts},
};

const RUN: &str = "descent run";
/// The next goal is agreed on in the same way as the first.
const ALIGN: &str = "descent align";

/// Facts beside the state that the next command depends on.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// A loop holds the lease.
    pub live: bool,
    /// The result that was brought home last.
    pub applied: Option<CommitId>,
}

pub fn next(world: &World, around: &Surroundings) -> String {
    match (around.live, world.state.run.status) {
        (true, RunStatus::Redirecting) => "descent redirect --abort".to_owned(),
        // Its loop only waits for the words of the final answer.
        (true, _) if wording::asked(&world.state).is_none() => "descent stop".to_owned(),
        _ => of_idle(world, around),
    }
}

/// The moves of a person by the state alone, which does not tell whether a loop lives.
pub(super) fn by_the_state(world: &World) -> Vec<String> {
    if world.state.run.status.is_active() {
        return Vec::from(["descent status".to_owned()]);
    }
    let is_changed = is_changed_since(world);
    let mut moves = Vec::from([of_idle(world, &Surroundings::default())]);
    // A change since the ending may have followed one of its moves.
    for other in run_end::moves_of_last(world).into_iter().filter(|_| !is_changed) {
        if !moves.contains(&other) {
            moves.push(other);
        }
    }
    moves
}

/// The command after `verify`, which never is `verify` again.
pub fn after_verify(world: &World, around: &Surroundings) -> String {
    let next = next(world, around);
    match next.as_str() {
        "descent verify" => ALIGN.to_owned(),
        "descent stop" => "descent status".to_owned(),
        _ => next,
    }
}

/// The command after `why ATOM`: not another explanation of the same cause.
pub fn after_why(world: &World, around: &Surroundings, explained: &AtomId) -> String {
    // A loop that is at work is left to it.
    if around.live {
        return "descent status".to_owned();
    }
    let task = world.state.atoms.get(explained).and_then(|one| one.task());
    if task.is_some_and(|task| task.open_question().is_some()) {
        return remedies::answer(explained);
    }
    if let Some(AtomStatus::Invalid(_) | AtomStatus::NeedsGuidance) = task.map(|task| &task.status)
    {
        return remedies::guide(explained);
    }
    let next = next(world, around);
    if next != format!("descent why {explained}") {
        return next;
    }
    let is_change = |one: &String| one.starts_with("descent ") && !one.starts_with("descent why ");
    let change = run_end::moves_of_last(world).into_iter().find(is_change);
    change.unwrap_or_else(|| "descent edit".to_owned())
}

impl StatusView {
    /// The file was edited since the last commit. A loop at work takes that in by itself, else the next one does.
    pub fn note_edit(&mut self, world: &World) {
        if !self.live && is_changed_since(world) {
            let is_sure = doubts(&world.state).is_empty();
            self.next = if is_sure { RUN } else { "descent confirm" }.to_owned();
        }
    }
}

fn of_idle(world: &World, around: &Surroundings) -> String {
    let (run, is_changed) = (&world.state.run, is_changed_since(world));
    match run.status {
        RunStatus::Completed if is_changed => RUN.to_owned(),
        RunStatus::Completed
            if run.result().is_some() && run.result() == around.applied.as_ref() =>
        {
            ALIGN.to_owned()
        }
        RunStatus::Completed => remedies::after_completion(&world.state).to_owned(),
        RunStatus::NeedsGuidance | RunStatus::Stopped if !doubts(&world.state).is_empty() => {
            "descent confirm".to_owned()
        }
        // A person gave work back: the next run does it first.
        RunStatus::NeedsGuidance if is_changed && !world.split().1.is_empty() => RUN.to_owned(),
        RunStatus::NeedsGuidance if ended_by(world, Reason::Confirmation) => {
            let open = assertions::open(&world.state);
            open.first().map_or_else(|| RUN.to_owned(), |name| assertions::command(name))
        }
        // The next run would end like the last one, unless a person changes something.
        RunStatus::Exhausted | RunStatus::NeedsGuidance if !is_changed => dead_end(world),
        RunStatus::Exhausted | RunStatus::NeedsGuidance => RUN.to_owned(),
        // An agent cannot work before a person has done something.
        RunStatus::Stopped if !is_changed && ended_by(world, Reason::Unavailable) => {
            run_end::moves_of_last(world).into_iter().next().unwrap_or_else(|| RUN.to_owned())
        }
        RunStatus::Aligned | RunStatus::Running | RunStatus::Redirecting | RunStatus::Stopped => {
            RUN.to_owned()
        }
    }
}

/// Whether a person changed something since the last run ended.
pub(super) fn is_changed_since(world: &World) -> bool {
    let ended = world.state.run.ending.ended.as_ref();
    let corrections = world.state.corrections.iter();
    let times = corrections.filter_map(|one| one.data.timestamp.as_ref());
    times.max() > ended
}

/// The first command among the moves that the last ending named: it fits the cause.
fn dead_end(world: &World) -> String {
    let command = run_end::moves_of_last(world).into_iter().find(|one| one.starts_with("descent "));
    command.unwrap_or_else(|| "descent edit".to_owned())
}

/// Whether the last result has this reason.
fn ended_by(world: &World, reason: Reason) -> bool {
    world.state.run.ending.reason == Some(reason)
}
