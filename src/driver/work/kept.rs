//! The rest of an attempt: its change, and whether it failed for want of room.

use std::path::{Path, PathBuf};

use descent_core::{
    event::{NotTaken, Outcome, Product},
    verdict::CommandEnd,
};

use super::Attempting;
use crate::{
    failure::{Failure, Lack, exit},
    space,
    workspace::{self, MadeChange},
};

/// Whether an attempt that failed may have changed files. A transient one is made again, and one that was not run did
/// nothing.
pub(super) fn may_have_changed(how: &CommandEnd) -> bool {
    match how {
        CommandEnd::Exit(code) => *code != TRANSIENT,
        CommandEnd::Signal(_) | CommandEnd::TimedOut => true,
        CommandEnd::NotRun(_) => false,
    }
}

/// The content of the workspace, as a commit that outlives it.
pub(super) fn made(a: &Attempting, message: &str) -> Result<Option<MadeChange>, Failure> {
    let (Some(base), Some(trees)) = (&a.intent.base, a.executor.workspaces.trees()) else {
        return Ok(None);
    };
    let at = workspace::time_of(&a.intent.at);
    let made = trees.made(a.slot, base, message, at)?;
    if let Product::Commit(commit) = &made.product {
        trees.keep_made(&a.intent.id, commit, base)?;
    }
    Ok(Some(made))
}

/// The files that a failed attempt changed, and what no commit takes of the others. It is only for a person to look at,
/// so an obstacle is no error.
pub(super) fn keep_failed(a: &Attempting, message: &str) -> (Vec<String>, NotTaken) {
    let (Some(base), Some(trees)) = (&a.intent.base, a.executor.workspaces.trees()) else {
        return Default::default();
    };
    let at = workspace::time_of(&a.intent.at);
    let kept = trees.keep_failed(&a.intent.id, a.slot, base, message, at);
    kept.unwrap_or_else(|error| {
        tracing::warn!(%error, attempt = %a.intent.id, "the change of a failed attempt is not kept");
        Default::default()
    })
}

/// A failure on a full disk proves nothing about the atom: it is retried like any transient
/// failure.
pub(super) fn without_room(outcome: Outcome, places: [&PathBuf; 2]) -> Outcome {
    if outcome.how == CommandEnd::Exit(0) {
        return outcome;
    }
    match places.into_iter().find(|place| space::is_used_up(place)) {
        None => outcome,
        Some(place) => Outcome {
            how: CommandEnd::Exit(TRANSIENT),
            agent_end: None,
            last_line: Some(format!("no room is left on the disk of {}", place.display())),
            ..outcome
        },
    }
}

pub(super) fn has_room(at: &Path) -> Result<(), Failure> {
    if !space::is_used_up(at) {
        return Ok(());
    }
    let message = format!("no room is left on the disk of {}", at.display());
    Err(Failure::new("E-IO", exit::IO, message, "").lacking(Some(Lack::Space)))
}

/// The exit code that asks for a retry, by the contract.
const TRANSIENT: i32 = 75;
