//! The edits that people make, each with the line that says what it does, or what is wrong with it.
//!
//! The state is the one of `docs/state-file.md`, completed.

use serde_json::json;

use crate::{kept::Kept, world::World};

const STOP: &str = "a request by hand";

fn completed() -> World {
    let world = World::new();
    world.align(&json!({
        "objective": {
            "goal": "the page greets and has a style",
            "background_intent": "visitors ask for it",
            "base_case": {"all": [
                {"name": "greets", "command": "grep -q hello index.html"},
                {"name": "styled", "file": "style.css"},
            ]},
        },
        "work_graph": {"atoms": {
            "page": {
                "description": "Write the page",
                "action": {"run": "echo hello > index.html"},
                "checks": {"file": "index.html"},
            },
            "style": {"depends_on": ["page"], "choices": {
                "fancy": {"description": "Fancy style", "action": {"run": "false"}},
                "plain": {"description": "Plain style", "action": {"run": "echo x > style.css"}},
            }},
        }},
    }));
    world.run().expect(0);
    world
}

/// `status` says it before the next run takes it in, and `run` says it when it does, with the same words.
fn check(world: &World, edits: &[(&str, &str)], line: &str) {
    edits.iter().for_each(|(from, to)| world.replace_in_state(from, to));
    let flat = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let status = flat(&world.descent(&["status"]).expect(0).stdout);
    assert!(status.contains(line), "no `{line}` in {status}");
    // A stop of nothing leads nowhere.
    let leads_on = line != STOP;
    assert_eq!(status.ends_with("next: descent run"), leads_on, "{status}");
    let ran = flat(&world.descent(&["run"]).stdout);
    assert!(ran.contains(&format!("edited {line}")), "no `{line}` in {ran}");
}

/// The file stays as it is, and both commands name the place and what is meant.
fn refuse(from: &str, to: &str, line: &str) {
    let world = completed();
    world.replace_in_state(from, to);
    let saved = world.state_bytes();
    world.descent(&["status"]).says(line);
    world.run().expect(65).says(line);
    assert_eq!(world.state_bytes(), saved);
}

#[test]
fn each_of_twelve_edits_is_said_before_it_is_taken_in_and_then() {
    let fancy = "  \"fancy\": {\"description\": \"Fancy style\", \"action\": {\"run\": \"false\"}, \"status\": \"failed\"},\n";
    let world = completed();
    let kept = Kept::of(&world.root());
    check(
        &world,
        &[(fancy, ""), ("[\"fancy\", \"plain\"]", "[\"plain\"]")],
        "removed fancy; changed style: choices: fancy, plain → plain",
    );
    for (from, to, line) in [
        (
            "\"goal\": \"the page greets and has a style\"",
            "\"goal\": \"the page welcomes\"",
            "goal: the page greets and has a style → the page welcomes",
        ),
        (
            "\"file\": \"style.css\"}]",
            "\"file\": \"style.css\"}, {\"file\": \"logo.svg\"}]",
            "checks added: file logo.svg",
        ),
        (
            "grep -q hello index.html",
            "test -e index.html",
            "check greets: grep -q hello index.html → test -e index.html",
        ),
        (
            "\"work_graph\": {\"atoms\": {",
            "\"work_graph\": {\"atoms\": {\"logo\": {\"action\": {\"run\": \"touch logo\"}},",
            "added logo",
        ),
        ("\"selected\": \"plain\"", "\"selected\": \"fancy\"", "changed style: plain → fancy"),
        (
            "\"checks\": {\"file\": \"index.html\"}, \"status\": \"resolved\"",
            "\"checks\": {\"file\": \"index.html\"}, \"status\": \"pending\"",
            "bindings forgotten: page",
        ),
        (
            "\"bindings\": {\n  \"page\": {\"summary\"",
            "\"bindings\": {\"fancy\": {\"summary\": \"done by me\"},\n  \"page\": {\"summary\"",
            "result of fancy: done by me",
        ),
        (
            "\"objective\": {",
            "\"objective\": {\"constraints\": {\"budget\": {\"time\": \"2h\"}}, ",
            "budget.time: default → 2h",
        ),
        ("\"stop_requested\": false", "\"stop_requested\": true", STOP),
    ] {
        kept.put(&world.root());
        check(&world, &[(from, to)], line);
    }
}

#[test]
fn a_misspelt_key_and_a_missing_brace_wait_for_the_person() {
    refuse(
        "\"description\": \"Write the page\"",
        "\"descripton\": \"Write the page\"",
        "unknown key `descripton` (did you mean `description`?)",
    );
    refuse(
        "\"checks\": {\"file\": \"index.html\"},",
        "\"checks\": {\"file\": \"index.html\",",
        "is not closed here (add a `}`)",
    );
}
