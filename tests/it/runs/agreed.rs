//! A run does what was agreed: when it completes, which atoms it names as open, and which tree it delivers without
//! success.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

fn open(result: &Value) -> Vec<&str> {
    let open = result["open"].as_array().map(Vec::as_slice);
    let names = open.unwrap_or_default().iter();
    names.filter_map(|one| one["atom"].as_str()).collect()
}

#[test]
fn every_step_that_was_agreed_is_made_although_the_checks_hold_before() {
    let world = World::new();
    let atoms = json!({"S1": task("echo foo >f"), "S2": after(&["S1"], "sleep 0.3; echo '- foo' >CHANGELOG")});
    world.align(&plan(&["grep -q foo f"], json!({}), atoms));
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), [] as [&str; 0]);
    assert_eq!(world.result_file("CHANGELOG"), "- foo\n");
}

#[test]
fn with_finish_early_the_first_verdict_that_holds_ends_the_run_and_names_what_is_open() {
    let world = World::new();
    let atoms = json!({"S1": task("echo foo >f"), "S2": after(&["S1"], "sleep 20")});
    world.align(&plan(&["grep -q foo f"], json!({"finish_early": true}), atoms));
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), ["S2"]);
}

#[test]
fn a_base_case_that_holds_at_the_start_ends_the_run_and_names_the_steps_that_were_not_made() {
    let world = World::new();
    world.align(&plan(&["true"], json!({}), json!({"S1": task("touch s1")})));
    let ran = world.descent(&["run"]).expect(0);
    ran.shows("open    S1: run touch s1");
    let result = world.run().expect(0).result();
    assert_eq!((open(&result), &result["reason"]), (vec!["S1"], &json!("already_held")));
}

#[test]
fn at_a_dead_end_what_is_ready_is_done_and_the_run_completes_where_the_base_case_holds() {
    let world = World::new();
    let atoms = json!({
        "a": task("echo foo >f"),
        "b": task("exit 1"),
        "c": after(&["a"], "sleep 0.2; touch c"),
        "d": after(&["b"], "touch d"),
    });
    world.align(&plan(&["grep -q foo f"], json!({"max_parallel_agents": 1}), atoms));
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), ["b", "d"]);
    assert_eq!(result["open"][0]["reason"], "exit 1");
    assert_eq!(world.result_file("c"), "");
    // The same again: it is still completed, and nothing is tried.
    let again = world.run().expect(0);
    assert_eq!(again.count("attempt_started"), 0);
    assert_eq!(open(&again.result()), ["b", "d"]);
}

#[test]
fn a_step_that_is_added_to_a_completed_run_is_made_by_the_next() {
    let world = World::new();
    world.align(&plan(&["test -e a"], json!({}), json!({"A": task("touch a")})));
    world.run().expect(0);
    let mut state = world.state();
    state["work_graph"]["atoms"]["B"] = task("touch b");
    world.save_records(&state);
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), [] as [&str; 0]);
    assert_eq!(world.result_file("b"), "");
}

#[test]
fn an_exhausted_run_delivers_the_tree_on_which_most_checks_held() {
    let world = World::new();
    let atoms = json!({
        "way": {"kind": "any", "choices": ["nearly", "broken"]},
        "nearly": task("echo foo >f"),
        "broken": task("exit 1"),
    });
    world.align(&plan(&["grep -q foo f", "echo looking for bar; grep bar f"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(5);
    // The cause stands there, with what the failing check printed last.
    ran.shows("fail    echo looking for bar; grep bar f  (exit 1)\n          looking for bar")
        .shows("1 of 2 checks hold on it, made with way = nearly")
        .shows("next: descent why way");
    assert_eq!(world.result_file("f"), "foo\n");
    assert_eq!(world.status()["next"], "descent why way");
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("f"), "foo\n");
}

#[test]
fn a_check_that_could_not_be_decided_is_told_apart_from_one_that_failed() {
    let world = World::new();
    let constraints = json!({"max_transient": 0});
    world.align(&plan(&["no-such-program-here"], constraints, json!({"A": task("true")})));
    let ran = world.descent(&["run"]).expect(5);
    ran.shows("unknown no-such-program-here  (could not be decided: exit 127 (not found))");
}

#[test]
fn a_selection_whose_arrow_was_moved_is_judged_again() {
    let world = World::new();
    let atoms = json!({
        "a": task("echo a >>log"),
        "way": {"kind": "any", "choices": ["x", "y"]},
        "x": task("echo x >>log"),
        "y": task("echo y >>log"),
    });
    // Not with the choice that is in force in the end: the other one has to be taken once more.
    let check = "test \"$(tr -d '\\n' <log)\" = xa";
    let constraints = json!({"max_parallel_agents": 1});
    world.align(&plan(&[check], constraints, atoms));
    world.run().expect(5);
    // Both selections were refuted; now `a` comes after the choice.
    let mut state = world.state();
    let a = state["bindings"]["a"].take();
    let mut atom = a["of"].clone();
    atom["depends_on"] = json!(["way"]);
    state["bindings"].as_object_mut().unwrap().remove("a");
    atom["tries"] = json!([]);
    state["work_graph"]["atoms"]["a"] = atom;
    world.save_records(&state);
    world.run().expect(0);
}

#[test]
fn an_open_step_that_is_mended_is_made_by_the_next_run() {
    let world = World::new();
    let atoms = json!({"a": task("echo foo >f"), "b": task("touch b; exit 1")});
    world.align(&plan(&["grep -q foo f"], json!({}), atoms));
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), ["b"]);
    assert!(
        result["summary"].as_str().is_some_and(|text| text.ends_with("; 1 step open")),
        "{result}"
    );
    world.replace_in_state("touch b; exit 1\"", "touch b\"");
    let result = world.run().expect(0).result();
    assert_eq!(open(&result), [] as [&str; 0]);
}
