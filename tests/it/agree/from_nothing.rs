//! A state file that a person wrote from nothing: `run` agrees to it as to a plan, and commands that look wait for that.

use std::fs;

use serde_json::{Value, json};

use crate::{
    safety::trust::{QUESTION, marking, marks, trust},
    terminal::Terminal,
    world::{World, after, assert_same, listing, plan, task, with},
};

/// A world where that is the state file, and nobody agreed to it.
fn written(state: &Value) -> World {
    let world = World::new();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.state_path(), state.to_string()).unwrap();
    world
}

/// The ids of the atoms, in the order of the file.
pub fn order(world: &World) -> Vec<String> {
    let text = world.state_text();
    let graph = text.split("\"work_graph\"").nth(1).expect("a graph");
    let lines = graph.lines().take_while(|line| !line.starts_with('"'));
    let id = |line: &str| Some(line.strip_prefix("  \"")?.split('"').next()?.to_owned());
    lines.filter_map(id).collect()
}

#[test]
fn commands_that_look_say_that_it_is_not_agreed_yet_and_write_nothing() {
    let world = World::new();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.state_path(), marking(&world).to_string()).unwrap();
    let before = listing(&world.root());
    let looking = "status why log graph report watch verify wait diff";
    for command in looking.split(' ') {
        let ran = world.descent(&[command]).expect(4).says("not agreed yet");
        ran.says("next: descent run");
    }
    let error = world.descent(&["status", "--json"]).expect(4).json();
    assert_eq!(error["error"]["code"], "E-NO-STATE");
    // Nothing else takes its place.
    let other = world.plan(&plan(&["true"], json!({}), json!({"A1": task("true")})));
    world.descent(&["align", "-f", &other, "--force", "-y"]).expect(4).says("not agreed yet");
    fs::remove_file(&other).unwrap();
    world.descent(&["validate"]).expect(0).shows("is valid").says("next: descent run");
    assert_same(&world.root(), &before);
}

#[test]
fn without_a_terminal_it_runs_once_its_content_was_allowed() {
    let world = World::new();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.state_path(), marking(&world).to_string()).unwrap();
    let before = world.state_bytes();
    for args in [&["run"][..], &["run", "--json"], &["run", "--detach"]] {
        world.descent(args).expect(77).says("E-NOT-TRUSTED").says("descent trust --hash sha256:");
    }
    assert_eq!((marks(&world), world.state_bytes()), (0, before));
    trust(&world);
    world.descent(&["run"]).expect(0).says("agreed").shows("completed");
    assert_eq!(marks(&world), 4);
    // It is this machine's own from now on.
    world.replace_in_state("touch done", "touch done; true");
    world.descent(&["run"]).expect(0);
}

#[test]
fn another_content_than_the_one_that_was_allowed_waits_again() {
    let world = written(&plan(&["test -e a"], json!({}), json!({"A1": task("touch a")})));
    trust(&world);
    let other = plan(&["test -e a"], json!({}), json!({"A1": task("touch a b")}));
    fs::write(world.state_path(), other.to_string()).unwrap();
    world.descent(&["run"]).expect(77);
}

#[test]
fn at_a_terminal_a_person_allows_it_and_agrees_and_a_no_leaves_the_file() {
    let world = written(&plan(&["test -e a"], json!({}), json!({"A1": task("touch a")})));
    let before = world.state_bytes();
    let mut at = Terminal::start(&world, &["run"]);
    at.sees("it was not agreed to").sees(QUESTION).types("n");
    assert_eq!(at.ends().code(), Some(77));
    let mut at = Terminal::start(&world, &["run"]);
    at.sees("allow all of this").sees(QUESTION).types("y");
    at.sees("it is reached when this holds").sees("agree? [y/N] ").types("n");
    assert_eq!(at.ends().code(), Some(4));
    assert_eq!(world.state_bytes(), before);
    let mut at = Terminal::start(&world, &["run"]);
    at.sees("agree? [y/N] ");
    fs::write(world.state_path(), [&before[..], b"\n"].concat()).unwrap();
    at.types("y").sees("changed while you were asked");
    assert_eq!(at.ends().code(), Some(4));
    let mut at = Terminal::start(&world, &["run"]);
    at.sees("agree? [y/N] ").types("y").sees("agreed").sees("completed");
    assert_eq!(at.ends().code(), Some(0));
}

#[test]
fn who_names_it_as_a_plan_agrees_to_it_so() {
    let state = plan(&["test -e a"], json!({}), json!({"A1": task("touch a")}));
    let world = written(&with(state, json!({"$schema": "./state.schema.json", "version": "3.0"})));
    fs::create_dir_all(world.repo().join(".descent/state.json.d/journal")).unwrap();
    let align = ["align", "-f", ".descent/state.json", "-y"];
    world.descent(&[&align[..], &["-n"]].concat()).expect(0);
    world.descent(&["status"]).expect(4);
    world.descent(&align).expect(0).says("moved aside").says("next: descent run");
    world.descent(&align).expect(0).says("unchanged");
    world.run().expect(0);
}

#[test]
fn what_is_wrong_or_missing_in_it_is_told_as_of_a_plan() {
    let world = written(&json!({"objective": {"gaol": "x"}, "work_graph": {"atoms": {}}}));
    for args in [&["run"][..], &["validate"]] {
        world.descent(args).expect(65).says("E-INVALID").says("state.json:1:15: /objective");
    }
    let whole = plan(&["true"], json!({}), json!({"A1": task("true")}));
    let mut lacking = whole.clone();
    lacking["objective"].as_object_mut().unwrap().remove("base_case");
    fs::write(world.state_path(), lacking.to_string()).unwrap();
    world.descent(&["run"]).expect(4).says("E-NOT-ALIGNED").says("/objective/base_case");
    // A text that was cut off may be that of a run.
    let text = whole.to_string();
    for broken in [&text[..text.len() - 3], &text.replacen('}', ",}", 1)] {
        fs::write(world.state_path(), broken).unwrap();
        world.descent(&["status"]).expect(65).says("E-STATE-INVALID").says("(1 fault)");
    }
}

#[test]
fn the_first_half_of_a_state_is_a_plan_and_gives_the_same_graph() {
    let first = World::new();
    let atoms = json!({
        "z": task("touch z"),
        "way": {"choices": [with(task("false"), json!({"id": "hard"})),
            with(task("touch way"), json!({"id": "easy"}))], "depends_on": ["z"]},
        "a": after(&["way"], "touch a"),
    });
    first.align(&plan(&["test -e a"], json!({}), atoms));
    let begun = order(&first);
    first.run().expect(0);
    let file = first.file();
    let half = json!({"objective": file["objective"], "work_graph": file["work_graph"]});
    let second = World::new();
    let ran = second.try_align(&half).expect(0);
    assert_eq!(ran.stderr.matches("warning:").count(), 1, "{}", ran.stderr);
    ran.says("left out: `status` of z, way, hard and 2 more; `selected` of way\n");
    assert_eq!((order(&second), order(&second)), (order(&first), begun));
    let mut bare = file["work_graph"].clone();
    for atom in bare["atoms"].as_object_mut().unwrap().values_mut() {
        let atom = atom.as_object_mut().unwrap();
        atom.remove("status");
        atom.remove("selected");
    }
    assert_eq!(second.file()["work_graph"], bare);
    assert_eq!(second.file()["objective"], file["objective"]);
    // The whole file says more, and all of it is named.
    let told = World::new().try_align(&file).expect(0);
    told.says("`bindings` of a, easy, z; `trail`; `run`; `internal`\n");
}

#[test]
fn without_its_history_a_state_begins_anew_and_what_may_have_happened_once_is_in_doubt() {
    let world = World::new();
    let sends = |name: &str| {
        let run = format!("echo {name} >> {}", world.out("sent").display());
        with(task(&run), json!({"effect": "external"}))
    };
    let atoms = json!({
        "A1": task("touch one"),
        "A2": sends("once"),
        "A3": with(sends("often"), json!({"idempotent": true})),
        "A4": after(&["A1", "A2", "A3"], "touch all"),
    });
    world.align(&plan(&["test -e all"], json!({}), atoms));
    world.run().expect(0);
    let before = world.file();
    let mut file = before.clone();
    file.as_object_mut().unwrap().remove("internal");
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/journal")).unwrap();
    world.save(&file.to_string());
    world.descent(&["status"]).expect(4).says("not agreed yet");
    let ran = world.descent(&["run"]).expect(77);
    ran.says("`bindings` of A1, A2, A3 and 1 more; `run`");
    trust(&world);
    world.descent(&["run"]).expect(6).says("moved aside").shows("descent confirm A2.0");
    assert_ne!(world.file()["internal"]["lineage"], before["internal"]["lineage"]);
    world.descent(&["confirm", "A2.0"]).expect(0);
    world.run().expect(0);
    let sent: Vec<String> = world.left("sent").lines().map(str::to_owned).collect();
    assert_eq!(sent.iter().filter(|line| *line == "once").count(), 1, "{sent:?}");
}

#[test]
fn a_nested_form_in_a_state_is_a_fault_that_prints_the_flat_one() {
    let world = World::new();
    let atoms = json!({"way": {"choices": ["left"]}, "left": task("touch a")});
    world.align(&plan(&["test -e a"], json!({}), atoms));
    let text = world.state_text();
    let flat = "\"choices\": [\"left\"]";
    let nested = "\"choices\": [\"left\", {\"id\": \"right\", \"action\": {\"run\": \"true\"}}]";
    world.save(&text.replace(flat, nested));
    let ran = world.descent(&["validate"]).expect(65).says("/work_graph/atoms/way/choices");
    ran.says("write \"choices\": [\"left\", \"right\"], and beside `way`: \"right\": {…}");
}
