//! The way of a change: from an attempt's tree to a commit on the head, to the result, and to the person's files.
//!
//! Invariant: a commit is kept before the state names it.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use descent_core::{
    event::{Merge, NotTaken, Product},
    id::{AtomId, AttemptId, CommitId, UnixMillis},
    state::{ResultCommit, StartedFrom},
};

use super::{super::RebuildResult, ATTEMPT, Result, WorkspaceError, Worktrees, places};
use crate::git::{ApplyOutcome, AttemptTree, Candidate, Change, LandingSpec, Leftovers};
use descent_system::secrets;

/// The output of an attempt, and the files that it changed.
#[derive(Debug)]
pub struct MadeChange {
    pub product: Product,
    /// As many as are named at most.
    pub files: Vec<String>,
    pub not_taken: NotTaken,
}

impl Worktrees {
    /// The output of the attempt in that slot, relative to `base`.
    pub fn made(
        &self,
        slot: usize,
        base: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<MadeChange> {
        let is_to_blame = |error: &WorkspaceError| {
            // If the repository itself is in order, the attempt broke its workspace.
            error.cause().is_none()
                && self.missing().is_none()
                && self.is_there(base).unwrap_or(false)
        };
        let tree = match self.candidate(slot, base, message, at) {
            Err(error) if is_to_blame(&error) => {
                return Ok(MadeChange {
                    product: Product::Broken(error.to_string()),
                    files: Vec::new(),
                    not_taken: NotTaken::default(),
                });
            }
            made => made?,
        };
        let product = match (tree.commit, self.link_out(slot, tree.links)?) {
            (None, _) => Product::Unchanged,
            (Some(_), Some(why)) => Product::Broken(why),
            (Some(commit), None) => Product::Commit(commit),
        };
        Ok(MadeChange { product, files: tree.files, not_taken: tree.not_taken })
    }

    /// The change of an attempt that failed, kept to be looked at: nothing depends on it, so it is not synced.
    pub fn keep_failed(
        &self,
        attempt: &AttemptId,
        slot: usize,
        base: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<(Vec<String>, NotTaken)> {
        let tree = self.candidate(slot, base, message, at)?;
        if let Some(commit) = &tree.commit {
            self.git.set_ref(&self.made_ref(attempt), commit)?;
        }
        Ok((tree.files, tree.not_taken))
    }

    /// Keeps what an attempt made, before its outcome names it.
    pub fn keep_made(&self, attempt: &AttemptId, commit: &CommitId, base: &CommitId) -> Result<()> {
        Ok(self.git.set_ref_durably(&self.made_ref(attempt), commit, base)?)
    }

    /// The commit with the change of an attempt, as long as it is kept.
    pub fn made_by(&self, attempt: &AttemptId) -> Result<Option<CommitId>> {
        let reference = self.made_ref(attempt);
        let mut found = self.git.refs(&reference)?.into_iter();
        Ok(found.find(|(name, _)| *name == reference).map(|(_, commit)| commit))
    }

    fn made_ref(&self, attempt: &AttemptId) -> String {
        let name = places::name(&format!("{attempt}.made"));
        format!("{}/keep/{name}", self.refs)
    }

    /// The change in a slot as its files are now; `None` while the workspace is being made.
    pub fn change_in(&self, slot: usize, base: &CommitId) -> Result<Option<Change>> {
        let workspace = self.slot(slot);
        let exclude = self.shared_in(&workspace, base)?;
        Ok(self.git.change_in(&workspace, base, &exclude, self.scratch()?)?)
    }

    /// The paths in a slot that differ from its commit.
    pub fn changed_in_slot(&self, slot: usize) -> Result<Vec<PathBuf>> {
        self.changed_in(&self.slot(slot))
    }

    pub(super) fn changed_in(&self, root: &Path) -> Result<Vec<PathBuf>> {
        Ok(self.git.files_changed(root, &self.linked_in(root))?)
    }

    /// Notes what `setup` changed in a slot, so that it is no part of the attempt's change. `laid` are paths that had
    /// changed before.
    pub fn note_setup(&self, slot: usize, base: &CommitId, laid: Vec<PathBuf>) -> Result<()> {
        let workspace = &self.slot(slot);
        let shared = self.shared_in(workspace, base)?.into_iter();
        let exclude: Vec<PathBuf> = shared.chain(laid).collect();
        let noted = self.git.note_setup(workspace, base, &exclude);
        noted.map_err(WorkspaceError::from).or_else(|error| {
            // If the repository is in order, `setup` left what git cannot read. The attempt is judged with it.
            if error.cause().is_some() || self.missing().is_some() {
                return Err(error);
            }
            tracing::warn!(%error, "what `setup` changed is not known");
            Ok(())
        })
    }

    fn candidate(
        &self,
        slot: usize,
        base: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<AttemptTree> {
        let workspace = &self.slot(slot);
        // A link in its place would lead to files that are not the attempt's work.
        let meta = fs::symlink_metadata(workspace).map_err(WorkspaceError::io(workspace))?;
        if !meta.is_dir() {
            let not_ours = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(WorkspaceError::io(workspace)(not_ours));
        }
        // Checks and attempts work in the project's directory, and a link in its place would lead them elsewhere.
        places::own_dir(workspace, &self.prefix)?;
        let shared = self.shared_in(workspace, base)?;
        let exclude = &[shared.as_slice(), &self.untouched_copies(workspace)?].concat();
        let mut tree = self.git.candidate(&Candidate { workspace, base, message, at, exclude })?;
        // An attempt made them, in the place of a link or where the project has nothing.
        let made = shared.iter().filter(|path| !path.is_symlink() && path.exists());
        let names = made.filter_map(|path| path.strip_prefix(workspace).ok());
        tree.not_taken.add(names.map(|path| format!("{} (a linked path)", path.display())));
        Ok(tree)
    }

    /// Brings the output of an attempt to a head.
    pub fn land(&self, made: &Product, landing: &LandingSpec<'_>) -> Result<Merge> {
        let made = match made {
            Product::Unchanged => {
                let tree = Some(self.tree_of(landing.onto)?);
                return Ok(Merge::Unchanged { tree });
            }
            Product::Broken(why) => return Ok(Merge::Broken(why.clone())),
            Product::Commit(commit) => commit,
        };
        let mut merge = self.git.land(made, landing)?;
        match &mut merge {
            Merge::Conflict(paths) => secrets::hide_in_each(paths),
            Merge::Clean { files, protected, .. } => {
                protected.extend(files.iter().filter(|file| self.is_protected(file)).cloned());
                secrets::hide_in_each(protected);
                secrets::hide_in_each(files);
            }
            Merge::Unchanged { .. } | Merge::Broken(_) => {}
        }
        Ok(merge)
    }

    pub(super) fn is_protected(&self, file: &str) -> bool {
        self.protected.is_match(Path::new(file), &self.prefix)
    }

    /// Rebuilds the result from the commits that stay; names the atoms whose change no longer applies.
    pub fn rebuild(&self, from: &CommitId, keep: &[ResultCommit]) -> Result<RebuildResult> {
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

    /// Keeps a commit from being pruned, and from a power cut, before the state names it: everything that `known`
    /// lacks.
    pub fn keep(&self, under: &str, commit: &CommitId, known: &CommitId) -> Result<()> {
        let reference = format!("{}/keep/{}", self.refs, places::name(under));
        self.git.set_ref(&reference, commit)?;
        Ok(self.git.make_durable(&reference, commit, known)?)
    }

    /// Mends our part of the repository after a crash or a power cut, and keeps each of `commits` from being pruned.
    /// Gives those that are gone. Nobody else may be at work on this state.
    pub fn mend(
        &self,
        start: Option<&StartedFrom>,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>> {
        // Only the holder of the lease works in these.
        self.git.tidy_trees(|at| !self.is_attempt(at))?;
        let Some(start) = start else {
            self.mend_refs(&BTreeSet::new())?;
            return Ok(BTreeSet::new());
        };
        let gone = self.git.unsound(&start.commit, commits)?;
        self.mend_refs(&gone)?;
        if !self.is_private {
            self.git.person().hold_start(&self.refs, &start.head)?;
            self.git.renew_refs()?;
        }
        let held: BTreeSet<CommitId> =
            self.git.refs(&self.refs)?.into_iter().map(|(_, commit)| commit).collect();
        let needed = commits.iter().chain([&start.commit]);
        let loose: Vec<&CommitId> =
            needed.filter(|commit| !gone.contains(*commit) && !held.contains(*commit)).collect();
        for commit in loose {
            self.keep(commit.as_str(), commit, &start.commit)?;
        }
        Ok(gone)
    }

    /// In our repository, and our part of the person's.
    fn mend_refs(&self, gone: &BTreeSet<CommitId>) -> Result<()> {
        self.git.mend_refs(&self.refs, gone)?;
        if !self.is_private {
            self.git.person().mend_refs_of_person(&self.refs)?;
        }
        Ok(())
    }

    pub(super) fn is_attempt(&self, at: &Path) -> bool {
        let name = at.strip_prefix(&self.cache).ok().and_then(Path::to_str);
        name.is_some_and(|name| name.starts_with(ATTEMPT))
    }

    /// Moves the reference of the result to the state's head.
    pub fn follow(&self, head: &CommitId) -> Result<()> {
        Ok(self.git.set_ref(&self.result_ref(), head)?)
    }

    /// The result as files, for a person to look at.
    pub fn deliver(&self, head: &CommitId) -> Result<PathBuf> {
        self.bring(&self.cache.join("result"), head, Leftovers::KeepIgnored, None)
    }

    pub fn result_ref(&self) -> String {
        format!("{}/result", self.refs)
    }

    pub fn path_of_result(&self) -> PathBuf {
        // An empty prefix would leave a slash at the end.
        let root = self.cache.join("result");
        if self.prefix.as_os_str().is_empty() { root } else { root.join(&self.prefix) }
    }

    /// The HEAD of the person; `None` in `shadow`, which has no commits of theirs.
    pub fn person_head(&self) -> Result<Option<CommitId>> {
        if self.is_private { Ok(None) } else { Ok(self.git.person().head()?.commit) }
    }

    /// Applies `base`→`head` to the person's working tree; a dry run only checks.
    pub fn apply(&self, base: &CommitId, head: &CommitId, is_dry: bool) -> Result<ApplyOutcome> {
        Ok(self.git.apply(base, head, self.scratch()?, is_dry)?)
    }

    /// Releases commits that `keep` saved and nobody needs any more. The changes of `shown` attempts stay.
    pub fn release(&self, needed: &BTreeSet<CommitId>, shown: &BTreeSet<AttemptId>) -> Result<()> {
        let kept = format!("{}/keep", self.refs);
        let shown: BTreeSet<String> = shown.iter().map(|one| self.made_ref(one)).collect();
        Ok(self
            .git
            .retain_refs(&kept, |name, commit| needed.contains(commit) || shown.contains(name))?)
    }

    /// The linked paths below `root`, but for those that `base` has itself.
    fn shared_in(&self, root: &Path, base: &CommitId) -> Result<Vec<PathBuf>> {
        let project = root.join(&self.prefix);
        let places = self.links.iter().map(|link| (project.join(link), link));
        let (links, others): (Vec<_>, Vec<_>) = places.partition(|(at, _)| at.is_symlink());
        let mut shared: Vec<PathBuf> = links.into_iter().map(|(at, _)| at).collect();
        if others.iter().any(|(at, _)| at.exists()) {
            let tracked = self.tracked_links(base)?;
            let untracked = others.into_iter().filter(|(_, link)| !tracked.contains(link));
            shared.extend(untracked.map(|(at, _)| at));
        }
        Ok(shared)
    }

    /// The links that a commit has something in the place of, so that nothing is shared there.
    pub(super) fn tracked_links(&self, commit: &CommitId) -> Result<Vec<PathBuf>> {
        let places: Vec<PathBuf> = (self.links.iter()).map(|link| self.prefix.join(link)).collect();
        let found = self.git.entries_at(commit, &places)?;
        let in_project = |path: PathBuf| Some(path.strip_prefix(&self.prefix).ok()?.to_owned());
        Ok(found.into_iter().filter_map(in_project).collect())
    }

    pub(super) fn linked_in(&self, root: &Path) -> Vec<PathBuf> {
        let project = root.join(&self.prefix);
        self.links.iter().map(|link| project.join(link)).collect()
    }
}
