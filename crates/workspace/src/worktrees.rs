//! Workspaces on a repository of our own, which lies beside the state. It borrows objects from the person's repository,
//! or (`shadow`) is complete by itself.
//!
//! `<cache>/<lineage>/<project>/` holds `attempt-<slot>`, `result`, the name of the project, and our own indexes while
//! one is needed. The trees for checks lie elsewhere (`check_trees`). Invariant: two projects, and two state files of one
//! project, share no directory and no reference.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

mod check_trees;
mod earlier_changes;
mod result;
mod start_tree;
mod warm;
mod ways_back;

pub use earlier_changes::KeptPatch;
pub use result::MadeChange;
pub use warm::{CarriedDirs, CopyWay, copies_share_blocks};

use warm::WarmKnowledge;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use descent_core::{
    id::{CommitId, Lineage, TreeId},
    state::{Constraints, StartedFrom, WarmUse, Workspace},
};

use super::{
    Checkout, Result, Warmth, WorkDir, WorkspaceError,
    globs::{self, Globs},
    kept, places,
};
use crate::git::{Git, GitError, Leftovers, SourceTimes, Stamps};
use descent_process::{Programs, layers};
use descent_store::StatePlace;
use descent_system::files;

/// The names of attempts' trees, before the number of the slot.
const ATTEMPT: &str = "attempt-";
/// Ignored paths that are named at most.
const IGNORED_MAX: usize = 200;

/// The trees of one project and one lineage, and their repository.
#[derive(Debug, Clone)]
pub struct Worktrees {
    /// Our own repository; the person's is behind it.
    git: Git,
    /// Whether no repository of the person's is behind it.
    is_private: bool,
    project: PathBuf,
    /// The project's path in the repository; empty at its top.
    prefix: PathBuf,
    /// The cache directory of this lineage and this project.
    pub(super) cache: PathBuf,
    lineage: Lineage,
    refs: String,
    links: Vec<PathBuf>,
    protected: Globs,
    setup: Option<String>,
    setup_inputs: Globs,
    keep: Globs,
    keeps: Vec<String>,
    /// Whether trees begin with build state.
    is_warm: bool,
    /// Attempts side by side.
    slots: u32,
    /// Bytes that are copied at most where copies share no blocks.
    copy_bytes_max: u64,
    warm: Arc<WarmKnowledge>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Worktrees {
    pub(super) fn open(
        programs: Arc<dyn Programs>,
        cache: &Path,
        at: &StatePlace,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let project = places::real_project(at)?;
        let is_private = constraints.workspace() == Workspace::Shadow;
        let person = if is_private { None } else { Some(person_of(&programs, &project)?) };
        let place = places::place_in(cache, &project, lineage);
        places::make_below(cache, &place)?;
        let repository = places::repository_of(at, lineage)?;
        let mut prefix = PathBuf::new();
        let git = match &person {
            None => Git::private(programs, &repository, &project)?,
            Some(person) => {
                let top = person.top().to_owned();
                prefix = project.strip_prefix(&top).map(Path::to_owned).unwrap_or_default();
                let git = person.lineage(&repository)?;
                let is_kept = places::keeps_prefix(git.common_dir(), &prefix);
                // If its .git is gone, git finds a repository around it, in which all paths are others.
                if !is_kept.map_err(WorkspaceError::io(&top))? {
                    return Err(WorkspaceError::OtherRepository { project, top });
                }
                git
            }
        };
        places::note(&place, &project, &at.state).map_err(WorkspaceError::io(&place))?;
        Ok(Self {
            git,
            is_private,
            prefix,
            cache: place,
            lineage: lineage.clone(),
            refs: places::refs_of(lineage),
            links: globs::read_links(&constraints.link)?,
            protected: Globs::read("protected", &constraints.protected)?,
            setup: constraints.setup.run.clone(),
            setup_inputs: Globs::read("setup.inputs", &constraints.setup.inputs)?,
            keep: Globs::read("setup.keep", &constraints.setup.keep)?,
            keeps: constraints.setup.keep.clone(),
            is_warm: constraints.warm() == WarmUse::On,
            slots: constraints.parallel_agents(),
            copy_bytes_max: warm::COPY_BYTES_MAX,
            warm: Arc::default(),
            notes: Arc::default(),
            project,
        })
    }

    /// The person's repository; `None` where the project is in none.
    pub(super) fn repository(&self) -> Option<&Git> {
        (!self.is_private).then(|| self.git.person())
    }

    /// The same with the person's present settings: for a run that has not begun.
    pub(super) fn begin(&self) -> Result<Self> {
        Ok(Self { git: self.git.begin()?, ..self.clone() })
    }

    /// The globs of ignored paths that survive from one pristine checkout to the next.
    pub fn keeps(&self) -> Vec<String> {
        self.keeps.clone()
    }

    /// Notes for a person on the last snapshot and on attempts since: files that were left out, or taken against
    /// expectation.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().map(|notes| notes.clone()).unwrap_or_default()
    }

    /// The same; they are not given again.
    pub fn take_notes(&self) -> Vec<String> {
        self.notes.lock().map(|mut notes| std::mem::take(&mut *notes)).unwrap_or_default()
    }

    pub fn note(&self, notes: impl IntoIterator<Item = String>) {
        if let Ok(mut all) = self.notes.lock() {
            all.extend(notes);
        }
    }

    /// Files in the project, or in a tree for checks, that are no part of any commit: paths that git ignores, a directory
    /// as one.
    pub fn ignored(&self, which: Option<Checkout>) -> Result<Vec<String>> {
        let root = which.map(|which| self.checks(which)).transpose()?;
        let inside = self.git.ignored(root.as_deref())?.into_iter().filter_map(|path| {
            let path = path.strip_prefix(&self.prefix).ok()?.to_str()?;
            (!path.is_empty()).then(|| path.to_owned())
        });
        Ok(inside.take(IGNORED_MAX).collect())
    }

    /// Whether git would leave a path of the project out of a commit.
    pub fn is_ignored(&self, path: &str) -> Result<bool> {
        Ok(self.git.is_ignored(None, &self.prefix.join(path))?)
    }

    /// The files of the person that are in no commit, as they are now.
    pub fn stamps(&self) -> Result<Stamps> {
        let left_out = self.left_out().into_iter();
        let left_out: Vec<PathBuf> = left_out.map(|path| self.prefix.join(path)).collect();
        Ok(self.git.stamps(&left_out)?)
    }

    /// The number of paths in the working tree that are in no commit yet.
    pub fn uncommitted(&self) -> Result<usize> {
        if self.is_private { Ok(0) } else { Ok(self.git.uncommitted()?) }
    }

    /// The cache of all lineages.
    fn whole_cache(&self) -> &Path {
        self.cache.ancestors().nth(2).unwrap_or(&self.cache)
    }

    pub fn is_there(&self, commit: &CommitId) -> Result<bool> {
        Ok(self.git.exists(commit)?)
    }

    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        Ok(self.git.tree_of(commit)?)
    }

    pub fn for_attempt(
        &self,
        slot: usize,
        base: Option<&CommitId>,
        warmth: Warmth,
    ) -> Result<WorkDir> {
        let base = base.ok_or(WorkspaceError::NoBase)?;
        let root = self.slot(slot);
        if warmth == Warmth::Cold {
            // With the times of an earlier build, state outside of the tree would be taken for current.
            let times = self.is_warm.then(SourceTimes::new_ones);
            let path = self.bring(&root, base, Leftovers::RemoveAll, times.as_ref())?;
            return Ok(WorkDir::cold(path));
        }
        let brought = self.bring_warm(&root, base)?;
        let is_new = brought.mark.is_none() || brought.mark != self.mark_of_setup(base)?;
        Ok(WorkDir { is_new, mark: None, ..brought })
    }

    pub fn as_left(&self, slot: usize) -> Result<WorkDir> {
        Ok(WorkDir::ready(places::own_dir(&self.slot(slot), &self.prefix)?))
    }

    pub fn is_as_given(&self, slot: usize) -> bool {
        let root = self.slot(slot);
        self.git.is_as_given(&root) && root.join(&self.prefix).is_dir()
    }

    /// The repository itself, for what needs no tree.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Removes the workspaces of former places of this lineage's projects.
    pub fn tidy(&self) -> Result<()> {
        for place in places::abandoned(&self.cache) {
            self.git.remove_worktrees(&place)?;
        }
        let gone = places::abandoned_checks(self.whole_cache(), &self.lineage);
        gone.iter().try_for_each(|dir| kept::remove(dir))
    }

    /// Brings a tree to a commit; gives the project's path in it.
    fn bring(
        &self,
        root: &Path,
        commit: &CommitId,
        leftovers: Leftovers,
        times: Option<&SourceTimes>,
    ) -> Result<PathBuf> {
        places::make_below(self.whole_cache(), root.parent().unwrap_or(root))?;
        if leftovers == Leftovers::RemoveAll {
            self.git.remove_worktrees(&layers::place_of(root))?;
        }
        self.git.checkout(root, commit, leftovers, times)?;
        // The commit need not hold the project's directory: all in it may be ignored.
        let project = places::own_dir(root, &self.prefix)?;
        kept::place_links(&self.project, &project, &self.links)?;
        Ok(project)
    }

    fn slot(&self, slot: usize) -> PathBuf {
        self.cache.join(format!("{ATTEMPT}{slot}"))
    }

    /// Removes all trees of a run that is over but its result.
    pub fn keep_result_alone(&self) -> Result<()> {
        for slot in files::entries(&self.cache).iter().filter(|at| self.is_attempt(at)) {
            self.git.remove_worktree(slot)?;
        }
        self.discard_checks()
    }

    /// Removes everything that was made for an agreement that did not come about.
    pub fn discard(&self) -> Result<()> {
        self.discard_checks()?;
        if !self.is_private {
            self.git.person().delete_refs(&self.refs)?;
        }
        let repository = self.git.common_dir();
        for dir in [repository, &self.cache] {
            kept::remove(dir)?;
            // These hold all lineages, and this lineage; they stay if another has its place there.
            let _ = dir.parent().map(fs::remove_dir);
        }
        Ok(())
    }

    fn scratch(&self) -> Result<&Path> {
        places::make_below(self.whole_cache(), &self.cache)?;
        Ok(&self.cache)
    }
}

/// The person's repository around a project; it has commits.
fn person_of(programs: &Arc<dyn Programs>, project: &Path) -> Result<Git> {
    let not_in_one = || WorkspaceError::NotARepository { project: project.to_owned() };
    let person = Git::open_on(Arc::clone(programs), project)?.ok_or_else(not_in_one)?;
    if person.head()?.commit.is_none() {
        return Err(GitError::NoCommits { top: person.top().to_owned() }.into());
    }
    Ok(person)
}

impl Worktrees {
    /// Takes the start of the run again; returns whether it is the same.
    pub fn remake_start(&self, start: &StartedFrom) -> Result<bool> {
        let again = self.snapshot()?;
        let is_same = again.tree == start.tree && again.commit == start.commit;
        if is_same {
            self.hold(start)?;
        }
        Ok(is_same)
    }

    /// Copies another lineage's commits, and its references in the person's repository.
    pub fn take_over(&self, parent: &Self, start: Option<&StartedFrom>) -> Result<()> {
        if self.is_private == parent.is_private {
            self.git.take_over(&parent.git)?;
        }
        match start {
            Some(start) if self.is_there(&start.commit)? && self.is_there(&start.head)? => {
                self.hold(start)
            }
            _ => Ok(()),
        }
    }

    /// Paths in the directory that are no part of the work; in a home directory that includes our own cache.
    fn left_out(&self) -> Vec<PathBuf> {
        let cache = self.whole_cache().strip_prefix(&self.project).ok().map(Path::to_owned);
        self.links.iter().cloned().chain(cache).collect()
    }
}
