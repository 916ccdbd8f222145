//! A state whose results nothing takes back is contracted: small, whole, and still a person's to edit.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

const ATOMS: usize = 240;
/// The first that fails; all after it wait for it.
const FAILS: usize = 221;
const NONE_FAILS: usize = ATOMS + 1;

fn id(n: usize) -> String {
    format!("A{n:03}")
}

/// Wordy enough for a file of more than 256 KB, once it is half done.
fn many(fails: usize) -> Value {
    let atom = |n: usize| {
        let run = if n == fails {
            "false".to_owned()
        } else {
            format!("echo {} >>made", id(n))
        };
        let after = match n {
            2 => vec![id(1)],
            _ if n > fails => vec![id(fails)],
            _ => Vec::new(),
        };
        let words = format!("step {n}: {}", "so much to do, ".repeat(80));
        (
            id(n),
            json!({"description": words, "action": {"run": run}, "depends_on": after}),
        )
    };
    let atoms: serde_json::Map<_, _> = (1..=ATOMS).map(atom).collect();
    json!({
        "objective": {
            "goal": "all is done",
            "background_intent": "to see how large the file is",
            "base_case": {"command": "false"},
            "constraints": {"workspace": "shared"},
        },
        "work_graph": {"atoms": atoms},
    })
}

/// Run to its end, of which most is resolved; with the size of the file before.
fn mostly_done() -> (World, usize) {
    done_until(FAILS)
}

fn done_until(fails: usize) -> (World, usize) {
    let world = World::new();
    world.align(&many(fails));
    let before = world.state_bytes().len();
    world.run().expect(5);
    (world, before)
}

fn made(world: &World) -> Vec<String> {
    world.read("made").lines().map(str::to_owned).collect()
}

fn folded(world: &World) -> usize {
    let state = world.state();
    let bindings = state["bindings"].as_object().unwrap();
    bindings
        .values()
        .filter(|one| one.get("folded").is_some())
        .count()
}

#[test]
fn a_file_in_which_most_is_resolved_is_smaller_than_at_its_start_and_holds_everything() {
    let (world, before) = mostly_done();
    let after = world.state_bytes().len();
    assert!(after * 2 < before, "{before} bytes before, {after} after");
    assert!(folded(&world) > 0);
    let status = world.status();
    assert_eq!(status["resolved"].as_array().unwrap().len(), FAILS - 1);
    assert_eq!(
        status["last_result"]["done"].as_array().unwrap().len(),
        FAILS - 1
    );
    world.descent(&["validate"]).expect(0);
    world.descent(&["why", "A007"]).expect(0).shows("exit 0");
    // All beside it gone, the file alone goes on.
    let bytes = world.state_bytes();
    fs::remove_dir_all(world.repo().join(".descent")).unwrap();
    fs::remove_dir_all(world.cache()).unwrap();
    fs::create_dir(world.repo().join(".descent")).unwrap();
    fs::write(world.state_path(), bytes).unwrap();
    world.run().expect(5);
    assert_eq!(made(&world).len(), FAILS - 1, "nothing is made again");
}

#[test]
fn a_result_of_ones_own_in_the_place_of_a_folded_one_opens_what_depends_on_it_and_nothing_else() {
    let (world, _) = done_until(NONE_FAILS);
    let own = json!({
        "summary": "mine", "value": 1, "by": "person", "attempts": 0,
        "of": {"kind": "task", "description": "by hand", "depends_on": [], "status": "pending"},
    });
    world.replace_in_state(
        r#""bindings": {"#,
        &format!(r#""bindings": {{"A001": {own},"#),
    );
    world.descent(&["validate"]).expect(0);
    world.run().expect(5);
    assert_eq!(made(&world).last().map(String::as_str), Some("A002"));
    assert_eq!(made(&world).len(), ATOMS + 1, "one was made again");
    assert_eq!(world.status()["resolved"].as_array().unwrap().len(), ATOMS);
}

#[test]
fn a_folded_atom_that_a_person_writes_into_the_graph_is_made_again() {
    let (world, _) = done_until(NONE_FAILS);
    let atom =
        json!({"kind": "task", "description": "again", "action": {"run": "echo again >>made"}});
    world.replace_in_state(r#""atoms": {}"#, &format!(r#""atoms": {{"A007": {atom}}}"#));
    world.run().expect(5);
    assert_eq!(made(&world).last().map(String::as_str), Some("again"));
    assert_eq!(made(&world).len(), ATOMS + 1);
}

#[test]
fn folded_results_that_were_damaged_are_told_with_their_place_and_nothing_is_written() {
    let (world, _) = mostly_done();
    let before = world.state_text();
    world.replace_in_state(r#""folded": ""#, r#""folded": "?"#);
    let broken = world.state_bytes();
    let ran = world.run().expect(65).says("folded results");
    assert!(!ran.stderr.contains("there is no atom"), "{}", ran.stderr);
    assert_eq!(world.state_bytes(), broken);
    world.save(&before);
    world.run().expect(5);
}

#[test]
fn what_was_folded_is_shown_compared_and_gone_back_to() {
    let (world, _) = mostly_done();
    world.descent(&["show", "100"]).expect(0);
    world.descent(&["log", "200..-1"]).expect(0);
    world.descent(&["undo", "150", "-y"]).expect(0);
    let resolved = world.status()["resolved"].as_array().unwrap().len();
    assert!(resolved > 128 && resolved < FAILS - 1, "{resolved}");
    world.descent(&["validate"]).expect(0);
}
