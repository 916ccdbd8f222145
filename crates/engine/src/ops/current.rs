//! The state without pending edits, and the commit of one change on it, whatever others commit or save meanwhile.
//!
//! Invariant: no edit is overwritten, and no change is sealed together with an edit that was not adopted. A running loop
//! adopts edits itself, so it is waited for. Not here: the meaning of a change (`descent_core`).

use std::{iter, sync::Arc, time::Duration};

use descent_core::{
    change::{Adoption, ChangeRefusal},
    doc::Fault,
    event::Event,
    state::{RunStatus, State, VERSION, fields::UNKNOWN_KEY},
    step,
    view::{self, BoundView, Surroundings},
    world::World,
};

use super::{Client, align, announce, liveness, trust};
use crate::driver::adopt::{self, AdoptionRefusal, CommitReport};
use descent_agent::{agent, config};
use descent_store::{
    self as store, CommitError, LoadedState, StatePlace, Store, StoreError, show_faults,
};
use descent_system::failure::{Failure, exit, quoted};
use descent_workspace as workspace;

/// Between two tries, while the loop adopts an edit or commits.
const RETRY_MS: u64 = 20;
const TRIES_MAX: u32 = 250;
/// Tries between two checks of the loop's activity.
const LOOK_TIMES: u32 = 25;

/// Gives the present state after adopting an edit. An operation makes the file our own, so another account's state must
/// not pass unseen: the client is asked before and after the adoption.
pub fn current(client: &dyn Client, store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    let present = trust::gate(client, store)?;
    keep_superseded(client, store, &present)?;
    let current = match wait_for_loop(store)? {
        Some(loaded) => loaded,
        None => {
            let _lease = store.lease("taking in an edit")?;
            let loaded = store.read()?;
            adopt_edit(client, store, loaded)?
        }
    };
    trust::gate_adopted(client, store, &current)?;
    Ok(current)
}

/// The state that the caller has read already; from the second try on, the present one.
pub(super) fn basis(
    known: &mut Option<Arc<LoadedState>>,
    client: &dyn Client,
    store: &mut Store,
) -> Result<Arc<LoadedState>, Failure> {
    match known.take() {
        Some(loaded) => Ok(loaded),
        None => current(client, store),
    }
}

/// Adopts an edit from while no loop lived: a commit with a correction. The caller holds the lease.
pub fn adopt_edit(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
) -> Result<Arc<LoadedState>, Failure> {
    if !loaded.is_foreign {
        return Ok(loaded);
    }
    let by = trust::writer(&loaded).unwrap_or_else(|| client.by());
    let adopted =
        adopt::adopt(store, None, &by, client.now()).map_err(|refusal| match refusal {
            AdoptionRefusal::Store(error) => error.into(),
            AdoptionRefusal::OtherLineage => {
                Failure::bug("an edit was held against another lineage")
            }
        })?;
    announce(client, &adopted.events, adopted.loaded.state.serial);
    Ok(adopted.loaded)
}

/// An older agreement that has the name again goes on. The newer state is kept, and the client is told.
pub fn keep_superseded(
    client: &dyn Client,
    store: &Store,
    loaded: &LoadedState,
) -> Result<(), Failure> {
    if let Some(kept) = store.keep_what_replaced(&loaded.state)? {
        let (from, to) = (quoted(&kept), quoted(&store.place().state));
        client.tell(&format!(
            "this is the state of an earlier agreement again; the one that replaced it is kept: cp {from} {to} brings it back"
        ));
    }
    Ok(())
}

/// Waits until a running loop has adopted a save; `None` if there is a save but no loop.
pub(super) fn wait_for_loop(store: &mut Store) -> Result<Option<Arc<LoadedState>>, Failure> {
    for again in 1..=TRIES_MAX {
        let loaded = store.read()?;
        if !loaded.is_foreign {
            return Ok(Some(loaded));
        }
        if !store.is_live() {
            return Ok(None);
        }
        if again.is_multiple_of(LOOK_TIMES) {
            liveness::observe(store, RunStatus::Running).goes_on("nothing is written yet: ")?;
        }
        std::thread::sleep(Duration::from_millis(RETRY_MS));
    }
    Err(restless(store))
}

/// The error for a file that keeps changing, or that the loop refuses with a reason.
pub(super) fn restless(store: &Store) -> Failure {
    let waiting = liveness::observe(store, RunStatus::Running).refuses_the_file();
    waiting.unwrap_or_else(|| {
        let path = store.place().state.clone();
        StoreError::Restless { path }.into()
    })
}

/// Gives the present state if it is agreed, and all that it decides by is known. Nothing is run by a guess at the rest.
pub fn ready(store: &mut Store) -> Result<Arc<LoadedState>, Failure> {
    let loaded = store.read()?;
    let lines = loaded.not_understood(&store.place().state);
    if lines.is_empty() {
        align::refuse_incomplete(&loaded.state)?;
        return Ok(loaded);
    }
    let version = loaded.state.version;
    let message =
        format!("the state says what only a newer descent knows: version {version} is needed");
    let hint =
        "use a descent that reads that version; look, stop, edit and apply work with this one";
    Err(Failure::new("E-VERSION", exit::INVALID, message, hint).with(lines))
}

/// The warnings about a state file, each with its place, and about edits that are in no commit. Unknown keys are among
/// them only where a person is to look at them, or where a newer version may know them.
pub fn warnings(store: &Store, loaded: &LoadedState, of_keys: bool) -> Vec<String> {
    let of_keys = of_keys || loaded.state.version > VERSION;
    let told = loaded.warnings().iter();
    let told = told.filter(|fault| of_keys || fault.rule != UNKNOWN_KEY);
    let told: Vec<Fault> = told.cloned().collect();
    let lines = show_faults(&store.place().state, loaded.bytes(), &told).into_iter();
    let rescued = store.rescued().into_iter().map(|path| {
        let path = path.display();
        format!(
            "{path} is an edit that is in no commit (bring back what you want of it, then remove it)"
        )
    });
    let all = lines.chain(rescued);
    all.map(|line| format!("warning: {line}")).collect()
}

/// A state for a look that takes nothing in.
pub struct SeenState {
    /// With a save that is in no commit, the state that taking it in will make.
    pub state: State,
    /// For such a save: what it changes, then what follows.
    pub edit: Vec<String>,
}

/// The present state for a look: what the program alone decides is as the newest commit has it.
pub fn seen(client: &dyn Client, store: &Store, loaded: &LoadedState) -> SeenState {
    let state = &loaded.state;
    let foreseen = || adopt::foresee(store, state, &client.by(), client.now());
    let Some(adoption) = loaded.is_foreign.then(foreseen).flatten() else {
        let (state, edit) = (state.clone(), Vec::new());
        return SeenState { state, edit };
    };
    let mut edit = Vec::new();
    if let Some(Event::Corrected { what, effects, .. }) = adoption.events.into_iter().next() {
        edit.extend(iter::once(what).chain(effects));
    }
    let adopted = World::new(adoption.state);
    let in_line = step::in_line(&adopted, client.now());
    let mut seen = in_line.unwrap_or(adopted.facts.state);
    seen.serial = state.serial;
    SeenState { state: seen, edit }
}

/// The state with the usage counted as spent that its attempts and its question in flight have reported.
pub fn with_usage_counted(place: &StatePlace, mut state: State) -> State {
    let used = agent::told_so_far(&place.attempts(), &crate::driver::asked_and_in_flight(&state));
    Arc::make_mut(&mut state.run).count_told(&used);
    state
}

/// The state with the usage that its attempts in flight have told, for a change that ends them.
pub(super) fn with_usage(place: &StatePlace, state: &State) -> State {
    let used = agent::told_so_far(&place.attempts(), &state.run.in_flight);
    let mut state = state.clone();
    Arc::make_mut(&mut state.run).reserve_told(&used);
    state
}

/// The facts beside the state that the next command depends on.
pub fn surroundings(store: &Store, state: &State) -> Surroundings {
    Surroundings {
        live: store.is_live(),
        applied: workspace::applied(store.place(), &state.lineage),
    }
}

/// The bound of a run that starts now, with the agents of the configuration if it can be read.
pub fn bound_of_start(store: &Store, world: &World) -> BoundView {
    match config::load(&store.place().project) {
        Ok(config) => world.bound_of_start(&config.table()).into(),
        Err(_) => world.bound().into(),
    }
}

/// The command to type next. A loop at work is left to it.
pub fn next(store: &Store, state: &State) -> String {
    let around = surroundings(store, state);
    match around.live {
        true => "descent status".to_owned(),
        false => view::next(&World::new(state.clone()), &around),
    }
}

/// Why a change is not committed.
#[derive(Debug)]
pub enum ChangeError<R> {
    /// The state changed after the preparation: prepare again.
    Stale,
    Refused(R),
    Failed(Failure),
}

impl<R> From<Failure> for ChangeError<R> {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<ChangeRefusal> for ChangeError<ChangeRefusal> {
    fn from(refusal: ChangeRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Commits the result of `decide` on the present state, under the commit lock.
///
/// `prepare` runs before each try, without the lock: it adopts a pending edit and reads the facts that `decide` needs.
pub fn commit_change<P, R>(
    store: &mut Store,
    mut prepare: impl FnMut(&mut Store) -> Result<P, ChangeError<R>>,
    mut decide: impl FnMut(&P, &LoadedState) -> Result<Adoption, ChangeError<R>>,
) -> Result<Result<CommitReport, R>, Failure> {
    for _ in 0..TRIES_MAX {
        match attempt(store, &mut prepare, &mut decide) {
            Ok(report) => {
                // A loop writes the journal itself.
                if !store.is_live() {
                    store.write_journal();
                }
                return Ok(Ok(report));
            }
            Err(ChangeError::Stale) => {}
            Err(ChangeError::Refused(refusal)) => return Ok(Err(refusal)),
            Err(ChangeError::Failed(failure)) => return Err(failure),
        }
    }
    Err(restless(store))
}

fn attempt<P, R>(
    store: &mut Store,
    prepare: &mut impl FnMut(&mut Store) -> Result<P, ChangeError<R>>,
    decide: &mut impl FnMut(&P, &LoadedState) -> Result<Adoption, ChangeError<R>>,
) -> Result<CommitReport, ChangeError<R>> {
    let prepared = prepare(store)?;
    let written = adopt::commit(store, |fresh| {
        // A foreign file sealed with the change would be taken for the program's own words.
        if fresh.is_foreign {
            return Err(ChangeError::Stale);
        }
        decide(&prepared, fresh).map(Some)
    });
    written.map_err(|error| match error {
        CommitError::Decide(error) => error,
        CommitError::Store(error) => ChangeError::Failed(error.into()),
    })
}

/// Commits what `decide` makes of the present state: the one that the caller has read, from the second try on a newer one.
pub(super) fn commit_on_current<R>(
    client: &dyn Client,
    store: &mut Store,
    mut known: Option<Arc<LoadedState>>,
    mut decide: impl FnMut(&State) -> Result<Adoption, ChangeError<R>>,
) -> Result<Result<CommitReport, R>, Failure> {
    commit_change(
        store,
        |store| Ok(basis(&mut known, client, store)?),
        |_, fresh| decide(&fresh.state),
    )
}

/// The failure of a change with faults, all of them with their places; nothing was written.
pub(super) fn faulty(what: &str, faults: &[Fault], hint: &'static str) -> Failure {
    let line = |fault: &Fault| {
        let at = match fault.pointer.as_str() {
            "" => String::new(),
            pointer => format!("{pointer}: "),
        };
        let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
        format!("{at}{}{}", fault.message, hint.unwrap_or_default())
    };
    let message = format!("{what} {}", store::count(faults.len()));
    Failure::new("E-INVALID", exit::INVALID, message, hint).with(faults.iter().map(line).collect())
}
