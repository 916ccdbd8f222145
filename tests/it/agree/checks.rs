//! Every kind of leaf through the binary: a tree, a check, and what `descent verify` makes of it.

use serde_json::{Value, json};

use crate::world::{World, plan, task};

/// A project with something to look at, and one base case.
fn with_check(check: Value, constraints: Value) -> World {
    let world = World::new();
    for dir in ["docs/deep", "src"] {
        std::fs::create_dir_all(world.repo().join(dir)).unwrap();
    }
    for (name, text) in [
        ("docs/api.md", "alpha\nbeta\n"),
        ("docs/deep/b.md", "gamma\n"),
        ("src/main.rs", "// TODO: more\n"),
        ("README.MD", "shout\n"),
    ] {
        world.write(name, text);
    }
    let mut plan = plan(&[], constraints, json!({"A1": task("true")}));
    // Something that a machine decides and that does not hold, so that the gate is content.
    plan["objective"]["base_case"] = json!({"all": [{"any": [check, {"file": "never"}]}]});
    world.try_align(&plan).expect(0);
    world
}

/// The verdict of the leaf, and what is told of it.
fn verdict_of(world: &World) -> (String, String) {
    let seen = world.descent(&["verify", "--json"]).json();
    assert_eq!(seen["schema"], "descent/verify/1", "{seen}");
    let leaf = &seen["checks"][0];
    let text = |key: &str| leaf[key].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("ended"))
}

#[track_caller]
fn check(rows: &[(Value, &str)]) {
    for (leaf, wanted) in rows {
        let world = with_check(leaf.clone(), json!({}));
        let (verdict, ended) = verdict_of(&world);
        assert_eq!(verdict, *wanted, "{leaf}: {ended}");
    }
}

#[test]
fn a_command_passes_with_the_code_expected_and_is_unknown_where_it_did_not_run() {
    check(&[
        (json!({"command": "true"}), "pass"),
        (json!({"command": "exit 3"}), "fail"),
        (json!({"command": "exit 3", "expect_exit": 3}), "pass"),
        (json!({"command": "true", "expect_exit": 3}), "fail"),
        (json!({"command": "no-such-program"}), "unknown"),
        (json!({"command": "kill -9 $$"}), "unknown"),
        (json!({"command": "sleep 20", "timeout": "80ms"}), "unknown"),
    ]);
}

#[test]
fn a_match_is_looked_for_in_the_whole_of_standard_output_alone() {
    check(&[
        (json!({"command": "seq 1 200000", "stdout_matches": "^1234$"}), "pass"),
        (json!({"command": "printf 'a\\r\\nok\\r\\n'", "stdout_matches": "^ok$"}), "pass"),
        (
            json!({"command": "printf 'Tests \\033[32m12\\033[39m passed\\r\\n'", "number": "^Tests (\\d+) passed$", "at_least": 12}),
            "pass",
        ),
        (json!({"command": "echo no", "stdout_matches": "yes"}), "fail"),
        (json!({"command": "echo yes >&2", "stdout_matches": "yes"}), "fail"),
        (json!({"command": "echo yes; exit 1", "stdout_matches": "yes"}), "fail"),
    ]);
}

#[test]
fn numbers_are_summed_and_compared_and_no_match_is_unknown() {
    let number = |command: &str, more: Value| {
        let leaf = json!({"command": command, "number": "(\\S+) passed"});
        crate::world::with(leaf, more)
    };
    check(&[
        (number("echo 3 passed; echo 4 passed", json!({"at_least": 7})), "pass"),
        (number("echo 3 passed; echo 4 passed", json!({"at_least": 8})), "fail"),
        (number("echo 2.5 passed", json!({"at_most": 2.5})), "pass"),
        (number("echo 2.6 passed", json!({"at_most": 2.5})), "fail"),
        (number("echo 5 passed", json!({"at_least": 1, "at_most": 4})), "fail"),
        (number("echo nothing", json!({"at_least": 1})), "unknown"),
        (number("echo many passed", json!({"at_least": 1})), "unknown"),
        (number("echo 9 passed; exit 1", json!({"at_least": 1})), "fail"),
    ]);
}

#[test]
fn a_command_that_must_fail_has_to_run_and_to_end_by_itself() {
    check(&[
        (json!({"not_command": "grep -q FIXME src/main.rs"}), "pass"),
        (json!({"not_command": "grep -q TODO src/main.rs"}), "fail"),
        (json!({"not_command": "grep -q TODO gone.rs", "expect_exit": 1}), "fail"),
        (json!({"not_command": "grep -q FIXME src/main.rs", "expect_exit": 1}), "pass"),
        (json!({"not_command": "no-such-program"}), "unknown"),
        (json!({"not_command": "kill -9 $$"}), "unknown"),
        (json!({"not_command": "sleep 20", "timeout": "80ms"}), "unknown"),
    ]);
}

#[test]
fn files_are_found_by_path_and_by_glob_and_case_counts() {
    check(&[
        (json!({"file": "docs/api.md"}), "pass"),
        (json!({"file": "docs/*.md"}), "pass"),
        (json!({"file": "*.md"}), "fail"),
        (json!({"file": "**/b.md"}), "pass"),
        (json!({"file": "docs/{api,other}.md"}), "pass"),
        (json!({"file": "readme.md"}), "fail"),
        (json!({"file": "README.MD"}), "pass"),
        (json!({"file": "docs/*.md", "contains": "^beta$"}), "pass"),
        (json!({"file": "docs/*.md", "contains": "^gamma$"}), "fail"),
        (json!({"file": "docs/**/*.md", "contains": "^gamma$"}), "pass"),
        (json!({"not_file": "**/*.orig"}), "pass"),
        (json!({"not_file": "docs/**"}), "fail"),
    ]);
}

#[test]
fn a_digest_tells_one_content_from_all_others() {
    let other = "0".repeat(64);
    let world = with_check(json!({"file": "docs/deep/b.md"}), json!({}));
    let real = std::process::Command::new("sha256sum")
        .arg(world.repo().join("docs/deep/b.md"))
        .output()
        .unwrap();
    let real = String::from_utf8(real.stdout).unwrap()[..64].to_owned();
    check(&[
        (json!({"file": "docs/deep/b.md", "sha256": real}), "pass"),
        (json!({"file": "docs/deep/b.md", "sha256": format!("sha256:{real}")}), "pass"),
        (json!({"file": "docs/deep/b.md", "sha256": other}), "fail"),
    ]);
}

#[test]
fn a_name_on_any_node_is_kept_and_shown_in_the_place_of_the_command() {
    let leaf = json!({"name": "it is there", "command": "true"});
    let world = with_check(json!({"name": "both", "all": [leaf]}), json!({}));
    let state = world.state();
    let tree = &state["objective"]["base_case"]["all"][0]["any"][0];
    assert_eq!(tree["name"], "both");
    world.descent(&["verify"]).expect(0).shows("it is there");
}

#[test]
fn a_verdict_that_steers_measures_no_more_than_it_needs_and_one_that_ends_the_run_every_leaf() {
    let world = World::new();
    let (first, second) = (world.out("first"), world.out("second"));
    let note =
        |path: &std::path::Path, code: u8| format!("echo x >> {}; exit {code}", path.display());
    let mut plan = plan(&[], json!({}), json!({"A1": task("exit 1")}));
    plan["objective"]["base_case"] =
        json!({"all": [{"command": note(&first, 1)}, {"command": note(&second, 0)}]});
    world.align(&plan);
    std::fs::remove_file(&first).unwrap();
    std::fs::remove_file(&second).unwrap();
    let result = world.run().expect(5).result();
    assert_eq!((world.left("first"), world.left("second")), ("x\nx\n".into(), "x\n".into()));
    assert_eq!((&result["verdict"]["held"], &result["verdict"]["of"]), (&json!(1), &json!(2)));
}

#[test]
fn what_is_unknown_is_asked_again_so_often_and_then_counts_as_a_failure() {
    let world = World::new();
    let asked = world.out("asked");
    let mut plan = plan(&[], json!({"max_transient": 2}), json!({"A1": task("touch done")}));
    let command = format!("test -f done || exit 1; echo x >> {}; exit 127", asked.display());
    plan["objective"]["base_case"] = json!({"command": command});
    world.align(&plan);
    let ran = world.run().expect(5);
    let result = ran.result();
    assert_eq!(result["evidence"][0]["verdict"], "unknown", "{result}");
    assert_eq!(world.left("asked").lines().count(), 3);
    assert!(ran.stdout.contains("\"again\":\"test -f done"), "{}", ran.stdout);
}

/// A project with so many tests, and a plan that must not lose one.
fn counting(tests: usize) -> (World, Value) {
    let world = World::new();
    world.write("tests.txt", &"ok\n".repeat(tests));
    let mut plan = plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}));
    let leaf = json!({"command": "echo $(wc -l < tests.txt) passed", "number": "(\\d+) passed", "at_least": "baseline"});
    plan["objective"]["base_case"]["all"].as_array_mut().unwrap().push(leaf);
    (world, plan)
}

#[test]
fn a_baseline_is_measured_by_align_written_beside_its_leaf_and_shown() {
    let (world, plan) = counting(211);
    world.try_align(&plan).expect(0).shows("at least 211 (baseline)");
    let leaf = world.state()["objective"]["base_case"]["all"][1].clone();
    assert_eq!((&leaf["at_least"], &leaf["baseline"]), (&json!("baseline"), &json!(211)));
    let before = world.state_bytes();
    world.try_align(&plan).expect(0).says("unchanged");
    assert_eq!(world.state_bytes(), before);
    world.run().expect(0);
}

#[test]
fn what_falls_below_the_baseline_does_not_complete() {
    let (world, mut plan) = counting(3);
    plan["work_graph"]["atoms"]["A1"] = task("touch done; echo ok > tests.txt");
    world.align(&plan);
    let result = world.run().expect(5).result();
    assert!(result["evidence"].to_string().contains("\"number\":1"), "{result}");
}

#[test]
fn a_baseline_of_an_atoms_own_check_is_measured_too() {
    let (world, mut plan) = counting(2);
    let rule =
        json!({"command": "cat tests.txt | wc -l", "number": "(\\d+)", "at_most": "baseline"});
    plan["work_graph"]["atoms"]["A1"]["checks"] = json!({"all": [rule]});
    world.align(&plan);
    let state = world.state();
    assert_eq!(state["work_graph"]["atoms"]["A1"]["checks"]["all"][0]["baseline"], 2);
    world.try_align(&plan).expect(0).says("unchanged");
    world.run().expect(0);
}

#[test]
fn a_baseline_that_cannot_be_measured_is_refused_with_what_the_command_said() {
    let (world, mut plan) = counting(2);
    let rule = json!({"command": "echo it broke; exit 2", "number": "(\\d+) passed", "at_least": "baseline"});
    plan["work_graph"]["atoms"]["A1"]["checks"] = json!({"all": [rule]});
    world
        .try_align(&plan)
        .expect(4)
        .says("E-NOT-ALIGNED")
        .says("the checks of A1")
        .says("it broke");
    assert!(!world.repo().join(".descent").exists());
}

#[test]
fn a_baseline_without_a_value_in_the_file_is_a_fault_with_its_place() {
    let (world, plan) = counting(2);
    world.align(&plan);
    world.replace_in_state(",\n      \"baseline\": 2", "");
    world
        .descent(&["run"])
        .expect(65)
        .says("E-STATE-INVALID")
        .says("/objective/base_case/all/1")
        .says("never measured");
}

#[test]
fn a_person_may_edit_the_baseline() {
    let (world, plan) = counting(2);
    world.align(&plan);
    world.replace_in_state("\"baseline\": 2", "\"baseline\": 1.5");
    world.run().expect(0);
}

#[test]
fn who_agrees_in_a_directory_below_is_told_where_checks_and_steps_start() {
    let world = World::new();
    let below = world.repo().join("below");
    std::fs::create_dir(&below).unwrap();
    let path = world.plan(&plan(&["test -f one"], json!({}), json!({"A1": task("echo 1 > one")})));
    let told = format!("starts in: {}", world.repo().display());
    let ran = world.descent_in(&below, &["align", "-n", "-f", &path]);
    let ran = ran.expect(0);
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    let ran = world.descent(&["align", "-n", "-f", &path]).expect(0);
    assert!(!ran.stdout.contains("starts in:"), "{}", ran.stdout);
}

#[test]
fn a_check_that_does_not_hold_shows_the_end_of_what_it_printed() {
    let world = World::new();
    let check = "seq 30; echo the reason >&2; exit 3";
    let atoms = json!({"A1": task("echo 1 > one")});
    world.align(&plan(&[check], json!({}), atoms));
    let ran = world.descent(&["verify"]).expect(1);
    assert!(ran.stdout.contains("the reason"), "{}", ran.stdout);
    assert!(ran.stdout.contains("… 21 lines before"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\n          21\n"), "{}", ran.stdout);
}
