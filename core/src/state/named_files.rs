//! The side files that a state names: no other is kept.

use alloc::collections::BTreeSet;

use super::{FreeValue, SideFile, State, Task, TryEnd, record::EvidenceRecord};
use crate::id::Digest;

/// All side files that a state names.
pub fn named_by(state: &State) -> BTreeSet<Digest> {
    let mut named = BTreeSet::new();
    for entry in state.trail.iter() {
        let whole = entry.failure().and_then(|failure| digest(&failure.whole));
        named.extend(whole);
        if let Some(refuted) = entry.refuted() {
            in_evidence(&refuted.evidence, &mut named);
        }
    }
    for binding in state.bindings.values() {
        in_list(&binding.evidence, &mut named);
    }
    let tasks = state.all_atoms().into_values().filter_map(|atom| atom.task());
    for result in tasks.flat_map(parked) {
        in_list(&result.evidence, &mut named);
    }
    if let Some(judged) = &state.run.judged {
        in_evidence(&judged.evidence, &mut named);
    }
    named
}

fn digest(whole: &Option<SideFile>) -> Option<Digest> {
    whole.as_ref().map(|one| one.digest.clone())
}

fn in_evidence(evidence: &[EvidenceRecord], named: &mut BTreeSet<Digest>) {
    named.extend(evidence.iter().filter_map(|one| digest(&one.whole)));
}

fn parked(task: &Task) -> impl Iterator<Item = &super::Binding> {
    task.tries.iter().filter_map(|tried| match &tried.ended {
        Some(TryEnd::Parked(result)) => Some(&**result),
        Some(TryEnd::Failed(_)) | None => None,
    })
}

fn in_list(evidence: &[FreeValue], named: &mut BTreeSet<Digest>) {
    let all = evidence.iter().filter_map(SideFile::named_in);
    named.extend(all.map(|one| one.digest));
}
