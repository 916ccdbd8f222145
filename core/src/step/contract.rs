//! Contraction: results that nothing takes back any more are folded, and of the trail what is old is counted (`trail`),
//! so that the file stays small (contract §5, §7).
//!
//! Invariant: only what no group with a choice left could abandon is folded, and nothing is lost by it: whatever a
//! person opens again stands whole in the fold. Not here: how a fold is written (`state::fold`).

pub(crate) mod trail;

pub use trail::Full;

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use super::transaction::Transaction;
use crate::{
    doc,
    graph::{Ix, NodeKind},
    id::AtomId,
    state::{
        Binding,
        fold::{Fold, Folds, line::FoldedLine},
    },
};

/// When results are folded.
#[derive(Debug, Clone, Copy)]
pub struct Folding {
    /// Results together at least, while a run goes on and when it ends: fewer gain little.
    pub members_min: usize,
    pub members_min_at_end: usize,
    /// Files up to this size are for people to read.
    pub small_file_bytes: usize,
}

impl Default for Folding {
    fn default() -> Self {
        Self {
            members_min: 64,
            members_min_at_end: 16,
            small_file_bytes: 256 * 1024,
        }
    }
}

/// Results that must have come since a look that found too few.
const LOOK_AGAIN: usize = 64;
/// Open atoms of which the size of all is taken.
const SAMPLED: usize = 32;

pub(super) fn contract(draft: &mut Transaction) {
    trail::contract(draft);
    take_apart(draft);
    let open = draft
        .state
        .bindings
        .len()
        .saturating_sub(draft.state.folds.len());
    let (least, from) = match draft.state.run.status.is_active() {
        true => (draft.session.folding.members_min, draft.session.fold_from),
        false => (draft.session.folding.members_min_at_end, 0),
    };
    if open < least.max(from) {
        return;
    }
    draft.session.fold_from = open + LOOK_AGAIN.min(least);
    let members = foldable(draft);
    if members.len() < least {
        return;
    }
    let Some(fold) = Fold::of(members).filter(|fold| !is_small(draft, fold)) else {
        return;
    };
    draft.session.fold_from = 0;
    draft
        .touched
        .bindings
        .extend(fold.members().keys().cloned());
    let name = Folds::fresh(&draft.state);
    draft.touched.bindings.insert(name.clone());
    draft.state.folds.add(name, fold);
    fold_line(draft);
}

/// What was changed stands for itself again, and so does what was folded with it.
fn take_apart(draft: &mut Transaction) {
    let folds = &draft.state.folds;
    let changed = draft.touched.bindings.iter();
    let keys: Vec<AtomId> = changed.filter_map(|id| folds.key_of(id).cloned()).collect();
    for key in keys {
        let Some(fold) = draft.state.folds.remove(&key) else {
            continue;
        };
        draft
            .touched
            .bindings
            .extend(fold.members().keys().cloned());
        draft.touched.bindings.insert(key);
        draft.run().folded_line = None;
    }
}

/// The results that stand for themselves and that nothing but a person opens again.
fn foldable(draft: &Transaction) -> BTreeMap<AtomId, Arc<Binding>> {
    let bindings = draft.graph.paired(&draft.state.bindings);
    let members = bindings.filter(|(x, binding)| {
        let is_held = draft.state.folds.holds(draft.graph.id(*x));
        let is_persons = binding.is_by_person() || !binding.extra.is_empty();
        !is_held && !is_persons && is_settled(draft, *x, binding)
    });
    members
        .map(|(x, binding)| (draft.graph.id(x).clone(), Arc::clone(binding)))
        .collect()
}

/// Whether no group and no plan is above it or upstream of it, and nothing else was tried of it.
fn is_settled(draft: &Transaction, x: Ix, binding: &Binding) -> bool {
    let graph = &draft.graph;
    let takes_back = |y: Ix| matches!(graph.vertex(y).kind, NodeKind::Any | NodeKind::Plan);
    let is_in_group = graph.above(x).any(takes_back);
    let tries = binding.of.task().map_or(0, |task| task.tries.len());
    !graph.vertex(x).is_branching && !is_in_group && tries <= 1 && draft.solved()[x]
}

/// Whether the file would be small with everything written out, as far as a sample tells.
fn is_small(draft: &Transaction, fold: &Fold) -> bool {
    let mean = fold.bytes / fold.members().len().max(1);
    let sample = draft.state.atoms.values().take(SAMPLED);
    let sampled: Vec<usize> = sample.map(|atom| doc::write(&atom.node()).len()).collect();
    let mean_open = sampled.iter().sum::<usize>() / sampled.len().max(1);
    let bytes = mean * draft.state.bindings.len() + mean_open * draft.state.atoms.len();
    bytes < draft.session.folding.small_file_bytes
}

/// The line begins with commits of folded atoms: these are packed too.
fn fold_line(draft: &mut Transaction) {
    let run = &draft.state.run;
    let folds = &draft.state.folds;
    let is_folded =
        |placed: &&crate::state::ResultCommit| folds.holds(&placed.atom) && placed.extra.is_empty();
    let count = run.line.iter().take_while(is_folded).count();
    let known = run.folded_line.as_ref().map_or(0, |line| line.len());
    if count >= known + draft.session.folding.members_min_at_end {
        let folded = FoldedLine::of(run.line.get(..count).unwrap_or_default());
        draft.run().folded_line = Some(Arc::new(folded));
    }
}
