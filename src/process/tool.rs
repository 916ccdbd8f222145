//! Runs a trusted tool (git) to its end and hands back what it printed.
//!
//! Not here: agents and checks, which are watched, limited and ended as trees of processes.
//! Invariant: when `run_tool` returns, the tool itself has ended and been waited for; its
//! environment held what the caller gave and nothing else.
#![allow(clippy::disallowed_methods)] // door: helper programs, and how long they take

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The longest that a tool may take, unless its caller says less.
pub const WAIT_MAX: Duration = Duration::from_secs(600);

/// The most that a tool may print, on each of its two streams.
pub const OUTPUT_BYTES_MAX: usize = 256 << 20;

/// Between two looks whether a tool that closed its streams has ended.
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(10);

/// What to run.
#[derive(Debug, Clone)]
pub struct Tool {
    /// An absolute path: no search by PATH happens here.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment of the child.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// `None`: empty.
    pub stdin: Option<Vec<u8>>,
    pub wait_max: Duration,
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
    #[error("{} cannot be started in {}", program.display(), cwd.display())]
    Start {
        program: PathBuf,
        cwd: PathBuf,
        source: io::Error,
    },
    #[error("{} did not end within {} s and was killed", program.display(), waited.as_secs())]
    TooLong { program: PathBuf, waited: Duration },
    #[error("{} printed more than {} MiB and was killed", program.display(), OUTPUT_BYTES_MAX >> 20)]
    TooMuch { program: PathBuf },
    #[error("what {} printed cannot be read", program.display())]
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
    let start_failed = |source| ToolError::Start {
        program: tool.program.clone(),
        cwd: tool.cwd.clone(),
        source,
    };
    let mut child = spawn(tool).map_err(start_failed)?;
    let (ends, ended) = channel();
    let streams = match attach(&mut child, tool, &ends) {
        Ok(streams) => streams,
        Err(source) => {
            kill_group(&mut child);
            return Err(start_failed(source));
        }
    };
    drop(ends);
    let status = match wait(&mut child, &ended, tool) {
        Ok(status) => status,
        Err(error) => {
            kill_group(&mut child);
            return Err(error);
        }
    };
    let [stdout, stderr] = streams.map(|stream| collect(stream, tool));
    Ok(ToolOutput {
        status,
        stdout: stdout?,
        stderr: stderr?,
    })
}

fn spawn(tool: &Tool) -> io::Result<Child> {
    Command::new(&tool.program)
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
        .process_group(0)
        .spawn()
}

/// How one stream came to its end.
enum End {
    Closed,
    Full,
}

type Stream = JoinHandle<io::Result<Vec<u8>>>;

fn attach(child: &mut Child, tool: &Tool, ends: &Sender<End>) -> io::Result<[Stream; 2]> {
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), tool.stdin.clone()) {
        // Not joined: a tool that ends without reading everything breaks the pipe, which ends it.
        std::thread::Builder::new().spawn(move || pipe.write_all(&bytes))?;
    }
    let stdout = child.stdout.take().expect("BUG: stdout is piped");
    let stderr = child.stderr.take().expect("BUG: stderr is piped");
    Ok([drain(stdout, ends.clone())?, drain(stderr, ends.clone())?])
}

fn drain(pipe: impl Read + Send + 'static, ends: Sender<End>) -> io::Result<Stream> {
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe
            .take(OUTPUT_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes);
        let full = bytes.len() > OUTPUT_BYTES_MAX;
        // Nobody listens any more when the tool was given up: nothing to tell then.
        let _ = ends.send(if full { End::Full } else { End::Closed });
        read.map(|_| bytes)
    })
}

fn wait(child: &mut Child, ended: &Receiver<End>, tool: &Tool) -> Result<ExitStatus, ToolError> {
    let deadline = Instant::now() + tool.wait_max;
    let too_long = || ToolError::TooLong {
        program: tool.program.clone(),
        waited: tool.wait_max,
    };
    loop {
        match ended.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(End::Closed) => {}
            Ok(End::Full) => {
                let program = tool.program.clone();
                return Err(ToolError::TooMuch { program });
            }
            Err(RecvTimeoutError::Timeout) => return Err(too_long()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // A tool ends a moment after it closed its streams.
    let mut pause = Duration::from_micros(50);
    loop {
        let looked = child.try_wait().map_err(|source| ToolError::Read {
            program: tool.program.clone(),
            source,
        })?;
        if let Some(status) = looked {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(too_long());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_AGAIN_MAX);
    }
}

fn collect(stream: Stream, tool: &Tool) -> Result<Vec<u8>, ToolError> {
    let read_failed = |source| ToolError::Read {
        program: tool.program.clone(),
        source,
    };
    match stream.join() {
        Ok(read) => read.map_err(read_failed),
        Err(_) => Err(read_failed(io::Error::other("the reader ended early"))),
    }
}

/// Only before the child is waited for: until then its number cannot be anybody else's.
fn kill_group(child: &mut Child) {
    if let Ok(raw) = i32::try_from(child.id())
        && let Some(group) = rustix::process::Pid::from_raw(raw)
    {
        // An error means that it is gone already.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Tool {
        Tool {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: PathBuf::from("/"),
            stdin: None,
            wait_max: Duration::from_secs(30),
        }
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let ran = run_tool(&sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(
            (&ran.stdout[..], &ran.stderr[..]),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn nothing_of_our_environment_reaches_the_tool() {
        let ran = run_tool(&Tool {
            program: PathBuf::from("/usr/bin/env"),
            args: vec![],
            ..sh("")
        })
        .unwrap();
        assert_eq!(ran.stdout, b"PATH=/usr/bin:/bin\n");
    }

    #[test]
    fn a_long_input_and_a_long_output_do_not_block_one_another() {
        let bytes = vec![b'x'; 4 << 20];
        let ran = run_tool(&Tool {
            stdin: Some(bytes.clone()),
            ..sh("cat")
        })
        .unwrap();
        assert!(ran.stdout == bytes);
    }

    #[test]
    fn a_tool_that_leaves_its_input_unread_is_no_error() {
        let ran = run_tool(&Tool {
            stdin: Some(vec![b'x'; 4 << 20]),
            ..sh("exit 0")
        })
        .unwrap();
        assert!(ran.status.success());
    }

    #[test]
    fn a_tool_that_hangs_is_killed_with_its_children() {
        let began = Instant::now();
        let ran = run_tool(&Tool {
            wait_max: Duration::from_millis(100),
            ..sh("sleep 1000 & sleep 1000; true")
        });
        assert!(matches!(ran, Err(ToolError::TooLong { .. })));
        assert!(began.elapsed() < Duration::from_secs(20));
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
        let ran = run_tool(&Tool {
            program: PathBuf::from("/nowhere/at/all"),
            ..sh("")
        });
        assert!(matches!(ran, Err(ToolError::Start { .. })));
    }
}
