//! A trail that grows: the newest failures stand in full, older ones as a line each, and nobody loses count of them.

use serde_json::{Value, json};

use crate::world::{Running, World, plan, task, wait_for};

const ATTEMPTS: u64 = 60;
/// Older failures that stand as a line.
const LINES: usize = 50;
const NEVER: u64 = 1_000;

/// An atom that prints 2 KB of its own each time, and fails, `ATTEMPTS` times; from `hangs_at` on it takes its time.
fn failing(world: &World, hangs_at: u64) {
    let marks = world.out("mark").display().to_string();
    let run = format!(
        "cp $DESCENT_PROMPT {marks}.prompt; [ $DESCENT_ATTEMPT -lt {hangs_at} ] || [ -e {marks}.go ] || {{ touch {marks}.hangs; sleep 600; }}; \
         seq $DESCENT_ATTEMPT 10000 | head -c 2000; echo; echo reason $((DESCENT_ATTEMPT % 3)); exit 1"
    );
    let constraints = json!({"max_attempts": ATTEMPTS});
    world.align(&plan(&["test -e never"], constraints, json!({"A1": task(&run)})));
}

fn trail(world: &World) -> Vec<Value> {
    world.state()["trail"].as_array().unwrap().clone()
}

/// How many failures stand in full, and how many as a line.
fn failures(trail: &[Value]) -> (usize, usize) {
    let failures = trail.iter().filter(|entry| entry["type"] == "failure");
    let is_line = |entry: &&Value| entry.get("output").is_none();
    let (lines, full): (Vec<&Value>, Vec<&Value>) = failures.partition(is_line);
    (full.len(), lines.len())
}

fn attempts(world: &World) -> Value {
    world.state()["work_graph"]["atoms"]["A1"]["tries"][0]["attempts"].clone()
}

#[test]
fn of_many_failures_three_stand_in_full_and_fifty_as_lines_and_all_are_counted() {
    let world = World::new();
    failing(&world, NEVER);
    world.run().expect(5);
    let trail = trail(&world);
    assert_eq!(failures(&trail), (3, LINES), "{trail:?}");
    assert_eq!(attempts(&world), ATTEMPTS);
    let line = trail.iter().find(|entry| entry["attempt"] == "A1.30").unwrap();
    assert_eq!(line["reason"], "exit 1: reason 0");
    assert!(line.get("output").is_none(), "{line}");
    assert!(world.state_bytes().len() < 50_000, "{}", world.state_bytes().len());
    world.descent(&["validate"]).expect(0);

    let why = world.descent(&["why", "A1"]).expect(0).stdout;
    for words in ["… 41 before", "A1.49 failed", "attempt 60"] {
        assert!(why.contains(words), "no `{words}` in:\n{why}");
    }
    let why = world.descent(&["why", "A1", "--json"]).json();
    assert_eq!(why["attempts"].as_array().unwrap().len(), 3 + LINES);
    assert!(why["attempts"][0]["fingerprint"].is_string(), "{why}");
    assert_eq!(why["tries"][0]["attempts"], ATTEMPTS);
    let past = why["past"].as_array().unwrap().iter();
    let failed = past.filter(|told| told["text"].as_str().unwrap().starts_with("failed A1 after "));
    assert_eq!(failed.count() as u64, ATTEMPTS, "the journal has each");
    // Entries were shortened and left out between the two.
    let between = world.descent(&["log", "-20.."]).expect(0);
    let between = between.shows("attempt 42 failed: exit 1: reason 0").stdout;
    for old in ["the trail is another", "attempt 41 failed"] {
        assert!(!between.contains(old), "{between}");
    }
    let log = world.descent(&["log", "--json"]).json();
    let entries = log["entries"].as_array().unwrap().iter();
    let failed = entries.filter(|entry| entry["event"]["event"] == "attempt_failed");
    let mut told: Vec<&str> =
        failed.map(|entry| entry["event"]["attempt"].as_str().unwrap()).collect();
    assert_eq!(told.len() as u64, ATTEMPTS, "{told:?}");
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len() as u64, ATTEMPTS, "one was told twice: {told:?}");

    let prompt = world.left("mark.prompt");
    let told = prompt.lines().filter(|line| line.contains(" failed: exit 1: reason "));
    assert_eq!(told.count(), 10, "{prompt}");
    assert!(prompt.contains(" × exit 1: reason 2\n"), "{prompt}");
    // Failures that went to the journal are there as they were.
    let early = world.descent(&["log", "12", "--bytes"]).expect(0).stdout;
    assert!(early.contains("\"attempt\": \"A1.3\""), "{early}");
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_right_count() {
    let world = World::new();
    failing(&world, 30);
    let run = Running::of(world.command(&["run"]));
    wait_for("the thirtieth attempt", || world.out("mark.hangs").exists());
    run.kill();
    let (full, lines) = failures(&trail(&world));
    assert_eq!((full + lines, attempts(&world)), (29, json!(29)));
    assert!(full < 20, "{full}");
    world.touch("mark.go");
    let again = world.descent(&["run", "--json"]).expect(5);
    assert_eq!(again.count("attempt_failed"), 31);
    assert_eq!(failures(&trail(&world)), (3, LINES));
    assert_eq!(attempts(&world), ATTEMPTS);
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
    world.save_records(&state);
    world.descent(&["run", "--set", "max_attempts=70"]).expect(5);
    let trail = trail(&world);
    assert_eq!(failures(&trail), (3, LINES + 1), "{trail:?}");
    assert!(trail.iter().any(|entry| entry["notes"] == "look at this one"));
}
