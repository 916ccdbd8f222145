//! The door between the driver and trees of files: workspaces of attempts, trees for checks, and the results. In a
//! repository that is `git`, elsewhere `shadow`, in place `shared`.
//!
//! Invariant: everything that is made here lies in the cache, or in the repository beside the state. The person's own
//! files and repository change in `apply` alone, but for one reference to their HEAD of the start. All functions block.
//! Not here: when a tree is made (`driver`), how git is asked (`git`).

mod cache;
mod error;
mod git;
mod globs;
mod home;
mod kept;
mod leftovers;
mod links;
mod places;
mod saved;
mod setup_marks;
mod shared;
mod size;
#[cfg(test)]
mod tests;
mod trees;
mod words;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use descent_core::{
    event::{Merge, Product},
    id::{AtomId, CommitId, Digest, Lineage, TreeId, UnixMillis},
    state::{Constraints, ResultCommit, StartedFrom, Workspace},
};

pub use crate::git::Stamps;
pub use cache::cache_dir;
pub use error::WorkspaceError;
pub use home::{applied, note_applied, result_of};
pub use leftovers::{Leftover, LeftoverPlace, leftovers};
pub use size::{Size, size_of};
pub use words::{message, time_of};

use crate::{
    process::{Programs, programs},
    store::StatePlace,
};

type Result<T> = std::result::Result<T, WorkspaceError>;

/// The workspaces of one state file; a copy is another handle to the same.
#[derive(Debug, Clone)]
pub struct Workspaces(Arc<WorkspaceKind>);

#[derive(Debug)]
enum WorkspaceKind {
    /// Also for `shadow`, on another repository.
    Git(Box<git::Worktrees>),
    Shared(shared::SharedWorkspace),
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
    /// Made anew each time: the commit alone. No ignored file is left from before but those that `keep` names.
    #[allow(dead_code)] // for verdicts that decide, which are about to ask
    Pristine,
}

/// A directory to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDir {
    /// The project's directory in it.
    pub path: PathBuf,
    /// Whether `setup` has yet to be run here.
    pub is_new: bool,
    /// Whether files of earlier checks may still be here.
    pub is_reused: bool,
    /// The digest of the files that `setup` reads here, if it decides whether `setup` runs again.
    inputs: Option<Digest>,
}

impl WorkDir {
    fn ready(path: PathBuf) -> Self {
        Self {
            path,
            is_new: false,
            is_reused: false,
            inputs: None,
        }
    }
}

/// The target of an attempt's change, and the message of its commit there.
#[derive(Debug, Clone, Copy)]
pub struct LandingSpec<'a> {
    /// The commit that the attempt started from.
    pub base: &'a CommitId,
    pub onto: &'a CommitId,
    pub message: &'a str,
    pub at: UnixMillis,
}

/// The rebuilt head, its commits, and the atoms whose commits were dropped.
pub type RebuildResult = (CommitId, Vec<ResultCommit>, Vec<AtomId>);

impl Workspaces {
    /// Reads the project, and makes the place in the cache and the repository beside the state.
    pub fn open(at: &StatePlace, lineage: &Lineage, constraints: &Constraints) -> Result<Self> {
        Self::open_in(programs::real(), cache_dir(), at, lineage, constraints)
    }

    /// The same in that cache, with a runner for git.
    pub fn open_in(
        programs: Arc<dyn Programs>,
        cache: Option<PathBuf>,
        at: &StatePlace,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let kind = match constraints.workspace() {
            Workspace::Shared => {
                let project = &at.project;
                let project = project
                    .canonicalize()
                    .map_err(WorkspaceError::io(project))?;
                let cache = cache.map(|cache| places::place_in(&cache, &project, lineage));
                WorkspaceKind::Shared(shared::SharedWorkspace::new(project, cache, constraints))
            }
            apart => {
                let cache = cache.ok_or(WorkspaceError::NoHome)?;
                globs::check(constraints)?;
                let open = match apart {
                    Workspace::Shadow => git::Worktrees::open_private,
                    Workspace::Git | Workspace::Shared => git::Worktrees::open,
                };
                WorkspaceKind::Git(Box::new(open(programs, &cache, at, lineage, constraints)?))
            }
        };
        Ok(Self(Arc::new(kind)))
    }

    /// For a run that has not begun: takes the person's present settings (filters, attributes, line endings). They
    /// count from then on.
    pub fn begin(&self) -> Result<Self> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => {
                Ok(Self(Arc::new(WorkspaceKind::Git(Box::new(rooms.begin()?)))))
            }
            WorkspaceKind::Shared(_) => Ok(self.clone()),
        }
    }

    /// The person's working tree as it is now; `None` in `shared`.
    pub fn snapshot(&self) -> Result<Option<StartedFrom>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.snapshot().map(Some),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// The same as the start of a run: kept, and durable.
    pub fn start(&self) -> Result<Option<StartedFrom>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.start().map(Some),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// Takes in a run that versions before 2.1 kept elsewhere, and tells its new place. Nobody else may be at work on
    /// it.
    pub fn move_in(&self, start: &StartedFrom) -> Result<Option<String>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.move_in(start),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// The commit that a person names, to be judged; `None` if there is no such commit.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Ok(rooms.git().resolve(rev)?),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// The commit that a person names, kept by a reference; `None` if there is no such commit.
    pub fn start_from(&self, rev: &str) -> Result<Option<StartedFrom>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.start_from(rev),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// Lets go of workspaces at the project's former places.
    pub fn tidy(&self) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.tidy(),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }

    /// Notes on the last snapshot for a person: files that were left out, or taken against expectation.
    pub fn notes(&self) -> Vec<String> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.notes(),
            WorkspaceKind::Shared(_) => Vec::new(),
        }
    }

    /// Whether commits bear a made-up name, because the person configured none.
    pub fn identity_is_default(&self) -> bool {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.identity_is_default(),
            WorkspaceKind::Shared(_) => false,
        }
    }

    /// Files in the project that are no part of any commit: paths that git ignores, a directory as one.
    pub fn ignored(&self) -> Result<Vec<String>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.ignored(None),
            WorkspaceKind::Shared(_) => Ok(Vec::new()),
        }
    }

    /// The same for a tree for checks.
    pub fn ignored_in(&self, which: Checkout) -> Result<Vec<String>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.ignored(Some(which)),
            WorkspaceKind::Shared(_) => Ok(Vec::new()),
        }
    }

    /// Whether git would leave a path of the project out of a commit.
    pub fn is_ignored(&self, path: &str) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.is_ignored(path),
            WorkspaceKind::Shared(_) => Ok(false),
        }
    }

    /// The tracked files of the project that differ from git's record, each with a stamp that changes with it; empty in
    /// `shared`.
    pub fn stamps(&self) -> Result<Stamps> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.stamps(),
            WorkspaceKind::Shared(_) => Ok(Stamps::default()),
        }
    }

    /// The number of paths in the working tree that are in no commit yet.
    pub fn uncommitted(&self) -> Result<usize> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.uncommitted(),
            WorkspaceKind::Shared(_) => Ok(0),
        }
    }

    /// Whether the commit of a head, and so its result, can still be read.
    pub fn head_is_there(&self, head: &CommitId) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.is_there(head),
            WorkspaceKind::Shared(_) => Ok(true),
        }
    }

    /// The tree of that commit, as the basis of evidence; `None` in `shared`.
    pub fn tree_of(&self, commit: &CommitId) -> Result<Option<TreeId>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.tree_of(commit).map(Some),
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// A tree that holds `base` and nothing of any earlier attempt, so that it is always new.
    pub fn for_attempt(&self, slot: usize, base: Option<&CommitId>) -> Result<WorkDir> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.for_attempt(slot, base),
            WorkspaceKind::Shared(place) => Ok(place.made()),
        }
    }

    /// A tree that checks run in, brought to `commit`. Ignored files (build caches) stay in all but a pristine one. In
    /// `shared` it is the project itself, whichever is asked for.
    pub fn for_checks(&self, which: Checkout, commit: Option<&CommitId>) -> Result<WorkDir> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.for_checks(which, commit),
            WorkspaceKind::Shared(place) => Ok(place.made()),
        }
    }

    /// Marks a tree for checks as set up: it is no longer new until the files that `setup` reads change.
    pub fn checks_are_set_up(&self, which: Checkout, room: &WorkDir) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.checks_are_set_up(which, room),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }

    /// The paths that a tree for checks shares with the project (`link`); none in `shared`.
    #[allow(dead_code)] // for verdicts, which are about to tell it
    pub fn linked(&self, which: Checkout) -> Vec<String> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.linked(which),
            WorkspaceKind::Shared(_) => Vec::new(),
        }
    }

    /// Whether a pristine checkout can be made at all; not in `shared`, which has one place.
    #[allow(dead_code)] // for verdicts that decide, which are about to ask
    pub fn has_pristine(&self) -> bool {
        match &*self.0 {
            WorkspaceKind::Git(_) => true,
            WorkspaceKind::Shared(_) => false,
        }
    }

    /// The output of the attempt in that slot, relative to `base`; `None` if it has no tree of its own.
    pub fn made(
        &self,
        slot: usize,
        base: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<Option<Product>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => match rooms.made(slot, base, message, at) {
                Ok(Some(commit)) => Ok(Some(Product::Commit(commit))),
                Ok(None) => Ok(Some(Product::Unchanged)),
                // The repository itself is in order, so the attempt broke its workspace.
                Err(error)
                    if error.lack().is_none()
                        && !crate::failure::is_from_outside(&error.to_string())
                        && rooms.is_there(base).unwrap_or(false) =>
                {
                    Ok(Some(Product::Broken(error.to_string())))
                }
                Err(error) => Err(error),
            },
            WorkspaceKind::Shared(_) => Ok(None),
        }
    }

    /// Brings the output of an attempt to a head.
    pub fn land(&self, made: &Product, landing: &LandingSpec<'_>) -> Result<Merge> {
        let WorkspaceKind::Git(rooms) = &*self.0 else {
            return Ok(nothing_to_merge());
        };
        match made {
            Product::Unchanged => Ok(Merge::Unchanged {
                tree: Some(rooms.tree_of(landing.onto)?),
            }),
            Product::Broken(why) => Ok(Merge::Broken(why.clone())),
            Product::Commit(commit) => rooms.land(&git_landing(commit, landing)),
        }
    }

    /// Mends our part of the repository after a crash or a power cut, and keeps each of `commits` from being pruned.
    /// Gives those that are gone. Nobody else may be at work on this state.
    pub fn mend(
        &self,
        start: Option<&StartedFrom>,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.mend(start, commits),
            WorkspaceKind::Shared(_) => Ok(BTreeSet::new()),
        }
    }

    /// Whether the start of the run can still be read.
    pub fn start_is_there(&self, start: &StartedFrom) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.start_is_there(start),
            WorkspaceKind::Shared(_) => Ok(true),
        }
    }

    /// Takes the start of the run again, if that is possible; returns whether it is back.
    pub fn remake_start(&self, start: &StartedFrom) -> Result<bool> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.remake_start(start),
            WorkspaceKind::Shared(_) => Ok(false),
        }
    }

    /// Copies the commits that `parent` has made since `start`.
    pub fn take_over(&self, parent: &Self, start: Option<&StartedFrom>) -> Result<()> {
        match (&*self.0, &*parent.0) {
            (WorkspaceKind::Git(rooms), WorkspaceKind::Git(parent)) => {
                rooms.take_over(parent, start)
            }
            _ => Ok(()),
        }
    }

    /// Rebuilds the result from the commits that stay; names the atoms whose change no longer applies.
    pub fn rebuild(&self, from: &CommitId, keep: &[ResultCommit]) -> Result<RebuildResult> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.rebuild(from, keep),
            WorkspaceKind::Shared(_) => Ok((from.clone(), keep.to_vec(), Vec::new())),
        }
    }

    /// Keeps a commit from being pruned, and from a power cut, before the state names it: everything that `known`
    /// lacks.
    pub fn keep(&self, name: &str, commit: &CommitId, known: &CommitId) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.keep(name, commit, known),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }

    /// Releases commits that `keep` saved and nobody needs any more.
    pub fn release(&self, needed: &BTreeSet<CommitId>) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.release(needed),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }

    /// Moves the reference of the result to the state's head.
    pub fn follow(&self, head: &CommitId) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.follow(head),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }

    /// The result as files, for a person to look at.
    pub fn deliver(&self, head: &CommitId) -> Result<PathBuf> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.deliver(head),
            WorkspaceKind::Shared(place) => Ok(place.project().to_owned()),
        }
    }

    pub fn result_ref(&self) -> Option<String> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => Some(rooms.result_ref()),
            WorkspaceKind::Shared(_) => None,
        }
    }

    /// The place at which `deliver` puts the result.
    pub fn path_of_result(&self) -> PathBuf {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.path_of_result(),
            WorkspaceKind::Shared(place) => place.project().to_owned(),
        }
    }

    /// The command to run in each directory that `is_new`.
    pub fn setup(&self) -> Option<&str> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.setup(),
            WorkspaceKind::Shared(place) => place.setup(),
        }
    }

    /// Saves the last bytes of a state file that vanished; gives the new path.
    pub fn save_state(&self, bytes: &[u8]) -> Result<PathBuf> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => saved::save(rooms.cache(), bytes),
            WorkspaceKind::Shared(place) => saved::save(place.cache()?, bytes),
        }
    }

    /// Removes everything that was made for an agreement that did not come about.
    pub fn discard(&self) -> Result<()> {
        match &*self.0 {
            WorkspaceKind::Git(rooms) => rooms.discard(),
            WorkspaceKind::Shared(_) => Ok(()),
        }
    }
}

fn git_landing<'a>(made: &'a CommitId, landing: &LandingSpec<'a>) -> crate::git::Rebase<'a> {
    crate::git::Rebase {
        made,
        base: landing.base,
        onto: landing.onto,
        message: landing.message,
        at: landing.at,
    }
}

/// The merge of an attempt without a tree of its own.
pub fn nothing_to_merge() -> Merge {
    Merge::Unchanged { tree: None }
}
