//! The commands that look: `status`, `graph`, `why`, `log`. They only read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    screen::Terminal,
    world::{World, after, plan, task, with},
};

/// A group whose first choice is refuted, whose second fails, whose third holds; and what comes before and after.
fn searched() -> Value {
    json!({
        "first": with(task("echo 1 > first"), json!({"description": "Lay the ground"})),
        "G": {"kind": "any", "choices": ["wrong", "broken", "right"], "depends_on": ["first"]},
        "wrong": task("echo wrong > g"),
        "broken": task("echo no way >&2; exit 3"),
        "right": task("echo right > g"),
        "last": after(&["G"], "cp g copy"),
    })
}

const WHOLE: &[&str] = &["grep -q right copy"];

fn found() -> World {
    let world = World::new();
    world.align(&plan(WHOLE, json!({}), searched()));
    world.run().expect(0);
    world
}

fn lost() -> World {
    let world = World::new();
    let mut atoms = searched();
    atoms["G"]["choices"] = json!(["wrong", "broken"]);
    atoms.as_object_mut().unwrap().remove("right");
    world.align(&plan(WHOLE, json!({}), atoms));
    world.run().expect(5);
    world
}

#[test]
fn status_for_programs_tells_what_holds_what_failed_and_what_was_refuted() {
    let status = lost().status();
    assert_eq!(status["base_case"][0]["verdict"], "fail");
    assert_eq!(status["failed"][0]["atom"], "broken");
    assert_eq!(status["choices"][0]["refuted"], json!(["wrong"]));
}

#[test]
fn status_fits_a_screen_however_much_there_is() {
    let world = World::new();
    let many: Vec<String> =
        (0..30).map(|i| format!("test -f a-file-with-a-rather-long-name-number-{i}")).collect();
    let checks: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut atoms = json!({});
    for i in 0..40 {
        let id = format!("an-atom-with-a-rather-long-name-{i}");
        atoms[&id] = with(task("exit 1"), json!({"description": "many words ".repeat(30)}));
    }
    world.align(&plan(&checks, json!({}), atoms));
    world.run().expect(5);
    let shown = Terminal::start(&world, 80, &["status"], &[]).end().expect(0);
    assert!(shown.screen.len() <= 25, "{} rows:\n{}", shown.screen.len(), shown.text());
    assert!(
        shown.text().contains("… and 25 more") && shown.text().contains("… and 37 more"),
        "{}",
        shown.text()
    );
    let result = |line: &&String| !line.starts_with("result");
    assert!(
        shown.screen.iter().filter(result).all(|line| line.chars().count() <= 80),
        "{}",
        shown.text()
    );
}

#[test]
fn the_graph_for_programs_has_every_atom_and_every_arrow() {
    let world = found();
    let graph = world.descent(&["graph", "--json"]).expect(0).json();
    assert_eq!(graph["schema"], "descent/graph/1");
    let states: Vec<String> = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| format!("{} {}", node["id"].as_str().unwrap(), node["state"].as_str().unwrap()))
        .collect();
    for state in
        ["first resolved", "G resolved", "wrong not chosen", "right resolved", "last resolved"]
    {
        assert!(states.iter().any(|one| one == state), "{state} is not in {states:?}");
    }
    assert!(
        graph["edges"]
            .as_array()
            .unwrap()
            .contains(&json!({"from": "G", "to": "last", "kind": "before"}))
    );
}

#[test]
fn a_thousand_atoms_are_drawn_at_once() {
    let world = World::new();
    let mut atoms = json!({});
    for i in 0..1_000 {
        let deps: Vec<String> = (i > 0).then(|| format!("A{}", i - 1)).into_iter().collect();
        atoms[format!("A{i}")] = with(task("true"), json!({"depends_on": deps}));
    }
    world.align(&plan(&["false"], json!({}), atoms));
    let start = Instant::now();
    let ran = world.descent(&["graph"]).expect(0);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(ran.stdout.lines().count() >= 1_000);
}

#[test]
fn why_tells_where_the_result_is_and_for_programs_how_each_attempt_ended() {
    let world = found();
    let why = world.descent(&["why", "right"]).expect(0);
    let command = why.stdout.lines().find_map(|line| line.strip_prefix("commit   git ")).unwrap();
    let args: Vec<&str> = command.split(' ').collect();
    assert!(world.git(&args).contains("Descent-Atom: right"));
    let json = world.descent(&["why", "G", "--json"]).expect(0).json();
    let ended: Vec<&str> = json["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ended"].as_str().unwrap())
        .collect();
    assert_eq!(ended, ["parked", "failed", "solved"]);
    let json = world.descent(&["why", "--json"]).expect(0).json();
    assert_eq!(json["schema"], "descent/why-list/1");
    assert_eq!(json["atoms"][0]["atom"], "broken");
}

#[test]
fn the_log_for_programs_has_as_many_entries_as_asked_for_the_newest_last() {
    let json = lost().descent(&["log", "--json", "-n", "2"]).expect(0).json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 2);
    assert_eq!(json["entries"][1]["kind"], "ended");
}

#[test]
fn looking_changes_nothing_and_cannot_be_fooled_by_what_an_atom_prints() {
    let world = World::new();
    let nasty = task("printf 'a\\033[2J\\033]0;x\\007b\\n' >&2; exit 1");
    world.align(&plan(&["false"], json!({}), json!({"A1": nasty})));
    world.run().expect(5);
    let before = world.state_bytes();
    for args in [&["status"][..], &["graph"], &["why"], &["why", "A1"], &["log"]] {
        let ran = world.descent(args).expect(0);
        assert!(
            !ran.stdout.contains('\x1b') && !ran.stdout.contains('\x07'),
            "{args:?}: {:?}",
            ran.stdout
        );
        for with in [&["--json"][..], &["-q"], &["-v"]] {
            world.descent(&[args, with].concat()).expect(0);
        }
    }
    assert_eq!(world.state_bytes(), before);
    for args in [&["graph"][..], &["why"], &["log"], &["status"]] {
        World::new().descent(args).expect(4).says("E-NO-STATE");
    }
}
