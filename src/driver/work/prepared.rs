//! The tree of an attempt before its step: the change that it begins with, and what `setup` did there.

use std::path::PathBuf;

use descent_core::{prompt::TreeStart, world::earlier};

use super::Attempting;
use crate::{driver::blocking::with_trees, failure::Failure, workspace::WorkspaceError};

/// Lays the change that the attempt begins with on its tree. Gives its paths where `setup` follows.
pub(super) async fn start(a: &Attempting) -> Result<(TreeStart, Vec<PathBuf>), Failure> {
    let clean = (TreeStart::Clean, Vec::new());
    let (Some(earlier), Some(base)) =
        (earlier::begins_with(&a.world.state, &a.intent), a.intent.base.clone())
    else {
        return Ok(clean);
    };
    let (workspaces, slot) = (a.workspaces.clone(), a.slot);
    let start = with_trees(&a.workspaces, move || {
        let Some(trees) = workspaces.trees() else {
            return Ok(clean);
        };
        let start = trees.begin_with(&earlier, slot, &base)?;
        let laid = match (&start, workspaces.setup()) {
            (TreeStart::Laid(_), Some(_)) => trees.changed_in_slot(slot)?,
            _ => Vec::new(),
        };
        Ok::<_, WorkspaceError>((start, laid))
    });
    Ok(start.await??)
}

/// Notes what `setup` changed, which is no part of the attempt's change.
pub(super) async fn note_setup(a: &Attempting, laid: Vec<PathBuf>) -> Result<(), Failure> {
    let (workspaces, slot, base) = (a.workspaces.clone(), a.slot, a.intent.base.clone());
    let note = with_trees(&a.workspaces, move || match (workspaces.trees(), base) {
        (Some(trees), Some(base)) => trees.note_setup(slot, &base, laid),
        _ => Ok(()),
    });
    Ok(note.await??)
}
