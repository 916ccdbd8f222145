//! The first half of a state file is a plan; its own form is the flat one.

use serde_json::json;

use crate::world::{World, after, plan, task, with};

/// The ids of the atoms, in the order of the file.
fn order(world: &World) -> Vec<String> {
    let text = world.state_text();
    let graph = text.split("\"work_graph\"").nth(1).expect("a graph");
    let lines = graph.lines().take_while(|line| !line.starts_with('"'));
    let id = |line: &str| Some(line.strip_prefix("  \"")?.split('"').next()?.to_owned());
    lines.filter_map(id).collect()
}

#[test]
fn the_first_half_of_a_state_is_a_plan_and_gives_the_same_graph() {
    let first = World::new();
    let atoms = json!({
        "z": task("touch z"),
        "way": {"choices": [with(task("false"), json!({"id": "hard"})),
            with(task("touch way"), json!({"id": "easy"}))], "depends_on": ["z"]},
        "a": after(&["way"], "touch a"),
    });
    first.align(&plan(&["test -e a"], json!({}), atoms));
    let begun = order(&first);
    first.run().expect(0);
    let file = first.file();
    let half = json!({"objective": file["objective"], "work_graph": file["work_graph"]});
    let second = World::new();
    let ran = second.try_align(&half).expect(0);
    assert_eq!(ran.stderr.matches("warning:").count(), 1, "{}", ran.stderr);
    ran.says("left out: `status` of z, way, hard and 2 more; `selected` of way\n");
    assert_eq!((order(&second), order(&second)), (order(&first), begun));
    let mut bare = file["work_graph"].clone();
    for atom in bare["atoms"].as_object_mut().unwrap().values_mut() {
        let atom = atom.as_object_mut().unwrap();
        atom.remove("status");
        atom.remove("selected");
    }
    assert_eq!(second.file()["work_graph"], bare);
    assert_eq!(second.file()["objective"], file["objective"]);
    // The whole file says more, and all of it is named.
    let told = World::new().try_align(&file).expect(0);
    told.says("`bindings` of a, easy, z; `trail`; `run`; `internal`\n");
}

#[test]
fn a_nested_form_in_a_state_is_a_fault_that_prints_the_flat_one() {
    let world = World::new();
    let atoms = json!({"way": {"choices": ["left"]}, "left": task("touch a")});
    world.align(&plan(&["test -e a"], json!({}), atoms));
    let text = world.state_text();
    let flat = "\"choices\": [\"left\"]";
    let nested = "\"choices\": [\"left\", {\"id\": \"right\", \"action\": {\"run\": \"true\"}}]";
    world.save(&text.replace(flat, nested));
    let ran = world.descent(&["validate"]).expect(65).says("/work_graph/atoms/way/choices");
    ran.says("write \"choices\": [\"left\", \"right\"], and beside `way`: \"right\": {…}");
}
