//! A call of another program that is about to happen, and the start of that program under watch.
//!
//! Not here: how its calls are intercepted (`tracer`, `notices`).

use std::{
    fs::File,
    os::unix::{fs::FileExt, process::CommandExt},
    process::{Command, Stdio},
};

use nix::unistd::Pid;

const PATH_BYTES_MAX: usize = 4096;

pub struct Call {
    pub number: i64,
    pub args: [u64; 6],
    pub thread: Pid,
}

impl Call {
    /// The path of a descriptor that is an argument of the call.
    pub fn file(&self, arg: usize) -> String {
        let link = format!("/proc/{}/fd/{}", self.thread, self.args[arg]);
        let target = std::fs::read_link(link).unwrap_or_default();
        target.to_string_lossy().into_owned()
    }

    /// The number that an argument points to.
    pub fn word(&self, arg: usize) -> u64 {
        let mut bytes = [0; 8];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        let _ = memory.and_then(|memory| memory.read_at(&mut bytes, self.args[arg]));
        u64::from_ne_bytes(bytes)
    }

    /// The text that an argument points to.
    pub fn text(&self, arg: usize) -> String {
        let mut bytes = vec![0; PATH_BYTES_MAX];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        let read = memory.and_then(|memory| memory.read_at(&mut bytes, self.args[arg]));
        bytes.truncate(read.unwrap_or(0));
        let end = bytes.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&bytes[..end.unwrap_or(0)]).into_owned()
    }
}

/// `starter`, which starts the program of `command` with its directory and environment. It runs in a process group of
/// its own. Its output goes to files that a failing session shows.
pub fn in_place_of(command: &Command, mut starter: Command) -> Command {
    let directory = command.get_current_dir().expect("a directory");
    let to = |name: &str| {
        let path = directory.join("../out").join(name);
        File::options().create(true).append(true).open(path).unwrap()
    };
    let set = |(key, value): (_, Option<_>)| Some((key, value?));
    starter.env_clear();
    starter.envs(command.get_envs().filter_map(set));
    starter
        .args(command.get_args())
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(to("said"))
        .stderr(to("told"))
        .process_group(0);
    starter
}
