//! Work that waits for a person's word on an assertion of its atom: it is kept, shown and taken as it is.

use serde_json::json;

use crate::world::{World, wait_for};

/// An atom with an assertion, and one beside it that runs this; its own directory is `OUT`.
fn agreed(beside: Option<&str>) -> World {
    let world = World::new();
    let out = world.out("").display().to_string();
    let counted = format!("echo made >> {out}/made; echo nice >> page");
    let checks = json!({"all": [{"command": format!("grep -q nice page && touch {out}/checked")}, {"name": "looks", "assertion": "it looks right"}]});
    let mut atoms = json!({"A": {"action": {"run": counted}, "checks": checks}});
    if let Some(beside) = beside {
        atoms["B"] = json!({"action": {"run": beside.replace("OUT", &out)}});
    }
    world.align(&json!({
        "objective": {"goal": "a nice page", "background_intent": "w",
            "base_case": {"command": "grep -q nice page"}, "constraints": {"max_attempts": 3}},
        "work_graph": {"atoms": atoms}}));
    world
}

fn made(world: &World) -> usize {
    std::fs::read_to_string(world.out("made")).map_or(0, |text| text.lines().count())
}

#[test]
fn the_work_that_was_shown_is_the_work_that_is_taken() {
    let world = agreed(None);
    world.run().expect(6).shows("a person must confirm the rest");
    world.descent(&["status"]).expect(0).shows("waits").shows("descent diff A");
    world.descent(&["why", "A"]).expect(0).shows("A.1 waits for a person or a judge");
    world.descent(&["diff", "A"]).expect(0).shows("+nice");
    world.descent(&["validate"]).expect(0);
    world.descent(&["clean"]).expect(0);
    world.run().expect(6);
    world.descent(&["confirm", "looks"]).expect(0).shows("pass");
    world.run().expect(0);
    assert_eq!(made(&world), 1);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 1);
}

#[test]
fn a_no_is_of_the_work_that_was_shown_and_its_words_reach_the_next_attempt() {
    let world = agreed(None);
    world.run().expect(6);
    world.descent(&["confirm", "looks", "--no", "--reason", "too small"]).expect(0);
    world.run().expect(6);
    assert_eq!(made(&world), 2);
    let prompt = world.descent(&["why", "A", "--prompt"]).expect(0);
    prompt.shows("a person says that it does not hold: looks: too small");
    world.descent(&["confirm"]).expect(0).shows("of another tree");
    world.descent(&["confirm", "looks"]).expect(0);
    world.run().expect(0);
    assert_eq!(made(&world), 2);
}

#[test]
fn words_on_its_atom_reject_it() {
    let world = agreed(None);
    world.run().expect(6);
    world.descent(&["guide", "make it blue", "--for", "A"]).expect(0);
    world.run().expect(6);
    assert_eq!(made(&world), 2);
    world.descent(&["why", "A", "--prompt"]).expect(0).shows("make it blue");
}

#[test]
fn a_stop_keeps_it_and_it_is_merged_with_what_came_in_between() {
    let world = agreed(Some("while [ ! -e OUT/go ]; do sleep 0.05; done; echo b > b"));
    let mut running = world.start(&["run"]);
    wait_for("the check", || world.out("checked").exists());
    world.status();
    world.descent(&["stop", "--now"]).expect(0);
    running.wait().expect(3);
    world.descent(&["confirm", "looks"]).expect(0);
    std::fs::write(world.out("go"), "").unwrap();
    world.run().expect(0);
    assert_eq!(made(&world), 1);
    assert_eq!(world.result_file("b"), "b\n");
}
