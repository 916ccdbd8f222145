//! The seam between the callers of programs and the system that runs them. Attempts, checks and git
//! go through it, so that a test can make any start or call fail.
//!
//! Invariant: outside of this room a program runs only through a [`Programs`] that was handed in.
//! Not here: how a program is started, watched and ended.

use std::{fmt, future::Future, path::Path, pin::Pin, sync::Arc};

use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

use super::{
    Fence, Job, JobRecord, JobResult, SpawnError,
    tool::{Tool, ToolError, ToolOutput},
};

/// A running job; dropping it ends the job.
pub type RunningJob<'a> = Pin<Box<dyn Future<Output = Result<JobResult, SpawnError>> + Send + 'a>>;

pub trait Programs: fmt::Debug + Send + Sync {
    /// See [`super::run`].
    fn run<'a>(
        &'a self,
        job: &'a Job,
        channel: Option<DuplexStream>,
        cancel: &'a CancellationToken,
        on_started: Box<dyn FnOnce(&JobRecord) + Send + 'a>,
    ) -> RunningJob<'a>;

    /// See [`super::tool::run_tool`]; it blocks.
    fn run_tool(&self, tool: &Tool) -> Result<ToolOutput, ToolError>;

    /// See [`super::tool::cut_off`].
    fn cut_off_tools(&self);

    /// Why jobs that work in this directory can write the state; `None` if they cannot, or no fence was asked for.
    fn gap(&self, cwd: &Path) -> Option<String>;
}

/// The system's own programs, and the fence that jobs are kept behind.
#[derive(Debug)]
pub struct RealPrograms {
    fence: Option<Fence>,
}

/// Without a fence, for tests.
#[cfg(any(test, feature = "testing"))]
pub static REAL_PROGRAMS: RealPrograms = RealPrograms { fence: None };

impl Programs for RealPrograms {
    fn run<'a>(
        &'a self,
        job: &'a Job,
        channel: Option<DuplexStream>,
        cancel: &'a CancellationToken,
        on_started: Box<dyn FnOnce(&JobRecord) + Send + 'a>,
    ) -> RunningJob<'a> {
        Box::pin(super::run(job, self.fence.as_ref(), channel, cancel, on_started))
    }

    fn run_tool(&self, tool: &Tool) -> Result<ToolOutput, ToolError> {
        super::tool::run_tool(tool)
    }

    fn cut_off_tools(&self) {
        super::tool::cut_off();
    }

    fn gap(&self, cwd: &Path) -> Option<String> {
        self.fence.as_ref()?.gap(cwd)
    }
}

#[must_use]
pub fn real() -> Arc<dyn Programs> {
    Arc::new(RealPrograms { fence: None })
}

/// The same with a fence around the state.
#[must_use]
pub fn fenced(fence: Fence) -> Arc<dyn Programs> {
    Arc::new(RealPrograms { fence: Some(fence) })
}
