//! Private repositories that a kill, a crash or a hand cuts off from their run: the next run goes on, makes it again, or
//! says what is lost.

use std::fs;

use serde_json::json;

use crate::{
    results::shadow::{head, picture, plain, work},
    world::{World, after, long_nap, plan, processes, task, wait_for},
};

/// Two atoms; the second is still to be made, for its go is not given yet.
fn half_made(wait: &str) -> World {
    let world = plain();
    let ended = world.out("ended").display().to_string();
    let go = world.out("go").display().to_string();
    let atoms = json!({
        "A1": task(&format!("echo one > one; echo A1 >> {ended}")),
        "A2": after(&["A1"], &format!("[ -e {go} ] || {{ {wait} }}; echo two > two; echo A2 >> {ended}")),
    });
    world.align(&plan(&["test -f one && test -f two"], json!({}), atoms));
    world
}

#[test]
fn a_killed_run_goes_on_and_makes_nothing_twice() {
    let nap = long_nap();
    let world = half_made(&format!("sleep {nap};"));
    let before = picture(&world);
    let running = world.start(&["run"]);
    wait_for("the second atom", || !processes(&nap).is_empty());
    running.kill();
    world.touch("go");
    world.run().expect(0);
    assert_eq!(processes(&nap), Vec::<String>::new());
    assert_eq!(world.left("ended"), "A1\nA2\n");
    assert_eq!(picture(&world), before);
    world.descent(&["apply"]).expect(0);
    assert_eq!((world.read("one"), world.read("two")), ("one\n".into(), "two\n".into()));
    world.ours(&["fsck", "--no-dangling", "--no-progress"]);
}

#[test]
fn a_repository_that_was_deleted_is_made_again_from_the_files_and_what_was_solved_by_a_repair() {
    let world = half_made("exit 1;");
    world.run().expect(5);
    let started = world.state()["run"]["started_from"]["commit"].clone();
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/repository")).unwrap();
    world.touch("go");
    world.replace_in_state("\"status\": \"failed\"", "\"status\": \"pending\"");
    world
        .descent(&["run"])
        .expect(0)
        .says("the repository of this run was lost")
        .says("made again");
    assert_eq!(world.left("ended"), "A1\nA1\nA2\n");
    assert_eq!(world.state()["run"]["started_from"]["commit"], started);
    assert_eq!(world.result_file("two"), "two\n");
    world.ours(&["fsck", "--no-dangling", "--no-progress"]);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("one"), "one\n");
}

#[test]
fn a_repository_that_was_deleted_is_told_where_the_files_are_others_until_they_are_back() {
    let world = plain();
    world.align(&work());
    world.run().expect(0);
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/repository")).unwrap();
    world.write("a.txt", "mine\n");
    for command in ["run", "apply"] {
        world.descent(&[command]).expect(69).says("E-COMMIT-MISSING").says("align --force");
    }
    assert_eq!(world.read("a.txt"), "mine\n");
    world.write("a.txt", "hello\n");
    world.descent(&["run", "--apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn a_lost_object_of_the_start_is_taken_from_the_files_again() {
    let world = half_made("exit 1;");
    world.run().expect(5);
    let start = world.state()["run"]["started_from"]["commit"].clone();
    let id = world.ours(&["rev-parse", &format!("{}:a.txt", start.as_str().unwrap())]);
    let objects = world.ours(&["rev-parse", "--git-path", "objects"]);
    let (dir, name) = id.trim().split_at(2);
    fs::remove_file(world.repo().join(objects.trim()).join(dir).join(name)).unwrap();
    world.touch("go");
    world.replace_in_state("\"status\": \"failed\"", "\"status\": \"pending\"");
    world.run().expect(0);
    assert_eq!(world.left("ended"), "A1\nA2\n", "what was made is still there");
    assert_eq!(world.result_file("a.txt"), "hello\n");
}

#[test]
fn a_folder_that_was_moved_keeps_its_results() {
    let world = half_made("exit 1;");
    world.run().expect(5);
    let (away, back) = (world.root().join("away"), world.repo());
    fs::rename(&back, &away).unwrap();
    world.touch("go");
    let run = |args: &[&str]| world.descent_in(&away, args);
    let state = fs::read_to_string(away.join(".descent/state.json")).unwrap();
    let open = state.replace("\"status\": \"failed\"", "\"status\": \"pending\"");
    fs::write(away.join(".descent/state.json"), open).unwrap();
    run(&["run", "--apply"]).expect(0);
    assert_eq!(world.left("ended"), "A1\nA2\n");
    assert_eq!(fs::read_to_string(away.join("one")).unwrap(), "one\n");
    fs::rename(&away, &back).unwrap();
    world.status();
}

#[test]
fn a_fork_has_all_of_its_own() {
    let world = plain();
    world.align(&work());
    world.run().expect(0);
    let parent = world.state()["lineage"].as_str().unwrap().to_owned();
    world.descent(&["undo", "--into"]).expect(0);
    fs::remove_dir_all(world.cache().join("descent").join(parent)).unwrap();
    let head = head(&world);
    let fork = ["--state", ".descent/fork-1.json"];
    let of_fork = |args: &[&str]| world.descent(&[&fork, args].concat());
    of_fork(&["verify", "--result"]).expect(0).shows(&head[..12]);
    of_fork(&["run"]).expect(0);
    of_fork(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}
