//! Long outputs of what failed: the state keeps an excerpt, a file beside it the whole, and who explains a failure
//! names the file.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::world::{World, plan, task, with};

/// A check's output of about 200 KB.
const PRINTS: &str = "seq 1 36000";

fn printed() -> String {
    (1..=36_000).map(|n| format!("{n}\n")).collect()
}

/// An atom with a check that fails at length.
fn failing_check(constraints: Value) -> World {
    let world = World::new();
    let check = json!({"all": [{"command": format!("{PRINTS}; exit 1")}]});
    let atom = with(task("echo done >done"), json!({"checks": check}));
    world.align(&plan(&["test -e never"], constraints, json!({"A1": atom})));
    world
}

fn evidence(world: &World) -> PathBuf {
    world.repo().join(".descent/state.json.d/evidence")
}

fn files(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(evidence(world)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The failures of the trail.
fn failures(world: &World) -> Vec<Value> {
    let state = world.state();
    let entries = state["trail"].as_array().unwrap().iter();
    entries.filter(|entry| entry["type"] == "failure").cloned().collect()
}

fn why(world: &World, atom: &str) -> String {
    world.descent(&["why", atom]).expect(0).stdout
}

#[test]
fn of_a_check_that_fails_at_length_the_state_keeps_an_excerpt_and_a_file_the_whole() {
    let world = failing_check(json!({}));
    world.run().expect(5);
    let files = files(&world);
    let [file] = &files[..] else { panic!("{files:?}") };
    let bytes = fs::read(file).unwrap();
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), printed());
    let hex = hex_of(&Sha256::digest(&bytes));
    assert_eq!(file.file_name().unwrap().to_str(), Some(&*hex));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let failure = &failures(&world)[0];
    let whole = json!({"digest": format!("sha256:{hex}"), "bytes": bytes.len()});
    assert_eq!(failure["whole"], whole, "{failure}");
    assert!(failure["output"].as_str().unwrap().len() <= 2048);
    assert!(world.state_bytes().len() < 20_000);
    let told = why(&world, "A1");
    assert!(told.contains(file.to_str().unwrap()), "{told}");
    let told = world.descent(&["why", "A1", "--json"]).json();
    assert_eq!(told["attempts"][0]["whole"]["path"], file.to_str().unwrap(), "{told}");
    world.descent(&["validate"]).expect(0);
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_file_that_is_gone_is_told_and_missed_by_nobody() {
    let world = failing_check(json!({}));
    world.run().expect(5);
    fs::remove_dir_all(evidence(&world)).unwrap();
    let told = why(&world, "A1");
    assert!(told.contains("gone, but for this excerpt"), "{told}");
    let told = world.descent(&["why", "A1", "--json"]).json();
    assert_eq!(told["attempts"][0]["whole"]["path"], Value::Null, "{told}");
    world.descent(&["validate"]).expect(0);
    world.descent(&["run", "--set", "max_attempts=2"]).expect(5);
    assert_eq!((failures(&world).len(), files(&world).len()), (2, 1));
}

#[test]
fn attempts_that_print_the_same_share_one_file_that_the_next_is_told_of() {
    let world = World::new();
    let prompts = world.out("prompt").display().to_string();
    let atom = task(&format!("cp $DESCENT_PROMPT {prompts}.$DESCENT_ATTEMPT; {PRINTS}; exit 3"));
    world.align(&plan(&["test -e never"], json!({"max_attempts": 3}), json!({"A1": atom})));
    world.run().expect(5);
    let files = files(&world);
    assert_eq!((failures(&world).len(), files.len()), (3, 1), "{files:?}");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), printed());
    let prompt = world.left("prompt.3");
    assert_eq!(prompt.matches(files[0].to_str().unwrap()).count(), 2, "{prompt}");
}

#[test]
fn what_stands_between_the_selections_that_the_base_case_refuted_is_kept_whole() {
    let world = World::new();
    let check = format!("{PRINTS}; cat taken; grep -q none taken");
    let atoms = json!({
        "auth": {"kind": "any", "choices": ["A2", "A3"]},
        "A2": task("echo jwt >taken"), "A3": task("echo session >taken"),
    });
    world.align(&plan(&[&check], json!({}), atoms));
    world.run().expect(5);
    let told = why(&world, "auth");
    let state = world.state();
    let refuted: Vec<&Value> = state["trail"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["type"] == "refuted")
        .collect();
    assert_eq!(refuted.len(), 2);
    for (entry, last) in refuted.iter().zip(["jwt", "session"]) {
        let digest = entry["evidence"][0]["whole"]["digest"].as_str().unwrap();
        let path = evidence(&world).join(digest.strip_prefix("sha256:").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), printed() + last + "\n");
        assert!(told.contains(path.to_str().unwrap()), "{told}");
    }
}

#[test]
fn a_run_that_ends_names_the_file_of_the_check_that_does_not_hold() {
    let world = World::new();
    let check = format!("{PRINTS}; exit 1");
    world.align(&plan(&[&check], json!({}), json!({"A1": task("touch done")})));
    let ran = world.descent(&["run"]).expect(5);
    let files = files(&world);
    let [file] = &files[..] else { panic!("{files:?}") };
    let named = format!("its output: {}", file.display());
    ran.shows(&named);
    let result = world.descent(&["run", "--json"]).expect(5).result();
    let whole = &result["evidence"][0]["whole"];
    assert_eq!(whole["path"], file.to_str().unwrap(), "{result}");
}

#[test]
fn where_nothing_can_be_kept_the_run_says_so_once_and_goes_on() {
    let world = failing_check(json!({"max_attempts": 2}));
    fs::write(evidence(&world), "in the way").unwrap();
    let ran = world.run().expect(5);
    assert_eq!(ran.stderr.matches("long outputs cannot be kept").count(), 1, "{}", ran.stderr);
    let failures = failures(&world);
    assert_eq!(failures.len(), 2);
    for failure in failures {
        assert!(failure.get("whole").is_none() && failure["output"].is_string(), "{failure}");
    }
    assert_eq!(fs::read_to_string(evidence(&world)).unwrap(), "in the way");
}

#[test]
fn of_more_than_a_mebibyte_beginning_and_end_are_kept() {
    let world = World::new();
    let atom = task("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last; exit 1");
    world.align(&plan(&["test -e never"], json!({}), json!({"A1": atom})));
    world.run().expect(5);
    let text = fs::read_to_string(&files(&world)[0]).unwrap();
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxxlast\n"));
    assert!(text.contains(" bytes left out …") && text.len() < 1_100_000, "{}", text.len());
}

#[test]
fn what_is_withheld_from_attempts_stands_in_no_file() {
    let world = World::new();
    let check = json!({"all": [{"command": format!("{PRINTS}; env; exit 1")}]});
    let atom = with(task("true"), json!({"checks": check}));
    let prints = task(&format!("{PRINTS}; env; exit 1"));
    world.align(&plan(&["test -e never"], json!({}), json!({"A1": atom, "A2": prints})));
    let mut command = world.command(&["run"]);
    command.env("MY_API_TOKEN", "hunter2");
    let ran = crate::world::Running::of(command).wait().expect(5);
    assert!(ran.stderr.contains("withheld from attempts: MY_API_TOKEN"), "{}", ran.stderr);
    let files = files(&world);
    assert_eq!(files.len(), 2);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("HOME=") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_reference_that_a_person_bends_names_nothing() {
    let world = failing_check(json!({}));
    world.run().expect(5);
    let digest = failures(&world)[0]["whole"]["digest"].as_str().unwrap().to_owned();
    fs::write(world.root().join("secret"), "s\n").unwrap();
    world.replace_in_state(&digest, "sha256:../../../secret");
    world.descent(&["validate"]).expect(0);
    let told = why(&world, "A1");
    assert!(!told.contains("secret"), "{told}");
}

/// The first number says that it holds, one beyond what is kept says that it does not.
#[test]
fn a_number_in_an_output_that_was_cut_decides_nothing() {
    let world = World::new();
    let long = "echo 0 failed; head -c 17000000 /dev/zero | tr '\\0' x; echo; echo 9 failed";
    let check = json!({"command": long, "number": "([0-9]+) failed", "at_most": 0});
    let mut plan = plan(&[], json!({}), json!({"A1": task("touch done")}));
    plan["objective"]["base_case"] = check;
    world.try_align(&plan).expect(0).shows("unknown");
    let ended = world.run().expect(5).result();
    assert_eq!(ended["evidence"][0]["verdict"], "unknown", "{ended}");
}
