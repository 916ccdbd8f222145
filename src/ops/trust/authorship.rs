//! Files that were found and not named: whether this account wrote them, by their owner and by what git has.
//!
//! Invariant: a missing fact never makes a file look more familiar than its owner and git show. Not here: what a
//! configuration can start (`configured`).

use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use descent_core::{
    id::Lineage,
    trust::{Hand, TrustList},
};

use super::{by_attempt, configured};
use crate::{
    config::{self, Config},
    failure::{Failure, exit, quoted},
    files::{self, private},
    git::Git,
    store::{LoadedState, StatePlace, Store},
    trust::{Fact, Records},
};

/// A larger file is not read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The reason to ask about a configuration in a file of one's own.
const BY_ATTEMPT: &str = "has commands or settings that an attempt of a run wrote";

/// The reason to ask about a file; `None` if this account wrote it, so that git has nothing or something else.
pub(super) fn doubt(project: &Path, path: &Path) -> Option<String> {
    let as_git_has_it = || {
        let why = "is as git has it, and was never allowed here";
        is_as_git_has_it(project, path)?.then(|| why.to_owned())
    };
    of_another_account(path).or_else(as_git_has_it)
}

/// A path that is no file (standard input, a pipe) is the person's own doing.
pub(super) fn of_another_account(path: &Path) -> Option<String> {
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    private::another(Hand { uid: meta.uid(), mode: meta.mode() })
}

/// `None` also if git is missing or does not work: then nothing came by it.
fn is_as_git_has_it(project: &Path, path: &Path) -> Option<bool> {
    let named = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
    let path = path.canonicalize().ok().filter(|path| path.is_file())?;
    let project = Git::open(project).ok()??;
    // A link that git brings may lead to a text that was written for another project.
    if named.is_symlink() && project.tracks_link(&[named]) {
        return Some(true);
    }
    // A submodule inside of this repository has a HEAD of its own.
    let git = Git::open(path.parent()?).ok()??;
    let top = project.top().canonicalize().ok()?;
    if !git.top().canonicalize().ok()?.starts_with(top) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = files::open_linked(&path).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(git.has_as_is(&path, &bytes))
}

/// Files that came with commits: a state, and its sidecars.
#[derive(Debug, Default)]
pub(super) struct CommittedFiles {
    /// The reason to ask about the state.
    pub(super) state: Option<String>,
    /// This program never commits any.
    pub(super) sidecars: Vec<PathBuf>,
}

pub(super) fn committed(store: &Store, loaded: &LoadedState) -> CommittedFiles {
    let place = store.place();
    let Some(Ok(Some(git))) = place.state.parent().map(Git::open) else {
        return CommittedFiles::default();
    };
    let mut asked = store.sidecars();
    asked.push(place.state.clone());
    let (states, sidecars): (Vec<_>, Vec<_>) =
        git.committed(&asked).into_iter().partition(|path| *path == place.state);
    let is_as_is = !states.is_empty() && git.has_as_is(&place.state, loaded.bytes());
    // A journal that git does not have was written here.
    let is_ours = || sidecars.is_empty() && is_in_journal(store, loaded);
    let why = "git has the file as it is, and the journal beside it does not";
    CommittedFiles { state: (is_as_is && !is_ours()).then(|| why.to_owned()), sidecars }
}

fn is_in_journal(store: &Store, loaded: &LoadedState) -> bool {
    let kept = store.history().state(&loaded.state.lineage, loaded.state.serial);
    kept.is_some_and(|past| past.bytes == loaded.bytes())
}

/// The reason to ask about what a project's configuration starts, behind the name of its file. Content that was used in
/// the lineage is allowed there, also when it is committed.
pub(super) fn config_doubt(
    project: &Path,
    carried: &TrustList,
    lineage: Option<&Lineage>,
    records: &Records,
) -> Option<String> {
    let digest = carried.digest();
    if carried.is_empty() || records.hold(&Fact::Content(digest.clone())) {
        return None;
    }
    if by_attempt::has_written(project, carried, records) {
        return Some(BY_ATTEMPT.to_owned());
    }
    let was_used = |lineage: &Lineage| Fact::InLineage(lineage.clone(), digest);
    if lineage.map(was_used).is_some_and(|fact| records.hold(&fact)) {
        return None;
    }
    doubt(project, &project.join(config::FILE_NAME))
}

/// The reason to start and read nothing of a project's configuration; `None` if it is the person's own, or was allowed.
/// Nobody is asked, and nothing is recorded.
pub fn refused_configuration(place: &StatePlace, config: &Config) -> Option<String> {
    let carried = configured::of_layer(&config.project);
    let here = Store::open(place.clone()).read().ok();
    let lineage = here.as_ref().map(|loaded| &loaded.state.lineage);
    config_doubt(&place.project, &carried, lineage, &Records::find())
}

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
