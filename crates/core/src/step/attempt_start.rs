//! Records that an attempt begins.
//!
//! Not here: whether it may begin (`dispatch`, `probing`).

use alloc::{borrow::ToOwned, string::String};

use super::transaction::Transaction;
use crate::{
    id::{AtomId, AttemptId},
    state::Intent,
};

pub(super) fn title_of(transaction: &Transaction, id: &AtomId) -> String {
    let atom = transaction.state.atom(id);
    atom.map_or(id.as_str(), |atom| atom.title(id)).to_owned()
}

/// Records an attempt as in flight, under the next id; its atom waits no longer.
pub(super) fn begin(transaction: &mut Transaction, intent: Intent) -> AttemptId {
    let key = (intent.atom.clone(), intent.context.clone());
    transaction.session.waits_until_ms.remove(&key);
    let at = transaction.at().into();
    let run = transaction.run();
    run.waits.retain(|wait| wait.atom.as_ref() != Some(&intent.atom));
    let (id, epoch) = (run.next_attempt(&intent.atom), run.epoch);
    run.in_flight.push(Intent { id: id.clone(), epoch, at, ..intent });
    id
}
