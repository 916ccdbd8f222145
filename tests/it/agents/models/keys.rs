//! Keys: a server that repeats one leaves it nowhere, and an answer is acted on as it came or not at all.

use serde_json::json;

use super::{Model, WIRES, align, configure, fragment, nothing_holds_the_key, run, start};
use crate::{support::world::Running, world::World};

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
