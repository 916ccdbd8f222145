//! A planner is told of the phases before it: by a mode, within its characters, and whole in files.

use serde_json::{Value, json};

use crate::world::{World, plan, task, with};

/// A task that makes a file, and gives a result with a value.
fn work(k: usize) -> Value {
    let report = json!({"summary": format!("summary {k}"), "handoff": format!("handoff {k}"),
        "value": {"rest": "y".repeat(300), "first": k}});
    let run = format!("touch made-{k}; cat > \"$DESCENT_RESULT\" <<'END'\n{report}\nEND");
    with(
        task(&run),
        json!({"output_schema": {"required": ["first"]}, "provides": [format!("thing-{k}")]}),
    )
}

/// A step that plans one such task, and keeps outside what it was told.
fn step(world: &World, k: usize, more: Value) -> Value {
    let text = json!({"reasoning": format!("reason {k}"), "atoms": {"do": work(k)}});
    let keep = |name: &str| world.out(name).display().to_string();
    let run = format!(
        "cp \"$DESCENT_PROMPT\" {}; cp -r \"$(dirname \"$DESCENT_PROMPT\")/bindings\" {}; cat <<'END'\n{text}\nEND",
        keep(&format!("prompt-{k}")),
        keep(&format!("whole-{k}")),
    );
    let waits = match k {
        1 => json!({}),
        k => json!({"depends_on": [format!("P{}", k - 1)]}),
    };
    let step = json!({"kind": "plan", "description": format!("plan {k}"), "action": {"run": run}});
    with(with(step, waits), more)
}

/// Three phases, then a fourth step with these keys of its own.
fn phases(world: &World, own: Value) -> Value {
    json!({"P1": step(world, 1, json!({})), "P2": step(world, 2, json!({})),
        "P3": step(world, 3, json!({})), "P4": step(world, 4, own)})
}

/// The prompt of the fourth step.
fn told(world: &World, constraints: Value, sets: &[&str], own: Value) -> String {
    let atoms = phases(world, own);
    let path = world.plan(&plan(&["test -e made-4"], constraints, atoms));
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let args = ["align", "-f", &path, "-y"].into_iter().chain(sets);
    world.descent(&args.collect::<Vec<_>>()).expect(0);
    world.run().expect(0);
    world.left("prompt-4")
}

#[test]
fn the_newest_phase_is_told_in_full_and_those_before_it_in_short() {
    let world = World::new();
    let prompt = told(&world, json!({}), &[], json!({}));
    let long = "y".repeat(300);
    let short = format!("{}…", "y".repeat(200));
    for words in [
        "Phase 3 of 3:\n- P3-1: summary 3\n    (what it hands on:)\n    handoff 3\n",
        &format!("(its value: {{\"rest\":\"{long}\",\"first\":3}})"),
        &format!(
            "Phase 2 of 3:\n- P2-1: summary 2\n    (its value: {{\"first\":2,\"rest\":\"{short}\"}})"
        ),
        &format!(
            "Phase 1 of 3:\n- P1-1: summary 1\n    (its value: {{\"first\":1,\"rest\":\"{short}\"}})"
        ),
        "- P2 (plan 2), plan P2.3: reason 2\n",
        "60000 characters of this prompt at most, about 15000 tokens at 4 each; results are told by the mode `auto`",
        "the file bindings/ID.json beside the one that $DESCENT_PROMPT names",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    // However old, each lies whole beside the prompt.
    for k in 1..=3 {
        let text = world.left(&format!("whole-4/P{k}-1.json"));
        let whole: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(whole["value"], json!({"rest": long, "first": k}));
        assert_eq!(whole["handoff"], format!("handoff {k}"));
    }
    let inside = std::fs::read_dir(world.out("whole-4")).unwrap().count();
    assert_eq!(inside, 3);
    assert!(!world.out("whole-1").exists(), "nothing came before it");
}

#[test]
fn the_mode_is_that_of_the_step_else_of_the_agreement() {
    let by_name = "- by name only: P2-1 and P1-1 (2 results)";
    let hierarchical = json!({"planning": {"context": {"mode": "hierarchical", "chars": 9000}}});
    let selective = json!({"needs": ["thing-1"], "context": {"mode": "selective"}});
    for (constraints, sets, own, mode, chars, words) in [
        (hierarchical.clone(), &[][..], json!({}), "hierarchical", 9_000, by_name),
        (
            json!({}),
            &["planning.context=mode=hierarchical,chars=9000"][..],
            json!({}),
            "hierarchical",
            9_000,
            by_name,
        ),
        // A key that the step leaves out is as in the agreement.
        (
            hierarchical,
            &[][..],
            selective,
            "selective",
            9_000,
            "- P1-1: summary 1\n    (what it hands on:)",
        ),
    ] {
        let world = World::new();
        let prompt = told(&world, constraints, sets, own);
        let limit = format!("{chars} characters of this prompt");
        let mode = format!("the mode `{mode}`");
        for words in [words, &*limit, &*mode] {
            assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
        }
        assert!(prompt.chars().count() <= chars);
        let status = world.descent(&["status", "--constraints"]).expect(0);
        status.shows("mode hierarchical, chars 9000");
    }
}

#[test]
fn a_context_that_is_none_is_a_fault_with_its_place() {
    let world = World::new();
    let bad = |constraints: Value, own: Value| {
        let path = world.plan(&plan(&["test -e made-4"], constraints, phases(&world, own)));
        world.descent(&["align", "-f", &path, "-y"]).expect(65)
    };
    bad(json!({"planning": {"context": {"mode": "hierachical"}}}), json!({}))
        .says("/objective/constraints/planning/context/mode")
        .says("did you mean `hierarchical`?");
    bad(json!({}), json!({"context": {"mode": "sumary"}}))
        .says("/work_graph/atoms/P4/context/mode")
        .says("did you mean `summary`?");
    bad(json!({}), json!({"context": {"chars": 70000}}))
        .says("/work_graph/atoms/P4/context/chars")
        .says("from 4000 to 64000");
    told(&world, json!({}), &[], json!({}));
    for (pair, words) in [
        ("planning.context=mode=ful", "did you mean `full`?"),
        ("planning.context=chars=1", "from 4000 to 64000"),
        ("planning.context=full", "planning.context=mode=full"),
        ("planning.context=mod=full", "did you mean `mode`?"),
        ("planning.context=[1]", "context"),
    ] {
        let ran = world.descent(&["run", "--set", pair]).expect(2);
        ran.says("E-USAGE").says(words);
    }
    world
        .descent(&["run", "--set", "planning.context={\"mode\": \"full\"}"])
        .expect(0)
        .shows("context: default → mode full");
}
