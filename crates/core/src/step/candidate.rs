//! Candidates: the output of an attempt, merged onto the head with no ref moved, and judged by the atom's own checks. One
//! that holds becomes the result.
//!
//! Invariant: a candidate is taken in only on the head that it was made on, and while the tree stands as it should.

use super::{
    attempt_end, correct, failure::Failure, provider_wait::backoff_ms, repair, repair::RepairCause,
    transaction::Transaction, unusable,
};
use crate::doc::prelude::*;
use crate::{
    event::{AgentEnd, AgentReport, AnswerDoubt, Event, Merge, Outcome},
    graph::active::ActiveGraph,
    id::{AttemptId, CommitId},
    state::{
        Binding, Check, FailureClass, Intent, ResultCommit, atom::MergeConflict,
        binding::SUMMARY_CHARS_MAX, record::EvidenceRecord,
    },
    verdict::{Basis, CheckProgress, Evaluator, MeasurementKind, Verdict},
    world::{
        AttemptProgress, results,
        speculation::{self, BaseProgress},
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
    let intent = transaction.in_flight(id).cloned();
    let Some(intent) = intent.filter(|intent| lands_on(transaction, intent, &onto)) else {
        return;
    };
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
        let failure = Failure::of(&outcome, FailureClass::Logical, reason);
        return attempt_end::refused(transaction, &intent, failure);
    }
    let denial = outcome.doubt().filter(AnswerDoubt::is_denied);
    if let (Some(doubt), Merge::Unchanged { .. } | Merge::Conflict(_)) = (denial, &merge) {
        return attempt_end::denied(transaction, &intent, &outcome, &doubt);
    }
    match &merge {
        Merge::Conflict(paths) => return remake(transaction, &intent, &outcome, paths),
        Merge::Broken(why) => {
            let reason = format!("its workspace cannot be used: {why}");
            let class = FailureClass::Environmental;
            let failure = Failure::of(&outcome, class, reason);
            return attempt_end::refused(transaction, &intent, failure);
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
fn lands_on(transaction: &Transaction, intent: &Intent, onto: &Option<CommitId>) -> bool {
    transaction.landing_context().landing(intent).as_ref() == Some(onto)
}

/// A result that does not merge is made again on the new head. If its effect may happen once only, a person is asked
/// instead.
fn remake(transaction: &mut Transaction, intent: &Intent, outcome: &Outcome, paths: &[String]) {
    let why = "its change does not merge";
    let cause = RepairCause { why, attempt: Some(&intent.id), conflict: paths };
    if intent.effect.is_once_only() {
        let failure = Failure::of(outcome, FailureClass::Logical, repair::in_words(cause));
        return attempt_end::refused(transaction, intent, failure);
    }
    transaction.land(&intent.id);
    let _ = transaction.tried(&intent.atom, &intent.context, &intent.choices);
    if !repair::count_repair(transaction, &intent.atom, &intent.context, cause) {
        repair::out_of_repairs(transaction, &intent.atom, &intent.context, cause);
    }
}

/// Decides every candidate whose checks are complete.
pub(super) fn decide_all(transaction: &mut Transaction) {
    transaction.all_in_flight().iter().for_each(|intent| decide(transaction, intent));
    while let Some((intent, outcome)) = next_without_tree(transaction) {
        let merge = Merge::Unchanged { tree: None };
        integrate(transaction, &intent, &outcome, &merge, Vec::new());
    }
}

/// The result that lands next, if it has no tree of its own and no checks: there is nothing to merge and to measure.
fn next_without_tree(transaction: &Transaction) -> Option<(Intent, Arc<Outcome>)> {
    if !transaction.is_shared() || transaction.session.progress.is_empty() {
        return None;
    }
    let intent = speculation::next_to_land(&transaction.landing_context())?;
    let has_checks = transaction.task_of(&intent.atom)?.spec.checks.is_some();
    match transaction.session.progress.get(&intent.id)? {
        AttemptProgress::Finished(outcome) if intent.base.is_none() && !has_checks => {
            Some((intent.clone(), Arc::clone(outcome)))
        }
        AttemptProgress::Finished(_) | AttemptProgress::Merged { .. } => None,
    }
}

/// Integrates a candidate if its own checks hold; fails it if they do not.
fn decide(transaction: &mut Transaction, intent: &Intent) {
    let Some(AttemptProgress::Merged { outcome, onto, merge }) =
        transaction.session.progress.get(&intent.id).cloned()
    else {
        return;
    };
    if !lands_on(transaction, intent, &onto) {
        return;
    }
    let check = transaction.task_of(&intent.atom).and_then(|task| task.spec.checks.clone());
    let Some(check) = check else {
        return integrate(transaction, intent, &outcome, &merge, Vec::new());
    };
    let basis = speculation::basis_of(&merge, transaction.serial_before());
    let evaluator = transaction.evaluator(&basis).of_candidate(intent);
    match evaluator.judge(&check).verdict() {
        None => {}
        Some(Verdict::Pass) => {
            let (state, session) = (&transaction.state, &transaction.session);
            match speculation::on_base(state, session, intent, &outcome) {
                None => {}
                Some(BaseProgress::Learn(_) | BaseProgress::Measure(..)) => return,
                Some(BaseProgress::Holds) => {
                    let words = outcome.doubt();
                    let words = words.as_ref().map_or("", AnswerDoubt::words);
                    let words = format!("{words}; its checks held before it too: they cannot tell");
                    let doubt = AnswerDoubt::Denied(words);
                    return attempt_end::denied(transaction, intent, &outcome, &doubt);
                }
            }
            let evidence = evaluator.evidence_of(&check);
            let evidence = evidence.into_iter().map(|one| one.of_result().node()).collect();
            integrate(transaction, intent, &outcome, &merge, evidence);
        }
        Some(Verdict::Fail | Verdict::Unknown) => {
            let failure = check_failure(transaction, evaluator, &check, &outcome);
            if correct::may_go_on(transaction, intent, &failure) {
                return correct::begin_turn(transaction, intent, failure, &merge);
            }
            attempt_end::refused(transaction, intent, failure);
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
    let Some(intent) = transaction.in_flight(id) else {
        return;
    };
    let evaluator = transaction.evaluator(basis).of_candidate(intent);
    if matches!(evaluator.judge(check), CheckProgress::Again(_)) {
        let wait_ms = backoff_ms(1, id.as_str());
        let until_ms = transaction.active_in(wait_ms);
        let waits = &mut transaction.session.checks_wait_until_ms;
        waits.insert(id.clone(), until_ms);
    }
}

fn check_failure(
    transaction: &Transaction,
    evaluator: Evaluator<'_>,
    check: &Check,
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
        if let Some(word) = evaluator.denial(leaf) {
            criteria.push(criterion(leaf, Verdict::Fail));
            let why = word.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            reason = format!("a person says that it does not hold: {}{why}", leaf.title());
        }
        if let Some((rating, wanted)) = evaluator.failed_rating(leaf) {
            criteria.push(criterion(leaf, Verdict::Fail));
            reason = format!("{}: {}", leaf.title(), rating.text(wanted));
        }
        let Some(seen) = transaction.session.evidence.get(&leaf.key(), evaluator.basis) else {
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
    let outcome = Outcome { excerpt, whole, ..outcome.clone() };
    Failure { criteria, ..Failure::of(&outcome, class, reason) }
}

// Takes in verdicts, a candidate that becomes its atom's binding, and the tree after a backtrack.

/// Tools at most that a binding keeps, the newest.
const TOOLS_MAX: usize = 20;
/// Paths at most in a binding's list of artifacts.
const ARTIFACTS_MAX: usize = 100;

/// Moves the head in the state and binds the atom, in one commit.
pub(super) fn integrate(
    transaction: &mut Transaction,
    intent: &Intent,
    outcome: &Outcome,
    merge: &Merge,
    evidence: Vec<crate::state::FreeValue>,
) {
    transaction.land(&intent.id);
    let Some(x) = transaction.graph.ix(&intent.atom) else {
        return;
    };
    let (commit, change, files) = match merge {
        Merge::Clean { commit, change, files, .. } => {
            (Some(commit.clone()), Some(change.clone()), files.clone())
        }
        Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => (None, None, Vec::new()),
    };
    let lost = lost_in_conflict(transaction, intent, merge);
    if lost.is_none() {
        forget_conflict(transaction, intent);
    }
    let attempts = repair::count_success(transaction, intent);
    unusable::has_worked(transaction, intent);
    let speculation = speculation_of(transaction, intent);
    let active = speculation.as_ref().unwrap_or(&transaction.active);
    let inputs = results::inputs(&transaction.graph, active, &transaction.state, x);
    let at = transaction.at.clone();
    let by = transaction
        .task_of(&intent.atom)
        .map_or("worker", |task| if task.spec.action.is_some() { "action" } else { "worker" });
    let report = outcome.report.clone().unwrap_or_default();
    let doubt = outcome.doubt();
    let is_denied = doubt.as_ref().is_some_and(AnswerDoubt::is_denied);
    let because: String = doubt.as_ref().map_or("", AnswerDoubt::words).into();
    let because: String = because.chars().take(SUMMARY_CHARS_MAX).collect();
    let summary = if report.summary.is_empty() || is_denied {
        let has_tree = !matches!(merge, Merge::Unchanged { tree: None });
        summary(outcome, has_tree.then_some(&files[..]))
    } else {
        report.summary
    };
    let summary = after_conflict(summary, lost.as_ref());
    let whole = outcome.not_taken.after(&summary, SUMMARY_CHARS_MAX);
    let artifacts: BTreeSet<String> = report.artifacts.into_iter().chain(files.clone()).collect();
    let artifacts = artifacts.into_iter().take(ARTIFACTS_MAX).collect();
    let old_tools = outcome.tried.len().saturating_sub(TOOLS_MAX);
    let result = |of| Binding {
        summary: whole.clone(),
        value: report.value,
        artifacts,
        commit: commit.clone(),
        change,
        evidence,
        context: Some(intent.context.clone()),
        inputs: Some(inputs),
        attempts,
        by: by.to_string(),
        at,
        of,
        handoff: report.handoff,
        unclear: report.clarity.is_partial() || doubt.is_some(),
        unclear_because: because.clone(),
        read_as: report.read_as,
        tried: outcome.tried.iter().skip(old_tools).cloned().collect(),
        ..Binding::default()
    };
    if speculation.is_some() {
        transaction.park(&intent.atom, result(Arc::default()));
    } else {
        transaction.bind(&intent.atom, result);
    }
    if let Some(commit) = commit.clone().filter(|_| speculation.is_none()) {
        let run = transaction.run();
        run.head = Some(commit.clone());
        run.line.push(ResultCommit::new(intent.atom.clone(), commit));
    }
    let ms = outcome.duration_ms;
    let not_taken = outcome.not_taken.in_short(!files.is_empty());
    transaction.announce(Event::Solved {
        attempt: Some(intent.id.clone()),
        atom: intent.atom.clone(),
        ms: Some(ms),
        files,
        commit,
        summary,
        unclear: because,
        not_taken,
    });
}

/// The active graph that the attempt was made under, if it is not the one in force.
fn speculation_of(transaction: &Transaction, intent: &Intent) -> Option<Arc<ActiveGraph>> {
    let landing_context = transaction.landing_context();
    if landing_context.is_in_force(intent) {
        return None;
    }
    let speculation = landing_context.speculation_of(intent)?;
    Some(Arc::clone(&speculation.active))
}

/// The change that did not merge, if its repair changes nothing and no check sees whether that is right.
fn lost_in_conflict(
    transaction: &Transaction,
    intent: &Intent,
    merge: &Merge,
) -> Option<MergeConflict> {
    let is_unchanged = matches!(merge, Merge::Unchanged { .. });
    let task = transaction.task_of(&intent.atom);
    let unchecked = task.filter(|task| is_unchanged && task.spec.checks.is_none());
    unchecked?.tried(&intent.context)?.conflict.clone()
}

fn forget_conflict(transaction: &mut Transaction, intent: &Intent) {
    if transaction.try_of(intent).is_some_and(|tried| tried.conflict.is_some())
        && let Some(tried) = transaction.tried(&intent.atom, &intent.context, &intent.choices)
    {
        tried.conflict = None;
    }
}

fn after_conflict(summary: String, lost: Option<&MergeConflict>) -> String {
    let Some(lost) = lost else {
        return summary;
    };
    let text = format!("no change after a conflict in {}: {summary}", lost.paths.join(", "));
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}

/// Without a summary by its agent: how the attempt ended unless it simply did, the changes, and the last line that is
/// not blank. Without a tree of its own nobody knows what an attempt changed.
fn summary(outcome: &Outcome, files: Option<&[String]>) -> String {
    let end = outcome.agent_end.as_ref().filter(|end| **end != AgentEnd::Done);
    let end = end.map_or_else(|| outcome.how.text(), AgentEnd::text);
    let changed = match files {
        None => None,
        Some([]) => Some(String::from("no file changed")),
        Some([file]) => Some(format!("changed {file}")),
        Some([first, rest @ ..]) => Some(format!("changed {first} and {} more", rest.len())),
    };
    let says_more = changed.is_some() || outcome.last_line.is_some();
    let end = Some(end).filter(|end| end != "exit 0" || !says_more);
    let parts: Vec<String> =
        [end, changed, outcome.last_line.clone()].into_iter().flatten().collect();
    let text = parts.join("; ");
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}
