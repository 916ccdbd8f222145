//! A plan that was edited while its run stands here: the difference is taken in as a redirect.

use serde_json::{Value, json};

use crate::world::{
    Ran, World, after, assert_same, listing, long_nap, plan, processes, task, wait_for,
};

/// `a` is quick, `b` waits for it and naps, `c` stands alone.
fn napping(world: &World, nap: &str) -> Value {
    let at = world.out("at").display().to_string();
    let atoms = json!({
        "a": task("touch a"),
        "b": after(&["a"], &format!("echo b >> {at}; sleep {nap}")),
        "c": task("touch c"),
    });
    plan(&["test -f done"], json!({}), atoms)
}

fn align(world: &World, plan: &Value, flags: &[&str]) -> Ran {
    let path = world.plan(plan);
    world.descent(&[&["align", "-f", &path], flags].concat())
}

#[test]
fn an_edited_plan_changes_a_run_at_work_by_its_difference_alone() {
    let (world, nap) = (World::new(), long_nap());
    let mut file = napping(&world, &nap);
    world.align(&file);
    let mut run = world.start(&["run", "--json"]);
    wait_for("the nap", || world.left("at").lines().count() == 1);
    let mine = world.root().join("mine.json");
    std::fs::write(
        &mine,
        json!({"work_graph": {"atoms": {"mine": task("touch mine")}}}).to_string(),
    )
    .expect("new atoms");
    let add = mine.display().to_string();
    world.descent(&["redirect", "-y", "--add", &add]).expect(0);

    let atoms = file["work_graph"]["atoms"].as_object_mut().expect("a map");
    atoms["b"]["action"]["run"] = json!("touch done");
    atoms.remove("c");
    atoms.insert("d".to_owned(), task("touch d"));
    align(&world, &file, &["-n"]).expect(0).shows("c removed").shows("ends after at most");
    align(&world, &file, &[]).expect(2).says("descent align -y");
    assert_eq!(world.state()["corrections"].as_array().map(Vec::len), Some(1));
    let done = align(&world, &file, &["-y", "--json"]).expect(0).json();
    assert_eq!(done["result"], "changed");
    assert_eq!(done["ended"].as_array().map(Vec::len), Some(1), "{done}");
    run.wait().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
    let state = world.state();
    let mut solved: Vec<&String> = state["bindings"].as_object().expect("a map").keys().collect();
    solved.sort();
    assert_eq!(solved, ["a", "b", "d", "mine"], "what somebody added stays");
    let again = align(&world, &file, &["--json"]).expect(0).json();
    assert_eq!(again["unchanged"], true);
    world.descent(&["validate"]).expect(0);
}

#[test]
fn faults_of_an_edited_plan_are_told_with_their_places_and_nothing_is_written() {
    let (world, nap) = (World::new(), long_nap());
    let mut file = napping(&world, &nap);
    world.align(&file);
    let mine = world.root().join("mine.json");
    let waits = json!({"work_graph": {"atoms": {"mine": after(&["c"], "touch mine")}}});
    std::fs::write(&mine, waits.to_string()).expect("new atoms");
    let add = mine.display().to_string();
    world.descent(&["redirect", "-y", "--add", &add]).expect(0);
    let before = listing(&world.repo());
    file["work_graph"]["atoms"].as_object_mut().expect("a map").remove("c");
    let counted = json!({"command": "wc -l", "number": "(\\d+)", "at_least": "baseline"});
    file["objective"]["base_case"]["all"] = json!([counted]);
    align(&world, &file, &["-y"])
        .expect(65)
        .says("E-INVALID")
        .says("/work_graph/atoms/c: mine waits for c")
        .says("/objective/base_case/all/0: the baseline");
    file["work_graph"]["atoms"]["d"] = after(&["nowhere"], "true");
    align(&world, &file, &["-y"]).expect(65).says("E-INVALID");
    assert_same(&world.repo(), &before);
}

#[test]
fn a_completed_run_goes_on_with_its_plan_and_gives_way_to_another_goal() {
    let world = World::new();
    let mut file = plan(&["test -f done"], json!({}), json!({"a": task("touch done")}));
    world.align(&file);
    world.run().expect(0);
    let lineage = world.state()["lineage"].clone();
    file["work_graph"]["atoms"]["b"] = after(&["a"], "test -f done && touch more");
    align(&world, &file, &["-y"]).expect(0).shows("b added");
    world.run().expect(0);
    assert_eq!(world.state()["lineage"], lineage);
    assert_eq!(world.state()["run"]["spent"]["attempts"], 2, "a is not made again");
    file["objective"]["goal"] = json!("it is something else");
    align(&world, &file, &["-y"]).expect(0).says("what stood here is kept");
    assert_ne!(world.state()["lineage"], lineage);
}

#[test]
fn a_state_that_keeps_no_plan_loses_nothing_to_one() {
    let world = World::new();
    let mut file =
        plan(&["test -f done"], json!({}), json!({"a": task("true"), "c": task("true")}));
    world.align(&file);
    // As an older version wrote it: without the plan, and by the seal nobody's edit.
    let mut state = world.state();
    state.as_object_mut().expect("a map").remove("plan");
    world.run_away_with_sidecars();
    world.save_records(&state);
    let atoms = file["work_graph"]["atoms"].as_object_mut().expect("a map");
    atoms.remove("c");
    atoms.insert("d".to_owned(), task("touch done"));
    let said = align(&world, &file, &["-y"]).expect(0);
    said.says("no earlier plan is kept here").shows("d added");
    assert!(world.state()["work_graph"]["atoms"]["c"].is_object());
    let atoms = file["work_graph"]["atoms"].as_object_mut().expect("a map");
    atoms.remove("a");
    align(&world, &file, &["-y"]).expect(0).shows("a removed");
}

#[test]
fn a_result_whose_task_was_changed_is_set_aside_for_that_reason() {
    let world = World::new();
    let file = |run: &str| plan(&["test -e b"], json!({}), json!({"A": task(run)}));
    world.align(&file("touch a"));
    world.run().expect(5);
    align(&world, &file("touch b"), &["-y"]).expect(0);
    let run = world.descent(&["run"]).expect(0);
    run.shows("set aside A: it or its inputs changed; kept for when that is undone");
}
