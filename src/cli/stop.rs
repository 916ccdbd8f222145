//! `descent stop`: a commit by another process, which the running loop obeys and acknowledges.

use clap::Args;
use descent_core::{
    id::Serial,
    state::{RunStatus, objective::RequestKind},
    view,
    world::World,
};
use serde::Serialize;

use super::{ALIGN, Context, End, Failure, exit, status, surroundings};
use descent_engine::ops::{
    self,
    liveness::observe,
    stop::{StopOutcome, StopProof, StopRequest},
};
use descent_store::Store;

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// End what may not be interrupted too, and a loop that reads no request
    #[arg(long)]
    now: bool,
    /// Return at once, without waiting for the loop to end
    #[arg(long)]
    no_wait: bool,
}

pub(super) fn stop(context: &Context, flags: StopArgs) -> Result<End, Failure> {
    let Some(place) = context.place()? else {
        report(context, "nothing runs", None, ALIGN);
        return Ok(End::Code(0));
    };
    let mut store = context.open(place);
    let request = StopRequest {
        kind: if flags.now { RequestKind::StopNow } else { RequestKind::Stop },
        reason: flags.reason,
        waits: !flags.no_wait,
    };
    let stopped = ops::stop::stop(&context.client(None), &mut store, &request);
    let outcome = stopped.map_err(|failure| match failure.exit {
        exit::INVALID => status::with_note(&observe(&store, RunStatus::Running), failure),
        _ => failure,
    })?;
    match outcome {
        StopOutcome::NothingRuns => report(context, "nothing runs", None, &next(&mut store)),
        StopOutcome::Requested(signals) if context.out.json => {
            let proof = StopProof { serial: None, ended: None, signals };
            report(context, "requested", Some(&proof), "descent status");
        }
        StopOutcome::Requested(signals) => {
            let by = names(&signals, " (", " sent: the loop reads no request)");
            context.out.say(&format!("stop requested{by}\nnext: descent status"));
        }
        StopOutcome::Stopped(proof) => report(context, "stopped", Some(&proof), &next(&mut store)),
    }
    Ok(End::Code(0))
}

/// The command that goes on from here, as `status` names it.
fn next(store: &mut Store) -> String {
    match store.read() {
        Ok(loaded) => {
            let around = surroundings(store, &loaded.state);
            view::next(&World::new(loaded.state.clone()), &around)
        }
        // `status` tells what is wrong with the file.
        Err(_) => "descent status".to_owned(),
    }
}

/// The outcome of a stop: `descent stop --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StopOutput<'a> {
    schema: &'static str,
    /// `stopped`, `nothing runs`, or with `--no-wait` `requested`.
    result: &'a str,
    /// How many processes of attempts and checks ended; null if the run ended otherwise.
    processes: Option<u64>,
    /// From the moment when the loop noticed the request until the last of them was gone.
    ms: Option<u64>,
    /// The last commit of the loop.
    serial: Option<Serial>,
    /// The signals that its process got: it read no request, or did not obey in time.
    signals: &'a [&'static str],
}

fn report(context: &Context, what: &str, proof: Option<&StopProof>, next: &str) {
    let ended = proof.and_then(|proof| proof.ended.as_ref());
    let signals = proof.map_or(&[][..], |proof| &proof.signals);
    let output = StopOutput {
        schema: "descent/stop/1",
        result: what,
        processes: ended.map(|ended| ended.processes),
        ms: ended.map(|ended| ended.ms),
        serial: proof.and_then(|proof| proof.serial),
        signals,
    };
    context.answer(&output, || {
        let by = names(signals, " by ", ", since the loop read no request");
        let proven = ended.map(|ended| {
            let plural = if ended.processes == 1 { "" } else { "es" };
            format!(": {} process{plural} ended within {} ms", ended.processes, ended.ms)
        });
        let proven = proven.unwrap_or_default();
        format!("{what}{by}{proven}\nnext: {next}")
    });
}

/// `SIGTERM, SIGCONT` between two texts; nothing if there were none.
fn names(signals: &[&str], before: &str, after: &str) -> String {
    if signals.is_empty() {
        String::new()
    } else {
        format!("{before}{}{after}", signals.join(", "))
    }
}
