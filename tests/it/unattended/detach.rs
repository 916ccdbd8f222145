//! `run --detach`: what goes on without its terminal, and what a failed start says.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::agents::filters::{hangs_from_the_start, nothing_is_left};
use crate::world::{Running, World, long_nap, plan, processes, task, wait_for};

/// A project whose one attempt lasts until there is a file `go`.
pub fn waiting() -> World {
    let world = World::new();
    let go = world.out("go");
    let run = format!("while ! test -f {}; do sleep 0.02; done; touch done", go.display());
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&run)})));
    world
}

pub fn send(pid: &Value, signal: Signal) {
    let pid = pid.as_u64().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("it lives");
}

fn logs(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.repo().join(".descent/state.json.d/log"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The detached process of a world that has one; its words are not those of a guard.
fn detached(nap: &str) -> Option<Value> {
    let found = processes(nap);
    let of_run = found.iter().find(|line| line.contains("descent-detached"))?;
    let pid = of_run.split(' ').next()?.parse::<u64>().ok()?;
    Some(json!(pid))
}

#[test]
fn a_detached_run_holds_nothing_of_its_starter_and_goes_on_after_a_hangup() {
    let world = waiting();
    let agreed = world.state()["serial"].as_u64().unwrap();
    let held = world.out("held");
    let mut through = world.bare_command("sh");
    let script =
        format!("exec 7>{}; {} run --detach --json", held.display(), env!("CARGO_BIN_EXE_descent"));
    through.args(["-c", &script]);
    let begun = Running::of(through).wait().expect(0).json();
    let (pid, log) = (&begun["pid"], PathBuf::from(begun["log"].as_str().unwrap()));
    let serial = |value: &Value| value["serial"].as_u64().unwrap();
    assert!(agreed < serial(&begun) && serial(&begun) <= serial(&world.state()));
    assert_eq!(begun["run"], world.state()["run"]["id"]);
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let mut files: Vec<(String, PathBuf)> = files
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some((name, fs::read_link(entry.path()).ok()?))
        })
        .collect();
    files.sort();
    let of = |number: &str| &files.iter().find(|(name, _)| name == number).unwrap().1;
    assert_eq!(of("0"), &PathBuf::from("/dev/null"));
    assert_eq!((of("1"), of("2")), (&log, &log));
    assert!(files.iter().all(|(_, to)| *to != held), "{files:?}");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3);
    assert_eq!(session, Some(pid.to_string().as_str()), "{stat}");
    send(pid, Signal::HUP);
    world.touch("go");
    world.descent(&["wait"]).expect(0).shows("completed");
    // The result is printed when the lease is free.
    let printed = || fs::read_to_string(&log).unwrap_or_default();
    wait_for("the result", || printed().contains("\"descent/result/1\""));
}

#[test]
fn a_detached_start_that_fails_says_why_with_its_code_and_leaves_no_log() {
    let world = waiting();
    world.descent(&["run", "--detach"]).expect(0);
    assert_eq!(logs(&world).len(), 1);
    let held = world.descent(&["run", "--detach", "--json"]).expect(75);
    assert_eq!(held.json()["error"]["code"], "E-LEASE-HELD");
    assert_eq!(logs(&world).len(), 1);
    world.touch("go");
    world.descent(&["wait"]).expect(0);
    world.write("descent.toml", "notify = 'true'\n");
    world.commit_all("theirs");
    let refused = world.descent(&["run", "--detach"]).expect(77);
    refused.says("descent.toml is as git has it, and was never allowed here");
}

#[test]
fn a_run_whose_starter_was_killed_before_the_first_commit_goes_on() {
    let (world, nap) = hangs_from_the_start();
    let name = long_nap();
    let notify = format!(": {name}");
    let starter = world.start(&["run", "--detach", "--notify", &notify]);
    world.wait_for_file("hung");
    starter.kill();
    assert_eq!(world.status()["live"], true);
    world.descent(&["stop", "--now"]).expect(0);
    nothing_is_left(&nap);
    wait_for("its end", || detached(&name).is_none());
    assert_eq!(logs(&world).len(), 1, "nobody else tells what happened");
}

#[test]
fn a_starter_tells_of_a_run_that_was_killed_before_the_first_commit() {
    let (world, nap) = hangs_from_the_start();
    let name = long_nap();
    let notify = format!(": {name}");
    let mut starter = world.start(&["run", "--detach", "--notify", &notify]);
    world.wait_for_file("hung");
    send(&detached(&name).expect("the run"), Signal::KILL);
    starter
        .wait()
        .expect(3)
        .says("error[E-CUT-OFF]: the detached run ended before its first commit (signal: 9");
    fs::remove_file(world.out("hang")).unwrap();
    world.run().expect(0);
    nothing_is_left(&nap);
}

#[test]
fn an_interrupt_before_the_first_commit_ends_the_run_too() {
    let (world, nap) = hangs_from_the_start();
    let name = long_nap();
    let notify = format!(": {name}");
    let mut starter = world.start(&["run", "--detach", "--notify", &notify]);
    world.wait_for_file("hung");
    starter.signal(Signal::INT);
    assert_eq!(starter.wait().signal, Some(2));
    assert_eq!(detached(&name), None);
    nothing_is_left(&nap);
    assert_eq!(world.status()["live"], false);
}
