//! `descent undo`: back to an earlier state, as a new commit; with `--into` a second state that begins at this one.

use std::path::{Path, PathBuf};

use clap::Args;
use descent_core::{
    id::{Lineage, Serial},
    state::Workspace,
};
use serde::Serialize;

use super::{Context, End, Failure, agree, phrase, quoted, timeline::Timeline};
use descent_agent::config;
use descent_engine::ops::{self, undo::NothingToUndo};
use descent_store::{Commit, Store};

#[derive(Debug, Args)]
#[command(
    long_about = "Back to an earlier state, as a new commit.\n\nWithout SERIAL: to what stood before your last correction (an edit by hand, `run --set`, an undo). What was agreed, the work graph and its results are again what they were, and the result's tree with them. What was spent stays spent; what an action did outside of the tree is not taken back, and is said. To undo again brings back what stood before.\n\nWith --into nothing here changes: a second state begins where this one is, to try another way from the same point. It has its own lineage, with this one recorded as its parent. It takes along what was agreed, the work graph, its results, and what was tried; not what is in flight, asked for or spent. It gets a copy of what was made; repository, cache, journal and locks are each one's own. Without a name it is .descent/fork-1.json here. A directory is another worktree or clone of the same project: the second state lies there."
)]
pub struct UndoArgs {
    /// To which: a serial, -1 for the commit before the present one, or 10m for ten minutes ago
    #[arg(value_name = "SERIAL", allow_hyphen_values = true)]
    serial: Option<String>,
    /// Only show what it would do
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Begin a second state where this one is: in a file, or in a directory of the same project
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, conflicts_with_all = ["serial", "dry_run", "yes"])]
    into: Option<Option<PathBuf>>,
}

pub(super) fn undo(context: &Context, flags: &UndoArgs) -> Result<End, Failure> {
    if let Some(to) = &flags.into {
        return fork(context, to.as_deref());
    }
    let mut store = context.store()?;
    let client = context.client(None);
    let loaded = ops::current(&client, &mut store)?;
    let timeline = Timeline::of(&store, loaded);
    let serial = match &flags.serial {
        Some(text) => timeline.serial(text)?,
        None => before_last_correction(&timeline)?,
    };
    let then = timeline.point(serial)?.state;
    let mut view = match ops::undo::plan(&client, &store, &timeline.now.state, &then)? {
        Ok(planned) => planned,
        Err(nothing) => return unchanged(context, &mut store, serial, nothing),
    };
    if flags.dry_run {
        let named = flags.serial.as_ref().map(|_| format!(" {}", serial.0));
        view.next = format!("descent undo{} -y", named.unwrap_or_default());
        return Ok(agree::report(context, &view, None));
    }
    if !flags.yes {
        context.out.say(&phrase::clean(&agree::lines(context, &view).join("\n")));
        context.refuse_without_consent("undo")?;
    }
    match ops::undo::undo(&client, &mut store, timeline.now, &then)? {
        Ok(done) => Ok(agree::report(context, &done, None)),
        Err(nothing) => unchanged(context, &mut store, serial, nothing),
    }
}

/// The state before a person's last change; an edit that undid one is a change too.
fn before_last_correction(timeline: &Timeline) -> Result<Serial, Failure> {
    let commits = &timeline.commits;
    let is_present = |commit: &&Commit| commit.serial <= timeline.now.state.serial;
    let last = commits.iter().rev().filter(is_present).find(|one| one.is_correction);
    let hint = "descent log shows the serials; descent undo SERIAL goes back to one";
    let none = || Failure::usage("no correction is kept that could be undone", hint);
    let last = last.ok_or_else(none)?.serial;
    let before = commits.iter().rev().map(|one| one.serial).find(|serial| *serial < last);
    before.ok_or_else(|| timeline.not_kept(&format!("the serial before {}", last.0)))
}

fn unchanged(
    context: &Context,
    store: &mut Store,
    serial: Serial,
    NothingToUndo(outside): NothingToUndo,
) -> Result<End, Failure> {
    let names = phrase::listed(&outside, usize::MAX);
    let why = match outside.is_empty() {
        true => format!("nothing differs from serial {}", serial.0),
        false => format!("what these did outside of the tree is not taken back: {names}"),
    };
    agree::unchanged(context, store, &format!("{why}; nothing was undone"))
}

/// The place of a fork: `descent undo --into --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ForkOutput<'a> {
    schema: &'static str,
    state: String,
    lineage: &'a Lineage,
    parent: ForkParent<'a>,
    next: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ForkParent<'a> {
    lineage: &'a Lineage,
    serial: Serial,
}

fn fork(context: &Context, to: Option<&Path>) -> Result<End, Failure> {
    let mut store = context.store()?;
    let config = config::load(&store.place().project)?;
    let client = context.client(Some(&config));
    let to = to.map(|to| context.dir.join(to));
    let fork = ops::undo::fork(&client, &mut store, to.as_deref())?;
    let place = &fork.place;
    let next = match place.is_usual() {
        true => format!("descent -C {} run", quoted(&place.project)),
        false => format!("descent --state {} run", quoted(&place.state)),
    };
    if fork.kind == Workspace::Shared && !context.out.json {
        let words = "agents work in place here: two runs in one directory get in each other's way";
        context.out.say(words);
    }
    let output = ForkOutput {
        schema: "descent/fork/1",
        state: place.state.display().to_string(),
        lineage: &fork.lineage,
        parent: ForkParent { lineage: &fork.parent, serial: fork.serial },
        next,
    };
    Ok(context.answer(&output, || {
        format!(
            "{} begins where serial {} stands, with a lineage of its own\nnext: {}",
            output.state, fork.serial.0, output.next
        )
    }))
}
