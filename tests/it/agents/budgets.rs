//! Budgets of model calls, tokens and money: what workers report, what ends a run, and what a crash keeps.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, plan, task, wait_for, with};

/// A world whose worker is this shell script; `USES …` reports usage.
fn world(script: &str) -> World {
    let world = World::new();
    let out = world.root().join("out").display().to_string();
    let uses = "uses() { echo \"{\\\"summary\\\": \\\"made\\\", \\\"usage\\\": $1}\" > \"$DESCENT_RESULT.new\"
mv \"$DESCENT_RESULT.new\" \"$DESCENT_RESULT\"; }";
    let script = format!("#!/bin/sh\n{uses}\n{script}\n").replace("OUT", &out);
    let path = world.program("worker", &script);
    let config = format!("agents.worker.run = \"{}\"\nroles.worker = \"worker\"\n", path.display());
    world.write("descent.toml", &config);
    world
}

fn by_worker() -> Value {
    let mut atom = task("");
    atom.as_object_mut().unwrap().remove("action");
    with(atom, json!({"description": "make it"}))
}

/// Three tasks, one after another.
fn chain() -> Value {
    json!({
        "A1": by_worker(),
        "A2": with(by_worker(), json!({"depends_on": ["A1"]})),
        "A3": with(by_worker(), json!({"depends_on": ["A2"]})),
    })
}

const ONE_CALL: &str = "echo $DESCENT_ATOM >> OUT/made; touch $DESCENT_ATOM
uses '{\"calls\": 1, \"input_tokens\": 100, \"output_tokens\": 20, \"cached_tokens\": 3, \"cost_usd\": \"0.25\"}'";

const CHECK: &str = "test -f A1 && test -f A2 && test -f A3";

#[track_caller]
fn ends(world: &World, code: i32, reason: &str) -> Value {
    let result = world.run().expect(code).result();
    assert_eq!(result["reason"], reason, "{result}");
    result
}

#[test]
fn the_usage_that_a_worker_reports_is_counted_in_all_and_by_agent() {
    let world = world(ONE_CALL);
    world.align(&plan(&[CHECK], json!({}), chain()));
    let result = ends(&world, 0, "base_case");
    let spent = json!({
        "calls": 3, "tokens": {"input": 300, "output": 60, "cached": 9}, "cost_usd": 0.75
    });
    let run = &world.state()["run"];
    for (key, value) in spent.as_object().unwrap() {
        assert_eq!(&run["spent"][key], value, "{key}");
        assert_eq!(&result["spent"][key], value, "{key}");
        assert_eq!(&run["spent_by_agent"][0][key], value, "{key}");
    }
    assert_eq!(run["spent_by_agent"][0]["agent"], "worker");
    assert_eq!(run["spent_by_agent"][0]["attempts"], 3);
}

#[test]
fn a_limit_ends_the_run_with_what_was_reached() {
    for (limits, reason, made) in [
        (json!({"budget": {"calls": 2}}), "budget.calls", 2),
        (json!({"budget": {"tokens": 246}}), "budget.tokens", 2),
        (json!({"budget": {"cost_usd": "0.50"}}), "budget.cost_usd", 2),
        (json!({"budget": {"cost_usd": 0.25, "tokens": 1}}), "budget.tokens", 1),
        (json!({"budget": {"calls": 1, "tokens": 1, "cost_usd": "0.01"}}), "budget.calls", 1),
    ] {
        let world = world(ONE_CALL);
        world.align(&plan(&[CHECK], limits, chain()));
        let result = ends(&world, 5, reason);
        assert_eq!(world.left("made").lines().count(), made, "{reason}");
        assert_eq!(result["done"].as_array().unwrap().len(), made, "{result}");
        assert_eq!(world.result_file("A1"), "");
        let next = result["next_moves"][0].as_str().unwrap();
        assert!(next.starts_with("descent run --set "), "{next}");
    }
}

#[test]
fn what_is_left_must_be_enough_for_an_attempt_as_the_earlier_ones() {
    let world = world(ONE_CALL);
    // Two attempts take 246 of them, and 54 are left.
    world.align(&plan(&[CHECK], json!({"budget": {"tokens": 300}}), chain()));
    let result = ends(&world, 5, "budget.tokens");
    assert_eq!(world.left("made"), "A1\nA2\n");
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains("the next attempt needs more"), "{summary}");
}

#[test]
fn a_limit_that_the_last_step_reaches_completes_the_run() {
    let world = world(ONE_CALL);
    world.align(&plan(&[CHECK], json!({"budget": {"calls": 3}}), chain()));
    ends(&world, 0, "base_case");
}

#[test]
fn a_raised_limit_lets_the_run_go_on() {
    let world = world(ONE_CALL);
    world.align(&plan(&[CHECK], json!({"budget": {"cost_usd": "0.50"}}), chain()));
    ends(&world, 5, "budget.cost_usd");
    ends(&world, 5, "budget.cost_usd");
    assert_eq!(world.left("made"), "A1\nA2\n", "nothing is tried anew");
    let ran = world.descent(&["run", "--json", "--set", "budget.cost_usd=1"]).expect(0);
    assert_eq!(ran.result()["reason"], "base_case");
    assert_eq!(world.left("made"), "A1\nA2\nA3\n");
    assert_eq!(world.state()["objective"]["constraints"]["budget"]["cost_usd"], 1.0);
}

#[test]
fn a_limit_that_is_set_while_the_run_goes_on_is_obeyed() {
    let world = world(&format!(
        "touch OUT/began.$DESCENT_ATOM; while [ ! -e OUT/go ]; do sleep 0.02; done; {ONE_CALL}"
    ));
    world.align(&plan(&[CHECK], json!({}), chain()));
    let mut run = world.start(&["run", "--json"]);
    world.wait_for_file("began.A1");
    world.descent(&["redirect", "--set", "budget.calls=1", "-y"]).expect(0);
    world.touch("go");
    assert_eq!(run.wait().expect(5).result()["reason"], "budget.calls");
    assert_eq!(world.left("made"), "A1\n");
}

#[test]
fn an_attempt_whose_report_passes_what_is_left_is_ended() {
    let world = world(
        "uses '{\"calls\": 1, \"input_tokens\": 900}'; touch OUT/reported; sleep 600; echo late >> OUT/made",
    );
    world.align(&plan(
        &["test -f never"],
        json!({"budget": {"tokens": 500}}),
        json!({"A1": by_worker()}),
    ));
    let result = ends(&world, 5, "budget.tokens");
    assert_eq!(world.left("made"), "");
    assert_eq!(result["spent"]["tokens"]["input"], 900, "{result}");
    assert_eq!(result["spent"]["attempts"], 0, "it is not counted");
}

#[test]
fn an_outcome_that_is_adopted_after_a_kill_is_settled_once() {
    let world = world(ONE_CALL);
    let (hold, at) = (world.out("hold"), world.out("at"));
    let check = format!(
        "if [ -e {} ]; then touch {}; sleep 600; fi; test -f A1",
        hold.display(),
        at.display()
    );
    let atom = with(by_worker(), json!({"checks": {"all": [{"command": check}]}}));
    world.align(&plan(&["test -f A1"], json!({"budget": {"calls": 5}}), json!({"A1": atom})));
    world.touch("hold");
    for _ in 0..2 {
        let run = world.start(&["run"]);
        world.wait_for_file("at");
        run.kill();
        fs::remove_file(&at).unwrap();
    }
    fs::remove_file(&hold).unwrap();
    let ran = world.run().expect(0);
    assert_eq!(ran.count("adopted"), 1);
    let spent = &world.state()["run"]["spent"];
    assert_eq!((&spent["calls"], &spent["cost_usd"]), (&json!(1), &json!(0.25)));
    assert!(spent["estimated"].is_null(), "{spent}");
}

#[test]
fn an_attempt_that_a_kill_cut_off_counts_as_was_reserved_and_is_marked() {
    let world = world(&format!(
        "[ $DESCENT_ATOM = A2 ] && [ ! -e OUT/again ] && {{ touch OUT/again; sleep 600; }}\n{ONE_CALL}"
    ));
    world.align(&plan(&[CHECK], json!({"budget": {"calls": 9}}), chain()));
    let run = world.start(&["run"]);
    world.wait_for_file("again");
    let reserved = world.state()["run"]["in_flight"][0]["reserved"].clone();
    assert_eq!((&reserved["calls"], &reserved["cost_usd"]), (&json!(1), &json!(0.25)));
    run.kill();
    ends(&world, 0, "base_case");
    let spent = &world.state()["run"]["spent"];
    assert_eq!((&spent["calls"], &spent["estimated"]), (&json!(4), &json!(true)));
}

#[test]
fn a_planning_step_has_a_budget_of_its_own() {
    let world = world(ONE_CALL);
    let fragment = json!({"atoms": {
        "p": {"description": "p"}, "q": {"description": "q", "depends_on": ["p"]},
        "r": {"description": "r", "depends_on": ["q"]},
    }});
    let path = world.root().join("fragment.json");
    fs::write(&path, fragment.to_string()).unwrap();
    let told = world.out("told");
    let planner = format!("echo \"$DESCENT_BUDGET\" > {}; cat {}", told.display(), path.display());
    let step = json!({
        "kind": "plan", "description": "plan it", "action": {"run": planner},
        "budget": {"calls": 2, "cost_usd": "9"}, "convergence_target": "F1",
    });
    let last = with(task("touch done"), json!({"depends_on": ["N1"], "accepts_partial": true}));
    world.align(&plan(&["test -f done"], json!({}), json!({"N1": step, "F1": last})));
    let ran = world.run().expect(0);
    let told: Value = serde_json::from_str(&world.left("told")).unwrap();
    assert_eq!(told["calls"], 2);
    assert_eq!(told["cost_micro_usd"], 9_000_000);
    let lines = ran.lines();
    let over = lines.iter().find(|line| line["event"] == "phase_over").expect("it is over");
    assert_eq!((&over["limit"], &over["is_partial"]), (&json!("calls"), &json!(true)));
    assert_eq!(world.left("made").lines().count(), 2);
    assert_eq!(ran.result()["missing"].as_array().unwrap().len(), 1);
}

#[test]
fn a_report_of_usage_that_cannot_be_makes_a_result_unclear() {
    let world = world("touch done; uses '{\"calls\": -1}'");
    let limits = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], limits, json!({"A1": by_worker()})));
    world.run().expect(0);
    let binding = &world.state()["bindings"]["A1"];
    let because = binding["unclear_because"].as_str().unwrap();
    assert!(because.contains("`usage.calls` is a number"), "{because}");
}

#[test]
fn a_limit_that_is_none_is_refused() {
    let world = World::new();
    for (limits, words) in [
        (json!({"budget": {"calls": 0}}), "nothing could ever be tried"),
        (json!({"budget": {"cost_usd": "0.00"}}), "nothing could ever be tried"),
        (json!({"budget": {"cost_usd": "5 dollars"}}), "is no amount of dollars"),
        (json!({"budget": {"tokens": -1}}), "a whole number"),
    ] {
        let plan = plan(&["test -f done"], limits, json!({"A1": task("touch done")}));
        world.try_align(&plan).expect(65).says(words);
    }
}

#[test]
fn whoever_looks_is_shown_the_usage_of_each_agent() {
    let world = world(ONE_CALL);
    let limits = json!({"budget": {"calls": 10, "cost_usd": "2"}});
    world.align(&plan(&[CHECK], limits, chain()));
    let ran = world.descent(&["run"]).expect(0);
    let ran = ran.says("budget.cost_usd counts what the worker reports");
    let of_worker = "worker: 3 calls, 369 tokens, $0.75";
    assert!(ran.stdout.contains(of_worker), "{}{}", ran.stdout, ran.stderr);
    let status = world.descent(&["status"]).expect(0);
    let status = status.shows("3 calls, 369 tokens, $0.75; at most 10 calls, $2.00");
    status.shows(of_worker);
    let spent = &world.status()["spent"];
    assert_eq!((&spent["calls"], &spent["tokens"]["cached"]), (&json!(3), &json!(9)));
    assert_eq!(spent["by_agent"][0]["agent"], "worker");
    assert_eq!(spent["by_agent"][0]["cost_usd"], "0.75");
    for format in ["md", "html", "junit"] {
        let report = world.descent(&["report", "--format", format]).expect(0);
        report.shows("worker: 3 calls, 369 tokens");
    }
    let report = world.descent(&["report", "--format", "json"]).expect(0).json();
    assert_eq!(report["spent"]["by_agent"][0]["calls"], 3);
}

#[test]
fn a_failed_attempt_keeps_its_usage_and_its_agent() {
    let world = world("uses '{\"calls\": 2}'; exit 3");
    let limits = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], limits, json!({"A1": by_worker()})));
    world.run().expect(5);
    let trail = world.state()["trail"].clone();
    let failure = trail.as_array().unwrap().iter().find(|one| one["type"] == "failure");
    let failure = failure.expect("a failure");
    assert_eq!(failure["agent"], "worker");
    assert_eq!(failure["usage"]["calls"], 2);
    wait_for("the usage", || world.state()["run"]["spent"]["calls"] == 2);
}

#[test]
fn a_worker_that_calls_models_and_tells_no_cost_is_not_started_again_under_a_limit_of_money() {
    let world = world("echo $DESCENT_ATOM >> OUT/made; touch $DESCENT_ATOM; uses '{\"calls\": 1}'");
    world.align(&plan(&[CHECK], json!({"budget": {"cost_usd": "5"}}), chain()));
    let result = ends(&world, 69, "unavailable");
    let moves = result["next_moves"].to_string();
    assert!(moves.contains("give it a price in descent.toml (agents.worker.price)"), "{moves}");
    assert_eq!(world.left("made"), "A1\n");
}

#[test]
fn an_agent_is_told_when_a_fifth_of_a_limit_is_left() {
    let world = world(
        "cp $DESCENT_PROMPT OUT/prompt.$DESCENT_ATOM; touch $DESCENT_ATOM; uses '{\"calls\": 1}'",
    );
    let atom = |n: u32| match n {
        1 => by_worker(),
        _ => with(by_worker(), json!({"depends_on": [format!("A{}", n - 1)]})),
    };
    let atoms: serde_json::Map<String, Value> =
        (1..=5).map(|n| (format!("A{n}"), atom(n))).collect();
    world.align(&plan(&["test -f A5"], json!({"budget": {"calls": 5}}), json!(atoms)));
    ends(&world, 0, "base_case");
    assert!(!world.left("prompt.A4").contains("model calls are left"));
    let last = world.left("prompt.A5");
    assert!(last.contains("1 of 5 model calls are left"), "{last}");
}

#[test]
fn the_price_of_a_command_counts_its_tokens() {
    let world = world("touch $DESCENT_ATOM; uses '{\"calls\": 1, \"input_tokens\": 500000}'");
    let text = world.read("descent.toml");
    let line = text.lines().next().unwrap_or_default();
    let run = line.trim_start_matches("agents.worker.run = ");
    world.write(
        "descent.toml",
        &format!(
            "[agents.me]\nrun = {run}\nprice = {{input = \"3\", output = \"15\"}}\n[roles]\nworker = \"me\"\n"
        ),
    );
    world.align(&plan(&[CHECK], json!({"budget": {"cost_usd": "2"}}), chain()));
    ends(&world, 5, "budget.cost_usd");
    let spent = &world.state()["run"]["spent"];
    assert_eq!((&spent["cost_usd"], &spent["estimated"]), (&json!(1.5), &json!(true)));
}
