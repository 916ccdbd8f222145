//! Constraints on the command line: what is in force, who chose it, and how a run changes it.

use serde_json::{Value, json};

use crate::{
    passed_over::can_trace,
    world::{Running, World, plan, task, wait_for},
};

fn failing_once(world: &World) -> Value {
    let seen = world.out("seen");
    let run = format!("test -f {0} && touch done; touch {0}; test -f done", seen.display());
    plan(&["test -f done"], json!({"max_attempts": 1}), json!({"A1": task(&run)}))
}

#[test]
fn a_limit_raised_by_run_opens_what_it_had_ended() {
    let world = World::new();
    world.align(&failing_once(&world));
    world.run().expect(5);
    world.run().expect(5);
    let ran =
        world.descent(&["run", "--set", "max_attempts=2"]).expect(0).shows("max_attempts: 1 → 2");
    assert!(ran.stdout.contains("open again"), "{}", ran.stdout);
    let state = world.state();
    assert_eq!(state["corrections"][0]["type"], "constraint_change");
    assert_eq!(state["objective"]["constraints"]["max_attempts"], 2);
}

#[test]
fn a_constraint_set_to_what_it_is_changes_nothing() {
    let world = World::new();
    world.align(&failing_once(&world));
    world.descent(&["run", "--set", "max_attempts=1"]).expect(5);
    assert_eq!(world.state()["corrections"], json!([]));
}

#[test]
fn a_mistake_in_a_constraint_is_one_of_usage_and_nothing_starts() {
    let world = World::new();
    world.align(&failing_once(&world));
    let before = world.state_bytes();
    for (pair, words) in [
        ("max_atempts=2", "did you mean `max_attempts`?"),
        ("max_attempts=many", "max_attempts=many"),
        ("max_attempts", "has no value"),
        ("budget.time=90", "budget.time"),
        ("workspace=cloud", "one of git, shadow, shared"),
        ("cost_usd=5", "--set budget.cost_usd=5"),
        ("max_repairs=9", "it is 3, always"),
        ("setup=npm ci", "--set setup.run=npm ci"),
    ] {
        for command in [&["run", "--set", pair][..], &["align", "x", "--set", pair]] {
            world.descent(command).expect(2).says("E-USAGE").says(words);
        }
    }
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn the_workspace_stays_once_a_run_has_started() {
    let world = World::new();
    world.align(&failing_once(&world));
    world.run().expect(5);
    let before = world.state_bytes();
    world.descent(&["run", "--set", "workspace=shared"]).expect(2).says("once a run has started");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn text_that_looks_like_json_and_lists_with_commas_are_taken_as_they_are_meant() {
    let world = World::new();
    let args =
        ["align", "-y", "x", "--why", "y", "--check", "test -f done", "--step", "a=touch done"];
    let sets = ["--set", "setup.run=true", "--set", "env=A,B", "--set", "planning.depth=null"];
    world.descent(&[&args[..], &sets].concat()).expect(0);
    let constraints = &world.state()["objective"]["constraints"];
    assert_eq!(*constraints, json!({"setup": {"run": "true"}, "env": ["A", "B"]}));
}

#[test]
fn the_status_tells_what_is_in_force_and_where_it_comes_from() {
    let world = World::new();
    world.align(&failing_once(&world));
    let shown = world.descent(&["status", "--constraints", "--json"]).expect(0).json();
    assert_eq!(shown["schema"], "descent/constraints/1");
    let one = |key: &str| {
        let all = shown["constraints"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).unwrap().clone()
    };
    assert_eq!(
        (&one("max_attempts")["value"], &one("max_attempts")["from"]),
        (&json!(1), &json!("chosen"))
    );
    assert_eq!(
        (&one("planning.depth")["value"], &one("planning.depth")["from"]),
        (&json!(5), &json!("default"))
    );
    assert_eq!(one("budget.time")["value"], Value::Null);
}

#[test]
fn the_status_tells_what_the_kind_of_task_sets() {
    for (limits, judging) in [
        (json!({}), "code default"),
        (json!({"profile": "depth=3"}), "model profile"),
        (json!({"profile": "depth=5,confidence=low"}), "code default"),
        (json!({"profile": "confidence=high", "judging": "off"}), "off chosen"),
    ] {
        let world = World::new();
        let atoms = json!({"A1": task("touch done")});
        world.align(&plan(&["test -e done"], limits, atoms));
        let shown = world.descent(&["status", "--constraints"]).expect(0);
        let shown = shown.stdout;
        let row = |key: &str| {
            let mut rows = shown.lines().map(str::split_whitespace);
            let row = rows.find_map(|mut row| (row.next() == Some(key)).then_some(row));
            row.unwrap().take(2).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("judging"), judging, "{shown}");
    }
}

/// The first commit of the run waits that long before it gets the name.
const COMMIT_WAITS: &str = "inject=fsync:delay_enter=1500000:when=1";

#[test]
fn an_old_buffer_saved_while_run_sets_a_constraint_takes_nothing_back() {
    if !can_trace() {
        return;
    }
    let world = World::new();
    let run = format!("echo x >> {}; touch done", world.out("made").display());
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task(&run)})));
    let mut old = world.state();
    old["objective"]["background_intent"] = json!("another reason");
    world.run().expect(0);
    let mut command = world.bare_command("strace");
    command
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e"])
        .args([COMMIT_WAITS, env!("CARGO_BIN_EXE_descent")])
        .args(["run", "--set", "max_attempts=7"]);
    let mut run = Running::of(command);
    // Trial files made in the directory before are small, and gone at once.
    let is_written = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let len = entry.metadata().map_or(0, |meta| meta.len());
        name.starts_with(".state.json.new-") && len > 1_000
    };
    wait_for("a commit under way", || {
        let beside = std::fs::read_dir(world.state_path().parent().unwrap()).unwrap();
        beside.flatten().any(is_written)
    });
    world.save_records(&old);
    run.wait().expect(0);
    let state = world.state();
    assert_eq!(state["objective"]["constraints"]["max_attempts"], 7);
    assert_eq!(state["objective"]["background_intent"], "another reason");
    assert!(state["bindings"]["A1"].is_object(), "{state:#}");
    assert_eq!(world.left("made"), "x\n");
}

#[test]
fn a_limit_opens_what_it_had_ended_and_nothing_else() {
    let world = World::new();
    let tells = |name: &str| format!("echo x >> {}", world.out(name).display());
    let gives_up = format!(
        "{}; echo '{{\"clarity\": \"BLOCKED\", \"summary\": \"no key\"}}' > \"$DESCENT_RESULT\"",
        tells("gave-up")
    );
    let atoms = json!({
        "way": {"kind": "any", "choices": ["gives-up", "fails"]},
        "fails": task(&format!("{}; exit 1", tells("failed"))),
        "gives-up": task(&gives_up),
    });
    world.align(&plan(&["test -f done"], json!({"max_attempts": 2}), atoms));
    world.run().expect(5);
    let tried = || ["failed", "gave-up"].map(|name| world.left(name).lines().count());
    assert_eq!(tried(), [2, 1]);
    for (pair, expected) in [
        ("max_parallel_agents=2", [2, 1]),
        ("planning.depth=9", [2, 1]),
        ("max_attempts=3", [3, 1]),
        ("max_attempts=2", [3, 1]),
    ] {
        world.descent(&["run", "--set", pair]).expect(5);
        assert_eq!(tried(), expected, "{pair}");
    }
}
