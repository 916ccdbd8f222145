//! The kind of task, the passes that it allows, and the final answer of every ending.

use serde_json::{Value, json};

use crate::world::{World, plan, task};

/// A step whose planner prints another plan each time, none of which reaches the goal.
fn never(world: &World) -> Value {
    let calls = world.out("calls").display().to_string();
    let script = format!(
        "#!/bin/sh\necho call >> {calls}\nn=$(wc -l < {calls})\n\
         echo '{{\"atoms\": {{\"a\": {{\"description\": \"try '$n'\", \"action\": {{\"run\": \"echo '$n' > tried\"}}}}}}}}'\n"
    );
    let path = world.program("planner", &script);
    json!({"kind": "plan", "description": "plan it", "action": {"run": path.display().to_string()}})
}

fn align(world: &World, limits: Value) {
    let step = never(world);
    world.align(&plan(&["test -e done"], limits, json!({"N": step})));
}

#[test]
fn a_run_has_the_passes_that_its_profile_is_worth_and_says_when_they_are_over() {
    let world = World::new();
    align(&world, json!({"profile": "depth=3", "judging": "code"}));
    let ran = world.run().expect(5);
    let result = ran.result();
    assert_eq!((&result["reason"], &result["expired"]), (&json!("passes"), &json!("boundary")));
    // The first plan, and two more.
    assert_eq!(world.left("calls").lines().count(), 3);
    let passes = world.state()["run"]["passes"].clone();
    assert_eq!(passes, json!({"allocated": 3, "begun": 3}));
    world.descent(&["status"]).shows("passes   3 of 3 (at most 11)");
    // A person allows more: it goes on, and what was tried stays tried.
    world.descent(&["run", "--set", "profile=depth=4", "--json"]).expect(5);
    assert_eq!(world.left("calls").lines().count(), 4);
}

#[test]
fn the_proposed_move_after_the_last_pass_gives_another() {
    for (limits, wanted) in [
        (
            json!({"profile": "depth=2,confidence=low"}),
            "descent run --set profile=confidence=low,depth=4",
        ),
        (
            json!({"profile": "depth=3", "planning": {"passes": 3}}),
            "descent run --set planning.passes=6 --set profile=depth=4",
        ),
        (
            json!({"profile": "depth=5", "planning": {"passes": 1}}),
            "descent run --set planning.passes=2",
        ),
    ] {
        let world = World::new();
        align(&world, limits);
        let ran = world.run().expect(5);
        let moves = &ran.result()["next_moves"];
        assert_eq!(moves[0], json!(wanted), "{moves}");
        let before = world.left("calls").lines().count();
        let mut words: Vec<&str> = wanted.split(' ').skip(1).collect();
        words.push("--json");
        world.descent(&words).expect(5);
        assert!(world.left("calls").lines().count() > before, "{wanted}");
    }
}

#[test]
fn without_a_profile_only_the_limit_of_changes_counts() {
    let world = World::new();
    align(&world, json!({"planning": {"changes": 1, "refinements": 1}}));
    let ran = world.run().expect(5);
    assert_eq!(ran.result()["reason"], "no_choice");
    assert!(world.state()["run"].get("passes").is_none());
    let world = World::new();
    align(&world, json!({"planning": {"passes": 1}}));
    let ran = world.run().expect(5);
    assert_eq!(ran.result()["reason"], "passes");
    assert_eq!(world.left("calls").lines().count(), 1);
}

#[test]
fn a_profile_is_shown_before_it_is_agreed_to_and_a_wrong_one_is_a_fault_with_its_place() {
    let world = World::new();
    let step = never(&world);
    let mut wanted = plan(
        &["test -e done"],
        json!({"profile": "depth=4,information=0.3,breadth=broad,confidence=high"}),
        json!({"N": step}),
    );
    let shown = world.try_align(&wanted).expect(0).stdout.replace("\n         ", "");
    for words in ["profile: depth 4, information 0.3", ": 11 passes", "judging full"] {
        assert!(shown.contains(words), "no `{words}` in:\n{shown}");
    }
    wanted["objective"]["constraints"]["profile"] = json!("dept=4");
    let path = world.plan(&wanted);
    let refused = world.descent(&["align", "-y", "--force", "-f", &path]).expect(65);
    refused.says("/objective/constraints/profile").says("did you mean `depth`?");
}

#[test]
fn every_ending_has_an_answer_in_words_that_says_what_holds_and_what_is_open() {
    let world = World::new();
    let atoms = json!({"A": task("echo a > a"), "B": task("echo no such place; exit 3")});
    world.align(&plan(&["test -e a", "test -e b"], json!({}), atoms));
    let ran = world.run().expect(5);
    let output = ran.result()["output"].clone();
    let text = output["text"].as_str().unwrap();
    for words in [
        "Asked: ",
        "1 of 2 checks hold",
        "Not there yet: test -e b (fail).",
        "Done: A: ",
        "Open: B: ",
    ] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    assert_eq!((&output["confidence"], &output["by"]), (&json!(0.5), &json!("code")));
    assert_eq!(output["used"], json!(["A"]));
    let world = World::new();
    world.align(&plan(&["test -e a"], json!({}), json!({"A": task("echo a > a")})));
    let output = world.run().expect(0).result()["output"].clone();
    assert_eq!(output["confidence"], json!(1));
    assert!(!output["text"].as_str().unwrap().contains("Open:"), "{output}");
}

#[test]
fn what_a_blocked_attempt_found_out_is_kept_and_other_words_open_its_atom_again() {
    let world = World::new();
    let report = r#"{"clarity": "BLOCKED", "summary": "no key", "value": {"wants": "K"}, "handoff": "ask Ada"}"#;
    let script = format!(
        "if grep -q 'use the old key' \"$DESCENT_PROMPT\"; then touch done; else echo '{report}' > \"$DESCENT_RESULT\"; fi"
    );
    let path = world.program("worker", &format!("#!/bin/sh\n{script}\n"));
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    let atoms = json!({"A": {"description": "sign it"}});
    world.align(&plan(&["test -e done"], json!({}), atoms));
    world.run().expect(5);
    let atom = world.state()["work_graph"]["atoms"]["A"].clone();
    assert_eq!((&atom["status"], &atom["because"]), (&json!("invalid"), &json!("no key")));
    assert_eq!(atom["output"], json!({"value": {"wants": "K"}, "handoff": "ask Ada"}));
    world.replace_in_state("sign it", "sign it, use the old key");
    world.run().expect(0);
}
