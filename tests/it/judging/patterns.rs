//! Patterns: plans that come with the program; and the plans of `examples/`, which a person copies.

use std::{fs, path::Path};

use serde_json::Value;

use crate::world::World;

const NAMES: [&str; 4] = ["recon", "iterate", "map", "triage"];

fn align(world: &World, name: &str, more: &[&str]) -> crate::world::Ran {
    let args = [
        "align",
        "the page greets",
        "--why",
        "visitors ask",
        "--check",
        "grep -q hello page",
        "--pattern",
        name,
    ];
    world.descent(&[&args, more].concat())
}

#[test]
fn every_pattern_is_a_plan_without_a_fault_and_without_a_heavy_issue() {
    for name in NAMES {
        let world = World::new();
        world.write("descent.toml", "agents.worker.run = \"true\"\nroles.worker = \"worker\"\n");
        let shown = align(&world, name, &["-n", "--json"]).expect(0).json();
        let issues = shown["issues"].as_array().unwrap();
        let is_heavy = |issue: &Value| issue["severity"] == "high";
        assert!(!issues.iter().any(is_heavy), "{name}: {issues:?}");
        assert_eq!(shown["goal"], "the page greets", "{name}");
        align(&world, name, &["-y"]).expect(0);
        world.descent(&["validate"]).expect(0);
        let state = world.state();
        let check = &state["objective"]["base_case"];
        assert!(check.to_string().contains("grep -q hello page"), "{check}");
    }
}

#[test]
fn every_plan_of_the_examples_is_valid_and_without_a_heavy_issue() {
    let world = World::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
    let plans: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|e| e == "yaml")).collect();
    assert_eq!(plans.len(), 3, "{plans:?}");
    for plan in &plans {
        let plan = plan.to_str().unwrap();
        let judged = world.descent(&["validate", "--json", plan]).expect(0).json();
        assert_eq!(judged["valid"], true, "{plan}: {judged}");
        let issues = judged["issues"].as_array().unwrap();
        assert!(!issues.iter().any(|issue| issue["severity"] == "high"), "{plan}: {issues:?}");
    }
}

#[test]
fn without_a_name_they_are_listed_and_an_unknown_one_names_them() {
    let world = World::new();
    let shown = world.descent(&["align", "--pattern"]).expect(0);
    for name in NAMES {
        assert!(shown.stdout.contains(name), "{}", shown.stdout);
    }
    align(&world, "recom", &[])
        .expect(2)
        .says("there is no pattern `recom`; did you mean `recon`?")
        .says("one of recon, iterate, map, triage");
    let both = ["align", "g", "--pattern", "map", "--step", "x"];
    world.descent(&both).expect(2);
}

#[test]
fn with_nobody_to_ask_what_a_pattern_lacks_is_told() {
    let world = World::new();
    let refused = world.descent(&["align", "g", "--pattern", "map", "-y"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    refused.says("--check");
}
