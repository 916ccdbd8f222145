//! How long it takes from `descent stop` to the end of the last process, beside make and ninja on SIGTERM.
//!
//! `stop_cost DESCENT DIRECTORY ROUNDS NAP`: each has three workers side by side, and each worker a grandchild in a
//! session of its own; both sleep for a time that nobody else sleeps for. To know, not to pass or fail. Not here: a project for it, which `scripts/bench-stop` makes.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)] // a measurement

use std::{
    fs,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

const WORKERS: usize = 3;
const START_MAX: Duration = Duration::from_secs(20);
/// What is not gone by then stays.
const GONE_MAX: Duration = Duration::from_millis(500);
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [descent, dir, rounds, nap] = args.as_slice() else {
        println!("stop_cost DESCENT DIRECTORY ROUNDS NAP");
        return;
    };
    let (dir, rounds) = (Path::new(dir), rounds.parse::<usize>().unwrap());
    let mut tables = vec![
        Table::new("descent stop"),
        Table::new("make -j3, TERM"),
        Table::new("ninja -j3, TERM"),
    ];
    tables.retain(|table| {
        let program = table.name.split(' ').next().unwrap();
        let is_there = program == "descent" || is_installed(program);
        if !is_there {
            println!("{program} is not installed: left out");
        }
        is_there
    });
    // In turns, so that a load that comes and goes meets all alike.
    for _ in 0..rounds {
        for table in &mut tables {
            let seen = match table.name {
                "descent stop" => descent_stop(descent, dir, nap),
                name => build_stop(name.split(' ').next().unwrap(), dir, nap),
            };
            table.take(seen);
        }
    }
    println!(
        "{:18} {:>5} {:>9} {:>9} {:>9}  left running",
        "", "times", "p50", "p99", "max"
    );
    tables.iter_mut().for_each(Table::print);
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

struct Table {
    name: &'static str,
    times: Vec<Duration>,
    left: usize,
}

/// Until the last process that ended was gone, and how many did not end.
struct Seen {
    took: Duration,
    left: usize,
}

impl Table {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            times: Vec::new(),
            left: 0,
        }
    }

    fn take(&mut self, seen: Seen) {
        self.times.push(seen.took);
        self.left += seen.left;
    }

    fn print(&mut self) {
        self.times.sort_unstable();
        let n = self.times.len();
        let at = |part: usize| {
            self.times[(n * part).div_ceil(100).saturating_sub(1).min(n - 1)].as_secs_f64() * 1e3
        };
        println!(
            "{:18} {n:>5} {:>6.1} ms {:>6.1} ms {:>6.1} ms  {}",
            self.name,
            at(50),
            at(99),
            at(100),
            self.left
        );
    }
}

fn descent_stop(descent: &str, dir: &Path, nap: &str) -> Seen {
    let command = |word: &str| {
        let mut command = Command::new(descent);
        command
            .arg(word)
            .current_dir(dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let run = command("run").spawn().unwrap();
    ended_after(run, nap, || {
        let _ = command("stop").status().unwrap();
    })
}

fn build_stop(program: &str, dir: &Path, nap: &str) -> Seen {
    let mut command = Command::new(program);
    command
        .args(["-j3", "a", "b", "c"])
        .current_dir(dir.join("build"));
    let build = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&build);
    ended_after(build, nap, || kill_process(pid, Signal::TERM).unwrap())
}

/// Starts the clock when all are at work.
fn ended_after(mut started: Child, nap: &str, stop: impl FnOnce()) -> Seen {
    let until = Instant::now() + START_MAX;
    while nappers(nap).len() < 2 * WORKERS {
        assert!(
            Instant::now() < until,
            "the workers did not come up: {:?}",
            started.try_wait()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let watched: Vec<OwnedFd> = nappers(nap)
        .into_iter()
        .filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
        .collect();
    let since = Instant::now();
    let watching = std::thread::spawn(move || watch(watched, since));
    stop();
    let seen = watching.join().unwrap();
    started.wait().unwrap();
    while !nappers(nap).is_empty() {
        for pid in nappers(nap) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    seen
}

fn watch(mut watched: Vec<OwnedFd>, since: Instant) -> Seen {
    let mut took = Duration::ZERO;
    while !watched.is_empty() && since.elapsed() < GONE_MAX {
        let mut fds: Vec<PollFd<'_>> = watched
            .iter()
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        if poll(&mut fds, Some(&pause)).is_ok_and(|count| count > 0) {
            took = since.elapsed();
        }
        let gone: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut gone = gone.into_iter();
        watched.retain(|_| !gone.next().unwrap());
    }
    Seen {
        took,
        left: watched.len(),
    }
}

/// The workers and their grandchildren.
fn nappers(nap: &str) -> Vec<Pid> {
    let nap = format!("sleep\0{nap}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == nap.as_bytes())
    })
    .filter_map(Pid::from_raw)
    .collect()
}
