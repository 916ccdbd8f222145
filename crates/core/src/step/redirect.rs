//! A redirect that is requested of the loop: it ends everything in flight, and waits for the change of who asked.
//!
//! Not here: the change itself (`change`).

use super::{attempt_end, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    event::Event,
    id::Epoch,
    state::{
        EntryKind, Request, RunStatus,
        objective::RequestKind,
        record::{RequestRetiredEntry, RetireReason},
    },
};

/// Ends all attempts. For a process that asks, the loop waits then; a flag that was set by hand came with its change.
pub(super) fn obey(transaction: &mut Transaction) {
    end_all(transaction);
    match open_request(transaction) {
        None => clear(transaction),
        Some(request) => {
            transaction.run().status = RunStatus::Redirecting;
            transaction.announce(Event::AwaitsChange { by: request.by });
        }
    }
}

/// Makes room for a change, which is made in the same commit. Results of attempts that end are discarded.
pub(super) fn begin_change(transaction: &mut Transaction, ends_all: bool) {
    if ends_all {
        end_all(transaction);
    }
    clear(transaction);
}

/// Retires the request, without a change; the loop goes on as before.
pub(super) fn withdraw(transaction: &mut Transaction, why: RetireReason) {
    let Some(request) = open_request(transaction) else {
        return;
    };
    clear(transaction);
    retire(transaction, &request, why);
}

/// Records that a request is obeyed no more.
pub(super) fn retire(transaction: &mut Transaction, request: &Request, why: RetireReason) {
    transaction.tell(EntryKind::RequestRetired(RequestRetiredEntry {
        request: request.id.to_string(),
        by: request.by.clone(),
        why,
    }));
}

fn open_request(transaction: &Transaction) -> Option<Request> {
    let request = transaction.state.control.request.as_ref();
    request.filter(|request| request.kind == RequestKind::Redirect).cloned()
}

fn end_all(transaction: &mut Transaction) {
    for intent in transaction.all_in_flight() {
        attempt_end::cut_off(transaction, &intent, "redirected");
    }
    let run = transaction.run();
    run.epoch = Epoch(run.epoch.0 + 1);
}

fn clear(transaction: &mut Transaction) {
    let has_request = open_request(transaction).is_some();
    let control = transaction.control();
    control.redirect_requested = false;
    if has_request {
        control.request = None;
    }
    if transaction.state.run.status == RunStatus::Redirecting {
        transaction.run().status = RunStatus::Running;
    }
}
