//! The progress of a candidate's checks.

use alloc::vec::Vec;

use super::{AttemptProgress, Session, speculation::LandingContext};
use crate::{
    event::{AnswerDoubt, Merge, Outcome},
    id::CommitId,
    state::{Intent, State},
    verdict::{Basis, CheckProgress, Evaluator, Verdict},
};

/// The progress of a candidate's checks on the present head; `None` if it has none to be judged.
pub(crate) fn of_candidate<'c>(
    landing_context: &LandingContext<'c>,
    intent: &Intent,
    serial: u64,
) -> Option<(Basis, CheckProgress<'c>)> {
    let LandingContext { state, session, .. } = *landing_context;
    let Some(AttemptProgress::Merged { onto, merge, .. }) = session.progress.get(&intent.id) else {
        return None;
    };
    let check = state
        .atoms
        .get(&intent.atom)?
        .task()?
        .spec
        .checks
        .as_ref()
        .filter(|_| landing_context.landing(intent).as_ref() == Some(onto))?;
    let basis = basis_of(merge, serial);
    let progress = evaluator(state, session, &basis).judge(check);
    Some((basis, progress))
}

/// How far the checks of an attempt that says that it failed are measured on the tree that it began from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BaseProgress {
    /// The tree of that commit is not known yet.
    Learn(CommitId),
    Measure(Basis, CommitId),
    /// They hold there: that they hold now tells nothing about the attempt.
    Holds,
}

/// The progress of the checks on that tree; `None` if they do not hold there, or need not be measured.
pub(crate) fn on_base(
    state: &State,
    session: &Session,
    intent: &Intent,
    outcome: &Outcome,
) -> Option<BaseProgress> {
    outcome.doubt().filter(AnswerDoubt::is_denied)?;
    let base = intent.base.as_ref()?;
    let check = state.atom(&intent.atom)?.task()?.spec.checks.as_ref()?;
    let Some(tree) = session.tree_of(state, base) else {
        return Some(BaseProgress::Learn(base.clone()));
    };
    // In a checkout of its own: what the candidate left behind would be measured too.
    let basis = Basis::Pristine(tree);
    match evaluator(state, session, &basis).judge(check) {
        CheckProgress::Measure(_) | CheckProgress::Again(_) => {
            Some(BaseProgress::Measure(basis, base.clone()))
        }
        CheckProgress::Decided(Verdict::Pass) => Some(BaseProgress::Holds),
        // A person or a judge tells it from the candidate.
        CheckProgress::Decided(_) | CheckProgress::Rate(_) | CheckProgress::Confirm(_) => None,
    }
}

fn evaluator<'a>(state: &'a State, session: &'a Session, basis: &'a Basis) -> Evaluator<'a> {
    Evaluator {
        cache: &session.evidence,
        basis,
        corrections: &state.corrections,
        ratings: &state.run.ratings,
        again_max: state.objective.constraints.max_transient(),
    }
}

/// The attempt whose result lands next, if one may. Results land in the order in which they finish, one at a time: the
/// next candidate is made on the head after it. Nothing lands while the tree or a result is being rebuilt. Speculative
/// results land last.
pub(crate) fn next_to_land<'c>(
    landing_context: &LandingContext<'c>,
    serial: u64,
) -> Option<&'c Intent> {
    let LandingContext { state, session, .. } = *landing_context;
    let (in_force, speculative) = by_force(landing_context);
    let mut repairs = in_force.iter().filter(|intent| is_repair(state, intent));
    let first = repairs.next().map(|intent| &intent.id);
    let gives_way = |intent: &Intent| {
        first.is_some_and(|id| *id != intent.id) && landing_context.is_in_force(intent)
    };
    let may_land = |intent: &&Intent| {
        let seen = of_candidate(landing_context, intent, serial);
        session.progress.contains_key(&intent.id)
            && !matches!(seen, Some((_, CheckProgress::Confirm(_))))
            && !gives_way(intent)
            && landing_context.landing(intent).is_some()
    };
    in_force.into_iter().chain(speculative).find(may_land)
}

/// The attempts in flight: those in the context in force, and speculative ones.
pub(crate) fn by_force<'c>(
    landing_context: &LandingContext<'c>,
) -> (Vec<&'c Intent>, Vec<&'c Intent>) {
    let in_flight = landing_context.state.run.in_flight.iter();
    in_flight.partition(|intent| landing_context.is_in_force(intent))
}

fn is_repair(state: &State, intent: &Intent) -> bool {
    let task = state.atoms.get(&intent.atom).and_then(|atom| atom.task());
    let tried = task.and_then(|task| task.tried(&intent.context));
    tried.is_some_and(|tried| tried.repairs > 0)
}

/// The basis on which an attempt's own checks are measured.
pub(crate) fn basis_of(merge: &Merge, serial: u64) -> Basis {
    match merge {
        Merge::Clean { tree, .. } | Merge::Unchanged { tree: Some(tree) } => {
            Basis::Warm(tree.clone())
        }
        Merge::Unchanged { tree: None } | Merge::Conflict(_) | Merge::Broken(_) => {
            Basis::Serial(serial)
        }
    }
}
