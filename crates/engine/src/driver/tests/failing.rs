//! Programs of which one fails: it does not start, or it is killed before its output.

use std::{
    os::unix::process::ExitStatusExt,
    path::Path,
    process::ExitStatus,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

use descent_process::{
    Job, JobEnd, JobRecord, Programs, SpawnError,
    programs::{REAL_PROGRAMS, RunningJob},
    tool::{Tool, ToolError, ToolOutput},
};

const EAGAIN: i32 = 11;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Refused,
    Killed,
}

#[derive(Debug)]
pub(super) struct FailingPrograms {
    begun: AtomicUsize,
    at: usize,
    fate: Fate,
}

impl FailingPrograms {
    /// Fails the program that comes after `at` others.
    pub(super) fn new(at: usize, fate: Fate) -> Self {
        Self { begun: AtomicUsize::new(0), at, fate }
    }

    pub(super) fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    fn fate(&self) -> Option<Fate> {
        (self.begun.fetch_add(1, Ordering::SeqCst) == self.at).then_some(self.fate)
    }
}

/// A job that is not begun, or is told to be killed.
fn spoilt(fate: Option<Fate>, job: RunningJob<'_>) -> RunningJob<'_> {
    Box::pin(async move {
        if fate == Some(Fate::Refused) {
            let no_room = std::io::Error::from_raw_os_error(EAGAIN);
            return Err(SpawnError::NoRoom(no_room));
        }
        let mut ended = job.await?;
        if fate == Some(Fate::Killed) {
            ended.how = JobEnd::Signal(9);
        }
        Ok(ended)
    })
}

impl Programs for FailingPrograms {
    fn run<'a>(
        &'a self,
        job: &'a Job,
        channel: Option<DuplexStream>,
        cancel: &'a CancellationToken,
        on_started: Box<dyn FnOnce(&JobRecord) + Send + 'a>,
    ) -> RunningJob<'a> {
        spoilt(self.fate(), REAL_PROGRAMS.run(job, channel, cancel, on_started))
    }

    fn run_tool(&self, tool: &Tool) -> Result<ToolOutput, ToolError> {
        match self.fate() {
            Some(Fate::Refused) => Err(ToolError::Start {
                program: tool.program.clone(),
                cwd: tool.cwd.clone(),
                source: std::io::Error::from_raw_os_error(EAGAIN),
            }),
            Some(Fate::Killed) => REAL_PROGRAMS.run_tool(tool).map(|ran| ToolOutput {
                status: ExitStatus::from_raw(9),
                stdout: Vec::new(),
                ..ran
            }),
            None => REAL_PROGRAMS.run_tool(tool),
        }
    }

    /// Tools of other tests run in this process too.
    fn cut_off_tools(&self) {}

    fn gap(&self, _cwd: &Path) -> Option<String> {
        None
    }
}
