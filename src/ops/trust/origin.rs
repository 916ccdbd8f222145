//! The facts about a file from which the core infers its origin: its owner, and git's record of it.

use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use descent_core::trust::{self as rule, Hand, Origin, OriginFacts};

use crate::{files, git::Git, store::Store, trust};

/// A larger file is not read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The origin of a plan or of `descent.toml`. A path that is no file (standard input, a pipe) is the person's own
/// doing.
pub(super) fn origin_of(project: &Path, path: &Path) -> Origin {
    let Ok(path) = path.canonicalize() else {
        return Origin::Own;
    };
    let Ok(meta) = path.metadata() else {
        return Origin::Own;
    };
    if !meta.is_file() {
        return Origin::Own;
    }
    let (uid, mode) = (meta.uid(), meta.mode());
    let history = history(project, &path);
    rule::origin(&OriginFacts { hand: Hand { uid, mode }, me: trust::me(), history })
}

/// `None` also if git is missing or does not work: a project without git has no committers.
fn history(project: &Path, path: &Path) -> Option<rule::History> {
    let project = Git::open(project).ok()??;
    // A submodule inside of this repository has a history of its own.
    let git = Git::open(path.parent()?).ok()??;
    let top = project.top().canonicalize().ok()?;
    if !git.top().canonicalize().ok()?.starts_with(top) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = files::open_linked(path).ok()?;
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    git.history(path, &bytes)
}

/// Files that another person's commits brought: a state and its sidecars.
#[derive(Debug, Default)]
pub(super) struct ForeignCommits {
    /// Why the state is another's, if it is as they committed it.
    pub(super) state: Option<String>,
    /// Sidecars: this program never commits any.
    pub(super) sidecars: Vec<PathBuf>,
}

pub(super) fn committed(store: &Store) -> ForeignCommits {
    let place = store.place();
    let git = place.state.parent().map(Git::open);
    let Some(Ok(Some(git))) = git else {
        return ForeignCommits::default();
    };
    let mut asked = store.sidecars();
    asked.push(place.state.clone());
    let (states, sidecars): (Vec<_>, Vec<_>) =
        git.committed(&asked).into_iter().partition(|path| *path == place.state);
    let state = states.first().map(|path| origin_of(&place.project, path));
    let is_anothers = |path: &PathBuf| {
        let history = git.history_of(path);
        rule::is_another_committer(&history)
    };
    ForeignCommits {
        state: match state {
            Some(Origin::Another(why)) => Some(format!("the file {why}")),
            Some(Origin::Own) | None => None,
        },
        sidecars: sidecars.into_iter().filter(is_anothers).collect(),
    }
}
