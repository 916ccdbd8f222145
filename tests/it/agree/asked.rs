//! Questions of `align` at a terminal, when something goes wrong: no answer is lost, and help is no answer.

use serde_json::json;

use crate::{agree::align::nothing_is_left, terminal::Terminal, world::World};

/// A project in which every question is asked.
fn project() -> World {
    let world = World::new();
    world.write("Makefile", "test:\n\tgrep -q done log\n");
    world.write("package.json", "{\"name\": \"p\"}\n");
    world.write("package-lock.json", "{}\n");
    world.write(".gitignore", "node_modules\n");
    std::fs::create_dir(world.repo().join("node_modules")).unwrap();
    std::fs::create_dir(world.repo().join("tests")).unwrap();
    world.write("tests/a.sh", "true\n");
    world.commit_all("more");
    world
}

/// All questions, with `?` at each before its answer.
fn answered(world: &World, setup: &str) -> Terminal {
    let mut at = Terminal::start(world, &["align"]);
    for (question, help, answer) in [
        ("(GOAL)", "One sentence that is true at the end", "have a log"),
        ("(--why)", "leaves a choice open", "it is read"),
        ("(--check)", "Exit code 0 says", "1"),
        ("(--step)", "TEXT=COMMAND runs", "write=echo done > log"),
        ("And then?", "a task for the worker", ""),
        ("(--protect)", "An attempt that changes one", ""),
        ("(--link PATH, --setup COMMAND)", "such as npm ci", setup),
    ] {
        at.sees(question).sees("> ").types("?");
        at.sees(help).sees("> ").types(answer);
    }
    at
}

#[test]
fn a_question_mark_at_any_question_is_help_and_never_the_answer() {
    let world = project();
    let mut at = answered(&world, "true");
    at.sees("agree? [y/N] ").types("y").sees("agreed");
    assert_eq!(at.ends().code(), Some(0));
    let objective = world.state()["objective"].clone();
    assert!(!objective.to_string().contains('?'), "{objective}");
    assert_eq!(objective["constraints"]["setup"]["run"], "true");
}

#[test]
fn a_step_without_a_name_or_a_command_is_asked_for_again_at_once() {
    let world = project();
    let mut at = Terminal::start(
        &world,
        &["align", "have a log", "--why", "it is read", "--check", "false"],
    );
    at.sees("(--step)").sees("> ").types("=touch a");
    at.sees("It has no name").sees("> ").types("A=");
    at.sees("It has no command").sees("> ").types("A=touch log");
    at.sees("And then?").sees("> ").types("");
    at.sees("(--protect)").sees("> ").types("");
    at.sees("(--link PATH, --setup COMMAND)").sees("> ").types("");
    at.sees("agree? [y/N] ").types("y").sees("agreed");
    assert_eq!(at.ends().code(), Some(0));
    let atoms = world.state()["work_graph"]["atoms"].clone();
    assert_eq!(atoms["S1"]["action"]["run"], "touch log");
    assert_eq!(atoms.as_object().map(|atoms| atoms.len()), Some(1));
}

#[test]
fn where_setup_fails_it_is_asked_for_again_and_no_other_answer_is_lost() {
    let world = project();
    let mut at = answered(&world, "echo no registry; exit 3");
    at.sees("E-SETUP").sees("no registry");
    at.sees("Which setup command instead?").sees("> ").types("?");
    at.sees("such as npm ci").sees("> ").types("exit 4");
    at.sees("E-SETUP").sees("> ").types("");
    at.sees("have a log").sees("agree? [y/N] ").types("y").sees("agreed");
    assert_eq!(at.ends().code(), Some(0));
    let objective = world.state()["objective"].clone();
    assert_eq!(objective["background_intent"], "it is read");
    assert_eq!(objective["constraints"], json!({"on_stuck": "ask"}));
    world.run().expect(0);
}

#[test]
fn who_leaves_after_a_failed_setup_gets_all_answers_back_as_a_command_line() {
    let world = project();
    let mut at = answered(&world, "exit 3");
    at.sees("Which setup command instead?").sees("> ").ends_input();
    assert_eq!(at.ends().code(), Some(4));
    let screen = at.screen();
    let line = "descent align 'have a log' --why 'it is read' --check 'make test' --step 'write=echo done > log'";
    assert!(screen.contains(line), "{screen}");
    nothing_is_left(&world);
}

#[test]
fn another_failure_after_answers_names_them_too() {
    let world = project();
    let index = world.repo().join(".git/index");
    let mut at = Terminal::start(
        &world,
        &["align", "have a log", "--check", "make test", "--step", "x=true"],
    );
    at.sees("(--why)").sees("> ");
    std::fs::write(&index, "no index").unwrap();
    at.types("it is read");
    at.sees("(--protect)").sees("> ").types("");
    at.sees("(--link PATH, --setup COMMAND)").sees("> ").types("");
    assert_ne!(at.ends().code(), Some(0));
    let screen = at.screen();
    assert!(screen.contains("descent align 'have a log' --why 'it is read'"), "{screen}");
}
