//! `descent stop`: a commit by another process, which the running loop obeys and acknowledges.

use std::time::Duration;

use clap::Args;
use descent_core::{
    event::{Input, Observation},
    id::{RequestId, UnixMillis},
    state::{Request, RunStatus, State, fields::Extra, objective::RequestKind},
    step::{self, Refusal, Session, World},
};

use super::{
    End,
    adoption::{AGAIN_TIMES, restless, taken_in},
    context::Context,
    liveness,
};
use crate::{
    clock,
    failure::{Failure, exit},
    heartbeat,
    store::{CommitContent, CommitError, Store},
};

/// Between two looks at whether the loop has ended.
const LOOK_MS: u64 = 10;
/// Between two looks at whether it hangs.
const PULSE_MS: u64 = 500;
/// Between two words while it takes long.
const WORD_MS: u64 = 5_000;

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
    if !store.is_live() {
        report(context, "nothing runs", "descent status");
        return Ok(End::Code(0));
    }
    let asked = begun(context, &mut store, &flags).map_err(|failure| {
        let look = liveness::look(&store, RunStatus::Running);
        match failure.exit {
            exit::INVALID => look.beside(failure),
            _ => failure,
        }
    })?;
    match asked {
        StopRequest::Now => {}
        StopRequest::Already => context.out.say("a stop was requested already"),
        StopRequest::NothingRuns => {
            report(context, "nothing runs", "descent status");
            return Ok(End::Code(0));
        }
    }
    if flags.no_wait {
        liveness::look(&store, RunStatus::Running).lives(REQUESTED)?;
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

/// What came of asking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopRequest {
    Now,
    Already,
    NothingRuns,
}

/// A loop that lives and whose state does not run is about to begin, or to end: it is asked when it has begun.
fn begun(context: &Context, store: &mut Store, flags: &StopArgs) -> Result<StopRequest, Failure> {
    let mut patience = Patience {
        word: about_to_begin,
        so_far: "nothing is requested yet: ",
        // Without a run to stop, a loop that waits for room cannot be asked for anything.
        check: liveness::LoopObservation::goes_on,
        waited_ms: 0,
    };
    loop {
        let asked = ask(store, flags)?;
        if asked != StopRequest::NothingRuns || !store.is_live() {
            return Ok(asked);
        }
        patience.wait(context, store)?;
    }
}

/// It reads no request yet, or none any more, and may wait for a filter of git's that hangs: a signal it obeys.
fn about_to_begin(store: &Store) -> String {
    let what = "waiting for a loop that is about to begin, or to end";
    match store.holder().as_deref().and_then(heartbeat::pid_in) {
        Some(pid) => format!("{what} (kill -INT {pid} ends it now)"),
        None => what.to_owned(),
    }
}

fn ask(store: &mut Store, flags: &StopArgs) -> Result<StopRequest, Failure> {
    let kind = if flags.now {
        RequestKind::StopNow
    } else {
        RequestKind::Stop
    };
    let id = RequestId::new(uuid::Uuid::now_v7().to_string());
    for _ in 0..AGAIN_TIMES {
        if taken_in(store)?.is_none() {
            return Ok(StopRequest::NothingRuns);
        }
        let now = clock::now();
        let asked = store.commit(|fresh| {
            // Sealed with the request, it would be taken for the program's own words.
            if fresh.is_foreign {
                return Err(StopRefusal::Moved);
            }
            let request = Request {
                id: id.clone(),
                run: fresh.state.run.id.clone(),
                by: Context::by(),
                at: now.rfc3339(),
                kind,
                extra: Extra::default(),
            };
            asked(&fresh.state, request, flags, now).map_err(StopRefusal::Taken)
        });
        match asked {
            Ok(_) => return Ok(StopRequest::Now),
            Err(CommitError::Decide(StopRefusal::Moved)) => {}
            Err(CommitError::Decide(StopRefusal::Taken(refusal))) => return refused(refusal),
            Err(CommitError::Store(error)) => return Err(error.into()),
        }
    }
    Err(restless(store))
}

/// Why a request was not written.
enum StopRefusal {
    /// The file was edited: that is taken in first.
    Moved,
    Taken(Refusal),
}

fn asked(
    state: &State,
    request: Request,
    flags: &StopArgs,
    now: UnixMillis,
) -> Result<Option<CommitContent>, Refusal> {
    let reason = flags.reason.clone();
    let seen = Observation {
        now,
        active_ms: 0,
        event: Input::Asked { request, reason },
    };
    let next = step::step(&World::new(state.clone()), &Session::default(), seen)?;
    Ok(Some(CommitContent {
        state: next.world.state,
        touched: next.touched,
    }))
}

fn refused(refusal: Refusal) -> Result<StopRequest, Failure> {
    match refusal {
        Refusal::AlreadyAsked => Ok(StopRequest::Already),
        Refusal::NothingRuns => Ok(StopRequest::NothingRuns),
        Refusal::MeasureRose { .. } => Err(Failure::bug(refusal)),
    }
}

/// The request stands: a hung loop obeys when it goes on, and who goes on after it retires it.
const REQUESTED: &str = "the stop is requested, but ";

/// Until the loop has ended; a hung one is not waited for.
fn wait(context: &Context, store: &Store) -> Result<(), Failure> {
    let mut patience = Patience {
        word: |_| "waiting for what may not be interrupted (--now ends it)".to_owned(),
        so_far: REQUESTED,
        check: liveness::LoopObservation::lives,
        waited_ms: 0,
    };
    while store.is_live() {
        patience.wait(context, store)?;
    }
    Ok(())
}

/// Looks again and again, says so when it takes long, and gives up on a loop that does nothing.
struct Patience {
    word: fn(&Store) -> String,
    so_far: &'static str,
    check: fn(&liveness::LoopObservation, &str) -> Result<(), Failure>,
    waited_ms: u64,
}

impl Patience {
    fn wait(&mut self, context: &Context, store: &Store) -> Result<(), Failure> {
        std::thread::sleep(Duration::from_millis(LOOK_MS));
        self.waited_ms += LOOK_MS;
        if self.waited_ms.is_multiple_of(PULSE_MS) {
            (self.check)(&liveness::look(store, RunStatus::Running), self.so_far)?;
        }
        if self.waited_ms.is_multiple_of(WORD_MS) {
            context.out.say(&(self.word)(store));
        }
        Ok(())
    }
}
