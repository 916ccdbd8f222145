//! Takes in the tree that was rebuilt after a backtrack, from the commits that the selection wants.

use alloc::{collections::BTreeSet, vec::Vec};

use super::{counts::RepairCause, repair::repair, transaction::Transaction};
use crate::{
    event::Event,
    id::{AtomId, CommitId},
    state::{Binding, ResultCommit},
};

/// Whether it has an effect outside and is not made again, whatever becomes of its inputs.
fn is_settled_outside(binding: &Binding) -> bool {
    let task = binding.of.task();
    binding.inputs.is_none() && task.is_some_and(|task| !task.spec.effect.is_in_tree())
}

/// Records the rebuilt tree; results that no longer apply are made again.
pub(super) fn built(
    transaction: &mut Transaction,
    head: CommitId,
    line: Vec<ResultCommit>,
    dropped: &[AtomId],
) {
    let kept = line.len();
    let stays: BTreeSet<&AtomId> = line.iter().map(|placed| &placed.atom).collect();
    let before = transaction.state.run.line.iter().map(|placed| placed.atom.clone());
    let taken_back: Vec<AtomId> = before.filter(|atom| !stays.contains(atom)).collect();
    for placed in &line {
        let is_moved = transaction
            .state
            .bindings
            .get(&placed.atom)
            .is_some_and(|b| b.commit.as_ref() != Some(&placed.commit));
        if is_moved {
            transaction.change_binding(&placed.atom, |binding| {
                binding.commit = Some(placed.commit.clone())
            });
        }
    }
    for atom in dropped {
        // A person's result stays, though its change to the tree is gone; so does what happened outside before the run
        // got another start.
        let binding = transaction.state.bindings.get(atom);
        if binding.is_some_and(|binding| binding.is_by_person() || is_settled_outside(binding)) {
            transaction.change_binding(atom, |binding| binding.commit = None);
        } else {
            let binding = transaction.state.bindings.get(atom);
            let files = binding.map(|binding| binding.artifacts.clone());
            let cause = RepairCause {
                conflict: &files.unwrap_or_default(),
                ..RepairCause::of("its commit no longer applies")
            };
            repair(transaction, atom, cause);
        }
    }
    let run = transaction.run();
    run.line = line.into();
    run.head = Some(head.clone());
    transaction.announce(Event::Rebuilt { kept, taken_back, head });
}
