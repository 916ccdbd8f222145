//! The base case while a run goes on: on which tree it is evaluated next, and when it completes the run. Also which
//! verdicts are kept, and which tree an ending delivers.
//!
//! Invariant: only a verdict on a deciding basis completes a run or refutes a selection. Not here: the final result
//! (`run_end`), and when a run ends (`advance`).

use super::{provider_wait::backoff_ms, transaction::Transaction, usage};
use crate::doc::prelude::*;
use crate::{
    event::Event,
    graph::Ix,
    id::{AtomId, CommitId, TreeId},
    state::{Check, Question, VerdictRecord, fields::Extra, verdicts},
    verdict::{Basis, CheckProgress, Verdict},
    world::Session,
};

/// The tree that an ending delivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Delivery {
    /// The tree to deliver is not judged yet.
    Awaited,
    /// The base case holds on it.
    Holds(DeliveredCommit),
    /// The base case holds on no known tree: the best one.
    Best(DeliveredCommit),
}

/// The commit, if it is not the head.
pub(super) type DeliveredCommit = Option<CommitId>;

/// Picks the basis on which the base case is evaluated next: one evaluation at a time.
pub(super) fn aim(transaction: &mut Transaction) {
    let Some(warm) = transaction.basis() else {
        return;
    };
    if transaction.session.base_target.is_some() && !transaction.all_resolved() {
        return;
    }
    let target = wanted(transaction, warm)
        .filter(|_| transaction.is_line_settled() && base_is_due(transaction));
    aim_at(transaction, target);
}

/// A verdict that could end the run is taken on the deciding basis. Any other verdict only steers. It is left out while
/// verifying takes more than a quarter of the time.
fn wanted(transaction: &Transaction, warm: Basis) -> Option<Basis> {
    let deciding = warm.deciding();
    let may_end = may_complete(transaction) && base_holds_so_far(transaction, &warm);
    if transaction.all_resolved() || may_end {
        return Some(deciding).filter(|basis| base_is_open(transaction, basis));
    }
    let is_affordable =
        transaction.session.verify_ms.saturating_mul(4) <= transaction.session.active_ms;
    let is_asked = !transaction.session.base_was_seen || is_affordable;
    Some(warm).filter(|basis| is_asked && base_is_open(transaction, basis))
}

fn aim_at(transaction: &mut Transaction, target: Option<Basis>) {
    let session = &mut transaction.session;
    if session.base_target != target {
        session.base_since_ms = session.active_ms;
        session.base_target = target;
    }
}

/// Judges the tree to deliver before a run ends. This is the head. If the base case does not hold on it, it is the best
/// known tree.
pub(super) fn choose(transaction: &mut Transaction) -> Delivery {
    if !is_head_judged(transaction) {
        return Delivery::Awaited;
    }
    let Some(head) = deciding_basis(transaction) else {
        return Delivery::Best(None);
    };
    match verdict_on(transaction, &head) {
        Some(Verdict::Pass) => Delivery::Holds(None),
        Some(Verdict::Fail | Verdict::Unknown) | None => best(transaction, &head),
    }
}

/// Whether the base case is judged on the head; otherwise it is measured there next.
pub(super) fn is_head_judged(transaction: &mut Transaction) -> bool {
    if !transaction.is_line_settled() {
        return false;
    }
    match deciding_basis(transaction) {
        Some(head) => is_judged_on(transaction, &head),
        // Else the tree of the head is still being looked up.
        None => transaction.state.run.head.is_none(),
    }
}

/// Whether nothing is left to measure on this basis; otherwise it is measured next.
fn is_judged_on(transaction: &mut Transaction, basis: &Basis) -> bool {
    if !base_is_open(transaction, basis) {
        return true;
    }
    let target = base_is_due(transaction).then(|| basis.clone());
    aim_at(transaction, target);
    false
}

/// The head, unless another tree is nearer to the base case.
fn best(transaction: &mut Transaction, head: &Basis) -> Delivery {
    let Some(check) = transaction.state.objective.base_case.clone() else {
        return Delivery::Best(None);
    };
    let distance = transaction.distance(&check, head);
    let solved = solved(transaction);
    let is_better = |one: &VerdictRecord| (one.d, solved) < (distance, one.lead());
    let best = best_verdict(transaction).filter(is_better);
    let Some(VerdictRecord { commit, tree, .. }) = best else {
        return Delivery::Best(None);
    };
    let basis = Basis::Pristine(tree);
    if !is_judged_on(transaction, &basis) {
        return Delivery::Awaited;
    }
    match verdict_on(transaction, &basis) {
        Some(Verdict::Pass) => Delivery::Holds(Some(commit)),
        Some(Verdict::Fail | Verdict::Unknown) | None => Delivery::Best(Some(commit)),
    }
}

/// Notes that the base case needs no measurement on the tree as it is: then work can start without one.
pub(super) fn see_what_is_known(transaction: &mut Transaction) {
    let is_measured = |basis: Basis| wanted(transaction, basis).is_none();
    let is_known = !transaction.session.base_was_seen
        && transaction.is_line_settled()
        && transaction.basis().is_some_and(is_measured);
    transaction.session.base_was_seen |= is_known;
}

/// Keeps the result of an evaluated base case, and announces it. That of a tree which is awaited no more is evidence alone.
pub(super) fn base_case_judged(transaction: &mut Transaction, check: &Check, basis: &Basis) {
    if transaction.session.base_target.as_ref() != Some(basis) {
        return;
    }
    transaction.session.base_target = None;
    keep_verdict(transaction, check, basis);
    let found = transaction.evaluator(basis).judge(check);
    let has_more = match found {
        CheckProgress::Measure(_) => true,
        CheckProgress::Rate(_) => may_rate(transaction, basis),
        CheckProgress::Decided(_) | CheckProgress::Again(_) | CheckProgress::Confirm(_) => false,
    };
    if has_more {
        return;
    }
    // A verdict that could end the run is taken again on the deciding basis, before anything starts.
    let is_taken_again = !basis.decides()
        && may_complete(transaction)
        && base_holds_so_far(transaction, basis)
        && base_is_open(transaction, &basis.deciding());
    transaction.session.base_was_seen |= !is_taken_again;
    let wait_ms = backoff_ms(1, "base case");
    let later_ms = transaction.active_in(wait_ms);
    let asks_again =
        matches!(found, CheckProgress::Decided(Verdict::Unknown) | CheckProgress::Again(_));
    transaction.session.base_again_at_ms = asks_again.then_some(later_ms);
    if basis.decides() {
        tell_differences(transaction, check, basis);
    }
    if !is_taken_again {
        let evaluator = transaction.evaluator(basis);
        let (count, unmeasured) = (evaluator.count(check), evaluator.count_unmeasured(check));
        let verdict = found.verdict().unwrap_or(Verdict::Unknown);
        let open = match verdict {
            Verdict::Pass => open_steps(transaction),
            Verdict::Fail | Verdict::Unknown => Vec::new(),
        };
        let (awaits, again, to_rate) = match found {
            CheckProgress::Confirm(leaf) => (Some(leaf.title()), None, None),
            CheckProgress::Again(leaf) => (None, Some(leaf.title()), None),
            CheckProgress::Rate(leaf) => (None, None, Some(leaf.title())),
            CheckProgress::Decided(_) | CheckProgress::Measure(_) => (None, None, None),
        };
        transaction.announce(Event::BaseCase {
            verdict,
            pristine: basis.decides(),
            held: Some(count.held),
            of: Some(count.of),
            unmeasured: Some(unmeasured).filter(|count| *count > 0),
            open,
            awaits,
            again,
            to_rate,
        });
    }
}

/// Keeps a verdict for the next commit: a verdict is no commit of its own.
fn keep_verdict(transaction: &mut Transaction, check: &Check, basis: &Basis) {
    let Some(tree) = basis.tree().cloned() else {
        return;
    };
    let Some(commit) = commit_of(transaction, &tree) else {
        return;
    };
    transaction.note_first_numbers(check, basis);
    let count = transaction.evaluator(basis).count(check);
    let is_head = transaction.state.run.head.as_ref() == Some(&commit);
    let known = verdicts_of(transaction).find(|one| one.tree == tree);
    let (choices, solved) = match known {
        Some(known) if !is_head => (known.choices.clone(), known.solved),
        _ => (transaction.active.whole(&transaction.graph), solved(transaction)),
    };
    let record = VerdictRecord {
        serial: transaction.state.serial.0,
        commit,
        tree,
        held: count.held,
        of: count.of,
        d: transaction.distance(check, basis),
        is_pristine: basis.decides(),
        solved,
        choices,
        extra: Extra::default(),
    };
    transaction.session.verdicts.push(record);
}

fn solved(transaction: &Transaction) -> u64 {
    transaction.state.bindings.len() as u64
}

pub(super) fn commit_of(transaction: &Transaction, tree: &TreeId) -> Option<CommitId> {
    let session: &Session = &transaction.session;
    let run = &transaction.state.run;
    let head = run.head.as_ref();
    let is_head = head.is_some_and(|head| transaction.tree_of(head).as_ref() == Some(tree));
    let known = || verdicts_of(transaction).find(|one| one.tree == *tree);
    let other = || session.trees.iter().find(|(_, known)| *known == tree);
    head.filter(|_| is_head)
        .or_else(|| known().map(|one| &one.commit))
        .or_else(|| other().map(|(commit, _)| commit))
        .cloned()
}

/// Tells a person if the warm verdict, or that of `align`, differs on the same tree.
fn tell_differences(transaction: &mut Transaction, check: &Check, basis: &Basis) {
    let Some(tree) = basis.tree() else { return };
    let cache = &transaction.session.evidence;
    let agreed = transaction.state.run.agreed.as_ref();
    let failed_then = |leaf: &Check| {
        agreed.is_some_and(|agreed| agreed.tree == *tree && agreed.failed.contains(&leaf.title()))
    };
    let disagreed: Vec<String> =
        cache.disagreed(check, basis).into_iter().map(Check::title).collect();
    let holds_now = |leaf: &Check| cache.decided(leaf, basis) == Some(Verdict::Pass);
    let leaves = check.leaves().into_iter();
    let unsteady = leaves.filter(|leaf| holds_now(leaf) && failed_then(leaf));
    let unsteady: Vec<String> = unsteady.map(Check::title).collect();
    if !disagreed.is_empty() {
        transaction.announce(Event::Disagreed { checks: disagreed });
    }
    if !unsteady.is_empty() && transaction.session.unsteady != unsteady {
        transaction.session.unsteady.clone_from(&unsteady);
        transaction.announce(Event::Unsteady { checks: unsteady });
    }
}

/// Verdicts on the base case, oldest first.
fn verdicts_of(transaction: &Transaction) -> impl Iterator<Item = &VerdictRecord> {
    transaction.state.run.verdicts.iter().chain(&transaction.session.verdicts)
}

fn best_verdict(transaction: &Transaction) -> Option<VerdictRecord> {
    let mut all: Vec<VerdictRecord> = Vec::new();
    for verdict in verdicts_of(transaction) {
        verdicts::add(&mut all, verdict.clone());
    }
    verdicts::best(&all).cloned()
}

/// The basis of the delivered tree that its evidence is of.
pub(super) fn result_basis(transaction: &Transaction) -> Option<Basis> {
    let run = &transaction.state.run;
    let of_delivered = |commit: &CommitId| run.verdicts.iter().find(|one| one.commit == *commit);
    let basis = match &run.delivered {
        Some(commit) => of_delivered(commit).map(|one| Basis::Pristine(one.tree.clone())),
        None => transaction.basis(),
    };
    let (check, basis) = (transaction.state.objective.base_case.as_ref()?, basis?);
    let cache = &transaction.session.evidence;
    let is_measured = |basis: &Basis| {
        let mut leaves = check.leaves().into_iter();
        leaves.any(|leaf| cache.get(&leaf.key(), basis).is_some())
    };
    // In `shared`, what was decided is of the serial before this step, unless the step itself changed the files.
    let before = Basis::Serial(transaction.serial_before());
    if transaction.is_shared() && !transaction.has_ended_attempt() && is_measured(&before) {
        return Some(before);
    }
    let deciding = basis.deciding();
    Some(if is_measured(&deciding) { deciding } else { basis })
}

/// The basis of a deciding verdict; `None` while the head's tree is not known.
pub(super) fn deciding_basis(transaction: &Transaction) -> Option<Basis> {
    transaction.basis().map(|basis| basis.deciding())
}

/// The verdict on the head as it stands, where it decides; `None` while it is not known.
pub(super) fn base_verdict(transaction: &Transaction) -> Option<Verdict> {
    if !transaction.is_line_settled() {
        return None;
    }
    verdict_on(transaction, &deciding_basis(transaction)?)
}

pub(super) fn verdict_on(transaction: &Transaction, basis: &Basis) -> Option<Verdict> {
    let check = transaction.state.objective.base_case.as_ref()?;
    transaction.evaluator(basis).judge(check).verdict()
}

/// Whether all machine checks hold on this basis.
fn base_holds_so_far(transaction: &Transaction, basis: &Basis) -> bool {
    let check = transaction.state.objective.base_case.as_ref();
    check.is_some_and(|check| match transaction.evaluator(basis).judge(check) {
        CheckProgress::Decided(verdict) => verdict == Verdict::Pass,
        CheckProgress::Rate(_) | CheckProgress::Confirm(_) => true,
        CheckProgress::Measure(_) | CheckProgress::Again(_) => false,
    })
}

fn base_is_due(transaction: &Transaction) -> bool {
    let at_ms = transaction.session.base_again_at_ms;
    at_ms.is_none_or(|at_ms| at_ms <= transaction.session.active_ms)
}

/// Whether something is left to measure on this basis.
fn base_is_open(transaction: &Transaction, basis: &Basis) -> bool {
    let check = transaction.state.objective.base_case.as_ref();
    check.is_some_and(|check| transaction.evaluator(basis).next_leaf(check).is_some())
        || may_rate(transaction, basis)
}

/// Whether a base case that holds completes the run as things stand. It does if everything agreed is done, if nothing
/// has begun, or if the completed run before left the same open.
pub(super) fn may_complete(transaction: &Transaction) -> bool {
    let mut roots = transaction.graph.roots().iter();
    let is_resolved = |root: &Ix| transaction.solved()[*root] || !is_agreed(transaction, *root);
    let left = transaction.session.left_open.as_ref();
    transaction.state.objective.constraints.finish_early
        || transaction.state.run.attempts_started == 0
        || roots.all(is_resolved)
        || left.is_some_and(|left| open_steps(transaction).iter().all(|one| left.contains(one)))
}

/// Whether a person agreed to a root; roots that `align` or a planner made do not count.
fn is_agreed(transaction: &Transaction, root: Ix) -> bool {
    let atom = transaction.state.atom(transaction.graph.id(root));
    let by = atom.and_then(|atom| atom.origin.as_ref()?.get("by")?.as_str());
    !matches!(by, Some("planner" | "align"))
}

/// The open tasks and planning steps of agreed roots. A root without any live one is listed itself.
pub(super) fn open_steps(transaction: &Transaction) -> Vec<AtomId> {
    let (graph, active) = (&transaction.graph, &transaction.active);
    let mut open = Vec::new();
    for root in graph.roots().iter().copied() {
        if transaction.solved()[root] || !is_agreed(transaction, root) {
            continue;
        }
        let mut inside = graph.subtree(root);
        inside.retain(|x| {
            active.is_live(*x) && active.is_leaf(graph, *x) && !transaction.solved()[*x]
        });
        if inside.is_empty() {
            inside.push(root);
        }
        open.extend(inside.into_iter().map(|x| graph.id(x).clone()));
    }
    open
}

// A quality leaf that must be rated before the base case is decided. Not here: asking (`rate`).

/// A quality leaf without a rating, and what is to be rated.
pub(super) struct UnratedLeaf {
    pub(super) check: Check,
    /// The tree, or the work of an attempt.
    pub(super) on: String,
    pub(super) commit: Option<CommitId>,
    /// The task, and the commit that its work is laid on; `None` of the whole result.
    pub(super) of_attempt: Option<(AtomId, Option<CommitId>)>,
}

/// The leaf that nothing but a rating is missing of, on the basis that decides.
pub(super) fn unrated(transaction: &Transaction) -> Option<UnratedLeaf> {
    let target = transaction.session.base_target.clone();
    let basis = target.filter(Basis::decides)?;
    let check = leaf_to_rate(transaction, &basis)?;
    let commit = basis.tree().and_then(|tree| commit_of(transaction, tree));
    Some(UnratedLeaf { check, on: basis.text(), commit, of_attempt: None })
}

/// Whether a judge can be asked about this basis: nothing but a rating is missing there, and there is a judge.
fn may_rate(transaction: &Transaction, basis: &Basis) -> bool {
    let agent = transaction.session.agents.in_role(Question::Rate);
    let can_pay = |agent| usage::lacking_for(transaction, Question::Rate, agent).is_none();
    basis.decides() && agent.is_some_and(can_pay) && leaf_to_rate(transaction, basis).is_some()
}

fn leaf_to_rate(transaction: &Transaction, basis: &Basis) -> Option<Check> {
    let check = transaction.state.objective.base_case.as_ref()?;
    match transaction.evaluator(basis).judge(check) {
        CheckProgress::Rate(leaf) => Some(leaf.clone()),
        _ => None,
    }
}
