//! The workspace of an agreement that names none. Outside of any repository it is written down, so that later changes
//! around the state decide nothing.
//!
//! Invariant: nobody works in place who did not ask for it.

use std::{path::Path, sync::Arc};

use descent_core::state::{State, Workspace};

use super::{super::context::Context, questions};
use crate::{
    failure::{Failure, exit, quoted},
    git::Git,
    workspace::{Size, size_of},
};

/// Chooses the workspace of an agreement that names none: in a repository the default, elsewhere `shadow`. For a large
/// directory the person decides.
pub(super) fn choose(
    context: &Context,
    top: &Path,
    asks: bool,
    state: &mut State,
) -> Result<(), Failure> {
    if !is_open(top, state) {
        return Ok(());
    }
    let kind = match size_of(top, &state.objective.constraints)? {
        Size::Usual => Workspace::Shadow,
        Size::Large { what, largest } if asks => {
            let holds = format!("{} holds {what}", top.display());
            questions::workspace(context.out, &holds, &quoted(&largest))?
        }
        Size::Large { what, largest } => return Err(too_large(top, what, &largest)),
    };
    set(state, kind);
    Ok(())
}

/// The same without asking: a large directory is left to `run --set`.
pub(in super::super) fn presume(top: &Path, state: &mut State) -> Result<(), Failure> {
    if is_open(top, state) && size_of(top, &state.objective.constraints)? == Size::Usual {
        set(state, Workspace::Shadow);
    }
    Ok(())
}

/// Whether nobody chose, and there is no repository. A broken one is for `git` to refuse.
fn is_open(top: &Path, state: &State) -> bool {
    state.objective.constraints.workspace.is_none() && matches!(Git::open(top), Ok(None))
}

fn set(state: &mut State, kind: Workspace) {
    Arc::make_mut(&mut state.objective).constraints.workspace = Some(kind);
}

fn too_large(top: &Path, what: &str, largest: &Path) -> Failure {
    let message = format!(
        "{} is no repository, and holds {what} (most in {}): attempts would work on copies of them",
        top.display(),
        largest.display()
    );
    let hint = format!(
        "share what need not be copied: --link {}; or say so: --set workspace=shadow copies all, --set workspace=shared works in place, with nothing undone",
        quoted(largest)
    );
    Failure::new("E-SHADOW-LARGE", exit::NOT_ALIGNED, message, hint)
}
