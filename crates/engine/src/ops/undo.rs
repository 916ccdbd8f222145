//! Returns to an earlier state, as a new commit; or makes a second state that begins at this one, to try another way.

use std::{path::Path, sync::Arc};

use descent_core::{
    change::{self, Adoption, ChangeRefusal, EarlierState},
    id::{AtomId, CommitId, Lineage, Serial},
    state::{State, Workspace},
};

use super::{
    ChangeError, Client,
    change_view::{ChangeResult, ChangeView},
    clean,
    current::{commit_on_current, current, with_usage},
    result::commit_missing,
    trust,
};
use descent_store::{LoadedState, StatePlace, Store};
use descent_system::failure::{Failure, exit};
use descent_workspace::{Workspaces, Worktrees, git::Git};

/// Nothing changes. The effects of these atoms, if any, are outside of the tree and not taken back.
#[derive(Debug)]
pub struct NothingToUndo(pub Vec<AtomId>);

type UndoOutcome = Result<ChangeView, NothingToUndo>;

/// Plans the undo; nothing is written.
pub fn plan(
    client: &dyn Client,
    store: &Store,
    now: &State,
    then: &State,
) -> Result<UndoOutcome, Failure> {
    let workspaces = Workspaces::of(store.place(), then)?;
    match adopt(client, &workspaces, now, then) {
        Ok(adopted) => {
            let planned = ChangeResult::Planned;
            Ok(Ok(ChangeView::of(store, planned, &adopted.state, &adopted.events)))
        }
        Err(refusal) => nothing(refusal).map(Err),
    }
}

/// Undoes, on top of whatever a loop has committed meanwhile. The result's files follow, unless a loop updates them.
pub fn undo(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    then: &State,
) -> Result<UndoOutcome, Failure> {
    let workspaces = Workspaces::of(store.place(), then)?;
    let place = store.place().clone();
    let committed = commit_on_current(client, store, Some(loaded), |fresh| {
        if fresh.lineage != then.lineage {
            return Err(ChangeError::Stale);
        }
        Ok(adopt(client, &workspaces, &with_usage(&place, fresh), then)?)
    })?;
    let committed = match committed {
        Ok(committed) => committed,
        Err(refusal) => return nothing(refusal).map(Err),
    };
    if !store.is_live() {
        update_result(client, store, &committed.loaded.state);
    }
    let state = &committed.loaded.state;
    Ok(Ok(ChangeView::of(store, ChangeResult::Changed, state, &committed.events)))
}

fn adopt(
    client: &dyn Client,
    workspaces: &Workspaces,
    now: &State,
    then: &State,
) -> Result<Adoption, ChangeRefusal> {
    let earlier = EarlierState {
        state: then,
        has_commit: &|commit: &CommitId| workspaces.head_is_there(commit).unwrap_or(false),
    };
    change::undo(now, &earlier, &client.by(), client.now())
}

fn nothing(refusal: ChangeRefusal) -> Result<NothingToUndo, Failure> {
    match refusal {
        ChangeRefusal::NothingToUndo(outside) => Ok(NothingToUndo(outside)),
        refusal => Err(Failure::bug(refusal)),
    }
}

/// Updates the result's ref and its worktree, as a run leaves them. The state is the truth: the next run mends failures
/// here.
fn update_result(client: &dyn Client, store: &Store, state: &State) {
    let (Some(head), place) = (&state.run.head, store.place()) else {
        return;
    };
    let updated = Workspaces::of(place, state).and_then(|workspaces| {
        let Some(trees) = workspaces.trees() else {
            return Ok(());
        };
        trees.follow(head)?;
        trees.deliver(head).map(drop)
    });
    if let Err(error) = updated {
        client
            .tell(&format!("the result's files do not follow yet ({error}); the next run does it"));
    }
}

/// Names tried if none is given.
const NAMES_MAX: u32 = 1000;

/// A fork, and the state that it begins at.
#[derive(Debug)]
pub struct ForkReport {
    pub place: StatePlace,
    pub lineage: Lineage,
    pub parent: Lineage,
    pub serial: Serial,
    pub kind: Workspace,
}

/// Makes the fork in that directory or file; without one, beside the state under a free name.
pub fn fork(
    client: &dyn Client,
    store: &mut Store,
    to: Option<&Path>,
) -> Result<ForkReport, Failure> {
    // The fork is made here, so its commands must be our own, or allowed, first.
    let parent = current(client, store)?;
    let place = place_of(store.place(), to)?;
    let lineage = Lineage::new(uuid::Uuid::now_v7().to_string());
    let state = change::fork(&parent.state, lineage.clone());
    let kind = state.objective.constraints.workspace();
    let mut lock = None;
    if let (true, Some(head)) = (kind != Workspace::Shared, &state.run.head) {
        let of_parent = Workspaces::of(store.place(), &parent.state)?;
        // Until the state names them, the workspaces of the fork look like leftovers.
        lock = clean::lock()?;
        let workspaces = Workspaces::of(&place, &state)?;
        if let (Some(fork), Some(parent)) = (workspaces.trees(), of_parent.trees()) {
            let taken = take_over(fork, parent, &state, head);
            if taken.is_err() {
                // The fork did not come about, so nothing of it stays.
                fork.discard()?;
                place.unmake().ok();
            }
            taken?;
        }
    }
    let mut made = Store::open(StatePlace::create(&place.project, Some(&place.state))?);
    made.set_author("fork", &client.by());
    made.create(state)?;
    drop(lock);
    trust::made_here(client, &lineage, client.config());
    made.write_journal();
    Ok(ForkReport {
        place: made.place().clone(),
        lineage,
        parent: parent.state.lineage.clone(),
        serial: parent.state.serial,
        kind,
    })
}

/// Copies the commits that the state names into the fork's own repository, before that state is written.
fn take_over(
    fork: &Worktrees,
    parent: &Worktrees,
    state: &State,
    head: &CommitId,
) -> Result<(), Failure> {
    let start = state.run.started_from.as_ref();
    fork.take_over(parent, start)?;
    for commit in start.map(|start| &start.commit).into_iter().chain([head]) {
        if !fork.is_there(commit)? {
            let kind = state.objective.constraints.workspace();
            return Err(commit_missing(commit, kind));
        }
    }
    Ok(fork.follow(head)?)
}

/// The place of the fork; a file that exists there is never overwritten.
fn place_of(parent: &StatePlace, to: Option<&Path>) -> Result<StatePlace, Failure> {
    let place = match to {
        None => unnamed(parent)?,
        Some(to) if to.is_dir() => in_worktree(parent, to)?,
        Some(to) => {
            let place = StatePlace::at(&parent.project, Some(to));
            // A state file concerns the directory that it lies in.
            if place.project != parent.project {
                return Err(elsewhere(to, &place.project));
            }
            place
        }
    };
    if place.state.symlink_metadata().is_ok() {
        let message = format!("{} is there already", place.state.display());
        let hint = "name another file, or another worktree: git worktree add ../other, then descent undo --into ../other";
        return Err(Failure::new("E-USAGE", exit::USAGE, message, hint));
    }
    Ok(place)
}

/// A directory of another worktree, at the same path below its top as the project: then paths in checks exist there.
fn in_worktree(parent: &StatePlace, dir: &Path) -> Result<StatePlace, Failure> {
    let place = StatePlace::at(dir, None);
    let open = |project: &Path| Git::open(project).ok().flatten();
    let (Some(ours), Some(theirs)) = (open(&parent.project), open(&place.project)) else {
        return Ok(place);
    };
    let within = |project: &Path, git: &Git| {
        let (project, top) = (project.canonicalize().ok()?, git.top().canonicalize().ok()?);
        project.strip_prefix(top).map(Path::to_owned).ok()
    };
    if within(&parent.project, &ours) == within(&place.project, &theirs) {
        return Ok(place);
    }
    Err(elsewhere(dir, &place.project))
}

fn elsewhere(at: &Path, project: &Path) -> Failure {
    let (at, project) = (at.display(), project.display());
    let what = format!("a state at {at} would be about {project}");
    let hint = "descent undo --into without a name, a file at the top of the project, or the directory of another worktree";
    Failure::usage(what, hint)
}

fn unnamed(parent: &StatePlace) -> Result<StatePlace, Failure> {
    let dir = parent.project.join(".descent");
    for n in 1..NAMES_MAX {
        let file = dir.join(format!("fork-{n}.json"));
        if file.symlink_metadata().is_err() {
            return Ok(StatePlace::at(&parent.project, Some(&file)));
        }
    }
    let hint = "give a name: descent undo --into FILE";
    Err(Failure::usage("there are very many forks here", hint))
}
