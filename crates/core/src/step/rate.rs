//! The question how well a result, or the work of an attempt, meets a quality leaf: put to a judge, and its rating.
//!
//! Invariant: no base case is decided by a question without an answer. Not here: which leaf lacks a rating (`base_case`),
//! what a score means (`verdict`).

use super::{
    base_case::{self, UnratedLeaf},
    provider_wait::backoff_ms,
    question,
    transaction::Transaction,
    usage,
};
use crate::{
    answer_forms::rated_leaf,
    event::{ConsultEnd, Merge},
    rating,
    state::{Check, Consult, Intent, Leaf, Question, Rating, RunStatus, UsageLimit},
    verdict::{self, CheckProgress},
    world::{
        AttemptProgress, Unavailable,
        speculation::{self, LandingContext},
    },
};

/// The result, or the first candidate, that lacks nothing but a rating.
pub(super) fn wanted(transaction: &Transaction) -> Option<UnratedLeaf> {
    let state = &transaction.state;
    if state.run.status != RunStatus::Running || state.control.stop_requested {
        return None;
    }
    let of_candidates = || {
        let here = transaction.landing_context();
        let (in_force, speculative) = speculation::by_force(&here);
        in_force.into_iter().chain(speculative).find_map(|one| unrated_candidate(&here, one))
    };
    base_case::unrated(transaction).or_else(of_candidates)
}

fn unrated_candidate(here: &LandingContext<'_>, intent: &Intent) -> Option<UnratedLeaf> {
    let Some((_, CheckProgress::Rate(check))) = speculation::of_candidate(here, intent) else {
        return None;
    };
    let waits_until_ms = here.session.checks_wait_until_ms.get(&intent.id);
    if waits_until_ms.is_some_and(|until_ms| *until_ms > here.session.active_ms) {
        return None;
    }
    let Some(AttemptProgress::Merged { onto, merge, .. }) = here.session.progress.get(&intent.id)
    else {
        return None;
    };
    let commit = match &**merge {
        Merge::Clean { commit, .. } => Some(commit.clone()),
        Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => onto.clone(),
    };
    let of_attempt = Some((intent.atom.clone(), onto.clone()));
    Some(UnratedLeaf { check: check.clone(), on: intent.work_name(), commit, of_attempt })
}

/// The limit of usage that leaves too little for a rating, without which nothing goes on.
pub(super) fn lacks(transaction: &Transaction) -> Option<UsageLimit> {
    wanted(transaction)?;
    let agent = transaction.session.agents.in_role(Question::Rate)?;
    usage::lacking_for(transaction, Question::Rate, agent)
}

/// Whether the answer to a question would still be of use.
pub(super) fn is_asked(transaction: &Transaction, asked: &Consult) -> bool {
    if rated_leaf(&transaction.state, asked).is_none() {
        return false;
    }
    if asked.atom.is_some() {
        let is_of = |intent: &&Intent| Some(intent.work_name()) == asked.on;
        let of = transaction.state.run.in_flight.iter().find(is_of);
        // In a new loop, and on another head, the candidate is made and measured again first.
        let seen = |intent| speculation::of_candidate(&transaction.landing_context(), intent);
        return of
            .is_some_and(|intent| !matches!(seen(intent), Some((_, CheckProgress::Decided(_)))));
    }
    // The target is unknown in a new loop until its first verdict.
    let target = transaction.session.base_target.as_ref();
    target.is_none_or(|basis| Some(basis.text()) == asked.on)
}

/// Puts the question about a leaf.
pub(super) fn ask(transaction: &mut Transaction, wanted: UnratedLeaf) {
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
    let UnratedLeaf { check, on, commit, of_attempt } = wanted;
    let leaf = check.key();
    let ratings = &transaction.state.run.ratings;
    let asked = verdict::rating_on(ratings, &leaf, &on).map_or(0, |one| one.asked);
    let subject = Consult::subject_of_leaf(&leaf, &on, &agent);
    let (n, leaf, on) = (asked + 1, Some(leaf), Some(on));
    let (atom, from) = match of_attempt {
        Some((atom, onto)) => (Some(atom), onto),
        None => (None, None),
    };
    let new = question::of_plan(transaction, Question::Rate, agent, subject);
    question::put(transaction, Consult { n, leaf, on, commit, atom, from, ..new });
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
    let key = check.key();
    let before = verdict::rating_on(&transaction.state.run.ratings, &key, &on);
    let mut rating = Rating {
        leaf: key,
        atom: asked.atom.clone(),
        samples: before.map(|before| before.samples.clone()).unwrap_or_default(),
        on,
        by: asked.agent.clone(),
        score: None,
        asked: asked.n,
        because: because.clone(),
        pass: transaction.state.run.pass,
        at: transaction.at.clone(),
        extra: Default::default(),
    };
    if let (Some(score), Some(Leaf::Quality(leaf))) = (score, check.leaf()) {
        rating.take(score, leaf);
    }
    let silence = rating.silent();
    transaction.run().rate(rating);
    if score.is_none() {
        silent(transaction, &check, asked, silence, &because);
    }
    if asked.atom.is_some() {
        return;
    }
    let base = transaction.state.objective.base_case.clone();
    let basis = transaction.session.base_target.clone();
    if let (Some(base), Some(basis)) = (base, basis) {
        base_case::base_case_judged(transaction, &base, &basis);
    }
}

/// No rating came: it is asked for again after a while, or the run ends for want of one.
fn silent(transaction: &mut Transaction, check: &Check, asked: &Consult, n: u32, why: &str) {
    if n > transaction.state.objective.constraints.max_transient() {
        let cause = Unavailable::no_rating(&asked.agent, &check.title(), why);
        transaction.session.unavailable = Some(cause);
        return;
    }
    let at_ms = transaction.active_in(backoff_ms(n, "consult"));
    let is_of = |intent: &&Intent| Some(intent.work_name()) == asked.on;
    match transaction.state.run.in_flight.iter().find(is_of).map(|intent| intent.id.clone()) {
        Some(id) => drop(transaction.session.checks_wait_until_ms.insert(id, at_ms)),
        None => transaction.session.base_again_at_ms = Some(at_ms),
    }
}

/// Ratings without a score are asked for anew in another run.
pub(super) fn forget_silence(transaction: &mut Transaction) {
    let is_silent = |one: &Rating| one.score.is_none();
    if transaction.state.run.ratings.iter().any(is_silent) {
        transaction.run().ratings.retain(|one| !is_silent(one));
    }
}
