//! `descent do`: from a sentence to a result in the person's files, with a real terminal and without one.
//!
//! Not here: the reading of a proposal (`roles::aligned`).

use serde_json::{Value, json};

use crate::{
    terminal::Terminal,
    world::{World, wait_for},
};

const SENTENCE: [&str; 2] = ["do", "log the greetings, please"];

/// A worker that proposes as an aligner, and works slowly once there is a file `slow`.
fn project() -> World {
    let world = World::new();
    let out = world.out("").display().to_string();
    let proposal = |goal: &str| {
        json!({"goal": goal, "why": "people ask", "base_case": {"command": "grep -q hello log"},
            "atoms": [{"id": "write", "description": "write the log", "checks": {"command": "touch OUT/unseen"}}]})
    };
    let text = format!(
        "#!/bin/sh\np=$(cat)\ncase \"$p\" in\n\
         *'You are the aligner'*) echo asked >> OUT/asked\ncase \"$p\" in\n\
         *'in French'*) cat <<'END'\n{}\nEND\n;;\n*) cat <<'END'\n{}\nEND\n;;\nesac;;\n\
         *) touch OUT/at-work; while [ -e OUT/slow ]; do sleep 0.05; done\n\
         echo hello > log; echo '{{\"success\": true, \"summary\": \"wrote it\"}}';;\nesac\n",
        proposal("each greeting is in the log, in French"),
        proposal("each greeting is in the log"),
    );
    let path = world.program("mind", &text.replace("OUT", out.trim_end_matches('/')));
    let command = format!("headless = {{argv = [\"{}\"], events = \"text\"}}", path.display());
    world.write("descent.toml", &format!("[agents.ada]\n{command}\n[roles]\nworker = \"ada\"\n"));
    world
}

fn goal(world: &World) -> Value {
    world.state()["objective"]["goal"].clone()
}

#[test]
fn one_sentence_leads_to_a_result_in_the_files_and_asks_twice() {
    let world = project();
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("asking the aligner `ada`").sees("proposed by `ada`");
    at.sees("agree, and run all of it?").sees("[y/e/N] ").types("say it in French");
    at.sees("asked: What is to change in the proposal? say it in French");
    at.sees("agree, and run all of it?").sees("[y/e/N] ").types("y");
    at.sees("2h in all").sees("without it: --set budget.time=null");
    at.sees("agreed").sees("solved").sees("completed:").sees("the result changes:");
    at.sees("apply it to your files?").sees("[y/d/N] ").types("d");
    at.sees("+hello").sees("[y/d/N] ").types("y").sees("next: git status");
    assert_eq!(at.ends().code(), Some(0));
    assert_eq!(world.read("log"), "hello\n");
    assert_eq!(goal(&world), "each greeting is in the log, in French");
    assert_eq!(world.state()["objective"]["background_intent"], "people ask");
    world.descent(&SENTENCE).expect(0).says("nothing is left to do");
}

#[test]
fn an_interrupt_at_each_stage_leaves_what_the_same_command_goes_on_from() {
    let world = project();
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("[y/e/N] ").interrupt();
    at.sees("the proposal is kept in");
    at.ends();
    assert!(!world.state_path().exists());
    std::fs::write(world.out("slow"), "").unwrap();
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("[y/e/N] ").types("y");
    wait_for("the worker", || world.out("at-work").exists());
    at.interrupt();
    at.ends();
    assert_eq!(world.state()["run"]["status"], "stopped");
    std::fs::remove_file(world.out("slow")).unwrap();
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("there is a run here, stopped").sees("[y/d/N] ").interrupt();
    at.ends();
    assert_eq!(world.state()["run"]["status"], "completed");
    assert!(!world.repo().join("log").exists());
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("has completed").sees("[y/d/N] ").types("y");
    assert_eq!(at.ends().code(), Some(0));
    assert_eq!(world.read("log"), "hello\n");
}

#[test]
fn without_a_person_a_check_is_needed_and_no_proposed_check_runs() {
    let world = project();
    let refused = world.descent(&SENTENCE).expect(4).says("the base case is missing");
    refused
        .says("at a terminal, `ada` proposes")
        .says("descent do 'log the greetings, please' --check");
    assert!(!world.out("asked").exists());
    let [check, accepts] = [["--check", "test -s log"], ["--accept-work", "-n"]];
    let words = [&SENTENCE[..], &check, &accepts].concat();
    world.descent(&words).expect(0).shows("completed");
    assert!(world.out("asked").exists());
    let state = world.state();
    assert_eq!(goal(&world), "each greeting is in the log");
    assert!(state["bindings"]["write"].is_object(), "{state}");
    let checks = state["objective"]["base_case"].to_string();
    assert!(checks.contains("test -s log") && !checks.contains("grep"), "{checks}");
    assert!(!world.out("unseen").exists());
    assert!(!world.repo().join("log").exists());
    world.descent(&[&SENTENCE[..], &["--apply"]].concat()).expect(0);
    assert_eq!(world.read("log"), "hello\n");
}

#[test]
fn an_unfinished_run_is_gone_on_with_after_a_yes_alone() {
    let world = project();
    world.align(&json!({"objective": {"goal": "a file", "background_intent": "w",
        "base_case": {"command": "test -e one"}},
        "work_graph": {"atoms": {"A1": {"action": {"run": "touch one"}}}}}));
    world.descent(&SENTENCE).expect(2).says("there is a run here, aligned");
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("there is a run here, aligned: a file").sees("[y/N] ").types("n");
    assert_eq!(at.ends().code(), Some(2));
    let mut at = Terminal::start(&world, &SENTENCE);
    at.sees("[y/N] ").types("y").sees("completed").sees("[y/d/N] ").types("n");
    at.sees("descent apply");
    assert_eq!(at.ends().code(), Some(0));
}

#[test]
fn in_place_there_is_nothing_to_apply() {
    let world = project();
    let check = ["--check", "test -s log", "--set", "workspace=shared"];
    let mut at = Terminal::start(&world, &[&SENTENCE[..], &check].concat());
    at.sees("[y/e/N] ").types("y").sees("completed").sees("in your files already");
    assert_eq!(at.ends().code(), Some(0));
    assert_eq!(world.read("log"), "hello\n");
}
