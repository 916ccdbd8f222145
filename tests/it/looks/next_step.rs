//! The command that is named next: it leads on, and what was done is not named again.

use serde_json::json;

use crate::world::{World, plan, task};

/// A completed run, with this file in its result.
fn completed() -> World {
    let world = World::new();
    let atoms = json!({"A": task("echo one > f")});
    world.align(&plan(&["grep -q one f"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world
}

#[track_caller]
fn assert_at_the_next_goal(world: &World) {
    assert_eq!(world.status()["next"], "descent align");
    world
        .descent(&["why", "A"])
        .expect(0)
        .shows("\nnext: descent align\n");
    world
        .descent(&["verify", "--result"])
        .expect(0)
        .shows("\nnext: descent align\n");
}

#[test]
fn after_apply_the_next_goal_is_named_whatever_becomes_of_the_files() {
    let world = completed();
    world.descent(&["apply", "-n"]).expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world.descent(&["apply"]).expect(0);
    assert_at_the_next_goal(&world);
    world
        .descent(&["run"])
        .expect(0)
        .shows("\nnext: descent align\n");
    world.write("f", "one and two\n");
    world.commit_all("more");
    assert_at_the_next_goal(&world);
}

#[test]
fn a_branch_of_the_result_is_as_good_as_its_files_and_a_patch_is_not() {
    let world = completed();
    world.descent(&["apply", "--patch", "../f.patch"]).expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world.descent(&["apply", "--branch", "done"]).expect(0);
    assert_at_the_next_goal(&world);
}

#[test]
fn a_newer_result_is_to_be_applied_again() {
    let world = completed();
    world.descent(&["apply"]).expect(0);
    world.replace_in_state("echo one", "echo one more");
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent apply");
}

#[test]
fn a_goal_that_held_already_leads_over_verify_to_the_next_goal() {
    let world = World::new();
    let atoms = json!({"A": task("echo one > f")});
    world.align(&plan(&["true"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent verify");
    world
        .descent(&["verify"])
        .expect(0)
        .shows("\nnext: descent align\n");
}

#[test]
fn the_explanation_of_a_cause_leads_to_a_change_and_not_back_to_status() {
    let world = World::new();
    let atoms = json!({"A": task("exit 3")});
    world.align(&plan(&["test -e f"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    assert_eq!(world.status()["next"], "descent why A");
    world
        .descent(&["why", "A"])
        .expect(0)
        .shows("\nnext: descent run --set max_attempts=2\n");
}
