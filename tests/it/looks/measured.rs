//! The verdicts that are shown: each is of this very check, on the result as it is.

use serde_json::{Value, json};

use crate::world::{World, plan, task};

fn agreement(command: &str, atoms: Value) -> Value {
    let mut agreed = plan(&["true"], json!({}), atoms);
    agreed["objective"]["base_case"] = json!({"all": [{"name": "all", "command": command}]});
    agreed
}

fn completed() -> World {
    let world = World::new();
    world.align(&agreement("test -e fa", json!({"A": task("touch fa fb")})));
    world.run().expect(0);
    assert_shown(&world, Some("pass"));
    world
}

/// The verdict of the only check, in each view that has it.
#[track_caller]
fn assert_shown(world: &World, verdict: Option<&str>) {
    let expected = verdict.map_or(Value::Null, Value::from);
    assert_eq!(world.status()["base_case"][0]["verdict"], expected);
    let report = world.descent(&["report", "--json"]).expect(0).json();
    assert_eq!(report["agreement"]["base_case"][0]["verdict"], expected, "{report}");
    let row = match verdict {
        Some(_) => "checks   pass     all  ",
        None => "checks   -        all  not evaluated yet",
    };
    world.descent(&["status"]).expect(0).shows(row);
}

#[test]
fn a_check_with_another_command_under_its_old_name_is_not_evaluated() {
    let world = completed();
    let atoms = json!({"A": task("touch fa fb"), "B": task("touch fc")});
    world.align(&agreement("test -e fb", atoms));
    assert_shown(&world, None);
    world.run().expect(0);
    assert_shown(&world, Some("pass"));
}

#[test]
fn a_check_that_was_edited_by_hand_is_not_evaluated() {
    let world = completed();
    world.replace_in_state("test -e fa", "test -e fb");
    assert_shown(&world, None);
}

#[test]
fn what_is_past_or_repeats_the_checks_is_not_shown_beside_the_present_agreement() {
    let world = World::new();
    world.align(&plan(&["test -e fa"], json!({}), json!({"A": task("touch fa fb")})));
    world.run().expect(0).shows("completed");
    let shown = |words: &str| {
        let ran = world.descent(&["status"]).expect(0);
        ran.stdout.contains(words)
    };
    assert!(shown("\nended    completed"));
    world.replace_in_state("test -e fa", "test -e fb");
    assert!(shown("edited by hand") && !shown("gave way"));
    let goal = ["redirect", "--goal", "other", "-y"];
    world.descent(&goal).expect(0);
    assert!(shown("aligned: other") && !shown("\nended "));
}

#[test]
fn a_check_under_another_name_is_the_same_check() {
    let world = completed();
    world.replace_in_state("\"name\": \"all\"", "\"name\": \"whole\"");
    let known = world.state();
    let base_case = &known["run"]["judged"]["evidence"][0];
    assert_eq!(base_case["check"], "all");
    world.descent(&["status"]).expect(0).shows("whole");
}

#[test]
fn after_undo_a_verdict_on_other_files_is_not_shown() {
    let world = completed();
    world.descent(&["undo", "1", "-y"]).expect(0);
    assert_shown(&world, None);
}

#[test]
fn the_share_of_an_atoms_checks_is_of_its_checks_as_they_are() {
    let world = World::new();
    let checks = |command: &str| json!({"name": "own", "command": command});
    let mut atom = task("touch fa");
    atom["checks"] = checks("test -e fb");
    world.align(&plan(&["test -e fa"], json!({"max_attempts": 1}), json!({"A": atom})));
    world.run().expect(5);
    let why = |world: &World| world.descent(&["why", "A", "--json"]).expect(0).json();
    assert_eq!(why(&world)["confidence"], json!({"held": 0, "of": 1}));
    world.replace_in_state("test -e fb", "test -e fa");
    assert_eq!(why(&world)["confidence"], Value::Null);
}
