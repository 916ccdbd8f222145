//! Changes of the plan: where nothing is left to try, the program places one more planning step, and a configured
//! planner plans it.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task, with};

/// A world whose planner runs this script.
fn world(planner: &str) -> World {
    let world = World::new();
    configure(&world, planner);
    world
}

fn configure(world: &World, planner: &str) {
    let path = world.program("planner", &format!("#!/bin/sh\n{planner}\n"));
    let run = path.display();
    let config = format!("[agents.thinker]\nrun = \"{run}\"\n[roles]\nplanner = \"thinker\"\n");
    world.write("descent.toml", &config);
}

/// A script that leaves its prompt outside, and prints these atoms.
fn prints(world_out: &str, atoms: &Value) -> String {
    let fragment = json!({"reasoning": "another way", "atoms": atoms});
    format!(
        "cp \"$DESCENT_PROMPT\" {world_out}/prompt\necho \"$DESCENT_BUDGET\" > {world_out}/budget\n\
         echo call >> {world_out}/calls\ncat <<'END'\n{fragment}\nEND"
    )
}

fn out(world: &World) -> String {
    let path = world.out("x");
    path.parent().expect("a folder").display().to_string()
}

/// A, which fails for good, and F, which waits for it.
fn fails() -> Value {
    let a = with(
        task("echo it is broken; exit 3"),
        json!({"description": "make the part", "checks": {"command": "test -e made"}}),
    );
    json!({"A": a, "F": after(&["A"], "cat made > sum")})
}

fn changes(world: &World) -> Vec<Value> {
    let state = world.state();
    let trail = state["trail"].as_array().cloned().unwrap_or_default();
    let changes = trail.into_iter().filter(|one| one["type"] == "replan");
    changes.collect()
}

#[test]
fn a_task_that_failed_for_good_is_planned_anew_and_the_run_completes() {
    let world = world("");
    let atoms = json!({"one": task("echo 7 > made")});
    configure(&world, &prints(&out(&world), &atoms));
    let text = world.plan(&plan(&["test -e sum"], json!({}), fails()));
    let aligned = world.descent(&["align", "--plan", &text, "--yes"]).expect(0);
    let more = "more for each of at most 10 changes of the plan";
    aligned.shows(more);
    let ran = world.descent(&["run"]).expect(0).shows(more);
    ran.shows("A becomes a step that plans: A failed for good; 9 changes left");
    assert_eq!(world.result_file("sum"), "7\n");
    let state = world.state();
    let a = &state["work_graph"]["atoms"]["A"];
    assert_eq!((&a["kind"], &a["parts"]), (&json!("plan"), &json!(["A-1", "A-2"])));
    let planned = &a["placed"];
    assert_eq!(planned["by"], "planner");
    assert_eq!(planned["reason"], "A failed for good");
    assert_eq!(planned["was"]["action"]["run"], "echo it is broken; exit 3");
    // The closing atom waits for all else, and keeps the checks.
    let closing = &state["bindings"]["A-2"]["of"];
    assert_eq!(closing["depends_on"], json!(["A-1"]));
    assert_eq!(closing["checks"]["command"], "test -e made");
    let grant = &state["run"]["grant"];
    assert_eq!((&grant["left"], &grant["tried"]), (&json!(9), &json!(1)));
    let [change] = &changes(&world)[..] else { panic!("one change") };
    assert_eq!((&change["atom"], &change["place"]), (&json!("A"), &json!("atom")));
    let prompt = world.left("prompt");
    for words in [
        "# Why the plan is changed here",
        "Nothing was left to try: A failed for good.",
        "- A (make the part): exit 3",
        "An atom after all of yours keeps its checks",
        "Changes of the plan that are left after this one: 9.",
        "it is broken",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    let budget: Value = serde_json::from_str(&world.left("budget")).unwrap();
    assert_eq!((&budget["atoms"], &budget["tasks_in_contexts"]), (&json!(19), &json!(19)));
    world.descent(&["validate"]).expect(0);
    let shown = |command: &[&str], words: &str| drop(world.descent(command).expect(0).shows(words));
    shown(&["log"], "A becomes a step that plans");
    shown(&["why", "A"], "becomes a step that plans");
    shown(&["report"], "becomes a step that plans: A failed for good");
    shown(&["graph"], "├ ✓ A-1");
}

#[test]
fn without_a_planner_a_task_that_failed_for_good_ends_the_run() {
    let world = World::new();
    world.align(&plan(&["test -e sum"], json!({}), fails()));
    let ran = world.descent(&["run"]).expect(5);
    assert!(!ran.stdout.contains("changes of the plan"), "{}", ran.stdout);
    assert_eq!(world.state()["run"]["grant"], Value::Null);
    // A worker alone is no planner.
    world.write("descent.toml", "agents.worker.run = \"exit 1\"\nroles.worker = \"worker\"\n");
    world.run().expect(5);
    assert!(changes(&world).is_empty());
}

#[test]
fn a_refuted_base_case_gets_a_root_that_waits_for_all_others() {
    let world = world("");
    configure(&world, &prints(&out(&world), &json!({"b": task("test -e a && touch b")})));
    let atoms = json!({"A": task("touch a")});
    world.align(&plan(&["test -e b"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(0);
    ran.shows("plan-1 plans what is missing: the base case does not hold with every step done");
    let root = &world.state()["work_graph"]["atoms"]["plan-1"];
    assert_eq!(root["depends_on"], json!(["A"]));
    assert_eq!(root["origin"]["by"], "planner");
    let prompt = world.left("prompt");
    assert!(prompt.contains("- the base case, with every step done: "), "{prompt}");
}

#[test]
fn a_group_that_failed_gets_one_more_choice_that_plans() {
    let world = world("");
    configure(&world, &prints(&out(&world), &json!({"c": task("touch sum")})));
    let group = json!({"kind": "any", "choices": ["A", "B"]});
    let atoms = json!({"G": group, "A": task("exit 1"), "B": task("exit 2")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let ran = world.descent(&["run"]).expect(0);
    ran.shows("G-1 is one more choice, and plans");
    let group = &world.state()["work_graph"]["atoms"]["G"];
    assert_eq!(group["choices"], json!(["A", "B", "G-1"]));
    assert_eq!(group["selected"], "G-1");
    let prompt = world.left("prompt");
    for words in ["- A (run exit 1): exit 1", "- B (run exit 2): exit 2"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
}

#[test]
fn a_planner_that_comes_to_nothing_is_not_asked_for_the_same_step_again() {
    let world = world("");
    configure(&world, &format!("echo call >> {}/calls; exit 1", out(&world)));
    let constraints = json!({"planning": {"changes": 2}, "max_attempts": 1});
    world.align(&plan(&["test -e sum"], constraints, fails()));
    let ran = world.descent(&["run"]).expect(5);
    assert!(!ran.stdout.contains("no change"), "{}", ran.stdout);
    assert_eq!(world.left("calls"), "call\n");
    let result = &world.status()["last_result"];
    assert_eq!(result["reason"], "no_choice");
    let moves = result["next_moves"].to_string();
    assert!(!moves.contains("planning.changes"), "{moves}");
    // Nothing changed, so nothing is granted again.
    world.run().expect(5);
    assert_eq!(world.left("calls"), "call\n");
    assert_eq!(changes(&world).len(), 1);
}

#[test]
fn a_kill_between_the_change_and_the_plan_changes_nothing_of_what_is_granted() {
    let world = world("");
    let atoms = json!({"one": task("echo 7 > made")});
    let out = out(&world);
    let first = format!("if test ! -e {out}/begun; then touch {out}/begun; sleep 600; fi");
    configure(&world, &format!("{first}\n{}", prints(&out, &atoms)));
    world.align(&plan(&["test -e sum"], json!({}), fails()));
    let run = world.start(&["run"]);
    world.wait_for_file("begun");
    run.kill();
    let grant = world.state()["run"]["grant"].clone();
    assert_eq!(grant["left"], 9, "{grant}");
    world.run().expect(0);
    assert_eq!(world.state()["run"]["grant"], grant);
    assert_eq!(changes(&world).len(), 1);
    assert_eq!(world.result_file("sum"), "7\n");
}

#[test]
fn what_stood_there_can_be_put_back_by_a_person() {
    let world = world("");
    configure(&world, "exit 1");
    let constraints = json!({"planning": {"changes": 1}, "max_attempts": 1});
    world.align(&plan(&["test -e sum"], constraints, fails()));
    world.run().expect(5);
    let mut state = world.state();
    let a = &mut state["work_graph"]["atoms"]["A"];
    assert_eq!(a["kind"], "plan");
    let mut was = a["placed"]["was"].clone();
    was["action"]["run"] = json!("echo 8 > made");
    *a = was;
    world.save_records(&state);
    world.run().expect(0);
    assert_eq!(world.result_file("sum"), "8\n");
    let state = world.state();
    assert_eq!(state["bindings"]["A"]["of"]["kind"], "task");
    // The change that was tried stays tried, whoever corrects the plan.
    assert_eq!(state["run"]["grant"]["left"], 0);
}
