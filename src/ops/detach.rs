//! A run that goes on without its terminal: its start, its report to whoever started it, and its log.
//!
//! Invariant: whoever starts it gets one answer, the first commit or the failure. Not here: the process (`process`),
//! the words (`cli`).

mod log;

use std::{cell::RefCell, ffi::OsString, path::PathBuf, time::Duration};

use descent_core::{
    id::{RunId, Serial},
    world::World,
};
use serde::{Deserialize, Serialize};

use self::log::DetachedLog;
use crate::{
    failure::{Failure, exit},
    process::detached::{self, DetachedProcess},
    signal::{Signal, Signals},
    store::StatePlace,
};

/// How long a process that has reported its failure may take to end.
const END_MAX: Duration = Duration::from_secs(2);

/// The first commit of a detached run.
#[derive(Debug, Serialize, Deserialize)]
pub struct DetachedStart {
    pub run: RunId,
    pub pid: u32,
    /// For people: a path may be no text.
    pub log: String,
    pub serial: Serial,
}

/// The report of the process.
#[derive(Debug, Serialize, Deserialize)]
enum StartReport {
    Begun(DetachedStart),
    Failed(Failure),
}

/// The answer to whoever starts it.
#[derive(Debug)]
pub enum DetachOutcome {
    Begun(DetachedStart),
    /// A signal ended the wait for the first commit. A hangup leaves the run alone, any other ends it.
    Signal(Signal),
}

/// Starts the run, and waits for its first commit.
pub async fn start(
    args: impl Iterator<Item = OsString>,
    signals: &mut Signals,
) -> Result<DetachOutcome, Failure> {
    let failed = |error: std::io::Error| Failure::io("the run cannot be detached", &error);
    let mut process = DetachedProcess::start(args).map_err(failed)?;
    let report = tokio::select! {
        biased;
        report = process.report() => report.map_err(failed)?,
        signal = signals.next() => {
            if signal != Signal::Hangup {
                process.end().await.map_err(failed)?;
            }
            return Ok(DetachOutcome::Signal(signal));
        }
    };
    match serde_json::from_slice(&report) {
        Ok(StartReport::Begun(begun)) => Ok(DetachOutcome::Begun(begun)),
        Ok(StartReport::Failed(failure)) => {
            // Then nothing of it is left when this returns.
            process.wait_for(END_MAX).await.map_err(failed)?;
            Err(failure)
        }
        Err(_) => {
            let status = process.wait_for(END_MAX).await.map_err(failed)?;
            let message = format!("the detached run ended before its first commit ({status})");
            let hint = "descent run tells what happens";
            Err(Failure::new("E-CUT-OFF", exit::STOPPED, message, hint))
        }
    }
}

/// This process as a detached run.
#[derive(Debug)]
pub struct DetachedRun {
    run: RunId,
    log: RefCell<DetachedLog>,
}

impl DetachedRun {
    /// Makes the log: from here on everything is printed there.
    pub fn begin(place: &StatePlace, run: &RunId) -> Result<Self, Failure> {
        let log = DetachedLog::make(place, run)
            .map_err(|error| Failure::io("the log of the run cannot be made", &error))?;
        Ok(Self { run: run.clone(), log: RefCell::new(log) })
    }

    pub fn log(&self) -> PathBuf {
        self.log.borrow().path.clone()
    }

    /// Reports the first commit, and keeps the log small.
    pub fn turn(&self, world: &World) {
        if world.state.run.id.as_ref() == Some(&self.run) {
            report(&StartReport::Begun(DetachedStart {
                run: self.run.clone(),
                pid: std::process::id(),
                log: self.log().display().to_string(),
                serial: world.state.serial,
            }));
        }
        self.log.borrow_mut().tend();
    }

    /// Reports that it ended before its first commit. The log goes, unless nobody got the report.
    pub fn failed(&self, failure: &Failure) {
        if report_failure(failure) {
            self.log.borrow().remove();
        }
    }
}

/// Reports a failure, if nothing was reported yet. Returns whether somebody got it.
pub fn report_failure(failure: &Failure) -> bool {
    report(&StartReport::Failed(failure.clone()))
}

fn report(report: &StartReport) -> bool {
    let bytes = serde_json::to_vec(report).unwrap_or_default();
    detached::report(&bytes)
}
