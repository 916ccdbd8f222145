//! A choice that a person takes back by hand. Not here: what the loop takes back by itself.

use serde_json::json;

use crate::world::{World, plan, task};

#[test]
fn a_selected_that_names_no_choice_leaves_the_tree_and_the_group_is_chosen_anew() {
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
    world
        .descent(&["validate"])
        .expect(0)
        .says("read as null")
        .says("did you mean `right`?");
    let ran = world.run().expect(0);
    assert_eq!(ran.count("corrected"), 1, "{}", ran.stdout);
    // What is recorded against `left` still holds, and the result of `right` comes back without an attempt.
    assert_eq!(world.state()["run"]["spent"]["attempts"], attempts);
    assert_eq!(
        world.state()["work_graph"]["atoms"]["way"]["selected"],
        "right"
    );
    assert_eq!(world.result_file("way"), "right\n");
}
