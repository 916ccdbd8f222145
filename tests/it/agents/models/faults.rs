//! Each fault of a server, through the program: a good run in spite of it, a failed attempt, or an end with its code.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::{Model, WIRES, align, configure, fragment, nothing_holds_the_key, run, start};
use crate::{support::world::wait_for, world::World};

/// The consequence of a fault.
#[derive(Debug, Clone, Copy)]
enum Follows {
    /// The plan comes after so many questions.
    Plan(usize),
    /// The attempt fails, with these words.
    Failure(&'static str),
    /// The run ends with this code, and the attempt costs nothing.
    End(&'static str, &'static str),
}

use Follows::{End, Failure, Plan};

const FAULTS: [(&[&str], Follows); 28] = [
    (&["cut", "--fault-times", "1"], Plan(2)),
    (&["cut-event", "--fault-times", "1"], Plan(2)),
    (&["cut-letter", "--fault-times", "1"], Plan(2)),
    (&["error-event", "--fault-times", "1"], Plan(2)),
    (&["500:5ms", "--fault-times", "2"], Plan(3)),
    (&["529:5ms", "--fault-times", "2"], Plan(3)),
    (&["429:5ms", "--fault-times", "1"], Plan(2)),
    (&["429:1", "--fault-times", "1"], Plan(2)),
    (&["429:none", "--fault-times", "1"], Plan(2)),
    (&["json"], End("E-PROVIDER", "answers with application/json")),
    (&["no-usage"], Plan(1)),
    (&["empty"], Failure("")),
    (&["endless"], Failure("the answer does not end")),
    (&["100mb"], Failure("the answer does not end")),
    (&["refusal"], Failure("refused")),
    (&["length"], Failure("it was cut after 8192 tokens; raise agents.thinker.max_answer")),
    (&["length"], Failure("its server cut it; set agents.thinker.max_answer")),
    (&["length"], Failure("the answer was too long")),
    (&["silence"], Failure("said nothing for")),
    (&["hang"], Failure("said nothing for")),
    (&["promises"], Failure("said nothing for")),
    (&["400"], End("E-PROVIDER", "the request is invalid")),
    (&["401"], End("E-AGENT-LOGIN", "key")),
    (&["402"], End("E-AGENT-CREDIT", "no credit left")),
    (&["404"], End("E-PROVIDER", "404")),
    (&["413"], End("E-PROVIDER", "413")),
    (&["no-model"], End("E-MODEL", "scripted")),
    (&["redirect"], End("E-PROVIDER", "elsewhere.example")),
];

#[test]
fn each_fault_of_a_server_is_passed_over_told_or_ends_the_run_with_its_code() {
    for (nth, (fault, follows)) in FAULTS.into_iter().enumerate() {
        let world = World::new();
        let model = Model::start(&world, &fragment(), &[&["--fault"], fault].concat());
        let (wire, base) = WIRES[nth % WIRES.len()];
        let is_silent = matches!(follows, Failure("said nothing for"));
        let limit = if is_silent { "1s" } else { "60s" };
        let limits = format!("first_event = \"{limit}\"\nidle = \"{limit}\"");
        configure(&world, &model, wire, base, &limits);
        align(&world, json!({"max_attempts": 1, "max_transient": 0}));
        let ran = run(&world);
        let (state, said) =
            (world.state(), format!("{fault:?} {wire}: {}{}", ran.stdout, ran.stderr));
        match follows {
            Plan(questions) => {
                assert_eq!(ran.code, Some(0), "{said}");
                assert_eq!(model.questions().len(), questions, "{said}");
                let is_estimated = state["run"]["spent"]["estimated"] == true;
                assert_eq!(is_estimated, fault[0] == "no-usage", "{said}");
                assert_eq!(ran.stdout.contains('≈'), is_estimated, "{said}");
            }
            Failure(words) => {
                assert_eq!(ran.code, Some(5), "{said}");
                let failures = state["trail"].to_string();
                assert!(failures.contains(words), "{said}{failures}");
            }
            End(code, words) => {
                assert_eq!(ran.code, Some(69), "{said}");
                let result = &state["run"];
                assert_eq!(result["code"], code, "{said}{result}");
                assert!(said.contains(words), "{said}");
                assert_eq!(model.questions().len(), 1, "{said}");
                assert!(state["run"]["spent"]["attempts"].as_u64().unwrap_or(0) == 0, "{said}");
            }
        }
        nothing_holds_the_key(&world, &ran);
    }
}

#[test]
fn a_long_limit_is_waited_for_and_shown_and_costs_no_attempt() {
    for wait in ["429:3600", "429:date", "429:year"] {
        let world = World::new();
        let model = Model::start(&world, &fragment(), &["--fault", wait]);
        configure(&world, &model, "messages", "", "");
        align(&world, json!({"max_attempts": 1}));
        let running = start(&world, &["run"]);
        wait_for("the wait to be told", || {
            world.state()["run"]["waits"].as_array().is_some_and(|waits| !waits.is_empty())
        });
        let waits = world.state()["run"]["waits"].clone();
        assert_eq!((&waits[0]["agent"], &waits[0]["atom"]), (&json!("thinker"), &json!("N")));
        let status = world.descent(&["status"]);
        assert!(status.stdout.contains("thinker"), "{}", status.stdout);
        assert_eq!(model.questions().len(), 1);
        running.kill();
    }
}

#[test]
fn a_wait_inside_of_a_question_stands_in_the_log_of_its_attempt() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "529:20ms", "--fault-times", "2"]);
    configure(&world, &model, "responses", "/v1", "");
    align(&world, json!({}));
    run(&world).expect(0);
    let attempts = world.repo().join(".descent/state.json.d/attempts");
    let log = std::fs::read_to_string(attempts.join("N.1/output.log")).unwrap();
    assert!(log.contains("[waits 0.0 s: the server answers 529"), "{log}");
    assert_eq!(model.questions().len(), 3);
}

/// The port in an address.
fn port(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or_default()
}

#[test]
fn a_server_that_is_not_there_ends_the_run_at_no_cost_and_the_next_run_asks_again() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "chat", "/v1", "first_event = \"1s\"");
    align(&world, json!({"max_attempts": 1}));
    let address = model.address.clone();
    drop(model);
    let ran = run(&world).expect(69);
    let words = format!("cannot connect to {address}/v1: is the server up? (Connection refused");
    let state = world.state();
    let result = &state["run"];
    assert_eq!(result["code"], "E-AGENT-UNREACHABLE", "{result}");
    assert!(result.to_string().contains(&words), "{result}");
    assert_eq!(state["run"]["spent"]["attempts"].as_u64().unwrap_or(0), 0);
    assert!(ran.stdout.contains("next: start the server"), "{}", ran.stdout);
    let doctor = start(&world, &["doctor", "--json"]).wait();
    assert!(doctor.stdout.contains(&words), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("E-AGENT-UNREACHABLE"));
    let _model = Model::start(&world, &fragment(), &["--port", port(&address)]);
    run(&world).expect(0);
}

#[test]
fn a_server_that_is_starting_is_waited_for() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "messages", "", "");
    align(&world, json!({"max_attempts": 1}));
    let address = model.address.clone();
    drop(model);
    let mut running = start(&world, &["run"]);
    let log = world.repo().join(".descent/state.json.d/attempts/N.1/output.log");
    let waits = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_for("the wait to be told", || waits().contains("[waits"));
    let model = Model::start(&world, &fragment(), &["--port", port(&address)]);
    running.wait().expect(0);
    assert_eq!(model.questions().len(), 1);
}

#[test]
fn a_server_that_wants_a_key_where_none_is_configured_says_so() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &[]);
    configure(&world, &model, "chat", "/v1", "");
    let text = world.read("descent.toml");
    let text = text.replace("key = {env = \"THINKER_KEY\"}\n", "");
    world.write("descent.toml", &text);
    align(&world, json!({"max_attempts": 1}));
    run(&world).expect(69);
    let result = world.state()["run"].to_string();
    assert!(result.contains("agents.thinker.key = {env = "), "{result}");
    assert!(result.contains("E-AGENT-LOGIN"), "{result}");
}

#[test]
fn a_server_that_promises_an_answer_without_end_delays_no_stop() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "promises"]);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({}));
    let mut running = start(&world, &["run"]);
    wait_for("the question", || model.questions().len() == 1);
    std::thread::sleep(Duration::from_secs(1));
    let since = Instant::now();
    running.signal(Signal::TERM);
    running.wait();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}
