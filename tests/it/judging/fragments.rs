//! The rules that speak of a planner's plan alone: what failed there before, and what has no part in its target.
//!
//! Not here: the rules that plans of a person meet too (`planted`).

use serde_json::{Value, json};

use super::gate::{Judged, fragment, good};
use crate::world::{World, plan, task};

/// A group with two ways, of which the first failed in the plan before.
fn ways(first: Value) -> Value {
    let second = json!({"description": "make it well", "action": {"run": "echo made > done"}});
    json!({"atoms": {
        "way": {"kind": "any", "choices": ["one", "two"]}, "one": first, "two": second}})
}

#[test]
fn a_choice_that_failed_in_the_plan_before_is_refused_and_the_planner_is_told() {
    let failing = fragment("make it badly", "exit 3");
    let again = ways(failing["atoms"]["one"].clone());
    let limits = json!({"judging": "code", "max_attempts": 2, "planning": {"refinements": 1}});
    let judged = Judged::new(&[failing, again, good()], limits);
    let ran = judged.world.run().expect(0);
    let lines = ran.lines();
    let failed = |line: &&Value| line["event"] == "attempt_failed" && line["atom"] == "N";
    let refused: Vec<String> = lines.iter().filter(failed).map(Value::to_string).collect();
    let [refused] = &refused[..] else {
        panic!("{refused:?}");
    };
    let words = "/atoms/one: the very same was tried here, and failed [tried]";
    assert!(refused.contains(words), "{refused}");
    let told = judged.world.left("planner.3");
    assert!(told.contains(words), "{told}");
    assert!(told.contains("go another way, by what it failed with"), "{told}");
    let started = |line: &&Value| line["event"] == "attempt_started";
    let badly = lines.iter().filter(started).filter(|line| line["atom"] == "N-2");
    assert_eq!(badly.count(), 1, "nothing of the refused plan is tried");
}

#[test]
fn a_part_that_has_no_part_in_the_target_of_its_plan_is_told_and_done() {
    for (target, rules) in [(json!("F"), json!(["no-part"])), (Value::Null, json!([]))] {
        let world = World::new();
        world.write("descent.toml", "agents.worker.run = \"true\"\nroles.worker = \"worker\"\n");
        let fragment = json!({"atoms": {
            "joke": {"description": "tell a joke"},
            "one": {"description": "make the file", "touches": ["done"], "action": {"run": "echo made > done"}}}});
        let mut step = json!({"kind": "plan", "description": "plan how the file done is made",
            "action": {"run": format!("echo '{fragment}'")}});
        if target.is_string() {
            step["convergence_target"] = target.clone();
        }
        let mut last = task("test -e done");
        last["depends_on"] = json!(["N"]);
        last["checks"] = json!({"command": "test -e done"});
        world.align(&plan(&["test -e done"], json!({}), json!({"N": step, "F": last})));
        world.run().expect(0);
        let report = world.descent(&["report", "--json"]).expect(0).json();
        let issues = report["answers"][0]["answer"]["issues"].as_array();
        let issues = issues.cloned().unwrap_or_default();
        let found: Vec<&Value> = issues.iter().map(|issue| &issue["rule"]).collect();
        assert_eq!(json!(found), rules, "{report}");
        if let Some(issue) = issues.first() {
            assert_eq!(issue["severity"], "medium");
            assert_eq!(issue["location"], "N-1");
            assert_eq!(issue["type"], "relevance");
        }
    }
}
