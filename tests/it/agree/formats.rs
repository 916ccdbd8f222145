//! Faults of files: for a person, and for a program.

use serde_json::json;

use crate::world::{World, plan, task};

const PLAN: &str = "objective:\n  goal: it is so\n  background_intent: why\n  gaol: x\n  owner: ada\n  base_case:\n    all:\n      - comand: make test\nwork_graph:\n  atoms:\n    A1: {description: x, depends_on: [A2]}\n";

#[test]
fn a_byte_order_mark_before_json_is_passed_over() {
    let world = World::new();
    let step = "printf '\\357\\273\\277{\"summary\": \"told\"}' >$DESCENT_RESULT; touch one";
    let agreed = plan(&["test -e one"], json!({}), json!({"A1": task(step)}));
    world.write("plan.json", &format!("\u{feff}{agreed}"));
    world.descent(&["align", "-y", "-f", "plan.json"]).expect(0);
    let state = world.state_text();
    world.save(&format!("\u{feff}{state}"));
    world.descent(&["status"]).expect(0);
    world.run().expect(0);
    assert_eq!(world.state()["bindings"]["A1"]["summary"], "told");
}

#[test]
fn a_program_gets_every_fault_in_its_place_and_a_person_sees_the_place() {
    let world = World::bare();
    world.write("plan.yaml", PLAN);
    let told = world.descent(&["validate", "--json", "plan.yaml"]).expect(65).json();
    assert_eq!(told["valid"], false);
    for line in [4, 8, 11] {
        let is_there = |one: &serde_json::Value| one["line"] == line;
        assert!(told["faults"].as_array().unwrap().iter().any(is_there), "{line}: {told}");
    }
    let seen = world.descent(&["validate", "plan.yaml"]).expect(65);
    seen.says("\n    11 |     A1: {description: x, depends_on: [A2]}\n       |                                       ^\n");
}
