//! The one door to child processes: a shell runs the program of an attempt or a check, and the job's end takes
//! everything that it started.
//!
//! Not here: the purpose of a job, the meaning of its output.
//!
//! Interface: [`run`] runs a [`Job`] to its end, and may speak with it meanwhile. [`Programs`] is the seam that tests
//! replace. `tool` runs helpers of our own (git), `editor` an editor. [`Fence`] bounds where a job may write.
//! [`sweep()`] ends what a dead run left behind, by the marks of its jobs. `guard` is this program as the parent of a
//! job, `detached` as a run without a terminal.
//!
//! Invariant: after [`run`] returned or was dropped, nothing that the job started runs on, except what the kernel can't
//! end. Memory stays bounded whatever the job writes. A spawn never copies our memory: without `pre_exec` and `uid` it
//! stays a vfork.
#![allow(clippy::disallowed_methods)] // door: processes, their logs, and how long they take

pub mod capture;
mod cgroup;
pub mod detached;
pub mod editor;
pub mod environment;
mod fenced_place;
#[cfg(target_os = "linux")]
pub mod guard;
mod guard_report;
mod handle;
pub mod layers;
pub mod methods;
pub mod orphans;
mod process_table;
pub mod programs;
pub mod project_paths;
pub mod registry;
mod spawn;
mod tag;
#[cfg(all(test, target_os = "linux"))]
mod tests;
pub mod timeouts;
pub mod tool;

use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    process::ExitStatus,
    time::{Duration, Instant},
};

use capture::{OutputLog, Sink};
use methods::Method;
use process_table::{FIRST, ProcessEntry};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tag::Tag;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    process::{ChildStdin, ChildStdout},
};
use tokio_util::sync::CancellationToken;

pub use capture::{Capture, WholeOutput};
pub use fenced_place::Fence;
pub use handle::OwnTag;
pub use methods::{layers_work, prepare};
pub use orphans::sweep;
pub use process_table::KnownProcess;
pub use process_table::{boot_id, entry};
pub use programs::Programs;
pub use spawn::SpawnError;

const SHELL: &str = "/bin/sh";
/// How long output is still read after the leader has ended and its remains were killed.
const DRAIN_MAX: Duration = Duration::from_millis(200);
/// The same for a job that is talked with: the last thing that it says is what counts.
const TALK_DRAIN_MAX: Duration = Duration::from_secs(2);
const CHUNK_BYTES: usize = 64 * 1024;

/// One program to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// Run as `/bin/sh -c command`.
    pub command: String,
    pub cwd: PathBuf,
    /// The whole environment; only the mark is added.
    pub env: Vec<(OsString, OsString)>,
    pub timeout: Duration,
    /// The owner of the job up to the first `/`, then the job's own name. Everything that the job
    /// starts inherits it.
    pub mark: String,
    /// The bytes of standard input; with `None` it is empty.
    pub input: Option<Vec<u8>>,
    /// With 0, standard output is not kept whole, and the order of both streams is exact.
    pub whole_stdout_bytes_max: usize,
    /// A file that also gets all output, up to 8 MiB. An old file of that name is removed; without
    /// output no new one is made.
    pub log: Option<PathBuf>,
    pub reach: Reach,
}

/// The places where a job may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Wherever the account may: the person's own command.
    Account,
    /// Not behind the fence, but for this folder.
    Fenced { out: Option<PathBuf> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    Exit(i32),
    Signal(i32),
    TimedOut,
    Cancelled,
}

#[derive(Debug)]
pub struct JobResult {
    pub how: JobEnd,
    /// From the start until the leader ended or was to be ended.
    pub duration: Duration,
    /// Standard output and error in order of arrival.
    pub output: Capture,
    /// Present if the job asked for it.
    pub stdout: Option<WholeOutput>,
}

/// Enough to find a job again after this process has died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    pub pid: u32,
    pub start_ticks: u64,
    pub boot_id: String,
    pub mark: String,
    pub method: Method,
    #[serde(rename = "brand")]
    pub tag: Tag,
    pub cgroup: Option<PathBuf>,
}

/// Runs a job to its end, its timeout or its cancellation. `on_started` is called with the job's
/// record before anything else happens. It is not called if the job was cancelled before it began.
///
/// When the leader has ended, all that it started is killed at once and without a warning: first
/// its group, then everything that escaped from it. Dropping the future does the same in the
/// background.
///
/// With a `channel` the job is talked with: the channel's other end writes its standard input and reads its standard
/// output. Closing that end closes the standard input. The job waits while nobody reads. Its standard error is its output.
///
/// # Errors
/// If nothing could be started.
pub async fn run(
    job: &Job,
    fence: Option<&Fence>,
    channel: Option<DuplexStream>,
    cancel: &CancellationToken,
    on_started: impl FnOnce(&JobRecord),
) -> Result<JobResult, SpawnError> {
    let mut sink = Sink::new(job.whole_stdout_bytes_max, log(job)?);
    if cancel.is_cancelled() {
        return Ok(ended(JobEnd::Cancelled, Duration::ZERO, sink));
    }
    let (reader, writer) = channel.map(tokio::io::split).unzip();
    let mut peer = Peer { writer, held: Vec::new() };
    let has_input = reader.is_some() || job.input.is_some();
    let streams = spawn::Streams { has_input, is_stdout_apart: peer.is_there() };
    let spawn::SpawnedJob { mut child, mut output, input, mut handle } =
        spawn::spawn(job, streams, fence)?;
    let since = Instant::now();
    on_started(&handle.record(&job.mark));
    let over = tokio::select! {
        biased;
        () = cancel.cancelled() => Completion::Cut(JobEnd::Cancelled),
        how = stopped_or_timed_out(handle.processes.leader, job.timeout) => Completion::Cut(how),
        status = child.wait() => Completion::ByItself(status),
        () = output.read_on(&mut sink, &mut peer) => Completion::Cut(JobEnd::Cancelled),
        () = feed(job, reader, input) => Completion::Cut(JobEnd::Cancelled),
    };
    let duration = since.elapsed();
    let is_cut = matches!(over, Completion::Cut(_));
    handle.release(&mut child, is_cut).await;
    // Whoever still holds a pipe open is beyond our reach, and must not delay us.
    let drain_max = if peer.is_there() && !is_cut { TALK_DRAIN_MAX } else { DRAIN_MAX };
    let _ = tokio::time::timeout(drain_max, output.read_to_end(&mut sink, &mut peer)).await;
    let how = match over {
        Completion::Cut(how) => how,
        Completion::ByItself(status) => {
            handle.job_end(status).map_err(|error| SpawnError::from_spawn(error, &job.cwd))?
        }
    };
    Ok(ended(how, duration, sink))
}

/// Tries a start again that lacked something which may come back: nothing has begun then.
///
/// # Errors
/// Those of the last try.
pub async fn start_patiently<T, F: Future<Output = Result<T, SpawnError>>>(
    cancel: &CancellationToken,
    mut start: impl FnMut() -> F,
) -> Result<T, SpawnError> {
    for pause in timeouts::START_PAUSES {
        match start().await {
            Err(error) if error.lack().is_some() => tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            },
            ended => return ended,
        }
    }
    start().await
}

enum Completion {
    Cut(JobEnd),
    ByItself(io::Result<ExitStatus>),
}

fn ended(how: JobEnd, duration: Duration, mut sink: Sink) -> JobResult {
    sink.finish();
    JobResult { how, duration, output: sink.output, stdout: sink.stdout }
}

/// The first output makes the file: most jobs that succeed print nothing.
fn log(job: &Job) -> Result<Option<OutputLog>, SpawnError> {
    let of = |path: &PathBuf| {
        OutputLog::new(path).map_err(|source| SpawnError::Log { path: path.clone(), source })
    };
    job.log.as_ref().map(of).transpose()
}

/// The pipes that a job writes to. A pipe that has come to its end is closed here.
struct Output {
    /// Standard error, with standard output unless that is kept separately.
    merged: Option<ChildStdout>,
    apart: Option<ChildStdout>,
}

impl Output {
    /// Never returns; the caller races it against something that ends.
    async fn read_on(&mut self, sink: &mut Sink, peer: &mut Peer) {
        self.read_to_end(sink, peer).await;
        std::future::pending().await
    }

    /// Cancellation-safe: it may be dropped and called again, and nothing that was read is lost.
    async fn read_to_end(&mut self, sink: &mut Sink, peer: &mut Peer) {
        let mut first = vec![0; CHUNK_BYTES];
        let mut second = vec![0; if self.apart.is_some() { CHUNK_BYTES } else { 0 }];
        while self.merged.is_some() || self.apart.is_some() || peer.has_held() {
            let is_held = peer.has_held();
            tokio::select! {
                count = read(&mut self.merged, &mut first) => sink.take(&first[..count], false),
                count = read(&mut self.apart, &mut second), if !is_held => {
                    if peer.is_there() { peer.hold(&second[..count]) } else { sink.take(&second[..count], true) }
                }
                () = peer.forward(), if is_held => {}
            }
        }
    }
}

/// Waits for ever on a pipe that is closed.
async fn read<R: AsyncRead + Unpin>(from: &mut Option<R>, buffer: &mut [u8]) -> usize {
    let Some(open) = from else {
        return std::future::pending().await;
    };
    let count = open.read(buffer).await.unwrap_or(0);
    if count == 0 {
        *from = None;
    }
    count
}

// A timer for what happens beside a job.

#[derive(Debug, Clone, Copy)]
pub struct Timer(Instant);

impl Timer {
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

// Jobs that a signal has stopped, and that nobody continues: each would be waited for until its
// time limit.

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Looks after which a program that has a terminal goes on no more: it asked there.
const ASKING_LOOKS: u32 = 2;
/// The same for any other: a person may have stopped it for a while.
const LOOKS: u32 = 6;
/// Processes of a job that are looked at.
const PROCESSES_MAX: usize = 64;

/// Returns when the command is stopped for good, with the signal that is likely to have done it, or its time is over. There
/// is one timer, since each wakes the runtime.
async fn stopped_or_timed_out(leader: u32, timeout: Duration) -> JobEnd {
    let after = |pause| tokio::time::sleep(pause).deadline();
    let (end, mut looks) = (after(timeout), 0);
    loop {
        let look = after(LOOK_EVERY);
        tokio::time::sleep_until(look.min(end)).await;
        if end <= look {
            return JobEnd::TimedOut;
        }
        let mut left = PROCESSES_MAX;
        let stopped = stopped(command(leader), &mut left);
        looks = stopped.map_or(0, |_| looks + 1);
        let signal = match stopped {
            Some(it) if it.has_terminal && looks >= ASKING_LOOKS => Signal::TTIN,
            Some(_) if looks >= LOOKS => Signal::STOP,
            _ => continue,
        };
        return JobEnd::Signal(signal.as_raw());
    }
}

/// The command of a job, which may have a guard. Orphans come after it.
fn command(leader: u32) -> u32 {
    let is_first =
        |pid: &u32| FIRST.to_str().is_ok_and(|first| process_table::is_named(*pid, first));
    let below = || process_table::children(leader).into_iter().find(|pid| !is_first(pid));
    let is_guard = process_table::is_named(leader, process_table::GUARD);
    is_guard.then(below).flatten().unwrap_or(leader)
}

/// The process for which a tree of processes waits, if it is stopped.
fn stopped(pid: u32, left: &mut usize) -> Option<ProcessEntry> {
    *left = left.checked_sub(1)?;
    let it = process_table::entry(pid)?;
    if it.is_stopped {
        return Some(it);
    }
    let mut found = None;
    for child in process_table::children(pid) {
        found = Some(stopped(child, left)?);
    }
    found
}

// The two directions of a job's standard streams: its input, and for a job that is talked with the
// channel that its standard output goes to.
//
// Invariant: cancellation-safe: what was read from the job and is not written yet stays here. At
// most one chunk is held, so a job that prints faster than somebody reads has to wait.

/// The reader of a job's standard output, if there is one.
#[derive(Debug)]
struct Peer {
    writer: Option<WriteHalf<DuplexStream>>,
    /// The part of a chunk that is not written yet.
    held: Vec<u8>,
}

/// Writes the standard input of a job to its end and closes it. It never returns, so that a caller can race it against
/// something that ends. A job that leaves its input unread breaks the pipe.
async fn feed(job: &Job, reader: Option<ReadHalf<DuplexStream>>, input: Option<ChildStdin>) {
    if let Some(mut input) = input {
        let _ = match (reader, &job.input) {
            (Some(mut reader), _) => tokio::io::copy(&mut reader, &mut input).await.map(drop),
            (None, Some(bytes)) => input.write_all(bytes).await,
            (None, None) => Ok(()),
        };
    }
    std::future::pending().await
}

impl Peer {
    fn is_there(&self) -> bool {
        self.writer.is_some()
    }

    fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes a chunk. The one before is written.
    fn hold(&mut self, chunk: &[u8]) {
        self.held.extend_from_slice(chunk);
    }

    /// Writes a part of what is held, and drops it if nobody reads any more.
    async fn forward(&mut self) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let written = writer.write(&self.held).await.ok().filter(|count| *count > 0);
        self.held.drain(..written.unwrap_or(self.held.len()));
    }
}
