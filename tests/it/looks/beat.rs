//! The heartbeat: a loop at work, hung, dead, asleep and idle, as `status`, `run` and `stop` tell them apart.

use std::{fs, path::PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::begun::at_work;
use crate::passed_over::{Lack, passed_over};
use crate::world::{PATIENCE, Running, World, plan, task, wait_for, wait_for_or};

fn beat_path(world: &World) -> PathBuf {
    world.repo().join(".descent/state.json.d/heartbeat")
}

fn beat(world: &World) -> Option<Value> {
    serde_json::from_slice(&fs::read(beat_path(world)).ok()?).ok()
}

#[track_caller]
fn wait_for_activity(world: &World, activity: &str) -> Value {
    let mut last = Value::Null;
    let began = std::time::Instant::now();
    while last["activity"] != activity {
        assert!(began.elapsed() < PATIENCE, "never {activity}: {last}");
        last = world.status();
    }
    last
}

#[test]
fn a_loop_at_work_beats_beside_the_state_and_a_deleted_beat_harms_nothing() {
    let (world, mut run) = at_work();
    wait_for_or(
        "the atom in the beat",
        || beat(&world).is_some_and(|beat| beat["in_flight"] == json!(["A1"])),
        || format!("{:?}", beat(&world)),
    );
    let before = world.state_bytes();
    let status = world.status();
    assert_eq!((&status["activity"], &status["live"]), (&json!("running"), &json!(true)));
    let beat_seen = &status["heartbeat"];
    assert_eq!(beat_seen["pid"], run.pid());
    assert_eq!(beat_seen["phase"], "attempts");
    assert!(beat_seen["age_ms"].as_u64().unwrap() < 10_000, "{beat_seen}");
    fs::remove_file(beat_path(&world)).unwrap();
    let silent = world.status();
    assert_eq!((&silent["activity"], &silent["heartbeat"]), (&json!("running"), &Value::Null));
    wait_for("another beat", || beat_path(&world).exists());
    assert_eq!(world.state_bytes(), before, "a beat is no commit");
    world.touch("go");
    run.wait().expect(0);
    assert!(!beat_path(&world).exists());
    let status = world.status();
    assert_eq!((&status["activity"], &status["waits_for"]), (&json!("idle"), &Value::Null));
}

#[test]
fn a_stopped_loop_is_hung_and_keeps_its_lease_and_goes_on_when_it_is_continued() {
    let (world, mut run) = at_work();
    run.signal(Signal::STOP);
    let status = wait_for_activity(&world, "hung");
    let go_on = format!("kill -CONT {}", run.pid());
    assert_eq!((&status["live"], &status["next"]), (&json!(true), &json!(go_on)));
    world
        .descent(&["status"])
        .expect(0)
        .shows("the loop hangs")
        .shows("stopped by a signal")
        .shows(&format!("next: {go_on}"));
    let second = world.descent(&["run"]).expect(75);
    second.says("error[E-LEASE-HELD]").says("the loop hangs").says(&format!("next: {go_on}"));
    let stop = world.descent(&["stop"]).expect(75);
    stop.says("error[E-LOOP-HUNG]: the stop is requested, but the loop hangs")
        .says(&format!("next: {go_on}"));
    run.signal(Signal::CONT);
    run.wait().expect(3);
    assert_eq!(world.status()["spent"]["attempts"], 0);
    world.touch("go");
    world.run().expect(0);
    assert_eq!(world.left("at"), "x\nx\n", "made again under the same number");
}

#[test]
fn an_edit_that_a_hung_loop_cannot_take_in_keeps_a_stop_from_being_asked_and_is_kept() {
    let (world, mut run) = at_work();
    run.signal(Signal::STOP);
    wait_for_activity(&world, "hung");
    world.replace_in_state("\"background_intent\": \"", "\"background_intent\": \"because ");
    let edited = world.state_bytes();
    let go_on = format!("kill -CONT {}", run.pid());
    let stop = world.descent(&["stop"]).expect(75);
    stop.says("error[E-LOOP-HUNG]: nothing is written yet: the loop hangs")
        .says(&format!("next: {go_on}"));
    assert_eq!(world.state_bytes(), edited);
    run.signal(Signal::CONT);
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    assert!(world.state_text().contains("because "));
}

#[test]
fn a_stop_that_an_old_buffer_was_saved_over_before_the_loop_saw_it_is_obeyed() {
    let (world, mut run) = at_work();
    let buffer = world.state_text();
    run.signal(Signal::STOP);
    wait_for_activity(&world, "hung");
    world.descent(&["stop", "--no-wait"]).expect(75);
    world.save(&buffer.replace("\"background_intent\": \"", "\"background_intent\": \"because "));
    run.signal(Signal::CONT);
    run.wait().expect(3);
    assert!(world.state_text().contains("because "));
}

/// Its process is not stopped: only its silence tells. The beat that lies there is made old.
#[test]
fn a_loop_that_gives_no_sign_of_life_is_hung() {
    let (world, run) = at_work();
    wait_for("a beat", || beat(&world).is_some());
    // Continued at once after each look, so that nothing but the age of the beat can tell.
    run.signal(Signal::STOP);
    let mut old = beat(&world).expect("a whole beat");
    for clock in ["awake_ms", "total_ms"] {
        old[clock] = json!(old[clock].as_u64().unwrap().saturating_sub(11_000));
    }
    let holder = world.repo().join(".descent/state.json.d/run.lock");
    // The holder's number is that of a process which was not stopped: this one.
    fs::write(&holder, format!("pid {}, run\n", std::process::id())).unwrap();
    old["pid"] = json!(std::process::id());
    fs::write(beat_path(&world), old.to_string()).unwrap();
    let status = world.status();
    assert_eq!(status["activity"], "hung", "{status}");
    assert_eq!(status["next"], "descent stop --now && descent run");
    world.descent(&["status"]).expect(0).shows("it gives no sign of life");
    run.kill();
}

#[test]
fn a_killed_loop_is_dead_and_its_last_sign_of_life_is_told() {
    let (world, run) = at_work();
    wait_for("a beat", || beat(&world).is_some());
    let pid = run.pid();
    run.kill();
    let status = world.status();
    assert_eq!((&status["activity"], &status["live"]), (&json!("dead"), &json!(false)));
    assert_eq!(status["next"], "descent run");
    assert_eq!(world.descent(&["status", "--exit-code"]).code, Some(3));
    world
        .descent(&["status"])
        .expect(0)
        .shows("cut off: it is so")
        .shows("its last sign of life: ")
        .shows(&format!("(pid {pid})"));
    world.touch("go");
    world.run().expect(0);
    assert_eq!(world.status()["activity"], "idle");
}

#[test]
fn a_loop_that_waits_for_the_file_or_for_the_next_try_is_idle_and_says_which() {
    let (world, mut run) = at_work();
    let whole = world.state_text();
    world.save("{\"version\": ");
    wait_for_or(
        "it waits",
        || beat(&world).is_some_and(|beat| beat["waits_for"] == "file"),
        || run.said(),
    );
    let way_out = "or end the loop: descent stop --now";
    for command in ["status", "stop"] {
        let refused = world.descent(&[command]).expect(65);
        refused.says("a loop waits for the state file").says(way_out);
    }
    world.save(&whole);
    world.touch("go");
    run.wait().expect(0);

    let world = World::new();
    let atoms = json!({"A1": task("exit 75")});
    world.align(&plan(&["test -f done"], json!({"max_transient": 9}), atoms));
    let mut run = world.start(&["run", "--json"]);
    // Idle is what it is before it begins, too.
    let mut status = Value::Null;
    wait_for("it waits", || {
        status = world.status();
        status["waits_for"] == "backoff"
    });
    assert_eq!((&status["live"], &status["activity"]), (&json!(true), &json!("idle")));
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
}

#[test]
fn whatever_lies_at_the_heartbeats_name_stops_no_run() {
    let world = World::new();
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})));
    fs::create_dir(beat_path(&world)).unwrap();
    world.status();
    world.run().expect(0);
    fs::remove_dir(beat_path(&world)).unwrap();
    let elsewhere = world.out("elsewhere");
    fs::write(&elsewhere, "a person's").unwrap();
    std::os::unix::fs::symlink(&elsewhere, beat_path(&world)).unwrap();
    world.status();
    world.run().expect(0);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "a person's");
}

/// Another clock of the machine for who looks, in a time namespace: as after a night in which it slept.
#[test]
fn after_the_machine_slept_the_loop_is_asleep_and_not_hung() {
    let (world, mut run) = at_work();
    wait_for("a beat", || beat(&world).is_some());
    let status = |offset: &str| {
        let look = world.command(&["status", "--json"]);
        let mut beside = std::process::Command::new("unshare");
        beside.args(["--time", offset, "28800", "--fork"]);
        beside.arg(look.get_program()).args(look.get_args());
        beside.current_dir(world.repo()).env_clear();
        for (name, value) in look.get_envs() {
            beside.env(name, value.unwrap_or_default());
        }
        Running::of(beside).wait()
    };
    let slept = status("--boottime");
    if slept.code == Some(1) && slept.stderr.contains("unshare") {
        passed_over("a machine that slept", Lack::Machine(slept.stderr.trim()));
    } else {
        let slept = slept.expect(0).json();
        assert_eq!(slept["activity"], "asleep", "{slept}");
        assert!(slept["heartbeat"]["slept_ms"].as_u64().unwrap() > 28_000_000, "{slept}");
        world.descent(&["status"]).expect(0).shows("a loop is at work");
    }
    world.touch("go");
    run.wait().expect(0);
}
