//! Runs a trusted tool (git) to its end and returns what it printed.
//!
//! Not here: agents and checks, which are watched, limited and ended as trees of processes.
//! Invariant: when `run_tool` returns, the tool itself has ended and been waited for. Its
//! environment held only what the caller gave. Processes that a tool leaves behind (a server that a filter started) have the
//! loop's tag, and end with the loop.
#![allow(clippy::disallowed_methods)] // door: helper programs, and how long they take

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::Signal,
};

#[cfg(target_os = "linux")]
use super::guard;
use super::{
    orphans,
    registry::{self, RegistryEntry},
    timeouts,
};
use descent_system::failure::lack_at_start;

/// The most that a tool may print, on each of its two streams.
pub const OUTPUT_BYTES_MAX: usize = 256 << 20;

const CHUNK_BYTES: usize = 64 * 1024;

/// The first pause between two looks whether a tool has ended; it grows while the tool prints
/// nothing.
const LOOK_AGAIN_MIN: Duration = Duration::from_micros(50);
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(10);

/// A program to run.
#[derive(Debug, Clone)]
pub struct Tool {
    /// An absolute path: PATH is not searched here.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment of the child.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// With `None` standard input is empty.
    pub stdin: Option<Vec<u8>>,
    pub wait_max: Duration,
    /// Whether it is killed when this process ends, however that ends (Linux). Its start copies the
    /// page tables of this process, so it takes longer.
    pub ends_with_us: bool,
}

/// How a tool ended, whatever its status.
#[derive(Debug)]
pub struct ToolOutput {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("{} cannot be started in {}: {source}", program.display(), cwd.display())]
    Start { program: PathBuf, cwd: PathBuf, source: io::Error },
    #[error("{} did not end within {} s and was killed", program.display(), waited.as_secs())]
    TooLong { program: PathBuf, waited: Duration },
    #[error("{} printed more than {} MiB and was killed", program.display(), OUTPUT_BYTES_MAX >> 20)]
    TooMuch { program: PathBuf },
    #[error("what {} printed cannot be read: {source}", program.display())]
    Read { program: PathBuf, source: io::Error },
}

impl ToolError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => {
                "check that the program is installed and that the directory exists"
            }
            Self::TooLong { .. } => {
                "look for a slow disk, a network file system or a filter that hangs"
            }
            Self::TooMuch { .. } => {
                "the repository holds an unusual amount of changes; ignore what is generated"
            }
            Self::Read { .. } => "try again; if it stays, check memory and open file limits",
        }
    }
}

/// Runs `tool` to its end. A status other than 0 is no error here.
pub fn run_tool(tool: &Tool) -> Result<ToolOutput, ToolError> {
    let start_failed =
        |source| ToolError::Start { program: tool.program.clone(), cwd: tool.cwd.clone(), source };
    let (mut child, registered) =
        start_again(|| registry::spawn(true, || spawn(tool).map(|child| (child.id(), child))))
            .map_err(start_failed)?;
    let streams = match attach(&mut child, tool) {
        Ok(streams) => streams,
        Err(source) => {
            kill(&mut child, &registered);
            return Err(start_failed(source));
        }
    };
    let ended = wait(&mut child, streams, tool);
    if ended.is_err() {
        kill(&mut child, &registered);
    }
    ended
}

/// Tries a start again that lacked something which may come back.
fn start_again<T>(start: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for pause in timeouts::START_PAUSES {
        match start() {
            Err(error) if lack_at_start(&error).is_some() => std::thread::sleep(pause),
            started => return started,
        }
    }
    start()
}

/// Ends all running tools and what they started, so that a hanging filter cannot delay a requested
/// stop. The first call sends SIGTERM, so that git removes its locks; a later call kills what is
/// left. The tool's work is then in the state after a crash, which every caller survives.
pub fn cut_off() {
    for (pid, start_ticks, is_asked) in registry::ask_tools() {
        if is_asked {
            orphans::kill_tree(pid, start_ticks);
        } else {
            orphans::signal_group(pid, Signal::TERM);
        }
    }
}

static TAKES_SIGNALS: AtomicBool = AtomicBool::new(false);

/// From here on this process handles the terminal's signals, and decides what they mean to a tool.
/// Before, Ctrl-C ends this process and the tool with it.
pub fn keep_signals_from_tools() {
    TAKES_SIGNALS.store(true, Ordering::Relaxed);
}

fn spawn(tool: &Tool) -> io::Result<Child> {
    let mut command = Command::new(&tool.program);
    if TAKES_SIGNALS.load(Ordering::Relaxed) {
        command.process_group(0);
    }
    // This thread waits for the tool, so it does not end before.
    #[cfg(target_os = "linux")]
    if tool.ends_with_us {
        guard::kernel::end_with_thread(&mut command);
    }
    command
        .args(&tool.args)
        .env_clear()
        .envs(tool.env.iter().map(|(key, value)| (key, value)))
        .current_dir(&tool.cwd)
        .stdin(match tool.stdin {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// The output of one stream so far; a closed pipe is `None`.
struct Stream {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

fn attach(child: &mut Child, tool: &Tool) -> io::Result<[Stream; 2]> {
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), tool.stdin.clone()) {
        // Not joined: if a tool ends without reading everything, the pipe breaks, which ends the
        // thread.
        std::thread::Builder::new().spawn(move || pipe.write_all(&bytes))?;
    }
    let stdout = child.stdout.take().expect("BUG: stdout is piped");
    let stderr = child.stderr.take().expect("BUG: stderr is piped");
    Ok([Stream::from_pipe(stdout.into())?, Stream::from_pipe(stderr.into())?])
}

impl Stream {
    fn from_pipe(pipe: OwnedFd) -> io::Result<Stream> {
        // This sets our end alone; the tool's end is separate.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Stream { pipe: Some(pipe.into()), bytes: Vec::new() })
    }

    /// Reads what is available, without waiting.
    fn read_available(&mut self, chunk: &mut [u8], tool: &Tool) -> Result<(), ToolError> {
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(read_failed(tool, error)),
            }
            if self.bytes.len() > OUTPUT_BYTES_MAX {
                let program = tool.program.clone();
                return Err(ToolError::TooMuch { program });
            }
        }
        Ok(())
    }
}

fn read_failed(tool: &Tool, source: io::Error) -> ToolError {
    ToolError::Read { program: tool.program.clone(), source }
}

/// Waits until the tool has ended. Its output is in the pipes then, whoever else holds them open.
fn wait(child: &mut Child, mut streams: [Stream; 2], tool: &Tool) -> Result<ToolOutput, ToolError> {
    let deadline = Instant::now() + tool.wait_max;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut pause = LOOK_AGAIN_MIN;
    loop {
        let looked = child.try_wait().map_err(|source| read_failed(tool, source))?;
        for stream in &mut streams {
            stream.read_available(&mut chunk, tool)?;
        }
        if let Some(status) = looked {
            let [stdout, stderr] = streams.map(|stream| stream.bytes);
            return Ok(ToolOutput { status, stdout, stderr });
        }
        if Instant::now() >= deadline {
            return Err(ToolError::TooLong {
                program: tool.program.clone(),
                waited: tool.wait_max,
            });
        }
        if is_woken(&streams, pause).map_err(|source| read_failed(tool, source))? {
            pause = LOOK_AGAIN_MIN;
        } else {
            pause = (pause * 2).min(LOOK_AGAIN_MAX);
        }
    }
}

/// Waits until a stream has data or ends, for at most `pause`.
fn is_woken(streams: &[Stream; 2], pause: Duration) -> io::Result<bool> {
    let open = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut open: Vec<PollFd<'_>> = open.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
    match poll(&mut open, Some(&pause)) {
        Ok(woken) => Ok(woken > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Kills the tool and all that it started. It must be called before the child is waited for: until
/// then its id belongs to nobody else.
fn kill(child: &mut Child, registered: &RegistryEntry) {
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    orphans::kill_tree(registered.pid, registered.start_ticks);
    // This remains if the table of processes cannot be read.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_table;

    fn sh(script: &str) -> Tool {
        Tool {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: PathBuf::from("/"),
            stdin: None,
            wait_max: Duration::from_secs(30),
            ends_with_us: false,
        }
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let ran = run_tool(&sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!((&ran.stdout[..], &ran.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[test]
    fn nothing_of_our_environment_reaches_the_tool() {
        let ran =
            run_tool(&Tool { program: PathBuf::from("/usr/bin/env"), args: vec![], ..sh("") })
                .unwrap();
        assert_eq!(ran.stdout, b"PATH=/usr/bin:/bin\n");
    }

    #[test]
    fn a_long_input_and_a_long_output_do_not_block_one_another() {
        let bytes = vec![b'x'; 4 << 20];
        let ran = run_tool(&Tool { stdin: Some(bytes.clone()), ..sh("cat") }).unwrap();
        assert!(ran.stdout == bytes);
    }

    #[test]
    fn a_tool_that_leaves_its_input_unread_is_no_error() {
        let ran = run_tool(&Tool { stdin: Some(vec![b'x'; 4 << 20]), ..sh("exit 0") }).unwrap();
        assert!(ran.status.success());
    }

    #[test]
    fn a_tool_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let ran = run_tool(&Tool {
            cwd: dir.path().to_owned(),
            wait_max: Duration::from_secs(1),
            ..sh("sleep 1000 & echo $! >child; sleep 1000; true")
        });
        assert!(matches!(ran, Err(ToolError::TooLong { .. })));
        assert!(began.elapsed() < Duration::from_secs(6));
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        let pid = child.trim().parse().unwrap();
        // A process that got its signal may stay in the table for an instant.
        let is_gone = || process_table::entry(pid).is_none_or(|child| child.is_zombie);
        while !is_gone() && began.elapsed() < Duration::from_secs(6) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(is_gone(), "{:?}", process_table::entry(pid));
    }

    #[test]
    fn a_tool_that_closed_its_streams_and_hangs_is_killed() {
        let ran = run_tool(&Tool {
            wait_max: Duration::from_millis(100),
            ..sh("exec >&- 2>&-; sleep 1000; true")
        });
        assert!(matches!(ran, Err(ToolError::TooLong { .. })));
    }

    #[test]
    fn a_program_that_does_not_exist_is_told() {
        let ran = run_tool(&Tool { program: PathBuf::from("/nowhere/at/all"), ..sh("") });
        assert!(matches!(ran, Err(ToolError::Start { .. })));
    }
}
