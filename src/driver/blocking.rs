//! Work that blocks, and the thread that does it.
//!
//! A thread of the pool costs two wake-ups. So work that ends sooner than that is done in place.

use crate::{failure::Failure, workspace::Workspaces};

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
