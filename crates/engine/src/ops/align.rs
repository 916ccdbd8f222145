//! An agreement: the checks as they stand today, the baselines, and the state that is written at the end.
//!
//! Invariant: nothing is written before [`write`]. Not here: plans and flags, what a person is shown and asked (`cli`).

pub mod agreement_view;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use descent_core::{
    doc,
    graph::validate::{MissingPart, missing_parts},
    plan::TakenPlan,
    state::{
        Agreed, Atom, Check, Constraints, Extra, OnStuck, RunStatus, StartedFrom, State, Workspace,
    },
};

use super::{
    compare::{self, CheckedDraft, CheckoutComparison},
    evaluate::CheckBench,
};
use crate::survey::{self, Survey};
use descent_store::{LoadedState, StatePlace, Store, StoreError};
use descent_system::failure::{Failure, exit, quoted};
use descent_workspace::{self as workspace, LOCK_FILES, Size, Workspaces, git::Git, size_of};

/// Directories that package managers install into.
const PACKAGES: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "env"];

/// Surveys the project; git, if there is one, tells which files are ignored.
pub fn survey_of(top: &Path) -> Survey {
    let git = Git::open(top).ok().flatten();
    let prefix = git
        .as_ref()
        .and_then(|git| {
            let top = top.canonicalize().ok()?;
            Some(top.strip_prefix(git.top()).ok()?.to_owned())
        })
        .unwrap_or_default();
    let is_ignored = |path: &str| {
        let git = git.as_ref();
        git.is_some_and(|git| git.is_ignored(None, &prefix.join(path)).unwrap_or(false))
    };
    survey::survey(top, &is_ignored)
}

/// A state that could be agreed, with what was measured for it.
pub struct AgreementDraft<'a> {
    pub state: State,
    pub workspaces: Workspaces,
    /// The start of a run; absent where agents work in place.
    pub start: Option<StartedFrom>,
    pub comparison: CheckoutComparison,
    bench: CheckBench<'a>,
}

impl<'a> AgreementDraft<'a> {
    /// Evaluates the checks here and in a fresh checkout.
    pub async fn evaluate(
        mut state: State,
        workspaces: Workspaces,
        bench: CheckBench<'a>,
    ) -> Result<Self, Failure> {
        refuse_setup_of_links(&state, bench.top)?;
        compare::forget_baselines(&mut state);
        let start = workspaces.snapshot()?;
        let commit = start.as_ref().map(|start| &start.commit);
        let draft =
            CheckedDraft { bench: &bench, state: &state, workspaces: &workspaces, start: commit };
        let comparison = draft.compare().await?;
        comparison.note_carried(&mut state);
        Ok(Self { comparison, state, workspaces, start, bench })
    }

    /// Evaluates the checks in a fresh checkout again, under other constraints; an error leaves the draft as it was.
    pub async fn try_constraints(&mut self, constraints: Constraints) -> Result<(), Failure> {
        let mut state = self.state.clone();
        Arc::make_mut(&mut state.objective).constraints = constraints;
        let workspaces = Workspaces::of(self.bench.place, &state)?;
        let mut comparison = self.comparison.clone();
        let (bench, start) = (&self.bench, self.start.as_ref().map(|start| &start.commit));
        let draft = CheckedDraft { bench, state: &state, workspaces: &workspaces, start };
        draft.measure_fresh(&mut comparison).await?;
        comparison.note_carried(&mut state);
        (self.state, self.workspaces, self.comparison) = (state, workspaces, comparison);
        Ok(())
    }

    /// Records the value that each `"baseline"` stands for.
    pub fn record_baselines(&mut self) -> Result<(), Failure> {
        compare::record_baselines(&mut self.state, &self.comparison.by_key)
    }

    /// The state to be written. If somebody could be asked now, they can be asked later too (contract §4).
    pub fn agreed(self, may_ask: bool) -> State {
        let mut state = self.state;
        Arc::make_mut(&mut state.run).agreed = self.start.map(|start| Agreed {
            tree: start.tree,
            failed: self.comparison.failed(),
            extra: Extra::default(),
        });
        if may_ask {
            let constraints = &mut Arc::make_mut(&mut state.objective).constraints;
            constraints.on_stuck.get_or_insert(OnStuck::Ask);
        }
        state
    }
}

/// Writes the agreement; the path of what stood there before, which is archived. `written` is the text of a person's own
/// state file, in whose place it is.
pub fn write(
    store: &mut Store,
    state: State,
    replaces: bool,
    written: Option<&[u8]>,
) -> Result<Option<PathBuf>, Failure> {
    let mut archived = None;
    if let Some(bytes) = written {
        if !store.agree(state, bytes)? {
            let message = "nothing was agreed: the file was changed while you were asked";
            let hint = "descent run shows it as it is now";
            return Err(Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint));
        }
    } else if replaces {
        let _lease = store.lease("align")?;
        (_, archived) = store.replace(state, true)?;
    } else {
        store.create(state)?;
    }
    store.write_journal();
    Ok(archived)
}

/// Whether the person's files have the result of a completed run that stands there, if it made one.
pub fn is_at_home(store: &mut Store) -> Result<bool, Failure> {
    let state = Arc::clone(&store.read()?);
    let (run, lineage) = (&state.state.run, &state.state.lineage);
    let has_result = run.status == RunStatus::Completed && !run.line.is_empty();
    Ok(!has_result || workspace::applied(store.place(), lineage).is_some())
}

/// The agreement at a place.
pub fn existing(place: Option<StatePlace>) -> Result<Option<Arc<LoadedState>>, Failure> {
    let Some(place) = place else {
        return Ok(None);
    };
    match Store::open(place).read() {
        Ok(loaded) => Ok(Some(loaded)),
        Err(StoreError::NoState { .. } | StoreError::NotAgreed { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a plan goes on with what stands here: all but a completed run with another goal.
pub fn is_continued(state: &State, plan: &State) -> bool {
    let goal = &plan.objective.goal;
    state.run.status != RunStatus::Completed
        || goal.trim().is_empty()
        || state.objective.goal.trim() == goal.trim()
        || TakenPlan::of(state).is_some_and(|plan| plan.has_goal(goal))
}

/// An unfinished run is replaced only by force.
pub fn refuse_unfinished(existing: Option<&LoadedState>, force: bool) -> Result<(), Failure> {
    let Some(loaded) = existing else {
        return Ok(());
    };
    let is_finished = matches!(loaded.state.run.status, RunStatus::Completed);
    if force || is_finished {
        return Ok(());
    }
    let message = format!("there is a run here, {}", loaded.state.run.status.word());
    let hint = "descent run goes on with it, descent align -f PLAN takes in an edited plan; align --force archives it and begins anew";
    Err(Failure::new("E-USAGE", exit::USAGE, message, hint))
}

/// The start gate: a run and a verdict need a complete agreement.
pub(crate) fn refuse_incomplete(state: &State) -> Result<(), Failure> {
    let missing = missing_parts(state);
    if missing.is_empty() { Ok(()) } else { Err(not_aligned(&missing)) }
}

/// The refusal of the start gate, which names each missing part and how to give it.
pub fn not_aligned(missing: &[MissingPart]) -> Failure {
    let line = |part: &MissingPart| {
        let [pointer, message, hint] = part.words();
        format!("{pointer}: {message} ({hint})")
    };
    let lines = missing.iter().map(line).collect();
    let hint =
        "give what is missing: descent align GOAL --why TEXT --check COMMAND --step TEXT[=COMMAND]";
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, "the agreement is not complete", hint)
        .with(lines)
}

/// Whether it is the same agreement, whatever has been done or measured since.
pub fn is_same(old: &State, new: &State) -> bool {
    // Values that align set because it had a terminal, or found no repository, were chosen by nobody.
    let (now, then) = (&new.objective.constraints, &old.objective.constraints);
    let unasked = now.on_stuck.is_none() && then.on_stuck == Some(OnStuck::Ask);
    let unplaced = now.workspace.is_none() && then.workspace == Some(Workspace::Shadow);
    let objective = |state: &State| {
        let mut objective = (*state.objective).clone();
        if unasked {
            objective.constraints.on_stuck = None;
        }
        if unplaced {
            objective.constraints.workspace = None;
        }
        objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
        doc::canonical(&objective.node())
    };
    let spec = |atom: &Atom| {
        let mut atom = atom.clone();
        if let Some(task) = atom.task_mut() {
            let spec = Arc::make_mut(&mut task.spec);
            spec.checks = spec.checks.as_ref().map(Check::unmeasured);
        }
        atom.spec_digest()
    };
    let shape = |state: &State| -> Vec<_> {
        let atoms = state.all_atoms().into_iter();
        atoms
            .map(|(id, atom)| {
                (
                    id.clone(),
                    std::mem::discriminant(&atom.body),
                    spec(atom),
                    atom.depends_on.clone(),
                    atom.kids().to_vec(),
                )
            })
            .collect()
    };
    objective(old) == objective(new) && shape(old) == shape(new)
}

/// Writes down `shadow` for an agreement outside of any repository that names no workspace: later changes around the state
/// decide nothing. A large directory is left as it is: its size is returned, and a person has to choose.
pub fn presume_workspace(top: &Path, state: &mut State) -> Result<Size, Failure> {
    let constraints = &state.objective.constraints;
    // A repository that cannot be used is for `git` to refuse.
    let is_open = constraints.workspace.is_none() && matches!(Git::open(top), Ok(None));
    if !is_open {
        return Ok(Size::Usual);
    }
    let size = size_of(top, constraints)?;
    if size == Size::Usual {
        Arc::make_mut(&mut state.objective).constraints.workspace = Some(Workspace::Shadow);
    }
    Ok(size)
}

/// The refusal where nobody said where attempts work in a large directory.
pub fn too_large(top: &Path, what: &str, largest: &Path) -> Failure {
    let message = format!(
        "{} is no repository, and holds {what} (most in {}): attempts would work on copies of them",
        top.display(),
        largest.display()
    );
    let hint = format!(
        "share what need not be copied: --link {}; or say so: --set workspace=shadow copies all, --set workspace=shared works in place, with nothing undone",
        quoted(largest)
    );
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint)
}

/// Refuses a `setup` that would install into the person's own directory.
fn refuse_setup_of_links(state: &State, top: &Path) -> Result<(), Failure> {
    let constraints = &state.objective.constraints;
    let is_installed = |link: &&String| {
        let at = top.join(link);
        let has = |lock: &&str| at.parent().is_some_and(|dir| dir.join(lock).is_file());
        let is_of_packages = PACKAGES.iter().any(|name| at.ends_with(name));
        is_of_packages && at.is_dir() && LOCK_FILES.iter().any(has)
    };
    let (Some(_), Some(link)) =
        (&constraints.setup.run, constraints.link.iter().find(is_installed))
    else {
        return Ok(());
    };
    let message = format!(
        "`{link}` is linked and there is a `setup`: what it installs would be installed into your own `{link}`"
    );
    let hint = format!("leave out one of them: --link {link}, or --setup");
    Err(Failure::new("E-INVALID", exit::INVALID, message, hint))
}
