//! A run that goes on without its terminal: its start, its report to whoever started it, and its log.
//!
//! Invariant: whoever starts it gets one answer, the first commit or the failure. Not here: the process (`process`),
//! the words (`cli`).

use std::{cell::RefCell, ffi::OsString, fs::File, io, path::PathBuf, time::Duration};

use descent_core::{
    id::{RunId, Serial},
    world::World,
};
use serde::{Deserialize, Serialize};

use crate::events;
use descent_process::detached::{self, DetachedProcess};
use descent_store::StatePlace;
use descent_system::{
    failure::{Failure, exit},
    files,
    signal::{Signal, Signals},
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

// The log of a detached run: all that `run` prints.
//
// Invariant: it has the mode 0600. It takes 16 MiB at most: half of that is in the file itself, and
// the half before it in `<run>.0.log`. At most 20 runs have one; the oldest go first. Nothing
// depends on a log.

/// Bytes of one file, without those that are printed between two looks.
const BYTES_MAX: u64 = 15 << 19;
const END: &str = ".log";
const OLDER: &str = ".0.log";

#[derive(Debug)]
struct DetachedLog {
    path: PathBuf,
    older: PathBuf,
    file: File,
    bytes_max: u64,
    /// Makes a file the output of this process.
    print_to: fn(&File) -> io::Result<()>,
}

impl DetachedLog {
    fn make(place: &StatePlace, run: &RunId) -> io::Result<Self> {
        let dir = place.logs();
        files::make_dir(&dir)?;
        events::forget_older(&dir, END);
        let path = dir.join(format!("{run}{END}"));
        let file = files::append(&path)?;
        let print_to = detached::print_to;
        print_to(&file)?;
        Ok(Self {
            older: dir.join(format!("{run}{OLDER}")),
            path,
            file,
            bytes_max: BYTES_MAX,
            print_to,
        })
    }

    /// Begins a new file if this one is full.
    fn tend(&mut self) {
        let is_full = self.file.metadata().is_ok_and(|meta| meta.len() >= self.bytes_max);
        if is_full && let Err(error) = self.turn_over() {
            tracing::warn!(%error, "the log cannot be begun anew");
        }
    }

    fn turn_over(&mut self) -> io::Result<()> {
        files::remove(&self.older)?;
        files::move_to(&self.path, &self.older)?;
        self.file = files::append(&self.path)?;
        (self.print_to)(&self.file)
    }

    fn remove(&self) {
        let _ = files::remove(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // plants logs
mod tests {
    use super::*;

    #[test]
    fn the_oldest_logs_make_room_and_nothing_else_goes() {
        let dir = tempfile::tempdir().unwrap();
        for n in 10..30 {
            std::fs::write(dir.path().join(format!("{n}.log")), "x").unwrap();
        }
        for name in ["10.0.log", "11.0.log"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        events::forget_older(dir.path(), END);
        let mut left = files::entries(dir.path());
        left.sort();
        let names: Vec<_> = left.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names.len(), 20);
        assert_eq!(names[..2], ["11.0.log", "11.log"]);
    }

    #[test]
    fn a_full_log_becomes_the_older_half() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.log");
        std::fs::write(&path, "first").unwrap();
        let mut log = DetachedLog {
            older: dir.path().join("r.0.log"),
            file: files::append(&path).unwrap(),
            path: path.clone(),
            bytes_max: 6,
            print_to: |_| Ok(()),
        };
        for (text, older, present) in
            [("", None, "first"), ("!", Some("first!"), ""), ("second", Some("second"), "")]
        {
            std::io::Write::write_all(&mut log.file, text.as_bytes()).unwrap();
            log.tend();
            let read = |path: &std::path::Path| std::fs::read_to_string(path).ok();
            assert_eq!(read(&log.older).as_deref(), older);
            assert_eq!(read(&path).as_deref(), Some(present));
        }
    }
}
