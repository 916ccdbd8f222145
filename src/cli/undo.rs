//! `descent undo`: back to an earlier state, as a new commit.

use std::path::PathBuf;

use clap::Args;
use descent_core::{
    id::{AtomId, Serial},
    view,
    world::World,
};
use serde::Serialize;

use super::{
    End,
    context::{Context, runtime, surroundings},
    fork,
    timeline::Timeline,
};
use crate::{
    failure::{Failure, exit},
    ops::{
        self,
        undo::{NothingToUndo, UndoReport},
    },
    render,
    store::Commit,
};

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
        return fork::fork(context, to.as_deref());
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
    let planned = match ops::undo::plan(&client, &store, &timeline.now.state, &then)? {
        Ok(planned) => planned,
        Err(NothingToUndo(outside)) => return Ok(nothing(context, serial, &outside)),
    };
    if flags.dry_run || !flags.yes {
        let command = match &flags.serial {
            Some(_) => format!("descent undo {} -y", serial.0),
            None => "descent undo -y".to_owned(),
        };
        show(context, &planned, flags.dry_run, &command);
        if flags.dry_run {
            return Ok(End::Code(0));
        }
        if !consents(context)? {
            return Err(Failure::usage(
                "nothing was undone",
                "descent undo -y does it without asking",
            ));
        }
    }
    let done = match ops::undo::undo(&client, &mut store, timeline.now, &then)? {
        Ok(done) => done,
        Err(NothingToUndo(outside)) => return Ok(nothing(context, serial, &outside)),
    };
    report(context, &done, &surroundings(&store, &done.state));
    Ok(End::Code(0))
}

/// The state before a person's last change; an edit that undid one is a change too.
fn before_last_correction(timeline: &Timeline) -> Result<Serial, Failure> {
    let commits = &timeline.commits;
    let is_present = |commit: &&Commit| commit.serial <= timeline.now.state.serial;
    let last = commits.iter().rev().filter(is_present).find(|one| one.is_correction);
    let Some(last) = last else {
        let hint = "descent log shows the serials; descent undo SERIAL goes back to one";
        let what = "no correction is kept that could be undone";
        return Err(Failure::new("E-USAGE", exit::USAGE, what, hint));
    };
    let before = commits.iter().rev().find(|one| one.serial < last.serial);
    before
        .map(|one| one.serial)
        .ok_or_else(|| timeline.not_kept(&format!("the serial before {}", last.serial.0)))
}

/// The outcome of an undo, or of a dry run: `descent undo --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct UndoOutput<'a> {
    schema: &'static str,
    result: UndoResult,
    text: &'a str,
    effects: Vec<String>,
    /// The commit of the undo.
    serial: Option<Serial>,
    next: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum UndoResult {
    Undone,
    /// With `-n`.
    Planned,
    Unchanged,
}

fn consents(context: &Context) -> Result<bool, Failure> {
    if !context.may_ask || context.out.json {
        let hint = "descent undo -n shows what it does, descent undo -y does it";
        let what = "nobody can be asked here, and undo changes what is agreed";
        return Err(Failure::usage(what, hint));
    }
    Ok(runtime()?.block_on(context.consents("undo?")))
}

fn nothing(context: &Context, serial: Serial, outside: &[AtomId]) -> End {
    let names: Vec<&str> = outside.iter().map(AtomId::as_str).collect();
    let why = if names.is_empty() {
        format!("nothing differs from serial {}", serial.0)
    } else {
        format!("what these did outside of the tree is not taken back: {}", names.join(", "))
    };
    let words = format!("{why}; nothing was undone");
    if context.out.json {
        context.out.json(&UndoOutput {
            schema: "descent/undo/1",
            result: UndoResult::Unchanged,
            text: &words,
            effects: Vec::new(),
            serial: None,
            next: "descent log",
        });
    } else {
        context.out.data(&format!("{words}\nnext: descent log"));
    }
    End::Code(0)
}

fn show(context: &Context, planned: &UndoReport, is_dry: bool, command: &str) {
    if context.out.json && is_dry {
        return json(context, planned, UndoResult::Planned, command);
    }
    let next = if is_dry { format!("\nnext: {command}") } else { String::new() };
    let text = format!("{}{next}", lines(planned));
    if is_dry {
        context.out.data(&render::clean(&text));
    } else {
        context.out.say(&render::clean(&text));
    }
}

fn lines(undone: &UndoReport) -> String {
    let effects = undone.effects.iter().map(|effect| format!("\n  {effect}"));
    format!("{}{}", undone.what, effects.collect::<String>())
}

fn report(context: &Context, done: &UndoReport, around: &view::Surroundings) {
    let next = if around.live {
        "descent status".to_owned()
    } else {
        view::next(&World::new(done.state.clone()), around)
    };
    if context.out.json {
        return json(context, done, UndoResult::Undone, &next);
    }
    let text = format!("{}\nnext: {next}", lines(done));
    context.out.data(&render::clean(&text));
}

fn json(context: &Context, undone: &UndoReport, result: UndoResult, next: &str) {
    context.out.json(&UndoOutput {
        schema: "descent/undo/1",
        result,
        text: &undone.what,
        effects: undone.effects.iter().map(ToString::to_string).collect(),
        serial: Some(undone.state.serial),
        next,
    });
}
