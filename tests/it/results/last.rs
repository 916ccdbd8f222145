//! The tree of the last attempts of a run without success, beside the nearest one that it delivered.

use serde_json::json;

use crate::{
    planning::law,
    world::{World, plan, task},
};

/// An exhausted run: its second plan came nearer than its last.
fn exhausted() -> World {
    let plans = ["ten", "four", "nine"].map(law::takes);
    let world = law::world(&plans, json!({"planning": {"changes": 2}}));
    law::run(&world, 5);
    world
}

#[test]
fn apply_brings_the_nearest_tree_and_with_last_the_last() {
    let world = exhausted();
    let run = &world.state()["run"];
    assert!(run["delivered"].is_string() && run["delivered"] != run["head"], "{run}");
    let stat = |args: &[&str]| world.descent(args).expect(0).stdout;
    assert!(stat(&["diff"]).contains("+4\n"));
    assert!(stat(&["diff", "--last"]).contains("+9\n"));
    let shown = stat(&["diff", "--last", "--stat"]);
    assert!(shown.contains("next: descent apply --last -n"), "{shown}");
    world.descent(&["diff", "P", "--last"]).expect(2);

    let dry = world.descent(&["apply", "--last", "-n"]).expect(0);
    dry.shows("next: descent apply --last")
        .says("the tree of the last attempts; `descent apply` brings a nearer one");
    assert_eq!(world.read("n"), "12\n");
    let patch = stat(&["apply", "--last", "--patch", "-"]);
    assert!(patch.contains("+9\n"), "{patch}");
    stat(&["apply", "--last", "--branch", "last"]);
    assert_eq!(world.git(&["show", "last:n"]), "9\n");
    stat(&["apply", "--branch", "nearest"]);
    assert_eq!(world.git(&["show", "nearest:n"]), "4\n");
    stat(&["apply", "--last"]);
    assert_eq!(world.read("n"), "9\n");
}

#[test]
fn the_nearest_tree_comes_without_last() {
    let world = exhausted();
    let ran = world.descent(&["apply"]).expect(0);
    assert!(!ran.stderr.contains("last attempts"), "{}", ran.stderr);
    assert_eq!(world.read("n"), "4\n");
}

#[test]
fn where_both_are_one_tree_last_is_no_other() {
    let world = World::new();
    let plan = plan(&["test -e g"], json!({}), json!({"A": task("echo done > g")}));
    world.align(&plan);
    world.descent(&["diff", "--last"]).expect(1).says("there is no result yet");
    world.descent(&["apply", "--last"]).expect(0).shows("there is nothing to apply");
    world.run().expect(0);
    let ran = world.descent(&["apply", "--last"]).expect(0);
    assert!(!ran.stderr.contains("last attempts"), "{}", ran.stderr);
    assert_eq!(world.read("g"), "done\n");
}
