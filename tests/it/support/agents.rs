//! The programs of `fixtures/agents/`, and a way to talk with one, a line at a time.
//!
//! Not here: their behaviours (fixtures/agents/README.md).

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;

const SOURCES: &str = "fixtures/agents";
const WAIT: Duration = Duration::from_secs(20);

/// An agent that speaks ACP 1.
pub fn acp() -> PathBuf {
    built("acp-agent")
}

/// An agent that speaks a headless dialect: `--dialect claude-stream-json` or `codex-exec-json`.
pub fn headless() -> PathBuf {
    built("headless-agent")
}

/// The scripted model on loopback.
pub fn model_server() -> PathBuf {
    built("model-server")
}

/// Cargo builds examples with all tests, and not for one test target: so it is said if one is not there, or is old.
fn built(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("this program");
    let folder = exe.ancestors().nth(2).expect("target/<profile>");
    let path = folder.join("examples").join(name);
    let newest = sources(&path).iter().filter_map(|source| modified(source)).max();
    let is_new = newest.is_some() && modified(&path) >= newest;
    assert!(
        is_new,
        "{} is not there or is older than its source: `cargo build --examples`",
        path.display()
    );
    path
}

/// The files below `fixtures/agents` that cargo lists beside the program as its sources.
fn sources(program: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let files = list.split_whitespace().filter(|path| path.contains(SOURCES));
    files.map(PathBuf::from).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// A program that is spoken with in lines of JSON.
pub struct Peer {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Peer {
    pub fn start(command: &mut Command) -> Self {
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it starts");
        let stdout = child.stdout.take().expect("piped");
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines }
    }

    pub fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("open");
        // An agent that is gone is seen by what it said.
        let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
    }

    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// The first line for which this holds; those before it are dropped.
    #[track_caller]
    pub fn wait_for(&self, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + WAIT;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            let message = serde_json::from_str(&line).unwrap_or(Value::Null);
            if holds(&message) {
                return message;
            }
        }
        panic!("the awaited line did not come");
    }

    /// Everything until it closes its stdout.
    pub fn rest(&self) -> Vec<Value> {
        let lines = self.lines.iter();
        let read = |line: String| serde_json::from_str(&line).unwrap_or(Value::Null);
        lines.map(read).collect()
    }

    pub fn end(mut self) -> ExitStatus {
        self.close();
        self.child.wait().expect("it is waited for")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
