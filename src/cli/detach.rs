//! `descent run --detach`: the run in a process of its own, which goes on when the terminal is closed.
//!
//! All that a person is asked is asked before it is started.

use descent_core::id::{RunId, Serial};
use serde::Serialize;

use super::{
    End,
    context::{Context, runtime, signals},
};
use crate::{
    config,
    failure::Failure,
    ops::{
        self,
        detach::{DetachOutcome, DetachedStart},
    },
    process::detached,
    store::Store,
};

/// The start of a detached run: `descent run --detach --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DetachOutput<'a> {
    schema: &'static str,
    run: &'a RunId,
    pid: u32,
    /// The file that holds all that the run prints.
    log: &'a str,
    /// Its first commit.
    serial: Serial,
}

/// Whether this process is the detached run itself.
pub(super) fn is_within() -> bool {
    detached::is_one()
}

/// Starts the run, and ends with its first commit or with its error.
pub(super) fn start(context: &Context, mut store: Store) -> Result<End, Failure> {
    ops::newer::ready(&mut store)?;
    let config = config::load(&store.place().project)?;
    ops::trust::gate(&context.client(Some(&config)), &mut store)?;
    let outcome = runtime()?.block_on(async {
        let mut signals = signals()?;
        let args = std::env::args_os().skip(1);
        ops::detach::start(args, &mut signals).await
    })?;
    match outcome {
        DetachOutcome::Begun(begun) => {
            report(context, &begun);
            Ok(End::Code(0))
        }
        DetachOutcome::Signal(signal) => Ok(End::Signal(signal)),
    }
}

fn report(context: &Context, begun: &DetachedStart) {
    let log = &begun.log;
    if context.out.json {
        return context.out.json(&DetachOutput {
            schema: "descent/detach/1",
            run: &begun.run,
            pid: begun.pid,
            log,
            serial: begun.serial,
        });
    }
    let pid = begun.pid;
    context.out.data(&format!(
        "detached: the run is at work by itself (pid {pid})\n  log     {log}\nnext: descent wait"
    ));
}
