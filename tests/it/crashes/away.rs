//! The person's repository, or the cache, that is moved away while a run works: no attempt has failed by that.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Running, World, after, plan, task, wait_for_or};

/// A step, and another one with a check, which waits for the test in its middle. Its base is a commit of ours.
fn steps(world: &World) -> Value {
    let (at, go) = (world.out("at"), world.out("go"));
    let words = format!(
        "echo x >> {}; while ! test -f {}; do sleep 0.02; done; echo one > done",
        at.display(),
        go.display()
    );
    let mut step = after(&["A0"], &words);
    step["checks"] = json!({"command": "grep one done"});
    let atoms = json!({"A0": task("echo zero > zero"), "A1": step});
    plan(&["grep one done"], json!({}), atoms)
}

fn begun(world: &World) -> Running {
    world.align(&steps(world));
    let run = world.start(&["run", "--json"]);
    let has_begun = || !world.left("at").is_empty();
    wait_for_or("the attempt", has_begun, || run.said());
    run
}

/// A run whose attempt has ended while `.git` is away.
fn waiting(world: &World) -> Running {
    let run = begun(world);
    fs::rename(world.repo().join(".git"), world.out("git")).unwrap();
    world.touch("go");
    let waits = || run.said().contains("waiting: the repository");
    wait_for_or("it waits", waits, || run.said());
    run
}

fn put_back(world: &World) {
    fs::rename(world.out("git"), world.repo().join(".git")).unwrap();
}

#[test]
fn a_repository_that_is_away_is_waited_for_and_no_attempt_fails_by_that() {
    let world = World::new();
    let mut run = waiting(&world);
    put_back(&world);
    let ran = run.wait().expect(0);
    assert_eq!(ran.count("attempt_failed"), 0, "{}", ran.stdout);
    ran.says("put it back").says("going on");
    assert_eq!(world.left("at"), "x\n");
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_signal_ends_the_wait_for_a_repository_and_the_next_run_goes_on() {
    let world = World::new();
    let mut run = waiting(&world);
    run.signal(rustix::process::Signal::INT);
    run.wait().expect(74).says("error[E-REPOSITORY-AWAY]");
    put_back(&world);
    world.run().expect(0);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_stop_is_obeyed_while_the_repository_is_away() {
    let world = World::new();
    let mut run = waiting(&world);
    let status = world.descent(&["status", "--json"]).json();
    assert_eq!(status["waits_for"], "repository", "{status}");
    world.descent(&["stop"]).expect(0);
    let ran = run.wait().expect(74).says("error[E-REPOSITORY-AWAY]");
    assert!(!ran.stderr.contains("going on"), "{}", ran.stderr);
    put_back(&world);
    world.run().expect(0);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_cache_that_is_removed_ends_the_run_and_the_next_one_makes_it_anew() {
    let world = World::new();
    let mut run = begun(&world);
    fs::remove_dir_all(world.cache().join("descent")).unwrap();
    world.touch("go");
    run.wait().expect(69).says("error[E-CACHE]").says("descent run");
    world.run().expect(0);
    assert_eq!(world.left("at"), "x\nx\n");
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}
