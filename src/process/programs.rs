//! The seam between what asks for programs and the system that runs them: attempts, checks and git go through it,
//! so that a start or a call can fail in a test at any place.
//!
//! Invariant: outside of this room nothing runs a program but by a [`Programs`] that was handed in.
//! Not here: how a program is started, watched and ended.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{
    Job, JobRecord, JobResult, SpawnError,
    tool::{Tool, ToolError, ToolOutput},
};

/// A job that runs; dropping it ends the job.
pub type RunningJob<'a> = Pin<Box<dyn Future<Output = Result<JobResult, SpawnError>> + Send + 'a>>;

pub trait Programs: fmt::Debug + Send + Sync {
    /// As [`super::run`] does.
    fn run<'a>(
        &'a self,
        job: &'a Job,
        cancel: &'a CancellationToken,
        on_started: Box<dyn FnOnce(&JobRecord) + Send + 'a>,
    ) -> RunningJob<'a>;

    /// As [`super::tool::run_tool`] does; blocks.
    fn run_tool(&self, tool: &Tool) -> Result<ToolOutput, ToolError>;

    /// As [`super::tool::cut_off`] does.
    fn cut_off_tools(&self);
}

/// The system's own programs.
#[derive(Debug)]
pub struct RealPrograms;

impl Programs for RealPrograms {
    fn run<'a>(
        &'a self,
        job: &'a Job,
        cancel: &'a CancellationToken,
        on_started: Box<dyn FnOnce(&JobRecord) + Send + 'a>,
    ) -> RunningJob<'a> {
        Box::pin(super::run(job, cancel, on_started))
    }

    fn run_tool(&self, tool: &Tool) -> Result<ToolOutput, ToolError> {
        super::tool::run_tool(tool)
    }

    fn cut_off_tools(&self) {
        super::tool::cut_off();
    }
}

#[must_use]
pub fn real() -> Arc<dyn Programs> {
    Arc::new(RealPrograms)
}
