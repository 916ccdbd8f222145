//! Results that are made again since their change no longer applies: how often, and what is told when that is over.

use serde_json::json;

use crate::world::{World, plan, task};

/// All that write to one file without waiting for each other stand in each other's way.
fn with_log() -> World {
    let world = World::new();
    world.write("LOG", "");
    world.commit_all("a log");
    world
}

#[test]
fn a_long_search_uses_up_the_repairs_of_nobody_who_has_nothing_to_do_with_it() {
    let world = with_log();
    let mut atoms = json!({"all": {"kind": "any"}, "z": task("echo beside >> LOG")});
    let choices: Vec<String> = (1..=6).map(|n| format!("way{n}")).collect();
    for way in &choices {
        atoms[way] = task(&format!("echo {way} >> LOG"));
    }
    atoms["all"]["choices"] = json!(choices);
    world.align(&plan(
        &["grep -q way6 LOG && grep -q beside LOG"],
        json!({"max_repairs": 1, "max_parallel_agents": 1}),
        atoms,
    ));
    let ran = world.run().expect(0);
    let told = ran.lines()[0]["attempts_left"].clone();
    let spent = &world.state()["run"]["spent"];
    assert_eq!((told, spent["repairs"].clone()), (json!("7"), json!(5)), "{spent}");
    assert_eq!(spent["attempts"], 7, "a repair is no attempt");
}

#[test]
fn who_has_no_repair_left_is_told_as_failed_and_goes_on_with_a_higher_limit() {
    let world = with_log();
    let atoms = json!({
        "way": {"kind": "any", "choices": ["left", "right"]},
        "left": task("echo left >> LOG"),
        "right": task("echo right >> LOG"),
        "z": task("echo beside >> LOG"),
    });
    let constraints = json!({"max_repairs": 0, "max_parallel_agents": 1});
    world.align(&plan(&["grep -q right LOG && grep -q beside LOG"], constraints, atoms));
    world
        .descent(&["run"])
        .expect(5)
        .shows("no repair is left of 0 (max_repairs), and its commit no longer applies")
        .shows("z failed, and no choice has to do with it")
        .shows("descent run --set max_repairs=");
    world.descent(&["why", "z"]).expect(0).shows("no repair is left");
    world.replace_in_state("\"max_repairs\": 0", "\"max_repairs\": 1");
    world.run().expect(0);
}
