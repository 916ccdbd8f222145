//! The results of a phase put in short by an agent, before a step that builds on them is planned (contract §9.31).
//!
//! Invariant: the step waits for an answer, and for nothing where there is no agent for it, or none that is paid. A
//! fragment is asked about once; without an answer that can be used its results are told by code. Not here: which phase
//! is too long (`world::long_phase`), and the form of an answer (`phase_summary`).

use super::{
    question::{self, NewQuestion},
    transaction::Transaction,
    usage,
};
use crate::{
    doc::Node,
    event::ConsultEnd,
    graph::{Ix, NodeKind},
    phase_summary,
    state::{Consult, PhaseSummary, Role},
    world::long_phase::{self, LongPhase},
};

/// Before a step is planned: puts the question, unless it was answered. True while its answer is awaited.
pub(super) fn is_awaited(transaction: &mut Transaction, step: Ix) -> bool {
    if transaction.graph.vertex(step).kind != NodeKind::Plan {
        return false;
    }
    let Some(agent) = transaction.session.agents.in_role(Role::Summarise).cloned() else {
        return false;
    };
    let (graph, active, state) = (&transaction.graph, &transaction.active, &transaction.state);
    let Some(phase) = long_phase::wanted(graph, active, state, step) else {
        return false;
    };
    if !usage::can_pay(transaction, Role::Summarise, &agent) {
        return false;
    }
    if transaction.state.run.consult.is_none() {
        let about = question::about_step(transaction, Role::Summarise, &phase.plan);
        let of_plan = NewQuestion::of_plan(transaction, Role::Summarise, agent, phase.subject);
        let new = NewQuestion { atom: Some(phase.plan), about, ..of_plan };
        question::put_or_wait(transaction, new);
    }
    true
}

fn asked_about(transaction: &Transaction, asked: &Consult) -> Option<LongPhase> {
    let (graph, active, state) = (&transaction.graph, &transaction.active, &transaction.state);
    long_phase::find(graph, active, state, asked.atom.as_ref()?, &asked.subject)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    asked_about(transaction, asked).is_some()
}

/// Keeps the answer, or that there is none.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let Some(phase) = asked_about(transaction, asked) else {
        return;
    };
    let read = |_: &Transaction, node: &Node| phase_summary::read(node);
    let Some(read) = question::heard(transaction, asked, end, read) else {
        return;
    };
    let summary = PhaseSummary {
        subject: phase.subject,
        agent: asked.agent.clone(),
        because: read.as_ref().err().cloned().unwrap_or_default(),
        text: read.unwrap_or_default(),
        at: transaction.at().into(),
        extra: Default::default(),
    };
    transaction.change_plan(&phase.plan, |step| {
        if let Some(fragment) = step.fragment_mut(&phase.first) {
            fragment.summary = Some(summary);
        }
    });
    // The next step starts the planning, since this one may have looked for work already.
    transaction.session.has_more = true;
}
