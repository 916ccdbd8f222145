//! The two directions of a job's standard streams: its input, and for a job that is talked with the
//! channel that its standard output goes to.
//!
//! Invariant: cancellation-safe: what was read from the job and is not written yet stays here. At
//! most one chunk is held, so a job that prints faster than somebody reads has to wait.

use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::process::ChildStdin;

/// The reader of a job's standard output, if there is one.
#[derive(Debug)]
pub(super) struct Peer {
    writer: Option<WriteHalf<DuplexStream>>,
    held: Vec<u8>,
    /// How much of `held` is written.
    written: usize,
}

/// The source of a job's standard input.
#[derive(Debug)]
pub(super) enum InputSource {
    Nothing,
    Bytes(Vec<u8>),
    Channel(ReadHalf<DuplexStream>),
}

impl InputSource {
    pub(super) fn is_there(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Writes the input to its end and closes it. It never returns, so that a caller can race it
    /// against something that ends. A job that leaves its input unread breaks the pipe.
    pub(super) async fn feed(self, input: Option<ChildStdin>) {
        if let Some(mut input) = input {
            let _ = match self {
                Self::Nothing => Ok(()),
                Self::Bytes(bytes) => input.write_all(&bytes).await,
                Self::Channel(mut reader) => {
                    tokio::io::copy(&mut reader, &mut input).await.map(drop)
                }
            };
        }
        std::future::pending().await
    }
}

impl Peer {
    pub(super) fn nobody() -> Self {
        Self { writer: None, held: Vec::new(), written: 0 }
    }

    pub(super) fn of(channel: DuplexStream) -> (Self, InputSource) {
        let (reader, writer) = tokio::io::split(channel);
        let peer = Self { writer: Some(writer), ..Self::nobody() };
        (peer, InputSource::Channel(reader))
    }

    pub(super) fn is_there(&self) -> bool {
        self.writer.is_some()
    }

    pub(super) fn has_held(&self) -> bool {
        self.written < self.held.len()
    }

    /// Takes a chunk. The one before is written.
    pub(super) fn hold(&mut self, chunk: &[u8]) {
        self.held.clear();
        self.held.extend_from_slice(chunk);
        self.written = 0;
    }

    /// Writes a part of what is held, and drops it if nobody reads any more.
    pub(super) async fn forward(&mut self) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        match writer.write(&self.held[self.written..]).await {
            Ok(count) if count > 0 => self.written += count,
            _ => self.written = self.held.len(),
        }
    }
}
