//! The workspace of an agreement that names none. Outside of any repository it is written down, so that later changes
//! around the state decide nothing.
//!
//! Invariant: nobody works in place who did not ask for it.

use std::{path::Path, sync::Arc};

use descent_core::state::{State, Workspace};

use crate::{
    failure::{Failure, exit, quoted},
    git::Git,
    workspace::{Size, size_of},
};

/// Writes down `shadow` for an agreement outside of any repository that names no workspace. A large directory is left
/// as it is: its size is returned, and a person has to choose.
pub fn presume(top: &Path, state: &mut State) -> Result<Size, Failure> {
    let constraints = &state.objective.constraints;
    // A repository that cannot be used is for `git` to refuse.
    let is_open = constraints.workspace.is_none() && matches!(Git::open(top), Ok(None));
    if !is_open {
        return Ok(Size::Usual);
    }
    let size = size_of(top, constraints)?;
    if size == Size::Usual {
        set(state, Workspace::Shadow);
    }
    Ok(size)
}

pub fn set(state: &mut State, kind: Workspace) {
    Arc::make_mut(&mut state.objective).constraints.workspace = Some(kind);
}

/// The refusal if nobody can be asked.
pub fn too_large(top: &Path, what: &str, largest: &Path) -> Failure {
    let message = format!(
        "{} is no repository, and holds {what} (most in {}): attempts would work on copies of them",
        top.display(),
        largest.display()
    );
    let hint = format!(
        "share what need not be copied: --link {}; or say so: --set workspace=shadow copies all, --set workspace=shared works in place, with nothing undone",
        quoted(largest)
    );
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint)
}
