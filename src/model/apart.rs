//! A thread of its own for connections: a server that never stops talking starves neither the loop nor its timers.
//!
//! Facts: a connection reads informational answers (1xx) without end and without a pause, and its library has no limit for
//! them. Time limits are kept by whoever waits for the answer, outside of this thread.

use std::{future::Future, io, sync::OnceLock};

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::AbortOnDropHandle;

const THREADS: usize = 1;

/// A request that is driven apart; it ends when it is dropped. The thread ends with the process.
pub(super) fn apart<T: Send + 'static>(
    request: impl Future<Output = T> + Send + 'static,
) -> Result<AbortOnDropHandle<T>, io::Error> {
    static THREADS_APART: OnceLock<Runtime> = OnceLock::new();
    if THREADS_APART.get().is_none() {
        let mut made = Builder::new_multi_thread();
        let made = made.worker_threads(THREADS).thread_name("models").enable_all().build()?;
        if let Err(second) = THREADS_APART.set(made) {
            // Another question was faster.
            second.shutdown_background();
        }
    }
    let threads = THREADS_APART.get().expect("BUG: they were just made");
    Ok(AbortOnDropHandle::new(threads.spawn(request)))
}
