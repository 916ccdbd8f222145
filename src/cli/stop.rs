//! `descent stop`: a commit by another process, which the running loop obeys and acknowledges.

use std::time::Duration;

use clap::Args;
use descent_core::{
    event::{Event, Observation},
    id::RequestId,
    state::{Request, RunStatus, fields::Extra, objective::RequestKind},
    step::{self, Refusal, Session, World},
};

use super::{End, context::Context, pulse};
use crate::{
    clock,
    failure::Failure,
    store::{CommitError, Next, Store},
};

/// Between two looks at whether the loop has ended.
const LOOK_MS: u64 = 10;
/// Between two looks at whether it hangs.
const PULSE_MS: u64 = 500;
/// Between two words while it takes long.
const WORD_MS: u64 = 5_000;

#[derive(Debug, Args)]
pub struct Flags {
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

pub(super) fn stop(context: &Context, flags: Flags) -> Result<End, Failure> {
    let Some(place) = context.place() else {
        report(context, "nothing runs", "descent align --help");
        return Ok(End::Code(0));
    };
    let mut store = context.open(place);
    if !store.is_live() {
        report(context, "nothing runs", "descent status");
        return Ok(End::Code(0));
    }
    let asked = ask(&mut store, &flags)?;
    if !asked {
        context.out.say("a stop was requested already");
    }
    if flags.no_wait {
        let look = pulse::look(&store, RunStatus::Running);
        if look.is_hung() {
            return Err(hung(&look));
        }
        context.out.say("stop requested\nnext: descent status");
        return Ok(End::Code(0));
    }
    wait(context, &store)?;
    report(context, "stopped", "descent status");
    Ok(End::Code(0))
}

fn report(context: &Context, what: &str, next: &str) {
    if context.out.json {
        context
            .out
            .json(&serde_json::json!({"schema": "descent/stop/1", "result": what}));
    } else {
        context.out.data(&format!("{what}\nnext: {next}"));
    }
}

/// False when the same was asked already.
fn ask(store: &mut Store, flags: &Flags) -> Result<bool, Failure> {
    let now = clock::now();
    let kind = if flags.now {
        RequestKind::StopNow
    } else {
        RequestKind::Stop
    };
    let id = RequestId::new(uuid::Uuid::now_v7().to_string());
    let asked = store.commit(|loaded| {
        let world = World::new(loaded.state.clone());
        let request = Request {
            id: id.clone(),
            run: loaded.state.run.id.clone(),
            by: Context::by(),
            at: now.rfc3339(),
            kind,
            extra: Extra::default(),
        };
        let event = Event::Asked {
            request,
            reason: flags.reason.clone(),
        };
        let next = step::step(
            &world,
            &Session::default(),
            Observation {
                now,
                active_ms: 0,
                event,
            },
        )?;
        Ok(Some(Next {
            state: next.world.state,
            touched: next.touched,
        }))
    });
    match asked {
        Ok(_) => Ok(true),
        Err(CommitError::Decide(Refusal::AlreadyAsked | Refusal::NothingRuns)) => Ok(false),
        Err(CommitError::Decide(refusal)) => Err(Failure::bug(refusal)),
        Err(CommitError::Store(error)) => Err(error.into()),
    }
}

/// The request stands: the loop obeys when it goes on, and who goes on after it retires it.
fn hung(look: &pulse::Look) -> Failure {
    look.failure("E-LOOP-HUNG", "the stop is requested, but ")
}

/// Until the loop has ended; a hung one is not waited for.
fn wait(context: &Context, store: &Store) -> Result<(), Failure> {
    let mut waited_ms = 0;
    while store.is_live() {
        std::thread::sleep(Duration::from_millis(LOOK_MS));
        waited_ms += LOOK_MS;
        if waited_ms % PULSE_MS == 0 {
            let look = pulse::look(store, RunStatus::Running);
            if look.is_hung() {
                return Err(hung(&look));
            }
        }
        if waited_ms % WORD_MS == 0 {
            context
                .out
                .say("waiting for what may not be interrupted (--now ends it)");
        }
    }
    Ok(())
}
