//! A trail that grows: the newest failures stand in full, older ones as counts, and nobody loses count of them.

use serde_json::{Value, json};

use crate::world::{Running, World, plan, task, wait_for};

const ATTEMPTS: u64 = 50;
const NEVER: u64 = 1_000;

/// An atom that prints 2 KB of its own each time, and fails, `ATTEMPTS` times; from `hangs_at` on it takes its time.
fn failing(world: &World, hangs_at: u64) {
    let marks = world.out("mark").display().to_string();
    let run = format!(
        "cp $DESCENT_PROMPT {marks}.prompt; [ $DESCENT_ATTEMPT -lt {hangs_at} ] || [ -e {marks}.go ] || {{ touch {marks}.hangs; sleep 600; }}; \
         seq $DESCENT_ATTEMPT 10000 | head -c 2000; echo; echo reason $((DESCENT_ATTEMPT % 3)); exit 1"
    );
    let constraints = json!({"max_attempts": ATTEMPTS});
    world.align(&plan(
        &["test -e never"],
        constraints,
        json!({"A1": task(&run)}),
    ));
}

fn trail(world: &World) -> Vec<Value> {
    world.state()["trail"].as_array().unwrap().clone()
}

/// How many failures it tells of, those that are counted included.
fn told(trail: &[Value]) -> u64 {
    let one = |entry: &Value| match entry["type"].as_str() {
        Some("failure") => 1,
        Some("failures") => entry["count"].as_u64().unwrap(),
        _ => 0,
    };
    trail.iter().map(one).sum()
}

fn in_full(trail: &[Value]) -> usize {
    trail
        .iter()
        .filter(|entry| entry["type"] == "failure")
        .count()
}

#[test]
fn of_fifty_failures_three_stand_in_full_and_all_are_told() {
    let world = World::new();
    failing(&world, NEVER);
    world.run().expect(5);
    let trail = trail(&world);
    assert_eq!((told(&trail), in_full(&trail)), (ATTEMPTS, 3), "{trail:?}");
    assert!(
        world.state_bytes().len() < 30_000,
        "{}",
        world.state_bytes().len()
    );
    world.descent(&["validate"]).expect(0);

    let why = world.descent(&["why", "A1"]).expect(0).stdout;
    for words in [
        "and failed 47 times before",
        "16 × exit 1: reason 2",
        "attempt 50",
    ] {
        assert!(why.contains(words), "no `{words}` in:\n{why}");
    }
    let why = world.descent(&["why", "A1", "--json"]).json();
    assert_eq!(why["earlier"][0]["count"], 47, "{why}");
    assert_eq!(why["attempts"].as_array().unwrap().len(), 3);
    let past = why["past"].as_array().unwrap().iter();
    let failed = past.filter(|told| told["text"].as_str().unwrap().starts_with("attempt "));
    assert_eq!(failed.count() as u64, ATTEMPTS, "the journal has each");
    let log = world.descent(&["log"]).expect(0).stdout;
    assert!(log.contains("A1, 47 attempts before: "), "{log}");
    assert!(!log.contains("the trail is another"), "{log}");
    for n in 1..=ATTEMPTS {
        let told = [
            format!("attempt {n} failed"),
            format!("attempt {n}: exit 1"),
        ];
        let times: usize = told.iter().map(|words| log.matches(words).count()).sum();
        assert_eq!(times, 1, "attempt {n} in:\n{log}");
    }

    let prompt = world.left("mark.prompt");
    assert!(prompt.contains(" attempts before: "), "{prompt}");
    // What went to the journal is there as it was.
    let early = world.descent(&["show", "12", "--bytes"]).expect(0).stdout;
    assert!(early.contains("\"attempt\": \"A1.3\""), "{early}");
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_right_count() {
    let world = World::new();
    failing(&world, 30);
    let run = Running::of(world.command(&["run"]));
    wait_for("the thirtieth attempt", || world.out("mark.hangs").exists());
    run.kill();
    let before = trail(&world);
    assert_eq!(told(&before), 29, "{before:?}");
    assert!(in_full(&before) < 20, "{before:?}");
    world.touch("mark.go");
    let again = world.descent(&["run", "--json"]).expect(5);
    assert_eq!(again.count("attempt_failed"), 21);
    let after = trail(&world);
    assert_eq!((told(&after), in_full(&after)), (ATTEMPTS, 3), "{after:?}");
    let status = world.status();
    assert_eq!(status["spent"]["attempts"], ATTEMPTS, "{status}");
}

#[test]
fn what_a_person_writes_beside_a_failure_keeps_it_and_what_is_deleted_comes_back() {
    let world = World::new();
    failing(&world, NEVER);
    world.run().expect(5);
    let mut state = world.state();
    let entries = state["trail"].as_array_mut().unwrap();
    entries[1]["notes"] = json!("look at this one");
    entries.remove(0);
    world.save(&serde_json::to_string_pretty(&state).unwrap());
    world
        .descent(&["run", "--set", "max_attempts=60"])
        .expect(5);
    let trail = trail(&world);
    assert_eq!((told(&trail), in_full(&trail)), (60, 4), "{trail:?}");
    assert!(
        trail
            .iter()
            .any(|entry| entry["notes"] == "look at this one")
    );
}
