//! `align GOAL --check … --plan-with AGENT`: a planning step by that agent, agreed like any step.

use serde_json::json;

use crate::{terminal::Terminal, world::World};

/// A world whose agent `wise` prints a fragment of two tasks, after it has noted its role.
fn with_planner() -> World {
    let world = World::new();
    let fragment = json!({"reasoning": "one after the other", "atoms": {
        "one": {"action": {"run": "echo 1 > one"}},
        "two": {"depends_on": ["one"], "action": {"run": "cat one > two"}},
    }});
    let asked = world.out("asked").display().to_string();
    let prompt = world.out("prompt").display().to_string();
    let script = format!(
        "#!/bin/sh\necho $DESCENT_ROLE >> {asked}\ncp \"$DESCENT_PROMPT\" {prompt}\ncat <<'END'\n{fragment}\nEND\n"
    );
    let path = world.program("wise", &script);
    let text = format!("[agents.wise]\nrun = \"{}\"\n", path.display());
    world.write("descent.toml", &text);
    world
}

const AGREED: [&str; 9] = [
    "align",
    "have a two",
    "--why",
    "it is read",
    "--check",
    "test -e two",
    "--plan-with",
    "wise",
    "-y",
];

#[test]
fn the_work_of_an_agreed_planner_is_made_until_the_goal_is_reached() {
    let world = with_planner();
    world.descent(&AGREED).expect(0).shows("plans");
    let step = &world.state()["work_graph"]["atoms"]["S1"];
    assert_eq!((&step["kind"], &step["agent"]), (&json!("plan"), &json!("wise")));
    world.descent(&AGREED).expect(0).says("unchanged");
    // An agreement starts no planner.
    assert!(!world.out("asked").exists());
    world.descent(&["run"]).expect(0).shows("2 atoms: S1-1, S1-2");
    assert_eq!(world.left("asked"), "planner\n");
    assert!(world.left("prompt").contains("have a two"));
    assert_eq!(world.result_file("two"), "1\n");
    assert_eq!(world.state()["run"]["status"], "completed");
}

#[test]
fn steps_come_before_the_planner_and_a_person_is_asked_only_for_the_rest() {
    let world = with_planner();
    let mut at = Terminal::start(
        &world,
        &[
            "align",
            "have a two",
            "--check",
            "test -e two",
            "--step",
            "lay=touch ground",
            "--plan-with",
            "wise",
        ],
    );
    at.sees("(--why)").sees("> ").types("it is read");
    at.sees("agree? [y/N] ").types("n");
    at.sees("--step 'lay=touch ground' --plan-with wise");
    assert_eq!(at.ends().code(), Some(4));
    assert!(!at.screen().contains("(--step)"), "{}", at.screen());
    let mut typed = AGREED.to_vec();
    typed.extend(["--step", "lay=touch ground"]);
    world.descent(&typed).expect(0);
    let atoms = world.state()["work_graph"]["atoms"].clone();
    assert_eq!(atoms["S2"]["depends_on"], json!(["S1"]));
    world.run().expect(0);
}

#[test]
fn an_unknown_planner_or_no_name_of_one_is_refused_and_so_is_one_beside_a_plan() {
    let world = with_planner();
    let with = |name: &'static str| {
        let mut typed = AGREED;
        typed[7] = name;
        world.descent(&typed)
    };
    with("wize").expect(78).says("E-CONFIG").says("did you mean `wise`?");
    with("Not A Name").expect(2).says("names no agent");
    world
        .descent(&["align", "-f", "plan.yaml", "--plan-with", "wise"])
        .expect(2)
        .says("cannot be used with");
    assert!(!world.state_path().exists());
}
