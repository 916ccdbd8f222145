//! The command that is named next: it leads on, and what was done is not named again.

use serde_json::{Value, json};

use crate::world::{World, plan, task, wait_for};

/// A completed run, with this file in its result.
fn completed() -> World {
    let world = World::new();
    let atoms = json!({"A": task("echo one > f")});
    world.align(&plan(&["grep -q one f"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world
}

#[track_caller]
fn assert_at_the_next_goal(world: &World) {
    assert_eq!(world.status()["next"], "descent align");
    world.descent(&["why", "A"]).expect(0).shows("\nnext: descent align\n");
    world.descent(&["verify", "--result"]).expect(0).shows("\nnext: descent align\n");
}

#[test]
fn after_apply_the_next_goal_is_named_whatever_becomes_of_the_files() {
    let world = completed();
    world.descent(&["apply", "-n"]).expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world.descent(&["apply"]).expect(0);
    assert_at_the_next_goal(&world);
    world.descent(&["run"]).expect(0).shows("\nnext: descent align\n");
    world.write("f", "one and two\n");
    world.commit_all("more");
    assert_at_the_next_goal(&world);
}

#[test]
fn a_branch_of_the_result_is_as_good_as_its_files_and_a_patch_is_not() {
    let world = completed();
    world.descent(&["apply", "--patch", "../f.patch"]).expect(0);
    assert_eq!(world.status()["next"], "descent apply");
    world.descent(&["apply", "--branch", "done"]).expect(0);
    assert_at_the_next_goal(&world);
}

#[test]
fn a_newer_result_is_to_be_applied_again() {
    let world = completed();
    world.descent(&["apply"]).expect(0);
    world.replace_in_state("echo one", "echo one more");
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent apply");
}

#[test]
fn a_goal_that_held_already_leads_over_verify_to_the_next_goal() {
    let world = World::new();
    let atoms = json!({"A": task("echo one > f")});
    world.align(&plan(&["true"], json!({}), atoms));
    world.run().expect(0);
    assert_eq!(world.status()["next"], "descent verify");
    world.descent(&["verify"]).expect(0).shows("\nnext: descent align\n");
}

#[test]
fn the_explanation_of_a_cause_leads_to_a_change_and_not_back_to_status() {
    let world = World::new();
    let atoms = json!({"A": task("exit 3")});
    world.align(&plan(&["test -e f"], json!({"max_attempts": 1}), atoms));
    world.run().expect(5);
    assert_eq!(world.status()["next"], "descent why A");
    world.descent(&["why", "A"]).expect(0).shows("\nnext: descent run --set max_attempts=2\n");
}

/// A run that ended so, of two tasks and a choice.
fn ended(status: &str) -> World {
    let (check, left, code) = match status {
        "completed" => ("test -e a", "touch left", 0),
        "exhausted" => ("test -e nowhere", "touch left", 5),
        _ => ("test -e a", "sleep 600", 3),
    };
    let world = World::new();
    let way = json!({"kind": "any", "choices": ["left", "right"]});
    world.align(&plan(
        &[check],
        json!({"max_parallel_agents": 1}),
        json!({"a": task("touch a"), "b": task("touch b"), "way": way, "left": task(left), "right": task("touch right")}),
    ));
    if status == "stopped" {
        let mut run = world.start(&["run", "--json"]);
        wait_for("the attempt", || run_has(&world, "left"));
        world.descent(&["stop"]).expect(0);
        run.wait().expect(code);
    } else {
        world.run().expect(code);
    }
    assert_eq!(world.status()["status"], status);
    world
}

fn run_has(world: &World, atom: &str) -> bool {
    let in_flight = world.status()["in_flight"].clone();
    in_flight.as_array().is_some_and(|all| all.iter().any(|one| one["atom"] == atom))
}

fn edit(world: &World, change: fn(&mut Value)) {
    let mut state = world.state();
    change(&mut state);
    world.save_records(&state);
}

fn atom<'s>(state: &'s mut Value, id: &str) -> &'s mut Value {
    if state["bindings"].get(id).is_some() {
        &mut state["bindings"][id]["of"]
    } else {
        &mut state["work_graph"]["atoms"][id]
    }
}

#[test]
fn after_an_edit_without_a_loop_status_says_what_the_next_run_makes_of_it() {
    type Row = (&'static str, fn(&mut Value), &'static str, &'static [&'static str]);
    let rows: [Row; 6] = [
        (
            "the goal",
            |s| s["objective"]["goal"] = json!("another"),
            "goal: it is so → another",
            &[],
        ),
        (
            "a check",
            |s| {
                let all = s["objective"]["base_case"]["all"].as_array_mut().unwrap();
                all.push(json!({"command": "test -e more"}));
            },
            "checks added: test -e more",
            &[],
        ),
        (
            "an atom more",
            |s| s["work_graph"]["atoms"]["new"] = task("touch new"),
            "added new",
            &["new"],
        ),
        ("a result less", |s| crate::whole_records::open(s, "b"), "b", &["b"]),
        (
            "another task",
            |s| atom(s, "a")["action"]["run"] = json!("touch a c"),
            "changed a",
            &["a"],
        ),
        (
            "a constraint",
            |s| s["objective"]["constraints"]["max_attempts"] = json!(4),
            "max_attempts: default → 4",
            &[],
        ),
    ];
    for status in ["completed", "exhausted", "stopped"] {
        let world = ended(status);
        let before = world.state_text();
        for (what, change, words, opens) in rows {
            world.save(&before);
            edit(&world, change);
            let edited = world.state_text();
            let look = world.descent(&["status"]).expect(0);
            let look = look.shows("edited by hand, and the next run takes it in: ").shows(words);
            look.shows("\nnext: descent run\n");
            let open = world.status()["unresolved"].clone();
            for id in opens {
                assert!(open.as_array().unwrap().contains(&json!(id)), "{status}, {what}: {open}");
            }
            assert_eq!(world.state_text(), edited, "{status}, {what}");
        }
        world.save(&before);
        edit(&world, |s| s["notes"] = json!("mine"));
        let is_run = world.status()["next"] == "descent run";
        assert_eq!(is_run, status == "stopped", "{status}");
    }
}

#[test]
fn another_choice_by_hand_leads_to_a_run_from_each_ending() {
    for status in ["completed", "exhausted", "stopped"] {
        let world = ended(status);
        let known = atom(&mut world.state(), "way")["selected"].clone();
        edit(&world, |s| {
            let way = atom(s, "way");
            way["selected"] = json!(if way["selected"] == "left" { "right" } else { "left" });
        });
        let look = world.descent(&["status"]).expect(0);
        let known = known.as_str().expect("a choice");
        look.shows(&format!("changed way: {known} → ")).shows("\nnext: descent run\n");
    }
}
