//! A dead end: a person is told how to go on, and that helps.

use serde_json::{Value, json};

use crate::world::{Ran, World, copy_program, plan, task};

const CHANGE: &str = "add a choice or change an atom in the state file, then descent run";
const GUIDE: &str = "descent guide \"what it should know\" --for A";
const MEND: &str = "mend what made it fail, then descent run";

#[track_caller]
fn check(world: &World, expected: &[&str]) {
    let result = world.run().expect(5).result();
    assert_eq!(result["next_moves"], json!(expected), "{result}");
}

fn set(world: &World, pair: &str) -> Ran {
    world.descent(&["run", "--set", pair])
}

#[test]
fn a_dead_end_names_what_opens_it() {
    let gives_up =
        "echo '{\"clarity\": \"BLOCKED\", \"summary\": \"no key\"}' > \"$DESCENT_RESULT\"";
    let raise = "descent run --set max_attempts=4";
    for (script, expected) in [
        ("exit 1", &["descent why A", CHANGE, raise, "descent retry A"] as &[&str]),
        ("no-such-program", &["descent why A", CHANGE, MEND]),
        (gives_up, &[GUIDE, "descent why A", CHANGE]),
    ] {
        let world = World::new();
        let constraints = json!({"max_attempts": 2});
        world.align(&plan(&["false"], constraints, json!({"A": task(script)})));
        check(&world, expected);
        assert_eq!(world.status()["next"], expected[0]);
    }
    let world = World::new();
    let constraints = json!({"max_attempts": 2, "on_stuck": "ask"});
    world.align(&plan(&["false"], constraints, json!({"A": task("exit 1")})));
    let result = world.run().expect(6).result();
    let moves = json!(["descent why A", CHANGE, raise, "descent retry A", GUIDE]);
    assert_eq!(result["next_moves"], moves, "{result}");
    world.descent(&["guide", "any", "--for", "A"]).expect(0);
}

#[test]
fn a_failed_attempt_of_a_worker_may_be_made_again_as_it_is_or_with_words() {
    let world = World::new();
    world.write("descent.toml", "agents.worker.run = \"exit 1\"\nroles.worker = \"worker\"\n");
    let atom = json!({"description": "do it"});
    world.align(&plan(&["test -e done"], json!({"max_attempts": 1}), json!({"A": atom})));
    let raise = "descent run --set max_attempts=2";
    check(&world, &["descent why A", CHANGE, raise, "descent retry A", GUIDE]);
    world.descent(&["retry", "A"]).expect(0);
    check(&world, &["descent why A", CHANGE, raise, "descent retry A", GUIDE]);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2);
}

#[test]
fn a_blocked_worker_asks_a_person_and_the_answer_is_the_next_command() {
    let world = World::new();
    let question = "which file name did you mean?";
    let blocked = format!(
        "#!/bin/sh\ngrep -q 'call it done' \"$DESCENT_PROMPT\" && {{ touch done; exit 0; }}\n\
         echo '{{\"clarity\": \"BLOCKED\", \"summary\": \"{question}\"}}' > \"$DESCENT_RESULT\"\n"
    );
    let path = world.program("worker", &blocked);
    world.write(
        "descent.toml",
        &format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display()),
    );
    let atom = json!({"description": "make the file"});
    world.align(&plan(&["test -e done"], json!({}), json!({"A": atom})));
    let ran = world.descent(&["run"]).expect(5);
    let ran = ran.shows(&format!("A is blocked: {question}")).shows(&format!("next: {GUIDE}"));
    assert!(!ran.stdout.contains("the work was wrong"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("nothing is left to try"), "{}", ran.stdout);
    for look in [&["status"][..], &["why", "A"], &["report"]] {
        world.descent(look).expect(0).shows(question).shows(GUIDE);
    }
    world.descent(&["guide", "call it done", "--for", "A"]).expect(0);
    assert_eq!(world.status()["next"], "descent run");
    world.run().expect(0);
}

#[test]
fn a_run_that_completes_does_not_show_a_refuted_choice_among_its_checks() {
    let world = World::new();
    let way = json!({"kind": "any", "choices": ["left", "right"]});
    let atoms = json!({"way": way, "left": task("touch left"), "right": task("touch right")});
    world.align(&plan(&["test -e right"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(0);
    let (_, ending) = ran.stdout.split_once("completed: ").expect("an ending");
    assert!(!ending.contains("base case with"), "{ending}");
}

#[test]
fn in_shared_the_end_has_the_evidence_that_it_was_decided_by() {
    let world = World::new();
    let constraints = json!({"workspace": "shared"});
    world.align(&plan(&["false"], constraints, json!({"A": task("true")})));
    let result = world.run().expect(5).result();
    assert_eq!(result["evidence"][0]["verdict"], "fail", "{result}");
    assert_ne!(result["account"]["role"], "perceiver", "{result}");
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains("the base case does not hold"), "{summary}");
}

#[test]
fn what_is_mended_is_tried_again_by_the_next_run() {
    let world = World::new();
    let late = world.out("late").display().to_string();
    world.align(&plan(&["test -e done"], json!({}), json!({"A": task(&late)})));
    check(&world, &["descent why A", CHANGE, MEND]);
    let bin = world.program("late", "#!/bin/sh\ntouch done\n");
    copy_program(bin, late.as_ref());
    world.run().expect(0);
}

fn fragments(count: usize) -> Value {
    let print = |n: usize| {
        let atoms = json!({"atoms": {"a": task(&format!("echo {n} > a"))}});
        format!("{n}) cat <<'END'\n{atoms}\nEND\n;;\n")
    };
    let cases: String = (1..=count).map(print).collect();
    json!({"kind": "plan", "action": {"run": format!(
        "echo call >> CALLS; case $(wc -l < CALLS) in\n{cases}*) exit 9;;\nesac"
    )}})
}

#[test]
fn a_plan_that_may_not_be_made_again_names_the_limit() {
    for (key, low) in [("refinements", 0), ("changes", 0)] {
        let world = World::new();
        let calls = world.out("calls").display().to_string();
        let step = fragments(2).to_string().replace("CALLS", &calls);
        let step: Value = serde_json::from_str(&step).unwrap();
        let constraints = json!({"planning": {key: low}});
        world.align(&plan(&["grep -q 2 a"], constraints, json!({"N": step})));
        let raise = format!("descent run --set planning.{key}=1");
        check(&world, &[CHANGE, &raise]);
        assert_eq!(world.status()["next"], raise);
        set(&world, &format!("planning.{key}=1")).expect(0);
        assert_eq!(world.left("calls").lines().count(), 2, "{key}");
    }
}

/// Only the base case failed, and no run changes that. After a person's change one does.
#[test]
fn the_next_command_changes_something() {
    let world = World::new();
    let way = json!({"kind": "any", "choices": ["left"]});
    let atoms = json!({"way": way, "left": task("touch left"), "later": task("touch later")});
    world.align(&plan(&["test -e right"], json!({}), atoms));
    check(&world, &["descent why way", CHANGE]);
    assert_eq!(world.status()["next"], "descent why way");
    world.replace_in_state("touch later", "touch later right");
    world.descent(&["validate"]).expect(0);
    assert_eq!(world.status()["next"], "descent run");
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent apply");
}
