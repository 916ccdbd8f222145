//! Plans in YAML and nested, through the binary: the same agreement as in JSON, and every fault with its place.

use std::{fs, io::Write, path::PathBuf, process::Stdio};

use serde_json::{Value, json};

use crate::world::{Ran, Running, World, assert_same, listing};

fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn fixture(name: &str) -> String {
    fs::read_to_string(project("fixtures/plans").join(name)).unwrap()
}

/// A world with a plan of the fixtures in it.
fn world_with(name: &str) -> World {
    let world = World::new();
    world.write(name, &fixture(name));
    world
}

fn with_stdin(world: &World, args: &[&str], text: &str) -> Ran {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut command = world.command(args);
    command.stdin(Stdio::from(file));
    Running::of(command).wait()
}

#[test]
fn a_yaml_plan_is_agreed_and_runs_to_its_end() {
    let world = world_with("nested.yaml");
    world.descent(&["validate", "nested.yaml"]).expect(0).shows("nested.yaml is valid");
    world.descent(&["align", "-y", "-f", "nested.yaml"]).expect(0).shows("notes-2");
    let atoms = world.state()["work_graph"]["atoms"].clone();
    assert_eq!(atoms["notes"]["choices"], json!(["by-template", "notes-2"]));
    assert_eq!(atoms["notes-2"]["parts"], json!(["head", "body"]));
    assert_eq!(atoms["notes"]["depends_on"], json!(["facts"]));
    let result = world.run().expect(0).result();
    assert_eq!(result["result"], "completed", "{result}");
    world.descent(&["apply"]).expect(0);
    let notes = world.read("NOTES.md");
    assert!(
        notes.starts_with("# Notes: what has changed\n") && notes.contains("\n- first\n"),
        "{notes}"
    );
}

#[test]
fn the_same_plan_in_another_form_is_unchanged() {
    let world = world_with("nested.yaml");
    world.descent(&["align", "-y", "-f", "nested.yaml"]).expect(0);
    let before = world.state_bytes();
    world.write("nested.json", &fixture("nested.json"));
    for args in [&["align", "-f", "nested.yaml"][..], &["align", "-f", "nested.json"]] {
        world.descent(args).expect(0).says("unchanged");
    }
    with_stdin(&world, &["align", "-f", "-"], &fixture("nested.json")).expect(0).says("unchanged");
    let again = with_stdin(&world, &["align", "--json", "-f", "-"], &fixture("nested.yaml"));
    assert_eq!(again.expect(0).json()["unchanged"], true);
    assert_eq!(world.state_bytes(), before);
    let other = fixture("nested.yaml").replace("parts:", "choices:");
    let other = other.replace("depends_on: [head]", "");
    with_stdin(&world, &["align", "-f", "-"], &other).expect(2).says("descent align -y");
}

#[test]
fn every_fault_of_a_yaml_plan_is_named_with_its_place() {
    let world = world_with("faulty.yaml");
    let before = listing(&world.repo());
    for args in [&["align", "-y", "-f", "faulty.yaml"][..], &["validate", "faulty.yaml"]] {
        let ran = world.descent(args).expect(65).says("E-INVALID");
        for line in faults_of_the_docs() {
            assert!(ran.stderr.contains(&line), "no {line} in\n{}", ran.stderr);
        }
    }
    assert_same(&world.repo(), &before);
    let seen =
        with_stdin(&world, &["validate", "--json", "-"], &fixture("faulty.yaml")).expect(65).json();
    let faults = seen["faults"].as_array().unwrap();
    assert_eq!(faults.len(), faults_of_the_docs().len(), "{seen}");
    let timeout = faults.iter().find(|fault| fault["rule"] == "bad-duration").unwrap();
    assert_eq!((&timeout["line"], &timeout["column"]), (&json!(7), &json!(18)));
}

/// The docs show what the program says of `faulty.yaml`.
fn faults_of_the_docs() -> Vec<String> {
    let docs = fs::read_to_string(project("docs/plan.md")).unwrap();
    let lines = docs.lines().map(str::trim).filter(|line| line.starts_with("faulty.yaml:"));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert!(!lines.is_empty());
    lines
}

#[test]
fn every_plan_in_the_docs_is_valid() {
    let world = World::new();
    let docs = fs::read_to_string(project("docs/plan.md")).unwrap();
    let blocks: Vec<&str> =
        docs.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    assert!(blocks.len() >= 2, "{}", blocks.len());
    for block in blocks {
        with_stdin(&world, &["validate", "-"], block).expect(0);
    }
    let is_shown = docs.contains(&fixture("minimal.yaml"));
    assert!(is_shown, "docs/plan.md begins with fixtures/plans/minimal.yaml");
}

#[test]
fn the_smallest_plan_reaches_its_goal() {
    let world = world_with("minimal.yaml");
    world.descent(&["align", "-y", "-f", "minimal.yaml"]).expect(0);
    assert_eq!(world.run().expect(0).result()["result"], "completed");
}

#[test]
fn texts_that_are_no_plan_are_refused_and_nothing_is_made() {
    let world = World::new();
    let before = listing(&world.repo());
    for (text, words) in [
        ("", "<stdin>:1:1: /: the file is empty"),
        ("# nothing\n", "the file holds no value"),
        ("- a\n- b\n", "expected an object, found a list"),
        ("a: b\n\tc: d\n", "<stdin>:2:1: /a: this is no YAML"),
        ("a: b\n---\nc: d\n", "<stdin>:2:1: /: a second document"),
    ] {
        with_stdin(&world, &["align", "-y", "-f", "-"], text).expect(65).says(words);
        with_stdin(&world, &["validate", "-"], text).expect(65).says(words);
    }
    for path in ["nowhere.yaml", "."] {
        world.descent(&["align", "-y", "-f", path]).expect(65).says("E-INVALID");
        world.descent(&["validate", path]).expect(65).says("cannot be read");
    }
    assert_same(&world.repo(), &before);
}

#[test]
fn a_plan_is_looked_for_where_the_command_runs_as_if_started() {
    let world = world_with("minimal.yaml");
    let repo = world.repo().display().to_string();
    let mut command = world.command(&["-C", &repo, "align", "-y", "-f", "minimal.yaml"]);
    command.current_dir(world.root());
    Running::of(command).wait().expect(0);
    assert!(world.state_path().is_file());
}

#[test]
fn what_align_warns_of_is_said_before_it_is_agreed() {
    let world = World::new();
    let odd = fixture("minimal.yaml").replace("description:", "owner: ada\n      description:");
    let said = with_stdin(&world, &["align", "-n", "-f", "-"], &odd).expect(0);
    let said = said.says("warning: <stdin>:9:7: /work_graph/atoms/greet/owner");
    said.says("unknown key `owner`, kept as it is");
}

#[test]
fn a_state_that_was_replaced_comes_back_with_the_command_that_was_said() {
    let world = world_with("nested.yaml");
    world.descent(&["align", "-y", "-f", "nested.yaml"]).expect(0);
    let before = world.state_bytes();
    world.write("minimal.yaml", &fixture("minimal.yaml"));
    let ran = world.descent(&["align", "-y", "--force", "-f", "minimal.yaml"]).expect(0);
    let kept = ran.stderr.lines().find_map(|line| line.strip_prefix("what stood here is kept in "));
    assert!(!ran.stderr.contains("was not applied"), "{}", ran.stderr);
    assert_eq!(fs::read(kept.unwrap()).unwrap(), before, "{}", ran.stderr);
    assert_ne!(world.state_bytes(), before);
    let back = ran.stderr.lines().find_map(|line| line.strip_prefix("to bring it back: "));
    let shell = std::process::Command::new("sh").args(["-c", back.unwrap()]).status();
    assert!(shell.unwrap().success());
    assert_eq!(world.state_bytes(), before);
    assert_eq!(world.run().expect(0).result()["result"], "completed");
    let again = world.descent(&["align", "-y", "--force", "-f", "minimal.yaml"]).expect(0);
    again.says("; its result was not applied\n").says("&& descent apply\n");
}

#[test]
fn the_schemas_are_printed_as_they_are_committed() {
    let world = World::bare();
    let listed = world.descent(&["dev", "schema"]).expect(0).shows("plan\n");
    for name in listed.stdout.lines().filter(|line| !line.starts_with("next: ")) {
        let printed = world.descent(&["dev", "schema", name]).expect(0).json();
        if name == "plan" {
            // The program makes it itself.
            assert_eq!(printed["type"], "object", "{name}");
            continue;
        }
        let file = if name == "state" { name } else { "outputs" };
        let committed = project("state-schema").join(format!("{file}.schema.json"));
        let committed: Value = serde_json::from_slice(&fs::read(committed).unwrap()).unwrap();
        if file == name {
            assert_eq!(printed, committed, "{name}");
            continue;
        }
        assert_eq!(printed["$ref"], format!("#/$defs/{name}"));
        assert_eq!(printed["$defs"], committed["$defs"], "{name}");
        jsonschema::validator_for(&printed).unwrap();
    }
    world
        .descent(&["dev", "schema", "plans"])
        .expect(2)
        .says("did you mean `descent dev schema plan`?");
}

#[test]
fn a_schema_named_in_a_plan_or_a_state_is_no_surprise() {
    let world = World::new();
    let plan = format!("$schema: ./plan.schema.json\n{}", fixture("minimal.yaml"));
    let ran = with_stdin(&world, &["align", "-y", "-f", "-"], &plan).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert_eq!(world.state()["$schema"], "./state.schema.json");
    let beside = fs::read(world.repo().join(".descent/state.schema.json")).unwrap();
    assert_eq!(beside, fs::read(project("state-schema/state.schema.json")).unwrap());
    let text = String::from_utf8(world.state_bytes()).unwrap();
    fs::write(world.state_path(), text.replace("./state.schema", "./mine")).unwrap();
    let ran = world.descent(&["validate"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    world.run().expect(0);
    assert_eq!(world.state()["$schema"], "./mine.json");
}

#[test]
fn a_yaml_plan_is_shown_and_allowed_wherever_it_is_named_from() {
    let world = world_with("minimal.yaml");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "a plan"]);
    let repo = world.repo().display().to_string();
    let from_above = |args: &[&str]| {
        let mut command = world.command(&[&["-C", &repo], args].concat());
        command.current_dir(world.root());
        Running::of(command).wait()
    };
    let shown = from_above(&["trust", "--plan", "minimal.yaml", "--json"]);
    let hash = shown.expect(77).json()["hash"].as_str().unwrap().to_owned();
    from_above(&["trust", "--plan", "minimal.yaml", "--hash", &hash]).expect(0);
    from_above(&["align", "-y", "-f", "minimal.yaml"]).expect(0);
}
