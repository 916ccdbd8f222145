//! The result of a run, and the ways to apply it: to the working tree, as a branch, or as a patch.

use std::path::Path;

use descent_core::{
    id::CommitId,
    state::{Run, RunStatus, State, Workspace},
};

use crate::{
    failure::{Failure, exit},
    git::{ApplyOutcome, BranchOutcome, FileLines},
    store::StatePlace,
    workspace::{Workspaces, Worktrees},
};

/// A result, and the commit that it started from.
pub struct ResultSource {
    base: CommitId,
    head: CommitId,
    trees: Worktrees,
    pub kind: Workspace,
    pub status: RunStatus,
    /// Added and removed lines of each file.
    pub lines: Vec<FileLines>,
}

/// The result that a state names; `None` if no run has made one apart from the working tree.
pub fn open(state: &State, place: &StatePlace) -> Result<Option<ResultSource>, Failure> {
    let run = &state.run;
    let (Some(start), Some(head)) = (&run.started_from, run.result()) else {
        return Ok(None);
    };
    let constraints = &state.objective.constraints;
    let kind = constraints.workspace();
    let workspaces = Workspaces::open(place, &state.lineage, constraints)?;
    let Some(trees) = workspaces.trees().cloned() else {
        return Ok(None);
    };
    for commit in [&start.commit, head] {
        if !trees.is_there(commit)? {
            return Err(commit_missing(commit, kind));
        }
    }
    let base = base(run, &trees)?.unwrap_or_else(|| start.commit.clone());
    Ok(Some(ResultSource {
        lines: trees.git().lines(&base, head)?,
        base,
        head: head.clone(),
        trees,
        kind,
        status: run.status,
    }))
}

/// If an earlier result of this run was applied and the person's HEAD is at it, only later commits are left.
fn base(run: &Run, trees: &Worktrees) -> Result<Option<CommitId>, Failure> {
    // A tree other than the head's is not based on it.
    if run.delivered.is_some() {
        return Ok(None);
    }
    let home = trees.person_head()?;
    let made_here = |home: &CommitId| run.line.iter().any(|placed| placed.commit == *home);
    Ok(home.filter(made_here))
}

impl ResultSource {
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    pub fn head(&self) -> &CommitId {
        &self.head
    }

    /// The person's repository, or their files.
    pub fn top(&self) -> &Path {
        self.trees.git().top()
    }

    /// Whether the run did less than was agreed.
    pub fn is_partial(&self) -> bool {
        self.status != RunStatus::Completed
    }

    /// Applies it to the working tree; a dry run only checks.
    pub fn to_tree(&self, is_dry: bool) -> Result<ApplyOutcome, Failure> {
        Ok(self.trees.apply(&self.base, &self.head, is_dry)?)
    }

    /// Makes it a new branch, with one commit for each atom.
    pub fn to_branch(&self, name: &str, is_dry: bool) -> Result<BranchOutcome, Failure> {
        let git = self.trees.git();
        Ok(git.branch(name, &self.base, &self.head, is_dry)?)
    }

    /// The patch for `git apply`; empty if nothing differs.
    pub fn patch(&self) -> Result<Vec<u8>, Failure> {
        Ok(self.trees.git().patch(&self.base, &self.head)?)
    }

    /// Writes the patch to a free name; false if the name is taken.
    pub fn write_patch(&self, path: &Path, patch: &[u8]) -> Result<bool, Failure> {
        Ok(self.trees.git().write_new_file(path, patch)?)
    }
}

/// The error for a commit that the state names and no repository has.
pub fn commit_missing(commit: &CommitId, kind: Workspace) -> Failure {
    let place = match kind {
        Workspace::Shadow => "the repository beside the state does not hold",
        Workspace::Git | Workspace::Shared => {
            "neither your repository nor the one beside the state holds"
        }
    };
    let message = format!("{place} the commit {commit} that the state names");
    let hint = "with HEAD and the files as the run found them `descent run` makes again what is lost; else align --force begins anew from the files as they are";
    Failure::new("E-COMMIT-MISSING", exit::UNAVAILABLE, message, hint)
}
