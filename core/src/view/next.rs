//! The one command that a person types next.
//!
//! Invariant: it changes something. Not here: all the ways out of a dead end, which the last result names.

use alloc::{borrow::ToOwned, string::String};

use super::StatusView;
use crate::{
    doc::Node,
    state::RunStatus,
    step::{World, correct::doubts, remedies},
    verdict::assertions,
};

const RUN: &str = "descent run";

pub fn next(world: &World, live: bool) -> String {
    if live {
        return "descent stop".to_owned();
    }
    of_idle(world, is_changed_since(world))
}

impl StatusView {
    /// The file was edited since the last commit. A loop at work takes that in by itself, else the next one does.
    pub fn note_edit(&mut self, world: &World) {
        if !self.live {
            self.next = of_idle(world, true);
        }
    }
}

fn of_idle(world: &World, is_changed: bool) -> String {
    match world.state.run.status {
        RunStatus::Completed => remedies::after_completion(&world.state).to_owned(),
        RunStatus::NeedsGuidance if ended_by(world, "confirmation") => {
            let open = assertions::open(&world.state);
            open.first()
                .map_or_else(|| RUN.to_owned(), |name| assertions::command(name))
        }
        RunStatus::NeedsGuidance if !doubts(&world.state).is_empty() => {
            "descent resolve".to_owned()
        }
        // The next run would end as the last one did, unless a person changes something.
        RunStatus::Exhausted | RunStatus::NeedsGuidance if !is_changed => dead_end(world),
        RunStatus::Exhausted | RunStatus::NeedsGuidance => RUN.to_owned(),
        RunStatus::Aligned | RunStatus::Running | RunStatus::Redirecting | RunStatus::Stopped => {
            RUN.to_owned()
        }
    }
}

/// Whether a person changed something since the last run ended.
fn is_changed_since(world: &World) -> bool {
    let result = world.state.run.last_result.as_ref();
    let ended = result.and_then(|result| result.get("at")?.as_str());
    let corrections = world.state.corrections.iter();
    let times = corrections.filter_map(|one| one.node.get("timestamp").and_then(Node::as_str));
    times.max() > ended
}

/// The first command among the moves that the last ending named: it stands for the cause.
fn dead_end(world: &World) -> String {
    let result = world.state.run.last_result.as_ref();
    let moves = result.and_then(|result| result.get("next_moves")?.as_array());
    let mut moves = moves.unwrap_or_default().iter().filter_map(Node::as_str);
    let command = moves.find(|one| one.starts_with("descent "));
    command.unwrap_or("descent edit").to_owned()
}

/// Whether the last result has this reason.
fn ended_by(world: &World, reason: &str) -> bool {
    let result = world.state.run.last_result.as_ref();
    result.and_then(|result| result.get("reason")?.as_str()) == Some(reason)
}
