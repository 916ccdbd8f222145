//! Candidates: the output of an attempt, merged onto the head with no ref moved, and judged by the atom's own checks.
//!
//! Invariant: a candidate is taken in only on the head that it was made on, and while the tree stands as it should.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{
    attempt_end,
    backoff::backoff_ms,
    counts::{self, RepairCause},
    failure::Failure,
    landing::integrate,
    repair,
    transaction::Transaction,
};
use crate::{
    event::{AgentReport, AnswerDoubt, Merge, Outcome},
    id::{AttemptId, CommitId},
    state::{Check, FailureClass, record::EvidenceRecord},
    verdict::{self, Basis, MeasurementKind, Verdict},
    world::{
        AttemptProgress,
        candidate::{self, BaseProgress},
    },
};

/// Takes the candidate: the change of an attempt on a head.
pub(super) fn tried(
    transaction: &mut Transaction,
    id: &AttemptId,
    onto: Option<CommitId>,
    merge: Merge,
) {
    let Some(AttemptProgress::Finished(outcome) | AttemptProgress::Merged { outcome, .. }) =
        transaction.session.progress.get(id)
    else {
        return;
    };
    let outcome = Arc::clone(outcome);
    if !lands_on(transaction, id, &onto) {
        return;
    }
    if let Merge::Clean { protected, .. } = &merge
        && !protected.is_empty()
    {
        let is_cache = |path: &String| path.contains("__pycache__/") || path.ends_with(".pyc");
        let advice = if protected.iter().all(is_cache) {
            "; a run of Python makes them: ignore `__pycache__/`, then descent redirect --from ."
        } else {
            ""
        };
        let reason = format!("it changed what judges it: {}{advice}", protected.join(", "));
        return attempt_end::refused(
            transaction,
            id,
            Failure::of(&outcome, FailureClass::Logical, reason),
        );
    }
    let denial = outcome.doubt().filter(AnswerDoubt::is_denied);
    if let (Some(doubt), Merge::Unchanged { .. } | Merge::Conflict(_)) = (denial, &merge) {
        return attempt_end::denied(transaction, id, &outcome, &doubt);
    }
    match &merge {
        Merge::Conflict(paths) => return remake(transaction, id, &outcome, paths),
        Merge::Broken(why) => {
            let reason = format!("its workspace cannot be used: {why}");
            let class = FailureClass::Environmental;
            return attempt_end::refused(transaction, id, Failure::of(&outcome, class, reason));
        }
        Merge::Clean { commit, tree, .. } => {
            drop(transaction.session.trees.insert(commit.clone(), tree.clone()))
        }
        Merge::Unchanged { tree: Some(tree) } => {
            if let Some(onto) = &onto {
                transaction.session.trees.insert(onto.clone(), tree.clone());
            }
        }
        Merge::Unchanged { tree: None } => {}
    }
    transaction
        .session
        .progress
        .insert(id.clone(), AttemptProgress::Merged { outcome, onto, merge: Arc::new(merge) });
}

/// Whether the result may be integrated into this head now.
fn lands_on(transaction: &Transaction, id: &AttemptId, onto: &Option<CommitId>) -> bool {
    let speculations = transaction.speculations();
    let landing_context = transaction.landing_context(&speculations);
    let landing = transaction.in_flight(id).and_then(|intent| landing_context.landing(intent));
    landing.as_ref() == Some(onto)
}

/// A result that does not merge is made again on the new head. If its effect may happen once only, a person is asked
/// instead.
fn remake(transaction: &mut Transaction, id: &AttemptId, outcome: &Outcome, paths: &[String]) {
    let cause =
        RepairCause { why: "its change does not merge", attempt: Some(id), conflict: paths };
    if transaction.in_flight(id).is_some_and(|intent| intent.effect.is_once_only()) {
        return attempt_end::refused(
            transaction,
            id,
            Failure::of(outcome, FailureClass::Logical, repair::in_words(cause)),
        );
    }
    let Some(intent) = transaction.land(id) else {
        return;
    };
    let _ = transaction.tried(&intent.atom, &intent.context, &intent.choices);
    if !counts::count_repair(transaction, &intent.atom, &intent.context, cause) {
        repair::out_of_repairs(transaction, &intent.atom, &intent.context, cause);
    }
}

/// Decides every candidate whose checks are complete.
pub(super) fn decide_all(transaction: &mut Transaction) {
    transaction.all_in_flight().iter().for_each(|id| decide(transaction, id));
    while let Some((id, outcome)) = next_without_tree(transaction) {
        let merge = Merge::Unchanged { tree: None };
        integrate(transaction, &id, &outcome, &merge, Vec::new());
    }
}

/// The result that lands next, if it has no tree of its own and no checks: there is nothing to merge and to measure.
fn next_without_tree(transaction: &Transaction) -> Option<(AttemptId, Arc<Outcome>)> {
    if !transaction.is_shared() || transaction.session.progress.is_empty() {
        return None;
    }
    let speculations = transaction.speculations();
    let landing_context = transaction.landing_context(&speculations);
    let intent = candidate::next_to_land(&landing_context, transaction.serial_before())?;
    let has_checks = transaction.task_of(&intent.atom)?.spec.checks.is_some();
    match transaction.session.progress.get(&intent.id)? {
        AttemptProgress::Finished(outcome) if intent.base.is_none() && !has_checks => {
            Some((intent.id.clone(), Arc::clone(outcome)))
        }
        AttemptProgress::Finished(_) | AttemptProgress::Merged { .. } => None,
    }
}

/// Integrates a candidate if its own checks hold; fails it if they do not.
fn decide(transaction: &mut Transaction, id: &AttemptId) {
    let Some(AttemptProgress::Merged { outcome, onto, merge }) =
        transaction.session.progress.get(id).cloned()
    else {
        return;
    };
    let Some(intent) = transaction.in_flight(id).cloned() else {
        return;
    };
    if !lands_on(transaction, id, &onto) {
        return;
    }
    let check = transaction.task_of(&intent.atom).and_then(|task| task.spec.checks.clone());
    let Some(check) = check else {
        return integrate(transaction, id, &outcome, &merge, Vec::new());
    };
    let basis = candidate::basis_of(&merge, transaction.serial_before());
    let decided = transaction.evaluate(&basis, |evaluator| match evaluator.judge(&check) {
        verdict::CheckProgress::Decided(verdict) => Some(verdict),
        verdict::CheckProgress::Measure(_)
        | verdict::CheckProgress::Rate(_)
        | verdict::CheckProgress::Confirm(_)
        | verdict::CheckProgress::Again(_) => None,
    });
    match decided {
        None => {}
        Some(Verdict::Pass) => {
            let (state, session) = (&transaction.state, &transaction.session);
            match candidate::on_base(state, session, &intent, &outcome) {
                None => {}
                Some(BaseProgress::Learn(_) | BaseProgress::Measure(..)) => return,
                Some(BaseProgress::Holds) => {
                    let words = outcome.doubt();
                    let words = words.as_ref().map_or("", AnswerDoubt::words);
                    let words = format!("{words}; its checks held before it too: they cannot tell");
                    return attempt_end::denied(
                        transaction,
                        id,
                        &outcome,
                        &AnswerDoubt::Denied(words),
                    );
                }
            }
            let evidence = transaction.evidence_of(&check, &basis);
            let evidence = evidence.into_iter().map(|one| one.of_result().node()).collect();
            integrate(transaction, id, &outcome, &merge, evidence);
        }
        Some(Verdict::Fail | Verdict::Unknown) => {
            attempt_end::refused(
                transaction,
                id,
                check_failure(transaction, &check, &basis, &outcome),
            );
        }
    }
}

/// A check that could not be run is asked again after a while.
pub(super) fn ask_again_later(
    transaction: &mut Transaction,
    id: &AttemptId,
    check: &Check,
    basis: &Basis,
) {
    if transaction.evaluate(basis, |evaluator| {
        matches!(evaluator.judge(check), verdict::CheckProgress::Again(_))
    }) {
        let wait_ms = backoff_ms(1, id.as_str());
        let until_ms = transaction.active_in(wait_ms);
        let waits = &mut transaction.session.checks_wait_until_ms;
        waits.insert(id.clone(), until_ms);
    }
}

fn check_failure(
    transaction: &Transaction,
    check: &Check,
    basis: &Basis,
    outcome: &Outcome,
) -> Failure {
    let mut criteria = Vec::new();
    let criterion = |leaf, verdict: Verdict| EvidenceRecord {
        on: None,
        ..EvidenceRecord::of(leaf, verdict.word(), String::new())
    };
    let (mut excerpt, mut whole) = (String::new(), None);
    let mut reason = "its checks do not hold".to_string();
    let mut class = FailureClass::Logical;
    for leaf in check.leaves() {
        if verdict::assertions::is_denied(&transaction.state.corrections, leaf, basis) {
            criteria.push(criterion(leaf, Verdict::Fail));
            reason = format!("a person says that it does not hold: {}", leaf.title());
        }
        let Some(seen) = transaction.session.evidence.get(&leaf.key(), basis) else {
            continue;
        };
        criteria.push(criterion(leaf, seen.verdict));
        if seen.verdict != Verdict::Pass && excerpt.is_empty() {
            reason = match seen.measurement.what {
                MeasurementKind::SetupFailed { .. } => "`setup` fails on what it made".to_string(),
                MeasurementKind::Command { .. } | MeasurementKind::Files { .. } => {
                    format!("its check does not hold: {}", leaf.title())
                }
            };
            excerpt.clone_from(&seen.measurement.excerpt);
            whole.clone_from(&seen.measurement.whole);
            if seen.verdict == Verdict::Unknown {
                reason = format!("its check could not be run: {}", leaf.title());
                class = FailureClass::Environmental;
            }
        }
    }
    // The words of a report stand beside the reason.
    let says_failed = |report: &AgentReport| report.has_failed;
    let is_reported = outcome.report.as_ref().is_some_and(says_failed);
    if let Some(doubt) = outcome.doubt().filter(|_| !is_reported) {
        reason = format!("{reason}; {}", doubt.words());
    }
    Failure { excerpt, whole, criteria, ..Failure::of(outcome, class, reason) }
}
