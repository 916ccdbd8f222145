//! The question in flight: which one is wanted, when it is void, and who takes its answer.
//!
//! Invariant: one question at a time. An answer to any other is void. An answer that cannot be used fails no attempt and
//! no base case. Not here: how one is put (`question`).

use super::{
    final_words, gate, pass_questions, question, rate, summarise, transaction::Transaction,
};
use crate::{
    event::ConsultEnd,
    id::ConsultId,
    state::{AgentWait, Consult, Moment, RunStatus},
    wording,
};

/// Brings the question in flight into line with what is wanted now.
pub(super) fn follow(transaction: &mut Transaction) {
    let leaf = rate::wanted(transaction);
    forget_waits(transaction);
    if let Some(asked) = transaction.state.run.consult.clone()
        && !is_wanted(transaction, &asked)
    {
        question::close(transaction, None);
    }
    if transaction.state.run.consult.is_some() {
        return;
    }
    if let Some(leaf) = leaf {
        rate::ask(transaction, leaf);
    } else if transaction.state.run.status == RunStatus::Running
        && !transaction.state.control.stop_requested
        && let Some(plan) = gate::wanted(transaction)
    {
        gate::ask(transaction, &plan);
    }
}

/// Whether a question that is wanted is in flight, or waits to be put: work may follow from its answer.
pub(super) fn is_due(transaction: &Transaction) -> bool {
    let asked = transaction.state.run.consult.as_ref();
    asked.is_some_and(|asked| is_wanted(transaction, asked)) || gate::wanted(transaction).is_some()
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_wanted(transaction: &Transaction, asked: &Consult) -> bool {
    let moment = asked.question.row().moment;
    if moment == Moment::Ended {
        return wording::is_of_ending(&transaction.state, asked);
    }
    transaction.state.run.status == RunStatus::Running
        && match moment {
            Moment::StepPlanned => gate::is_asked(transaction, asked),
            Moment::StepDue => summarise::is_asked(transaction, asked),
            Moment::DeadEnd => pass_questions::is_asked(transaction, asked),
            Moment::AllElseHolds | Moment::Ended => rate::is_asked(transaction, asked),
        }
}

/// Ends a question that an earlier loop left, where a person has named another agent for it since.
pub(super) fn drop_of_another(transaction: &mut Transaction) {
    let agents = &transaction.session.agents;
    let is_anothers = |asked: &Consult| agents.in_role(asked.question) != Some(&asked.agent);
    if transaction.state.run.consult.as_ref().is_some_and(is_anothers) {
        question::close(transaction, None);
    }
}

/// Takes the answer to the question in flight; that to any other is void.
pub(super) fn answered(transaction: &mut Transaction, id: &ConsultId, end: ConsultEnd) {
    let asked = transaction.state.run.consult.as_ref();
    let Some(asked) = asked.filter(|asked| asked.id == *id).cloned() else {
        return;
    };
    question::close(transaction, Some(&end.usage));
    let Some(end) = question::wait_or_give_back(transaction, &asked, end) else {
        return;
    };
    match asked.question.row().moment {
        Moment::DeadEnd => pass_questions::answered(transaction, &asked, end),
        Moment::StepPlanned => gate::answered(transaction, &asked, end),
        Moment::StepDue => summarise::answered(transaction, &asked, end),
        Moment::AllElseHolds => rate::answered(transaction, &asked, end),
        Moment::Ended => final_words::answered(transaction, &asked, end),
    }
}

/// Removes the waits of questions that are over.
fn forget_waits(transaction: &mut Transaction) {
    let is_over =
        |wait: &AgentWait| wait.atom.is_none() && !transaction.session.awaits_provider(&wait.agent);
    let waits = &transaction.state.run.waits;
    if waits.iter().any(is_over) {
        let left = waits.iter().filter(|wait| !is_over(wait)).cloned().collect();
        transaction.run().waits = left;
    }
}
