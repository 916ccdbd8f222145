//! `stop`: what it proves, and how `--now` ends a loop that reads no request.

use std::{fs, path::PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::stop::napping;
use crate::agents::filters::{filtered, hangs_from_the_start, nothing_is_left};
use crate::begun::at_work;
use crate::world::{Running, World, plan, processes, task, wait_for, wait_for_or};

/// The shell of the attempt, its sleep, and the one in a session of its own.
const NAPPING: u64 = 3;

fn beat_path(world: &World) -> PathBuf {
    world.repo().join(".descent/state.json.d/heartbeat")
}

fn beat(world: &World) -> Option<Value> {
    serde_json::from_slice(&fs::read(beat_path(world)).ok()?).ok()
}

fn waits_for(world: &World) -> Value {
    beat(world).map_or(Value::Null, |beat| beat["waits_for"].clone())
}

#[test]
fn a_stop_says_how_many_processes_ended_how_long_it_took_and_in_which_commit() {
    let mut it = napping(json!({}));
    wait_for("both sleeps", || processes(&it.nap).len() >= 2);
    let stop = it.world.descent(&["stop", "--json"]).expect(0).json();
    it.run.wait().expect(3);
    let state = it.world.state();
    assert_eq!(stop["result"], "stopped");
    assert_eq!(stop["processes"], NAPPING, "{stop}");
    assert!(stop["ms"].as_u64().is_some_and(|ms| ms < 2_000), "{stop}");
    assert_eq!(stop["serial"], state["serial"]);
    assert_eq!(stop["signals"], json!([]));
    let ended = &state["run"]["stopped"];
    assert_eq!((&ended["processes"], &ended["ms"]), (&stop["processes"], &stop["ms"]));
    it.check_stopped_and_resumes();
    assert_eq!(it.world.state()["run"]["stopped"], Value::Null);
}

#[test]
fn the_proof_of_a_stop_is_shown_to_people_too() {
    let it = napping(json!({}));
    wait_for("both sleeps", || processes(&it.nap).len() >= 2);
    let stop = it.world.descent(&["stop"]).expect(0);
    stop.shows("stopped: 3 processes ended within ").shows("\nnext: descent run");
}

#[test]
fn a_stop_that_does_not_wait_is_told_to_a_program_too() {
    let mut it = napping(json!({}));
    let stop = it.world.descent(&["stop", "--no-wait", "--json"]);
    let stop = stop.expect(0).json();
    assert_eq!(stop["result"], "requested");
    assert_eq!((&stop["processes"], &stop["signals"]), (&Value::Null, &json!([])));
    it.run.wait().expect(3);
}

#[test]
fn a_loop_that_was_stopped_by_a_signal_is_continued_and_ended() {
    let mut it = napping(json!({}));
    it.run.signal(Signal::STOP);
    wait_for("it is hung", || it.world.status()["activity"] == "hung");
    let stop = it.world.descent(&["stop", "--now", "--json"]).expect(0).json();
    assert_eq!(stop["signals"], json!(["SIGTERM", "SIGCONT"]));
    it.run.wait();
    it.check_stopped_and_resumes();
}

#[test]
fn an_edit_that_a_stopped_loop_could_not_take_in_outlives_a_stop_now() {
    let mut it = napping(json!({}));
    it.run.signal(Signal::STOP);
    wait_for("it is hung", || it.world.status()["activity"] == "hung");
    it.world.replace_in_state("\"background_intent\": \"", "\"background_intent\": \"because ");
    it.world.descent(&["stop", "--now"]).expect(0);
    it.run.wait();
    assert!(it.world.state_text().contains("because "));
    it.check_stopped_and_resumes();
}

#[test]
fn a_loop_that_waits_for_its_file_is_ended_and_the_file_left_as_it_is() {
    let mut it = napping(json!({}));
    let whole = it.world.state_text();
    it.world.save("{\"version\": ");
    wait_for("it waits", || waits_for(&it.world) == "file");
    it.world
        .descent(&["stop", "--now"])
        .expect(0)
        .shows("stopped by SIGTERM, SIGCONT, since the loop read no request");
    it.run.wait();
    nothing_is_left(&it.nap);
    assert_eq!(it.world.state_text(), "{\"version\": ");
    it.world.save(&whole);
    it.world.touch("go");
    it.world.run().expect(0);
}

/// It ignores SIGTERM from its start, as a background job of some shells does.
#[test]
fn a_loop_that_ignores_the_signal_is_killed_and_nothing_of_it_goes_on() {
    let (world, nap) = (World::new(), crate::world::long_nap());
    let at = world.out("at").display().to_string();
    let action = format!("(setsid sleep {nap} &); echo x >> {at}; sleep {nap}");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&action)})));
    let mut deaf = world.bare_command("sh");
    let binary = env!("CARGO_BIN_EXE_descent");
    deaf.args(["-c", &format!("trap '' TERM; exec {binary} run")]);
    let mut run = Running::of(deaf);
    wait_for("the attempt", || !world.left("at").is_empty());
    let whole = world.state_text();
    world.save("{\"version\": ");
    wait_for("it waits", || waits_for(&world) == "file");
    let stop = world.descent(&["stop", "--now", "--json"]).expect(0).json();
    assert_eq!(stop["signals"], json!(["SIGTERM", "SIGCONT", "SIGKILL"]));
    nothing_is_left(&nap);
    assert_eq!(run.wait().signal, Some(9));
    world.save(&whole);
    world.replace_in_state(&format!("sleep {nap}\""), "touch done\"");
    world.run().expect(0);
}

#[test]
fn a_loop_that_has_not_begun_is_ended_with_the_filter_that_hangs_in_it() {
    let (world, nap) = hangs_from_the_start();
    let mut run = world.start(&["run"]);
    world.wait_for_file("hung");
    let stop = world.descent(&["stop", "--now", "--json"]).expect(0).json();
    assert_eq!(stop["signals"][0], "SIGTERM", "{stop}");
    assert_eq!(stop["processes"], Value::Null);
    run.wait();
    nothing_is_left(&nap);
    fs::remove_file(world.out("hang")).unwrap();
    world.run().expect(0);
}

/// A filter hangs as soon as the state says `completed`: the loop delivers then.
#[test]
fn a_loop_that_delivers_gets_no_kill_and_keeps_its_result() {
    let (world, nap) = filtered();
    let (state, hung) = (world.repo().join(".descent/state.json"), world.out("hung"));
    let filter = format!(
        "#!/bin/sh\nif grep -q '\"status\": \"completed\"' {}; then touch {}; exec sleep {nap}; fi\nexec cat\n",
        state.display(),
        hung.display()
    );
    world.program("filter", &filter);
    world.align(&plan(&["grep -q y x.slow"], json!({}), json!({"A1": task("echo y >> x.slow")})));
    let mut run = world.start(&["run"]);
    world.wait_for_file("hung");
    let stop = world.descent(&["stop", "--now", "--json"]).expect(0).json();
    assert_eq!(stop["signals"], json!(["SIGTERM", "SIGCONT"]), "{stop}");
    assert_eq!(run.wait().signal, Some(15));
    assert_eq!(world.state()["run"]["status"], "completed");
    nothing_is_left(&nap);
}

#[test]
fn no_process_gets_a_signal_that_only_has_the_number_of_the_loop() {
    let (world, run) = at_work();
    run.signal(Signal::STOP);
    wait_for("a whole heartbeat", || beat(&world).is_some());
    let mut other = beat(&world).expect("a whole heartbeat");
    other["start_ticks"] = json!(other["start_ticks"].as_u64().unwrap() + 1);
    fs::write(beat_path(&world), other.to_string()).unwrap();
    let stop = world.descent(&["stop", "--now"]).expect(75);
    stop.says(
        "error[E-LOOP-HUNG]: the loop reads no request, and its process is not known for certain",
    )
    .says(&format!("kill -9 {}", run.pid()));
    wait_for_or("it lives", || world.status()["live"] == true, String::new);
    run.kill();
}
