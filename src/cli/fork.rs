//! `descent undo --into`: a second state that begins at this one, to try another way from the same point.

use std::path::Path;

use descent_core::{
    id::{Lineage, Serial},
    state::Workspace,
};
use serde::Serialize;

use super::{End, context::Context};
use crate::{
    config,
    failure::{Failure, quoted},
    ops,
};

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

pub(super) fn fork(context: &Context, to: Option<&Path>) -> Result<End, Failure> {
    let mut store = context.store()?;
    let config = config::load(&store.place().project)?;
    let client = context.client(Some(&config));
    let to = to.map(|to| context.dir.join(to));
    let fork = ops::fork::fork(&client, &mut store, to.as_deref())?;
    let place = &fork.place;
    let next = if place.is_usual() {
        format!("descent -C {} run", quoted(&place.project))
    } else {
        format!("descent --state {} run", quoted(&place.state))
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
