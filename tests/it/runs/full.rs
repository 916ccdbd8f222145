//! Runs whose state has no room left: they end in order, and go on once a person made some.

use serde_json::{Value, json};

use crate::world::{World, plan, task, with};

const TASKS: usize = 5;
/// The bytes of a state that ordinary commits may use.
const LESS: usize = 15 << 20;

/// Leaves a line outside, and a value of 62 KB.
fn action(world: &World) -> String {
    let out = world.out("").display().to_string();
    let value = "head -c 62000 /dev/zero | tr '\\0' x";
    format!(
        "echo . > $DESCENT_ATOM; echo . >> {out}$DESCENT_ATOM; \
         {{ printf '{{\"summary\":\"made\",\"value\":{{\"text\":\"'; {value}; printf '\"}}}}'; }} > $DESCENT_RESULT"
    )
}

/// A run of these atoms side by side, in a state with room for the values of `fit` of them. Gives what takes the room.
fn nearly_full(world: &World, atoms: Vec<(String, Value)>, fit: usize) -> String {
    let checks: Vec<String> = atoms.iter().map(|(id, _)| format!("test -f {id}")).collect();
    let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
    let atoms = Value::Object(atoms.into_iter().collect());
    let limits = json!({"max_parallel_agents": 3, "max_attempts": 1, "max_transient": 0});
    world.align(&plan(&checks, limits, atoms));
    let text = world.state_text();
    let fill = LESS - text.len() - fit * 63_500 - 32_000;
    let ballast = format!("\"ballast\": \"{}\",\n", "x".repeat(fill));
    world.save(&text.replacen("\"objective\"", &(ballast.clone() + "\"objective\""), 1));
    ballast
}

fn tasks(world: &World) -> Vec<(String, Value)> {
    let ids = (1..=TASKS).map(|n| format!("A{n}"));
    ids.map(|id| (id, task(&action(world)))).collect()
}

fn bound(state: &Value) -> usize {
    state["bindings"].as_object().unwrap().len()
}

#[test]
fn a_run_whose_state_is_full_ends_in_order_and_goes_on_once_there_is_room() {
    let world = World::new();
    let ballast = nearly_full(&world, tasks(&world), 1);
    let notify = format!("touch {}", world.out("told").display());
    let ran = world.descent(&["run", "--notify", &notify]).expect(69);
    let state = world.state();
    let run = &state["run"];
    assert_eq!(run["status"], "stopped", "{}", ran.stdout);
    let result = &run;
    assert_eq!(result["reason"], "unavailable");
    assert_eq!(result["code"], "E-STATE-TOO-LARGE");
    let summary = result["summary"].as_str().unwrap();
    let large = "15728640 is the most: ballast 14.9 MiB, bindings";
    assert!(summary.contains(large), "{summary}");
    assert!(result["moves"][0].as_str().unwrap().starts_with("descent edit"));
    assert!(world.out("told").exists(), "it is told");
    assert_eq!(bound(&state), 1, "{}", ran.stdout);
    let mut waiting = run["in_flight"].as_array().unwrap().clone();
    let attempts = world.repo().join(".descent/state.json.d/attempts");
    waiting.retain(|intent| {
        let attempt = attempts.join(intent["id"].as_str().unwrap());
        attempt.join("outcome.json").exists()
    });
    assert!(!waiting.is_empty(), "{}", ran.stdout);
    // It is not one agent's fault that can be tried away: it ends the same, in order.
    world.descent(&["status"]).expect(0);
    world.descent(&["run"]).expect(69);
    assert_eq!(world.state()["run"]["status"], "stopped");

    world.save(&world.state_text().replacen(&ballast, "", 1));
    let ran = world.run();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let state = world.state();
    assert_eq!(bound(&state), TASKS);
    assert_eq!(state["run"]["spent"]["attempts"], TASKS);
    for intent in waiting {
        let id = intent["atom"].as_str().unwrap();
        assert_eq!(world.left(id), ".\n", "{id} is not made again");
    }
}

#[test]
fn an_effect_that_may_happen_only_once_is_waited_for_and_does_not_happen_again() {
    let world = World::new();
    let once = task(&format!("sleep 2; {}", action(&world)));
    let once = with(once, json!({"effect": "external"}));
    let atoms = vec![("A1".to_owned(), task(&action(&world))), ("E".to_owned(), once)];
    let ballast = nearly_full(&world, atoms, 0);
    world.run().expect(69);
    assert_eq!(world.left("E"), ".\n");
    assert_eq!(world.state()["run"]["in_flight"].as_array().unwrap().len(), 2);
    world.save(&world.state_text().replacen(&ballast, "", 1));
    world.run().expect(0);
    assert_eq!(world.left("E"), ".\n");
}

#[test]
fn a_persons_change_that_has_no_room_is_refused_and_nothing_is_written() {
    let world = World::new();
    nearly_full(&world, tasks(&world), 1);
    let text = world.state_text();
    let grown = format!("\"more\": \"{}\",\n\"objective\"", "x".repeat(120_000));
    let grown = text.replacen("\"objective\"", &grown, 1);
    world.save(&grown);
    let ran = world.descent(&["run"]).expect(65);
    ran.says("E-STATE-TOO-LARGE").says("descent edit");
    assert!(world.state_text() == grown, "the save is as it was");
    world.save(&text);
    let setup = format!("setup.run=true {}", "x".repeat(120_000));
    let ran = world.descent(&["run", "--set", &setup]).expect(65);
    ran.says("E-STATE-TOO-LARGE");
    assert!(world.state()["run"]["head"].is_null(), "nothing began");
}

#[test]
fn a_value_of_many_numbers_takes_no_more_of_the_file_than_a_text_of_its_size() {
    let world = World::new();
    let action = "{ printf '{\"summary\":\"made\",\"value\":{\"k\":[1'; yes ,1 | head -n 30999 | tr -d '\\n'; \
                  printf ']}}'; } > $DESCENT_RESULT; touch done";
    let atoms = json!({"A1": task(action)});
    world.align(&plan(&["test -f done"], json!({}), atoms));
    world.run().expect(0);
    let numbers = world.state()["bindings"]["A1"]["value"]["k"].clone();
    assert_eq!(numbers.as_array().unwrap().len(), 31_000);
    assert!(world.state_bytes().len() < 80_000);
    // Whoever edits beside it keeps it as it is.
    world.replace_in_state("\"serial\"", "\"notes\": \"seen\",\n  \"serial\"");
    world.run().expect(0);
    assert_eq!(world.state()["bindings"]["A1"]["value"]["k"], numbers);
}
