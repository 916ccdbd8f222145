//! The system calls of one step, and the starts of git. They are counted, since they depend little on the machine, unlike
//! time.

use std::{collections::BTreeMap, process::Stdio};

use serde_json::{Map, json};

use crate::{
    passed_over::can_trace,
    world::{World, plan, task},
};

/// Calls of these names that make a file.
const NEW_FILE: &str = "O_EXCL";

type Ceiling = (&'static str, &'static [&'static str], f64);

/// On a busy machine a step takes long enough for chores that go by time.
const TRIES: usize = 3;

/// A kind of call, the calls of that kind, and how many a step of a chain makes at most.
///
/// The loop, the guard, the shell and the command make them.
const CEILINGS: [Ceiling; 10] = [
    ("processes and threads", &["clone", "clone3", "fork", "vfork"], 4.2),
    ("programs", &["execve", "execveat"], 3.1),
    ("fsyncs", &["fsync", "fdatasync", "syncfs"], 2.0),
    ("renames", &["rename", "renameat", "renameat2"], 2.2),
    ("directories", &["mkdir", "mkdirat", "rmdir"], 5.2),
    ("new files", &[NEW_FILE], 6.2),
    ("opens", &["open", "openat", "openat2", "creat"], 40.0),
    ("writes", &["write", "pwrite64", "writev", "sendto", "sendmsg"], 22.0),
    ("futexes", &["futex"], 5.0),
    ("waits", &["epoll_wait", "epoll_pwait", "poll", "ppoll"], 18.0),
];

/// How often a step that changed a file starts git at most, and a run before its first step and after its last.
const GIT_A_STEP: usize = 12;
const GIT_AROUND: usize = 30;

/// The files that tell others of the loop, by time.
const TOLD: [&str; 2] = ["work.json", "/heartbeat"];
/// Old states, which are opened to be swept by time, and renamed by each commit.
const SWEPT: &str = "\".state.json.old-";

/// The lines of `strace` on these calls, in the run of a chain. `action` gives the command of the step with this number.
fn trace(
    workspace: &str,
    steps: usize,
    action: impl Fn(usize) -> String,
    calls: &[&str],
) -> String {
    let world = World::new();
    let mut atoms = Map::new();
    for n in 0..steps {
        let mut atom = task(&action(n));
        if n > 0 {
            atom["depends_on"] = json!([format!("A{:03}", n - 1)]);
        }
        atoms.insert(format!("A{n:03}"), atom);
    }
    let check = json!({"file": "never"});
    let mut agreed = plan(&[], json!({"workspace": workspace}), atoms.into());
    agreed["objective"]["base_case"] = json!({"all": [check]});
    world.align(&agreed);
    let trace = world.out("trace");
    let mut command = world.bare_command("strace");
    let kinds = format!("trace={}", calls.join(","));
    command.args(["-f", "-qq", "-e", &kinds, "-o"]);
    command.arg(&trace).args([env!("CARGO_BIN_EXE_descent"), "run"]);
    let ran = command.stdin(Stdio::null()).output().expect("strace was there just now");
    // No atom can bring the file.
    assert_eq!(ran.status.code(), Some(5), "{ran:?}");
    std::fs::read_to_string(&trace).unwrap()
}

/// The action of each step; its start in the trace is the start of the step.
const ACTION: &str = "/bin/true";
/// The step whose start begins the count. Earlier steps make more calls, since the first directories are not taken over.
/// The start of a run does not count: it reads the table of processes, whose length depends on other programs.
const FROM: usize = 20;
/// The step whose start ends the count.
const TO: usize = 50;

/// The calls of these steps of a chain in `shared`, by name.
fn calls_of_steps() -> BTreeMap<String, f64> {
    let kinds: Vec<&str> = CEILINGS
        .iter()
        .flat_map(|(_, calls, _)| *calls)
        .filter(|call| **call != NEW_FILE)
        .copied()
        .collect();
    let traced = trace("shared", TO + 1, |_| ACTION.to_owned(), &kinds);
    let mut counted = BTreeMap::new();
    let mut started = 0;
    for line in traced.lines() {
        // A call that was interrupted by another's line goes on with `<... name resumed>`.
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        let Some((name, _)) = call.split_once('(') else {
            continue;
        };
        if name.starts_with("execve") && line.contains(&format!("(\"{ACTION}\"")) {
            started += 1;
        }
        if !(FROM..TO).contains(&started) {
            continue;
        }
        let is_swept = name.starts_with("open") && line.contains(SWEPT);
        if is_swept || TOLD.iter().any(|file| line.contains(file)) {
            continue;
        }
        if line.contains(NEW_FILE) {
            *counted.entry(NEW_FILE.to_owned()).or_default() += 1.0;
        }
        *counted.entry(name.to_owned()).or_default() += 1.0;
    }
    assert_eq!(started, TO + 1, "each step starts its action once");
    counted
}

#[test]
fn a_step_makes_no_more_calls_than_it_needs() {
    if !can_trace() {
        return;
    }
    let mut least = [f64::MAX; CEILINGS.len()];
    for _ in 0..TRIES {
        let counted = calls_of_steps();
        for (least, (_, names, _)) in least.iter_mut().zip(CEILINGS) {
            let all: f64 = names.iter().filter_map(|name| counted.get(*name)).sum();
            *least = least.min(all / (TO - FROM) as f64);
        }
        let is_within = |(least, (_, _, ceiling)): (&f64, &Ceiling)| least <= ceiling;
        if least.iter().zip(&CEILINGS).all(is_within) {
            break;
        }
    }
    for (least, (kind, _, ceiling)) in least.iter().zip(CEILINGS) {
        eprintln!("{kind:<24}{least:6.2}  (at most {ceiling})");
        assert!(*least <= ceiling, "a step makes more {kind} than it may");
    }
}

/// The programs of git that a run of a chain in `git` starts, where each step makes a file.
fn programs_of_git(steps: usize) -> usize {
    let traced = trace("git", steps, |n| format!("touch made{n}"), &["execve"]);
    // A call that was interrupted by another's line tells its program in its first line.
    let is_git = |line: &&str| line.contains("/git\", [") && !line.contains(" = -1 ");
    traced.lines().filter(is_git).count()
}

#[test]
fn a_run_in_git_starts_git_no_more_often_than_it_needs() {
    if !can_trace() {
        return;
    }
    // A step that is prepared while another runs may need two starts less, so only the greatest number is known.
    for steps in [2, 6] {
        let starts = programs_of_git(steps);
        eprintln!("git: {starts} starts in {steps} steps");
        assert!(starts > 0, "no start of git was seen");
        let ceiling = GIT_A_STEP * steps + GIT_AROUND;
        assert!(starts <= ceiling, "more than {ceiling} starts of git");
    }
}
