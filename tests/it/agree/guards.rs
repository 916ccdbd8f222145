//! Patterns that protect, link or keep nothing are reported, each with the nearest path that is there.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, plan, task};

fn world() -> World {
    let world = World::new();
    for dir in ["tests", "node_modules", "src", "target"] {
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
    issues.map(|issue| (text(issue, "at"), text(issue, "proposed_repair"))).collect()
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
        ("tests//t.sh", "`tests/t.sh`"),
        ("tests/../tests/t.sh", "`tests/t.sh`"),
    ] {
        protected.push(pattern.to_owned());
        nearest.push(near);
    }
    for (key, patterns, nearest) in [
        ("protected", protected, nearest),
        ("inputs", misses("package-lock.json", ""), vec!["`package-lock.json`"; 8]),
        ("keep", misses("target", ""), vec!["`target`"; 8]),
        ("link", vec!["nodemodules".to_owned()], vec!["`node_modules`"]),
    ] {
        let (place, constraints) = match key {
            "inputs" | "keep" => (format!("setup/{key}"), json!({"setup": {key: &patterns}})),
            key => (key.to_owned(), json!({key: &patterns})),
        };
        let found = unmatched(&world, constraints);
        let mut at: Vec<_> = found.iter().map(|(at, _)| at.clone()).collect();
        let mut expected: Vec<_> =
            (0..patterns.len()).map(|nth| format!("/{place}/{nth}")).collect();
        at.sort();
        expected.sort();
        assert_eq!(at, expected, "{patterns:?}");
        for (nth, (pattern, near)) in patterns.iter().zip(nearest).enumerate() {
            let of = format!("/{place}/{nth}");
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
        "setup": {"inputs": ["/package-lock.json", "*.json"], "keep": ["target", "/node_modules/", "build/"]},
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
    let ran = world.descent(&["validate", &path]).expect(0);
    ran.says(words).says("the nearest path that is there: `tests`");
    world.try_align(&plan).expect(0).shows(words);
    let words = "`tset/**` matches nothing here";
    let set = ["redirect", "-y", "--set", "protected=tset/**"];
    world.descent(&set).expect(0).shows(words);
    for run in [&["run"][..], &["run", "--set", "protected=tset/**,x"]] {
        let ran = world.descent(run).expect(0);
        assert!((ran.stdout + &ran.stderr).contains(words), "{run:?}");
    }
}

#[test]
fn what_has_no_effect_in_place_is_reported() {
    let world = world();
    fs::remove_file(world.repo().join("package-lock.json")).unwrap();
    let constraints = json!({
        "workspace": "shared", "protected": ["tests/**"], "link": ["src"],
        "setup": {"run": "touch made", "inputs": ["*.json"], "keep": ["target"]},
    });
    let found = unmatched(&world, constraints);
    let mut at: Vec<&str> = found.iter().map(|(at, _)| &**at).collect();
    at.sort_unstable();
    assert_eq!(at, ["/link/0", "/protected/0", "/setup/inputs/0", "/setup/keep/0", "/setup/run"]);
    let repair = "choose the workspace `git` or `shadow`, or leave it out";
    assert!(found.iter().all(|(_, one)| one == repair), "{found:?}");
}

#[test]
fn in_a_directory_of_a_repository_each_pattern_is_looked_for_where_it_counts() {
    let world = world();
    fs::create_dir_all(world.repo().join("svc/app/node_modules/x")).unwrap();
    world.write("svc/app/a.js", "1\n");
    world.commit_all("a project below");
    fs::remove_dir(world.repo().join("node_modules")).unwrap();
    let near = |found: Vec<(String, String)>| -> Vec<String> {
        found.into_iter().map(|(_, repair)| repair).collect()
    };
    let nearest = "the nearest path that is there: `svc/app/node_modules`";
    for named in [json!({"link": ["node_modules"]}), json!({"setup": {"keep": ["node_modules"]}})] {
        assert_eq!(near(unmatched(&world, named)), [nearest]);
    }
    let below = world.repo().join("svc/app");
    let in_app = |constraints: Value| {
        // A dry run leaves nothing behind, not even an empty directory.
        fs::create_dir_all(below.join(".descent")).unwrap();
        let path = world.plan(&plan_with(constraints));
        let ran = world.descent_in(&below, &["align", "-n", "--json", "-f", &path]);
        let said = ran.expect(0).json();
        let issues = said["issues"].as_array().unwrap().iter();
        let issues = issues.filter(|issue| issue["rule"] == "no-match");
        let repairs = issues.map(|issue| issue["proposed_repair"].as_str().unwrap().to_owned());
        repairs.collect::<Vec<_>>()
    };
    let nearest = "the nearest path that is there: `node_modules`";
    assert_eq!(in_app(json!({"link": ["svc/app/node_modules"]})), [nearest]);
    let fine =
        json!({"link": ["node_modules"], "protected": ["svc/app/*.js", "*.js", "/tests/**"]});
    assert_eq!(in_app(fine), Vec::<String>::new());
}

#[test]
fn a_linked_path_that_is_in_the_tree_is_worked_on_by_each_attempt() {
    let world = world();
    let step = task("echo 2 > src/app.js; echo 3 > src/new.js; mkdir nothere; echo 4 > nothere/x");
    let checks = ["grep -q 2 src/app.js", "test -e src/new.js"];
    let plan = plan(&checks, json!({"link": ["src", "nothere"]}), json!({"A": step}));
    let words = "not linked: src (it is in the tree, and each attempt works on its own)";
    world.try_align(&plan).expect(0).shows(words);
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("src/app.js"), "2\n");
    assert_eq!(world.read("src/new.js"), "3\n");
    assert!(!world.repo().join("nothere").exists());
    let words = "not taken: nothere (a linked path)";
    world.descent(&["why", "A"]).expect(0).shows(words);
}

#[test]
fn protection_of_what_is_linked_is_reported_as_none() {
    let world = world();
    fs::write(world.repo().join("node_modules/x"), "1").unwrap();
    let constraints = json!({"link": ["node_modules"], "protected": ["node_modules/**"]});
    let found = unmatched(&world, constraints);
    assert_eq!(found, [("/protected/0".to_owned(), "leave the link out".to_owned())]);
}
