//! The tree of an attempt before its step: the change that it begins with, and what `setup` did there.

use std::path::PathBuf;

use descent_core::{prompt::TreeStart, world::earlier};

use super::Attempting;
use crate::{driver::blocking::with_trees, failure::Failure};

/// Lays the change that the attempt begins with on its tree.
pub(super) async fn start(a: &Attempting) -> Result<TreeStart, Failure> {
    let (Some(earlier), Some(base)) = (
        earlier::begins_with(&a.world.state, &a.intent),
        a.intent.base.clone(),
    ) else {
        return Ok(TreeStart::Clean);
    };
    let (workspaces, slot) = (a.workspaces.clone(), a.slot);
    let start = with_trees(&a.workspaces, move || match workspaces.trees() {
        Some(trees) => trees.begin_with(&earlier, slot, &base),
        None => Ok(TreeStart::Clean),
    });
    Ok(start.await??)
}

/// The paths of the change that was laid on the tree.
pub(super) async fn laid(a: &Attempting) -> Result<Vec<PathBuf>, Failure> {
    let (workspaces, slot) = (a.workspaces.clone(), a.slot);
    let laid = with_trees(&a.workspaces, move || match workspaces.trees() {
        Some(trees) => trees.changed_in_slot(slot),
        None => Ok(Vec::new()),
    });
    Ok(laid.await??)
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
