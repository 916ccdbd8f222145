//! The state file in the hands of a person or an editor.

pub(crate) mod broken;
pub(crate) mod edit;
pub(crate) mod editor;
pub(crate) mod editors;
pub(crate) mod forged;
pub(crate) mod ground;
pub(crate) mod noticed;
pub(crate) mod stale;
pub(crate) mod twelve;
