//! A change in a person's own words: an aligner proposes it, and it is shown as any redirect is.
//!
//! Not here: the aligner's failures (`aligned`), the flags of a redirect (`steer::redirect`).

use serde_json::{Value, json};

use super::aligned::{aligner, says};
use crate::{
    begun::at_work,
    processes::{long_nap, processes},
    terminal::Terminal,
    world::{World, after, plan, task, wait_for},
};

/// A run that stands with two atoms, and an aligner that says this.
fn with_aligner(turns: &[Value]) -> World {
    let world = World::new();
    let atoms = json!({"A1": task("echo hello > log"), "A2": after(&["A1"], "exit 1")});
    world.align(&plan(&["test -f log"], json!({}), atoms));
    aligner(&world, &says(turns));
    world
}

fn change(questions: Value) -> Value {
    json!({"goal": "the log is signed", "add_checks": ["grep -q ada log"], "remove": ["A2"],
        "atoms": [{"id": "sign", "description": "sign it", "depends_on": ["A1"], "action": {"run": "echo ada >> log"}}],
        "questions": questions})
}

#[test]
fn a_change_in_a_sentence_is_shown_as_a_difference_and_made_after_a_yes() {
    let question =
        json!([{"question": "Signed by whom?", "why": "two are there", "options": ["ada", "eve"]}]);
    let world = with_aligner(&[change(question), change(json!([]))]);
    let mut at = Terminal::start(&world, &["redirect", "sign the log"]);
    at.sees("asking the aligner `wise` for a change");
    at.sees("wise asks (1 of 1): Signed by whom?").sees("> ").types("1");
    at.sees("the change with your answers");
    at.sees("proposed by `wise`; nothing of it counts yet:")
        .sees("the log is signed")
        .sees("all that it sets, whole:")
        .sees("grep -q ada log")
        .sees("echo ada >> log");
    at.sees("redirect? [y/N] ").types("y").sees("redirected, serial");
    assert_eq!(at.ends().code(), Some(0));
    let state = world.state();
    assert_eq!(state["objective"]["goal"], "the log is signed");
    assert_eq!(
        state["objective"]["clarifications"],
        json!([{"question": "Signed by whom?", "resolution": "ada"}])
    );
    let ids: Vec<&String> = state["work_graph"]["atoms"].as_object().unwrap().keys().collect();
    assert_eq!(ids, ["A1", "sign"]);
    let prompt = world.left("prompt.1");
    for words in [
        "sign the log",
        "- A2 (task, after A1): ",
        "test -f log",
        "the change of it that is asked for",
    ] {
        assert!(prompt.contains(words), "no `{words}` in:\n{prompt}");
    }
    assert_eq!(state["corrections"].as_array().unwrap().last().unwrap()["reason"], "sign the log");
    world.run().expect(0);
    assert_eq!(world.result_file("log"), "hello\nada\n");
}

#[test]
fn a_change_that_is_refused_changes_nothing_and_flags_can_be_typed() {
    let world = with_aligner(&[change(json!([]))]);
    let before = world.state_bytes();
    let mut at = Terminal::start(&world, &["redirect", "sign the log"]);
    at.sees("redirect? [y/N] ").types("n");
    at.sees("redirect> ");
    assert_eq!(world.state_bytes(), before);
    at.types("--remove A2").sees("redirect? [y/N] ").types("y").sees("redirected, serial");
    assert_eq!(at.ends().code(), Some(0));
    assert_eq!(world.state()["objective"]["goal"], "it is so");
}

#[test]
fn a_change_that_does_not_fit_the_state_is_told_and_flags_are_typed_as_ever() {
    let bad = json!({"remove": ["A1"], "select": {"nowhere": "A2"}});
    let world = with_aligner(&[bad]);
    let mut at = Terminal::start(&world, &["redirect", "less of it"]);
    at.sees("no proposal of the aligner `wise`: its answer cannot be used: ");
    at.sees("A2 waits for A1").sees("redirect> ").types("");
    at.sees("nothing was changed");
    assert_eq!(at.ends().code(), Some(0));
}

#[test]
fn a_yes_on_the_command_line_asks_no_aligner_and_adopts_nothing() {
    let world = with_aligner(&[change(json!([]))]);
    let before = world.state_bytes();
    world.descent(&["redirect", "sign the log", "-y"]).expect(2);
    world.descent(&["redirect", "sign the log", "--json"]).expect(2);
    let mut at = Terminal::start(&world, &["redirect", "sign the log", "-n"]);
    assert_eq!(at.ends().code(), Some(2));
    assert!(!world.out("asked").exists());
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_running_loop_waits_for_a_proposed_change_and_goes_on_with_it() {
    let (world, mut run) = at_work();
    aligner(&world, &says(&[json!({"goal": "it is done soon"})]));
    let mut at = Terminal::start(&world, &["redirect", "sooner"]);
    at.sees("the loop waits; ended: A1");
    at.sees("redirect? [y/N] ");
    assert_eq!(world.state()["run"]["status"], "redirecting");
    at.types("y").sees("redirected, serial");
    assert_eq!(at.ends().code(), Some(0));
    world.touch("go");
    run.wait().expect(0);
    assert_eq!(world.state()["objective"]["goal"], "it is done soon");
}

#[test]
fn an_end_while_the_aligner_works_has_the_loop_go_on_as_before() {
    let (world, mut run) = at_work();
    let nap = long_nap();
    aligner(&world, &format!("sleep {nap}"));
    let mut at = Terminal::start(&world, &["redirect", "sooner"]);
    wait_for("the aligner", || world.out("asked").exists());
    at.signal(rustix::process::Signal::TERM);
    assert!(!at.ends().success());
    assert_eq!(processes(&nap), Vec::<String>::new());
    world.touch("go");
    run.wait().expect(0);
    assert_eq!(world.state()["corrections"], json!([]));
}
