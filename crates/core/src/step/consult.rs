//! Questions to judging roles while a run goes on: when one is asked, when it is void, and what its answer changes.
//!
//! Invariant: one question at a time. It is in the state before it is asked; an answer to any other question is void. An
//! answer that cannot be used fails no attempt and no base case. Not here: how it is asked (the shell).
//!
//! A new question is a `Role` (`state/consult`), and a file here: when it is due, and what its answer changes
//! (`assess`, `refine`, `gate`, `unrated`, `question`). The form of its answer is a room of its own (`assessment`). Its
//! prompt is in `descent-minds`, the agent of its role in `config` of `descent-agent`.

use alloc::string::{String, ToString};

use super::{
    account, assess, base_case, gate,
    provider_wait::backoff_ms,
    question, refine,
    transaction::Transaction,
    unrated::{self, UnratedLeaf},
    usage,
};
use crate::{
    event::{AgentEnd, ConsultAnswer, ConsultEnd},
    id::{AgentName, ConsultId, Digest},
    rating,
    state::{
        AgentWait, Check, Consult, Rating, Role, RunStatus, WordedAnswer, WordingRecord,
        final_result::{FinalOutput, FinalResultRecord},
    },
    verdict, wording,
    world::Unavailable,
};

/// Brings the question in flight into line with what is wanted now.
pub(super) fn follow(transaction: &mut Transaction) {
    let wanted = unrated::wanted(transaction);
    forget_waits(transaction);
    if let Some(asked) = transaction.state.run.consult.clone()
        && !is_wanted(transaction, &asked)
    {
        question::drop_it(transaction);
    }
    if transaction.state.run.consult.is_some() {
        return;
    }
    if let Some(wanted) = wanted {
        ask(transaction, &wanted);
    } else if transaction.state.run.status == RunStatus::Running
        && !transaction.state.control.stop_requested
        && let Some(plan) = gate::wanted(transaction)
    {
        gate::ask(transaction, &plan);
    }
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_wanted(transaction: &Transaction, asked: &Consult) -> bool {
    if asked.role == Role::Answer {
        return wording::is_of_ending(&transaction.state, asked);
    }
    let is_over = transaction.state.run.status != RunStatus::Running;
    if is_over || asked.atom.is_some() {
        return !is_over && is_asked_of_step(transaction, asked);
    }
    match asked.role {
        Role::Refine => return refine::is_asked(transaction, asked),
        Role::Validate => return assess::review_is_asked(transaction, asked),
        Role::Assess => return assess::is_asked(transaction, asked),
        Role::Profile => return assess::reprofile_is_asked(transaction, asked),
        _ => {}
    }
    let leaf = asked.leaf.as_ref();
    let is_there = leaf.and_then(|leaf| question::leaf_of(transaction, leaf)).is_some();
    // The target is unknown in a new loop until its first verdict.
    let target = transaction.session.base_target.as_ref();
    let is_other = target.is_some_and(|basis| Some(basis.text()) != asked.on);
    is_there && !is_other
}

fn is_asked_of_step(transaction: &Transaction, asked: &Consult) -> bool {
    match asked.role {
        Role::Summarise => question::is_asked(transaction, asked),
        _ => gate::is_asked(transaction, asked),
    }
}

fn ask(transaction: &mut Transaction, wanted: &UnratedLeaf) {
    let Some(agent) = transaction.session.agents.in_role(Role::Judge).cloned() else {
        let cause = Unavailable::no_judge(&wanted.check.title());
        transaction.session.unavailable = Some(cause);
        return;
    };
    if usage::is_unlimited(transaction, &agent) {
        transaction.session.unavailable = Some(Unavailable::without_cost(&agent));
        return;
    }
    if usage::lacking_for(transaction, Role::Judge, &agent).is_some() {
        return;
    }
    let (leaf, on) = (wanted.check.key(), wanted.basis.text());
    let ratings = &transaction.state.run.ratings;
    let asked = verdict::rating_on(ratings, &leaf, &wanted.basis).map_or(0, |one| one.asked);
    let tree = wanted.basis.tree();
    let commit = tree.and_then(|tree| base_case::commit_of(transaction, tree));
    let subject = Consult::subject_of_leaf(&leaf, &on, &agent);
    let (n, leaf, on) = (asked + 1, Some(leaf), Some(on));
    let new = question::of_plan(transaction, Role::Judge, agent, subject);
    question::put(transaction, Consult { n, leaf, on, commit, ..new }, &wanted.check.title());
}

/// Takes the answer to the question in flight; that to any other is void.
pub(super) fn answered(transaction: &mut Transaction, id: &ConsultId, end: ConsultEnd) {
    let asked = transaction.state.run.consult.as_ref();
    let Some(asked) = asked.filter(|asked| asked.id == *id).cloned() else {
        return;
    };
    transaction.run().consult = None;
    transaction.run().settle(&asked.agent, asked.role, &end.usage, true);
    let Some(end) = question::wait_or_give_back(transaction, &asked, end) else {
        return;
    };
    match asked.role {
        Role::Summarise => return question::answered(transaction, &asked, end),
        Role::Validate if asked.atom.is_some() => return gate::answered(transaction, &asked, end),
        Role::Refine | Role::Validate | Role::Assess | Role::Profile
            if !is_wanted(transaction, &asked) =>
        {
            return;
        }
        Role::Refine => return refine::answered(transaction, &asked, end),
        Role::Validate => return assess::review_answered(transaction, &asked, end),
        Role::Assess => return assess::answered(transaction, &asked, end),
        Role::Profile => return assess::reprofile_answered(transaction, &asked, end),
        Role::Answer => return words_answered(transaction, &asked, end),
        _ => {}
    }
    let leaf = asked.leaf.as_ref().and_then(|leaf| question::leaf_of(transaction, leaf));
    let (Some(check), Some(on)) = (leaf, asked.on.clone()) else {
        return;
    };
    let (score, because) = match end.answer {
        ConsultAnswer::Value(node) => match rating::read(&check, &node) {
            Ok(rated) => (Some(rated.score), rated.because),
            Err(fault) => (None, fault),
        },
        ConsultAnswer::Faulty(why) | ConsultAnswer::Silent(why) => (None, why),
        ConsultAnswer::Ended(AgentEnd::Unavailable { kind, words, variable }) => {
            // The same is asked again once a person has mended it.
            let cause = Unavailable::lack(&asked.agent, kind, &words, variable.as_deref());
            transaction.session.unavailable = Some(cause);
            return;
        }
        ConsultAnswer::Ended(end) => (None, end.text()),
    };
    question::tell_rated(transaction, &asked, score, &because, end.duration_ms);
    let (leaf, agent, n) = (check.key(), asked.agent.clone(), asked.n);
    let rating = Rating {
        leaf,
        on,
        by: asked.agent,
        score,
        asked: asked.n,
        because: because.clone(),
        pass: transaction.state.run.pass,
        at: transaction.at().into(),
        extra: Default::default(),
    };
    transaction.run().rate(rating);
    if score.is_none() {
        silent(transaction, &check, &agent, n, &because);
    }
    let base = transaction.state.objective.base_case.clone();
    let basis = transaction.session.base_target.clone();
    if let (Some(base), Some(basis)) = (base, basis) {
        base_case::base_case_judged(transaction, &base, &basis);
    }
}

/// Removes the waits of questions that are over.
fn forget_waits(transaction: &mut Transaction) {
    let is_over = |wait: &AgentWait| {
        let open = transaction.session.provider_wait(&wait.agent);
        wait.atom.is_none() && open.is_none()
    };
    let waits = &transaction.state.run.waits;
    if waits.iter().any(is_over) {
        let left = waits.iter().filter(|wait| !is_over(wait)).cloned();
        let left = left.collect();
        transaction.run().waits = left;
    }
}

/// No rating came: it is asked for again after a while, or the run ends for want of one.
fn silent(transaction: &mut Transaction, check: &Check, agent: &AgentName, n: u32, why: &str) {
    if n > transaction.state.objective.constraints.max_transient() {
        let cause = Unavailable::no_rating(agent, &check.title(), why);
        transaction.session.unavailable = Some(cause);
        return;
    }
    let at_ms = transaction.active_in(backoff_ms(n, "consult"));
    transaction.session.base_again_at_ms = Some(at_ms);
}

/// Ratings without a score are asked for anew in another run.
pub(super) fn forget_silence(transaction: &mut Transaction) {
    let is_silent = |one: &Rating| one.score.is_none();
    if transaction.state.run.ratings.iter().any(is_silent) {
        transaction.run().ratings.retain(|one| !is_silent(one));
    }
}

// The question for the wording of the final answer, and what its answer changes (contract §9.27).
//
// Invariant: the run has ended before it is asked. Whatever comes of it, the result stays but for its text and notes.

/// The answer of a result: by code, with the words of an agent about this very ending if there are any.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let mut output = account::of(transaction, result);
    let asked =
        known(transaction).filter(|known| known.subject == wording::subject(&transaction.state));
    if let Some(words) = asked.and_then(|asked| asked.words.as_ref()) {
        words.put_into(&mut output);
    }
    output
}

/// Puts the question about the ending of this commit, once.
pub(super) fn words_ask(transaction: &mut Transaction) {
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
    let of_plan = question::of_plan(transaction, Role::Answer, agent.clone(), subject.clone());
    let commit = transaction.state.run.result().cloned();
    let about = Consult::about_whole_plan(Role::Answer).unwrap_or_default();
    question::put(transaction, Consult { commit, ..of_plan }, about);
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
pub(super) fn words_answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
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
