//! The question for the words of the final answer, and what its answer changes (contract §9.27).
//!
//! Invariant: the run has ended before it is asked. Whatever comes of it, the result stays but for its text and notes.

use super::{account, question, transaction::Transaction, usage};
use crate::{
    answer_forms,
    event::ConsultEnd,
    state::{
        AnswerRecord, Consult, KeptAnswer, Question, TextAnswer,
        final_result::{FinalOutput, FinalResultRecord},
    },
    wording,
};

/// The answer of a result: by code, with the words of an agent about this very ending if there are any.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let mut output = account::of(transaction, result);
    let known = transaction.state.run.kept(Question::Word);
    let known = known.filter(|known| known.subject == wording::subject(&transaction.state));
    if let Some(words) = known.and_then(AnswerRecord::text) {
        wording::put_into(words, &mut output);
    }
    output
}

/// Puts the question about the ending of this commit, once.
pub(super) fn ask(transaction: &mut Transaction) {
    let state = &transaction.state;
    let agent = transaction.session.agents.in_role(Question::Word).cloned();
    let is_asked = wording::is_wanted(state) && wording::is_worded(&state.run);
    let Some(agent) = agent.filter(|_| is_asked) else {
        return;
    };
    let subject = wording::subject(state);
    if question::is_answered(transaction, Question::Word, &subject)
        || !usage::can_pay(transaction, Question::Word, &agent)
    {
        return;
    }
    let of_plan = question::of_plan(transaction, Question::Word, agent, subject);
    let commit = transaction.state.run.result().cloned();
    let asked = Consult { commit, ..of_plan };
    question::keep(transaction, &asked, Ok(None));
    question::put(transaction, asked);
}

/// Takes the words for this very ending; those for any other are void. Nobody is asked again.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    if !wording::is_of_ending(&transaction.state, asked) {
        return;
    }
    let mut read =
        question::once(end.answer).and_then(|node| answer_forms::read::<TextAnswer>(&node));
    if let Ok(words) = read.as_mut()
        && !wording::compares(&transaction.state)
    {
        words.drift.clear();
    }
    let unused = read.as_ref().err().map_or("", |why| why);
    question::announce(transaction, asked, None, ["", unused], end.duration_ms);
    question::keep(transaction, asked, read.map(|words| Some(KeptAnswer::Text(words))));
}

/// Takes the question back: the answer by code stays.
pub(super) fn withdraw(transaction: &mut Transaction) {
    let asked = transaction.state.run.consult.clone();
    let Some(asked) = asked.filter(|asked| asked.question == Question::Word) else {
        return;
    };
    question::close(transaction, None);
    if question::is_answered(transaction, Question::Word, &asked.subject) {
        question::keep(transaction, &asked, Err("the loop ended before its answer".into()));
    }
}
