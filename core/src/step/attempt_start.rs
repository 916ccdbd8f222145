//! Records that an attempt begins.
//!
//! Not here: whether it may begin (`dispatch`, `probing`).

use alloc::{borrow::ToOwned, string::String};

use super::transaction::Transaction;
use crate::{
    id::{AgentName, AtomId, AttemptId, CommitId, Digest},
    state::{Intent, Role, SideEffect, Usage, record::Choices},
};

pub(super) fn title_of(transaction: &Transaction, id: &AtomId) -> String {
    let atom = transaction.state.atom(id);
    atom.map_or(id.as_str(), |atom| atom.title(id)).to_owned()
}

/// An attempt that begins.
pub(super) struct NewAttempt {
    pub(super) atom: AtomId,
    pub(super) context: Digest,
    pub(super) choices: Choices,
    pub(super) n: u32,
    pub(super) effect: SideEffect,
    pub(super) base: Option<CommitId>,
    pub(super) role: Role,
    pub(super) agent: Option<AgentName>,
    pub(super) reserved: Usage,
}

impl NewAttempt {
    /// Records it as in flight; its atom waits no longer.
    pub(super) fn begin(self, transaction: &mut Transaction) -> AttemptId {
        let key = (self.atom.clone(), self.context.clone());
        transaction.session.waits_until_ms.remove(&key);
        let at = transaction.at().into();
        let run = transaction.run();
        run.waits.retain(|wait| wait.atom.as_ref() != Some(&self.atom));
        let id = run.next_attempt(&self.atom);
        let epoch = run.epoch;
        run.in_flight.push(Intent {
            id: id.clone(),
            atom: self.atom,
            context: self.context,
            choices: self.choices,
            epoch,
            n: self.n,
            effect: self.effect,
            base: self.base,
            role: self.role,
            agent: self.agent,
            reserved: self.reserved,
            at,
            extra: Default::default(),
        });
        id
    }
}
