//! A base case of a single yes or no, and the count of failing tests that is proposed beside it.

use std::{env, fs, path::Path};

use serde_json::{Value, json};

use crate::world::{Running, World, plan, task};

const WORDS: &str = "the base case is a single yes or no: its distance is 0 or 1";

/// A plan with this base case, whose one step plans.
fn planned(base_case: &Value) -> Value {
    let step = json!({"kind": "plan", "description": "plan it", "action": {"run": "exit 1"}});
    with_base_case(base_case, json!({"P": step}))
}

fn with_base_case(base_case: &Value, atoms: Value) -> Value {
    let mut plan = plan(&[], json!({}), atoms);
    plan["objective"]["base_case"] = base_case.clone();
    plan
}

/// An agreement as it is shown, and its member `yes_or_no`.
fn shown(world: &World, plan: &Value) -> (String, Value) {
    let path = world.plan(plan);
    let page = world.descent(&["align", "-n", "-f", &path]).expect(0);
    let json = world.descent(&["align", "-n", "--json", "-f", &path]);
    (page.stdout, json.expect(0).json()["yes_or_no"].clone())
}

#[test]
fn a_single_yes_or_no_is_told_where_a_planner_is_or_may_be_asked() {
    let world = World::new();
    let check = json!({"command": "test -e done"});
    let count = json!({"command": "echo 1", "number": "(\\d+)", "at_most": 0});
    let (page, told) = shown(&world, &planned(&check));
    assert!(page.contains(WORDS), "{page}");
    assert!(!page.contains("such as this"), "{page}");
    assert_eq!(told["check"], "test -e done");
    assert_eq!(told["instead"], Value::Null);
    let (page, _) = shown(&world, &planned(&json!({"file": "done"})));
    assert!(page.contains(WORDS), "{page}");
    let work = || json!({"A": task("touch done")});
    for none in [
        planned(&count),
        planned(&json!({"all": [check.clone(), count]})),
        planned(&json!({"all": [check.clone(), {"quality": "it is short"}]})),
        with_base_case(&check, work()),
    ] {
        let (page, told) = shown(&world, &none);
        assert!(!page.contains(WORDS), "{page}");
        assert_eq!(told, Value::Null, "{none}");
    }
    world.write("descent.toml", "[agents.k]\nrun = \"exit 1\"\n[roles]\nplanner = \"k\"\n");
    let (page, told) = shown(&world, &with_base_case(&check, work()));
    assert!(page.contains(WORDS), "{page}");
    assert_eq!(told["check"], "test -e done");
}

/// The toolchain that these tests were built with, first on PATH.
fn with_cargo(world: &World, args: &[&str]) -> Value {
    let tools = Path::new(env!("CARGO")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([tools].into_iter().chain(env::split_paths(&path))).unwrap();
    let mut command = world.command(args);
    command.env("PATH", path);
    Running::of(command).wait().expect(0).json()
}

#[test]
fn a_count_of_failing_tests_is_proposed_and_works() {
    let world = World::new();
    let tests = |a: u8, b: u8| {
        format!(
            "#[test] fn a() {{ assert_eq!(1, {a}); }}\n#[test] fn b() {{ assert_eq!(1, {b}); }}\n"
        )
    };
    world.write("Cargo.toml", "[package]\nname = \"one\"\nedition = \"2021\"\n");
    world.write(".gitignore", "target\nCargo.lock\n");
    fs::create_dir_all(world.repo().join("src")).unwrap();
    fs::create_dir_all(world.repo().join("tests")).unwrap();
    world.write("src/lib.rs", &tests(1, 2));
    world.write("tests/more.rs", &tests(3, 2));
    world.commit_all("tests that fail");
    let align = |check: &Value| {
        let path = world.plan(&planned(check));
        with_cargo(&world, &["align", "-n", "--json", "-f", &path])
    };
    let told = align(&json!({"command": "cargo test -q --offline", "timeout": "5m"}));
    let instead = &told["yes_or_no"]["instead"];
    let command = instead["command"].as_str().unwrap();
    assert!(command.ends_with("; cargo test --no-fail-fast -q --offline"));
    assert_eq!(instead["timeout"], "5m");
    let page = shown(&world, &planned(&json!({"command": "cargo test"}))).0;
    assert!(page.contains("in a plan, such as this"), "{page}");
    assert!(page.contains("printf 'test result"), "{page}");

    let judged = || {
        let told = align(instead);
        assert_eq!(told["yes_or_no"], Value::Null, "it is a count");
        let judged = &told["base_case"][0];
        (judged["verdict"].clone(), judged["ended"].clone())
    };
    let (verdict, ended) = judged();
    assert_eq!(verdict, "fail");
    assert!(ended.as_str().unwrap().contains("number 3"), "{ended}");
    world.write("tests/more.rs", &tests(1, 1));
    world.write("src/lib.rs", "this does not compile");
    world.commit_all("worse");
    let (verdict, ended) = judged();
    assert_eq!(verdict, "fail", "{ended}");
    assert!(ended.as_str().unwrap().contains("number 0"), "{ended}");
    world.write("src/lib.rs", &tests(1, 1));
    world.commit_all("they pass");
    let (verdict, ended) = judged();
    assert_eq!(verdict, "pass", "{ended}");
}
