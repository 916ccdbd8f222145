//! Points of the control law (contract §9.33): a refuted selection, a change of the plan, or a dead end.
//!
//! Invariant: at a point every leaf that a machine decides was measured on the head, so no clock decides a directive. The
//! same plan with the same results is one point. Not here: the numbers (`law`), who has to obey (`fragment`).

use super::{base_case, question, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    event::Event,
    law::{
        self, LawInputs,
        approach::{self, Approach},
        blocks,
    },
    state::{
        Check, FailureClass, LawUse, UsageLimit, atom,
        law::{
            BLOCKED_MAX, BlockedRecord, CURVE_MAX, CurvePoint, LawPoint, LawRecord, LawWeights,
            NearestCommit,
        },
        record::FailureEntry,
    },
    verdict::{Basis, CheckProgress, Verdict},
};

/// Characters kept of the reason.
const RATIONALE_CHARS_MAX: usize = 300;

/// Before the plan is changed: whether the head is judged first. If nobody has to obey, nothing is measured for it.
pub(super) fn is_awaited(transaction: &mut Transaction) -> bool {
    let acts = transaction.state.objective.constraints.law_acts();
    acts && !base_case::is_head_judged(transaction)
}

/// Takes a point on the head, as far as it is judged. False if it is known, or the head is not judged.
pub(super) fn take(transaction: &mut Transaction) -> bool {
    let check = transaction.state.objective.base_case.clone();
    let check = check.filter(|_| is_for_somebody(transaction));
    let (Some(check), Some(basis)) = (check, base_case::deciding_basis(transaction)) else {
        return false;
    };
    let progress = transaction.evaluator(&basis).judge(&check);
    let is_judged = !matches!(progress, CheckProgress::Measure(_));
    let subject = question::subject_of_plan(&transaction.state, &transaction.graph);
    transaction.empty_law_if_other(&check);
    let before = known_point(transaction);
    if !is_judged || before.as_ref().is_some_and(|point| point.subject == subject) {
        return false;
    }
    transaction.note_first_numbers(&check, &basis);
    let (inputs, failing) = inputs(transaction, &check, &basis);
    let rules = LawWeights::OF_PROGRAM;
    let criterion = failing.into_iter().next().unwrap_or_default();
    let point = law::point(&rules, &inputs, before.as_ref(), criterion);
    let point = LawPoint {
        subject,
        pass: transaction.state.run.pass,
        rationale: point.rationale.chars().take(RATIONALE_CHARS_MAX).collect(),
        at: transaction.at.clone(),
        ..point
    };
    if let Some(before) = &before {
        let outcomes = &mut transaction.law().outcomes;
        law::count_outcome(&rules, outcomes, before.directive, point.grad_d);
    }
    keep(transaction, &point);
    tell(transaction, &point);
    let law = transaction.law();
    blocks::block(law, &point);
    law.point = Some(point);
    true
}

/// Whether a planner is or may be asked: a directive is for nobody else.
pub(super) fn is_for_somebody(transaction: &Transaction) -> bool {
    let has_steps = transaction.graph.plans().next().is_some();
    let is_off = transaction.state.objective.constraints.law() == LawUse::Off;
    !is_off && (has_steps || transaction.state.run.grant.is_some())
}

fn known_point(transaction: &Transaction) -> Option<LawPoint> {
    transaction.state.run.law.as_ref()?.point.clone()
}

/// The facts that a point is computed from, and the titles of the leaves of the base case that do not hold.
pub(super) fn inputs(
    transaction: &Transaction,
    check: &Check,
    basis: &Basis,
) -> (LawInputs, Vec<String>) {
    let (state, empty) = (&transaction.state, LawRecord::default());
    let planning = &state.objective.constraints.planning;
    let law = state.run.law.as_ref().unwrap_or(&empty);
    let of_pass = |count: u64| if law.counted == state.run.pass { count } else { 0 };
    let (mut titles, mut has_failed) = (Vec::new(), false);
    let evaluator = transaction.evaluator(basis);
    for leaf in check.leaves() {
        let seen = evaluator.cache.get(&leaf.key(), basis).map(|seen| seen.verdict);
        // A leaf that could not be measured counts as failed in the end: it was hindered.
        match seen.or_else(|| evaluator.judge(leaf).verdict()) {
            Some(Verdict::Pass) => continue,
            Some(Verdict::Fail) => has_failed = true,
            Some(Verdict::Unknown) | None => {}
        }
        titles.push(leaf.title());
    }
    // Together they are one failure: many leaves would outweigh whatever the attempts tell.
    let is_hindered = !has_failed && !titles.is_empty();
    let inputs = LawInputs {
        distance: transaction.distance(check, basis).0,
        logical: of_pass(law.logical).saturating_add(u64::from(has_failed)),
        environmental: of_pass(law.environmental).saturating_add(u64::from(is_hindered)),
        changes: share(changes_made(transaction), u64::from(planning.changes())),
        budgets: budgets(transaction),
    };
    (inputs, titles)
}

/// The changes of the plan that were made.
pub(super) fn changes_made(transaction: &Transaction) -> u64 {
    let most = u64::from(transaction.state.objective.constraints.planning.changes());
    most.saturating_sub(atom::replans_left(&transaction.state))
}

/// The used share of the budget that is used up most.
fn budgets(transaction: &Transaction) -> Option<u32> {
    let constraints = &transaction.state.objective.constraints;
    let run = &transaction.state.run;
    let time = constraints.budget.time.as_ref();
    let time = time.map(|budget| share(transaction.spent_ms(), budget.ms));
    let iterations = constraints.budget.iterations;
    let iterations = iterations.map(|most| share(run.iteration, most));
    let usage = UsageLimit::ALL.into_iter().filter_map(|limit| {
        let most = constraints.usage(limit)?;
        Some(share(run.spent.usage.of(limit), most))
    });
    usage.chain(time).chain(iterations).max()
}

/// In thousandths. A limit of 0 is never used up.
fn share(used: u64, most: u64) -> u32 {
    let share = u128::from(used) * u128::from(law::ONE);
    let share = share.checked_div(u128::from(most));
    let share = share.and_then(|share| u32::try_from(share).ok());
    match most {
        0 => 0,
        _ => share.unwrap_or(law::ONE).min(law::ONE),
    }
}

/// Adds the point to the curve, and keeps the nearest commit.
fn keep(transaction: &mut Transaction, point: &LawPoint) {
    let (commit, serial) = (transaction.state.run.head.clone(), transaction.state.serial.0);
    let law = transaction.law();
    if law.curve.len() >= CURVE_MAX {
        let mut place = 0;
        law.curve.retain(|_| {
            place += 1;
            place % 2 == 1
        });
    }
    law.curve.push(CurvePoint {
        pass: point.pass,
        loss: point.loss.clone(),
        directive: point.directive,
        extra: Default::default(),
    });
    if law.best.as_ref().is_none_or(|best| point.loss.d <= best.d) {
        law.best = Some(NearestCommit {
            d: point.loss.d,
            pass: point.pass,
            serial,
            commit,
            extra: Default::default(),
        });
    }
}

fn tell(transaction: &mut Transaction, point: &LawPoint) {
    transaction.announce(Event::Law {
        pass: point.pass,
        d: point.loss.d.text(),
        p: point.loss.p.text(),
        omega: point.loss.omega.text(),
        l: point.loss.l.text(),
        gradient: point.gradient,
        grad_d: point.prev_directive.map(|_| point.grad_d.text()),
        directive: point.directive,
        because: point.rationale.clone(),
    });
}

/// Counts a failed attempt: each criterion that failed, or one of its class.
pub(super) fn count(transaction: &mut Transaction, failed: &FailureEntry) {
    if !is_for_somebody(transaction) {
        return;
    }
    let (logical, environmental) = counts_of(failed);
    let pass = transaction.state.run.pass;
    let law = transaction.law();
    if law.counted != pass {
        (law.counted, law.logical, law.environmental) = (pass, 0, 0);
    }
    law.logical = law.logical.saturating_add(logical);
    law.environmental = law.environmental.saturating_add(environmental);
    let tried = tried(transaction, failed, pass);
    let law = transaction.law();
    law.failed.retain(|one| one.pass == pass);
    law.failed.extend(tried);
    let old = law.failed.len().saturating_sub(BLOCKED_MAX);
    law.failed.drain(..old);
}

/// The logical and the environmental failures of an attempt: its checks that do not hold, or one of its class.
pub(super) fn counts_of(failed: &FailureEntry) -> (u64, u64) {
    let verdict = |word: &str| {
        let verdicts = failed.criteria.iter();
        let verdicts = verdicts.filter_map(|one| one.get("verdict")?.as_str());
        verdicts.filter(|one| *one == word).count() as u64
    };
    match (verdict("fail"), verdict("unknown"), failed.class) {
        (0, 0, FailureClass::Logical) => (1, 0),
        (0, 0, FailureClass::Environmental) => (0, 1),
        (logical, environmental, _) => (logical, environmental),
    }
}

/// The tools and targets of a failed attempt; a planner's own are none.
fn tried(transaction: &Transaction, failed: &FailureEntry, pass: u64) -> Vec<BlockedRecord> {
    let atom = transaction.state.atom(&failed.atom);
    let Some(atom) = atom.filter(|atom| atom.plan().is_none()) else {
        return Vec::new();
    };
    let approaches = if failed.tried.is_empty() {
        approach::of_atom(atom)
    } else {
        approach::of_calls(&failed.tried)
    };
    let one = |approach: Approach| BlockedRecord {
        tool: approach.tool,
        target: Some(approach.target),
        pass,
        because: Some(failed.attempt.clone()),
        atom: Some(failed.atom.clone()),
        extra: Default::default(),
    };
    approaches.into_iter().map(one).collect()
}

/// The base case holds: the newest directive was followed by a fall of the distance.
pub(super) fn reached(transaction: &mut Transaction) {
    let Some(point) = known_point(transaction) else {
        return;
    };
    let rules = LawWeights::OF_PROGRAM;
    let change = law::to_nothing(&point);
    let outcomes = &mut transaction.law().outcomes;
    law::count_outcome(&rules, outcomes, point.directive, change);
}

/// A run that a person starts anew may plan again.
pub(super) fn forget_end(transaction: &mut Transaction) {
    if transaction.state.has_abandoned() {
        transaction.law().point = None;
    }
}
