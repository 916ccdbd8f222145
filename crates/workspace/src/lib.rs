//! The trees of files that attempts and checks work in, and the results that they make.
//!
//! Not here: when a tree is made (`driver` of `descent-engine`), the door to processes (`descent-process`).
//!
//! Interface: [`Workspaces`] makes the tree of an attempt or a check, and takes its result. In a repository a tree is
//! `git`, elsewhere `shadow`, in place `shared`. [`git`] asks git. [`verify`] measures a check in a tree. [`protected`]
//! and [`size_of`] look at changed paths. [`leftovers()`] finds what may be cleaned.
//!
//! Invariant: everything that is made here lies in the cache, or in the repository beside the state. The person's own
//! files and repository change in `apply` alone, but for one reference to their HEAD of the start. All functions block.

pub mod git;
mod workspace_error;

mod globs;
mod kept;
mod leftovers;
mod places;
#[cfg(test)]
mod tests;
pub mod verify;
mod worktrees;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    id::{AtomId, CommitId, Lineage, TreeId, UnixMillis},
    state::{Constraints, ResultCommit, StartedFrom, State, Workspace},
};

use descent_process::{Programs, environment::Environment, programs};
use descent_store::StatePlace;
use descent_system::{
    failure::{Failure, Lack, exit},
    files,
};

pub use crate::git::LandingSpec;
pub use globs::{Size, protected, size_of, unmatched};
pub use leftovers::{Leftover, LeftoverPlace, bytes_of_trees, leftovers};
pub use places::{applied, cache_dir, note_applied, result_of};
pub use workspace_error::WorkspaceError;
pub use worktrees::{CarriedDirs, CopyWay, KeptPatch, MadeChange, Worktrees, copies_share_blocks};

type Result<T> = std::result::Result<T, WorkspaceError>;

/// The workspaces of one state file; a copy is another handle to the same.
#[derive(Debug, Clone)]
pub struct Workspaces {
    project: PathBuf,
    /// The cache directory of this lineage and this project. In `shared` it is made when it is needed.
    cache: Option<PathBuf>,
    setup: Option<String>,
    trees: Option<Arc<Worktrees>>,
}

/// The trees that checks run in: each is used by one evaluation at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checkout {
    /// A tree of the integrated commit, for the base case.
    Verify,
    /// A tree of an attempt's output, for an atom's own checks.
    Candidate,
    /// Like the pristine tree, for any commit that a person asks about, also while a loop uses the others.
    Judging,
    /// Like the pristine tree, for an agent that only reads; nobody looks at what it leaves.
    Consult,
    /// Made anew each time: the commit alone. No ignored file is left from before but those that `setup.keep` names.
    Pristine,
}

/// Whether a tree begins with build state of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warmth {
    /// With the commit alone.
    Cold,
    Warm,
}

/// A directory to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// The project's directory in it.
    pub path: PathBuf,
    /// Whether `setup` has yet to be run here.
    pub is_new: bool,
    /// Whether build state of an earlier tree may be here.
    pub is_reused: bool,
    /// The mark of `setup` here, if it decides whether `setup` runs again.
    mark: Option<Vec<u8>>,
}

impl WorkDir {
    fn ready(path: PathBuf) -> Self {
        Self { path, is_new: false, is_reused: false, mark: None }
    }

    fn cold(path: PathBuf) -> Self {
        Self { is_new: true, ..Self::ready(path) }
    }
}

/// The rebuilt head, its commits, and the atoms whose commits were dropped.
pub type RebuildResult = (CommitId, Vec<ResultCommit>, Vec<AtomId>);

impl Workspaces {
    /// Reads the project, and makes the place in the cache and the repository beside the state.
    pub fn open(at: &StatePlace, lineage: &Lineage, constraints: &Constraints) -> Result<Self> {
        Self::open_in(programs::real(), cache_dir(), at, lineage, constraints)
    }

    /// Those of a state.
    pub fn of(at: &StatePlace, state: &State) -> Result<Self> {
        Self::open(at, &state.lineage, &state.objective.constraints)
    }

    /// The same in that cache, with a runner for git.
    pub fn open_in(
        programs: Arc<dyn Programs>,
        cache: Option<PathBuf>,
        at: &StatePlace,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let project = places::real_project(at)?;
        let trees = match constraints.workspace() {
            Workspace::Shared => None,
            Workspace::Git | Workspace::Shadow => {
                let cache = cache.as_ref().ok_or(WorkspaceError::NoHome)?;
                globs::check(constraints)?;
                Some(Arc::new(Worktrees::open(programs, cache, at, lineage, constraints)?))
            }
        };
        Ok(Self {
            cache: cache.map(|cache| places::place_in(&cache, &project, lineage)),
            project,
            setup: constraints.setup.run.clone(),
            trees,
        })
    }

    /// The variables of jobs in these trees: those of the person, without a path into the project itself.
    pub fn environment(&self, theirs: Environment) -> Environment {
        match self.trees() {
            Some(trees) => trees.environment(theirs),
            None => theirs,
        }
    }

    /// The trees apart from the project. `None` in `shared`, which has no isolation and no memory: nothing is recorded,
    /// merged, kept or undone.
    pub fn trees(&self) -> Option<&Worktrees> {
        self.trees.as_deref()
    }

    /// For a run that has not begun: takes the person's present settings (filters, attributes, line endings). They
    /// count from then on.
    pub fn begin(self) -> Result<Self> {
        let trees = self.trees().map(Worktrees::begin).transpose()?;
        Ok(Self { trees: trees.map(Arc::new), ..self })
    }

    /// The person's working tree as it is now; `None` in `shared`.
    pub fn snapshot(&self) -> Result<Option<StartedFrom>> {
        self.trees().map(Worktrees::snapshot).transpose()
    }

    /// Whether the commit of a head, and so its result, can still be read.
    pub fn head_is_there(&self, head: &CommitId) -> Result<bool> {
        self.trees().map_or(Ok(true), |trees| trees.is_there(head))
    }

    /// The tree of that commit, as the basis of evidence; `None` in `shared`.
    pub fn tree_of(&self, commit: &CommitId) -> Result<Option<TreeId>> {
        self.trees().map(|trees| trees.tree_of(commit)).transpose()
    }

    /// A place that work needs and that somebody has moved away or removed.
    pub fn missing(&self) -> Option<MissingPlace> {
        self.trees().and_then(Worktrees::missing)
    }

    /// A tree that holds `base` and nothing of any earlier attempt.
    pub fn for_attempt(
        &self,
        slot: usize,
        base: Option<&CommitId>,
        warmth: Warmth,
    ) -> Result<WorkDir> {
        self.work_in(|trees| trees.for_attempt(slot, base, warmth))
    }

    /// A directory of the trees. In place it is never new: `setup` is for workspaces, and people set up their own directory.
    fn work_in(&self, of: impl FnOnce(&Worktrees) -> Result<WorkDir>) -> Result<WorkDir> {
        self.trees().map_or_else(|| Ok(WorkDir::ready(self.project.clone())), of)
    }

    /// The tree of a slot as its last attempt left it.
    pub fn as_left(&self, slot: usize) -> Result<WorkDir> {
        self.work_in(|trees| trees.as_left(slot))
    }

    /// Whether a slot has the very tree that its last attempt was given, so that its agent can go on there. Another one in
    /// its place is none.
    pub fn is_as_given(&self, slot: usize) -> bool {
        self.trees().is_some_and(|trees| trees.is_as_given(slot))
    }

    /// A tree that checks run in, brought to `commit`. Ignored files (build caches) stay in all but a pristine one. A tree
    /// that is new may begin warm: that of an agreement as the person's own. In `shared` it is the project itself,
    /// whichever is asked for.
    pub fn for_checks(
        &self,
        which: Checkout,
        commit: Option<&CommitId>,
        warmth: Warmth,
    ) -> Result<WorkDir> {
        self.work_in(|trees| trees.for_checks(which, commit, warmth))
    }

    /// The place of the result as files.
    pub fn path_of_result(&self) -> PathBuf {
        self.trees().map_or_else(|| self.project.clone(), Worktrees::path_of_result)
    }

    /// The command to run in each directory that `is_new`.
    pub fn setup(&self) -> Option<&str> {
        self.setup.as_deref()
    }

    /// Saves the last bytes of a state file that vanished; gives the new path. An earlier saved file is never
    /// overwritten.
    pub fn save_state(&self, bytes: &[u8]) -> Result<PathBuf> {
        let cache = self.cache.as_ref().ok_or(WorkspaceError::NoHome)?;
        places::make_private(cache)?;
        let path = cache.join(places::saved_state(bytes));
        let unwritable = |source| WorkspaceError::CacheUnwritable { path: cache.clone(), source };
        files::write_durably(&path, bytes).map_err(unwritable)?;
        Ok(path)
    }
}

/// Files that say what a package manager installs.
pub const LOCK_FILES: [&str; 12] = [
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "composer.lock",
    "Gemfile.lock",
    "poetry.lock",
    "uv.lock",
    "requirements.txt",
    "go.sum",
    "Cargo.lock",
    "mix.lock",
];

/// Files that a lock file is made from.
const MANIFESTS: [&str; 9] = [
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Cargo.toml",
    "go.mod",
    "Gemfile",
    "composer.json",
    "mix.exs",
];

/// Whether a file says what is installed, by its name.
fn is_of_packages(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_requirements = name.starts_with("requirements") && name.ends_with(".txt");
    LOCK_FILES.contains(&name) || MANIFESTS.contains(&name) || is_requirements
}

// The messages and dates of atoms' commits.

/// Characters at most in the first line of a commit message.
const SUBJECT_CHARS_MAX: usize = 72;

/// A time of the state file, to date commits by. An unreadable time is the beginning of 1970, so that the same file
/// always gives the same commit.
pub fn time_of(text: &str) -> UnixMillis {
    let time = text.parse::<jiff::Timestamp>().ok();
    UnixMillis(time.and_then(|time| u64::try_from(time.as_millisecond()).ok()).unwrap_or_default())
}

/// The message of an atom's commit: its description (else its id), and a trailer that names it.
pub fn message(atom: &AtomId, description: &str) -> String {
    let one_line = description.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = one_line.filter(|word| !word.is_empty()).collect();
    let subject = if words.is_empty() { atom.to_string() } else { words.join(" ") };
    let subject = if subject.chars().count() <= SUBJECT_CHARS_MAX {
        subject
    } else {
        let cut: String = subject.chars().take(SUBJECT_CHARS_MAX - 1).collect();
        format!("{}…", cut.trim_end())
    };
    format!("{subject}\n\nDescent-Atom: {atom}\n")
}

// Places that a run needs and that were there when it began. While one is missing, no failure tells
// anything of the work.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingPlace {
    /// The person's repository: it can be put back, and is waited for.
    Repository(PathBuf),
    /// The cache with the workspaces: what was in it is lost, and the next run makes it anew.
    Cache(PathBuf),
}

impl Worktrees {
    fn missing(&self) -> Option<MissingPlace> {
        if !places::is_noted(&self.cache) {
            return Some(MissingPlace::Cache(self.cache.clone()));
        }
        let git_dir = self.repository()?.common_dir();
        let is_there = git_dir.join("objects").is_dir();
        (!is_there).then(|| MissingPlace::Repository(git_dir.to_owned()))
    }
}

impl From<MissingPlace> for Failure {
    fn from(missing: MissingPlace) -> Self {
        match missing {
            MissingPlace::Repository(path) => {
                let message = format!("the repository {} is not there", path.display());
                Self::new("E-REPOSITORY-AWAY", exit::UNAVAILABLE, message, "")
                    .lacking(Some(Lack::Repository))
            }
            MissingPlace::Cache(path) => {
                let message =
                    format!("the cache {} was removed while it was in use", path.display());
                let hint =
                    "`descent run` makes it anew, and makes again the attempts that worked in it";
                Self::new("E-CACHE", exit::UNAVAILABLE, message, hint)
            }
        }
    }
}
