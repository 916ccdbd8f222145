//! The command that tells a person how a run ended, or that it waits for somebody.
//!
//! Invariant: its failure is a warning, and changes nothing of the run. The command ends within [`NOTIFY_MAX`], with
//! all that it started. Its output is dropped, but for the last line of a failure. Telling never delays the loop. Not
//! here: the words of a result (`cli`).

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use descent_core::{
    id::{Lineage, RunId, Serial},
    view::liveness::WaitsFor,
    world::World,
};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Client, liveness};
use descent_agent::config;
use descent_process::{
    self as process, Job, JobEnd, Programs, Reach, environment::Environment, timeouts::NOTIFY_MAX,
};
use descent_store::StatePlace;
use descent_system::{
    clock::{Clock, Stopwatch},
    failure::{Failure, exit},
    phrase, secrets,
    signal::Signals,
};

/// The variable that names the event: `ended` or `waits`.
const EVENT: &str = "DESCENT_EVENT";

/// The notify command of one run.
#[derive(Debug)]
pub struct Notifier {
    command: String,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    mark: String,
    programs: Arc<dyn Programs>,
}

impl Notifier {
    /// # Errors
    /// If the program of the command is certainly not installed.
    pub(super) fn new(
        command: &str,
        place: &StatePlace,
        run: &RunId,
        environment: &Environment,
        programs: Arc<dyn Programs>,
    ) -> Result<Self, Failure> {
        if let Some(program) = config::program::missing_program(command, &environment.path()) {
            let message = format!("the notify command `{program}` is not installed");
            let hint = format!("install {program}, or name another with --notify");
            return Err(Failure::new("E-NOTIFY", exit::UNAVAILABLE, message, hint));
        }
        Ok(Self {
            command: command.to_owned(),
            cwd: place.project.clone(),
            env: environment.vars_in(&place.project),
            mark: format!("{}/{run}/notify", place.mark()),
            programs,
        })
    }

    /// Tells of the ending, with its JSON value. A signal ends the command.
    pub async fn tell_ending(&self, client: &dyn Client, input: String) {
        let cancel = CancellationToken::new();
        let telling = self.tell("ended", input, &cancel);
        tokio::pin!(telling);
        // Without signals there is the time limit.
        let told = match Signals::install() {
            Ok(mut signals) => tokio::select! {
                told = &mut telling => told,
                _ = signals.next() => {
                    cancel.cancel();
                    telling.await
                }
            },
            Err(_) => telling.await,
        };
        if let Err(why) = told {
            tell_failed(client, &why);
        }
    }

    /// Fails with the reason, in words.
    async fn tell(
        &self,
        event: &str,
        input: String,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let mut env = self.env.clone();
        env.push((EVENT.into(), event.into()));
        let job = Job {
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            env,
            timeout: NOTIFY_MAX,
            mark: self.mark.clone(),
            input: Some(format!("{}\n", secrets::hide(&input)).into_bytes()),
            whole_stdout_bytes_max: 0,
            log: None,
            reach: Reach::Account,
        };
        let run = || self.programs.run(&job, None, cancel, Box::new(|_| ()));
        let ended = process::start_patiently(cancel, run).await;
        let ended = ended.map_err(|error| format!("{error} ({})", error.hint()))?;
        let how = match ended.how {
            JobEnd::Exit(0) | JobEnd::Cancelled => return Ok(()),
            JobEnd::Exit(code) => format!("exit {code}"),
            JobEnd::Signal(signal) => format!("signal {signal}"),
            JobEnd::TimedOut => {
                let limit = NOTIFY_MAX.as_secs();
                return Err(format!(
                    "it did not end within {limit} s, and was ended with all that it had started"
                ));
            }
        };
        let last_line = ended.output.last_line();
        Err(last_line.map_or_else(|| how.clone(), |line| format!("{how}: {line}")))
    }
}

/// Tells that the command failed.
pub(super) fn tell_failed(client: &dyn Client, why: &str) {
    client.tell(&format!(
        "warning[E-NOTIFY]: the notify command failed: {}\n  the run is as it is; to try the command: echo '{{}}' | sh -c COMMAND",
        phrase::line(why)
    ));
}

/// An editor that writes in place leaves a broken file for a moment.
const GRACE_MS: u64 = 2_000;
/// A disk may fill again and again.
const AGAIN_MS: u64 = 60_000;

/// The wait of a run: standard input of the notify command, with `DESCENT_EVENT=waits`
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitOutput<'a> {
    schema: &'static str,
    waits_for: WaitsFor,
    /// The same in words.
    summary: String,
    goal: &'a str,
    lineage: &'a Lineage,
    run: &'a RunId,
    serial: Serial,
    at: String,
    /// The state file.
    state: String,
    /// The command that tells more.
    next: &'static str,
}

/// The waits of one run.
pub(crate) struct WaitNotices {
    /// `None` if nobody is told.
    notifier: Option<Arc<Notifier>>,
    place: StatePlace,
    run: RunId,
    clock: Arc<dyn Clock>,
    /// The present wait, and since when, until it is announced.
    present: Option<(WaitsFor, Option<Stopwatch>)>,
    /// Since a wait was told.
    told: Option<Stopwatch>,
    commands: JoinSet<Result<(), String>>,
    cancel: CancellationToken,
}

impl WaitNotices {
    pub fn new(
        notifier: Option<Arc<Notifier>>,
        place: &StatePlace,
        run: &RunId,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            notifier,
            place: place.clone(),
            run: run.clone(),
            clock,
            present: None,
            told: None,
            commands: JoinSet::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// Takes in a turn of the loop. Returns why earlier commands failed.
    pub fn turn(&mut self, world: &World, waits_for: Option<WaitsFor>) -> Vec<String> {
        if let Some(notifier) = self.notifier.clone()
            && let Some(what) = self.due(waits_for)
        {
            self.tell(notifier, world, what);
        }
        let ended = std::iter::from_fn(|| self.commands.try_join_next());
        ended.filter_map(|ended| ended.ok()?.err()).collect()
    }

    /// The wait to tell of now, if there is one.
    fn due(&mut self, waits_for: Option<WaitsFor>) -> Option<WaitsFor> {
        let Some(what) = waits_for.filter(|what| next(*what).is_some()) else {
            self.present = None;
            return None;
        };
        let begins = || Stopwatch::start(Arc::clone(&self.clock));
        let known = self.present.take().filter(|(known, _)| *known == what);
        let (_, since) = known.unwrap_or_else(|| (what, Some(begins())));
        let is_recent = |told: &Stopwatch| told.passed_ms() < AGAIN_MS;
        let is_due = since.as_ref().is_some_and(|since| since.passed_ms() >= GRACE_MS)
            && !self.told.as_ref().is_some_and(is_recent);
        if is_due {
            self.told = Some(begins());
        }
        self.present = Some((what, since.filter(|_| !is_due)));
        is_due.then_some(what)
    }

    fn tell(&mut self, notifier: Arc<Notifier>, world: &World, what: WaitsFor) {
        let (input, cancel) = (self.input(world, what), self.cancel.clone());
        self.commands.spawn(async move { notifier.tell("waits", input, &cancel).await });
    }

    fn input(&self, world: &World, what: WaitsFor) -> String {
        let state = &world.state;
        let output = WaitOutput {
            schema: "descent/waits/1",
            waits_for: what,
            summary: format!("the run waits {}", liveness::waits_for(what)),
            goal: &state.objective.goal,
            lineage: &state.lineage,
            run: &self.run,
            serial: state.serial,
            at: self.clock.now().rfc3339(),
            state: self.place.state.display().to_string(),
            next: next(what).unwrap_or_default(),
        };
        serde_json::to_string(&output).unwrap_or_default()
    }

    /// Ends what is under way: the run is over, and waits for nobody.
    pub async fn finish(&mut self) {
        self.cancel.cancel();
        while self.commands.join_next().await.is_some() {}
    }
}

/// The command that shows more; `None` of a wait that needs nobody.
fn next(what: WaitsFor) -> Option<&'static str> {
    match what {
        WaitsFor::File => Some("descent validate"),
        WaitsFor::Disk => Some("descent doctor"),
        WaitsFor::Redirect => Some("descent redirect --abort"),
        WaitsFor::Repository => Some("descent status"),
        WaitsFor::Backoff => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Mutex, time::Duration};

    /// A clock that a test sets.
    #[derive(Debug, Default)]
    struct SetClock(Mutex<u64>);

    impl Clock for SetClock {
        fn now(&self) -> descent_core::id::UnixMillis {
            descent_core::id::UnixMillis(0)
        }

        fn active(&self) -> Duration {
            Duration::from_millis(*self.0.lock().unwrap())
        }

        fn sleep(&self, _: Duration) -> descent_system::clock::Sleep {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_wait_is_told_once_after_a_while_and_not_again_at_once() {
        let clock = Arc::new(SetClock::default());
        let place = StatePlace::at(std::path::Path::new("/nowhere"), None);
        let hands = Arc::clone(&clock) as Arc<dyn Clock>;
        let mut notices = WaitNotices::new(None, &place, &RunId::new("r"), hands);
        let (file, disk) = (Some(WaitsFor::File), Some(WaitsFor::Disk));
        let later = 2 * AGAIN_MS;
        let steps = [
            (0, file, None),
            // It was mended in time, and broken again.
            (GRACE_MS - 1, None, None),
            (GRACE_MS, file, None),
            (2 * GRACE_MS, file, file),
            (3 * GRACE_MS, file, None),
            // Another wait soon after it is told when the time is over.
            (3 * GRACE_MS, disk, None),
            (4 * GRACE_MS, disk, None),
            (later, disk, disk),
            (later, Some(WaitsFor::Backoff), None),
            (2 * later, Some(WaitsFor::Backoff), None),
        ];
        for (at_ms, waits_for, expected) in steps {
            *clock.0.lock().unwrap() = at_ms;
            assert_eq!(notices.due(waits_for), expected, "at {at_ms} ms");
        }
    }
}
