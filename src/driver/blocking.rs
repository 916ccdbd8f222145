//! Work that blocks, and the thread that does it.
//!
//! A thread of the pool costs two wake-ups. So work that ends sooner than that is done in place. A commit is made in
//! place too, but its lock is waited for without stopping the loop.

use std::{sync::Arc, time::Duration};

use super::Loop;
use crate::{clock::Stopwatch, failure::Failure, store::COMMIT_WAIT_MS, workspace::Workspaces};

/// How often a lock that another process holds is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(5);

impl Loop<'_> {
    /// Waits until nobody else commits. Meanwhile work goes on, and work that was cancelled ends.
    pub(super) async fn wait_for_lock(&mut self) -> Result<(), Failure> {
        if self.leaving > 0 {
            tokio::task::yield_now().await;
        }
        let waited = Stopwatch::start(Arc::clone(&self.host.clock));
        while self.host.store.is_lock_taken() {
            if waited.passed_ms() >= COMMIT_WAIT_MS {
                return Err(self.host.store.lock_timeout().into());
            }
            self.host.clock.sleep(TRY_AGAIN).await;
        }
        Ok(())
    }
}

/// Runs blocking work without stopping the loop.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failure::bug(format!("a worker thread broke: {error}")))
}

/// Runs work that takes long only where git keeps the trees. In `shared` it is done in place.
pub(super) async fn with_trees<T: Send + 'static>(
    workspaces: &Workspaces,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    match workspaces.trees() {
        Some(_) => blocking(work).await,
        None => Ok(work()),
    }
}
