//! Workspaces on a repository of our own, which lies beside the state. It borrows objects from the person's repository,
//! or (`shadow`) is complete by itself.
//!
//! `<cache>/<lineage>/<project>/` holds `attempt-<slot>`, `result`, the name of the project, and our own indexes while
//! one is needed. The trees for checks lie elsewhere (`checks`). Invariant: two projects, and two state files of one
//! project, share no directory and no reference.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

mod checks;
mod shadow;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
};

use descent_core::{
    event::Merge,
    id::{AtomId, CommitId, Lineage, TreeId, UnixMillis},
    state::{Constraints, ResultCommit, StartedFrom},
};

use super::{
    Checkout, RebuildResult, Result, WorkDir, WorkspaceError, globs::Globs, kept, links, places,
    setup_marks,
};
use crate::{
    git::{self, ApplyOutcome, Candidate, Git, Leftovers},
    process::Programs,
    store::StatePlace,
};

const SNAPSHOT_MESSAGE: &str = "descent: the working tree as it was\n";
/// The names of attempts' trees, before the number of the slot.
const ATTEMPT: &str = "attempt-";

#[derive(Debug, Clone)]
pub(super) struct Worktrees {
    /// Our own repository; the person's is behind it.
    git: Git,
    /// Whether no repository of the person's is behind it.
    is_private: bool,
    /// Whether it was found at the place of versions before 2.1, and moved.
    is_moved: bool,
    project: PathBuf,
    /// The project's path in the repository; empty at its top.
    prefix: PathBuf,
    /// The cache directory of this lineage and this project.
    cache: PathBuf,
    lineage: Lineage,
    refs: String,
    links: Vec<PathBuf>,
    protected: Globs,
    setup: Option<String>,
    setup_inputs: Globs,
    keep: Globs,
    keeps: Vec<String>,
    notes: Arc<Mutex<Vec<String>>>,
    checks_root: Arc<OnceLock<PathBuf>>,
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
        let not_in_one = || WorkspaceError::NotARepository {
            project: project.clone(),
        };
        let person = Git::open_on(programs, &project)?.ok_or_else(not_in_one)?;
        let top = person.top().to_owned();
        if person.head()?.commit.is_none() {
            return Err(WorkspaceError::NoCommits { top });
        }
        let prefix = project.strip_prefix(&top).map(Path::to_owned);
        let place = places::place_in(cache, &project, lineage);
        places::make_private(&place)?;
        let git = person.lineage(&places::repository_of(at, lineage)?)?;
        let mut rooms = Self::of((git, place), (project, &at.state), lineage, constraints)?;
        rooms.prefix = prefix.unwrap_or_default();
        Ok(rooms)
    }

    /// With the project at the top of the repository's working tree.
    fn of(
        (git, cache): (Git, PathBuf),
        (project, state): (PathBuf, &Path),
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        places::make_private(&cache)?;
        places::note(&cache, &project, state).map_err(WorkspaceError::io(&cache))?;
        Ok(Self {
            git,
            is_private: false,
            is_moved: false,
            prefix: PathBuf::new(),
            cache,
            lineage: lineage.clone(),
            refs: places::refs_of(lineage),
            links: links::read(&constraints.link)?,
            protected: Globs::read("protected", &constraints.protected)?,
            setup: constraints.setup.clone(),
            setup_inputs: Globs::read("setup_inputs", &constraints.setup_inputs)?,
            keep: Globs::read("keep", &constraints.keep)?,
            keeps: constraints.keep.clone(),
            notes: Arc::default(),
            checks_root: Arc::default(),
            project,
        })
    }

    /// The same with the person's present settings: for a run that has not begun.
    pub(super) fn begin(&self) -> Result<Self> {
        Ok(Self {
            git: self.git.begin()?,
            ..self.clone()
        })
    }

    pub(super) fn keeps(&self) -> Vec<String> {
        self.keeps.clone()
    }

    pub(super) fn person_head(&self) -> Result<Option<CommitId>> {
        match self.is_private {
            true => Ok(None),
            false => Ok(self.git.person().head()?.commit),
        }
    }

    pub(super) fn setup(&self) -> Option<&str> {
        self.setup.as_deref()
    }

    pub(super) fn identity_is_default(&self) -> bool {
        self.git.identity_is_default()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.notes.lock();
        notes.map(|notes| notes.clone()).unwrap_or_default()
    }

    pub(super) fn snapshot(&self) -> Result<StartedFrom> {
        let scratch = self.scratch()?;
        let seen = match self.is_private {
            true => self.git.snapshot_all(scratch, &self.left_out())?,
            false => self.git.snapshot(scratch, SNAPSHOT_MESSAGE)?,
        };
        if let Ok(mut notes) = self.notes.lock() {
            let theirs = seen.notes.iter().filter(|note| !self.is_about_us(note));
            *notes = theirs.map(git::SnapshotNote::text).collect();
        }
        Ok(StartedFrom {
            commit: seen.commit,
            tree: seen.tree,
            head: seen.head,
            branch: seen.branch,
            dirty: seen.dirty,
            extra: descent_core::state::Extra::default(),
        })
    }

    pub(super) fn start(&self) -> Result<StartedFrom> {
        let start = self.snapshot()?;
        self.hold(&start)?;
        Ok(start)
    }

    /// Keeps the start of a run through gc and a power cut: in our own repository, and the person's part of it in
    /// theirs.
    fn hold(&self, start: &StartedFrom) -> Result<()> {
        let reference = format!("{}/start", self.refs);
        self.git.set_ref(&reference, &start.commit)?;
        if !self.is_private {
            self.git.person().hold_start(&self.refs, &start.head)?;
        }
        Ok(self.git.sync_all()?)
    }

    pub(super) fn ignored(&self, which: Option<Checkout>) -> Result<Vec<String>> {
        let root = which.map(|which| self.checks(which)).transpose()?;
        let root = root.map(|(root, _)| root);
        let found = self.git.ignored(root.as_deref())?.into_iter();
        let inside = found.filter_map(|path| {
            let path = Path::new(&path).strip_prefix(&self.prefix).ok()?;
            path.to_str().map(str::to_owned)
        });
        Ok(inside.filter(|path| !path.is_empty()).collect())
    }

    pub(super) fn is_ignored(&self, path: &str) -> Result<bool> {
        Ok(self.git.is_ignored(&self.prefix.join(path))?)
    }

    pub(super) fn stamps(&self) -> Result<git::Stamps> {
        Ok(self.git.stamps()?)
    }

    pub(super) fn uncommitted(&self) -> Result<usize> {
        if self.is_private {
            return Ok(0);
        }
        Ok(self.git.uncommitted()?)
    }

    /// In a repository that is a home directory, our own worktrees are nested repositories: no news for a person.
    fn is_about_us(&self, note: &git::SnapshotNote) -> bool {
        match note {
            git::SnapshotNote::Nested(path) => {
                self.git.top().join(path).starts_with(self.whole_cache())
            }
            _ => false,
        }
    }

    /// The cache of all lineages.
    fn whole_cache(&self) -> &Path {
        self.cache.ancestors().nth(2).unwrap_or(&self.cache)
    }

    /// The commit that the person names instead of their working tree; `None` if there is none.
    pub(super) fn start_from(&self, rev: &str) -> Result<Option<StartedFrom>> {
        let Some(commit) = self.git.resolve(rev)? else {
            return Ok(None);
        };
        let start = StartedFrom {
            tree: self.git.tree_of(&commit)?,
            head: commit.clone(),
            commit,
            branch: Some(rev.to_owned()),
            dirty: false,
            extra: descent_core::state::Extra::default(),
        };
        self.hold(&start)?;
        Ok(Some(start))
    }

    pub(super) fn is_there(&self, commit: &CommitId) -> Result<bool> {
        Ok(self.git.exists(commit)?)
    }

    pub(super) fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        Ok(self.git.tree_of(commit)?)
    }

    pub(super) fn for_attempt(&self, slot: usize, base: Option<&CommitId>) -> Result<WorkDir> {
        let base = base.ok_or(WorkspaceError::NoBase)?;
        let path = self.bring(&self.slot(slot), base, Leftovers::RemoveAll)?;
        Ok(WorkDir {
            path,
            is_new: true,
            is_reused: false,
            inputs: None,
        })
    }

    pub(super) fn made(
        &self,
        slot: usize,
        base: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<Option<CommitId>> {
        let workspace = &self.slot(slot);
        // A link in its place would lead to files that are not the attempt's work.
        let meta = fs::symlink_metadata(workspace).map_err(WorkspaceError::io(workspace))?;
        if !meta.is_dir() {
            let not_ours = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(WorkspaceError::io(workspace)(not_ours));
        }
        // Checks and attempts work in the project's directory, and a link in its place would lead them elsewhere.
        places::own_dir(workspace, &self.prefix)?;
        let exclude = &self.linked_in(workspace);
        Ok(self.git.candidate(&Candidate {
            workspace,
            base,
            message,
            at,
            exclude,
        })?)
    }

    pub(super) fn land(&self, landing: &git::Rebase<'_>) -> Result<Merge> {
        Ok(match self.git.land(landing)? {
            git::Merge::Conflict(paths) => Merge::Conflict(paths),
            git::Merge::Clean {
                commit,
                tree,
                change,
                files,
            } => {
                let protected = files.iter().filter(|file| self.is_protected(file));
                let protected = protected.cloned().collect();
                Merge::Clean {
                    commit,
                    tree,
                    change,
                    files,
                    protected,
                }
            }
        })
    }

    pub(super) fn rebuild(&self, from: &CommitId, keep: &[ResultCommit]) -> Result<RebuildResult> {
        let commits: Vec<CommitId> = keep.iter().map(|placed| placed.commit.clone()).collect();
        let rebuilt = self.git.rebuild(from, &commits)?;
        let mut line = Vec::new();
        let mut dropped: Vec<AtomId> = Vec::new();
        for (placed, now) in keep.iter().zip(rebuilt.line) {
            let atom = placed.atom.clone();
            match now {
                Some(commit) => line.push(ResultCommit::new(atom, commit)),
                None => dropped.push(atom),
            }
        }
        Ok((rebuilt.head, line, dropped))
    }

    pub(super) fn keep(&self, under: &str, commit: &CommitId, known: &CommitId) -> Result<()> {
        let reference = format!("{}/keep/{}", self.refs, places::name(under));
        self.git.set_ref(&reference, commit)?;
        Ok(self.git.make_durable(&reference, commit, known)?)
    }

    pub(super) fn mend(
        &self,
        start: Option<&StartedFrom>,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>> {
        // Only the holder of the lease works in these.
        self.git.tidy_trees(|at| !self.is_attempt(at))?;
        let Some(start) = start else {
            self.git.mend_refs(&self.refs, &BTreeSet::new())?;
            return Ok(BTreeSet::new());
        };
        let gone = self.git.unsound(&start.commit, commits)?;
        self.git.mend_refs(&self.refs, &gone)?;
        if !self.is_private {
            let person = self.git.person();
            person.mend_refs_of_person(&self.refs)?;
            person.hold_start(&self.refs, &start.head)?;
            self.git.renew_refs()?;
        }
        let held: BTreeSet<CommitId> = self
            .git
            .refs(&self.refs)?
            .into_iter()
            .map(|(_, commit)| commit)
            .collect();
        let needed = commits.iter().chain([&start.commit]);
        let loose: Vec<&CommitId> = needed
            .filter(|commit| !gone.contains(*commit) && !held.contains(*commit))
            .collect();
        for commit in loose {
            self.keep(commit.as_str(), commit, &start.commit)?;
        }
        Ok(gone)
    }

    fn is_attempt(&self, at: &Path) -> bool {
        let name = at.strip_prefix(&self.cache).ok().and_then(Path::to_str);
        name.is_some_and(|name| name.starts_with(ATTEMPT))
    }

    /// Takes in the references that versions before 2.1 kept in the person's repository; tells which moved.
    pub(super) fn move_in(&self, start: &StartedFrom) -> Result<Option<String>> {
        let is_moved = match self.is_private {
            true => self.is_moved,
            false if self.git.has_old_layout(&self.refs)? => {
                self.git.move_in(&self.refs, &start.head, &self.cache)?;
                true
            }
            false => false,
        };
        let to = self.git.common_dir().display();
        Ok(is_moved.then(|| format!("what earlier versions made of this run was moved to {to}")))
    }

    /// Whether the start commit of the run is there, with all that it has beside the person's own.
    pub(super) fn start_is_there(&self, start: &StartedFrom) -> Result<bool> {
        if self.is_private {
            return Ok(self.git.holds_all_of(&start.commit)?);
        }
        if !self.git.exists(&start.commit)? {
            return Ok(false);
        }
        if start.commit == start.head || !self.git.exists(&start.head)? {
            return Ok(true);
        }
        let commit = BTreeSet::from([start.commit.clone()]);
        Ok(self.git.unsound(&start.head, &commit)?.is_empty())
    }

    pub(super) fn follow(&self, head: &CommitId) -> Result<()> {
        Ok(self.git.set_ref(&self.result_ref(), head)?)
    }

    pub(super) fn deliver(&self, head: &CommitId) -> Result<PathBuf> {
        self.bring(&self.cache.join("result"), head, Leftovers::KeepIgnored)
    }

    pub(super) fn result_ref(&self) -> String {
        format!("{}/result", self.refs)
    }

    pub(super) fn path_of_result(&self) -> PathBuf {
        // An empty prefix would leave a slash at the end.
        let root = self.cache.join("result");
        if self.prefix.as_os_str().is_empty() {
            root
        } else {
            root.join(&self.prefix)
        }
    }

    pub(super) fn apply(
        &self,
        base: &CommitId,
        head: &CommitId,
        is_dry: bool,
    ) -> Result<ApplyOutcome> {
        Ok(self.git.apply(base, head, self.scratch()?, is_dry)?)
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// Removes the workspaces of former places of this lineage's projects.
    pub(super) fn tidy(&self) -> Result<()> {
        for place in places::abandoned(&self.cache) {
            self.git.remove_worktrees(&place)?;
        }
        self.tidy_checks()
    }

    /// Brings a tree to a commit; gives the project's path in it.
    fn bring(&self, root: &Path, commit: &CommitId, leftovers: Leftovers) -> Result<PathBuf> {
        places::make_private(root.parent().unwrap_or(root))?;
        self.git.checkout(root, commit, leftovers, &[])?;
        // The commit need not hold the project's directory: all in it may be ignored.
        let project = places::own_dir(root, &self.prefix)?;
        links::place(&self.project, &project, &self.links)?;
        Ok(project)
    }

    fn slot(&self, slot: usize) -> PathBuf {
        self.cache.join(format!("{ATTEMPT}{slot}"))
    }

    pub(super) fn release(&self, needed: &BTreeSet<CommitId>) -> Result<()> {
        let kept = format!("{}/keep", self.refs);
        Ok(self
            .git
            .retain_refs(&kept, |commit| needed.contains(commit))?)
    }

    pub(super) fn discard(&self) -> Result<()> {
        self.discard_checks()?;
        if !self.is_private {
            self.git.person().delete_refs(&self.refs)?;
        }
        let repository = self.git.common_dir();
        for dir in [repository, &self.cache] {
            fs::remove_dir_all(dir).map_err(WorkspaceError::io(dir))?;
            // These hold all lineages, and this lineage; they stay if another has its place there.
            let _ = dir.parent().map(fs::remove_dir);
        }
        Ok(())
    }

    pub(super) fn cache(&self) -> &Path {
        &self.cache
    }

    fn scratch(&self) -> Result<&Path> {
        places::make_private(&self.cache)?;
        Ok(&self.cache)
    }

    fn linked_in(&self, root: &Path) -> Vec<PathBuf> {
        let project = root.join(&self.prefix);
        self.links.iter().map(|link| project.join(link)).collect()
    }

    fn is_protected(&self, file: &str) -> bool {
        self.protected.is_match(Path::new(file), &self.prefix)
    }
}
