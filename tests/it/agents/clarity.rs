//! A result that was only partly clear to its agent, and the share of an atom's own checks that held.

use serde_json::{Value, json};

use crate::world::{World, plan, task, with};

const WORDS: &str = "it was only partly clear to its agent";

/// Fails once and then succeeds, both times with this clarity; the second atom builds on it.
fn agreed(clarity: &str, attempts: u32) -> World {
    let world = World::new();
    let script = "#!/bin/sh
cp \"$DESCENT_PROMPT\" OUT/prompt.$DESCENT_ATOM.$DESCENT_ATTEMPT
cp \"$DESCENT_BINDINGS\" OUT/bindings.$DESCENT_ATOM
touch one; [ $DESCENT_ATTEMPT = 1 ] || touch two
[ $DESCENT_ATOM = A1 ] || { touch done; exit 0; }
echo '{\"summary\": \"looked\", \"clarity\": \"CLARITY\"}' > \"$DESCENT_RESULT\"
";
    let out = world.root().join("out").display().to_string();
    let script = script.replace("OUT", &out).replace("CLARITY", clarity);
    let path = world.program("worker", &script);
    let worker = format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display());
    world.write("descent.toml", &worker);
    let by_worker = |more: Value| {
        let mut atom = task("");
        atom.as_object_mut().unwrap().remove("action");
        with(with(atom, json!({"description": "look"})), more)
    };
    let checks = json!({"all": [{"command": "test -f one"}, {"command": "test -f two"}]});
    let atoms = json!({
        "A1": by_worker(json!({"checks": checks})),
        "A2": by_worker(json!({"depends_on": ["A1"]})),
        "A3": task("true"),
    });
    world.align(&plan(&["test -f done"], json!({"max_attempts": attempts}), atoms));
    world
}

fn failure(world: &World) -> Value {
    let state = world.state();
    let trail = state["trail"].as_array().unwrap();
    let failure = trail.iter().find(|entry| entry["type"] == "failure");
    failure.expect("a failure").clone()
}

fn json_of(world: &World, args: &[&str]) -> Value {
    let ran = world.descent(args).expect(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_partly_clear_attempt_is_kept_and_told_to_the_next_to_those_after_it_and_to_a_person() {
    let world = agreed("PARTIALLY_CLEAR", 2);
    world.run().expect(0);
    assert_eq!(failure(&world)["unclear"], true);
    assert_eq!(world.state()["bindings"]["A1"]["unclear"], true);
    assert!(!world.left("prompt.A1.1").contains(WORDS));
    for prompt in ["prompt.A1.2", "prompt.A2.1"] {
        let told = world.left(prompt);
        assert_eq!(told.matches(WORDS).count(), 1, "{told}");
    }
    let bindings: Value = serde_json::from_str(&world.left("bindings.A2")).unwrap();
    assert_eq!(bindings["A1"]["unclear"], true);
    // The result, and the attempt that failed.
    let why = world.descent(&["why", "A1"]).expect(0);
    assert_eq!(why.stdout.matches(WORDS).count(), 2, "{}", why.stdout);
    world.descent(&["report"]).expect(0).shows(WORDS);
    let report = json_of(&world, &["report", "--json"]);
    assert_eq!(report["work"][0]["solved"]["unclear"], true);
    let why = json_of(&world, &["why", "A1", "--json"]);
    assert_eq!(why["attempts"][0]["unclear"], true);
}

#[test]
fn a_clear_attempt_leaves_no_key_and_no_words() {
    let world = agreed("CLEAR", 2);
    world.run().expect(0);
    assert!(!world.state().to_string().contains("unclear"));
    for prompt in ["prompt.A1.2", "prompt.A2.1"] {
        assert!(!world.left(prompt).contains(WORDS));
    }
    assert!(!world.descent(&["why", "A1"]).expect(0).stdout.contains(WORDS));
    assert!(!world.descent(&["report"]).expect(0).stdout.contains(WORDS));
}

#[test]
fn a_persons_own_result_is_not_unclear_any_more() {
    let world = agreed("PARTIALLY_CLEAR", 2);
    world.run().expect(0);
    let args = ["redirect", "--bind", "A1=looked at it myself", "-y"];
    world.descent(&args).expect(0);
    let bound = &world.state()["bindings"]["A1"];
    assert_eq!(bound["by"], "person", "{bound}");
    assert_eq!(bound["unclear"], Value::Null, "{bound}");
}

#[test]
fn the_confidence_is_the_share_of_an_atoms_own_checks_that_held_when_it_was_last_judged() {
    let world = agreed("CLEAR", 1);
    let confidence = |world: &World| json_of(world, &["why", "A1", "--json"])["confidence"].clone();
    assert_eq!(confidence(&world), Value::Null);
    world.run().expect(5);
    assert_eq!(confidence(&world), json!({"held": 1, "of": 2}));
    world.descent(&["why", "A1"]).expect(0).shows("1 of 2 held");
    let report = world.descent(&["report"]).expect(0);
    report.shows("1 of 2 of its checks held");

    let world = agreed("CLEAR", 2);
    world.run().expect(0);
    let share = json!({"held": 2, "of": 2});
    assert_eq!(confidence(&world), share);
    world.descent(&["why", "A1"]).expect(0).shows("2 of 2 held");
    let report = json_of(&world, &["report", "--json"]);
    assert_eq!(report["work"][0]["confidence"], share);
    // It has no checks of its own.
    assert_eq!(report["work"][1]["confidence"], Value::Null);
}
