//! A worker that fails twice alike rests while another choice is left, and goes on when none is.

use serde_json::{Value, json};

use crate::{
    agents::workers::{by_worker, world},
    world::{World, plan, task},
};

/// Fails alike, though its output has another number and directory each time.
const ALIKE: &str = "{ echo \"/tmp/$$/x.rs:$$: refused\"; exit 1; }";

/// A group of two choices that the worker does: what A1 and what A2 does.
fn either(constraints: Value, first: &str, second: &str) -> World {
    let world = world(&format!(
        "echo $DESCENT_ATOM >> OUT/at; case $DESCENT_ATOM in A1) {first};; *) {second};; esac"
    ));
    let atoms = json!({
        "G": {"kind": "any", "description": "either", "choices": ["A1", "A2"]},
        "A1": by_worker("one way"),
        "A2": by_worker("another way"),
    });
    world.align(&plan(&["test -f done"], constraints, atoms));
    world
}

fn order(world: &World) -> String {
    world.left("at").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_second_choice_is_taken_after_two_failures_that_are_alike() {
    let world = either(json!({"max_attempts": 3}), ALIKE, "touch done");
    let ran = world.run().expect(0);
    assert_eq!(order(&world), "A1 A1 A2");
    assert_eq!((ran.count("rested"), ran.count("woken")), (1, 0));
    let told = world.descent(&["log"]).expect(0);
    told.shows("A1: the same failure twice; after attempt 2 other choices come first, at no cost");
}

#[test]
fn what_rests_is_told_and_goes_on_when_nothing_else_is_left() {
    let first = format!("[ $DESCENT_ATTEMPT = 3 ] || {ALIKE}; touch done");
    let constraints = json!({"max_attempts": 3, "budget": {"iterations": 3}});
    let world = either(constraints, &first, "exit 2");
    world.run().expect(5);
    assert_eq!(order(&world), "A1 A1 A2");
    let why = world.descent(&["why", "A1"]).expect(0);
    why.shows("since attempt 2: the same failure twice; goes on when nothing else is left");
    let graph = world.descent(&["graph"]).expect(0);
    graph.shows("◌ A1").shows("◌ resting");
    world.descent(&["status"]).expect(0).shows("resting  A1");
    let tries = &world.state()["work_graph"]["atoms"]["A1"]["tries"];
    assert_eq!((&tries[0]["rest"], &tries[0]["attempts"]), (&json!("resting"), &json!(2)));
    let ran = world.descent(&["run", "--json", "--set", "budget.iterations=100"]);
    let ran = ran.expect(0);
    assert_eq!(order(&world), "A1 A1 A2 A2 A2 A1");
    assert_eq!((ran.count("rested"), ran.count("woken")), (0, 1));
    let log = world.descent(&["log"]).expect(0);
    log.shows("nothing else is left, so these go on: A1");
}

#[test]
fn a_failure_that_is_the_same_after_waking_asks_for_guidance() {
    let constraints = json!({"max_attempts": 5, "on_stuck": "ask"});
    let world = either(constraints, ALIKE, ALIKE);
    world.run().expect(6);
    assert_eq!(order(&world), "A1 A1 A2 A2 A2 A2 A2 A1");
    let status = &world.state()["work_graph"]["atoms"]["A1"]["status"];
    assert_eq!(*status, "needs_guidance");
}

#[test]
fn checks_that_do_not_hold_are_what_is_alike_whatever_was_printed() {
    let world = world("echo $DESCENT_ATOM >> OUT/at; [ $DESCENT_ATOM = A1 ] || touch done");
    let mut first = by_worker("one way");
    let check = "date +%N | tr 0-9 a-j; false";
    first["checks"] = json!({"all": [{"command": check, "name": "it works"}]});
    let atoms = json!({
        "G": {"kind": "any", "description": "either", "choices": ["A1", "A2"]},
        "A1": first,
        "A2": by_worker("another way"),
    });
    world.align(&plan(&["test -f done"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(order(&world), "A1 A1 A2");
}

#[test]
fn without_rests_and_for_an_action_every_attempt_is_made_unless_a_person_says_so() {
    let world = either(json!({"rest": false}), ALIKE, "touch done");
    world.run().expect(0);
    assert_eq!(order(&world), "A1 A1 A1 A2");
    for (rest, expected) in [(false, 3), (true, 2)] {
        let world = World::new();
        let at = world.out("at").display().to_string();
        let atoms = json!({
            "G": {"kind": "any", "description": "either", "choices": ["A1", "A2"]},
            "A1": task(&format!("echo x >> {at}; exit 1")),
            "A2": task("touch done"),
        });
        let constraints = json!({"max_attempts": 3, "rest": rest});
        world.align(&plan(&["test -f done"], constraints, atoms));
        world.run().expect(0);
        assert_eq!(world.left("at").lines().count(), expected, "{rest}");
    }
}
