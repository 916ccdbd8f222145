//! Everything that a job starts ends with it, whatever it does to get away. Its end may be its own, a timeout, a stop,
//! or a kill -9 of the loop, of the job's guard, or of both.
//!
//! Many tricks at once, in one attempt. `DESCENT_SOAK_ESCAPES=<count>` tries so many, and prints what was run.

#![allow(clippy::print_stdout)] // what a soak ran

mod escapee;
mod methods;
mod seen;

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use methods::{METHODS, lacks};

use crate::passed_over::{Lack, passed_over};
use crate::world::{Ran, Running, World, copy_program, long_nap, plan, processes, task, with};

/// Tricks of a shell: `$E` is a program that says it is out and stays.
const BY_SHELL: &[(&str, &str)] = &[
    ("child", "$E &"),
    ("twice-a-session", "setsid setsid $E &"),
    ("sub-shells", "( ( $E & ) & ) &"),
    ("empty-environment", "env -i setsid $E &"),
    ("nohup", "nohup $E >/dev/null 2>&1 &"),
    ("closed-descriptors", "setsid $E <&- >&- 2>&- &"),
    ("elsewhere", "(cd / && exec setsid $E) &"),
    ("ignored-signals", "(trap '' HUP INT QUIT TERM USR1 USR2 TSTP CHLD; exec setsid $E) &"),
    ("stopped", "$E & ( while [ ! -e $UP/stopped ]; do sleep 0.01; done; kill -STOP $! ) &"),
    ("other-group", "(set -m; $E &) &"),
    ("pipe-reader", "( (sleep 3600 & sleep 3600) | setsid $E ) &"),
    (
        "deleted-program",
        "setsid $E & ( while [ ! -e $UP/deleted-program ]; do sleep 0.01; done; rm -f $E ) &",
    ),
    ("own-pid-namespace", "(setsid unshare --fork --pid $E || setsid $E) 2>/dev/null &"),
    ("reniced", "nice -n 19 setsid env -i $E &"),
];

/// Thirty programs are started for every case, on a machine that may be busy with others.
const PATIENCE: Duration = Duration::from_secs(240);

/// The time of some hundred processes of the respawner on an idle machine.
const GENERATIONS: Duration = Duration::from_millis(400);

/// A look goes over all processes of the machine.
const LOOK: Duration = Duration::from_millis(40);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    OfItself,
    Timeout,
    Stop,
    LoopKilled,
    GuardKilled,
    BothKilled,
}

const ENDS: [End; 6] =
    [End::OfItself, End::Timeout, End::Stop, End::LoopKilled, End::GuardKilled, End::BothKilled];

/// A run in whose one attempt all tricks have been done.
struct Escaped {
    world: World,
    run: Running,
    method: &'static str,
    /// A person's, with the attempt's mark and in its directory: started by nobody of it.
    bystander: Child,
}

fn tricks() -> impl Iterator<Item = &'static str> {
    BY_SHELL.iter().map(|(name, _)| *name).chain(escapee::OWN.iter().copied())
}

impl Escaped {
    fn new(method: &'static str, timeout: &str) -> Option<Self> {
        let world = World::new();
        let script = script(&world);
        let atom = with(task(&script), json!({"timeout": timeout}));
        let once = json!({"max_attempts": 1});
        world.align(&plan(&["test -f done"], once, json!({"A1": atom})));
        let bystander = bystander(&world);
        let run = Running::of(command(&world, method));
        let mut it = Self { world, run, method, bystander };
        let up = it.world.out("up");
        let said = std::sync::Arc::clone(&it.run.stderr);
        wait_for_or(
            "every trick",
            || it.run.has_ended() || missing(&up).is_empty(),
            || format!("{:?}\n{}", missing(&up), String::from_utf8_lossy(&said.lock().unwrap())),
        );
        missing(&up).is_empty().then_some(it)
    }

    /// The one that was recorded.
    fn guard(&self) -> Option<Pid> {
        let attempts =
            fs::read_dir(self.world.repo().join(".descent/state.json.d/attempts")).ok()?;
        let is_record = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "json");
        let mut paths = attempts.flatten().map(|entry| entry.path());
        let record = fs::read(paths.find(is_record)?).ok()?;
        let record: serde_json::Value = serde_json::from_slice(&record).ok()?;
        assert_eq!(record["method"], self.method, "what it was ended by");
        Pid::from_raw(record["pid"].as_i64()?.try_into().ok()?)
    }

    /// One that has ended, and was not waited for, has no words any more.
    fn has_no_guard(&self) -> bool {
        self.guard().is_none_or(|guard| {
            let words = fs::read(format!("/proc/{}/cmdline", guard.as_raw_nonzero()));
            words.is_ok_and(|words| words.is_empty()) || test_kill_process(guard).is_err()
        })
    }

    fn kill_guard(&self) {
        kill_process(self.guard().expect("the record of it"), Signal::KILL).expect("it lives");
    }

    /// Those that run on, by the name of their trick.
    fn survivors(&self) -> Vec<String> {
        seen::survivors(&self.world.root(), self.bystander.id())
    }

    /// Between two looks one that is ever another process is not seen, but what it writes is.
    fn respawns(&self) -> bool {
        let generation = || fs::read(self.world.out("up").join(escapee::GENERATION)).ok();
        let last = generation();
        let until = Instant::now() + GENERATIONS;
        while Instant::now() < until {
            if generation() != last {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }

    /// Each trick is seen at work, so that what is not seen later has been ended.
    #[track_caller]
    fn check_all_are_seen(&self) {
        wait_for_or("generations", || self.respawns(), String::new);
        let unseen = || {
            let seen = self.survivors().join("\n");
            let names = tricks().map(|trick| format!("{}{trick}", escapee::NAME));
            // One is another process every few milliseconds: a look may find it in between.
            names
                .filter(|name| !name.ends_with("respawner") && !seen.contains(name.as_str()))
                .collect::<Vec<_>>()
        };
        wait_for_or("each is seen", || unseen().is_empty(), || format!("{:?}", unseen()));
    }

    #[track_caller]
    fn check(mut self, end: End) {
        if end != End::Timeout {
            self.check_all_are_seen();
        }
        match end {
            End::OfItself => {
                self.world.touch("over");
                end_of(&mut self.run).expect(0);
            }
            End::Timeout => drop(end_of(&mut self.run).expect(5)),
            End::Stop => {
                end_of(&mut self.world.start(&["stop"])).expect(0);
                end_of(&mut self.run).expect(3);
            }
            End::LoopKilled => {
                self.run.signal(Signal::KILL);
                end_of(&mut self.run);
                let left = || format!("{:?}", self.survivors());
                // The guard goes last: until then it is at it.
                wait_for_or(
                    "nobody without a new start",
                    || self.has_no_guard() && self.survivors().is_empty(),
                    left,
                );
            }
            End::GuardKilled => {
                self.kill_guard();
                end_of(&mut self.run).expect(5);
            }
            End::BothKilled => {
                // Stopped first, so that it does not see what comes.
                self.run.signal(Signal::STOP);
                self.kill_guard();
                self.run.signal(Signal::KILL);
                end_of(&mut self.run);
                self.world.touch("again");
                end_of(&mut Running::of(command(&self.world, self.method))).expect(0);
            }
        }
        assert_eq!(self.survivors(), Vec::<String>::new(), "{}: {end:?}", self.method);
        assert!(!self.respawns(), "{}: {end:?}: one goes on as ever another process", self.method);
        assert!(self.bystander.try_wait().unwrap().is_none(), "a person's program was ended");
    }
}

impl Drop for Escaped {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
        let _ = fs::remove_file(self.world.root().join(format!("bin/{}respawner", escapee::NAME)));
        for line in self.survivors() {
            let pid =
                line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
            pid.map(|pid| kill_process(pid, Signal::KILL));
        }
    }
}

#[track_caller]
fn wait_for_or(what: &str, mut holds: impl FnMut() -> bool, why: impl Fn() -> String) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for: {what}\n{}", why());
        std::thread::sleep(LOOK);
    }
}

fn end_of(run: &mut Running) -> Ran {
    wait_for_or("the end", || run.has_ended(), String::new);
    run.wait()
}

fn missing(up: &Path) -> Vec<&'static str> {
    tricks().filter(|trick| !up.join(trick).exists()).collect()
}

fn command(world: &World, method: &str) -> Command {
    let mut command = world.command(&["run", "--json"]);
    command.env("DESCENT_ENDING", method);
    command
}

/// Does every trick, waits until all are done, and then as long as it is let.
fn script(world: &World) -> String {
    let (bin, up) = (world.root().join("bin"), world.out("up"));
    fs::create_dir(&up).expect("a directory");
    let exe = std::env::current_exe().expect("this program");
    let first = bin.join("program");
    if fs::hard_link(&exe, &first).is_err() {
        copy_program(&exe, &first);
    }
    for trick in tricks().chain(["vforked"]) {
        fs::hard_link(&first, bin.join(format!("{}{trick}", escapee::NAME))).expect("its name");
    }
    let mut lines = vec![
        format!("[ ! -e {} ] || {{ touch done; exit 0; }}", world.out("again").display()),
        format!("UP={}", up.display()),
    ];
    let by_call = escapee::OWN.iter().map(|trick| (*trick, "$E &"));
    for (trick, how) in BY_SHELL.iter().copied().chain(by_call) {
        lines.push(format!("E={}/{}{trick}", bin.display(), escapee::NAME));
        lines.push(how.to_owned());
    }
    lines.push(format!("while [ ! -e {} ]; do sleep 0.05; done", world.out("over").display()));
    lines.push("touch done".to_owned());
    let path = bin.join("tricks.sh");
    fs::write(&path, lines.join("\n")).expect("the script");
    format!("sh {}", path.display())
}

fn bystander(world: &World) -> Child {
    let mut command = Command::new("sleep");
    command
        .arg("3600")
        .current_dir(world.repo())
        .env("DESCENT_MARK", mark_of(world))
        .stdin(Stdio::null())
        .process_group(0);
    command.spawn().expect("a person's program")
}

/// The tag in the environment of a program that an attempt asked to open something.
fn mark_of(world: &World) -> String {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(world.repo().join(".descent")).expect("the state's directory");
    format!("{:x}-{:x}/run/attempt", meta.dev(), meta.ino())
}

#[track_caller]
fn check(method: &'static str, end: End) {
    if let Some(why) = lacks(method) {
        return passed_over(method, Lack::Machine(why.trim()));
    }
    check_here(method, end);
}

#[track_caller]
fn check_here(method: &'static str, end: End) {
    if end != End::Timeout {
        return Escaped::new(method, "10m").expect("it runs on").check(end);
    }
    // A loaded machine may need longer for the tricks than any time that were chosen here.
    let timeouts = ["3s", "12s", "19s"];
    let escaped = timeouts.into_iter().find_map(|timeout| Escaped::new(method, timeout));
    escaped.expect("the tricks within a timeout").check(end);
}

macro_rules! each {
    ($($name:ident: $method:literal, $end:ident;)*) => {$(
        #[test]
        fn $name() {
            check($method, End::$end);
        }
    )*};
}

each! {
    namespace_nothing_outlives_the_end_of_its_attempt: "namespace", OfItself;
    namespace_nothing_outlives_a_timeout: "namespace", Timeout;
    namespace_nothing_outlives_a_stop: "namespace", Stop;
    namespace_nothing_outlives_a_killed_loop: "namespace", LoopKilled;
    namespace_nothing_outlives_a_killed_guard: "namespace", GuardKilled;
    namespace_nothing_outlives_the_next_start_when_both_were_killed: "namespace", BothKilled;
    cgroup_nothing_outlives_the_end_of_its_attempt: "cgroup", OfItself;
    cgroup_nothing_outlives_a_timeout: "cgroup", Timeout;
    cgroup_nothing_outlives_a_stop: "cgroup", Stop;
    cgroup_nothing_outlives_a_killed_loop: "cgroup", LoopKilled;
    cgroup_nothing_outlives_a_killed_guard: "cgroup", GuardKilled;
    cgroup_nothing_outlives_the_next_start_when_both_were_killed: "cgroup", BothKilled;
    guard_nothing_outlives_the_end_of_its_attempt: "guard", OfItself;
    guard_nothing_outlives_a_timeout: "guard", Timeout;
    guard_nothing_outlives_a_stop: "guard", Stop;
    guard_nothing_outlives_a_killed_loop: "guard", LoopKilled;
    guard_nothing_outlives_a_killed_guard: "guard", GuardKilled;
    guard_nothing_outlives_the_next_start_when_both_were_killed: "guard", BothKilled;
}

/// `DESCENT_SOAK_ESCAPES=<count>`: so many escapes, over all methods and ends in turn.
#[test]
fn soak_of_escapes() {
    let Some(count) =
        std::env::var("DESCENT_SOAK_ESCAPES").ok().and_then(|n| n.parse::<usize>().ok())
    else {
        return;
    };
    let methods: Vec<_> = METHODS.into_iter().filter(|method| lacks(method).is_none()).collect();
    assert!(!methods.is_empty(), "no method works here");
    let kinds = tricks().count();
    let mut done = 0;
    let cases = ENDS.iter().flat_map(|end| methods.iter().map(move |method| (*method, *end)));
    for (method, end) in cases.collect::<Vec<_>>().into_iter().cycle() {
        if done >= count {
            break;
        }
        check_here(method, end);
        done += kinds;
    }
    println!("{done} escapes of {kinds} kinds, by {methods:?}, on {ENDS:?}: no survivor");
}

/// A guard that was put to sleep cannot see that the loop is gone.
#[test]
fn what_a_stopped_guard_left_is_ended_by_the_next_start() {
    let (world, nap) = (World::new(), long_nap());
    let (at, go) = (world.out("at"), world.out("go"));
    let action = format!(
        "[ ! -e {} ] || exec touch done; touch {}; kill -STOP $PPID; exec sleep {nap}",
        go.display(),
        at.display()
    );
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&action)})));
    let run = Running::of(command(&world, "guard"));
    let sleeps = || {
        // Not the shell, whose command line holds the same words before the guard is stopped.
        let is_nap = |line: &String| line.contains(" sleep 7200") && !line.contains("touch");
        processes(&nap).iter().any(is_nap)
    };
    wait_for_or("the nap", sleeps, String::new);
    run.kill();
    assert!(sleeps(), "nobody was left to end it");
    world.touch("go");
    end_of(&mut Running::of(command(&world, "guard"))).expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn a_method_that_is_none_is_refused_with_those_that_are() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    Running::of(command(&world, "magic"))
        .wait()
        .expect(69)
        .says("E-ENDING")
        .says("guard: works here");
    assert!(!world.repo().join("done").exists());
}
