//! Keys: a server that repeats one leaves it nowhere, and an answer is acted on as it came or not at all.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use super::{KEY, Model, WIRES, align, configure, fragment, nothing_holds_the_key, run, start};
use crate::{
    support::{
        processes::{long_nap, processes},
        world::{Running, wait_for},
    },
    world::World,
};

#[test]
fn a_server_that_repeats_the_key_in_any_place_leaves_it_nowhere() {
    for (nth, (place, code, said)) in [
        ("answer", 69, "held the key"),
        ("escaped", 69, "held the key"),
        ("refusal", 5, "I cannot [key] help"),
        ("cut", 69, "xx"),
        ("event", 69, "xx"),
        ("kind", 69, "text/[key]"),
        ("redirect", 69, "elsewhere.example/[key]/v1"),
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::new();
        let fault = format!("echo-{place}");
        let model = Model::start(&world, &fragment(), &["--fault", &fault]);
        // The wire of Anthropic tells no words of a refusal.
        let (wire, base) = WIRES[1 + nth % 2];
        configure(&world, &model, wire, base, "");
        align(&world, json!({"max_attempts": 1}));
        let ran = run(&world);
        let state = world.state_text();
        assert_eq!(
            ran.code,
            Some(code),
            "{place}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(state.contains(said), "{place}: {state}");
        let asked = if said.contains("held") { 3 } else { 1 };
        assert_eq!(model.questions().len(), asked, "{place}");
        nothing_holds_the_key(&world, &ran);
        for args in [vec!["why", "N"], vec!["report"], vec!["doctor"]] {
            let shown = start(&world, &args).wait();
            nothing_holds_the_key(&world, &shown);
        }
    }
}

#[test]
fn the_models_that_a_server_lists_are_shown_without_the_key() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "echo-models"]);
    configure(&world, &model, "chat", "/v1", "");
    let shown = start(&world, &["doctor"]).wait();
    assert!(shown.stdout.contains("it has [key]"), "{}", shown.stdout);
    nothing_holds_the_key(&world, &shown);
}

#[test]
fn a_short_key_of_a_local_server_changes_no_answer() {
    let world = World::new();
    let answer =
        json!({"atoms": {"one": {"description": "make it", "action": {"run": "touch done"}}}});
    let model = Model::start_with(&world, &answer, "touch", &[]);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({"max_attempts": 1}));
    let mut command = world.command(&["run"]);
    command.env("THINKER_KEY", "touch");
    Running::of(command).wait().expect(0);
    assert!(world.state_text().contains("touch done"));
}

/// A configuration whose key is printed by a command.
fn by_command(world: &World, model: &Model, command: &str) {
    configure(world, model, "chat", "/v1", "");
    let text = world.read("descent.toml");
    let key = format!("{{command = \"{command}\"}}");
    world.write(
        "descent.toml",
        &text.replace("{env = \"THINKER_KEY\"}", &key),
    );
}

#[test]
fn the_command_of_a_key_runs_once_and_in_the_home_of_the_person() {
    let world = World::new();
    let model = Model::start(&world, &json!("no plan"), &[]);
    fs::write(world.root().join("home/key"), KEY).unwrap();
    by_command(&world, &model, "pwd >> where; cat key");
    align(&world, json!({"max_attempts": 2}));
    world.descent(&["run"]).expect(5);
    let home = world.root().join("home");
    let places = fs::read_to_string(home.join("where")).unwrap();
    assert_eq!(places, format!("{}\n", home.display()));
    fs::remove_file(home.join("where")).unwrap();
    world.descent(&["doctor"]);
    assert!(home.join("where").exists());
}

#[test]
fn a_command_of_a_key_that_hangs_delays_no_stop_and_ends_with_a_killed_loop() {
    for signal in [Signal::TERM, Signal::KILL] {
        let world = World::new();
        let model = Model::start(&world, &fragment(), &[]);
        let nap = long_nap();
        by_command(&world, &model, &format!("sleep {nap} & sleep {nap}"));
        align(&world, json!({}));
        let mut running = world.start(&["run"]);
        wait_for("the command", || {
            processes(&format!("sleep {nap}")).len() >= 2
        });
        let since = Instant::now();
        running.signal(signal);
        running.wait();
        assert!(
            since.elapsed() < Duration::from_secs(2),
            "{:?}",
            since.elapsed()
        );
        wait_for("its end", || processes(&format!("sleep {nap}")).is_empty());
        assert_eq!(model.questions().len(), 0);
    }
}

#[test]
fn a_command_of_a_key_that_prints_without_end_is_ended_at_the_limit() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    by_command(&world, &model, "yes");
    align(&world, json!({}));
    let since = Instant::now();
    world.descent(&["run"]).expect(69);
    assert!(since.elapsed() < Duration::from_secs(15));
    let result = world.state()["run"]["last_result"].clone();
    assert_eq!(result["code"], "E-KEY", "{result}");
    assert!(
        result.to_string().contains("prints more than 16 KiB"),
        "{result}"
    );
}
