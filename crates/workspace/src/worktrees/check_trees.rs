//! The trees that checks run in: kept from one commit to the next, or made anew (`Pristine`). They lie in
//! `<cache>/checks/<random>/`, apart from those of attempts.
//!
//! Invariants: in a pristine tree nothing is left from before but ignored paths that `setup.keep` names, and nothing lies
//! beside it. In a kept tree `setup` has been run for the very files that it reads; else the tree counts as new.

use std::path::{Path, PathBuf};

use descent_core::id::{CommitId, Digest};

use super::{Checkout, Leftovers, Result, WorkDir, WorkspaceError, Worktrees, kept, places};

impl Worktrees {
    pub fn for_checks(&self, which: Checkout, commit: Option<&CommitId>) -> Result<WorkDir> {
        let commit = commit.ok_or(WorkspaceError::NoBase)?;
        match which {
            Checkout::Pristine | Checkout::Judging | Checkout::Consult => {
                self.pristine(which, commit)
            }
            Checkout::Verify | Checkout::Candidate => self.warm(which, commit),
        }
    }

    fn warm(&self, which: Checkout, commit: &CommitId) -> Result<WorkDir> {
        let root = self.checks(which)?;
        let is_reused = root.is_dir();
        let path = self.bring(&root, commit, Leftovers::KeepIgnored)?;
        let Some(setup) = &self.setup else {
            return Ok(WorkDir { is_reused, ..WorkDir::ready(path) });
        };
        let inputs = self.inputs_of_setup(commit)?;
        let is_new = self.git.setup_mark(&root) != set_up_by(setup, &inputs).as_bytes();
        if is_new {
            // Leftovers of a `setup` that is cut off halfway belong to no tree.
            self.git.mark_setup(&root, b"")?;
        }
        Ok(WorkDir { path, is_new, is_reused, inputs: is_new.then_some(inputs) })
    }

    /// The digest of `setup`'s inputs in a commit: the whole tree, unless they are named.
    fn inputs_of_setup(&self, commit: &CommitId) -> Result<Digest> {
        if self.setup_inputs.is_empty() {
            return Ok(Digest::sha256(self.tree_of(commit)?.as_str().as_bytes()));
        }
        let is_meant = |path: &Path| self.setup_inputs.is_match(path, &self.prefix);
        Ok(self.git.digest_of_files(commit, is_meant)?)
    }

    pub fn checks_are_set_up(&self, which: Checkout, room: &WorkDir) -> Result<()> {
        let (Some(setup), Some(inputs)) = (&self.setup, &room.inputs) else {
            return Ok(());
        };
        Ok(self.git.mark_setup(&self.checks(which)?, set_up_by(setup, inputs).as_bytes())?)
    }

    fn pristine(&self, which: Checkout, commit: &CommitId) -> Result<WorkDir> {
        let root = self.checks(which)?;
        let aside = root.parent().unwrap_or(&root).with_extension("kept");
        self.put_aside(&root, &aside)?;
        self.remove_tree(&root)?;
        let path = self.bring(&root, commit, Leftovers::RemoveAll)?;
        self.put_back(&root, &aside)?;
        Ok(WorkDir { path, is_new: true, is_reused: false, inputs: None })
    }

    fn put_aside(&self, root: &Path, aside: &Path) -> Result<()> {
        if self.keep.is_empty() {
            return kept::remove(aside);
        }
        let ignored = self.git.ignored(Some(root))?;
        let found = kept::matching(root, &ignored, &self.keep, &self.prefix);
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
            let Some(top) = kept::first_missing(root, path) else {
                continue;
            };
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
        let root = self.checks(which)?;
        Ok(self.git.files_changed(&root, &self.linked_in(&root))?)
    }

    /// The paths that a tree for checks shares with the project.
    pub fn linked(&self, which: Checkout) -> Vec<String> {
        let Ok(root) = self.checks(which) else {
            return Vec::new();
        };
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

    fn checks_root(&self) -> Result<PathBuf> {
        places::checks_of(self.whole_cache(), &self.cache, &self.lineage)
    }

    /// Gives the directory that all trees for checks are in.
    pub fn remove_checks(&self, which: Checkout) -> Result<PathBuf> {
        self.remove_tree(&self.checks(which)?)?;
        self.checks_root()
    }

    pub(super) fn tidy_checks(&self) -> Result<()> {
        let gone = places::abandoned_checks(self.whole_cache(), &self.lineage);
        gone.iter().try_for_each(|dir| kept::remove(dir))
    }

    pub(super) fn discard_checks(&self) -> Result<()> {
        let root = self.checks_root()?;
        kept::remove(&root)?;
        // The parent holds all lineages; it stays if another has its trees there.
        let _ = root.parent().map(std::fs::remove_dir);
        Ok(())
    }
}

/// The mark of a tree in which that command was run for these files.
fn set_up_by(setup: &str, inputs: &Digest) -> String {
    format!("{} {inputs}\n", Digest::sha256(setup.as_bytes()))
}
