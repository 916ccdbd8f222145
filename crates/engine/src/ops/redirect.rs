//! A redirect: a person's changes as one commit, whatever runs meanwhile, and the loop's answer to it.
//!
//! Not here: the meaning of a redirect (`descent_core::change`), flags and files (`cli`).

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption, ChangeRefusal, Redirect},
    difference::{self, Difference, Weight},
    event::Event,
    id::AttemptId,
    state::{RunStatus, StartedFrom, State, objective::RequestKind},
    step::Refusal,
    world::World,
};

use super::{
    ChangeError, Client, CommitReport,
    change_view::{ChangeResult, ChangeView, RedirectView},
    commit_change,
    current::{basis, bound_of_start, commit_on_current, faulty, wait_for_loop, with_usage},
    file_faults,
    liveness::LoopObservation,
    request::{self, Patience},
    start,
};
use descent_store::{FileLock, LoadedState, Store};
use descent_system::failure::{Failure, exit};

/// The wait for the next commit of a loop.
const ANSWER_MS_MAX: u64 = 10_000;
/// The same where it may have nothing to do.
const NEWS_MS_MAX: u64 = 500;
/// Paths of another start that are named at most.
const MOVED_MAX: usize = 1_000;

/// The changes that a person wants, and their reason.
#[derive(Debug)]
pub struct RedirectOrder {
    pub redirect: Redirect,
    pub reason: Option<String>,
    /// The paths in which the start of `redirect` differs from the start so far.
    pub moved: Vec<String>,
}

/// The right to redirect while a person is asked: the loop, if there is one, has ended its attempts and waits. Without
/// it, or when its process is gone, the loop goes on.
#[derive(Debug)]
pub struct OpenRedirect {
    _lock: FileLock,
    /// The attempts that it ended.
    pub ended: Vec<AttemptId>,
    pub is_live: bool,
}

/// A redirect that could be made, or was made.
fn view(
    client: &dyn Client,
    store: &Store,
    before: &State,
    after: &State,
    events: &[Event],
    order: &RedirectOrder,
) -> ChangeView {
    let ended = change::ended_by(before, after, client.now());
    ChangeView {
        changes: changes(before, after).iter().map(Difference::text).collect(),
        redirect: Some(RedirectView {
            moved: order.moved.iter().take(MOVED_MAX).cloned().collect(),
            issues: file_faults::brought(before, after, &store.place().project),
            bound: bound_of_start(store, &World::new(after.clone())),
            ended: ended.into_iter().map(|intent| intent.id).collect(),
            started: Vec::new(),
            answered: None,
            answer: None,
        }),
        ..ChangeView::of(store, ChangeResult::Planned, after, events)
    }
}

/// The differences, but for the corrections that tell them and the request that they answer.
fn changes(before: &State, after: &State) -> Vec<Difference> {
    let mut before = before.clone();
    before.corrections.clone_from(&after.corrections);
    before.control.clone_from(&after.control);
    // An effect tells which of its entries went.
    before.trail.clone_from(&after.trail);
    Arc::make_mut(&mut before.run).status = after.run.status;
    let mut changes = difference::difference(&before, after);
    changes.retain(|change| change.weight == Weight::Main);
    changes
}

/// Plans the redirect of that state; nothing is written. `None` where all of it stands already.
pub fn plan(
    client: &dyn Client,
    store: &Store,
    before: &State,
    order: &RedirectOrder,
) -> Result<Option<ChangeView>, Failure> {
    match adopt(client, before, order) {
        Ok(done) => Ok(Some(view(client, store, before, &done.state, &done.events, order))),
        Err(refusal) => unless_it_stands(refusal).map(|()| None),
    }
}

/// Ends what the loop has in flight, and has it wait for the change.
pub fn begin(
    client: &dyn Client,
    store: &mut Store,
    reason: Option<&str>,
) -> Result<OpenRedirect, Failure> {
    let Some(lock) = store.ask_redirect()? else {
        let state = store.read()?.state.clone();
        return Err(asked_already(&state));
    };
    let mut ended = Vec::new();
    if store.is_live() {
        match request::request(client, store, RequestKind::Redirect, reason)? {
            Ok(report) => {
                let in_flight = report.loaded.state.run.in_flight.iter();
                ended = in_flight.map(|intent| intent.id.clone()).collect();
                // Until the loop has obeyed, or has ended.
                let so_far = "the redirect is requested, but ";
                let has_obeyed = |state: &State| {
                    state.run.status == RunStatus::Redirecting || !change::is_redirect_open(state)
                };
                Patience::new(so_far, LoopObservation::goes_on).until(
                    client,
                    store,
                    u64::MAX,
                    has_obeyed,
                )?;
            }
            Err(Refusal::NothingRuns) => {}
            Err(refusal) => return Err(Failure::bug(refusal)),
        }
    }
    Ok(OpenRedirect { _lock: lock, ended, is_live: store.is_live() })
}

/// Takes back a redirect that waits for its change; `false` if none does.
pub fn abort(client: &dyn Client, store: &mut Store) -> Result<bool, Failure> {
    let committed = commit_change(
        store,
        |store| wait_for_loop(store)?.ok_or(ChangeError::Refused(ChangeRefusal::NoDifference)),
        |_, fresh| Ok(change::abort_redirect(&fresh.state, client.now())?),
    )?;
    match committed {
        Ok(_) => Ok(true),
        Err(ChangeRefusal::NoDifference) => Ok(false),
        Err(refusal) => Err(Failure::bug(refusal)),
    }
}

impl OpenRedirect {
    /// Whether the loop goes on as before: another process took the request back, or the loop did. A stop meanwhile
    /// takes nothing back.
    pub fn was_taken_back(&self, state: &State) -> bool {
        self.is_live && state.run.status == RunStatus::Running && !change::is_redirect_open(state)
    }
}

fn asked_already(state: &State) -> Failure {
    let by = state.control.request.as_ref();
    let by =
        by.map_or_else(String::new, |request| format!(" by {}, since {}", request.by, request.at));
    let message = format!("a redirect is being made already{by}");
    let hint = "wait until it is made, or descent redirect --abort takes it back";
    Failure::new("E-REDIRECT", exit::LEASE, message, hint)
}

/// Commits the redirect on top of whatever a loop has committed meanwhile, and waits for its answer; `None` where all of it
/// stands already. `open` if this process asked for it before.
///
/// The objects of another start are kept before the state names it. If it comes to nothing, those of the start so far are.
pub fn redirect(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    order: &RedirectOrder,
    open: Option<&OpenRedirect>,
) -> Result<Option<ChangeView>, Failure> {
    let (place, before) = (store.place().clone(), loaded.state.clone());
    let keep = |start: &Option<StartedFrom>| match (&order.redirect.start, start) {
        (Some(_), Some(start)) => start::hold(&place, &before, start),
        _ => Ok(()),
    };
    keep(&order.redirect.start)?;
    let outcome = commit(client, store, loaded, order, open);
    if !matches!(outcome, Ok(Some(_))) {
        keep(&before.run.started_from)?;
    }
    let Some((before, done)) = outcome? else {
        return Ok(None);
    };
    let after = &done.loaded.state;
    let mut made = view(client, store, &before, after, &done.events, order);
    // A loop that has nothing to end and nothing to start makes no commit.
    let ends = made.redirect.as_ref().is_some_and(|facts| !facts.ended.is_empty());
    let most_ms = if ends { ANSWER_MS_MAX } else { NEWS_MS_MAX };
    let loop_state = Patience::new("the redirect is committed, but ", LoopObservation::goes_on)
        .until(client, store, most_ms, |state| state.serial > after.serial)?;
    let answer = loop_state.as_ref().map(|loaded| &loaded.state);
    made.result = ChangeResult::Changed;
    if let (Some(state), Some(facts)) = (answer, &mut made.redirect) {
        facts.started = state.run.in_flight.iter().map(|intent| intent.id.clone()).collect();
        facts.answered = Some(state.serial);
        facts.answer = Some(state.run.status);
    }
    Ok(Some(made))
}

fn commit(
    client: &dyn Client,
    store: &mut Store,
    loaded: Arc<LoadedState>,
    order: &RedirectOrder,
    open: Option<&OpenRedirect>,
) -> Result<Option<(State, CommitReport)>, Failure> {
    let (place, lineage) = (store.place().clone(), loaded.state.lineage.clone());
    let mut known = Some(loaded);
    let mut before = None;
    let committed = commit_change(
        store,
        |store| {
            basis(&mut known, client, store)?;
            Ok(open.is_none() && store.is_redirect_asked())
        },
        |by_another, fresh| {
            let state = &fresh.state;
            if state.lineage != lineage {
                return Err(ChangeError::Stale);
            }
            if *by_another && change::is_redirect_open(state) {
                return Err(asked_already(state).into());
            }
            if open.is_some_and(|open| open.was_taken_back(state)) {
                let message = "the redirect was taken back meanwhile (descent redirect --abort), and nothing is written";
                let hint = "descent redirect asks anew";
                return Err(Failure::new("E-REDIRECT", exit::LEASE, message, hint).into());
            }
            before = Some(state.clone());
            Ok(adopt(client, &with_usage(&place, state), order)?)
        },
    )?;
    match committed {
        Ok(report) => Ok(before.map(|before| (before, report))),
        Err(refusal) => unless_it_stands(refusal).map(|()| None),
    }
}

/// Keeps a plan for the next comparison, where nothing else would be another.
pub fn keep_plan(client: &dyn Client, store: &mut Store, plan: &State) -> Result<(), Failure> {
    let keep = |state: &State| Ok(change::keep_plan(state, plan, client.now())?);
    match commit_on_current(client, store, None, keep)? {
        Ok(_) | Err(ChangeRefusal::NoDifference) => Ok(()),
        Err(refusal) => Err(Failure::bug(refusal)),
    }
}

fn adopt(
    client: &dyn Client,
    before: &State,
    order: &RedirectOrder,
) -> Result<Adoption, ChangeRefusal> {
    let (reason, by) = (order.reason.as_deref(), client.by());
    change::redirect(before, &order.redirect, reason, &by, client.now())
}

/// The failure of a refusal, unless all of it stands already.
pub(super) fn unless_it_stands(refusal: ChangeRefusal) -> Result<(), Failure> {
    match refusal {
        ChangeRefusal::NoDifference => Ok(()),
        ChangeRefusal::Invalid(faults)
            if faults.iter().all(|fault| fault.rule == change::NOT_BLOCKED) =>
        {
            let messages = faults.iter().map(|fault| fault.message.as_str());
            let messages: Vec<&str> = messages.collect();
            let hint = faults.first().and_then(|fault| fault.hint.clone());
            Err(Failure::usage(messages.join("; "), hint.unwrap_or_default()))
        }
        ChangeRefusal::Invalid(faults) => {
            let hint = "mend them, then try again; nothing was written";
            Err(faulty("the redirect has", &faults, hint))
        }
        ChangeRefusal::WorkspaceIsFixed => {
            let hint = "align --force --set workspace=… archives this run and begins anew";
            Err(Failure::usage(refusal, hint))
        }
        refusal => Err(Failure::bug(refusal)),
    }
}
