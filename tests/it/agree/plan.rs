//! Plans with faults: all of them at once, each with its place; nothing is written.

use serde_json::{Value, json};

use crate::world::{World, assert_same, listing, plan, task};

const FAULTY: &str = r#"{
  "objective": {
    "raw_input": "x", "goal": "g", "background_intent": "w",
    "base_case": {"all": [{"command": "true", "timeout": "soon"}, {"file": "x", "contains": "("}]},
    "constraints": {"max_attempts": "many"},
  },
  "work_graph": {"atoms": {
    "A1": {"kind": "task", "description": "d", "depends_on": ["A9"], "action": {"run": "true"}},
    "A2": {"kind": "any", "choices": []},
    "A2": {"kind": "task", "description": "d", "action": {"run": "true"}},
    "A3": {"kind": "task", "description": "d", "depends_on": ["A4"], "action": {"run": "true"}},
    "A4": {"kind": "task", "description": "d", "depends_on": ["A3"], "action": {"run": "true"}}
  }}
}
"#;

const PLACES: &[&str] =
    &[":4:58: ", ":4:93: ", ":5:37: ", ":5:44: ", ":8:63: ", ":9:38: ", ":10:5: ", ":11:11: "];

#[test]
fn a_plan_in_the_place_of_the_goal_is_told_by_its_flag() {
    let world = World::new();
    world.write("plan.json", "{}");
    world.descent(&["align", "plan.json"]).expect(2).says("descent align -f plan.json");
    // Words that only look like one are a goal.
    world.descent(&["align", "other.json", "-n"]).expect(4).says("E-NOT-ALIGNED");
}

#[test]
fn a_command_that_cannot_be_started_anywhere_is_told_before_anything_is_agreed() {
    let world = World::new();
    let long = format!("true {}", "x".repeat(128 << 10));
    let checked = plan(&["test -f done"], json!({}), json!({"A1": task(&long)}));
    world.write("plan.json", &checked.to_string());
    for args in [&["validate", "plan.json"][..], &["align", "-f", "plan.json", "-y"]] {
        let ran = world.descent(args).expect(65);
        ran.says("no command of more than 127 KiB can be started").says("write a script");
    }
    assert!(!world.state_path().exists());
}

#[test]
fn every_fault_of_a_plan_is_named_at_once_with_its_place() {
    let world = World::new();
    world.write("plan.json", FAULTY);
    let before = listing(&world.repo());
    let ran = world.descent(&["align", "-y", "-f", "plan.json"]).expect(65).says("E-INVALID");
    for place in PLACES {
        assert!(ran.stderr.contains(&format!("plan.json{place}")), "no {place} in {}", ran.stderr);
    }
    for words in ["duration", "A9", "A3 ", "max_attempts", "contains"] {
        assert!(ran.stderr.contains(words), "no {words} in {}", ran.stderr);
    }
    assert_same(&world.repo(), &before);
    let validated = world.descent(&["validate", "plan.json"]).expect(65);
    for place in PLACES {
        assert!(
            validated.stderr.contains(&format!("plan.json{place}")),
            "no {place} in {}",
            validated.stderr
        );
    }
}

#[test]
fn the_faults_of_a_plan_are_in_the_json_error_too() {
    let world = World::new();
    world.write("plan.json", FAULTY);
    let error = world.descent(&["align", "-y", "-f", "plan.json", "--json"]).expect(65).json();
    assert_eq!(error["schema"], "descent/error/1");
    assert_eq!(error["error"]["code"], "E-INVALID");
    assert!(error["error"]["details"].as_array().unwrap().len() >= 6, "{error}");
    assert!(!error["error"]["hint"].as_str().unwrap().is_empty());
}

fn good() -> Value {
    plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}))
}

#[test]
fn an_unknown_constraint_on_the_command_line_is_answered_with_the_one_that_was_meant() {
    let world = World::new();
    let path = world.plan(&good());
    world
        .descent(&["align", "-y", "-f", &path, "--set", "max_atempts=2"])
        .expect(2)
        .says("max_atempts")
        .says("did you mean `max_attempts`?");
    world
        .descent(&["align", "-y", "-f", &path, "--set", "max_attempts"])
        .expect(2)
        .says("no value");
    world
        .descent(&["align", "-y", "-f", &path, "--set", "max_attempts=lots"])
        .expect(2)
        .says("max_attempts");
    assert!(!world.repo().join(".descent").exists());
    world
        .descent(&[
            "align",
            "-y",
            "-f",
            &path,
            "--set",
            "max_attempts=2",
            "--set",
            "attempt_timeout=5m",
        ])
        .expect(0);
    assert_eq!(
        world.state()["objective"]["constraints"],
        json!({"max_attempts": 2, "attempt_timeout": "5m"})
    );
}

#[test]
fn a_misspelt_key_of_a_plan_is_a_fault_with_the_one_that_was_meant() {
    let world = World::new();
    let mut odd = good();
    odd["work_graph"]["atoms"]["A1"]["chekcs"] = json!("x");
    let path = world.plan(&odd);
    world.descent(&["validate", &path]).expect(65).says("did you mean `checks`?");
    world.try_align(&odd).expect(65);
    assert!(!world.state_path().exists());
}

#[test]
fn a_plan_comes_from_standard_input_too() {
    let world = World::new();
    let mut command = world.command(&["align", "-y", "-f", "-"]);
    command.stdin(std::fs::File::open(world.plan(&good())).unwrap());
    crate::world::Running::of(command).wait().expect(0);
    assert_eq!(world.state()["run"]["status"], "aligned");
}

#[test]
fn a_plan_that_is_not_there_or_no_text_is_an_error_and_not_a_panic() {
    let world = World::new();
    world.descent(&["align", "-y", "-f", "nowhere.json"]).expect(65).says("nowhere.json");
    std::fs::write(world.repo().join("odd.json"), [0xff, 0xfe, 0, b'{']).unwrap();
    world.descent(&["align", "-y", "-f", "odd.json"]).expect(65).says("odd.json:1:1");
    world.write("none.json", "");
    world.descent(&["align", "-y", "-f", "none.json"]).expect(65);
    assert!(!world.repo().join(".descent").exists());
}

#[test]
fn what_cannot_be_typed_is_a_usage_error() {
    let world = World::new();
    for args in [
        &["runn"][..],
        &["run", "--nope"],
        &["graph", "--format", "png"],
        &["-C", "nowhere", "status"],
    ] {
        world.descent(args).expect(2);
    }
    world.align(&good());
    world.descent(&["why", "A2"]).expect(2).says("did you mean `A1`?");
}

#[test]
fn what_no_shell_can_run_and_a_time_that_is_none_are_faults_of_the_plan() {
    let world = World::new();
    for (plan, place, words) in [
        (
            plan(&["false"], json!({}), json!({"A1": task("echo a\0b")})),
            "/work_graph/atoms/A1/action/run",
            "NUL",
        ),
        (
            plan(&["echo a\0b"], json!({}), json!({"A1": task("true")})),
            "/objective/base_case/all/0/command",
            "NUL",
        ),
        (
            plan(&["false"], json!({"setup": {"run": "a\0b"}}), json!({"A1": task("true")})),
            "/objective/constraints/setup",
            "NUL",
        ),
        (
            plan(&["false"], json!({"attempt_timeout": "0s"}), json!({"A1": task("true")})),
            "/objective/constraints/attempt_timeout",
            "no time at all",
        ),
        (
            plan(&["false"], json!({"budget": {"time": "0m"}}), json!({"A1": task("true")})),
            "/objective/constraints/budget/time",
            "no time at all",
        ),
    ] {
        let path = world.plan(&plan);
        let ran = world.descent(&["align", "-y", "-f", &path]).expect(65);
        ran.says(place).says(words);
        assert!(!world.state_path().exists(), "{place}");
    }
}

#[test]
fn a_flag_with_an_empty_text_is_refused_and_nothing_is_made() {
    let world = World::new();
    for flag in ["--check", "--step", "--protect", "--link", "--setup"] {
        let args = ["align", "-y", "g", "--why", "w", "--check", "false"];
        let args = [&args[..], &["--step", "s=true", flag, " "]].concat();
        world.descent(&args).expect(2).says(flag).says("empty");
        assert!(!world.state_path().exists(), "{flag}");
    }
}
