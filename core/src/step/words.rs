//! The question for the wording of the final answer, and what its answer changes (contract §9.27).
//!
//! Invariant: the run has ended before it is asked. Whatever comes of it, the result stays but for its text and notes.
//! Not here: the form of an answer (`wording`), the answer by code (`final_answer`).

use alloc::string::{String, ToString};

use super::{
    account,
    question::{self, NewQuestion},
    transaction::Transaction,
    usage,
};
use crate::{
    event::ConsultEnd,
    id::{AgentName, Digest},
    state::{
        Consult, FinalResult, JudgedBy, Role, RunStatus, WordingRecord,
        final_result::{FinalOutput, FinalResultRecord},
    },
    wording,
};

/// The same ending was worded before: its words are those of then.
pub(super) fn keep(transaction: &Transaction, result: &mut FinalResultRecord) {
    let known = known_subject(transaction).cloned();
    let Some(output) = &result.output else { return };
    if known.as_ref() != Some(&wording::subject(&transaction.state, result, &output.text)) {
        return;
    }
    let before = transaction.state.run.last_result.as_ref();
    let before = before.and_then(|before| before.data.output.clone());
    let by_model = |output: &FinalOutput| output.by == Some(JudgedBy::Model);
    if let Some(before) = before.filter(by_model) {
        result.output = Some(before);
    }
}

/// Puts the question about the ending of this commit, once.
pub(super) fn ask(transaction: &mut Transaction) {
    let state = &transaction.state;
    let Some(result) = state.run.last_result.as_ref().map(|result| &result.data) else {
        return;
    };
    let by_code = result.output.as_ref();
    let by_code = by_code.filter(|output| output.by == Some(JudgedBy::Code));
    let Some(by_code) = by_code.filter(|_| wording::is_worded(result)) else {
        return;
    };
    let subject = wording::subject(state, result, &by_code.text);
    let agent = transaction.session.agents.in_role(Role::Answer).cloned();
    let Some(agent) = agent.filter(|_| wording::is_wanted(state)) else {
        return;
    };
    if known_subject(transaction) == Some(&subject)
        || !usage::can_pay(transaction, Role::Answer, &agent)
    {
        return;
    }
    let of_plan = NewQuestion::of_plan(transaction, Role::Answer, agent.clone(), subject.clone());
    let commit = transaction.state.run.result().cloned();
    question::put(transaction, NewQuestion { commit, ..of_plan });
    note(transaction, subject, agent, String::new());
}

fn known_subject(transaction: &Transaction) -> Option<&Digest> {
    let judging = transaction.state.run.judging.as_ref();
    let known = judging.and_then(|judging| judging.wording.as_ref());
    known.map(|known| &known.subject)
}

fn note(transaction: &mut Transaction, subject: Digest, agent: AgentName, because: String) {
    let record = WordingRecord {
        subject,
        agent,
        at: transaction.at().into(),
        because,
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
    note(transaction, asked.subject.clone(), asked.agent.clone(), unused);
    let before = transaction.state.run.last_result.as_ref();
    let (Ok(words), Some(before)) = (read, before) else {
        return;
    };
    let mut result = before.data.clone();
    if let Some(output) = &mut result.output {
        words.put_into(output);
    }
    if result.result == Some(RunStatus::Completed) {
        result.accountable = Some(account::of_completed(result.output.as_ref()));
    }
    transaction.run().last_result = Some(FinalResult::new(result));
}

/// Takes the question back: the answer by code stays.
pub(super) fn withdraw(transaction: &mut Transaction) {
    let asked = transaction.state.run.consult.clone();
    let Some(asked) = asked.filter(|asked| asked.role == Role::Answer) else {
        return;
    };
    question::drop_it(transaction);
    if known_subject(transaction) == Some(&asked.subject) {
        let because = "the loop ended before its answer".to_string();
        note(transaction, asked.subject, asked.agent, because);
    }
}
