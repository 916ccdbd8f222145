//! A `.descent` that is a link: whether a person made it, or it came with a clone.
//!
//! Not here: a directory of another account, and a link among the sidecars (`store`).

use std::path::{Path, PathBuf};

use crate::{
    failure::{Failure, exit, quoted},
    git::Git,
    store::StatePlace,
};

/// Refuses a place that was found, if a link leads out of the project and may be another's doing. The repository tracks
/// it, or it leads into the state of another repository, whose commands were allowed there.
///
/// # Errors
/// `E-OTHERS-PLACE`.
pub fn refuse_link(place: &StatePlace) -> Result<(), Failure> {
    let links: Vec<PathBuf> = place.usual_path().into_iter().filter(|path| is_link(path)).collect();
    let Some(link) = links.first() else {
        return Ok(());
    };
    // Without git nothing came with a clone.
    let git = Git::open(&place.project).ok().flatten();
    if git.as_ref().is_some_and(|git| git.tracks_link(&links)) {
        return Err(refused(place, link, "the repository tracks it"));
    }
    if leads_into_another(place, git.as_ref()) {
        Err(refused(place, link, "it is the state of another repository"))
    } else {
        Ok(())
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

fn leads_into_another(place: &StatePlace, git: Option<&Git>) -> bool {
    let other = place.project_of_state();
    let other = other.filter(|other| *other != place.project);
    let other = other.and_then(|other| Git::open(other).ok().flatten());
    let top = |git: &Git| git.top().canonicalize().ok();
    other.is_some_and(|other| git.is_none_or(|git| top(git) != top(&other)))
}

fn refused(place: &StatePlace, link: &Path, why: &str) -> Failure {
    let (state, shown) = (quoted(&place.state), link.display());
    let message =
        format!("{shown} is a link to {}, and is not followed: {why}", place.state.display());
    let hint = format!(
        "rm {} takes the link away; descent --state {state} status, where you mean that very state",
        quoted(link)
    );
    Failure::new("E-OTHERS-PLACE", exit::UNTRUSTED, message, hint)
}
