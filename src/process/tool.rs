//! Runs a trusted tool (git) to its end and hands back what it printed.
//!
//! Not here: agents and checks, which are watched, limited and ended as trees of processes.
//! Invariant: when `run_tool` returns, the tool itself has ended and been waited for; its
//! environment held what the caller gave and nothing else. What a tool leaves behind (a server that a filter
//! started) bears the loop's brand, and ends with the loop.
#![allow(clippy::disallowed_methods)] // door: helper programs, and how long they take

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use super::{
    orphans,
    registry::{self, Registered},
};

/// The longest that a tool may take, unless its caller says less.
pub const WAIT_MAX: Duration = Duration::from_secs(600);

/// How long a tool whose result nobody waits for any more may take to its own end, before it is cut off.
pub const GRACE: Duration = Duration::from_secs(2);

/// The most that a tool may print, on each of its two streams.
pub const OUTPUT_BYTES_MAX: usize = 256 << 20;

const CHUNK_BYTES: usize = 64 * 1024;

/// Between two looks whether a tool has ended.
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(10);
/// How long is read on after a tool's end, where what it started holds its streams open.
const HELD_OPEN_MAX: Duration = Duration::from_secs(1);

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
    let (mut child, registered) =
        registry::spawn_tool(|| spawn(tool).map(|child| (child.id(), child)))
            .map_err(start_failed)?;
    let (ends, ended) = channel();
    let streams = match attach(&mut child, tool, &ends) {
        Ok(streams) => streams,
        Err(source) => {
            kill(&mut child, &registered);
            return Err(start_failed(source));
        }
    };
    drop(ends);
    let status = match wait(&mut child, &ended, tool) {
        Ok(status) => status,
        Err(error) => {
            kill(&mut child, &registered);
            return Err(error);
        }
    };
    let [stdout, stderr] = streams.map(|stream| stream.take(tool));
    Ok(ToolOutput {
        status,
        stdout: stdout?,
        stderr: stderr?,
    })
}

/// Ends all tools that run now, and what they started: a filter that hangs must not hold up an end that was asked for.
/// The first time they are asked, so that git takes its locks away; what is met again is killed. What a tool was about
/// is then in the state of a crash, which every caller outlives.
pub fn cut_off() {
    for (pid, start_ticks, is_asked) in registry::ask_tools() {
        if is_asked {
            orphans::fell(pid, start_ticks);
        } else {
            orphans::ask_group(pid);
        }
    }
}

static TAKES_SIGNALS: AtomicBool = AtomicBool::new(false);

/// From here on this process takes the terminal's signals, and what they mean to a tool is for it to say. Until then
/// Ctrl-C ends it, and the tool with it.
pub fn keep_signals_from_tools() {
    TAKES_SIGNALS.store(true, Ordering::Relaxed);
}

fn spawn(tool: &Tool) -> io::Result<Child> {
    let mut command = Command::new(&tool.program);
    if TAKES_SIGNALS.load(Ordering::Relaxed) {
        command.process_group(0);
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

/// A stream ends here, whole or not.
struct Full;

/// What one stream said until now.
#[derive(Clone, Default)]
struct Stream(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
    failed: Option<io::Error>,
}

fn attach(child: &mut Child, tool: &Tool, ends: &Sender<Full>) -> io::Result<[Stream; 2]> {
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), tool.stdin.clone()) {
        // Not joined: a tool that ends without reading everything breaks the pipe, which ends it.
        std::thread::Builder::new().spawn(move || pipe.write_all(&bytes))?;
    }
    let stdout = child.stdout.take().expect("BUG: stdout is piped");
    let stderr = child.stderr.take().expect("BUG: stderr is piped");
    Ok([
        Stream::of(stdout, ends.clone())?,
        Stream::of(stderr, ends.clone())?,
    ])
}

impl Stream {
    /// Reads on, on a thread of its own, until the pipe ends or holds too much; then `ends` is dropped.
    fn of(mut pipe: impl Read + Send + 'static, ends: Sender<Full>) -> io::Result<Stream> {
        let stream = Stream::default();
        let filled = stream.clone();
        std::thread::Builder::new().spawn(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = pipe.read(&mut chunk);
                let mut said = filled.said();
                match read {
                    Ok(0) => return,
                    Ok(count) => said.bytes.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        said.failed = Some(error);
                        return;
                    }
                }
                if said.bytes.len() > OUTPUT_BYTES_MAX {
                    // Nobody listens any more when the tool was given up: nothing to tell then.
                    let _ = ends.send(Full);
                    return;
                }
            }
        })?;
        Ok(stream)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // Every change is one append or one assignment: a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, tool: &Tool) -> Result<Vec<u8>, ToolError> {
        let said = std::mem::take(&mut *self.said());
        match said.failed {
            None => Ok(said.bytes),
            Some(source) => Err(read_failed(tool, source)),
        }
    }
}

fn read_failed(tool: &Tool, source: io::Error) -> ToolError {
    ToolError::Read {
        program: tool.program.clone(),
        source,
    }
}

/// Until the tool has ended and its streams too. A tool ends a moment after it closed them; where what it started holds
/// them open, its own words are in the pipes when it ends.
fn wait(child: &mut Child, ended: &Receiver<Full>, tool: &Tool) -> Result<ExitStatus, ToolError> {
    let deadline = Instant::now() + tool.wait_max;
    let mut status: Option<(ExitStatus, Instant)> = None;
    let mut is_open = true;
    let mut pause = Duration::from_micros(50);
    loop {
        if is_open {
            match ended.recv_timeout(pause) {
                Ok(Full) => {
                    let program = tool.program.clone();
                    return Err(ToolError::TooMuch { program });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    is_open = false;
                    pause = Duration::from_micros(50);
                }
            }
        } else {
            std::thread::sleep(pause);
        }
        pause = (pause * 2).min(LOOK_AGAIN_MAX);
        if status.is_none() {
            let looked = child
                .try_wait()
                .map_err(|source| read_failed(tool, source))?;
            status = looked.map(|status| (status, Instant::now()));
        }
        match status {
            Some((status, since)) if !is_open || since.elapsed() >= HELD_OPEN_MAX => {
                return Ok(status);
            }
            Some(_) => {}
            None if Instant::now() >= deadline => {
                return Err(ToolError::TooLong {
                    program: tool.program.clone(),
                    waited: tool.wait_max,
                });
            }
            None => {}
        }
    }
}

/// With all that it started. Only before the child is waited for: until then its number cannot be anybody else's.
fn kill(child: &mut Child, registered: &Registered) {
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    orphans::fell(registered.pid, registered.start_ticks);
    // Where the table of processes cannot be read.
    let _ = child.kill();
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
