//! `descent stop`: a commit by another process, which the running loop obeys and acknowledges.

use clap::Args;
use descent_core::state::{RunStatus, objective::RequestKind};
use serde::Serialize;

use super::{End, context::Context, liveness};
use crate::{
    failure::{Failure, exit},
    ops::{
        self,
        liveness::observe,
        stop::{StopOutcome, StopRequest},
    },
};

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// End what may not be interrupted too
    #[arg(long)]
    now: bool,
    /// Return at once, without waiting for the loop to end
    #[arg(long)]
    no_wait: bool,
}

pub(super) fn stop(context: &Context, flags: StopArgs) -> Result<End, Failure> {
    let Some(place) = context.place()? else {
        report(context, "nothing runs", "descent align --help");
        return Ok(End::Code(0));
    };
    let mut store = context.open(place);
    let request = StopRequest {
        kind: if flags.now {
            RequestKind::StopNow
        } else {
            RequestKind::Stop
        },
        reason: flags.reason,
        waits: !flags.no_wait,
    };
    let stopped = ops::stop::stop(&context.client(None), &mut store, &request);
    let outcome = stopped.map_err(|failure| match failure.exit {
        exit::INVALID => liveness::with_note(&observe(&store, RunStatus::Running), failure),
        _ => failure,
    })?;
    match outcome {
        StopOutcome::NothingRuns => report(context, "nothing runs", "descent status"),
        StopOutcome::Requested => context.out.say("stop requested\nnext: descent status"),
        StopOutcome::Stopped => report(context, "stopped", "descent status"),
    }
    Ok(End::Code(0))
}

/// The outcome of a stop: `descent stop --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StopOutput<'a> {
    schema: &'static str,
    /// `stopped` or `nothing runs`.
    result: &'a str,
}

fn report(context: &Context, what: &str, next: &str) {
    if context.out.json {
        context.out.json(&StopOutput {
            schema: "descent/stop/1",
            result: what,
        });
    } else {
        context.out.data(&format!("{what}\nnext: {next}"));
    }
}
