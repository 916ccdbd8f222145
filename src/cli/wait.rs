//! `descent wait`: waits until the run has ended, and ends as it did.

use clap::Args;
use descent_core::state::fields::DurationText;

use super::{
    End,
    context::{Context, runtime},
    run,
};
use crate::{
    clock,
    failure::Failure,
    ops::{self, wait::WaitLimit},
};

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Wait for so long at most, such as 90s or 2h; then end with 75
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
}

pub(super) fn wait(context: &Context, flags: &WaitArgs) -> Result<End, Failure> {
    let limit = flags.timeout.as_deref().map(limit).transpose()?;
    let mut store = context.store()?;
    let (client, runtime) = (context.client(None), runtime()?);
    let waiting = ops::wait::wait(&client, &mut store, clock::real(), limit.as_ref());
    let report = runtime.block_on(waiting)?;
    run::show_result(context, &report, true);
    Ok(End::Code(run::code_of(&report.ending.world.state.run)))
}

fn limit(text: &str) -> Result<WaitLimit, Failure> {
    let parsed = DurationText::parse(text).ok_or_else(|| {
        let message = format!("--timeout {text}: that is not a duration");
        Failure::usage(message, "a number and a unit: 90s, 10m, 1h30m")
    })?;
    Ok(WaitLimit { ms: parsed.ms, text: parsed.as_str().to_owned() })
}
