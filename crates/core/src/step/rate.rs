//! The question how well a result meets a quality leaf: put to a judge, and its rating.
//!
//! Invariant: no base case is decided by a question without an answer. Not here: which leaf lacks a rating (`base_case`),
//! what a score means (`verdict`).

use super::{base_case, provider_wait::backoff_ms, question, transaction::Transaction, usage};
use crate::{
    answer_forms::rated_leaf,
    event::ConsultEnd,
    rating,
    state::{Check, Consult, Question, Rating},
    verdict,
    world::Unavailable,
};

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    // The target is unknown in a new loop until its first verdict.
    let target = transaction.session.base_target.as_ref();
    let is_other = target.is_some_and(|basis| Some(basis.text()) != asked.on);
    rated_leaf(&transaction.state, asked).is_some() && !is_other
}

/// Puts the question about a leaf.
pub(super) fn ask(transaction: &mut Transaction, wanted: &base_case::UnratedLeaf) {
    let Some(agent) = transaction.session.agents.in_role(Question::Rate).cloned() else {
        let cause = Unavailable::no_judge(&wanted.check.title());
        transaction.session.unavailable = Some(cause);
        return;
    };
    if usage::is_unlimited(transaction, &agent) {
        transaction.session.unavailable = Some(Unavailable::without_cost(&agent));
        return;
    }
    if usage::lacking_for(transaction, Question::Rate, &agent).is_some() {
        return;
    }
    let (leaf, on) = (wanted.check.key(), wanted.basis.text());
    let ratings = &transaction.state.run.ratings;
    let asked = verdict::rating_on(ratings, &leaf, &wanted.basis).map_or(0, |one| one.asked);
    let tree = wanted.basis.tree();
    let commit = tree.and_then(|tree| base_case::commit_of(transaction, tree));
    let subject = Consult::subject_of_leaf(&leaf, &on, &agent);
    let (n, leaf, on) = (asked + 1, Some(leaf), Some(on));
    let new = question::of_plan(transaction, Question::Rate, agent, subject);
    question::put(transaction, Consult { n, leaf, on, commit, ..new });
}

/// Takes a rating, or that there is none.
pub(super) fn answered(transaction: &mut Transaction, asked: &Consult, end: ConsultEnd) {
    let leaf = rated_leaf(&transaction.state, asked).cloned();
    let (Some(check), Some(on)) = (leaf, asked.on.clone()) else {
        return;
    };
    if question::ends_run(transaction, asked, &end) {
        return;
    }
    let rated = question::once(end.answer).and_then(|node| rating::read(&check, &node));
    let (score, because) = match rated {
        Ok(rated) => (Some(rated.score), rated.because),
        Err(why) => (None, why),
    };
    question::announce(transaction, asked, score, ["", &because], end.duration_ms);
    let rating = Rating {
        leaf: check.key(),
        on,
        by: asked.agent.clone(),
        score,
        asked: asked.n,
        because: because.clone(),
        pass: transaction.state.run.pass,
        at: transaction.at.clone(),
        extra: Default::default(),
    };
    transaction.run().rate(rating);
    if score.is_none() {
        silent(transaction, &check, asked, &because);
    }
    let base = transaction.state.objective.base_case.clone();
    let basis = transaction.session.base_target.clone();
    if let (Some(base), Some(basis)) = (base, basis) {
        base_case::base_case_judged(transaction, &base, &basis);
    }
}

/// No rating came: it is asked for again after a while, or the run ends for want of one.
fn silent(transaction: &mut Transaction, check: &Check, asked: &Consult, why: &str) {
    if asked.n > transaction.state.objective.constraints.max_transient() {
        let cause = Unavailable::no_rating(&asked.agent, &check.title(), why);
        transaction.session.unavailable = Some(cause);
        return;
    }
    let at_ms = transaction.active_in(backoff_ms(asked.n, "consult"));
    transaction.session.base_again_at_ms = Some(at_ms);
}

/// Ratings without a score are asked for anew in another run.
pub(super) fn forget_silence(transaction: &mut Transaction) {
    let is_silent = |one: &Rating| one.score.is_none();
    if transaction.state.run.ratings.iter().any(is_silent) {
        transaction.run().ratings.retain(|one| !is_silent(one));
    }
}
