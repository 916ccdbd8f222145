//! `descent fork`: a second state that begins at this one, to try another way from the same point.

use std::path::PathBuf;

use clap::Args;
use descent_core::{
    id::{Lineage, Serial},
    state::Workspace,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    config,
    failure::{Failure, quoted},
    ops, render,
};

#[derive(Debug, Args)]
#[command(
    long_about = "Begin a second state where this one stands, to try another way from the same point.\n\nThe fork has its own lineage, with this one recorded as its parent. It takes along what was agreed, the work graph, its results, and what was tried; not what is in flight, asked for or spent. It gets a copy of what was made; repository, cache, journal and locks are each one's own.\n\nWithout a name it is .descent/fork-1.json here. A directory is another worktree or clone of the same project: the fork becomes the state there."
)]
pub struct ForkArgs {
    /// A file for the fork's state, or a directory of the same project
    #[arg(value_name = "DIR|FILE")]
    to: Option<PathBuf>,
}

/// The place of a fork: `descent fork --json`
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

pub(super) fn fork(context: &Context, flags: &ForkArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let config = config::load(&store.place().project)?;
    let client = context.client(Some(&config));
    let to = flags.to.as_ref().map(|to| context.dir.join(to));
    let fork = ops::fork::fork(&client, &mut store, to.as_deref())?;
    let place = &fork.place;
    let next = if place.is_usual() {
        format!("descent -C {} run", quoted(&place.project))
    } else {
        format!("descent --state {} run", quoted(&place.state))
    };
    if context.out.json {
        context.out.json(&ForkOutput {
            schema: "descent/fork/1",
            state: place.state.display().to_string(),
            lineage: &fork.lineage,
            parent: ForkParent { lineage: &fork.parent, serial: fork.serial },
            next,
        });
        return Ok(End::Code(0));
    }
    if fork.kind == Workspace::Shared {
        context
            .out
            .say("agents work in place here: two runs in one directory get in each other's way");
    }
    let text = format!(
        "{} begins where serial {} stands, with a lineage of its own\nnext: {next}",
        place.state.display(),
        fork.serial.0
    );
    context.out.data(&render::clean(&text));
    Ok(End::Code(0))
}
