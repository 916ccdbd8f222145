//! The parts of an agreement that are needed before anything starts; without an agreement nothing is made.

use serde_json::{Value, json};

use crate::world::{World, assert_same, listing, plan, task};

#[test]
fn run_in_an_empty_directory_names_the_command_to_type_and_makes_no_file() {
    for world in [World::bare(), World::new()] {
        let before = listing(&world.root());
        let ran = world.descent(&["run"]).expect(4).says("E-NO-STATE").says("next: descent align");
        assert_eq!(ran.stdout, "");
        assert_same(&world.root(), &before);
    }
}

#[test]
fn in_json_the_refusal_is_one_value_with_its_schema_and_exit_code() {
    let world = World::bare();
    let error = world.descent(&["run", "--json"]).expect(4).json();
    assert_eq!(error["schema"], "descent/error/1");
    assert_eq!(
        (&error["error"]["code"], &error["error"]["exit"]),
        (&json!("E-NO-STATE"), &json!(4))
    );
}

#[test]
fn alone_it_says_how_to_start_in_nine_lines() {
    let world = World::bare();
    let ran = world.descent(&[]).expect(0).shows("descent align");
    assert!(ran.stdout.lines().count() <= 9, "{}", ran.stdout);
}

fn good() -> Value {
    plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}))
}

/// The plan without a part is refused by name, and leaves nothing behind.
#[track_caller]
fn check_missing(cut: impl Fn(&mut Value), pointer: &str) {
    let world = World::new();
    let mut broken = good();
    cut(&mut broken);
    let path = world.plan(&broken);
    let (before, refs) = (listing(&world.root()), world.git(&["for-each-ref"]));
    world
        .descent(&["align", "-y", "-f", &path])
        .expect(4)
        .says("E-NOT-ALIGNED")
        .says(pointer)
        .says("next: ");
    assert_same(&world.root(), &before);
    assert_eq!(world.git(&["for-each-ref"]), refs);
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_missing_goal_is_named() {
    check_missing(|plan| plan["objective"]["goal"] = json!(""), "/objective/goal");
}

#[test]
fn a_missing_why_is_named() {
    check_missing(
        |plan| drop(plan["objective"].as_object_mut().unwrap().remove("background_intent")),
        "/objective/background_intent",
    );
}

#[test]
fn missing_checks_are_named() {
    check_missing(
        |plan| drop(plan["objective"].as_object_mut().unwrap().remove("base_case")),
        "/objective/base_case",
    );
}

#[test]
fn a_missing_graph_is_named() {
    check_missing(|plan| drop(plan.as_object_mut().unwrap().remove("work_graph")), "/work_graph");
}

#[test]
fn a_base_case_that_no_machine_decides_is_refused() {
    let by_a_person = json!({"all": [{"assertion": "it looks right"}]});
    check_missing(
        move |plan| plan["objective"]["base_case"] = by_a_person.clone(),
        "/objective/base_case",
    );
}

#[test]
fn all_that_is_missing_is_named_at_once() {
    let world = World::new();
    let ran = world.descent(&["align", "-y", "do it"]).expect(4);
    for part in ["/objective/background_intent", "/objective/base_case", "/work_graph"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!world.repo().join(".descent").exists());
}

#[test]
fn run_refuses_a_state_that_lost_a_part_and_names_it() {
    let world = World::new();
    world.align(&good());
    world.replace_in_state("\"somebody waits for it\"", "\"\"");
    let before = world.state_bytes();
    world.descent(&["run"]).expect(4).says("/objective/background_intent");
    assert_eq!(world.state_bytes(), before);
}

#[test]
fn a_base_case_that_already_holds_completes_without_starting_an_agent_and_says_so_first() {
    let world = World::new();
    let marker = world.out("ran");
    let step = format!("touch {}", marker.display());
    let plan = plan(&["test -f a.txt"], json!({}), json!({"A1": task(&step)}));
    world.try_align(&plan).expect(0).shows("it holds already");
    let ran = world.run().expect(0);
    let result = ran.result();
    assert_eq!(result["reason"], "already_held");
    assert_eq!(result["next_moves"], json!(["descent verify"]));
    assert_eq!(ran.count("attempt_started"), 0);
    assert!(!marker.exists());
}

#[test]
fn align_asks_for_nothing_and_writes_nothing_on_a_dry_run() {
    let world = World::new();
    let path = world.plan(&good());
    let before = listing(&world.repo());
    world.descent(&["align", "-n", "-f", &path]).expect(0).shows("at most 1 attempt,");
    assert_same(&world.repo(), &before);
    let cached = listing(&world.cache());
    assert!(cached.len() <= 1, "{:?}", cached.keys());
}

#[test]
fn the_same_plan_again_is_unchanged_and_another_one_needs_a_yes_or_force() {
    let world = World::new();
    world.align(&good());
    let before = world.state_bytes();
    world.try_align(&good()).expect(0).says("unchanged");
    let mut other = good();
    other["objective"]["goal"] = json!("something else");
    world.descent(&["align", "-f", &world.plan(&other)]).expect(2).says("descent align -y");
    world
        .descent(&["align", "another", "--why", "w", "--check", "true", "--step", "s"])
        .expect(2)
        .says("--force");
    assert_eq!(world.state_bytes(), before);
    world.descent(&["align", "-y", "--force", "-f", &world.plan(&other)]).expect(0);
    assert_eq!(world.state()["objective"]["goal"], "something else");
}

#[test]
fn flags_alone_make_an_agreement_and_its_steps_run_in_order() {
    let world = World::new();
    let args = ["align", "-y", "have a log", "--why", "to test", "--check", "grep -q two log"];
    let steps =
        ["--step", "one=echo one >> log", "--step", "two=grep -q one log && echo two >> log"];
    world.descent(&[&args[..], &steps[..]].concat()).expect(0);
    world.run().expect(0);
    assert_eq!(world.result_file("log"), "one\ntwo\n");
}

/// The journal of the replaced state has higher serials, and its entries are no base for an edit of the new one.
#[test]
fn after_force_the_next_hand_edit_is_still_told_by_what_changed() {
    let world = World::new();
    world.align(&plan(&["false"], json!({}), json!({"A": task("false")})));
    for _ in 0..9 {
        // Each run ends with a commit that is remembered.
        world.run().expect(5);
    }
    let next = plan(&["false"], json!({}), json!({"A": task("true")}));
    let force = ["align", "-y", "--force", "-f", &world.plan(&next)];
    world.descent(&force).expect(0);
    world.run().expect(5);
    world.replace_in_state("it is so", "it is another thing");
    let ran = world.run().expect(5);
    assert!(ran.count("corrected") == 1 && !ran.stdout.contains("is not kept"), "{}", ran.stdout);
}
