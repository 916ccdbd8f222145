//! The budget of a plan: what is open of it when that is over is dropped, and its target goes on, or not.

use crate::whole_records;
use serde_json::{Value, json};

use crate::{
    processes::{long_nap, processes},
    world::{World, after, plan, task, with},
};

/// A step that plans the tasks a, b and c, one after the other, within that budget; F, which waits for it, makes `sum`.
fn pages(budget: Value, takes_a_part: bool) -> Value {
    let atoms = json!({
        "a": task("touch a"),
        "b": with(after(&["a"], "touch b"), json!({"description": "the page b"})),
        "c": after(&["b"], "touch c"),
    });
    let text = json!({"atoms": atoms}).to_string();
    let prints = format!("echo \"$DESCENT_BUDGET\" > budget; cat <<'END'\n{text}\nEND");
    let step = json!({"kind": "plan", "convergence_target": "F", "budget": budget,
        "action": {"run": prints}});
    let script = "cp \"$DESCENT_BINDINGS\" bindings; cp \"$DESCENT_PROMPT\" prompt; ls > sum";
    let f = with(after(&["N"], script), json!({"accepts_partial": takes_a_part}));
    json!({"N": step, "F": f})
}

#[test]
fn what_is_missing_is_told_to_the_target_and_to_the_person() {
    let world = World::new();
    let atoms = pages(json!({"attempts": 1}), true);
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let missing = "it is gone on with without N-2, N-3";
    let ran = world.descent(&["run"]).expect(0);
    let ran = ran.shows(missing);
    assert!(ran.stdout.contains("dropped N-2 of N: the page b"), "{}", ran.stdout);
    let bindings: Value = serde_json::from_str(&world.result_file("bindings")).unwrap();
    let expected =
        json!({"partial": true, "limit": "attempts", "missing": ["the page b", "run touch c"]});
    assert_eq!(bindings["N"], expected);
    assert!(bindings["N-1"].is_object(), "{bindings}");
    let prompt = world.result_file("prompt");
    let words =
        "N is there in part: its budget was over before this was done: the page b; run touch c";
    assert!(prompt.contains(words), "{prompt}");
    let status = world.status();
    assert_eq!(status["dropped"], json!(["N-2", "N-3"]));
    let result = &status["last_result"];
    let expected = json!([{"atom": "N-2", "of": "N", "description": "the page b"},
        {"atom": "N-3", "of": "N", "description": "run touch c"}]);
    assert_eq!(result["missing"], expected);
    let drawn = world.descent(&["graph"]).expect(0);
    drawn.shows("├ – N-2").shows("plans, in part, 1 attempt a plan");
    world.descent(&["log"]).expect(0).shows("dropped   N: the attempts of its budget are over");
    world.descent(&["why", "N-2"]).expect(0).shows("dropped");
    world.descent(&["validate"]).expect(0);
}

#[test]
fn without_a_target_that_takes_a_part_a_budget_that_is_over_fails_the_plan() {
    let world = World::new();
    let atoms = pages(json!({"attempts": 2}), false);
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(5);
    let ran = ran.shows("with N-3 open: this plan failed");
    ran.shows("the budget of the last was over");
    assert_eq!(world.state()["bindings"], json!({}));
}

#[test]
fn more_of_a_budget_opens_again_what_was_dropped() {
    let world = World::new();
    let atoms = pages(json!({"attempts": 1}), true);
    world.align(&plan(&["test -e sum -a -e c"], json!({}), atoms));
    world.run().expect(5);
    let text = world.state_text();
    let at = text.find("\"budget\": {").expect("a budget");
    let (before, of_budget) = text.split_at(at);
    let more = of_budget.replacen("\"attempts\": 1", "\"attempts\": 9", 1);
    world.save(&(before.to_owned() + &more));
    world.run().expect(0);
    assert!(world.result_file("sum").contains('c'));
    assert_eq!(world.status()["last_result"]["missing"], Value::Null);
}

#[test]
fn a_budget_of_time_ends_what_is_under_way_and_leaves_no_process() {
    let world = World::new();
    let begun = world.out("begun").display().to_string();
    let nap = long_nap();
    let slow = format!("echo $$ > {begun}; sleep {nap}; touch b");
    let text = json!({"atoms": {"a": task("touch a"), "b": after(&["a"], &slow)}}).to_string();
    let step = json!({"kind": "plan", "convergence_target": "F", "budget": {"time": "2s"},
        "action": {"run": format!("cat <<'END'\n{text}\nEND")}});
    let f = with(after(&["N"], "ls > sum"), json!({"accepts_partial": true}));
    let atoms = json!({"N": step, "F": f});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    world
        .descent(&["run"])
        .expect(0)
        .shows("the time of its budget is over; it is gone on with without");
    assert!(!world.left("begun").is_empty());
    assert_eq!(processes(&nap), Vec::<String>::new());
}

#[test]
fn a_step_inside_is_told_what_is_left_and_given_no_more() {
    let world = World::new();
    let told = world.out("told").display().to_string();
    let inner = |more: Value| {
        let text = json!({"atoms": {"one": task("touch one")}}).to_string();
        let run = format!("echo \"$DESCENT_BUDGET\" > {told}; cat <<'END'\n{text}\nEND");
        with(json!({"kind": "plan", "action": {"run": run}}), more)
    };
    let outer = |more: Value| {
        let text = json!({"atoms": {"x": task("touch x"), "M": with(inner(more), json!({"depends_on": ["x"]}))}});
        let text = text.to_string();
        json!({"kind": "plan", "budget": {"attempts": 5, "time": "1h"},
            "action": {"run": format!("cat <<'END'\n{text}\nEND")}})
    };
    let atoms = json!({"N": outer(json!({})), "F": after(&["N"], "touch sum")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    world.run().expect(0);
    let budget: Value = serde_json::from_str(&world.left("told")).unwrap();
    // x, and the attempt that plans.
    assert_eq!(budget["attempts"], 3, "{budget}");
    let ms = budget["time_ms"].as_u64().unwrap();
    assert!((3_000_000..3_600_000).contains(&ms), "{budget}");
    let world = World::new();
    let atoms = json!({"N": outer(json!({"budget": {"attempts": 6, "time": "2h"}})), "F": after(&["N"], "touch sum")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(5);
    ran.shows("/atoms/M/budget: its budget is 6 attempts, 5 are left");
}

#[test]
fn a_budget_that_limits_nothing_is_a_fault_of_the_plan() {
    let world = World::new();
    for budget in [json!({}), json!({"attempts": 0}), json!({"time": "0s"})] {
        let atoms = pages(budget, true);
        let ran = world.try_align(&plan(&["test -e sum"], json!({}), atoms));
        ran.expect(65).says("/work_graph/atoms/N/budget");
    }
}

/// The first part is taken out of the results and the time is over, so it may not start. So nothing waits for the
/// second, which is to be made again.
#[test]
fn a_repair_that_waits_for_what_may_not_start_holds_nobody_up() {
    let world = World::new();
    let out = |name: &str| world.out(name).display().to_string();
    let b =
        format!("test ! -e {} || {{ touch {}; sleep 600; }}; cp a b", out("slow"), out("again"));
    let text = json!({"atoms": {"a": task("date +%N > a"), "b": after(&["a"], &b)}}).to_string();
    let step = json!({"kind": "plan", "budget": {"time": "1h"},
        "action": {"run": format!("cat <<'END'\n{text}\nEND")}});
    let last = format!("touch {}; sleep 600; touch z", out("begun"));
    let atoms = json!({"N": step, "Z": after(&["N"], &last)});
    world.align(&plan(&["test -e z"], json!({}), atoms));
    let run_until = |file: &str| {
        let mut run = world.start(&["run"]);
        world.wait_for_file(file);
        world.descent(&["stop"]).expect(0);
        run.wait().expect(3);
    };
    let forget = |time: &str| {
        let mut state = world.state();
        whole_records::open(&mut state, "N-1");
        state["work_graph"]["atoms"]["N"]["budget"]["time"] = json!(time);
        world.save_records(&state);
    };
    run_until("begun");
    world.touch("slow");
    forget("1h");
    run_until("again");
    forget("1ms");
    world.run().expect(5);
}

#[test]
fn what_a_person_takes_out_is_made_again_within_the_budget() {
    let world = World::new();
    world.align(&plan(&["test -e sum -a -e c"], json!({}), pages(json!({"attempts": 3}), false)));
    world.run().expect(0);
    let mut state = world.state();
    whole_records::open(&mut state, "N-1");
    state["objective"]["base_case"]["all"][0]["command"] = json!("test -e sum -a -e c -a -e a");
    world.save_records(&state);
    let ran = world.descent(&["run"]).expect(0);
    assert!(!ran.stdout.contains("this plan failed"), "{}", ran.stdout);
}

/// A plan whose one part says that it began and then waits, with that budget of time.
fn waits(world: &World, part: Value, time: &str) -> Value {
    let begun = world.out("begun").display().to_string();
    let slow = with(task(&format!("touch {begun}; sleep 600")), part);
    let text = json!({"atoms": {"a": slow}}).to_string();
    json!({"kind": "plan", "budget": {"time": time},
        "action": {"run": format!("cat <<'END'\n{text}\nEND")}})
}

#[test]
fn what_is_in_doubt_is_asked_about_before_it_is_dropped() {
    let world = World::new();
    let step = waits(&world, json!({"effect": "external"}), "1h");
    let atoms = json!({"N": step, "F": after(&["N"], "touch sum")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let run = world.start(&["run"]);
    world.wait_for_file("begun");
    run.kill();
    let mut state = world.state();
    state["work_graph"]["atoms"]["N"]["budget"]["time"] = json!("1ms");
    world.save_records(&state);
    world.run().expect(6);
    world.descent(&["confirm"]).expect(0).shows("N-1");
}

#[test]
fn what_a_person_says_is_done_counts_in_the_budget() {
    let world = World::new();
    let begun = world.out("begun").display().to_string();
    let a = with(task(&format!("echo x >> {begun}; sleep 600")), json!({"effect": "external"}));
    let text =
        json!({"atoms": {"a": a, "b": after(&["a"], "touch b"), "c": after(&["b"], "touch c")}});
    let step = json!({"kind": "plan", "convergence_target": "F", "budget": {"attempts": 2},
        "action": {"run": format!("cat <<'END'\n{text}\nEND")}});
    let f = with(after(&["N"], "touch sum"), json!({"accepts_partial": true}));
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": step, "F": f})));
    let run = world.start(&["run"]);
    world.wait_for_file("begun");
    run.kill();
    world.run().expect(6);
    let attempt = world.state()["work_graph"]["atoms"]["N-1"]["because"].clone();
    let said = ["confirm", attempt.as_str().unwrap()];
    world.descent(&said).expect(0);
    world.descent(&["validate"]).expect(0);
    let fragment = &world.state()["work_graph"]["atoms"]["N"]["fragment"];
    assert_eq!(fragment["attempts"], 1);
    let result = world.run().expect(0).result();
    assert_eq!(result["missing"][0]["atom"], "N-3", "{result}");
    assert_eq!(world.left("begun"), "x\n");
}

#[test]
fn the_clock_of_a_plan_begins_anew_in_a_fork() {
    let world = World::new();
    let atoms = json!({"S": task("sleep 0.3"), "N": with(waits(&world, json!({}), "1h"), json!({"depends_on": ["S"]}))});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let until_begun = |args: &[&str]| {
        let mut run = world.start(&[args, &["run"]].concat());
        world.wait_for_file("begun");
        std::fs::remove_file(world.out("begun")).unwrap();
        world.descent(&[args, &["stop"]].concat()).expect(0);
        run.wait().expect(3);
    };
    until_begun(&[]);
    let other = world.repo().join(".descent/other.json");
    let other = other.to_str().unwrap();
    world.descent(&["undo", "--into", other]).expect(0);
    until_begun(&["--state", other]);
    let text = std::fs::read_to_string(other).unwrap();
    let state = whole_records::whole(&serde_json::from_str(&text).unwrap());
    let since = &state["work_graph"]["atoms"]["N"]["fragment"]["since_ms"];
    let spent = state["run"]["spent"]["active"].as_str().unwrap();
    let seconds: f64 = spent.trim_end_matches('s').parse().unwrap();
    assert!(since.as_f64() <= Some(seconds * 1_000.0), "{since} of {spent}");
}

#[test]
fn a_planner_with_little_left_is_told_to_plan_what_reaches_the_goal_soonest() {
    let words = "Little is left (attempts): plan what reaches the goal soonest.";
    for (attempts, is_told) in [(5, true), (20, false)] {
        let world = World::new();
        let told = world.out("told").display().to_string();
        let last = json!({"atoms": {"end": task("touch end")}});
        let inner = json!({"kind": "plan", "depends_on": ["c"], "description": "plan the end",
            "action": {"run": format!("cp \"$DESCENT_PROMPT\" {told}; cat <<'END'\n{last}\nEND")}});
        let atoms = json!({"a": task("touch a"), "b": after(&["a"], "touch b"),
            "c": after(&["b"], "touch c"), "M": inner});
        let text = json!({"atoms": atoms});
        let outer = json!({"kind": "plan", "budget": {"attempts": attempts},
            "action": {"run": format!("cat <<'END'\n{text}\nEND")}});
        let atoms = json!({"N": outer});
        world.align(&plan(&["test -e end"], json!({}), atoms));
        world.run().expect(0);
        let prompt = world.left("told");
        assert_eq!(prompt.contains(words), is_told, "{prompt}");
    }
}
