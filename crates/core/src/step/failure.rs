//! Failures and doubts in the trail. Not here: the cost of a failure (`attempt_end`).

use super::{law_point, trail, transaction::Transaction};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    event::{Event, FILES_MAX, Outcome},
    fingerprint,
    id::{AtomId, Digest},
    search,
    state::{
        AtomStatus, EntryKind, FailureClass, Intent, PatternRecord,
        record::{EvidenceRecord, FailureEntry, InDoubtEntry},
    },
    verdict::CommandEnd,
};

/// Bytes at most of the value that a failed attempt reported.
const VALUE_BYTES_MAX: usize = 4_096;

/// A failure, as the trail and a person read it.
pub(super) struct Failure {
    pub(super) class: FailureClass,
    /// Whether the form of its answer alone was wrong.
    pub(super) by_form: bool,
    pub(super) reason: String,
    pub(super) criteria: Vec<EvidenceRecord>,
    /// The outcome of its attempt; of one that was judged with the output of its checks.
    pub(super) outcome: Outcome,
}

impl Failure {
    /// A failure with all that is known of its attempt.
    pub(super) fn of(outcome: &Outcome, class: FailureClass, reason: String) -> Self {
        let (by_form, criteria, outcome) = (false, Vec::new(), outcome.clone());
        Self { class, by_form, reason, criteria, outcome }
    }

    /// The reason, with what is not taken.
    pub(super) fn told_reason(&self) -> String {
        self.outcome.not_taken.after(&self.reason, usize::MAX)
    }

    /// The digest that failures have in common that are alike: of the checks that do not hold, else the fingerprint.
    pub(super) fn mark(&self, fingerprint: &Digest) -> Digest {
        let unmet = self.criteria.iter().filter(|one| !one.passes()).map(|one| {
            let text = |of: &Option<String>| of.clone().unwrap_or_default();
            format!("{}\0{}", text(&one.check), text(&one.verdict))
        });
        let unmet: Vec<String> = unmet.collect();
        if unmet.is_empty() { fingerprint.clone() } else { Digest::of(unmet.join("\0").as_bytes()) }
    }

    /// How many of its checks held, and how many there are; none where it was not judged by any.
    pub(super) fn confidence(&self) -> Option<(u64, u64)> {
        let held = self.criteria.iter();
        let held = held.filter(|one| one.passes());
        let of = self.criteria.len() as u64;
        (of > 0).then(|| (held.count() as u64, of))
    }

    /// A failure that no attempt made.
    pub(super) fn without_attempt(class: FailureClass, reason: String) -> Self {
        Self::of(&Outcome::ended(CommandEnd::NotRun(String::new()), 0), class, reason)
    }
}

/// Writes a failure into the trail; gives its fingerprint.
pub(super) fn record(
    transaction: &mut Transaction,
    intent: &Intent,
    failure: &Failure,
    has_ended: bool,
) -> Digest {
    let x = transaction.graph.ix(&intent.atom);
    let conflict = x.map(|x| search::conflict(&transaction.graph, x, &intent.choices));
    let files = files_named(transaction, &failure.outcome.excerpt);
    let report = failure.outcome.report.as_ref();
    let mut entry = FailureEntry {
        atom: intent.atom.clone(),
        attempt: intent.id.clone(),
        started: intent.at.clone(),
        nth: Some(intent.n),
        class: failure.class,
        reason: failure.reason.clone(),
        context: Some(intent.context.clone()),
        output: failure.outcome.excerpt.clone(),
        whole: failure.outcome.whole.clone(),
        criteria: failure.criteria.iter().map(EvidenceRecord::node).collect(),
        files,
        changed: failure.outcome.changed.iter().take(FILES_MAX).cloned().collect(),
        conflict: conflict.filter(|_| has_ended),
        fingerprint: None,
        summary: report.map_or_else(String::new, |report| report.summary.clone()),
        value: report.and_then(|report| small(report.value.as_ref()?)),
        handoff: report.and_then(|report| report.handoff.clone()),
        unclear: report.is_some_and(|report| report.clarity.is_partial()),
        by_form: failure.by_form,
        agent: intent.agent.clone(),
        tried: failure.outcome.tried.clone(),
        usage: failure.outcome.usage.clone(),
    };
    let fingerprint = fingerprint::of(&entry);
    entry.fingerprint = Some(fingerprint.clone());
    count(transaction, &entry, &fingerprint);
    law_point::count(transaction, &entry);
    // The names of leftovers may differ from one time to the next.
    entry.reason = failure.told_reason();
    transaction.record(EntryKind::Failure(Box::new(entry)));
    fingerprint
}

/// A large value of an attempt that failed is of no use to the next.
fn small(value: &Node) -> Option<Node> {
    (doc::canonical(value).len() <= VALUE_BYTES_MAX).then(|| value.clone())
}

/// The files changed by solved atoms that a text names.
pub(super) fn files_named(transaction: &Transaction, text: &str) -> Vec<String> {
    let files = transaction.state.bindings.values().flat_map(|binding| binding.artifacts.iter());
    let named: BTreeSet<&String> = files.filter(|file| text.contains(file.as_str())).collect();
    named.into_iter().take(FILES_MAX).cloned().collect()
}

/// Puts an effect outside in doubt: a person must say whether it happened, or may happen again. A removed atom is asked
/// about when it comes back.
pub(super) fn doubt(transaction: &mut Transaction, doubt: InDoubtEntry) {
    let (attempt, atom) = (doubt.attempt.clone(), doubt.atom.clone());
    if let Some(task) = transaction.task_mut(&atom) {
        task.status = AtomStatus::InDoubt(attempt);
        return transaction.tell(EntryKind::InDoubt(doubt));
    }
    transaction.record(EntryKind::InDoubt(doubt));
    transaction.announce(Event::Interrupted {
        attempt,
        atom,
        why: "it was taken out while its effect outside was under way: look whether that happened"
            .into(),
    });
}

// Counts failures that are alike, over all atoms, and tells once when several atoms fail so.
//
// Invariant: nothing is decided by these counts.

/// Kinds of failures that are kept, the newest.
const PATTERNS_MAX: usize = 50;
/// Atoms that one kind names.
const ATOMS_MAX: usize = 20;
/// So many atoms that fail alike have one cause.
const ATOMS_TOLD: usize = 3;

fn count(transaction: &mut Transaction, failure: &FailureEntry, fingerprint: &Digest) {
    let patterns: &mut Vec<PatternRecord> = &mut transaction.run().patterns;
    let known = patterns.iter().position(|one| one.fingerprint == *fingerprint);
    let mut pattern = known.map_or_else(
        || PatternRecord {
            fingerprint: fingerprint.clone(),
            failures: 0,
            atoms: Vec::new(),
            reason: String::new(),
            told: false,
            extra: Default::default(),
        },
        |place| patterns.remove(place),
    );
    pattern.failures += 1;
    pattern.reason = trail::first_line(&failure.reason);
    if !pattern.atoms.contains(&failure.atom) && pattern.atoms.len() < ATOMS_MAX {
        pattern.atoms.push(failure.atom.clone());
        pattern.atoms.sort_by(AtomId::cmp_naturally);
    }
    patterns.push(pattern);
    let over = patterns.len().saturating_sub(PATTERNS_MAX);
    patterns.drain(..over);
}

/// Tells what several atoms have in common, once; after the failure that it follows from.
pub(super) fn tell(transaction: &mut Transaction) {
    let is_news = |one: &PatternRecord| !one.told && one.atoms.len() >= ATOMS_TOLD;
    if !transaction.state.run.patterns.iter().any(is_news) {
        return;
    }
    let patterns: &mut Vec<PatternRecord> = &mut transaction.run().patterns;
    let news = patterns.iter_mut().filter(|one| is_news(one));
    let told = news.map(|one| {
        one.told = true;
        Event::Pattern { atoms: one.atoms.clone(), reason: one.reason.clone() }
    });
    let told: Vec<Event> = told.collect();
    told.into_iter().for_each(|event| transaction.announce(event));
}
