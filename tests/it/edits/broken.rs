//! The broken state files of `fixtures/invalid`: no command changes one, each says where it is broken.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;

use crate::world::{Ran, World, listing, plan, task};

const CODES: &[i32] = &[0, 1, 2, 3, 4, 5, 6, 65, 69, 70, 74, 75, 77, 78];

pub fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/invalid")
}

/// One fault of the table: rule, line:column, pointer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    rule: String,
    place: String,
    pointer: String,
}

fn table() -> BTreeMap<String, Vec<Expected>> {
    let text = fs::read_to_string(fixtures().join("expected.txt")).unwrap();
    let mut table: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (file, rest) = line.strip_prefix("shell ").unwrap_or(line).split_once(": ").unwrap();
        let mut words = rest.splitn(3, ' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        table.entry(file.to_owned()).or_default().push(Expected {
            rule: word(),
            place: word(),
            pointer: word(),
        });
    }
    table
}

fn is_of_the_gate(faults: &[Expected]) -> bool {
    faults.iter().all(|fault| fault.rule == "not-aligned")
}

/// A repository with a state file of these bytes.
pub fn world_with(bytes: &[u8]) -> World {
    let world = World::new();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.repo().join(".descent/.gitignore"), "*\n").unwrap();
    fs::write(world.state_path(), bytes).unwrap();
    world
}

/// Each broken file, in one world, one after the other.
fn each_fixture(mut look: impl FnMut(&World, &str, &[u8], &[Expected])) {
    let world = world_with(b"{}");
    for (name, faults) in table() {
        let bytes = fs::read(fixtures().join(&name)).unwrap();
        fs::write(world.state_path(), &bytes).unwrap();
        look(&world, &name, &bytes, &faults);
    }
}

pub fn a_plan(world: &World) -> String {
    world.plan(&plan(&["test -f done"], json!({}), json!({"A1": task("touch done")})))
}

#[track_caller]
pub fn check_untouched(world: &World, name: &str, args: &[&str], bytes: &[u8]) -> Ran {
    let ran = world.descent(args);
    assert!(
        ran.code.is_some_and(|code| CODES.contains(&code) && code != 70),
        "{name} {args:?}: {ran:?}"
    );
    assert!(world.state_bytes() == bytes, "{name}: {args:?} changed the file");
    if args.contains(&"--json") && !ran.stdout.is_empty() {
        assert!(ran.json()["schema"].is_string(), "{name} {args:?}: {}", ran.stdout);
    }
    ran
}

/// No command changes a broken file, each ends with a code of the contract and says where the fault is. All of them read
/// it in the same way: `run` and `validate` are tried with all files, the others by turns with a third of them.
fn check_commands(turn: Option<usize>, args: &[&str]) {
    let mut n = 0;
    each_fixture(|world, name, bytes, faults| {
        n += 1;
        if turn.is_some_and(|turn| n % 3 != turn) {
            return;
        }
        let path = a_plan(world);
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "PLAN" { path.as_str() } else { arg }).collect();
        let ran = check_untouched(world, name, &args, bytes);
        let json = check_untouched(world, name, &[&args[..], &["--json"]].concat(), bytes);
        assert_eq!(ran.code, json.code, "{name} {args:?}");
        if is_of_the_gate(faults) {
            let expected = if ["run", "verify"].contains(&args[0]) { 4 } else { ran.code.unwrap() };
            assert_eq!(ran.code, Some(expected), "{name} {args:?}: {}", ran.stderr);
            return;
        }
        if args[0] == "status" && faults[0].rule == "newer-version" {
            // Nothing of it is broken for that one: it is looked at.
            assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
            return;
        }
        assert_eq!(ran.code, Some(65), "{name} {args:?}: {}", ran.stderr);
        if ["newer-version", "older-version", "empty-file"].contains(&faults[0].rule.as_str()) {
            return;
        }
        for fault in faults.iter().filter(|fault| fault.rule != "not-aligned") {
            let place = format!("state.json:{}: ", fault.place);
            assert!(ran.stderr.contains(&place), "{name} {args:?}: no {place} in {}", ran.stderr);
            assert!(json.stdout.contains(&place), "{name} {args:?}: no {place} in {}", json.stdout);
        }
    });
}

#[test]
fn run_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(None, &["run"]);
}

#[test]
fn status_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(Some(0), &["status"]);
}

#[test]
fn align_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(Some(1), &["align", "-f", "PLAN"]);
}

#[test]
fn apply_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(Some(2), &["apply"]);
}

#[test]
fn verify_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(Some(0), &["verify"]);
}

#[test]
fn why_leaves_every_broken_file_as_it_is_and_says_where_it_is_broken() {
    check_commands(Some(1), &["why", "A1"]);
}

#[test]
fn stop_leaves_every_broken_file_as_it_is() {
    each_fixture(|world, name, bytes, _| {
        check_untouched(world, name, &["stop"], bytes).expect(0);
        check_untouched(world, name, &["stop", "--json"], bytes).expect(0);
    });
}

#[test]
fn force_does_not_write_over_a_file_that_cannot_be_read() {
    each_fixture(|world, name, bytes, faults| {
        if !is_of_the_gate(faults) {
            check_untouched(world, name, &["align", "--force", "-y", "-f", &a_plan(world)], bytes)
                .expect(65);
        }
    });
}

#[test]
fn force_replaces_what_can_be_read_and_archives_it() {
    let old = fs::read(fixtures().join("not-aligned.json")).unwrap();
    let world = world_with(&old);
    world.descent(&["align", "--force", "-y", "-f", &a_plan(&world)]).expect(0);
    assert_eq!(world.state()["objective"]["goal"], "it is so");
    let kept = listing(&world.repo().join(".descent"));
    assert!(kept.values().any(|bytes| *bytes == old), "{:?}", kept.keys());
}

#[test]
fn validate_names_every_fault_of_every_broken_file_in_one_pass() {
    each_fixture(|world, name, bytes, faults| {
        let ran = check_untouched(world, name, &["validate"], bytes).expect(65);
        for fault in faults {
            let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
            let line = format!("state.json:{}: {pointer}: ", fault.place);
            assert!(ran.stderr.contains(&line), "{name}: no `{line}` in {}", ran.stderr);
        }
        let json = check_untouched(world, name, &["validate", "--json"], bytes).expect(65).json();
        let text = |fault: &serde_json::Value, key: &str| {
            fault[key].as_str().unwrap_or_default().to_owned()
        };
        let found = json["faults"].as_array().unwrap().iter().map(|fault| Expected {
            rule: text(fault, "rule"),
            place: format!("{}:{}", fault["line"], fault["column"]),
            pointer: text(fault, "pointer"),
        });
        let (mut found, mut wanted) =
            (found.collect::<Vec<_>>(), faults.iter().collect::<Vec<_>>());
        found.sort();
        wanted.sort();
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{name}");
    });
}

#[test]
fn a_valid_state_and_a_valid_plan_are_told_to_be_so() {
    let world = World::new();
    let plan = a_plan(&world);
    world.descent(&["validate", &plan]).expect(0).shows("is valid");
    world.descent(&["align", "-y", "-f", &plan]).expect(0);
    world.descent(&["validate"]).expect(0).shows("is valid");
    assert_eq!(world.descent(&["validate", "--json"]).expect(0).json()["valid"], true);
}
