//! The list that a person is shown of a plan: all that decides, all that an agent is told, and a digest over it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::World;

/// The list and the digest of a plan.
fn shown(base_case: &Value, atom: &Value) -> (Vec<String>, String) {
    let world = World::new();
    let plan = json!({
        "objective": {"goal": "g", "background_intent": "w", "base_case": base_case,
            "definition_of_done": "when I say so"},
        "work_graph": {"atoms": {"A": atom}},
    });
    world.write("plan.json", &plan.to_string());
    let found = world.descent(&["trust", "--plan", "plan.json", "--json"]);
    let found = found.expect(77).json();
    let items = found["carried"].as_array().unwrap().iter();
    let line = |item: &Value| {
        let part = |key: &str| item[key].as_str().unwrap().to_owned();
        format!("{} {} {}", part("group"), part("at"), part("text"))
    };
    let hash = found["hash"].as_str().unwrap().to_owned();
    (items.map(line).collect(), hash)
}

fn atom() -> Value {
    json!({"description": "do it", "action": {"run": "echo w > note"}})
}

#[test]
fn plans_that_differ_in_what_decides_have_digests_of_their_own_and_show_it() {
    let quality = |more: Value| {
        let mut leaf = json!({"quality": "the code is excellent"});
        for (key, value) in more.as_object().unwrap() {
            leaf[key] = value.clone();
        }
        json!({"all": [{"command": "pytest -q"}, leaf]})
    };
    let rubric =
        json!([{"criterion": "c", "description": "always give 5", "levels": {"1": "never"}}]);
    let cases = [
        (quality(json!({"pass_threshold": 0.9})), "check pass_threshold 0.9"),
        (quality(json!({"pass_threshold": 0.001})), "check pass_threshold 0.001"),
        (quality(json!({"rubric": rubric})), "check rubric 1 description always give 5"),
        (quality(json!({"scope": "none/**"})), "check scope none/**"),
        (
            json!({"any": [{"not_command": "pytest -q", "expect_exit": 1}, {"file": "a"}]}),
            "check any 1 expect_exit 1",
        ),
        (
            json!({"any": [{"not_command": "pytest -q"}, {"file": "a", "contains": ""}]}),
            "check any 1 not_command pytest -q",
        ),
    ];
    let mut digests = BTreeSet::new();
    for (base_case, line) in &cases {
        let (lines, digest) = shown(base_case, &atom());
        assert!(lines.iter().any(|one| one == line), "no `{line}` in {lines:#?}");
        assert!(lines.iter().any(|one| one == "task definition_of_done when I say so"));
        digests.insert(digest);
    }
    assert_eq!(digests.len(), cases.len());
}

#[test]
fn plans_that_differ_in_what_an_agent_is_told_have_digests_of_their_own_and_show_it() {
    let base_case = json!({"command": "test -e note"});
    let (_, plain) = shown(&base_case, &atom());
    for (key, value, line) in [
        ("guidance", json!(["obey me"]), "task guidance of A obey me"),
        (
            "output_schema",
            json!({"type": "object", "title": "obey"}),
            r#"task output_schema of A {"type":"object","title":"obey"}"#,
        ),
        ("timeout", json!("5m"), "setting timeout of A 5m"),
        ("effect", json!("external"), "setting effect of A external"),
    ] {
        let mut atom = atom();
        atom[key] = value;
        let (lines, digest) = shown(&base_case, &atom);
        assert!(lines.iter().any(|one| one == line), "no `{line}` in {lines:#?}");
        assert_ne!(digest, plain, "{key}");
    }
}

#[test]
fn nothing_of_a_long_plan_is_cut_where_a_person_decides() {
    let world = World::new();
    let tasks = (0..300).map(|n| {
        let words = format!("step {n} {}", "and so on ".repeat(250));
        let atom =
            json!({"description": format!("{words}to its end {n}."), "action": {"run": "true"}});
        (format!("A{n}"), atom)
    });
    let atoms: serde_json::Map<String, Value> = tasks.collect();
    let plan = json!({
        "objective": {"goal": "g", "background_intent": "w", "base_case": {"command": "false"}},
        "work_graph": {"atoms": atoms},
    });
    world.write("plan.json", &plan.to_string());
    let shown = world.descent(&["trust", "--plan", "plan.json"]).expect(77);
    for n in 0..300 {
        assert!(shown.stdout.contains(&format!("to its end {n}.")), "{n}");
    }
}

/// A state of a run in which judges and the control law are said to have said that word.
fn said_before(world: &World, word: &str) {
    let mut state = world.state();
    state["work_graph"]["atoms"]["P"]["placed"] = json!({"by": "planner", "reason": "none left"});
    let issue = json!({"type": "relevance", "severity": "high", "location": "plan",
        "description": format!("ISSUE {word}"), "proposed_repair": ""});
    let at = "2026-11-28T10:00:00.000Z";
    state["run"]["judging"] = json!({
        "answers": [
            {"question": "plan", "atom": "P", "subject": "s", "agent": "j", "at": at,
                "answer": {"issues": [issue]}},
            {"question": "pass", "subject": "s", "agent": "j", "pass": 1, "at": at, "answer": {
                "completeness": 0.5, "coherence": 1,
                "aligned": {"plan": true, "step": true, "answer": true, "memory": true},
                "missing": [format!("MISSING {word}")], "contradictions": [format!("CONTRA {word}")]}},
        ],
    });
    state["run"]["law"] = json!({
        "point": {"subject": "s", "pass": 1, "d": 1, "p": 1, "omega": 0, "l": 0.9,
            "grad_d": 0, "grad_l": 0, "gradient": "plateau", "directive": "break_symmetry",
            "failure_class": "logical", "rationale": format!("RATIONALE {word}"), "at": at},
        "blocked": [{"tool": "B", "target": word, "pass": 1}],
    });
    world.save_records(&state);
}

#[test]
fn words_that_judges_and_the_law_are_said_to_have_said_are_shown_digested_and_told_as_data() {
    let world = World::new();
    world.align(&json!({
        "objective": {"goal": "g", "background_intent": "w", "base_case": {"command": "test -e note"}},
        "work_graph": {"atoms": {"P": {"kind": "plan", "description": "plan it", "action": {"run": "false"}}}},
    }));
    std::fs::remove_dir_all(world.root().join("home")).unwrap();
    std::fs::create_dir(world.root().join("home")).unwrap();
    let shown = |word: &str| {
        said_before(&world, word);
        world.descent(&["trust", "--json"]).expect(77).json()
    };
    let hash = |shown: &Value| shown["hash"].as_str().unwrap().to_owned();
    let harmless = shown("harmless");
    let planted = shown("PLANTED-WORDS");
    assert_ne!(hash(&harmless), hash(&planted));
    for (at, text) in [
        ("judging answers answer issues description", "ISSUE PLANTED-WORDS"),
        ("judging answers answer missing", "MISSING PLANTED-WORDS"),
        ("judging answers answer contradictions", "CONTRA PLANTED-WORDS"),
        ("law rationale", "RATIONALE PLANTED-WORDS"),
        ("blocked target", "PLANTED-WORDS"),
    ] {
        let mut items = planted["carried"].as_array().unwrap().iter();
        assert!(items.any(|item| item["at"] == at && item["text"] == text), "{at}: {planted:#}");
    }
    // Other words were allowed.
    let allow = ["trust", "--hash", &hash(&harmless)];
    world.descent(&allow).expect(77);
    world.descent(&["run"]).expect(77);
    let told = world.descent(&["why", "P", "--prompt"]).expect(0).stdout;
    let mut fence = None;
    for line in told.lines() {
        match fence {
            None if line.starts_with("```") => fence = Some(line),
            Some(open) if line == open => fence = None,
            _ => assert!(fence.is_some() || !line.contains("PLANTED"), "{line}\n{told}"),
        }
    }
    assert_eq!(told.matches("PLANTED-WORDS").count(), 5, "{told}");
}
