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
    trust::{Hand, TrustList, is_another_hand},
};

use super::{by_attempt, configured};
use crate::{
    config::{self, Config},
    files,
    git::Git,
    store::{LoadedState, StatePlace, Store},
    trust::{self, Fact, Records},
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
    another(Hand { uid: meta.uid(), mode: meta.mode() })
}

pub(super) fn another(hand: Hand) -> Option<String> {
    let is_another = is_another_hand(hand, trust::me());
    is_another.then(|| format!("belongs to another account ({})", hand.uid))
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

/// The judgement about what a project's configuration starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConfigStanding {
    Allowed,
    /// This account wrote it.
    Own,
    /// The reason to ask, behind the name of the file.
    Doubted(String),
}

impl ConfigStanding {
    /// A configuration that was used in the lineage is allowed there, also when it is committed.
    pub(super) fn of(
        project: &Path,
        carried: &TrustList,
        lineage: Option<&Lineage>,
        records: &Records,
    ) -> Self {
        let digest = carried.digest();
        if carried.is_empty() || records.hold(&Fact::Content(digest.clone())) {
            return Self::Allowed;
        }
        if by_attempt::has_written(project, carried, records) {
            return Self::Doubted(BY_ATTEMPT.to_owned());
        }
        let was_used = |lineage: &Lineage| Fact::InLineage(lineage.clone(), digest);
        if lineage.map(was_used).is_some_and(|fact| records.hold(&fact)) {
            return Self::Allowed;
        }
        doubt(project, &project.join(config::FILE_NAME)).map_or(Self::Own, Self::Doubted)
    }
}

/// The reason to start and read nothing of a project's configuration; `None` if it is the person's own, or was allowed.
/// Nobody is asked, and nothing is recorded.
pub fn refused_configuration(place: &StatePlace, config: &Config) -> Option<String> {
    let carried = configured::of_layer(&config.project);
    let here = Store::open(place.clone()).read().ok();
    let lineage = here.as_ref().map(|loaded| &loaded.state.lineage);
    match ConfigStanding::of(&place.project, &carried, lineage, &Records::find()) {
        ConfigStanding::Doubted(why) => Some(why),
        ConfigStanding::Allowed | ConfigStanding::Own => None,
    }
}
