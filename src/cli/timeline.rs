//! A point in the past as a person types it, the state at that point, and its commit in words. `41` is a serial, `-1` the commit before the
//! present one, and `10m` ten minutes ago.

use std::sync::Arc;

use descent_core::{
    event::Event,
    id::{Lineage, Serial},
    state::{State, fields::DurationText},
};

use crate::{
    clock,
    failure::{Failure, exit},
    render,
    store::{Commit, History, LoadedState, Store},
};

/// The present state, and all that is kept of earlier ones.
pub(super) struct Timeline {
    pub(super) now: Arc<LoadedState>,
    pub(super) history: History,
    /// The oldest first.
    pub(super) commits: Vec<Commit>,
}

/// A state as it was committed, or the present one.
pub(super) struct Point {
    pub(super) state: State,
    pub(super) bytes: Vec<u8>,
}

impl Timeline {
    pub(super) fn of(store: &Store, now: Arc<LoadedState>) -> Self {
        let history = store.history();
        Self { commits: history.commits(&now.state.lineage), history, now }
    }

    /// The serial of a text.
    pub(super) fn serial(&self, text: &str) -> Result<Serial, Failure> {
        let newest = self.now.state.serial;
        if let Some(back) = text.strip_prefix('-').and_then(|back| back.parse::<u64>().ok()) {
            let serial = newest.0.checked_sub(back).filter(|serial| *serial > 0);
            return serial.map(Serial).ok_or_else(|| self.not_kept(text));
        }
        if let Ok(serial) = text.trim_start_matches('#').parse() {
            return Ok(Serial(serial));
        }
        let Some(ago) = DurationText::parse(text) else {
            let hint = "a serial such as 41, -1 for the commit before, 10m for ten minutes ago; descent log shows them";
            return Err(Failure::usage(format!("`{text}` names no point in time"), hint));
        };
        let at_ms = clock::now().0.saturating_sub(ago.ms);
        let then = self.commits.iter().rev().find(|commit| commit.at_ms <= at_ms);
        then.map(|commit| commit.serial).ok_or_else(|| self.not_kept(text))
    }

    pub(super) fn point(&self, serial: Serial) -> Result<Point, Failure> {
        self.point_of(&self.now.state.lineage, serial)
            .ok_or_else(|| self.not_kept(&serial.0.to_string()))
    }

    fn point_of(&self, lineage: &Lineage, serial: Serial) -> Option<Point> {
        let now = &self.now;
        if !now.is_foreign && now.state.serial == serial && now.state.lineage == *lineage {
            return Some(Point { state: now.state.clone(), bytes: now.bytes().to_vec() });
        }
        let past = self.history.state(lineage, serial)?;
        Some(Point { state: past.state, bytes: past.bytes })
    }

    /// `41`, or `0192f3:41` for a state that was replaced.
    pub(super) fn named(&self, text: &str) -> Result<Point, Failure> {
        let Some((lineage, serial)) = text.split_once(':') else {
            return self.point(self.serial(text)?);
        };
        let earlier = self.history.lineages();
        let mut named = earlier.iter().filter(|(known, _)| known.as_str().starts_with(lineage));
        let found = match (named.next(), named.next(), serial.parse()) {
            (Some((known, _)), None, Ok(serial)) => self.point_of(known, Serial(serial)),
            _ => None,
        };
        found.ok_or_else(|| self.not_kept(text))
    }

    pub(super) fn commit(&self, serial: Serial) -> Option<&Commit> {
        let mut of_serial = self.commits.iter().rev().filter(|commit| commit.serial == serial);
        of_serial.find(|commit| !commit.is_edit())
    }

    pub(super) fn not_kept(&self, text: &str) -> Failure {
        let serials =
            |mut commits: std::slice::Iter<'_, Commit>| commits.next().map(|one| one.serial.0);
        let first = serials(self.commits.iter());
        let hint = match first {
            Some(first) => format!("kept are {first} to {}: descent log", self.now.state.serial.0),
            None => {
                "nothing of the past is kept here: descent log tells what the state itself holds"
                    .to_owned()
            }
        };
        let message = format!("the state at {text} is not kept");
        Failure::new("E-USAGE", exit::USAGE, message, hint)
    }
}

/// An event in one text.
pub(super) fn event_line(event: &Event) -> String {
    let (label, what) = render::describe_event(event);
    format!("{label} {what}")
}

/// The events of a commit in words: those of the history, else all.
pub(super) fn describe_commit(commit: &Commit) -> String {
    let (lasting, passing): (Vec<&Event>, Vec<&Event>) =
        commit.events.iter().partition(|event| event.is_lasting());
    let events = if lasting.is_empty() { passing } else { lasting };
    if events.is_empty() {
        return commit.describe();
    }
    let texts: Vec<String> = events.into_iter().map(event_line).collect();
    texts.join("; ")
}
