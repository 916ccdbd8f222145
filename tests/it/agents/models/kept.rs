//! Answers outlive the loop: what was answered is not asked again.

use serde_json::{Value, json};

use super::{Model, align, configure, fragment, nothing_holds_the_key, run, start};
use crate::{
    support::world::wait_for,
    world::{World, plan},
};

/// The calls that the state counts.
fn calls(world: &World) -> Value {
    world.state()["run"]["spent"]["calls"].clone()
}

#[test]
fn a_loop_that_is_killed_in_mid_question_asks_again() {
    let world = World::new();
    let model = Model::start(&world, &fragment(), &["--fault", "hang", "--fault-times", "1"]);
    configure(&world, &model, "messages", "", "");
    align(&world, json!({"max_attempts": 1}));
    let running = start(&world, &["run"]);
    wait_for("the question", || model.questions().len() == 1);
    running.kill();
    let ran = run(&world).expect(0);
    assert_eq!(model.questions().len(), 2);
    assert_eq!(calls(&world), json!(1));
    nothing_holds_the_key(&world, &ran);
}

#[test]
fn a_loop_that_is_killed_after_an_answer_goes_on_from_it_and_pays_once() {
    let world = World::new();
    // The first answer is no plan, and the question after it hangs.
    let faults = ["--fault", "hang", "--fault-after", "1", "--fault-times", "1"];
    let model = Model::start(&world, &json!("I would begin with the file"), &faults);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({"max_attempts": 1}));
    let running = start(&world, &["run"]);
    wait_for("the second question", || model.questions().len() == 2);
    running.kill();
    run(&world).expect(5);
    // The second is asked again, then the third: the first is answered.
    let asked = model.questions();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[2]["body"], asked[1]["body"]);
    assert_eq!(calls(&world), json!(3));
    assert_eq!(world.state()["run"]["spent"]["attempts"], json!(1));
}

#[test]
fn another_attempt_asks_anew() {
    let world = World::new();
    let model = Model::start(&world, &json!("no plan"), &[]);
    configure(&world, &model, "chat", "/v1", "");
    align(&world, json!({"max_attempts": 2}));
    run(&world).expect(5);
    assert_eq!(model.questions().len(), 6);
    assert_eq!(calls(&world), json!(6));
}

/// Kills the loop when the first answer is kept and the second question hangs.
fn killed_with_an_answer(world: &World) -> Model {
    let faults = ["--fault", "hang", "--fault-after", "1", "--fault-times", "1"];
    let model = Model::start(world, &json!("I would begin with the file"), &faults);
    configure(world, &model, "chat", "/v1", "");
    align(world, json!({"max_attempts": 1}));
    let running = start(world, &["run"]);
    wait_for("the second question", || model.questions().len() == 2);
    running.kill();
    model
}

/// The run asks the whole talk anew, for this goal, and counts nothing of the talk before.
#[track_caller]
fn asks_anew_for(world: &World, model: &Model, goal: &str) {
    run(world).expect(5);
    let asked = model.questions();
    assert_eq!(asked.len(), 5);
    let first = asked[2]["body"]["messages"].to_string();
    assert!(first.contains(goal), "{first}");
    assert!(!first.contains("I would begin"), "{first}");
}

#[test]
fn an_answer_to_another_agreement_is_never_used() {
    let world = World::new();
    let model = killed_with_an_answer(&world);
    let step = json!({"N": {"kind": "plan", "description": "plan how the file done is made"}});
    let mut other = plan(&["test -e done"], json!({"max_attempts": 1}), step);
    other["objective"]["goal"] = json!("another thing entirely");
    let path = world.plan(&other);
    world.descent(&["align", "-y", "--force", "-f", &path]).expect(0);
    asks_anew_for(&world, &model, "another thing entirely");
    assert_eq!(calls(&world), json!(3));
}

#[test]
fn an_answer_to_the_goal_before_an_edit_by_hand_is_never_used() {
    let world = World::new();
    let model = killed_with_an_answer(&world);
    let goal = world.state()["objective"]["goal"].to_string();
    world.replace_in_state(&goal, "\"another thing entirely\"");
    asks_anew_for(&world, &model, "another thing entirely");
}
