//! Tools and targets that the control law blocks, and a person allows planners again.

use serde_json::json;

use super::law::{of, refused, run, slow, takes, world};
use crate::world::{World, task, wait_for};

/// A run that is held at its second plan: `tail` is blocked with the files nine and ten.
fn held() -> World {
    let first = of(json!({"w": slow("tail -f nine ten")}));
    let again = of(json!({"w": task("cp none n"), "x": task("tail ten")}));
    let plans = [first, takes("four"), again, takes("none")];
    let world = world(&plans, json!({"max_attempts": 2}));
    world.touch("hold.2");
    world
}

/// The tools with targets that are blocked, as `status` shows them.
fn blocked(world: &World) -> Vec<String> {
    let status = world.descent(&["status", "--json"]).expect(0).json();
    let blocked = status["law"]["blocked"].as_array().cloned();
    let text = |one: serde_json::Value| {
        format!("{} {}", one["tool"].as_str().unwrap(), one["target"].as_str().unwrap())
    };
    blocked.unwrap_or_default().into_iter().map(text).collect()
}

#[test]
fn a_tool_is_taken_out_while_nothing_runs_and_an_undo_brings_it_back() {
    let world = held();
    let run_of_it = world.start(&["run"]);
    wait_for("the second plan", || world.out("prompt.2").exists());
    run_of_it.kill();
    assert_eq!(blocked(&world), ["tail nine", "tail ten"]);

    let unknown = world.descent(&["redirect", "--unblock", "tail five", "-y"]).expect(2);
    unknown.says("`tail five` is not blocked").says("blocked: tail nine; tail ten");
    let either = world.descent(&["redirect", "--unblock", "tail", "-y"]).expect(2);
    either.says("`tail` may be any of 2 that are blocked");
    world.descent(&["redirect", "--unblock", " ", "-y"]).expect(2);
    assert_eq!(world.state()["corrections"], json!([]));

    let shown = world.descent(&["redirect", "--unblock", "tail ten", "-n"]).expect(0);
    shown.shows("not blocked any more: tail ten");
    assert_eq!(blocked(&world).len(), 2);
    let done =
        world.descent(&["redirect", "the files are small now", "--unblock", "tail ten", "-y"]);
    done.expect(0).shows("not blocked any more: tail ten");
    assert_eq!(blocked(&world), ["tail nine"]);
    let correction = &world.state()["corrections"][0];
    assert_eq!(correction["type"], "unblock");
    assert_eq!(correction["unblocked"][0]["target"], "ten");
    assert_eq!(correction["reason"], "the files are small now");
    // The only one of its tool needs no target.
    world.descent(&["redirect", "--unblock", "tail", "-y"]).expect(0);
    assert_eq!(blocked(&world), Vec::<String>::new());

    world.descent(&["undo", "-y"]).expect(0).shows("blocked again: tail nine");
    assert_eq!(blocked(&world), ["tail nine"]);
    world.descent(&["undo", "-y"]).expect(0);
    assert_eq!(blocked(&world), Vec::<String>::new());
}

#[test]
fn what_is_taken_out_while_the_loop_runs_is_accepted_from_then_on() {
    let world = held();
    let mut run_of_it = world.start(&["run"]);
    wait_for("the second plan", || world.out("prompt.2").exists());
    world.descent(&["redirect", "--unblock", "tail ten", "-y"]).expect(0);
    run_of_it.wait();
    assert_eq!(refused(&world), Vec::<String>::new());
    assert_eq!(world.left("calls").lines().count(), 3);
    let log = world.descent(&["log"]).expect(0);
    log.shows("not blocked any more: tail ten");
}

#[test]
fn without_it_the_same_plan_is_refused() {
    let world = held();
    let run_of_it = world.start(&["run"]);
    wait_for("the second plan", || world.out("prompt.2").exists());
    run_of_it.kill();
    run(&world, 0);
    let refused = refused(&world);
    assert!(refused[0].contains("blocked: tail ten failed in "), "{refused:?}");
}
