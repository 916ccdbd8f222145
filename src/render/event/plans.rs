//! Changes of the plan in words.

use descent_core::{
    event::Event,
    id::AtomId,
    state::{atom::AttentionCause, record::ReplanPlace},
};

use super::NAMES_MAX;
use crate::render::{count, line, listed};

/// A change of the plan, or one that was not admitted.
pub(super) fn replanned(event: &Event) -> String {
    let Event::Replanned {
        atom,
        place,
        because,
        refused,
        by,
        atoms,
        removed,
        changes_left,
    } = event
    else {
        return String::new();
    };
    let because = line(because);
    let left = match changes_left {
        0 => "it was the last change".to_owned(),
        left => format!("{} left", count(left, "change")),
    };
    let what = match place {
        ReplanPlace::Choice => "is one more choice, and plans",
        ReplanPlace::Atom => "becomes a step that plans",
        ReplanPlace::Round => "plans once more",
        ReplanPlace::Root => "plans what is missing",
        ReplanPlace::Delta => {
            let removed = removed.iter().map(|id| format!("without {id}"));
            let atoms = atoms.iter().map(ToString::to_string);
            let atoms: Vec<String> = atoms.chain(removed).collect();
            let by = by.as_ref().map_or("a refiner", |by| by.as_str());
            return format!(
                "{by} changes the plan ({}; {left}): {because}",
                listed(&atoms, NAMES_MAX)
            );
        }
        ReplanPlace::Nowhere => {
            return format!(
                "no change is admitted: {}; {because}; {left}",
                line(refused)
            );
        }
    };
    let atom = atom.as_ref().map_or("", |atom| atom.as_str());
    format!("{atom} {what}: {because}; {left}")
}

/// A mark that asks a person to look at an atom.
pub(in crate::render) fn attention(atom: &AtomId, cause: AttentionCause, because: &str) -> String {
    let what = match cause {
        AttentionCause::Contradicted => "is said to contradict",
        AttentionCause::Issues => "is tried with an issue",
        AttentionCause::Limit => "is not changed again by planners",
    };
    format!("{atom} {what}: {}", line(because))
}
