//! The facts known of an attempt that a person names: from the state, and from the events that the journal keeps.
//!
//! Not here: its change and its output (the shell).

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    event::Event,
    id::{AtomId, AttemptId, CommitId, Digest},
    state::{SideFile, State},
    world::session::TrailLimits,
};

/// How an attempt ended, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    Running,
    Solved,
    Failed,
    /// Its change did not merge: the atom was made again.
    Conflict,
    InDoubt,
    /// It was cut off, was transient, or planned.
    #[default]
    Other,
}

/// An attempt that the state or the journal names.
#[derive(Debug, Clone, Default)]
pub struct KnownAttempt {
    pub id: AttemptId,
    pub atom: AtomId,
    pub end: AttemptEnd,
    /// The commit with its result.
    pub commit: Option<CommitId>,
    /// The commit that it started from, while it is in flight.
    pub base: Option<CommitId>,
    /// The failure stands in full in the trail.
    pub is_in_full: bool,
    /// How many files it had changed when it failed.
    pub changed: usize,
    /// The end of what was printed.
    pub excerpt: String,
    pub whole: Option<SideFile>,
    /// A check printed that, and not the attempt.
    pub is_of_check: bool,
}

impl KnownAttempt {
    fn of(id: &AttemptId, atom: &AtomId, end: AttemptEnd) -> Self {
        Self { id: id.clone(), atom: atom.clone(), end, ..Self::default() }
    }
}

/// Every attempt that is known, by its id. `events` are those of the journal, the oldest first.
pub fn known_attempts<'e>(
    state: &State,
    events: impl IntoIterator<Item = &'e Event>,
) -> BTreeMap<AttemptId, KnownAttempt> {
    let mut known = BTreeMap::new();
    let mut note = |one: KnownAttempt| drop(known.insert(one.id.clone(), one));
    events.into_iter().filter_map(of_event).for_each(&mut note);
    for (atom, tried) in state.all_tries() {
        if let Some(id) = tried.conflict.as_ref().and_then(|one| one.attempt.as_ref()) {
            note(KnownAttempt::of(id, atom, AttemptEnd::Conflict));
        }
    }
    let mut newer: BTreeMap<(&AtomId, Option<&Digest>), usize> = BTreeMap::new();
    for (_, failure) in state.failures() {
        let newer = newer.entry((&failure.atom, failure.context.as_ref())).or_default();
        *newer += 1;
        note(KnownAttempt {
            is_in_full: *newer <= TrailLimits::default().failures,
            changed: failure.changed.len(),
            excerpt: failure.output.clone(),
            whole: failure.whole.clone(),
            is_of_check: !failure.criteria.is_empty(),
            ..KnownAttempt::of(&failure.attempt, &failure.atom, AttemptEnd::Failed)
        });
    }
    for intent in &state.run.in_flight {
        note(KnownAttempt {
            base: intent.base.clone(),
            ..KnownAttempt::of(&intent.id, &intent.atom, AttemptEnd::Running)
        });
    }
    known
}

fn of_event(event: &Event) -> Option<KnownAttempt> {
    let (id, atom, end) = match event {
        Event::Solved { attempt: Some(id), atom, commit, .. } => {
            let known = KnownAttempt::of(id, atom, AttemptEnd::Solved);
            return Some(KnownAttempt { commit: commit.clone(), ..known });
        }
        Event::AttemptFailed { attempt, atom, .. } => (attempt, atom, AttemptEnd::Failed),
        Event::Repair { attempt: Some(id), atom, .. } => (id, atom, AttemptEnd::Conflict),
        Event::InDoubt { attempt, atom, .. } => (attempt, atom, AttemptEnd::InDoubt),
        Event::AttemptStarted { attempt, atom, .. }
        | Event::Transient { attempt, atom, .. }
        | Event::Limited { attempt, atom, .. }
        | Event::Interrupted { attempt, atom, .. }
        | Event::Planned { attempt, atom, .. } => (attempt, atom, AttemptEnd::Other),
        _ => return None,
    };
    Some(KnownAttempt::of(id, atom, end))
}

/// The newest attempt of an atom.
pub fn newest_of<'k>(
    known: &'k BTreeMap<AttemptId, KnownAttempt>,
    atom: &AtomId,
) -> Option<&'k KnownAttempt> {
    let of_atom = known.iter().filter(|(_, one)| one.atom == *atom);
    known.get(AttemptId::newest(of_atom.map(|(id, _)| id))?)
}

/// The attempts whose changes are kept to be looked at: failures that stand in full in the trail, conflicts without another
/// result, and work that waits for a person.
pub fn kept_to_show(state: &State) -> BTreeSet<AttemptId> {
    let failures = state.failures().map(|(_, failure)| failure);
    let changed = failures.filter(|failure| !failure.changed.is_empty());
    let failed = changed.map(|failure| failure.attempt.clone());
    let conflicts =
        state.all_tries().filter_map(|(_, tried)| tried.conflict.as_ref()?.attempt.clone());
    let waiting = state.run.in_flight.iter().map(|intent| intent.id.clone());
    failed.chain(conflicts).chain(waiting).collect()
}
