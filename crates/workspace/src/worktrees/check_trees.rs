//! The trees that checks run in: kept from one commit to the next, or made anew (`Pristine`). They lie in
//! `<cache>/checks/<random>/`, apart from those of attempts.
//!
//! Invariants: in a pristine tree nothing is left from before but ignored paths that `setup.keep` names, and nothing lies
//! beside it. In a kept tree `setup` has been run for the very files that it reads; else the tree counts as new.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use descent_core::id::{CommitId, Digest};

use super::{
    super::is_of_packages, Checkout, Leftovers, Result, Warmth, WorkDir, WorkspaceError, Worktrees,
    kept, places,
};

impl Worktrees {
    pub fn for_checks(
        &self,
        which: Checkout,
        commit: Option<&CommitId>,
        warmth: Warmth,
    ) -> Result<WorkDir> {
        let commit = commit.ok_or(WorkspaceError::NoBase)?;
        match which {
            Checkout::Pristine | Checkout::Judging | Checkout::Consult => {
                self.made_anew(which, commit, warmth)
            }
            Checkout::Verify | Checkout::Candidate => self.reused(which, commit, warmth),
        }
    }

    fn reused(&self, which: Checkout, commit: &CommitId, warmth: Warmth) -> Result<WorkDir> {
        let root = self.checks(which)?;
        if self.takes_doubt(which) {
            self.remove_tree(&root)?;
        }
        let was_there = root.is_dir();
        let brought = if !was_there && warmth == Warmth::Warm {
            let brought = self.bring_warm(&root, commit)?;
            self.git.mark_setup(&root, brought.mark.as_deref().unwrap_or_default())?;
            brought
        } else {
            WorkDir::cold(self.bring(&root, commit, Leftovers::KeepIgnored, None)?)
        };
        let is_reused = was_there || brought.is_reused;
        let room = WorkDir { is_reused, ..WorkDir::ready(brought.path) };
        let Some(mark) = self.mark_of_setup(commit)? else { return Ok(room) };
        let is_new = self.git.setup_mark(&root) != mark;
        if is_new {
            // Leftovers of a `setup` that is cut off halfway belong to no tree.
            self.git.mark_setup(&root, b"")?;
        }
        Ok(WorkDir { is_new, mark: is_new.then_some(mark), ..room })
    }

    /// The mark of a tree in which `setup` was run for the files that it reads in that commit.
    pub(super) fn mark_of_setup(&self, commit: &CommitId) -> Result<Option<Vec<u8>>> {
        let Some(setup) = &self.setup else { return Ok(None) };
        let inputs = self.inputs_of_setup(setup, commit)?;
        Ok(Some(format!("{} {inputs}\n", Digest::sha256(setup.as_bytes())).into_bytes()))
    }

    /// The digest of the files that `setup` reads in a commit: those that are named, else what says what is installed, and
    /// the files that the command names. The whole tree, if there are none.
    fn inputs_of_setup(&self, setup: &str, commit: &CommitId) -> Result<Digest> {
        let words: BTreeSet<&str> =
            setup.split(|c: char| c.is_whitespace() || "'\"();&|".contains(c)).collect();
        let is_named = |path: &Path| {
            path.strip_prefix(&self.prefix).unwrap_or(path).to_str().is_some_and(|path| {
                words.iter().any(|word| word.strip_prefix("./").unwrap_or(word) == path)
            })
        };
        let is_meant = |path: &Path| match self.setup_inputs.is_empty() {
            true => is_of_packages(path) || is_named(path),
            false => self.setup_inputs.is_match(path, &self.prefix),
        };
        let meant = self.git.digest_of_files(commit, is_meant)?;
        if meant == Digest::sha256(b"") {
            return Ok(Digest::sha256(self.tree_of(commit)?.as_str().as_bytes()));
        }
        Ok(meant)
    }

    pub fn checks_are_set_up(&self, which: Checkout, room: &WorkDir) -> Result<()> {
        let root = self.checks(which)?;
        match &room.mark {
            Some(mark) => Ok(self.git.mark_setup(&root, mark)?),
            None => self.note_made_by_setup(&root),
        }
    }

    fn made_anew(&self, which: Checkout, commit: &CommitId, warmth: Warmth) -> Result<WorkDir> {
        let root = self.checks(which)?;
        let aside = root.parent().unwrap_or(&root).with_extension("kept");
        self.put_aside(&root, &aside)?;
        self.remove_tree(&root)?;
        let brought = match warmth {
            Warmth::Warm => self.bring_as_here(&root, commit)?,
            Warmth::Cold => WorkDir::cold(self.bring(&root, commit, Leftovers::RemoveAll, None)?),
        };
        self.put_back(&root, &aside)?;
        Ok(WorkDir { mark: None, ..brought })
    }

    fn put_aside(&self, root: &Path, aside: &Path) -> Result<()> {
        if self.keep.is_empty() {
            return kept::remove(aside);
        }
        let found = kept::matching(root, &self.git.ignored(Some(root))?, &self.keep, &self.prefix);
        kept::put_aside(root, aside, &found)
    }

    /// Moves back only paths that git ignores in the new tree too.
    fn put_back(&self, root: &Path, aside: &Path) -> Result<()> {
        if !aside.is_dir() {
            return Ok(());
        }
        let all = [PathBuf::new()];
        for path in &kept::matching(aside, &all, &self.keep, &self.prefix) {
            // The topmost directory that the commit lacks must be an ignored one. Git tells that only of an existing
            // directory.
            let Some(top) = kept::first_missing(root, path) else { continue };
            kept::put_back(aside, root, path)?;
            let is_ignored = |path: &Path| self.git.is_ignored(Some(root), path);
            if !is_ignored(path)? || !is_ignored(&top)? {
                kept::remove(&root.join(top))?;
            }
        }
        kept::remove(aside)
    }

    /// The paths of a tree for checks that differ from its commit.
    pub fn changed_in_checks(&self, which: Checkout) -> Result<Vec<PathBuf>> {
        self.changed_in(&self.checks(which)?)
    }

    /// The paths that a tree for checks shares with the project.
    pub fn linked(&self, which: Checkout) -> Vec<String> {
        let Ok(root) = self.checks(which) else { return Vec::new() };
        let project = root.join(&self.prefix);
        let links = self.links.iter().filter(|link| {
            let leads_to = std::fs::read_link(project.join(link));
            leads_to.is_ok_and(|source| source == self.project.join(link))
        });
        links.map(|link| link.display().to_string()).collect()
    }

    /// The path of a tree for checks.
    pub(super) fn checks(&self, which: Checkout) -> Result<PathBuf> {
        let name = match which {
            Checkout::Verify => "verify",
            Checkout::Candidate => "candidate",
            Checkout::Judging => "judging",
            Checkout::Consult => "consult",
            Checkout::Pristine => "pristine",
        };
        Ok(self.checks_root()?.join(name).join("tree"))
    }

    /// Removes the tree with its own directory: a check may have written beside its tree.
    fn remove_tree(&self, tree: &Path) -> Result<()> {
        self.git.remove_worktree(tree)?;
        Ok(self.git.remove_worktrees(tree.parent().unwrap_or(tree))?)
    }

    pub(super) fn checks_root(&self) -> Result<PathBuf> {
        places::checks_of(self.whole_cache(), &self.cache, &self.lineage)
    }

    /// Gives the directory that all trees for checks are in.
    pub fn remove_checks(&self, which: Checkout) -> Result<PathBuf> {
        self.remove_tree(&self.checks(which)?)?;
        self.checks_root()
    }

    pub(super) fn discard_checks(&self) -> Result<()> {
        let root = self.checks_root()?;
        kept::remove(&root)?;
        // The parent holds all lineages; it stays if another has its trees there.
        let _ = root.parent().map(std::fs::remove_dir);
        Ok(())
    }
}
