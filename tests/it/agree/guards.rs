//! Patterns that protect, link or keep nothing are reported, each with the nearest path that is there.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, plan, task};

fn world() -> World {
    let world = World::new();
    for dir in ["tests", "node_modules", "src"] {
        fs::create_dir(world.repo().join(dir)).unwrap();
    }
    world.write("tests/t.sh", "exit 1\n");
    world.write("src/app.js", "1\n");
    world.write("package-lock.json", "{}\n");
    world.write(".gitignore", "/target/\nnode_modules\n");
    world.commit_all("a project");
    world
}

fn plan_with(constraints: Value) -> Value {
    let step = task("echo exit 0 > tests/t.sh");
    plan(&["sh tests/t.sh"], constraints, json!({"A": step}))
}

/// The issues about patterns: place and repair of each.
fn unmatched(world: &World, constraints: Value) -> Vec<(String, String)> {
    let path = world.plan(&plan_with(constraints));
    let ran = world.descent(&["align", "-n", "--json", "-f", &path]);
    let said = ran.expect(0).json();
    let issues = said["issues"].as_array().unwrap().iter();
    let text = |issue: &Value, key: &str| issue[key].as_str().unwrap().to_owned();
    let issues = issues.filter(|issue| issue["rule"] == "no-match");
    issues
        .map(|issue| (text(issue, "at"), text(issue, "proposed_repair")))
        .collect()
}

/// Ways to miss a path by a pattern.
fn misses(path: &str, rest: &str) -> Vec<String> {
    let (first, others) = path.split_at(1);
    let spelt = [
        first.to_uppercase() + others,
        path[..path.len() - 1].to_owned(),
        format!("{path}x"),
        format!("{}{}{}", &others[..1], first, &others[1..]),
    ];
    let mut all: Vec<String> = spelt.iter().map(|path| path.clone() + rest).collect();
    let whole = path.to_owned() + rest;
    all.extend([
        format!("!{whole}"),
        format!(" {whole}"),
        format!("{whole},x"),
        format!("{whole} "),
    ]);
    all
}

#[test]
fn a_pattern_that_matches_nothing_is_reported_with_the_nearest_path() {
    let world = world();
    let mut protected = misses("tests", "/**");
    let mut nearest = vec!["`tests`"; protected.len()];
    for (pattern, near) in [
        ("t.sh", "`tests/t.sh`"),
        ("App.js", "`src/app.js`"),
        ("**/ap.js", "`src/app.js`"),
        ("tests/unit/*.sh", "`tests`"),
        ("lib/**", "`**/NAME` is a name at any depth"),
    ] {
        protected.push(pattern.to_owned());
        nearest.push(near);
    }
    for (key, patterns, nearest) in [
        ("protected", protected, nearest),
        (
            "setup_inputs",
            misses("package-lock.json", ""),
            vec!["`package-lock.json`"; 8],
        ),
        ("keep", misses("target", ""), vec!["`target`"; 8]),
        (
            "link",
            vec!["nodemodules".to_owned()],
            vec!["`node_modules`"],
        ),
    ] {
        let found = unmatched(&world, json!({key: &patterns}));
        let mut at: Vec<_> = found.iter().map(|(at, _)| at.clone()).collect();
        let mut expected: Vec<_> = (0..patterns.len())
            .map(|nth| format!("/{key}/{nth}"))
            .collect();
        (at.sort(), expected.sort());
        assert_eq!(at, expected, "{patterns:?}");
        for (nth, (pattern, near)) in patterns.iter().zip(nearest).enumerate() {
            let of = format!("/{key}/{nth}");
            let (_, repair) = found.iter().find(|(at, _)| *at == of).unwrap();
            assert!(repair.contains(near), "{pattern}: {repair}");
        }
    }
}

#[test]
fn a_pattern_that_matches_is_not_reported_and_a_slash_before_it_is_the_top() {
    let world = world();
    let matching = json!({
        "protected": ["/tests/**", "tests/", "./tests", "**/t.sh", "tests/*.sh", "/", "src/**/*.js"],
        "setup_inputs": ["/package-lock.json", "*.json"],
        "keep": ["target", "/node_modules/"],
        "link": ["node_modules"],
    });
    assert_eq!(unmatched(&world, matching), []);
    world.align(&plan_with(json!({"protected": ["/tests/**"]})));
    let ran = world.run().expect(5);
    ran.shows("it changed what judges it: tests/t.sh");
}

#[test]
fn a_run_and_each_command_that_looks_at_a_plan_say_it() {
    let world = world();
    let plan = plan_with(json!({"protected": ["Tests/**"]}));
    let path = world.plan(&plan);
    let words = "protected `Tests/**` matches nothing here";
    for command in ["validate", "judge"] {
        let ran = world.descent(&[command, &path]).expect(0);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains(words), "{said}");
        assert!(said.contains("the nearest path that is there: `tests`"));
    }
    world.try_align(&plan).expect(0).shows(words);
    let words = "`tset/**` matches nothing here";
    let set = ["redirect", "-y", "--set", "protected=tset/**"];
    world.descent(&set).expect(0).shows(words);
    let ran = world.descent(&["run"]).expect(0);
    assert!((ran.stdout + &ran.stderr).contains(words));
}

#[test]
fn protection_in_place_is_reported_as_none() {
    let world = world();
    let found = unmatched(
        &world,
        json!({"workspace": "shared", "protected": ["tests/**"]}),
    );
    let repair = "choose the workspace `git` or `shadow`, or leave it out";
    assert_eq!(found, [("/protected/0".to_owned(), repair.to_owned())]);
}
