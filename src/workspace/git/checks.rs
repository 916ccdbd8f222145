//! The trees that checks run in: kept from one commit to the next, or made anew (`Pristine`). They lie in
//! `<cache>/checks/<random>/`, apart from those of attempts.
//!
//! Invariants: in a pristine tree nothing is left from before but ignored paths that `setup.keep` names, and nothing lies
//! beside it. In a kept tree `setup` has been run for the very files that it reads; else the tree counts as new.

use std::path::{Path, PathBuf};

use descent_core::id::{CommitId, Digest};

use super::{
    Checkout, Leftovers, Result, WorkDir, WorkspaceError, Worktrees, kept, places, setup_marks,
};

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
        let (root, mark) = self.checks(which)?;
        let held = setup_marks::hold(&root);
        let brought = self.bring(&root, commit, Leftovers::KeepIgnored);
        // Also done after a failure halfway: the tree may have been made anew first.
        setup_marks::forget_if_remade(&held, &root, &mark).map_err(WorkspaceError::io(&mark))?;
        let path = brought?;
        let is_reused = setup_marks::is_same(&held, &root);
        let ready = |path| WorkDir { is_reused, ..WorkDir::ready(path) };
        let Some(setup) = &self.setup else {
            return Ok(ready(path));
        };
        let inputs = self.inputs_of_setup(commit)?;
        if setup_marks::is_set_up(&root, &mark, setup, &inputs) {
            return Ok(ready(path));
        }
        // Leftovers of a `setup` that is cut off halfway belong to no tree.
        setup_marks::forget(&mark).map_err(WorkspaceError::io(&mark))?;
        let is_new = true;
        let inputs = Some(inputs);
        Ok(WorkDir { path, is_new, is_reused, inputs })
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
        let (root, mark) = self.checks(which)?;
        setup_marks::note(&root, &mark, setup, inputs).map_err(WorkspaceError::io(mark))
    }

    fn pristine(&self, which: Checkout, commit: &CommitId) -> Result<WorkDir> {
        let (root, mark) = self.checks(which)?;
        let aside = mark.with_extension("kept");
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
        let ignored = self.git.ignored_paths(Some(root))?;
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
            let is_ignored = |path: &Path| self.git.is_ignored_at(root, path);
            if !is_ignored(path)? || !is_ignored(&top)? {
                kept::remove(&root.join(top))?;
            }
        }
        kept::remove(aside)
    }

    /// The paths of a tree for checks that differ from its commit.
    pub fn changed_in_checks(&self, which: Checkout) -> Result<Vec<PathBuf>> {
        let (root, _) = self.checks(which)?;
        Ok(self.git.files_changed(&root, &self.linked_in(&root))?)
    }

    /// The paths that a tree for checks shares with the project.
    pub fn linked(&self, which: Checkout) -> Vec<String> {
        let Ok((root, _)) = self.checks(which) else {
            return Vec::new();
        };
        let project = root.join(&self.prefix);
        let links = self.links.iter().filter(|link| {
            let leads_to = std::fs::read_link(project.join(link));
            leads_to.is_ok_and(|source| source == self.project.join(link))
        });
        links.map(|link| link.display().to_string()).collect()
    }

    /// The path of a tree for checks, and of its mark.
    pub(super) fn checks(&self, which: Checkout) -> Result<(PathBuf, PathBuf)> {
        let name = match which {
            Checkout::Verify => "verify",
            Checkout::Candidate => "candidate",
            Checkout::Judging => "judging",
            Checkout::Consult => "consult",
            Checkout::Pristine => "pristine",
        };
        let above = self.checks_root()?;
        let tree = above.join(name).join("tree");
        Ok((tree, above.join(format!("{name}.set-up"))))
    }

    /// Removes the tree with its own directory: a check may have written beside its tree.
    fn remove_tree(&self, tree: &Path) -> Result<()> {
        self.git.remove_worktree(tree)?;
        Ok(self.git.remove_worktrees(tree.parent().unwrap_or(tree))?)
    }

    fn checks_root(&self) -> Result<PathBuf> {
        if let Some(known) = self.checks_root.get().filter(|known| known.is_dir()) {
            return Ok(known.clone());
        }
        let found = places::checks_of(self.whole_cache(), &self.cache, &self.lineage)?;
        // If the known directory is gone, it was deleted with the cache: it is found by its name in the same way again.
        Ok(self.checks_root.get_or_init(|| found.clone()).clone())
            .map(|known| if known.is_dir() { known } else { found })
    }

    /// Gives the directory that all trees for checks are in.
    pub fn remove_checks(&self, which: Checkout) -> Result<PathBuf> {
        let (root, _) = self.checks(which)?;
        self.remove_tree(&root)?;
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
