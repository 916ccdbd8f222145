//! Agents that are told in their session that their work does not hold, and agents that ask a person.

use std::fs;

use serde_json::json;

use crate::{
    agents::talked::{ALL, Claude, by_worker, why, world},
    world::{World, plan, task, wait_for, with},
};

/// The first turn makes `half`, the second one what is wanted.
const IN_TWO_TURNS: &str = "test -e half && echo made > done; touch half";

#[test]
fn an_agent_that_is_told_why_its_check_fails_needs_one_attempt() {
    for protocol in ALL {
        let world = world(protocol, "works", &[("FIXTURE_DO", IN_TWO_TURNS)]);
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "{protocol:?}\n{}\n{}", ran.stderr, why(&world));
        assert!(
            ran.stdout.contains("\"correcting\",\"attempt\":\"A1.1\""),
            "{protocol:?}\n{}",
            ran.stdout
        );
        let state = world.state();
        assert_eq!(state["run"]["spent"]["attempts"], 1, "{protocol:?}");
        for words in ["turn 1 of 2", "ran ", "test -e half"] {
            assert!(why(&world).contains(words), "{protocol:?} {words}\n{}", why(&world));
        }
        let report = world.descent(&["report"]).stdout;
        assert!(report.contains("turn 1 of 2"), "{protocol:?}\n{report}");
    }
}

#[test]
fn tool_calls_of_failed_attempts_are_shown_and_those_that_failed_are_marked() {
    for protocol in ALL {
        let world = world(protocol, "works", &[("FIXTURE_DO", "exit 3")]);
        world.descent(&["run", "--set", "corrections=0"]).expect(5);
        let why = why(&world);
        let call = why.lines().find(|line| line.trim().starts_with("ran "));
        let has_failed = |call: &str| call.contains("exit 3") && call.ends_with("(failed)");
        assert!(call.is_some_and(has_failed), "{protocol:?}\n{why}");
        let log = world.repo().join(".descent/state.json.d/attempts/A1.1/output.log");
        assert!(fs::read_to_string(log).unwrap().contains("(failed)"), "{protocol:?}");
    }
}

#[test]
fn without_turns_a_failed_check_ends_the_attempt() {
    let world = world(Claude, "works", &[("FIXTURE_DO", IN_TWO_TURNS)]);
    world.descent(&["run", "--set", "corrections=0"]).expect(5);
    assert!(!why(&world).contains("turn 1"), "{}", why(&world));
}

#[test]
fn a_turn_goes_on_after_a_kill_and_the_attempt_is_the_same() {
    for protocol in ALL {
        let signs = tempfile::tempdir().unwrap();
        let (began, go) = (signs.path().join("began"), signs.path().join("go"));
        let tool = format!(
            "if test -e half; then echo began >> {}; until test -e {}; do sleep 0.05; done; echo made > done; fi; touch half",
            began.display(),
            go.display()
        );
        let world = world(protocol, "works", &[("FIXTURE_DO", tool.as_str())]);
        let run = world.start(&["run"]);
        wait_for("the turn began", || began.exists());
        run.kill();
        fs::write(&go, "").unwrap();
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "{protocol:?}\n{}\n{}", ran.stderr, why(&world));
        assert!(ran.stdout.contains("its agent goes on"), "{protocol:?}\n{}", ran.stdout);
        let state = world.state();
        assert_eq!(state["run"]["attempts_started"], 1, "{protocol:?}");
        let turns = state["trail"].as_array().unwrap().iter().filter(|one| one["type"] == "turn");
        assert_eq!(turns.count(), 1, "{protocol:?}");
    }
}

#[test]
fn a_turn_sees_what_landed_meanwhile() {
    let signs = tempfile::tempdir().unwrap();
    let landed = signs.path().join("landed");
    let tool = format!(
        "if test -e half; then cat other > done; else until test -e {}; do sleep 0.05; done; touch half; fi",
        landed.display()
    );
    let world = world(Claude, "works", &[("FIXTURE_DO", tool.as_str())]);
    // Its result has landed when what waits for it runs.
    let note = format!("touch {}", landed.display());
    let b2 = with(task(&note), json!({"depends_on": ["B1"], "description": "say so"}));
    let atoms = json!({"A1": by_worker("make done"), "B1": task("echo other > other"), "B2": b2});
    world.align(&plan(&["grep -q other done"], json!({"max_attempts": 1}), atoms));
    let ran = world.run();
    assert_eq!(ran.code, Some(0), "{}\n{}\n{}", ran.stdout, ran.stderr, why(&world));
    assert!(ran.stdout.contains("\"correcting\",\"attempt\":\"A1.1\""), "{}", ran.stdout);
}

const ASKS: &str = r#"{"success": false, "summary": "which port?", "clarity": "BLOCKED", "question": "Which port is meant?", "options": ["80", "443"]}"#;

#[test]
fn a_question_waits_for_a_person_and_ends_the_run_with_the_command_that_answers_it() {
    for protocol in ALL {
        let world = world(protocol, "works", &[("FIXTURE_ANSWER", ASKS)]);
        let ran = world.run();
        assert_eq!(ran.code, Some(6), "{protocol:?}\n{}\n{}", ran.stdout, ran.stderr);
        let shown = world.descent(&["status"]).stdout;
        for words in [
            "A1 asks: Which port is meant?",
            "Which port is meant? (80 | 443)",
            "descent guide \"the answer\" --for A1",
        ] {
            assert!(shown.contains(words), "{protocol:?} {words}\n{shown}");
        }
        let status = world.descent(&["status", "--json"]).json();
        let asked = &status["questions"][0];
        assert_eq!((&asked["waits"], &asked["options"]), (&json!(true), &json!(["80", "443"])));
        // Without an answer it does not start again.
        world.run().expect(6);
        assert_eq!(world.state()["run"]["attempts_started"], 1, "{protocol:?}");
    }
}

/// A worker of its own that asks until it is told a port.
fn asking() -> World {
    let world = World::new();
    let worker = format!(
        "if grep -q 8443 \"$DESCENT_PROMPT\"; then echo made > done; else echo '{ASKS}' > \"$DESCENT_RESULT\"; fi\n"
    );
    world.write("worker.sh", &worker);
    world
        .write("descent.toml", "agents.worker.run = \"sh worker.sh\"\nroles.worker = \"worker\"\n");
    world
}

#[test]
fn an_answer_reaches_the_next_attempt_and_gives_the_one_back_that_asked() {
    let world = asking();
    let limits = json!({"max_attempts": 1});
    world.align(&plan(&["test -f done"], limits, json!({"A1": by_worker("make done")})));
    world.run().expect(6);
    world.descent(&["guide", "8443"]).expect(0);
    world.run().expect(0);
    assert_eq!(world.state()["run"]["attempts_started"], 2);
    assert!(why(&world).contains("answered"), "{}", why(&world));
}
