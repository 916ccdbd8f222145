//! Threads of their own for connections: a server that never stops talking starves neither the loop nor its timers.
//!
//! Facts: a connection reads informational answers (1xx) without end and without a pause, and its library has no limit for
//! them. Time limits are kept by whoever waits for the answer, outside of these threads.

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    sync::OnceLock,
    task::{Context, Poll},
};

use tokio::runtime::{Builder, Handle, Runtime};

const THREADS: usize = 1;

/// The threads that connections are driven by; they end with the process.
pub(super) fn threads() -> Result<&'static Handle, io::Error> {
    static THREADS_APART: OnceLock<Runtime> = OnceLock::new();
    if let Some(threads) = THREADS_APART.get() {
        return Ok(threads.handle());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("models")
        .enable_all()
        .build()?;
    match THREADS_APART.set(made) {
        Ok(()) => {}
        // Another question was faster.
        Err(second) => second.shutdown_background(),
    }
    let threads = THREADS_APART.get();
    Ok(threads.expect("BUG: they were just made").handle())
}

/// A request whose connections are driven apart. It is polled where it is waited for.
pub(super) struct Apart<F> {
    threads: Handle,
    request: Pin<Box<F>>,
}

impl<F: Future> Apart<F> {
    pub(super) fn new(threads: &Handle, request: F) -> Self {
        Self { threads: threads.clone(), request: Box::pin(request) }
    }
}

impl<F: Future> Future for Apart<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let _inside = this.threads.enter();
        pin!(&mut this.request).poll(context)
    }
}
