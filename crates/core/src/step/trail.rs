//! Shortens the trail and its entries (contract §7). The newest failures of an atom and context stay in full, older ones as a line
//! each. The oldest failures, choices and backtracks are left out.
//!
//! Invariant: everything that decides stays. A refuted selection keeps its conflict and its context for ever. Attempts
//! and failures are counted in the tries of their atom, never here. An entry beside which a person wrote stays as it
//! is. A pass goes over the whole trail, but only after a part of it is new: so the cost follows what was added.

use super::transaction::Transaction;
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    fingerprint,
    id::{AtomId, Digest},
    state::{Entry, EntryKind, record::FailureEntry},
    world::session::{TrailLimits, Watch},
};

/// The trail divided by this is the surplus that may stay.
const SURPLUS_PART: usize = 4;

pub(super) fn shorten(transaction: &mut Transaction) {
    let is_over = !transaction.state.run.status.is_active();
    let (len, watch) = (transaction.state.trail.len(), transaction.session.trail_watch);
    if !is_over && len < watch.look_at && len >= watch.len {
        return;
    }
    let limits = transaction.session.trail_limits;
    let most = |len: usize| (len / SURPLUS_PART).max(limits.surplus);
    let cuts = cuts(&transaction.state.trail, limits);
    let mut surplus = cuts.len();
    if surplus >= if is_over { 1 } else { most(len) } {
        let trail = shortened(&transaction.state.trail, &cuts);
        transaction.replace_trail(trail);
        surplus = 0;
    }
    let len = transaction.state.trail.len();
    let most = most(len);
    // Every new entry may be surplus. Half of the limit passes in any case before the next pass.
    let look_at = len + most.saturating_sub(surplus).max(most / 2);
    transaction.session.trail_watch = Watch { len, look_at };
}

/// How an entry that is too old is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    LeaveOut,
    ToLine,
    ShortOutput,
}

/// Entries that share a limit.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LimitedGroup {
    Failures { atom: AtomId, context: Option<Digest> },
    Steps,
}

/// The entries that can be shortened, by their place.
fn cuts(trail: &[Arc<Entry>], limits: TrailLimits) -> BTreeMap<usize, Cut> {
    let mut cuts = BTreeMap::new();
    let mut newer: BTreeMap<LimitedGroup, usize> = BTreeMap::new();
    // The keys of each kind, made once a pass.
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut failures, mut refuted) = (0, 0);
    for (index, entry) in trail.iter().enumerate().rev() {
        let kind = &entry.kind;
        let keys = keys.entry(kind.word()).or_insert_with(|| kind.keys());
        let group = group_of(entry).filter(|_| is_ours(&entry.node, keys));
        let cut = group.and_then(|group| {
            let newer = newer.entry(group).or_default();
            *newer += 1;
            cut_of(entry, *newer, limits)
        });
        let cut = cut.or_else(|| {
            let is_old = entry.failure().is_some()
                && is_beyond(&mut failures, limits.failures_long)
                || entry.refuted().is_some() && is_beyond(&mut refuted, limits.refuted_long);
            (is_old && has_long_output(entry)).then_some(Cut::ShortOutput)
        });
        cuts.extend(cut.map(|cut| (index, cut)));
    }
    cuts
}

/// The cut for the `nth` newest entry of its group.
fn cut_of(entry: &Entry, nth: usize, limits: TrailLimits) -> Option<Cut> {
    let Some(failure) = entry.failure() else {
        return (nth > limits.steps).then_some(Cut::LeaveOut);
    };
    if nth > limits.failures + limits.failure_lines {
        return Some(Cut::LeaveOut);
    }
    // One that is a line already stays.
    (nth > limits.failures && *failure != as_line(failure)).then_some(Cut::ToLine)
}

fn group_of(entry: &Entry) -> Option<LimitedGroup> {
    match &entry.kind {
        EntryKind::Failure(failure) => Some(LimitedGroup::Failures {
            atom: failure.atom.clone(),
            context: failure.context.clone(),
        }),
        EntryKind::Choice(_) | EntryKind::Backtrack(_) | EntryKind::Turn(_) => {
            Some(LimitedGroup::Steps)
        }
        _ => None,
    }
}

/// Whether an entry holds only what the program wrote: only such an entry may be shortened.
fn is_ours(entry: &Node, keys: &[&str]) -> bool {
    let members = entry.as_object().unwrap_or_default();
    members.iter().all(|member| keys.contains(&&*member.key))
}

fn is_beyond(newer: &mut usize, most: usize) -> bool {
    *newer += 1;
    *newer > most
}

fn shortened(trail: &[Arc<Entry>], cuts: &BTreeMap<usize, Cut>) -> Vec<Arc<Entry>> {
    let one = |(index, entry): (usize, &Arc<Entry>)| match cuts.get(&index) {
        Some(Cut::LeaveOut) => None,
        Some(Cut::ToLine) => Some(Arc::new(failure_line(entry))),
        Some(Cut::ShortOutput) => Some(Arc::new(with_short_output(entry))),
        None => Some(Arc::clone(entry)),
    };
    trail.iter().enumerate().filter_map(one).collect()
}

// Shortens an older entry of the trail: a failure to a line with its fingerprint, an output to its last line.

/// Characters of an output, or of a reason, that are kept of an older one: of the output its last line.
const LINE_CHARS_MAX: usize = 200;

/// Who failed when, in which context, why in one line, and a fingerprint that tells whether two failed alike.
fn failure_line(entry: &Entry) -> Entry {
    let line = entry.failure().map(as_line);
    line.map_or_else(|| entry.clone(), |line| entry.with(EntryKind::Failure(Box::new(line))))
}

fn as_line(failure: &FailureEntry) -> FailureEntry {
    FailureEntry {
        reason: first_line(&failure.reason),
        output: String::new(),
        whole: None,
        criteria: Vec::new(),
        files: Vec::new(),
        summary: String::new(),
        value: None,
        handoff: None,
        unclear: false,
        changed: Vec::new(),
        tried: Vec::new(),
        fingerprint: Some(match &failure.fingerprint {
            Some(known) => known.clone(),
            None => fingerprint::of(failure),
        }),
        ..failure.clone()
    }
}

/// The beginning of a reason, on one line.
pub(super) fn first_line(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default();
    first.chars().take(LINE_CHARS_MAX).collect()
}

/// The last line of an output that is longer.
fn short_output(output: &str) -> Option<String> {
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line: String = last.unwrap_or_default().chars().take(LINE_CHARS_MAX).collect();
    (line.len() < output.trim().len()).then_some(line)
}

fn has_long_output(entry: &Entry) -> bool {
    let of_failure = entry.failure().map(|failure| &failure.output);
    let evidence = entry.refuted().into_iter().flat_map(|one| &one.evidence);
    let mut outputs = of_failure.into_iter().chain(evidence.map(|one| &one.output));
    outputs.any(|output| short_output(output).is_some())
}

/// Keeps the last line of each output. The check, its end and the side file stay.
fn with_short_output(entry: &Entry) -> Entry {
    let mut kind = entry.kind.clone();
    if let EntryKind::Failure(failure) = &mut kind {
        cut(&mut failure.output);
    } else if let EntryKind::Refuted(refuted) = &mut kind {
        let outputs = refuted.evidence.iter_mut().map(|one| &mut one.output);
        outputs.for_each(cut);
    }
    entry.with(kind)
}

fn cut(output: &mut String) {
    if let Some(line) = short_output(output) {
        *output = line;
    }
}

#[cfg(test)]
mod tests;
