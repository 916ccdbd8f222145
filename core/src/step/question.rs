//! A question to a judging role: put into the state before it is asked, and told when it came to its end.
//!
//! Not here: when one is put, and what follows from an answer (`consult`, `gate`).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{attempt_start::title_of, transaction::Transaction};
use crate::{
    event::Event,
    id::{AgentName, AtomId, CommitId, Digest},
    state::{Consult, Role},
};

/// The subject of a question to a refiner, in words.
pub(super) const ABOUT_CHANGE: &str = "the plan, where nothing is left to try";

/// A question that is put into the state.
pub(super) struct NewQuestion {
    pub(super) role: Role,
    pub(super) agent: AgentName,
    pub(super) subject: Digest,
    /// How often the same is asked.
    pub(super) n: u32,
    pub(super) atom: Option<AtomId>,
    pub(super) leaf: Option<Digest>,
    pub(super) on: Option<String>,
    pub(super) commit: Option<CommitId>,
    /// Its subject in words.
    pub(super) about: String,
}

/// Puts a question into the state: it is asked after the commit.
pub(super) fn put(transaction: &mut Transaction, new: NewQuestion) {
    let at: String = transaction.at().into();
    let reserved = transaction.state.run.estimate(new.role, Some(&new.agent));
    let run = transaction.run();
    let consult = Consult {
        id: run.next_consult(),
        role: new.role,
        subject: new.subject,
        agent: new.agent,
        epoch: run.epoch,
        n: new.n,
        atom: new.atom,
        leaf: new.leaf,
        on: new.on,
        commit: new.commit,
        reserved,
        at,
        extra: Default::default(),
    };
    transaction.announce(Event::Consulting {
        consult: consult.id.clone(),
        role: consult.role,
        agent: consult.agent.clone(),
        about: new.about,
    });
    transaction.run().consult = Some(consult);
}

/// The subject of a question about the plan of a step, in words.
pub(super) fn about_plan(transaction: &Transaction, step: &AtomId) -> String {
    format!("the plan of {step}: {}", title_of(transaction, step))
}

/// Tells that a question about a plan came to its end.
pub(super) fn tell(transaction: &mut Transaction, asked: &Consult, because: &str, ms: u64) {
    let atom = asked.atom.as_ref();
    let about = match atom {
        Some(atom) => about_plan(transaction, atom),
        None => ABOUT_CHANGE.to_string(),
    };
    transaction.announce(Event::Consulted {
        consult: asked.id.clone(),
        role: asked.role,
        agent: asked.agent.clone(),
        about,
        ms,
        score: None,
        holds: None,
        because: because.to_string(),
    });
}
