//! Changes of the plan in words.

use descent_core::{
    event::Event,
    id::AtomId,
    state::{atom::AttentionCause, record::ReplanPlace},
};

use super::{NAMES_MAX, taken};
use crate::render::{count, line, listed};

/// A planner's output in the graph, and the lessons that spoke against it.
pub(super) fn planned(event: &Event) -> String {
    let Event::Planned { atom, ms, parts, atoms, differs, in_spite_of, .. } = event else {
        return String::new();
    };
    let atoms = atoms.map(|atoms| format!("{}: ", count(atoms, "atom")));
    let what = atoms.unwrap_or_default() + &parts.join(", ");
    let lessons = if in_spite_of.is_empty() {
        String::new()
    } else {
        format!("; its last attempt, so taken in spite of {}", listed(in_spite_of, NAMES_MAX))
    };
    let differs = if differs.is_empty() { String::new() } else { format!("; {}", line(differs)) };
    format!("{atom}{}: {what}{differs}{lessons}", taken("in", *ms))
}

/// A change of the plan, or one that was not admitted.
pub(super) fn replanned(event: &Event) -> String {
    let Event::Replanned { atom, place, because, refused, by, atoms, removed, changes_left } =
        event
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
            return format!("no change is admitted: {}; {because}; {left}", line(refused));
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

/// An atom that is set aside where it failed alike.
pub(super) fn rested(atom: &AtomId, n: u32, alike: u32) -> String {
    let times = crate::render::times(alike);
    format!(
        "{atom}: the same failure {times}; after attempt {n} other choices come first, at no cost"
    )
}

/// Atoms that go on after their rest.
pub(super) fn woken(atoms: &[AtomId]) -> String {
    format!("nothing else is left, so these go on: {}", listed(atoms, NAMES_MAX))
}
