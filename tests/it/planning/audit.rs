//! The auditor's findings, each by a run that has it and none by runs that are well, and the account of every ending.

use std::fs;

use serde_json::{Value, json};

use super::law::{of, slow, takes, world};
use crate::world::{World, plan, task, wait_for, with};

/// The kinds of findings that `audit` tells, with the number of cases of each.
fn found(world: &World) -> Vec<(String, u64)> {
    let told = world.descent(&["report", "--audit", "--json"]).expect(0).json();
    let findings = told["findings"].as_array().expect("findings").iter();
    let one = |one: &Value| {
        let code = one["code"].as_str().expect("a code").to_owned();
        (code, one["count"].as_u64().expect("a count"))
    };
    findings.map(one).collect()
}

fn has(world: &World, code: &str, count: u64) {
    let found = found(world);
    assert!(found.contains(&(code.to_owned(), count)), "no {code} {count} in {found:?}");
    world.descent(&["report", "--audit", "--exit-code"]).expect(1).shows(code);
}

/// Plans that leave the number where it is, each by other words.
fn flat(count: usize) -> Vec<Value> {
    let one = |n: usize| of(json!({"w": task(&format!("cp ten n # {n}"))}));
    (0..count).map(one).collect()
}

#[test]
fn planners_that_move_without_coming_nearer_are_told_of() {
    let limits = json!({"planning": {"changes": 10, "refinements": 8}, "law": "show"});
    let world = world(&flat(6), limits);
    let ran = world.descent(&["run", "--json"]).expect(5);
    // Six plans, and a planner that has no more.
    has(&world, "thrashing", 6);
    has(&world, "no_progress", 6);
    has(&world, "law_idle", 6);
    let result = ran.result();
    let codes = result["findings"].as_array().expect("findings").iter();
    let codes: Vec<&str> = codes.filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes, ["thrashing", "no_progress", "budget_drift", "law_idle"]);
    let shown = world.descent(&["report"]).expect(0);
    shown.shows("The law: 6 directives, 0 followed by progress").shows("**thrashing**");
    let watched = world.descent(&["watch"]).expect(5);
    watched.says("audit     4 findings: thrashing, no_progress, budget_drift, law_idle");
}

#[test]
fn a_planner_that_reaches_for_what_is_not_its_own_is_told_of() {
    let reaching = of(json!({"w": with(task("cp ten n"), json!({"status": "pending"}))}));
    let plans = vec![reaching; 4];
    let world = world(&plans, json!({"max_attempts": 4}));
    world.descent(&["run"]).expect(5);
    has(&world, "boundary", 4);
}

#[test]
fn a_tool_that_is_hindered_again_and_again_is_told_of() {
    let hindered = |n: usize| (format!("s{n}"), slow("sleep 60"));
    let atoms: serde_json::Map<String, Value> = (0..4).map(hindered).collect();
    let world = World::new();
    world.align(&plan(&["test -e g"], json!({"max_attempts": 1}), atoms.into()));
    world.descent(&["run"]).expect(5);
    has(&world, "tool_health", 4);
    has(&world, "systemic", 4);
}

#[test]
fn much_that_is_used_up_for_little_is_told_of() {
    let world = world(&flat(1), json!({"planning": {"changes": 1}}));
    world.descent(&["run"]).expect(5);
    has(&world, "budget_drift", 1);
}

#[test]
fn a_lesson_against_what_succeeds_is_told_of() {
    let world = World::new();
    let ways = json!({
        "G": {"kind": "any", "choices": ["one", "two"]},
        "one": with(task("exit 3"), json!({"description": "By the first way"})),
        "two": with(task("echo done > g"), json!({"description": "By the second way"})),
    });
    let path = world.plan(&plan(&["test -e g"], json!({}), ways));
    let agree = || {
        world.descent(&["align", "-y", "--force", "-f", &path]).expect(0);
        world.descent(&["run"]).expect(0)
    };
    agree();
    let dir = world.root().join("home/.local/share/descent/memory");
    let mut files = fs::read_dir(dir).expect("lessons").flatten();
    let mut files = files.by_ref().map(|entry| entry.path());
    let file = files
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .expect("a file of lessons");
    let text = fs::read_to_string(&file).expect("a book");
    fs::write(
        &file,
        text.replace("\"prefer\"", "\"must_not\"").replace("\"seen\": 1", "\"seen\": 2"),
    )
    .expect("written");
    agree();
    has(&world, "memory_conflict", 1);
}

#[test]
fn a_plan_that_came_nearer_leaves_no_lesson_against_it() {
    let kinds = |plan: Value| {
        let world = world(&[plan], json!({"planning": {"changes": 0}}));
        world.descent(&["run"]).expect(5);
        let told = world.descent(&["memory", "--json"]).expect(0).json();
        let lessons = told["lessons"].as_array().expect("lessons").iter();
        let kinds = lessons.map(|one| one["kind"].clone());
        kinds.collect::<Vec<Value>>()
    };
    assert_eq!(kinds(takes("five")), Vec::<Value>::new());
    let idle = of(json!({"w": task("echo 12 > m")}));
    assert_eq!(kinds(idle), [json!("must_not")]);
}

#[test]
fn runs_that_are_well_have_no_finding() {
    let paths: [&[&str]; 6] = [
        &["none"],
        &["ten", "none"],
        &["five", "none"],
        &["ten", "five", "none"],
        &["four", "two", "none"],
        &["five", "four", "two", "none"],
    ];
    for names in paths {
        let plans: Vec<Value> = names.iter().copied().map(takes).collect();
        let world = world(&plans, json!({}));
        world.descent(&["run"]).expect(0);
        assert_eq!(found(&world), [], "{names:?}");
        let told = world.descent(&["report", "--audit", "--exit-code"]).expect(0);
        told.shows("nothing was found");
    }
    let once = json!({"max_attempts": 2});
    for atoms in [
        json!({"A": task("echo > g")}),
        json!({"A": task("[ $DESCENT_ATTEMPT -gt 1 ] && echo > g")}),
        json!({"A": task("echo > f"), "B": with(task("cp f g"), json!({"depends_on": ["A"]}))}),
        json!({"G": {"kind": "any", "choices": ["A", "B"]}, "A": task("exit 1"), "B": task("echo > g")}),
        json!({"A": task("echo > g"), "B": task("echo > h"), "C": task("echo > i")}),
        json!({"A": task("exit 1"), "B": task("echo > g")}),
    ] {
        let world = World::new();
        world.align(&plan(&["test -e g"], once.clone(), atoms));
        world.run().expect(0);
        assert_eq!(found(&world), []);
    }
}

/// The account of the newest ending.
fn accountable(world: &World) -> (String, String) {
    let last = &world.status()["last_result"];
    for key in ["loss", "grad_l", "best", "metrics", "output"] {
        assert!(last.get(key).is_some(), "no {key} in {last}");
    }
    let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("accountable"))
}

fn account_of(checks: &[&str], constraints: Value, atoms: Value, code: i32) -> (String, String) {
    let world = World::new();
    world.align(&plan(checks, constraints, atoms));
    world.run().expect(code);
    accountable(&world)
}

fn is(told: (String, String), reason: &str, role: &str) {
    assert_eq!(told, (reason.to_owned(), role.to_owned()));
}

#[test]
fn every_ending_names_the_role_that_is_accountable() {
    let done = || json!({"A": task("echo > g")});
    let once = || json!({"max_attempts": 1, "max_transient": 0});
    let one = |atom: Value| json!({ "A": atom });
    is(account_of(&["true"], json!({}), done(), 0), "already_held", "none");
    is(account_of(&["test -e g"], json!({}), done(), 0), "base_case", "none");
    let wrong = one(task("exit 3"));
    is(account_of(&["test -e h"], once(), wrong.clone(), 5), "no_choice", "worker");
    let hindered = one(slow("sleep 60"));
    is(account_of(&["test -e h"], once(), hindered, 5), "no_choice", "environment");
    // Nobody but a person planned it.
    is(account_of(&["test -e h"], once(), done(), 5), "no_choice", "person");
    is(account_of(&["no-such-program"], once(), wrong, 5), "no_choice", "perceiver");
    let limited = json!({"budget": {"iterations": 1}});
    let more =
        json!({"A": task("echo > f"), "B": with(task("cp f g"), json!({"depends_on": ["A"]}))});
    is(account_of(&["test -e g"], limited, more, 5), "budget.iterations", "person");
}

#[test]
fn a_planner_without_a_plan_and_one_whose_plan_is_not_enough_are_accountable() {
    let silent = world(&[], json!({"max_attempts": 1, "planning": {"changes": 0}}));
    silent.descent(&["run"]).expect(5).shows("because planner");
    is(accountable(&silent), "no_choice", "planner");
    let short = world(&flat(1), json!({"planning": {"changes": 0}}));
    short.descent(&["run"]).expect(5);
    is(accountable(&short), "no_choice", "planner");
    let limits = json!({"planning": {"changes": 5, "refinements": 8}});
    let given_up = world(&["ten", "nine", "five", "four", "two"].map(takes), limits);
    given_up.descent(&["run"]).expect(5);
    is(accountable(&given_up), "abandoned", "control_law");
    let metrics = &given_up.status()["last_result"]["metrics"];
    assert_eq!(metrics["solved_at_first"], 5, "{metrics}");
    assert_eq!(metrics["directives"][0]["directive"], "break_symmetry");
    assert_eq!(metrics["directives"][0]["followed"], 2);
}

#[test]
fn a_stopped_run_is_a_persons() {
    let world = World::new();
    world.align(&plan(&["test -e h"], json!({}), json!({"A": task("sleep 600")})));
    let mut running = world.start(&["run"]);
    wait_for("an attempt", || {
        let state = world.state();
        state["run"]["in_flight"].as_array().is_some_and(|all| !all.is_empty())
    });
    world.descent(&["stop", "--now"]).expect(0);
    running.wait();
    is(accountable(&world), "stopped", "person");
}

#[test]
fn what_is_blocked_is_told_with_the_attempt_to_blame() {
    let first = of(json!({"w": slow("sleep 60")}));
    let world = world(&[first], json!({"max_attempts": 1}));
    world.descent(&["run"]).expect(5);
    let status = world.descent(&["status"]).expect(0);
    status.shows("blocked  sleep 60 (P-1.");
    let why = world.descent(&["why", "P"]).expect(0);
    why.shows("blocked    sleep 60 (P-1.");
}
