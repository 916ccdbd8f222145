//! The command that tells a person how a run ended, or that it waits for somebody.
//!
//! Invariant: its failure is a warning, and changes nothing of the run. The command ends within [`NOTIFY_MAX`], with
//! all that it started. Its output is dropped, but for the last line of a failure. Not here: when a run waits for
//! somebody (`waits`), the words of a result (`cli`).

pub mod waits;

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use descent_core::id::RunId;
use tokio_util::sync::CancellationToken;

pub(super) use self::waits::WaitNotices;
use super::{Client, Progress};
use crate::{
    config,
    failure::{Failure, exit},
    process::{self, Job, JobEnd, Programs, Reach, environment::Environment, timeouts::NOTIFY_MAX},
    secrets,
    signal::Signals,
    store::StatePlace,
};

/// The variable that names the event.
const EVENT: &str = "DESCENT_EVENT";

/// The event that a person is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotifyEvent {
    Ended,
    Waits,
}

impl NotifyEvent {
    fn word(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Waits => "waits",
        }
    }
}

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
        let telling = self.tell(NotifyEvent::Ended, input, &cancel);
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
            client.tell(&Progress::NotNotified { why });
        }
    }

    /// Fails with the reason, in words.
    async fn tell(
        &self,
        event: NotifyEvent,
        input: String,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let mut env = self.env.clone();
        env.push((EVENT.into(), event.word().into()));
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
        let run = || self.programs.run(&job, cancel, Box::new(|_| ()));
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
