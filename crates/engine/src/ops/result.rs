//! The result of a run, and the ways to apply it: to the working tree, as a branch, or as a patch.

use std::path::Path;

use descent_core::{
    id::CommitId,
    state::{Run, RunStatus, State, Workspace},
};

use super::{Client, request::wait_for_words, trust::Attempted};
use descent_store::{StatePlace, Store};
use descent_system::failure::{Failure, exit};
use descent_workspace::{
    self as workspace, Workspaces, Worktrees,
    git::{self, ApplyOutcome, BranchOutcome, Change, FileLines},
};

/// A result, and the commit that it is brought home from.
pub struct ResultSource {
    pub(super) start: CommitId,
    /// The start, or an earlier result where HEAD stands.
    pub(super) base: CommitId,
    pub(super) head: CommitId,
    pub(super) trees: Worktrees,
    pub kind: Workspace,
    pub status: RunStatus,
    /// Whether the run delivered another tree.
    pub is_set_aside: bool,
    /// Whether HEAD is at the result, or at a copy of it.
    pub is_at_head: bool,
    /// The commit that a branch of it begins at.
    pub before: CommitId,
    /// The files of the branch's first commit, where that is of what was not committed at the start.
    pub uncommitted: Vec<String>,
    /// Added and removed lines of each file.
    pub lines: Vec<FileLines>,
    /// Files among them that say what works next: configurations with other commands or settings.
    pub configures: Vec<String>,
}

/// The tree that is meant by a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultTree {
    /// The one that the run delivered: of a run without success the nearest.
    #[default]
    Delivered,
    /// The head: what the last attempts made.
    Last,
}

/// The target of an apply.
#[derive(Debug)]
pub enum ApplyTarget<'a> {
    Tree,
    /// A new branch, with one commit for each atom.
    Branch(&'a str),
    /// A patch for `git apply`; in a new file, if one is named.
    Patch(Option<&'a Path>),
}

/// The outcome of an apply, or of a dry run.
#[derive(Debug)]
pub enum ApplyReport {
    Tree(ApplyOutcome),
    Branch(BranchOutcome),
    /// It is empty if the result changes nothing, and then no file is written.
    Patch {
        text: Vec<u8>,
        /// A file has the name already, so none was written.
        is_taken: bool,
    },
}

/// The result that a state names; `None` if no run has made one apart from the working tree.
pub(super) fn open(
    state: &State,
    place: &StatePlace,
    tree: ResultTree,
) -> Result<Option<ResultSource>, Failure> {
    let run = &state.run;
    let head = match tree {
        ResultTree::Delivered => run.result(),
        ResultTree::Last => run.head.as_ref(),
    };
    let (Some(start), Some(head)) = (&run.started_from, head) else {
        return Ok(None);
    };
    let kind = state.objective.constraints.workspace();
    let workspaces = Workspaces::of(place, state)?;
    let Some(trees) = workspaces.trees().cloned() else {
        return Ok(None);
    };
    for commit in [&start.commit, head] {
        if !trees.is_there(commit)? {
            return Err(commit_missing(commit, kind));
        }
    }
    let applied = workspace::applied(place, &state.lineage);
    let base = base(run, head, &trees, &start.commit, applied)?;
    Ok(Some(ResultSource {
        lines: trees.git().lines(&Change::between(&base, head))?,
        configures: Vec::new(),
        is_at_head: base == *head,
        before: base.clone(),
        uncommitted: Vec::new(),
        start: start.commit.clone(),
        base,
        head: head.clone(),
        trees,
        kind,
        status: run.status,
        is_set_aside: run.result() != Some(head),
    }))
}

/// The start; if an earlier result of this run was applied and the person's HEAD is at it, or at its copy, that result.
fn base(
    run: &Run,
    result: &CommitId,
    trees: &Worktrees,
    start: &CommitId,
    applied: Option<CommitId>,
) -> Result<CommitId, Failure> {
    let made_here = |home: &CommitId| run.line.iter().any(|placed| placed.commit == *home);
    // A tree other than the head's is not based on it.
    let is_of_head = run.head.as_ref() == Some(result);
    let Some(home) = trees.person_head()?.filter(|_| is_of_head) else {
        return Ok(start.clone());
    };
    if made_here(&home) {
        return Ok(home);
    }
    match applied.filter(made_here) {
        Some(applied) if trees.git().has_copy(&home, start, &applied)? => Ok(applied),
        Some(_) | None => Ok(start.clone()),
    }
}

impl ResultSource {
    /// The person's repository, or their files.
    pub fn top(&self) -> &Path {
        self.trees.git().top()
    }

    /// Whether the run did less than was agreed.
    pub fn is_partial(&self) -> bool {
        self.status != RunStatus::Completed
    }

    /// A patch of what HEAD has is of the whole result. A branch begins with what was not committed at the start, unless
    /// HEAD has that.
    fn fit(&mut self, to: &ApplyTarget<'_>, run: &Run) -> Result<(), Failure> {
        let git = self.trees.git();
        match (to, &run.started_from) {
            (ApplyTarget::Patch(_), _) if self.is_at_head => {
                self.base.clone_from(&self.start);
                self.lines = git.lines(&Change::between(&self.base, &self.head))?;
            }
            (ApplyTarget::Branch(_), Some(start))
                if start.dirty && self.trees.person_head()?.as_ref() != Some(&self.base) =>
            {
                let files = git.lines(&Change::between(&start.head, &start.commit))?;
                self.uncommitted = files.into_iter().map(|file| file.path).collect();
                self.before.clone_from(&start.head);
            }
            _ => {}
        }
        Ok(())
    }

    fn bring(&self, to: &ApplyTarget<'_>, is_dry: bool) -> Result<ApplyReport, Failure> {
        let (git, base, head) = (self.trees.git(), &self.base, &self.head);
        Ok(match to {
            ApplyTarget::Tree => ApplyReport::Tree(self.trees.apply(base, head, is_dry)?),
            ApplyTarget::Branch(_) if self.kind == Workspace::Shadow => {
                let what = "the result is of a private repository: there is none that a branch could be made in";
                let hint = "descent apply, or descent apply --patch FILE";
                return Err(Failure::usage(what, hint));
            }
            ApplyTarget::Branch(name) => ApplyReport::Branch(git.branch(name, base, head, is_dry)?),
            ApplyTarget::Patch(file) => {
                let text = git.patch(&Change::between(base, head))?;
                let is_free = match file {
                    Some(path) if is_dry => path.symlink_metadata().is_err(),
                    Some(path) if !text.is_empty() => git::write_new_file(path, &text)?,
                    Some(_) | None => true,
                };
                let is_taken = !is_free;
                ApplyReport::Patch { text, is_taken }
            }
        })
    }
}

/// Applies a result of the last run; a dry run only checks. `None` if there is none.
///
/// A configuration that attempts wrote is remembered before: it starts nothing unasked.
pub fn apply(
    client: &dyn Client,
    store: &mut Store,
    tree: ResultTree,
    to: &ApplyTarget<'_>,
    is_dry: bool,
) -> Result<Option<(ResultSource, ApplyReport)>, Failure> {
    // Read first: without a state nothing is made beside it.
    store.read()?;
    // Only writing to the working tree requires that no loop runs.
    let writes = !is_dry && matches!(to, ApplyTarget::Tree);
    if writes {
        wait_for_words(client, store)?;
    }
    let _lease = writes.then(|| store.lease("apply")).transpose()?;
    let loaded = store.read()?;
    let Some(mut result) = open(&loaded.state, store.place(), tree)? else {
        return Ok(None);
    };
    result.fit(to, &loaded.state.run)?;
    let attempted = Attempted {
        git: result.trees.git(),
        start: &result.start,
        head: &result.head,
        project: &store.place().project,
    };
    result.configures = attempted.note(Some(client).filter(|_| !is_dry))?;
    let report = result.bring(to, is_dry)?;
    // It is in the person's repository, or among their files.
    let is_home = match &report {
        ApplyReport::Tree(done) => !matches!(done, ApplyOutcome::Refused(_)),
        ApplyReport::Branch(done) => {
            matches!(done, BranchOutcome::New | BranchOutcome::AlreadyThere)
        }
        ApplyReport::Patch { .. } => false,
    };
    if !is_dry && is_home {
        workspace::note_applied(store.place(), &loaded.state.lineage, &result.head);
        // The lease is held, so nobody works in these trees.
        if writes && result.status == RunStatus::Completed {
            result.trees.keep_result_alone()?;
        }
    }
    Ok(Some((result, report)))
}

/// The error for a commit that the state names and no repository has.
pub(crate) fn commit_missing(commit: &CommitId, kind: Workspace) -> Failure {
    let place = match kind {
        Workspace::Shadow => "the repository beside the state does not hold",
        Workspace::Git | Workspace::Shared => {
            "neither your repository nor the one beside the state holds"
        }
    };
    let message = format!("{place} the commit {commit} that the state names");
    let hint = "with HEAD and the files as the run found them `descent run` makes again what is lost; else `descent align --force -f .descent/state.json` agrees to it anew, from the files as they are";
    Failure::new("E-COMMIT-MISSING", exit::UNAVAILABLE, message, hint)
}

/// The warning of a configuration that attempts wrote.
pub fn configures(path: &str) -> String {
    format!(
        "attempts changed {}, which says what works next: what they wrote there is asked about before it starts (descent trust)",
        descent_system::phrase::line(path)
    )
}
