//! Workspaces of a repository: linked worktrees in the cache, references under `refs/descent/`. The repository is the
//! person's, or (`shadow`) one of our own.
//!
//! `<cache>/<lineage>/<project>/` holds `attempt-<slot>`, `verify`, `candidate`, `result`, the name of the project, and
//! our own indexes while one is needed. Invariant: two projects, and two state files of one project, share no
//! directory and no reference.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

mod checks;
mod shadow;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use descent_core::{
    event::Merge,
    id::{AtomId, CommitId, Lineage, TreeId, UnixMillis},
    state::{Constraints, Placed, StartedFrom},
};

use super::{
    Checkout, Rebuilt, Result, Room, WorkspaceError, globs::Globs, kept, links, places, ready,
};
use crate::{
    git::{self, Applied, Candidate, Git, Leftovers},
    process::Programs,
};

const SNAPSHOT_MESSAGE: &str = "descent: the working tree as it was\n";
/// What the worktrees of attempts are called, before the number of the slot.
const ATTEMPT: &str = "attempt-";

#[derive(Debug)]
pub(super) struct Rooms {
    git: Git,
    /// The repository is ours: nobody but this lineage has a part in it.
    is_private: bool,
    project: PathBuf,
    /// The project in the repository; empty at its top.
    prefix: PathBuf,
    /// Of this lineage and this project.
    cache: PathBuf,
    refs: String,
    links: Vec<PathBuf>,
    protected: Globs,
    setup: Option<String>,
    setup_inputs: Globs,
    keep: Globs,
    notes: Mutex<Vec<String>>,
}

impl Rooms {
    pub(super) fn open(
        programs: Arc<dyn Programs>,
        cache: &Path,
        project: PathBuf,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        let not_in_one = || WorkspaceError::NotARepository {
            project: project.clone(),
        };
        let git = Git::open_on(programs, &project)?.ok_or_else(not_in_one)?;
        let top = git.top().to_owned();
        if git.head()?.commit.is_none() {
            return Err(WorkspaceError::NoCommits { top });
        }
        let prefix = project.strip_prefix(&top).map(Path::to_owned);
        let cache = places::place_in(cache, &project, lineage);
        let mut rooms = Self::of((git, cache), project, lineage, constraints)?;
        rooms.prefix = prefix.unwrap_or_default();
        Ok(rooms)
    }

    /// With the project at the top of the repository's working tree.
    fn of(
        (git, cache): (Git, PathBuf),
        project: PathBuf,
        lineage: &Lineage,
        constraints: &Constraints,
    ) -> Result<Self> {
        places::make_private(&cache)?;
        places::note(&cache, &project).map_err(WorkspaceError::io(&cache))?;
        Ok(Self {
            git,
            is_private: false,
            prefix: PathBuf::new(),
            cache,
            refs: places::refs_of(lineage),
            links: links::read(&constraints.link)?,
            protected: Globs::read("protected", &constraints.protected)?,
            setup: constraints.setup.clone(),
            setup_inputs: Globs::read("setup_inputs", &constraints.setup_inputs)?,
            keep: Globs::read("keep", &constraints.keep)?,
            notes: Mutex::default(),
            project,
        })
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

    pub(super) fn snapshot(&self, at: UnixMillis) -> Result<StartedFrom> {
        self.snapshot_under("start", at)
    }

    /// The person's working tree as it is now, kept by a reference of that name.
    pub(super) fn snapshot_under(&self, name: &str, at: UnixMillis) -> Result<StartedFrom> {
        let scratch = self.scratch()?;
        let seen = match self.is_private {
            true => self.git.snapshot_all(scratch, &self.left_out())?,
            false => self.git.snapshot(scratch, at, SNAPSHOT_MESSAGE)?,
        };
        self.git
            .set_ref(&format!("{}/{name}", self.refs), &seen.commit)?;
        self.git.sync_all()?;
        if let Ok(mut notes) = self.notes.lock() {
            let theirs = seen.notes.iter().filter(|note| !self.is_about_us(note));
            *notes = theirs.map(git::Note::text).collect();
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

    pub(super) fn ignored(&self, which: Option<Checkout>) -> Result<Vec<String>> {
        let root = which.map(|which| self.checks(which).0);
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

    /// Where a home directory is the repository, our own worktrees lie in it: no news for a person.
    fn is_about_us(&self, note: &git::Note) -> bool {
        match note {
            git::Note::Nested(path) => self.git.top().join(path).starts_with(self.whole_cache()),
            _ => false,
        }
    }

    /// Of all lineages.
    fn whole_cache(&self) -> &Path {
        self.cache.ancestors().nth(2).unwrap_or(&self.cache)
    }

    /// A commit that the person names, instead of their working tree; `None`: there is none.
    pub(super) fn start_from(&self, rev: &str) -> Result<Option<StartedFrom>> {
        let Some(commit) = self.git.resolve(rev)? else {
            return Ok(None);
        };
        let head = self.git.head()?.commit;
        self.git.set_ref(&format!("{}/start", self.refs), &commit)?;
        self.git.sync_all()?;
        Ok(Some(StartedFrom {
            tree: self.git.tree_of(&commit)?,
            head: head.unwrap_or_else(|| commit.clone()),
            commit,
            branch: Some(rev.to_owned()),
            dirty: false,
            extra: descent_core::state::Extra::default(),
        }))
    }

    pub(super) fn is_there(&self, commit: &CommitId) -> Result<bool> {
        Ok(self.git.exists(commit)?)
    }

    pub(super) fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        Ok(self.git.tree_of(commit)?)
    }

    pub(super) fn for_attempt(&self, slot: usize, base: Option<&CommitId>) -> Result<Room> {
        let base = base.ok_or(WorkspaceError::NoBase)?;
        let path = self.bring(&self.slot(slot), base, Leftovers::RemoveAll)?;
        Ok(Room {
            path,
            is_new: true,
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
        // A link in its place would lead to files that are nobody's work.
        let meta = fs::symlink_metadata(workspace).map_err(WorkspaceError::io(workspace))?;
        if !meta.is_dir() {
            let not_ours = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(WorkspaceError::io(workspace)(not_ours));
        }
        let exclude = &self.linked_in(workspace);
        Ok(self.git.candidate(&Candidate {
            workspace,
            base,
            message,
            at,
            exclude,
        })?)
    }

    pub(super) fn land(&self, landing: &git::Landing<'_>) -> Result<Merge> {
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

    pub(super) fn rebuild(&self, from: &CommitId, keep: &[Placed]) -> Result<Rebuilt> {
        let commits: Vec<CommitId> = keep.iter().map(|placed| placed.commit.clone()).collect();
        let rebuilt = self.git.rebuild(from, &commits)?;
        let mut line = Vec::new();
        let mut dropped: Vec<AtomId> = Vec::new();
        for (placed, now) in keep.iter().zip(rebuilt.line) {
            let atom = placed.atom.clone();
            match now {
                Some(commit) => line.push(Placed::new(atom, commit)),
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
        self.git.mend_worktrees(&self.cache)?;
        // Who holds the lease alone works in these.
        self.git.clear_up_worktrees(&self.cache, ATTEMPT)?;
        let Some(start) = start else {
            self.git.mend_refs(&self.refs, &BTreeSet::new())?;
            return Ok(BTreeSet::new());
        };
        let gone = self.git.unsound(&start.commit, commits)?;
        self.git.mend_refs(&self.refs, &gone)?;
        if !gone.is_empty() {
            self.git.forget_worktrees(&self.cache)?;
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

    /// Whether the commit that the run began from is there, with all that it has beside the person's own.
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

    pub(super) fn apply(&self, base: &CommitId, head: &CommitId, is_dry: bool) -> Result<Applied> {
        Ok(self.git.apply(base, head, self.scratch()?, is_dry)?)
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// Forgets the workspaces of places where a project of this lineage stood and stands no more.
    pub(super) fn tidy(&self) -> Result<()> {
        for place in places::abandoned(&self.cache) {
            self.git.remove_worktrees(&place)?;
        }
        Ok(())
    }

    /// Brings a worktree to a commit; gives where the project is in it.
    fn bring(&self, root: &Path, commit: &CommitId, leftovers: Leftovers) -> Result<PathBuf> {
        places::make_private(&self.cache)?;
        self.git.checkout(root, commit, leftovers, &[])?;
        let project = root.join(&self.prefix);
        // The commit need not hold the project's directory: all in it may be ignored.
        fs::create_dir_all(&project).map_err(WorkspaceError::io(&project))?;
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
        for which in [Checkout::Verify, Checkout::Judging, Checkout::Pristine] {
            let (root, mark) = self.checks(which);
            if root.exists() {
                self.git.remove_worktree(&root)?;
            }
            // It need not be there.
            let _ = fs::remove_file(mark);
        }
        match self.is_private {
            true => self.remove_repository()?,
            false => self.git.delete_refs(&self.refs)?,
        }
        fs::remove_dir_all(&self.cache).map_err(WorkspaceError::io(&self.cache))?;
        // The lineage's own; not empty where another project of the lineage has its place there.
        let _ = self.cache.parent().map(fs::remove_dir);
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
