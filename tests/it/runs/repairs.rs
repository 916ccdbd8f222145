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
    let mut atoms = json!({"all": {"kind": "any"}});
    let choices: Vec<String> = (1..=6).map(|n| format!("way{n}")).collect();
    for way in &choices {
        atoms[way] = task(&format!("echo {way} >> LOG"));
    }
    atoms["all"]["choices"] = json!(choices);
    atoms["z"] = task("echo beside >> LOG");
    world.align(&plan(
        &["grep -q way6 LOG && grep -q beside LOG"],
        json!({"max_parallel_agents": 1}),
        atoms,
    ));
    let ran = world.run().expect(0);
    let told = ran.lines()[0]["attempts_left"].clone();
    let spent = &world.state()["run"]["spent"];
    assert_eq!((told, spent["repairs"].clone()), (json!("7"), json!(5)), "{spent}");
    assert_eq!(spent["attempts"], 7, "a repair is no attempt");
}
