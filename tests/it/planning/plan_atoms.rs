//! Planning steps: an action prints a fragment of atoms, and the program makes them part of the work, or says what is
//! wrong with them.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task, with};

/// A step whose planner prints, at its n-th call, what `prints` holds there, and says outside what it was told.
fn planner(world: &World, id: &str, prints: &[Value]) -> Value {
    let mut script = format!(
        "#!/bin/sh\ncp \"$DESCENT_PROMPT\" OUT/{id}.prompt.$(ls OUT | grep -c '^{id}.prompt')\n\
         cp \"$DESCENT_BINDINGS\" OUT/{id}.bindings\necho \"$DESCENT_BUDGET\" > OUT/{id}.budget\n\
         echo call >> OUT/{id}.calls\ntouch left-behind\ncase $(wc -l < OUT/{id}.calls) in\n"
    );
    for (n, what) in prints.iter().enumerate() {
        let text = what.as_str().map_or_else(|| what.to_string(), str::to_owned);
        script += &format!("{}) cat <<'END'\n{text}\nEND\n;;\n", n + 1);
    }
    script += "*) exit 9;;\nesac\n";
    let out = world.out("x").parent().unwrap().display().to_string();
    let path = world.program(&format!("planner-{id}"), &script.replace("OUT", &out));
    json!({"kind": "plan", "description": format!("plan {id}"), "action": {"run": path.display().to_string()}})
}

fn fragment(atoms: Value) -> Value {
    json!({"reasoning": "it must be", "atoms": atoms})
}

fn calls(world: &World, id: &str) -> usize {
    world.left(&format!("{id}.calls")).lines().count()
}

/// `one`, and `two` after it.
fn two_atoms() -> Value {
    fragment(json!({
        "one": task("echo 1 > one"),
        "two": after(&["one"], "cat one > two"),
    }))
}

fn sum() -> Value {
    after(&["N"], "cat one two > sum")
}

#[test]
fn what_a_planner_prints_is_done_and_who_waits_for_it_waits_for_all_of_it() {
    let world = World::new();
    let n = planner(&world, "N", &[two_atoms()]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.descent(&["run"]).expect(0).shows("planned   N");
    assert_eq!(world.result_file("sum"), "1\n1\n");
    let state = world.state();
    let n = &state["work_graph"]["atoms"]["N"];
    assert_eq!((&n["kind"], &n["parts"]), (&json!("plan"), &json!(["N-1", "N-2"])));
    let one = &state["bindings"]["N-1"]["of"];
    assert_eq!(one["origin"]["by"], "planner");
    assert_eq!(one["origin"]["proposed"], "one");
    assert_eq!(one["origin"]["reason"], "it must be");
    let trail = state["trail"].as_array().unwrap();
    let entry = trail.iter().find(|one| one["type"] == "plan").expect("a trail entry");
    assert_eq!(entry["parts"], json!(["N-1", "N-2"]));
    world.descent(&["validate"]).expect(0);
    world.descent(&["log"]).expect(0).shows("2 atoms: N-1, N-2");
    world.descent(&["graph"]).expect(0).shows("├ ✓ N-1");
}

#[test]
fn nothing_that_a_planner_changes_gets_into_the_result() {
    let world = World::new();
    let n = planner(&world, "N", &[two_atoms()]);
    let gone = "test ! -e left-behind";
    world.align(&plan(&["test -e sum", gone], json!({}), json!({"N": n, "F": sum()})));
    world.run().expect(0);
}

#[test]
fn every_fault_of_a_fragment_is_told_and_the_next_attempt_can_put_it_right() {
    let world = World::new();
    let wrong = fragment(json!({
        "a": {"depends_on": ["F"], "depend_on": []},
        "b c": {"parts": []},
        "p": {"checks": {"file": "x", "contains": "(unclosed"}},
    }));
    let n = planner(&world, "N", &[wrong, two_atoms()]);
    let constraints = json!({"max_attempts": 2});
    world.align(&plan(&["test -e sum"], constraints, json!({"N": n, "F": sum()})));
    world.descent(&["run"]).expect(0).shows("its plan cannot be used");
    let prompt = world.left("N.prompt.1");
    for words in [
        "/atoms/a/depends_on/0: there is no atom `F` (a fragment names its own atoms alone",
        "/atoms/a/depend_on: unknown key `depend_on` (did you mean `depends_on`?)",
        "/atoms/b c: `b c` cannot name an atom",
        "/atoms/b c/parts: a group without parts",
        "/atoms/p/checks/contains: not a regular expression: unclosed group",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
}

#[test]
fn a_step_that_cannot_plan_fails_like_any_other() {
    let world = World::new();
    let n = planner(&world, "N", &[json!("I would begin with the parser")]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.run().expect(5);
    let status = world.status();
    assert_eq!(status["unresolved"], json!(["N", "F"]), "{status}");
    world.descent(&["why", "N"]).expect(0).shows("its plan cannot be used");
    world.descent(&["why", "N"]).expect(0).shows("(a step that plans)");
}

#[test]
fn what_is_left_is_told_in_numbers_and_in_words() {
    let world = World::new();
    let n = planner(&world, "N", &[two_atoms()]);
    let n = with(n, json!({"convergence_target": "F", "depends_on": ["A"]}));
    let result = r#"echo '{"summary": "found it", "value": 7}' > "$DESCENT_RESULT""#;
    let constraints = json!({"planning": {"refinements": 1, "atoms": 7}});
    let atoms = json!({"A": task(result), "B": task("true"), "N": n, "F": sum()});
    let atoms = with(atoms, json!({"A": after(&["B"], result)}));
    world.align(&plan(&["test -e sum"], constraints, atoms));
    world.run().expect(0);
    let budget: Value = serde_json::from_str(&world.left("N.budget")).unwrap();
    let expected = json!({"atoms": 7, "depth": 3, "tasks_in_contexts": 7, "alternatives": 16,
        "phases": 4, "refinements": 1});
    assert_eq!(budget, expected);
    let bindings: Value = serde_json::from_str(&world.left("N.bindings")).unwrap();
    assert_eq!(bindings["A"]["value"], 7);
    assert!(bindings["B"].is_object(), "what that was made from too: {bindings}");
    let prompt = world.left("N.prompt.0");
    for words in ["- atoms: 7", "serves F", "found it", "test -e sum"] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
}

#[test]
fn a_plan_that_failed_whole_is_made_again_with_what_failed() {
    let world = World::new();
    let bad = fragment(json!({
        "good": task("touch good"),
        "bad": after(&["good"], "echo no such thing; exit 3"),
    }));
    let n = planner(&world, "N", &[bad, two_atoms()]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.descent(&["run"]).expect(0).shows("replanned N");
    let prompt = world.left("N.prompt.1");
    for words in ["Plans that failed", "bad", "exit 3: no such thing", "was done, and did not help"]
    {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    let n = &world.state()["work_graph"]["atoms"]["N"];
    assert_eq!(n["parts"], json!(["N-3", "N-4"]), "ids count on");
    assert_eq!(n["fragments"][0]["parts"], json!(["N-1", "N-2"]));
    assert_eq!(world.result_file("sum"), "1\n1\n");
    world.descent(&["log"]).expect(0).shows("replanned N: another plan is made: ");
}

#[test]
fn the_same_plan_again_is_refused_and_the_rounds_have_an_end() {
    let world = World::new();
    let bad = fragment(json!({"a": task("false")}));
    let n = planner(&world, "N", &[bad.clone(), bad]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.descent(&["run"]).expect(5).shows("it is the plan of N.1");
    assert_eq!(calls(&world, "N"), 2);
    let world = World::new();
    let rounds: Vec<Value> =
        (0..9).map(|n| fragment(json!({"a": task(&format!("exit {}", n + 1))}))).collect();
    let n = planner(&world, "N", &rounds);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.run().expect(5);
    assert_eq!(calls(&world, "N"), 4, "once, and three times again");
}

#[test]
fn a_step_inside_a_plan_plans_with_what_is_left() {
    let world = World::new();
    let inner = planner(&world, "M", &[two_atoms()]);
    let outer = fragment(
        json!({"first": task("touch first"), "rest": with(inner, json!({"depends_on": ["first"]}))}),
    );
    let n = planner(&world, "N", &[outer]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.run().expect(0);
    assert_eq!(world.result_file("sum"), "1\n1\n");
    let atoms = &world.state()["work_graph"]["atoms"];
    assert_eq!(atoms["N-2"]["parts"], json!(["N-2-1", "N-2-2"]));
    let outer: Value = serde_json::from_str(&world.left("N.budget")).unwrap();
    let inner: Value = serde_json::from_str(&world.left("M.budget")).unwrap();
    for key in ["tasks_in_contexts", "alternatives", "phases", "refinements", "depth"] {
        assert!(inner[key].as_u64() <= outer[key].as_u64(), "{key}: {inner} {outer}");
    }
    assert!(inner["tasks_in_contexts"].as_u64() < Some(20), "{inner}");
}

/// N waits for G: under a its plan fails whole, under b it does not.
#[test]
fn a_choice_that_changes_has_a_plan_of_its_own() {
    let world = World::new();
    let n = planner(
        &world,
        "N",
        &[
            fragment(json!({"a": task("grep b chosen && touch one two")})),
            fragment(json!({"b": task("grep b chosen && touch one two")})),
        ],
    );
    let atoms = json!({
        "G": {"kind": "any", "choices": ["a", "b"]},
        "a": task("echo a > chosen"),
        "b": task("echo b > chosen"),
        "N": with(n, json!({"depends_on": ["G"]})),
        "F": sum(),
    });
    let constraints = json!({"planning": {"refinements": 0}});
    world.align(&plan(&["test -e sum"], constraints, atoms));
    world.descent(&["run"]).expect(0).shows("G: a → b");
    assert_eq!(calls(&world, "N"), 2);
}

#[test]
fn a_kill_between_a_plan_and_its_parts_loses_nothing() {
    let world = World::new();
    let slow = fragment(json!({"one": task(&format!(
        "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done; touch one two",
        world.out("begun").display(),
        world.out("go").display(),
    ))}));
    let n = planner(&world, "N", &[slow]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    let run = world.start(&["run"]);
    world.wait_for_file("begun");
    run.kill();
    world.touch("go");
    world.run().expect(0);
    assert_eq!(calls(&world, "N"), 1, "planned once");
    assert!(world.state()["bindings"]["N-1"].is_object());
}

#[test]
fn the_limits_of_planning_are_constraints_like_others() {
    let world = World::new();
    let n = planner(&world, "N", &[two_atoms()]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.descent(&["run", "--set", "planning.atoms=1"]).expect(5).shows("2 atoms");
    let shown = world.descent(&["status", "--constraints"]).expect(0);
    for limit in ["planning.atoms", "planning.changes", "planning.depth"] {
        assert!(shown.stdout.contains(limit), "{}", shown.stdout);
    }
}

#[test]
fn a_remark_on_a_planned_step_changes_nothing_and_other_words_plan_it_anew() {
    let world = World::new();
    let n = planner(&world, "N", &[two_atoms(), two_atoms()]);
    world.align(&plan(&["test -e sum"], json!({}), json!({"N": n, "F": sum()})));
    world.run().expect(0);
    let words = "\"description\": \"plan N\",";
    world.replace_in_state(words, &format!("{words} \"notes\": \"mine\","));
    world.run().expect(0);
    let of_step = || world.state()["work_graph"]["atoms"]["N"].clone();
    let n = of_step();
    assert_eq!((&n["kind"], &n["notes"]), (&json!("plan"), &json!("mine")));
    assert_eq!(calls(&world, "N"), 1);
    world.replace_in_state(words, "\"description\": \"plan N otherwise\",");
    world.replace_in_state("test -e sum", "test -e sum -a -e other");
    let ran = world.run().expect(5);
    let events = ran.lines();
    let first = |event: &str| events.iter().position(|line| line["event"] == event);
    assert!(first("planned") < first("refuted"), "{}", ran.stdout);
    let n = of_step();
    let parts = |n: usize, of: &Value| of["fragments"][n]["parts"].clone();
    let all = json!([n["notes"], parts(0, &n), parts(1, &n)]);
    let expected = json!(["mine", ["N-1", "N-2"], ["N-3", "N-4"]]);
    assert_eq!(all, expected, "{n}");
}

#[test]
fn a_pattern_of_a_planner_that_is_none_is_told_before_anything_is_made_of_its_plan() {
    let world = World::new();
    let wrong = fragment(json!({"p": {"choices": [
        {"checks": {"all": [{"command": "true", "stdout_matches": "["}]}}, {"checks": {"file": "{a"}},
    ]}}));
    let n = planner(&world, "N", &[wrong]);
    let atoms = json!({"N": n, "F": sum()});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    world.run().expect(5);
    let why = world.descent(&["why", "--json", "N"]).expect(0).stdout;
    for at in ["0/checks/all/0/stdout_matches: not a regular", "1/checks/file: not a glob"] {
        assert!(why.contains(&format!("/atoms/p/choices/{at}")), "{why}");
    }
    assert_eq!(world.state()["work_graph"]["atoms"]["N"]["kind"], "plan");
}

/// The plan is under way, its first part done and its second begun, when a person says that it is done.
#[test]
fn of_a_step_that_a_person_resolves_nothing_is_made_any_more() {
    let world = World::new();
    let slow = fragment(json!({
        "one": task("touch one"),
        "two": after(&["one"], &format!("echo begun >> {}; sleep 600", world.out("begun").display())),
    }));
    let n = planner(&world, "N", &[slow]);
    let atoms = json!({"N": n, "F": after(&["N"], "echo done > sum")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    let mut run = world.start(&["run"]);
    world.wait_for_file("begun");
    world.descent(&["stop"]).expect(0);
    run.wait().expect(3);
    let mut state = world.state();
    let step = state["work_graph"]["atoms"].as_object_mut().unwrap().remove("N");
    state["bindings"]["N"] = json!({"summary": "by hand", "by": "person", "of": step});
    world.save_records(&state);
    world.run().expect(0);
    assert_eq!(world.left("begun").lines().count(), 1, "begun once");
    assert_eq!(
        world.ours(&["grep", "-c", "", &head(&world), "--", "one", "sum"]).lines().count(),
        1
    );
}

fn head(world: &World) -> String {
    let state = world.state();
    state["run"]["head"].as_str().unwrap().to_owned()
}

#[test]
fn what_nobody_could_do_is_a_fault_of_a_plan() {
    let world = World::new();
    let wrong = fragment(
        json!({"a": {"description": "think"}, "g": {"choices": [task("true"), {"description": "b"}]}}),
    );
    let n = planner(&world, "N", &[wrong, two_atoms()]);
    let atoms = json!({"N": n, "F": sum()});
    world.align(&plan(&["test -e sum"], json!({"max_attempts": 2}), atoms));
    world.run().expect(0);
    let prompt = world.left("N.prompt.1");
    for at in ["/atoms/a: it has no `action`", "/atoms/g/choices/1: it has no `action`"] {
        assert!(prompt.contains(at), "no `{at}` in:\n{prompt}");
    }
}

#[test]
fn a_choice_that_could_not_be_planned_counts_as_tried() {
    let world = World::new();
    let n = planner(&world, "N", &[json!("no plan")]);
    let atoms = json!({"G": {"kind": "any", "choices": ["N", "b"]}, "N": n, "b": task("false")});
    world.align(&plan(&["test -e sum"], json!({}), atoms));
    world.run().expect(5);
    let choice = &world.status()["choices"][0];
    assert_eq!((&choice["failed"], &choice["untried"]), (&json!(["N", "b"]), &json!([])));
}

#[test]
fn a_step_that_got_its_attempts_back_plans_again_though_it_stands_for_an_older_plan() {
    let world = World::new();
    let same = || fragment(json!({"a": task("echo a > a")}));
    let other = fragment(json!({"b": task("echo b > b")}));
    let n = planner(&world, "N", &[same(), same(), same(), other]);
    let constraints = json!({"max_attempts": 1});
    world.align(&plan(&["test -e b"], constraints, json!({"N": n})));
    world.descent(&["run"]).expect(5);
    world.replace_in_state("test -e b", "test -e  b");
    world.descent(&["run"]).expect(5);
    world.replace_in_state("test -e  b", "test -e   b");
    world.descent(&["run"]).expect(0);
    assert_eq!(calls(&world, "N"), 4);
}
