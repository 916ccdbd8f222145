//! The notify command: what it is told, and that nothing of the run follows from how it ends.

use std::fs;

use serde_json::{Value, json};

use super::detach::waiting;
use crate::described::described;
use crate::safety::trust::trust;
use crate::world::{World, plan, task, wait_for};

fn quick(check: &str) -> World {
    let world = World::new();
    world.align(&plan(&[check], json!({}), json!({"A1": task("touch done")})));
    world
}

/// A command that keeps what it was told, a line each.
fn keeping(world: &World) -> String {
    let told = world.out("told").display().to_string();
    format!("read -r line; echo \"$DESCENT_EVENT $line\" >> {told}")
}

fn told(world: &World) -> Vec<(String, Value)> {
    let text = world.left("told");
    let lines = text.lines().map(|line| {
        let (event, value) = line.split_once(' ').expect("an event and a value");
        let value = serde_json::from_str(value).expect("JSON");
        (event.to_owned(), described(value))
    });
    lines.collect()
}

#[test]
fn an_ending_is_told_with_the_result_when_the_lease_is_free() {
    let world = quick("test -f done");
    let free = format!("{}; {} status --exit-code", keeping(&world), env!("CARGO_BIN_EXE_descent"));
    let ran = world.descent(&["run", "--json", "--notify", &free]).expect(0);
    assert!(!ran.stderr.contains("E-NOTIFY"), "{}", ran.stderr);
    assert_eq!(told(&world), [("ended".to_owned(), ran.result())]);
}

#[test]
fn a_command_that_fails_is_a_warning_and_what_it_left_running_ends() {
    let world = quick("test -f never");
    let nap = crate::world::long_nap();
    let fails = format!(
        "(setsid sleep {nap} &) ; yes | head -c 3000000; echo 'no \x1b[31mhost' >&2; exit 7"
    );
    let ran = world.descent(&["run", "--notify", &fails]).expect(5);
    ran.says("warning[E-NOTIFY]: the notify command failed: exit 7: no ␛[31mhost");
    crate::agents::filters::nothing_is_left(&nap);
}

#[test]
fn a_command_that_is_not_there_is_refused_before_anything_starts() {
    let world = quick("test -f done");
    world
        .descent(&["run", "--notify", "no-such-program -x"])
        .expect(69)
        .says("error[E-NOTIFY]: the notify command `no-such-program` is not installed");
    world.descent(&["run", "--notify", " "]).expect(2);
    assert_eq!(world.status()["status"], "aligned");
}

#[test]
fn a_wait_for_the_file_is_told_once_and_so_is_the_ending() {
    let world = waiting();
    let mut run = world.start(&["run", "--notify", &keeping(&world)]);
    wait_for("the attempt", || world.status()["in_flight"][0]["atom"] == "A1");
    let whole = world.state_text();
    world.save("{\"version\": ");
    wait_for("it is told", || world.left("told").ends_with('\n'));
    let (event, value) = told(&world).remove(0);
    assert_eq!((event.as_str(), &value["waits_for"]), ("waits", &json!("file")));
    assert_eq!(value["next"], "descent validate");
    world.save(&whole);
    world.touch("go");
    run.wait().expect(0);
    let events: Vec<String> = told(&world).into_iter().map(|(event, _)| event).collect();
    assert_eq!(events, ["waits", "ended"]);
}

#[test]
fn a_command_of_the_configuration_that_git_brings_is_allowed_first_and_the_flag_goes_before_it() {
    let world = quick("test -f done");
    let command = keeping(&world).replace('\\', "\\\\").replace('"', "\\\"");
    world.write("descent.toml", &format!("notify = \"{command}\"\n"));
    world.commit_all("theirs");
    world.descent(&["run"]).expect(77);
    assert!(!world.out("told").exists());
    world.descent(&["trust"]).expect(77).shows("  notify ").shows("read -r line");
    trust(&world);
    world.run().expect(0);
    assert_eq!(told(&world).len(), 1);
    world.descent(&["run", "--notify", "true"]).expect(0);
    assert_eq!(told(&world).len(), 1);
    assert!(fs::metadata(world.out("told")).is_ok());
}
