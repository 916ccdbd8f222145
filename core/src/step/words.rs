//! The question for the wording of the final answer, and what its answer changes (contract §9.27).
//!
//! Invariant: the run has ended before it is asked. Whatever comes of it, the result stays but for its text and notes.
//! Not here: the form of an answer (`wording`), the answer by code (`final_answer`).

use alloc::string::{String, ToString};

use super::{
    final_answer,
    question::{self, NewQuestion},
    transaction::Transaction,
    usage,
};
use crate::{
    event::ConsultEnd,
    id::{AgentName, Digest},
    state::{
        Consult, Role, WordedAnswer, WordingRecord,
        final_result::{FinalOutput, FinalResultRecord},
    },
    wording,
};

/// The answer of a result: by code, with the words of an agent about this very ending if there are any.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let mut output = final_answer::of(transaction, result);
    let asked =
        known(transaction).filter(|known| known.subject == wording::subject(&transaction.state));
    if let Some(words) = asked.and_then(|asked| asked.words.as_ref()) {
        words.put_into(&mut output);
    }
    output
}

/// Puts the question about the ending of this commit, once.
pub(super) fn ask(transaction: &mut Transaction) {
    let state = &transaction.state;
    let agent = transaction.session.agents.in_role(Role::Answer).cloned();
    let is_asked = wording::is_wanted(state) && wording::is_worded(&state.run);
    let Some(agent) = agent.filter(|_| is_asked) else {
        return;
    };
    let subject = wording::subject(state);
    if known(transaction).is_some_and(|known| known.subject == subject)
        || !usage::can_pay(transaction, Role::Answer, &agent)
    {
        return;
    }
    let of_plan = NewQuestion::of_plan(transaction, Role::Answer, agent.clone(), subject.clone());
    let commit = transaction.state.run.result().cloned();
    question::put(transaction, NewQuestion { commit, ..of_plan });
    note(transaction, subject, agent, Err(String::new()));
}

fn known(transaction: &Transaction) -> Option<&WordingRecord> {
    transaction.state.run.judging.as_ref()?.wording.as_ref()
}

/// `words`: the answer, or why none was used.
fn note(
    transaction: &mut Transaction,
    subject: Digest,
    agent: AgentName,
    words: Result<WordedAnswer, String>,
) {
    let record = WordingRecord {
        subject,
        agent,
        at: transaction.at().into(),
        because: words.as_ref().err().cloned().unwrap_or_default(),
        words: words.ok(),
        extra: Default::default(),
    };
    transaction.run().judging_mut().wording = Some(record);
}

/// Takes the words for this very ending; those for any other are void. Nobody is asked again.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !wording::is_of_ending(&transaction.state, asked) {
        return;
    }
    let compares = wording::compares(&transaction.state);
    let read = question::once(end.answer);
    let read = read.and_then(|node| wording::read(&node, compares));
    let unused = read.as_ref().err().cloned().unwrap_or_default();
    question::tell(transaction, asked, &unused, end.duration_ms);
    note(transaction, asked.subject.clone(), asked.agent.clone(), read);
}

/// Takes the question back: the answer by code stays.
pub(super) fn withdraw(transaction: &mut Transaction) {
    let asked = transaction.state.run.consult.clone();
    let Some(asked) = asked.filter(|asked| asked.role == Role::Answer) else {
        return;
    };
    question::drop_it(transaction);
    if known(transaction).is_some_and(|known| known.subject == asked.subject) {
        let because = "the loop ended before its answer".to_string();
        note(transaction, asked.subject, asked.agent, Err(because));
    }
}
