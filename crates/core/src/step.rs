//! The one way in which a state changes: `step` takes an observation. It gives the next state, the touched records and
//! the events. Same state, session, event and time: the same bytes.
//!
//! Each kind of observation is one arm here, and its transition is in a file of its own under `step/`. Not here: the
//! desired work (`desired`), which only reads.

mod account;
mod advance;
mod attempt_end;
mod backtrack;
mod base_case;
mod candidate;
mod consult;
mod correct;
pub mod dead_end;
mod dispatch;
mod failure;
mod final_words;
mod gate;
pub mod judgement;
mod law_point;
mod pass_questions;
mod phase;
mod planning;
mod probing;
mod provider_wait;
mod question;
mod rate;
mod reconcile;
mod redirect;
pub mod remedies;
mod repair;
mod replan;
mod rest;
pub mod run_end;
mod run_start;
mod summarise;
#[cfg(test)]
mod tests;
mod trail;
mod transaction;
mod turn_end;
mod unusable;
mod usage;

use crate::doc::prelude::*;
use transaction::Transaction;

use crate::{
    event::{Input, Observation, Scope},
    id::{Digest, UnixMillis},
    state::{Check, State, record::RetireReason},
    verdict::{Basis, Measurement},
    world::{Session, SpeculativeTree, World},
};

pub use transaction::{Refusal, Transition};

/// Takes one observation.
pub fn step(world: &World, session: &Session, seen: Observation) -> Result<Transition, Refusal> {
    let transaction = Transaction::new(world, session, seen.now, seen.active_ms);
    take(transaction, world, seen.event)
}

/// Takes one more observation before the last one is committed: both are one commit then. It decides as it would after
/// a commit of its own.
pub fn go_on(open: &Transition, seen: Observation) -> Result<Transition, Refusal> {
    let (world, session) = (&open.world, &open.session);
    if open.is_quiet {
        return step(world, session, seen);
    }
    let transaction = Transaction::new(world, session, seen.now, seen.active_ms);
    let mut next = take(transaction.go_on(world), world, seen.event)?;
    next.touched.add(&open.touched);
    next.events.splice(..0, open.events.iter().cloned());
    next.is_quiet = false;
    Ok(next)
}

fn take(mut transaction: Transaction, world: &World, event: Input) -> Result<Transition, Refusal> {
    match event {
        Input::Started { run, from, left } => run_start::started(&mut transaction, run, from, left),
        Input::Tick => {}
        Input::Asked { request, reason } => run_start::asked(&mut transaction, request, reason)?,
        Input::AskerGone => redirect::withdraw(&mut transaction, RetireReason::AskerGone),
        Input::AllEnded(ended) => run_end::all_ended(&mut transaction, ended),
        Input::Ended { attempt, epoch, outcome } => {
            turn_end::ended(&mut transaction, &attempt, epoch, *outcome)
        }
        Input::Used { attempt, epoch, usage: used } => {
            usage::reported(&mut transaction, &attempt, epoch, &used)
        }
        Input::Consulted { consult: id, end } => consult::answered(&mut transaction, &id, *end),
        Input::Tried { attempt, onto, merge } => {
            candidate::tried(&mut transaction, &attempt, onto, merge)
        }
        Input::Built { start, .. } | Input::Staged { start, .. }
            if !transaction.is_start(&start) => {}
        Input::Built { start: _, head, line, dropped } => {
            reconcile::built(&mut transaction, head, line, &dropped)
        }
        Input::Staged { speculation, start: _, wanted, head, dropped } => {
            let staged = SpeculativeTree { line: wanted, head, is_whole: dropped.is_empty() };
            transaction.session.staged.insert(speculation, staged);
        }
        Input::Judged { scope, basis, seen } => {
            measurements_judged(&mut transaction, &scope, &basis, seen)
        }
        Input::Learned { commit, tree } => drop(transaction.session.trees.insert(commit, tree)),
        Input::Unworded => final_words::withdraw(&mut transaction),
        Input::Unavailable { why } => advance::unavailable(&mut transaction, why),
        Input::NoRoom { why } => run_end::no_room(&mut transaction, why),
    }
    if transaction.state.run.status.is_active() && transaction.is_loop {
        advance::advance(&mut transaction);
    }
    if transaction.is_dirty() {
        transaction.write_verdicts();
        trail::shorten(&mut transaction);
    }
    transaction.close(world)
}

/// The state that a change by another process begins from: a request for it is answered. All attempts end where it says so,
/// and their results are discarded.
pub(crate) fn begin_change(
    world: &World,
    now: UnixMillis,
    ends_all: bool,
) -> Result<Transition, Refusal> {
    by_another(world, now, |transaction| redirect::begin_change(transaction, ends_all))
}

/// The state with its results as the next step of a loop brings them into line with the graph; nothing is started.
pub fn in_line(world: &World, now: UnixMillis) -> Result<State, Refusal> {
    let transition = by_another(world, now, reconcile::reconcile_results)?;
    Ok(transition.world.facts.state)
}

/// Takes a requested redirect back, for the process that asked.
pub(crate) fn abort_redirect(world: &World, now: UnixMillis) -> Result<Transition, Refusal> {
    by_another(world, now, |transaction| {
        redirect::withdraw(transaction, RetireReason::TakenBack);
    })
}

/// Takes the question for the wording of the final answer back, for another process.
pub(crate) fn withdraw_wording(world: &World, now: UnixMillis) -> Result<Transition, Refusal> {
    by_another(world, now, final_words::withdraw)
}

/// A step that another process takes, beside the loop.
fn by_another(
    world: &World,
    now: UnixMillis,
    act: impl FnOnce(&mut Transaction),
) -> Result<Transition, Refusal> {
    let mut transaction = Transaction::new(world, &Session::default(), now, 0);
    transaction.is_loop = false;
    act(&mut transaction);
    transaction.close(world)
}

pub(crate) use run_start::control_with;

// Takes in measurements: they are recorded as evidence, then the candidate or the base case is
// examined.

fn measurements_judged(
    transaction: &mut Transaction,
    scope: &Scope,
    basis: &Basis,
    seen: Vec<(Digest, Measurement)>,
) {
    let Some(check) = check_of(transaction, scope) else {
        return;
    };
    let measured_ms: u64 = seen.iter().map(|(_, one)| one.duration_ms).sum();
    for (key, measurement) in seen {
        if let Some(leaf) = check.leaves().into_iter().find(|leaf| leaf.key() == key) {
            transaction.session.evidence.record(leaf, basis, measurement);
        }
    }
    match scope {
        Scope::Atom(id) => candidate::ask_again_later(transaction, id, &check, basis),
        Scope::BaseCase => {
            let session = &mut transaction.session;
            let since_ms = session.active_ms.saturating_sub(session.base_since_ms);
            session.verify_ms += measured_ms.max(since_ms);
            base_case::base_case_judged(transaction, &check, basis);
        }
    }
}

fn check_of(transaction: &Transaction, scope: &Scope) -> Option<Check> {
    match scope {
        Scope::BaseCase => transaction.state.objective.base_case.clone(),
        Scope::Atom(id) => {
            let intent = transaction.in_flight(id)?;
            transaction.task_of(&intent.atom)?.spec.checks.clone()
        }
    }
}
