//! A choice or a result that a person takes back by hand. Not here: what the loop takes back by itself.

use serde_json::json;

use crate::world::{World, after, plan, task};

#[test]
fn a_selected_that_names_no_choice_is_a_fault_and_without_one_the_group_is_chosen_anew() {
    let world = World::new();
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left", "right"]},
        "left": task("echo left > way"),
        "right": task("echo right > way"),
    });
    world.align(&plan(&["grep -q right way"], json!({}), atoms));
    world.run().expect(0);
    let attempts = world.state()["run"]["spent"]["attempts"].clone();
    world.replace_in_state("\"selected\": \"right\"", "\"selected\": \"rihgt\"");
    world.descent(&["run"]).expect(65).says("`rihgt` is no choice").says("did you mean `right`?");
    world.replace_in_state("\"selected\": \"rihgt\", ", "");
    let ran = world.run().expect(0);
    assert_eq!(ran.count("corrected"), 1, "{}", ran.stdout);
    // The records against `left` still hold, and the result of `right` comes back without an attempt.
    assert_eq!(world.state()["run"]["spent"]["attempts"], attempts);
    assert_eq!(world.state()["work_graph"]["atoms"]["way"]["selected"], "right");
    assert_eq!(world.result_file("way"), "right\n");
}

/// `z` wants another value of `a` than its action gives.
fn wants_two() -> World {
    let world = World::new();
    let a = r#"echo made >> OUT; echo '{"summary": "one", "value": 1}' > "$DESCENT_RESULT"; date +%N > a"#;
    let a = a.replace("OUT", &world.out("made").display().to_string());
    let z = r#"grep -q '"value": 2' "$DESCENT_BINDINGS" && touch z"#;
    let atoms = json!({"a": task(&a), "z": after(&["a"], z)});
    world.align(&plan(&["test -e z"], json!({}), atoms));
    world.run().expect(5);
    world
}

#[test]
fn what_failed_with_a_result_that_a_person_overwrites_is_tried_again() {
    let world = wants_two();
    world.replace_in_state("\"value\": 1", "\"value\": 2");
    world.run().expect(0);
}

/// The bound counts it, and what failed with the result before is tried again.
#[test]
fn a_result_that_is_taken_out_is_made_again_though_what_was_made_from_it_had_failed() {
    let world = wants_two();
    let mut state = world.state();
    crate::whole_records::open(&mut state, "a");
    world.save_records(&state);
    let ran = world.run().expect(5);
    assert_eq!(world.left("made").lines().count(), 2, "made again");
    let lines = ran.lines();
    let started = |atom: &str| {
        let of_atom =
            |line: &&serde_json::Value| line["event"] == "attempt_started" && line["atom"] == atom;
        let all: Vec<_> = lines.iter().filter(of_atom).collect();
        (all.len(), all[0]["n"].clone(), all[0]["of"].clone())
    };
    let once = || (1, json!(1), json!(1));
    assert_eq!((started("a"), started("z")), (once(), once()));
    let bound = lines.iter().find(|line| line["event"] == "run_started").unwrap();
    assert_eq!(bound["attempts_left"], "2");
}

/// The base case holds on the tree with the first action's result, which nothing in the graph makes any more.
#[test]
fn a_tree_with_a_result_that_was_undone_or_is_asked_for_in_another_way_is_not_delivered() {
    for is_undone in [true, false] {
        let world = World::new();
        let of = |run: &str| plan(&["grep -q ok f"], json!({}), json!({"a": task(run)}));
        world.align(&of("echo ok > f; echo bad > evil"));
        world.run().expect(0);
        if is_undone {
            world.descent(&["undo", "1", "-y"]).expect(0);
        }
        world.align(&of("false"));
        world.run().expect(5);
        assert_eq!(world.result_file("evil"), "", "undone: {is_undone}");
    }
}

/// The base case is being measured on a tree with `unwanted` when a person takes it out and wants it no more.
#[test]
fn a_tree_that_is_being_judged_is_not_delivered_after_a_person_took_a_result_out_of_it() {
    let world = World::new();
    let waits = |begun: &str, until: &str| {
        let [begun, until] = [begun, until].map(|name| world.out(name).display().to_string());
        format!("touch {begun}; while [ ! -e {until} ]; do sleep 0.01; done")
    };
    let measured = format!("test -e unwanted && {{ {}; }}", waits("measured", "measure"));
    let slow = format!("{}; touch slow", waits("started", "work"));
    let atoms = json!({"a": task("touch unwanted"), "b": task(&slow)});
    world.align(&plan(&["test -e unwanted", &measured], json!({}), atoms));
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("measured");
    world.wait_for_file("started");
    world.descent(&["redirect", "not that", "--forget", "a", "-y"]).expect(0);
    world.descent(&["skip", "a"]).expect(0);
    world.touch("measure");
    world.touch("work");
    let ran = run.wait().expect(5);
    assert_eq!(ran.count("completed"), 0, "{}", ran.stdout);
    assert_eq!(world.descent(&["diff", "--json"]).expect(0).json()["files"][0]["path"], "slow");
}
