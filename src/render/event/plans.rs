//! Changes of the plan in words.

use descent_core::{event::Event, state::record::ReplanPlace};

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
            let atoms: Vec<String> = atoms.iter().map(ToString::to_string).collect();
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
