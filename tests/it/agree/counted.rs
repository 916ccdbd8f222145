//! A base case of a single yes or no, of which `align` says that a count would steer planners better.

use serde_json::{Value, json};

use crate::world::{World, plan, task};

const WORDS: &str = "the base case is a single yes or no: its distance is 0 or 1";

/// A plan with this base case, whose one step plans.
fn planned(base_case: &Value) -> Value {
    let step = json!({"kind": "plan", "description": "plan it", "action": {"run": "exit 1"}});
    with_base_case(base_case, json!({"P": step}))
}

fn with_base_case(base_case: &Value, atoms: Value) -> Value {
    let mut plan = plan(&[], json!({}), atoms);
    plan["objective"]["base_case"] = base_case.clone();
    plan
}

/// An agreement as it is shown, and its member `yes_or_no`.
fn shown(world: &World, plan: &Value) -> (String, Value) {
    let path = world.plan(plan);
    let page = world.descent(&["align", "-n", "-f", &path]).expect(0);
    let json = world.descent(&["align", "-n", "--json", "-f", &path]);
    (page.stdout, json.expect(0).json()["yes_or_no"].clone())
}

#[test]
fn a_single_yes_or_no_is_told_where_a_planner_is_or_may_be_asked() {
    let world = World::new();
    let check = json!({"command": "test -e done"});
    let count = json!({"command": "echo 1", "number": "(\\d+)", "at_most": 0});
    let (page, told) = shown(&world, &planned(&check));
    assert!(page.contains(WORDS), "{page}");
    assert_eq!(told["check"], "test -e done");
    let (page, _) = shown(&world, &planned(&json!({"file": "done"})));
    assert!(page.contains(WORDS), "{page}");
    let work = || json!({"A": task("touch done")});
    for none in [
        planned(&count),
        planned(&json!({"all": [check.clone(), count]})),
        planned(&json!({"all": [check.clone(), {"quality": "it is short"}]})),
        with_base_case(&check, work()),
    ] {
        let (page, told) = shown(&world, &none);
        assert!(!page.contains(WORDS), "{page}");
        assert_eq!(told, Value::Null, "{none}");
    }
    world.write("descent.toml", "[agents.k]\nrun = \"exit 1\"\n[roles]\nplanner = \"k\"\n");
    let (page, told) = shown(&world, &with_base_case(&check, work()));
    assert!(page.contains(WORDS), "{page}");
    assert_eq!(told["check"], "test -e done");
}
