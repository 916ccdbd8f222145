//! Programs that git starts for the loop: the person's filters, which may hang, and may leave a server behind.

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use crate::world::{Ran, Running, World, long_nap, plan, processes, task, wait_for, wait_for_or};

/// A project with a filter that does what the files beside it ask for, and the nap of what it starts.
pub fn filtered() -> (World, String) {
    let (world, nap) = (World::new(), long_nap());
    let out = world.out("");
    let filter = world.program(
        "filter",
        &format!(
            "#!/bin/sh\ncd {}\nif mv serve served 2>/dev/null; then setsid sleep {nap} >/dev/null & fi\nif test -e hang; then \
             touch hung; sleep {nap}; fi\nexec cat\n",
            out.display()
        ),
    );
    for kind in ["clean", "smudge"] {
        let name = format!("filter.slow.{kind}");
        world.git(&["config", &name, &filter.display().to_string()]);
    }
    world.write(".gitattributes", "*.slow filter=slow\n");
    world.write("x.slow", "x\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "-m", "a filter"]);
    (world, nap)
}

/// The task asks the filter for something, and changes what has to be filtered.
fn align(world: &World, ask: &str) {
    let run = format!("{ask}; echo y >> x.slow");
    let checks = ["grep -q y x.slow"];
    world.align(&plan(&checks, json!({}), json!({"A1": task(&run)})));
}

/// The next look at the person's tree hangs, before anything has begun.
pub fn hangs_from_the_start() -> (World, String) {
    let (world, nap) = filtered();
    align(&world, "true");
    world.write("x.slow", "changed\n");
    world.touch("hang");
    (world, nap)
}

fn ask(world: &World, what: &str) -> String {
    format!("touch {}", world.out(what).display())
}

#[track_caller]
pub fn nothing_is_left(nap: &str) {
    let left = processes(nap);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_that_a_filter_left_ends_with_the_run_and_holds_it_up_no_longer() {
    let (world, nap) = filtered();
    align(&world, &ask(&world, "serve"));
    world.run().expect(0);
    assert!(world.out("served").exists());
    nothing_is_left(&nap);
}

#[test]
fn what_git_had_started_for_a_killed_loop_ends_with_the_next_start() {
    let (world, nap) = filtered();
    let both = format!("{}; {}", ask(&world, "serve"), ask(&world, "hang"));
    align(&world, &both);
    let run = world.start(&["run"]);
    world.wait_for_file("hung");
    run.kill();
    assert_eq!(processes(&nap).len(), 2);
    std::fs::remove_file(world.out("hang")).unwrap();
    world.replace_in_state(&ask(&world, "hang"), "true");
    world.run().expect(0);
    nothing_is_left(&nap);
}

#[test]
fn a_filter_that_hangs_holds_up_no_stop() {
    let (world, nap) = filtered();
    align(&world, &ask(&world, "hang"));
    let mut run = world.start(&["run"]);
    world.wait_for_file("hung");
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    nothing_is_left(&nap);
}

#[test]
fn a_filter_that_hangs_before_anything_has_begun_holds_up_no_signal() {
    let (world, nap) = hangs_from_the_start();
    let mut run = world.start(&["run"]);
    world.wait_for_file("hung");
    run.signal(Signal::INT);
    let ran: Ran = run.wait();
    assert_eq!(ran.signal, Some(2), "{}", ran.stderr);
    ran.says("was cut off");
    nothing_is_left(&nap);
    std::fs::remove_file(world.out("hang")).unwrap();
    world.run().expect(0);
}

#[test]
fn a_stop_before_anything_has_begun_names_the_command_that_ends_a_filter_that_hangs() {
    let (world, nap) = hangs_from_the_start();
    let mut run = world.start(&["run"]);
    world.wait_for_file("hung");
    let mut stop = world.start(&["stop"]);
    let way_out = "descent stop --now ends it";
    wait_for_or(way_out, || stop.said().contains(way_out), || stop.said());
    world.descent(&["stop", "--now"]).expect(0);
    assert!(matches!(run.wait().signal, Some(9 | 15)));
    stop.wait().expect(0);
    nothing_is_left(&nap);
}

#[test]
fn ctrl_c_ends_another_command_with_the_filter_that_hangs_in_it() {
    let (world, nap) = hangs_from_the_start();
    let mut command = world.command(&["verify"]);
    command.process_group(0);
    let mut verify = Running::of(command);
    // A shell that is about to start it takes the signal for itself and starts it all the same.
    wait_for("the filter to hang", || !processes(&nap).is_empty());
    let group = Pid::from_raw(verify.pid().cast_signed()).unwrap();
    kill_process_group(group, Signal::INT).unwrap();
    let ran = verify.wait();
    assert_eq!(ran.signal, Some(2), "{}", ran.stderr);
    // The terminal's signal ends each of them, in an order of their own.
    wait_for("the filter's end", || processes(&nap).is_empty());
}

#[test]
fn a_signal_ends_an_apply_that_hangs_after_the_run() {
    let (world, nap) = filtered();
    // It hangs in the project alone, and ends when it is asked to.
    let filter = format!(
        "#!/bin/sh\nif test \"$PWD\" = {}; then touch {}; exec sleep {nap}; fi\nexec cat\n",
        world.repo().display(),
        world.out("hung").display()
    );
    align(&world, "true");
    let smudge = world.program("smudge", &filter);
    world.git(&["config", "filter.slow.smudge", &smudge.display().to_string()]);
    let mut run = world.start(&["run", "--apply"]);
    world.wait_for_file("hung");
    run.signal(Signal::INT);
    let ran = run.wait();
    assert_eq!(ran.signal, Some(2), "{}", ran.stderr);
    nothing_is_left(&nap);
    assert!(!world.repo().join(".git/index.lock").exists());
}
