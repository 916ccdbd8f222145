//! `descent show`: the state at a commit.

use clap::Args;
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
    log::describe_commit,
    timeline::Timeline,
};
use crate::{
    clock,
    failure::Failure,
    render,
    store::{Store, StoreError},
};

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Which: a serial, -1 for the commit before the present one, or 10m for ten minutes ago
    #[arg(value_name = "SERIAL", allow_hyphen_values = true)]
    serial: Option<String>,
    /// Print the state file itself, byte for byte
    #[arg(long, conflicts_with = "saved")]
    bytes: bool,
    /// Print what a person saved, that this commit took in
    #[arg(long, requires = "serial")]
    saved: bool,
}

/// The state at a commit: `descent show --json`
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

pub(super) fn show(context: &Context, flags: &ShowArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = match store.read() {
        Ok(loaded) => loaded,
        Err(error) => return newest_kept(context, &store, flags, error),
    };
    let timeline = Timeline::of(&store, loaded);
    if let (true, Some(text)) = (flags.saved, &flags.serial) {
        let serial = timeline.serial(text)?;
        let edit = timeline.history.edit(&timeline.now.state.lineage, serial);
        let Some(edit) = edit else {
            let what = format!("serial {} took in no edit by hand", serial.0);
            return Err(Failure::usage(what, "descent log shows which did"));
        };
        context.out.bytes(&edit);
        return Ok(End::Code(0));
    }
    let point = match &flags.serial {
        Some(text) => timeline.named(text)?,
        None if timeline.now.is_foreign => timeline.point(timeline.now.state.serial)?,
        None => timeline.named(&timeline.now.state.serial.0.to_string())?,
    };
    if flags.bytes {
        context.out.bytes(&point.bytes);
        return Ok(End::Code(0));
    }
    let commit = timeline.commit(point.state.serial);
    let commit = commit.filter(|commit| commit.lineage == point.state.lineage);
    if context.out.json {
        context.out.json(&ShowOutput {
            schema: "descent/show/1",
            serial: point.state.serial,
            lineage: &point.state.lineage,
            at: commit.map(|commit| UnixMillis(commit.at_ms).rfc3339()),
            by: commit.map(|commit| commit.by.as_str()),
            command: commit.map(|commit| commit.command.as_str()),
            text: commit.map(describe_commit),
            state: doc::parse_bytes(&point.bytes, &doc::Limits::default()).node,
        });
        return Ok(End::Code(0));
    }
    let note = commit.map(|commit| render::StatusNote {
        meaning: render::Meaning::Plain,
        text: format!(
            "serial {}, by {} ({}): {}",
            commit.serial.0,
            commit.by,
            commit.command,
            describe_commit(commit)
        ),
    });
    let notes: Vec<render::StatusNote> = note.into_iter().collect();
    // Only of the present state can it be said that nothing runs.
    let is_past = point.state.serial != timeline.now.state.serial;
    let world = World::new(point.state);
    let around = view::Surroundings { live: is_past, ..surroundings(&store, &world.state) };
    let mut status = view::status(&world, &around, view::liveness::Liveness::none());
    if is_past {
        status.next = "descent show".to_owned();
    }
    let page = render::status(&status, &notes, clock::now(), context.out.width());
    context.out.page(&page);
    Ok(End::Code(0))
}

/// For an unreadable state file: its newest kept commit, to be put back.
fn newest_kept(
    context: &Context,
    store: &Store,
    flags: &ShowArgs,
    error: StoreError,
) -> Result<End, Failure> {
    let history = store.history();
    let newest = history.lineages().pop();
    let past = newest.and_then(|(lineage, serial)| history.state(&lineage, serial));
    match past.filter(|_| flags.bytes && flags.serial.is_none()) {
        Some(past) => {
            context.out.bytes(&past.bytes);
            Ok(End::Code(0))
        }
        None => Err(error.into()),
    }
}
