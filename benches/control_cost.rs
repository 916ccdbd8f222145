//! How long a stop and a redirect take, with 1, 3 and 8 workers, beside `kill -9` of the same processes.
//!
//! `control_cost DESCENT DIRECTORY ROUNDS NAP`: each worker has a grandchild in a session of its own; both sleep for a time
//! that nobody else sleeps for. Each worker first writes the time at which it began. To know, not to pass or fail. Not here:
//! the projects, which `scripts/bench-control` makes.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)] // a measurement

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::JoinHandle,
    time::{Duration, Instant, UNIX_EPOCH},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

const WORKERS: [usize; 3] = [1, 3, 8];
const START_MAX: Duration = Duration::from_secs(20);
/// What is not gone by then stays.
const GONE_MAX: Duration = Duration::from_secs(2);

fn main() {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [descent, dir, rounds, nap] = args.as_slice() else {
        println!("control_cost DESCENT DIRECTORY ROUNDS NAP");
        return;
    };
    let bench = Bench { descent, dir: Path::new(dir), nap };
    println!("{:42} {:>5} {:>9} {:>9} {:>9}", "", "times", "p50", "p99", "max");
    for workers in WORKERS {
        let mut all: Vec<Table> = [
            "stop committed → first process gone",
            "… → last process gone",
            "kill -9 of the same → last gone",
            "SIGKILL by a call of the system → last gone",
            "redirect committed → first new attempt",
        ]
        .map(Table::new)
        .into();
        let mut left = 0;
        for round in 0..rounds.parse::<usize>().unwrap() {
            let redirected = bench.redirect(workers, round);
            let stopped = bench.stop(workers);
            let killed = bench.kill(workers, Killing::Program);
            let called = bench.kill(workers, Killing::Call);
            all[0].times.push(stopped.first);
            all[1].times.push(stopped.last);
            all[2].times.push(killed.last);
            all[3].times.push(called.last);
            all[4].times.push(redirected);
            left += stopped.left + killed.left + called.left;
        }
        println!("{workers} workers, {left} processes left running");
        all.iter_mut().for_each(Table::print);
    }
}

/// How the same processes are ended without descent.
enum Killing {
    /// By the program that a person types.
    Program,
    Call,
}

struct Table {
    name: &'static str,
    times: Vec<Duration>,
}

impl Table {
    fn new(name: &'static str) -> Self {
        Self { name, times: Vec::new() }
    }

    fn print(&mut self) {
        self.times.sort_unstable();
        let n = self.times.len();
        let at = |part: usize| {
            self.times[(n * part).div_ceil(100).saturating_sub(1).min(n - 1)].as_secs_f64() * 1e3
        };
        println!(
            "  {:40} {n:>5} {:>6.1} ms {:>6.1} ms {:>6.1} ms",
            self.name,
            at(50),
            at(99),
            at(100)
        );
    }
}

/// Since the moment from which it is counted, and how many processes did not end.
struct Seen {
    first: Duration,
    last: Duration,
    left: usize,
}

struct Bench<'a> {
    descent: &'a str,
    dir: &'a Path,
    nap: &'a str,
}

impl Bench<'_> {
    fn project(&self, workers: usize) -> PathBuf {
        self.dir.join(workers.to_string())
    }

    fn command(&self, workers: usize, args: &[&str]) -> Command {
        let mut command = Command::new(self.descent);
        command.args(args).current_dir(self.project(workers));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The run, once all its workers are at work.
    fn begun(&self, workers: usize) -> Child {
        let _ = fs::remove_file(self.started(workers));
        let run = self.command(workers, &["run"]).spawn().unwrap();
        self.wait_for(workers);
        run
    }

    fn started(&self, workers: usize) -> PathBuf {
        self.dir.join(format!("started-{workers}"))
    }

    fn wait_for(&self, workers: usize) {
        let until = Instant::now() + START_MAX;
        while self.nappers().len() < 2 * workers {
            assert!(Instant::now() < until, "the workers did not come up");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn stop(&self, workers: usize) -> Seen {
        let mut run = self.begun(workers);
        let watching = watch(self.nappers());
        let committed = commit(&self.project(workers));
        assert!(self.command(workers, &["stop"]).status().unwrap().success());
        let (committed, ends) = (committed.join().unwrap(), watching.join().unwrap());
        run.wait().unwrap();
        self.seen(committed, &ends)
    }

    /// The same processes without descent, ended by their ids.
    fn kill(&self, workers: usize, how: Killing) -> Seen {
        let line = format!("setsid sleep {0} & exec sleep {0}", self.nap);
        let started: Vec<Child> =
            (0..workers).map(|_| Command::new("sh").args(["-c", &line]).spawn().unwrap()).collect();
        self.wait_for(workers);
        let pids = self.nappers();
        let watching = watch(pids.clone());
        let since = Instant::now();
        match how {
            Killing::Program => {
                let ids = pids.iter().map(|pid| pid.as_raw_nonzero().to_string());
                let mut kill = Command::new("kill");
                assert!(kill.arg("-9").args(ids).status().unwrap().success());
            }
            Killing::Call => {
                pids.into_iter().for_each(|pid| kill_process(pid, Signal::KILL).unwrap())
            }
        }
        let ends = watching.join().unwrap();
        started.into_iter().for_each(|mut child| drop(child.wait()));
        self.seen(since, &ends)
    }

    fn seen(&self, since: Instant, ends: &Ends) -> Seen {
        for pid in self.nappers() {
            let _ = kill_process(pid, Signal::KILL);
        }
        Seen {
            first: ends.first.saturating_duration_since(since),
            last: ends.last.saturating_duration_since(since),
            left: ends.left,
        }
    }

    /// From the commit to the time that the first new attempt wrote down.
    fn redirect(&self, workers: usize, round: usize) -> Duration {
        let mut run = self.begun(workers);
        let before = lines(&self.started(workers)).len();
        let committed = commit(&self.project(workers));
        // Another value each time: what stands already is no change.
        let attempts = 3 + round % 2;
        let set = format!("max_attempts={attempts}");
        let redirect = ["redirect", "for the measurement", "--set", &set, "-y"];
        let mut redirect = self.command(workers, &redirect).spawn().unwrap();
        let committed = committed.join().unwrap();
        let wall = UNIX_EPOCH.elapsed().unwrap() - committed.elapsed();
        redirect.wait().unwrap();
        let until = Instant::now() + START_MAX;
        while lines(&self.started(workers)).len() <= before {
            assert!(Instant::now() < until, "no new attempt");
            std::thread::sleep(Duration::from_millis(1));
        }
        let began: u64 = lines(&self.started(workers))[before].parse().unwrap();
        assert!(self.command(workers, &["stop"]).status().unwrap().success());
        run.wait().unwrap();
        Duration::from_nanos(began).saturating_sub(wall)
    }

    /// The workers and their grandchildren.
    fn nappers(&self) -> Vec<Pid> {
        let nap = format!("sleep\0{}\0", self.nap);
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == nap.as_bytes())
        })
        .filter_map(Pid::from_raw)
        .collect()
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The moment of the next commit: another file has the name of the state.
fn commit(project: &Path) -> JoinHandle<Instant> {
    let state = project.join(".descent/state.json");
    let before = fs::metadata(&state).unwrap().ino();
    std::thread::spawn(move || {
        let until = Instant::now() + START_MAX;
        while fs::metadata(&state).is_ok_and(|meta| meta.ino() == before) {
            assert!(Instant::now() < until, "no commit");
            std::thread::sleep(Duration::from_micros(100));
        }
        Instant::now()
    })
}

struct Ends {
    first: Instant,
    last: Instant,
    left: usize,
}

/// When the first and the last of these processes are gone.
fn watch(pids: Vec<Pid>) -> JoinHandle<Ends> {
    let opened = pids.into_iter().filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let mut watched: Vec<OwnedFd> = opened.collect();
    std::thread::spawn(move || {
        let began = Instant::now();
        let (mut first, mut last) = (None, began);
        while !watched.is_empty() && began.elapsed() < START_MAX {
            if first.is_some_and(|first: Instant| first.elapsed() > GONE_MAX) {
                break;
            }
            let mut fds: Vec<PollFd<'_>> =
                watched.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            let pause = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if poll(&mut fds, Some(&pause)).is_ok_and(|count| count > 0) {
                last = Instant::now();
                first.get_or_insert(last);
            }
            let gone: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let mut gone = gone.into_iter();
            watched.retain(|_| !gone.next().unwrap());
        }
        Ends { first: first.unwrap_or(last), last, left: watched.len() }
    })
}
