//! A point in the past as a person types it, the state at that point (`descent log SERIAL`), and its commit in words.
//! `41` is a serial, `-1` the commit before the present one, and `10m` ten minutes ago.

use std::sync::Arc;

use descent_core::{
    doc::{self, Node},
    event::Event,
    id::{Lineage, Serial, UnixMillis},
    state::{State, fields::DurationText},
    view,
    world::World,
};
use serde::Serialize;

use super::{Context, End, Failure, Meaning, clock, help, surroundings};
use crate::render;
use descent_store::{Commit, History, LoadedState, Store};

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
        let now = &self.now;
        if !now.is_foreign && now.state.serial == serial {
            return Ok(Point { state: now.state.clone(), bytes: now.bytes().to_vec() });
        }
        let past = self.history.state(&now.state.lineage, serial);
        let past = past.ok_or_else(|| self.not_kept(&serial.0.to_string()))?;
        Ok(Point { state: past.state, bytes: past.bytes })
    }

    pub(super) fn commit(&self, serial: Serial) -> Option<&Commit> {
        let mut of_serial = self.commits.iter().rev().filter(|commit| commit.serial == serial);
        of_serial.find(|commit| !commit.is_edit())
    }

    pub(super) fn not_kept(&self, text: &str) -> Failure {
        let first = self.commits.first().map(|one| one.serial.0);
        let newest = self.now.state.serial.0;
        let hint = first.map(|first| format!("kept are {first} to {newest}: descent log"));
        let none =
            "nothing of the past is kept here: descent log tells what the state itself holds";
        let hint = hint.unwrap_or_else(|| none.to_owned());
        Failure::usage(format!("the state at {text} is not kept"), hint)
    }
}

/// An event in one text.
pub(super) fn event_line(event: &Event) -> String {
    let (label, what) = render::describe_event(event);
    format!("{label} {what}")
}

/// The events of a commit in words: those of the history, else all.
fn describe_commit(commit: &Commit) -> String {
    let has_lasting = commit.events.iter().any(Event::is_lasting);
    let events = commit.events.iter().filter(|event| event.is_lasting() || !has_lasting);
    match events.map(event_line).collect::<Vec<_>>() {
        texts if texts.is_empty() => commit.describe(),
        texts => texts.join("; "),
    }
}

/// The state at a commit: `descent log SERIAL --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ShowOutput<'a> {
    schema: &'static str,
    serial: Serial,
    lineage: &'a Lineage,
    /// The time of the commit; null if it is not kept. The author and the command likewise.
    at: Option<String>,
    by: Option<&'a str>,
    command: Option<&'a str>,
    /// The changes, in words.
    text: Option<String>,
    /// The state file as it was.
    state: Option<Node>,
}

/// The state file as it is; if it cannot be read, its newest kept commit, to be put back.
pub(super) fn newest_bytes(context: &Context) -> Result<End, Failure> {
    let mut store = context.store()?;
    match store.read() {
        // A file that is another's is not shown for ours.
        Ok(loaded) if loaded.is_foreign => {
            let timeline = Timeline::of(&store, loaded);
            context.out.bytes(&timeline.point(timeline.now.state.serial)?.bytes);
        }
        Ok(loaded) => context.out.bytes(loaded.bytes()),
        Err(error) => {
            let history = store.history();
            let newest = history.lineages().pop();
            let past = newest.and_then(|(lineage, serial)| history.state(&lineage, serial));
            context.out.bytes(&past.ok_or(error)?.bytes);
        }
    }
    Ok(End::Code(0))
}

/// The bytes that a person saved and that a commit took in.
pub(super) fn saved(context: &Context, timeline: &Timeline, at: &str) -> Result<End, Failure> {
    let serial = timeline.serial(at)?;
    let edit = timeline.history.edit(&timeline.now.state.lineage, serial);
    let none = || format!("serial {} took in no edit by hand", serial.0);
    let none = || Failure::usage(none(), "descent log shows which did");
    context.out.bytes(&edit.ok_or_else(none)?);
    Ok(End::Code(0))
}

pub(super) fn show(
    context: &Context,
    store: &Store,
    timeline: &Timeline,
    at: &str,
    is_raw: bool,
) -> Result<End, Failure> {
    if help::follows(at) {
        return Err(Failure::usage(format!("unexpected argument `{at}`"), "descent watch"));
    }
    let point = timeline.point(timeline.serial(at)?)?;
    if is_raw {
        context.out.bytes(&point.bytes);
        return Ok(End::Code(0));
    }
    let commit = timeline.commit(point.state.serial);
    let output = ShowOutput {
        schema: "descent/show/1",
        serial: point.state.serial,
        lineage: &point.state.lineage.clone(),
        at: commit.map(|commit| UnixMillis(commit.at_ms).rfc3339()),
        by: commit.map(|commit| commit.by.as_str()),
        command: commit.map(|commit| commit.command.as_str()),
        text: commit.map(describe_commit),
        state: doc::parse_bytes(&point.bytes, &doc::Limits::default()).node,
    };
    let note = commit.zip(output.text.as_ref()).map(|(commit, text)| {
        let text =
            format!("serial {}, by {} ({}): {text}", commit.serial.0, commit.by, commit.command);
        render::StatusNote { meaning: Meaning::Plain, text }
    });
    // Only of the present state can it be said that nothing runs.
    let is_past = point.state.serial != timeline.now.state.serial;
    let world = World::new(point.state);
    let around = view::Surroundings { live: is_past, ..surroundings(store, &world.state) };
    let mut status = view::status(&world, &around, view::liveness::Liveness::none());
    if is_past {
        status.next = "descent status".to_owned();
    }
    // Durations are those at that commit.
    let then = commit.filter(|_| is_past).map(|commit| UnixMillis(commit.at_ms));
    let then = then.unwrap_or_else(clock::now);
    Ok(context.answer_page(&output, || {
        render::status(&status, note.as_slice(), then, context.out.width())
    }))
}
