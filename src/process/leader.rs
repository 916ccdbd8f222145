//! The first process of a job, started by the runtime or forked by the fork server.
//!
//! Invariant: it is our child, and is reaped once, even if it is dropped before it has ended.

use std::io;
use std::process::ExitStatus;

use tokio::process::Child;

#[cfg(target_os = "linux")]
use super::guard::forked::ForkedGuard;

#[derive(Debug)]
pub(super) enum Leader {
    Started(Child),
    #[cfg(target_os = "linux")]
    Forked(ForkedGuard),
}

impl Leader {
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Leader::Started(child) => child.wait().await,
            #[cfg(target_os = "linux")]
            Leader::Forked(forked) => forked.wait().await,
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Leader::Started(child) => child.try_wait(),
            #[cfg(target_os = "linux")]
            Leader::Forked(forked) => forked.try_wait(),
        }
    }
}
