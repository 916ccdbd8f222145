//! Assertions that only a person can decide: `descent confirm`, from the ending that asks for it to the one that it
//! brings.

use serde_json::{Value, json};

use crate::world::{World, plan, task, with};

const LOOKS: &str = "the page looks right";

fn page(atoms: Value) -> Value {
    let mut plan = plan(&["test -f done"], json!({}), atoms);
    let base_case = plan["objective"]["base_case"]["all"].as_array_mut().unwrap();
    base_case.push(json!({"assertion": LOOKS}));
    plan
}

fn waiting() -> World {
    let world = World::new();
    world.align(&page(json!({"A1": task("touch done")})));
    world.run().expect(6);
    world
}

#[test]
fn the_ending_and_the_status_say_the_command_to_type() {
    let world = World::new();
    world.align(&page(json!({"A1": task("touch done")})));
    let typed = format!("descent confirm \"{LOOKS}\"");
    let result = world.run().expect(6).result();
    assert_eq!(result["reason"], "confirmation");
    assert_eq!(result["next_moves"], json!([typed, "descent run"]));
    assert_eq!(world.status()["next"], json!(typed));
    world.descent(&["verify"]).expect(1).shows(&typed);
}

#[test]
fn a_confirmation_is_one_correction_and_completes_the_run_without_an_attempt() {
    let world = waiting();
    world.descent(&["confirm", LOOKS]).expect(0).shows("pass").shows("next: descent run");
    let state = world.state();
    let word = &state["corrections"][0];
    assert_eq!(
        (&word["type"], &word["name"], &word["by"]),
        (&json!("confirmation"), &json!(LOOKS), &json!("ada"))
    );
    assert!(word["on"].is_string(), "{word}");
    world.descent(&["verify", "--result"]).expect(0);
    let ran = world.run().expect(0);
    assert_eq!((ran.count("attempt_started"), ran.count("corrected")), (0, 0));
    assert_eq!(world.state()["corrections"].as_array().unwrap().len(), 1);
}

#[test]
fn the_same_word_again_writes_nothing() {
    let world = waiting();
    world.descent(&["confirm", LOOKS]).expect(0);
    let before = world.state_bytes();
    let said = world.descent(&["confirm", LOOKS, "--json"]).expect(0).says("confirmed by ada");
    assert_eq!(said.json()["result"], "unchanged");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_name_of_several_lines_is_called_as_it_is_shown_on_one() {
    let mut plan = page(json!({"A1": task("touch done")}));
    plan["objective"]["base_case"]["all"][1]["name"] = json!("looks\nright");
    let world = World::new();
    world.align(&plan);
    world.run().expect(6);
    world.descent(&["confirm", "looks right"]).expect(0);
    assert_eq!(world.state()["corrections"][0]["name"], "looks\nright");
    world.run().expect(0);
}

#[test]
fn a_word_on_one_tree_says_nothing_of_another() {
    let world = waiting();
    world.descent(&["confirm", LOOKS]).expect(0);
    world.replace_in_state("\"touch done\"", "\"touch done more\"");
    let result = world.run().expect(6).result();
    assert_eq!(result["reason"], "confirmation", "{result}");
    world.descent(&["confirm"]).expect(0).shows("unknown").shows("of another tree");
}

#[test]
fn an_unknown_name_is_a_mistake_of_usage_with_the_one_that_was_meant() {
    let world = waiting();
    let before = world.state_bytes();
    world
        .descent(&["confirm", "looks"])
        .expect(2)
        .says("E-USAGE")
        .says(&format!("descent confirm \"{LOOKS}\""));
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn without_an_argument_the_assertions_are_listed() {
    let world = waiting();
    world.descent(&["confirm"]).expect(0).shows(LOOKS).shows("nobody");
    let listed = world.descent(&["confirm", "--json"]).expect(0).json();
    assert_eq!(listed["assertions"][0]["holds"], Value::Null);
    world.descent(&["confirm", LOOKS]).expect(0);
    let listed = world.descent(&["confirm", "--json"]).expect(0).json();
    assert_eq!(
        (&listed["schema"], &listed["assertions"][0]["by"]),
        (&json!("descent/confirm/1"), &json!("ada"))
    );
}

#[test]
fn what_a_person_denies_does_not_hold_until_the_person_says_otherwise() {
    let world = waiting();
    world
        .descent(&["confirm", LOOKS, "--no", "--reason", "the header overlaps"])
        .expect(0)
        .shows("fail");
    let result = world.run().expect(5).result();
    assert_eq!(result["reason"], "no_choice", "{result}");
    assert!(result["evidence"].to_string().contains("denied by ada"), "{result}");
    world.descent(&["confirm", LOOKS]).expect(0);
    world.run().expect(0);
}

#[test]
fn what_nobody_was_asked_yet_is_not_said_to_speak_against_a_choice() {
    let world = World::new();
    world.align(&page(json!({"A1": task("true")})));
    world.run().expect(5);
    let log = world.descent(&["log"]).expect(0).shows("a check failed: test -f done");
    assert!(!log.stdout.contains("confirmed:"), "{}", log.stdout);
}

#[test]
fn a_running_loop_takes_the_word_and_completes_without_a_restart() {
    let world = World::new();
    let (ready, go) = (world.out("ready"), world.out("go"));
    let slow =
        format!("touch {}; while ! test -f {}; do sleep 0.02; done", ready.display(), go.display());
    let atoms = json!({
        "A1": task("touch done"),
        "A2": with(task(&slow), json!({"depends_on": ["A1"]})),
    });
    let mut plan = page(atoms);
    plan["objective"]["constraints"]["finish_early"] = json!(true);
    world.align(&plan);
    let mut running = world.start(&["run", "--json"]);
    world.wait_for_file("ready");
    world.descent(&["confirm", LOOKS]).expect(0).shows("next: descent status");
    let ran = running.wait().expect(0);
    assert_eq!((ran.count("corrected"), &ran.result()["reason"]), (1, &json!("base_case")));
}

#[test]
fn an_assertion_of_an_atom_is_confirmed_for_good() {
    let world = World::new();
    let mut plan = plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}));
    plan["work_graph"]["atoms"]["A1"]["checks"] =
        json!({"all": [{"name": "approved", "assertion": "the team approved it"}]});
    world.align(&plan);
    let result = world.run().expect(6).result();
    assert_eq!(result["next_moves"][0], "descent confirm \"approved\"", "{result}");
    world.descent(&["confirm", "the team approved it"]).expect(0).shows("of A1");
    assert_eq!(world.state()["corrections"][0]["on"], Value::Null);
    world.run().expect(0);
}

#[test]
fn an_edit_that_nobody_took_in_is_not_lost_to_a_confirmation() {
    let world = waiting();
    world.replace_in_state("\"somebody waits for it\"", "\"nobody does\"");
    world.descent(&["confirm", LOOKS]).expect(0);
    let state = world.state();
    assert_eq!(state["objective"]["background_intent"], "nobody does");
    let kinds: Vec<&Value> =
        state["corrections"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, [&json!("objective_change"), &json!("confirmation")]);
}

#[test]
fn before_the_first_run_the_word_is_for_what_it_would_start_from() {
    let world = World::new();
    world.align(&page(json!({"A1": task("touch done")})));
    world.descent(&["confirm", LOOKS]).expect(0);
    world.run().expect(6);
}

/// Its verdict is known before anything is measured, so that no measurement is waited for.
#[test]
fn work_that_follows_a_no_is_done() {
    let world = World::new();
    let base_case = json!({"all": [{"command": "test -e one"}, {"assertion": LOOKS}]});
    let mut agreed = plan(&[], json!({}), json!({"one": task("touch one")}));
    agreed["objective"]["base_case"] = base_case;
    world.align(&agreed);
    world.run().expect(6);
    world.descent(&["confirm", LOOKS, "--no"]).expect(0);
    let more = world.plan(&json!({"work_graph": {"atoms": {"two": task("touch two")}}}));
    world.descent(&["redirect", "nicer", "--add", &more, "-y"]).expect(0);
    let ran = world.run().expect(6);
    assert_eq!(ran.count("solved"), 1, "{}", ran.stdout);
    world.descent(&["confirm", LOOKS]).expect(0);
    world.run().expect(0);
}
