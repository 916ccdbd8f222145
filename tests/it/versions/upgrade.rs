//! Files of older versions: those of the AoT loop are migrated, and a state is refused.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::world::{Ran, World, plan, task};

fn fixture(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upgrade");
    fs::read_to_string(dir.join(name)).expect("a fixture")
}

/// A repository with an old state file where the old loop keeps it, and a worker.
fn with_old(text: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.repo().join(".claude")).unwrap();
    world.write(".claude/aot-loop-state.md", text);
    let log = world.out("made").display().to_string();
    let work = format!(
        "mkdir -p src docs && echo auth >src/auth.rs && echo x >docs/a.md && echo $DESCENT_ATOM >>{log}"
    );
    world.write(
        "descent.toml",
        &format!("agents.worker.run = '{work}'\nroles.worker = \"worker\"\n"),
    );
    world
}

fn items(report: &Value, fate: &str) -> Vec<String> {
    let items = report["items"].as_array().expect("items").iter();
    items
        .filter(|item| item["fate"] == fate)
        .map(|item| item["from"].as_str().expect("a place").to_owned())
        .collect()
}

#[test]
fn a_state_of_contract_1_2_is_migrated_and_runs_to_its_end() {
    let world = with_old(&fixture("aot-1.2.md"));
    let before = world.read(".claude/aot-loop-state.md");
    let told = world.descent(&["migrate", "--json"]).expect(0).json();
    assert_eq!(told["contract"], "1.2");
    assert_eq!(world.read(".claude/aot-loop-state.md"), before);
    world.descent(&["validate"]).expect(0);
    let state = world.state();
    let words = "Please implement user authentication feature.\nstatus: this line is the person's, and no key\n---\nSo is this one.";
    assert_eq!(state["objective"]["raw_input"], words);
    assert_eq!(state["objective"]["base_case"]["all"][0]["command"], "test -f src/auth.rs");
    let constraints = json!({"max_parallel_agents": 2, "budget": {"iterations": 12}});
    assert_eq!(state["objective"]["constraints"], constraints);
    assert_eq!(state["bindings"]["A1"]["summary"], "Created User model");
    assert_eq!(state["corrections"][0]["description"], "Added caching requirement");
    assert_eq!(state["notes"]["kept"]["/control/iteration"], 5);
    assert!(items(&told, "changed").contains(&"/atoms/1/status".to_owned()));
    assert_eq!(world.run().expect(0).result()["result"], "completed");
    assert_eq!(world.left("made"), "A2\n");
}

#[test]
fn a_state_of_contract_1_3_keeps_its_graph_its_failures_and_what_people_said() {
    let world = with_old(&fixture("aot-1.3.md"));
    let told = world.descent(&["migrate", "--json"]).expect(0).json();
    assert_eq!(told["contract"], "1.3");
    assert_eq!(items(&told, "warned").len(), 1, "{told:#}");
    world.descent(&["validate"]).expect(0);
    let state = world.state();
    let atoms = &state["work_graph"]["atoms"];
    assert_eq!(atoms["A2"]["parts"], json!(["A3", "token_method"]));
    assert_eq!(atoms["token_method"]["choices"], json!(["A4", "A4_alt"]));
    assert_eq!(atoms["token_method"]["selected"], "A4_alt");
    assert_eq!(atoms["A4"]["status"], "failed");
    assert_eq!(atoms["A5"]["depends_on"], json!(["A2"]));
    let parts = &state["objective"]["base_case"]["all"];
    assert_eq!(parts[0]["all"][1]["any"][0]["file"], "docs/*.md");
    assert_eq!(parts[1]["all"][1]["not_command"], "npm audit --audit-level=high");
    assert_eq!(parts[1]["all"][2]["command"], "test -e '/etc/ssl/private/auth.key'");
    assert_eq!(parts[3]["quality"], "Readability; Design");
    assert_eq!(parts[3]["pass_threshold"], 3.5);
    assert_eq!(parts[3]["scope"], "src/**/*.rs");
    assert_eq!(parts[3]["rubric"][1]["levels"]["5"], "Excellent design");
    assert_eq!(state["objective"]["scope"], json!({"in": ["src"], "out": ["the admin tool"]}));
    assert_eq!(state["trail"][1]["choice"], "A4_alt");
    let kept = &state["notes"]["kept"];
    assert_eq!(kept["/control/stop_reason"], "lunch");
    assert_eq!(kept["/atoms/4/owner"], "worker 2");
    assert_eq!(state["control"]["stop_requested"], false);
}

#[test]
fn a_migrated_graph_is_solved_without_what_had_failed() {
    let text = fixture("aot-1.3.md")
        .replace("npm audit --audit-level=high", "false")
        .replace("/etc/ssl/private/auth.key", "src/auth.rs");
    let world = with_old(&text);
    world.descent(&["migrate"]).expect(0);
    world.run().expect(78).says("E-NO-JUDGE").says("Code Quality");
    let answer = r#"{"levels": {"Readability": 3, "Design": 4}, "because": "well made"}"#;
    let judge = world.program("judge", &format!("#!/bin/sh\necho '{answer}'\n"));
    let judge = format!("agents.j.run = \"{}\"\nroles.judge = \"j\"\n", judge.display());
    world.write("descent.toml", &(world.read("descent.toml") + &judge));
    world.run().expect(6);
    assert_eq!(world.left("made"), "A4_alt\nA5\n");
    let rating = &world.state()["run"]["ratings"][0];
    assert_eq!(rating["score"], 0.7, "{rating}");
    world.descent(&["confirm", "Somebody looked at it"]).expect(0);
    assert_eq!(world.run().expect(0).result()["result"], "completed");
}

#[test]
fn a_result_in_a_choice_that_is_not_selected_waits_until_it_is() {
    let text = fixture("aot-1.3.md")
        .replace("failed: [A4]", "failed: []")
        .replace("JWT generation\"\n    status: pending", "JWT generation\"\n    status: resolved")
        .replace("bindings:\n", "bindings:\n  A4:\n    summary: \"Signed with a key\"\n");
    let world = with_old(&text);
    let report = world.descent(&["migrate", "--json"]).expect(0).json();
    let told = |fate: &str| items(&report, fate).contains(&"/bindings/A4".to_owned());
    assert!(told("changed") && !told("carried"), "{report}");
    let tries = &world.state()["work_graph"]["atoms"]["A4"]["tries"];
    assert_eq!(tries[0]["result"]["summary"], "Signed with a key", "{tries}");
    world.descent(&["validate"]).expect(0);
    let beside = ["migrate", "-o", "other.json"];
    let next = "next: descent --state";
    world.descent(&beside).expect(0).shows(next);
}

#[test]
fn a_migration_is_shown_before_it_is_made_and_takes_no_place_that_is_taken() {
    let world = with_old(&fixture("aot-1.2.md"));
    let shown = world.descent(&["migrate", "-n"]).expect(0);
    shown.shows("aot-loop-state.md:30:13: /atoms/1/status: it was under way").shows("carried (");
    assert!(!world.repo().join(".descent").exists());
    world.descent(&["migrate", "-o", "other.json"]).expect(0);
    world.descent(&["validate", "other.json"]).expect(0);
    world.descent(&["migrate"]).expect(0);
    let before = world.state_bytes();
    world.descent(&["migrate"]).expect(65).says("E-STATE-INVALID");
    assert_eq!(world.state_bytes(), before);
    world.descent(&["migrate", ".descent/state.json"]).expect(0).shows("nothing to migrate");
}

/// Migrates the file of 1.3 with one thing replaced.
fn migrated(from: &str, to: &str) -> (World, Ran) {
    let text = fixture("aot-1.3.md");
    assert!(text.contains(from), "no `{from}`");
    let world = with_old(&text.replacen(from, to, 1));
    let ran = world.descent(&["migrate", "--json"]);
    (world, ran)
}

#[test]
fn what_can_be_meant_in_one_way_only_is_mended_and_told() {
    for (from, to, place) in [
        ("\"Login endpoint\"", "\"the \"login\" endpoint\"", ""),
        ("---\n\n# Original", "\n# Original", ""),
        (
            "max_parallel_agents: 3",
            "max_parallel_agents: \"3\"",
            "/objective/constraints/max_parallel_agents",
        ),
        ("---\n# v1.3", "\u{feff}---\n# v1.3", ""),
        (
            "value: \"test -f src/auth.rs\"",
            "value: true",
            "/objective/base_case/checklist/0/group/0/check/value",
        ),
    ] {
        let (world, ran) = migrated(from, to);
        let told = ran.expect(0).json();
        assert!(items(&told, "mended").contains(&place.to_owned()), "{to}: {told:#}");
        world.descent(&["validate"]).expect(0);
    }
    let (world, ran) = migrated("\"Login endpoint\"", "\"the \"login\" endpoint\"");
    ran.expect(0);
    assert_eq!(world.state()["work_graph"]["atoms"]["A5"]["description"], "the \"login\" endpoint");
    let crlf = with_old(&fixture("aot-1.3.md").replace('\n', "\r\n"));
    crlf.descent(&["migrate"]).expect(0).shows("CR LF");
    crlf.descent(&["validate"]).expect(0);
}

#[test]
fn what_is_unclear_is_refused_with_its_place_and_nothing_is_written() {
    for (from, to, place, words) in [
        (
            "    status: pending\n    depends_on: [A3",
            "\tstatus: pending\n    depends_on: [A3",
            "112:",
            "tab",
        ),
        ("depends_on: [A3, A4]", "depends_on: [A3, A9]", "113:22", "no atom `A9`"),
        ("selected: A4_alt\n    failed", "selected: A7\n    failed", "123:15", "no choice"),
        (
            "or_group: token_method\n\n  - id: A4_alt",
            "or_group: tokens\n\n  - id: A4_alt",
            "101:15",
            "says that it is a choice",
        ),
        ("id: A3\n", "id: A1\n", "92:9", "stands there already"),
        ("type: not_file", "type: no_file", "27:21", "no known type"),
        ("status: in_progress", "status: almost", "105:13", "no status"),
        ("\natoms:\n", "\nother:\n", "3:1", "`atoms` is missing"),
        ("---\n\n# Original Prompt", "\n# Prompt", "", "not closed"),
    ] {
        let (world, ran) = migrated(from, to);
        let ran = ran.expect(65).says("error[E-INVALID]").says(words);
        assert!(ran.stderr.contains(&format!("aot-loop-state.md:{place}")), "{to}: {}", ran.stderr);
        assert!(!world.repo().join(".descent").exists(), "{to}");
    }
}

#[test]
fn what_the_old_file_lacks_can_be_added() {
    let text = fixture("aot-1.2.md")
        .replace("type: command", "type: assertion")
        .replace("  background_intent: \"Enable existing users to log in\"\n", "");
    let world = with_old(&text);
    world
        .descent(&["migrate"])
        .expect(65)
        .says("no leaf of the base case")
        .says("why it is wanted");
    world.descent(&["migrate", "--why", "people wait", "--check", "test -f src/auth.rs"]).expect(0);
    assert_eq!(world.state()["objective"]["background_intent"], "people wait");
}

#[test]
fn the_commands_of_a_file_that_git_brought_are_asked_about_before_they_run() {
    let world = with_old(&fixture("aot-1.2.md"));
    world.git(&["add", "-Af", ".claude"]);
    world.git(&["commit", "-qm", "a state"]);
    world.descent(&["migrate"]).expect(0).says("descent trust");
    world.descent(&["run"]).expect(77).says("E-NOT-TRUSTED");
    assert_eq!(world.left("made"), "");
}

#[test]
fn a_state_of_an_older_version_is_refused_with_what_to_do_and_nothing_is_written() {
    let world = World::new();
    world.align(&plan(&["test -e one"], json!({}), json!({"A1": task("echo one >one")})));
    let now = world.state()["version"].as_str().unwrap().to_owned();
    let now = format!("\"version\": \"{now}\"");
    for version in ["1.9", "2.0"] {
        let text = world.state_text().replacen(&now, &format!("\"version\": \"{version}\""), 1);
        let other = world.root().join("older.json");
        fs::write(&other, &text).unwrap();
        let other = other.display().to_string();
        let words = format!("has version {version}, which cannot be read any more");
        for args in [
            &["run"][..],
            &["status"],
            &["edit"],
            &["align", "-y", "x", "--why", "x", "--check", "false", "--step", "a=true", "--force"],
            &["migrate", &other],
        ] {
            let args = [&["--state", &other], args].concat();
            let ran = world.descent(&args).expect(65);
            ran.says("error[E-VERSION]").says(&words).says("begin anew with `descent --state ");
        }
        world.descent(&["validate", &other]).expect(65).says(&words);
        assert_eq!(fs::read_to_string(&other).unwrap(), text);
    }
}
