//! Whole prompts in five situations, kept as they are to be read.

use serde_json::{Value, json};

use crate::{
    snapshot::assert_kept,
    world::{Running, World, plan, wait_for, with},
};

/// A world whose worker does what `script` says. `OUT` is the place outside.
fn world(script: &str) -> World {
    let world = World::new();
    let out = world.root().join("out").display().to_string();
    let path = world.program("worker", &format!("#!/bin/sh\n{script}\n").replace("OUT", &out));
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    world
}

/// The objective of all five.
fn agree(world: &World, constraints: Value, atoms: Value) {
    let mut plan = plan(&["test -e done"], constraints, atoms);
    let objective = &mut plan["objective"];
    objective["raw_input"] =
        json!("The importer drops rows with commas. Please fix that, without touching the tests.");
    objective["goal"] = json!("the importer keeps every row");
    objective["background_intent"] = json!("customers lose orders");
    objective["deliverables"] = json!("a fixed importer");
    objective["scope"] = json!({"in": ["src/import"], "out": ["the exporter"]});
    objective["clarifications"] =
        json!([{"question": "Which quoting?", "resolution": "that of RFC 4180"}]);
    world.align(&plan);
}

#[track_caller]
fn check(world: &World, name: &str, atom: &str) -> String {
    let text = world.descent(&["why", atom, "--prompt"]).expect(0).stdout;
    let mut day = text.lines().filter(|line| line.starts_with("Today is "));
    let day = day.next().expect("a day");
    assert_kept(world, name, &text.replacen(day, "Today is <day>.", 1));
    text
}

#[test]
fn the_first_attempt_of_an_atom_that_stands_alone() {
    let world = world("touch done");
    let atom = json!({"description": "Make the reader keep quoted commas", "timeout": "10m",
        "checks": {"all": [{"name": "unit tests", "command": "make test"}, {"any": [
            {"command": "bench", "number": "rows/s: (\\d+)", "at_least": 100}, {"file": "WAIVER", "contains": "slow"}]}]},
        "output_schema": {"type": "object", "required": ["rows"]}});
    agree(&world, json!({"protected": ["tests/**"]}), json!({"reader": atom}));
    check(&world, "prompt-first", "reader");
}

#[test]
fn a_choice_after_two_that_were_tried() {
    let world = world(
        "[ $DESCENT_ATOM = third ] && exit 1; [ $DESCENT_ATOM = first ] && { echo no such crate; exit 3; }; touch second",
    );
    let atoms = json!({"parse": {"description": "Parse the rows", "choices": [
        {"id": "first", "description": "with a library"},
        {"id": "second", "description": "with a state machine"},
        {"id": "third", "description": "with a generated parser"},
    ]}});
    agree(&world, json!({"max_attempts": 1}), atoms);
    world.run().expect(5);
    check(&world, "prompt-choice", "third");
}

#[test]
fn a_part_of_a_group_beside_others_at_work() {
    let world = world(
        "case $DESCENT_ATOM in
         model) echo '{\"summary\": \"rows are in src/row.rs\", \"handoff\": \"mind the header\", \"value\": {\"fields\": 7}}' > $DESCENT_RESULT
           echo row > row.rs;;
         *) touch OUT/$DESCENT_ATOM; while ! test -e OUT/go; do sleep 0.02; done; touch done $DESCENT_ATOM;;
         esac",
    );
    let part =
        |id: &str, words: &str| json!({"id": id, "description": words, "depends_on": "model"});
    let atoms = json!({"work": {"description": "The importer in parts", "parts": [
        {"id": "model", "description": "Describe a row"},
        part("reader", "Read the file"), part("writer", "Write the table"), part("errors", "Tell faults with their lines"),
        {"id": "docs", "description": "Tell users", "depends_on": ["reader", "errors"]},
    ]}});
    agree(&world, json!({"max_parallel_agents": 2}), atoms);
    let mut run = Running::of(world.command(&["run"]));
    wait_for("two parts at work", || {
        ["reader", "writer", "errors"].iter().filter(|name| world.out(name).exists()).count() == 2
    });
    let waiting = ["reader", "writer", "errors"].into_iter().find(|name| !world.out(name).exists());
    check(&world, "prompt-part", waiting.expect("one waits"));
    world.touch("go");
    assert_eq!(run.wait().code, Some(0));
}

/// All that an agent needs to know of what was tried.
#[test]
fn the_third_attempt_after_one_that_was_wrong_and_one_that_ran_out_of_time() {
    let world = world(
        "case $DESCENT_ATTEMPT in
         1) echo 'split(\",\")' > reader.py; echo '{\"summary\": \"split at commas\", \"handoff\": \"quotes are open\"}' > $DESCENT_RESULT;;
         2) echo working; echo half > half.py; sleep 600;;
         esac",
    );
    let atom = json!({"description": "Make the reader keep quoted commas", "timeout": "3s",
        "checks": {"all": [{"name": "quotes", "command": "echo 'row 3: expected 4 fields, got 5'; exit 1"}]}});
    agree(&world, json!({"max_attempts": 2}), json!({"reader": atom}));
    world.run().expect(5);
    world.descent(&["redirect", "-y", "--set", "max_attempts=3"]).expect(0);
    let text = check(&world, "prompt-third", "reader");
    for words in [
        "Go another way than reader.1: the same again would fail again.",
        "The way of reader.2 may be right: it was hindered",
        "You begin from a clean tree",
        "reader.1 failed",
        "(it changed reader.py)",
        "(checks that did not hold: quotes)",
        "row 3: expected 4 fields, got 5",
        "split at commas",
        "quotes are open",
        "earlier-2.patch",
        "reader.2 was hindered: timed out",
        "(it changed half.py)",
    ] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
}

#[test]
fn after_a_timeout_alone_nobody_is_told_to_go_another_way() {
    let world = world("sleep 600");
    let atom = json!({"description": "Make the reader keep quoted commas", "timeout": "100ms"});
    agree(&world, json!({"max_attempts": 1}), json!({"reader": atom}));
    world.run().expect(5);
    let text = world.descent(&["why", "reader", "--prompt"]).expect(0).stdout;
    assert!(text.contains("was hindered: timed out"), "{text}");
    assert!(!text.to_lowercase().contains("go another way"), "{text}");
}

#[test]
fn with_a_persons_guidance_and_a_cause_that_several_atoms_share() {
    let script = "touch half.txt; echo 'registry.example: connection refused' >&2; exit 1";
    let world = world(script);
    let atom = |words: &str| with(json!({"description": words}), json!({}));
    let atoms =
        json!({"a": atom("Read the file"), "b": atom("Write the table"), "c": atom("Tell users")});
    agree(&world, json!({"max_attempts": 1}), atoms);
    world.run().expect(5);
    let words = "The registry moved to port 8443.\nUse the mirror if it is down.";
    world.descent(&["guide", words, "--for", "b"]).expect(0);
    check(&world, "prompt-guided", "b");
}
