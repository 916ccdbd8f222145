//! The state at one commit: `descent log SERIAL`.

use descent_core::{
    doc::{self, Node},
    id::{Lineage, Serial, UnixMillis},
    view,
    world::World,
};
use serde::Serialize;

use super::{
    End,
    context::{Context, surroundings},
    timeline::{Timeline, describe_commit},
    usage,
};
use crate::{clock, failure::Failure, render, store::Store};

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
pub(super) fn newest_bytes(context: &Context, store: &mut Store) -> Result<End, Failure> {
    match store.read() {
        // A file that is another's is not shown for ours.
        Ok(loaded) if loaded.is_foreign => {
            let timeline = Timeline::of(store, loaded);
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
    let Some(edit) = edit else {
        let what = format!("serial {} took in no edit by hand", serial.0);
        return Err(Failure::usage(what, "descent log shows which did"));
    };
    context.out.bytes(&edit);
    Ok(End::Code(0))
}

pub(super) fn show(
    context: &Context,
    store: &Store,
    timeline: &Timeline,
    at: &str,
    is_raw: bool,
) -> Result<End, Failure> {
    if usage::follows(at) {
        return Err(Failure::usage(format!("unexpected argument `{at}`"), "descent watch"));
    }
    let point = timeline.named(at)?;
    if is_raw {
        context.out.bytes(&point.bytes);
        return Ok(End::Code(0));
    }
    let commit = timeline.commit(point.state.serial);
    let commit = commit.filter(|commit| commit.lineage == point.state.lineage);
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
    let note = commit.map(|commit| render::StatusNote {
        meaning: render::Meaning::Plain,
        text: format!(
            "serial {}, by {} ({}): {}",
            commit.serial.0,
            commit.by,
            commit.command,
            output.text.as_deref().unwrap_or_default()
        ),
    });
    // Only of the present state can it be said that nothing runs.
    let is_past = point.state.serial != timeline.now.state.serial;
    let world = World::new(point.state);
    let around = view::Surroundings { live: is_past, ..surroundings(store, &world.state) };
    let mut status = view::status(&world, &around, view::liveness::Liveness::none());
    if is_past {
        status.next = "descent status".to_owned();
    }
    Ok(context.answer_page(&output, || {
        render::status(&status, note.as_slice(), clock::now(), context.out.width())
    }))
}
