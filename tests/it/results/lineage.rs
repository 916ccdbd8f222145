//! The repository of a lineage: what it survives, and what comes of its loss.

use std::fs;

use serde_json::json;

use crate::world::{World, after, plan, task, wait_for};

/// A run that stopped after the first of two.
pub fn half_made(start: &str) -> World {
    let world = World::new();
    world.write("a.txt", start);
    let (ended, go) = (world.out("ended"), world.out("go"));
    let (ended, go) = (ended.display(), go.display());
    let atoms = json!({
        "A1": task(&format!("echo 1 > one; echo A1 >> {ended}")),
        "A2": after(&["A1"], &format!("[ -e {go} ] || exit 1; echo 2 > two; echo A2 >> {ended}")),
    });
    world.align(&plan(&["test -f one && test -f two"], json!({}), atoms));
    world.run().expect(5);
    world.touch("go");
    world
}

pub fn open_again(world: &World) {
    world.replace_in_state("\"status\": \"failed\"", "\"status\": \"pending\"");
}

#[test]
fn without_its_repository_a_run_makes_its_results_again_where_the_files_are_as_they_were() {
    for start in ["hello\n", "not committed\n"] {
        let world = half_made(start);
        let before = world.state()["run"]["started_from"]["commit"].clone();
        fs::remove_dir_all(world.repo().join(".descent/state.json.d/repository")).unwrap();
        open_again(&world);
        world.descent(&["run"]).expect(0).says("made again");
        assert_eq!(world.left("ended"), "A1\nA1\nA2\n");
        assert_eq!(world.state()["run"]["started_from"]["commit"], before);
        assert_eq!(world.result_file("two"), "2\n");
    }
}

#[test]
fn without_its_repository_a_run_from_files_that_are_others_now_says_what_is_lost() {
    let world = half_made("not committed\n");
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/repository")).unwrap();
    world.write("a.txt", "changed since\n");
    open_again(&world);
    let refused = world.descent(&["run"]).expect(69);
    refused.says("E-COMMIT-MISSING").says("next: ");
    assert_eq!(world.left("ended"), "A1\n");
}

#[test]
fn objects_that_the_person_prunes_in_mid_run_are_no_loss() {
    let world = World::new();
    // This file is staged, and is in no commit.
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    let (at, go) = (world.out("at"), world.out("go"));
    let step = format!(
        "touch {}; while ! [ -e {} ]; do sleep 0.02; done; tr a-z A-Z < staged.txt > one",
        at.display(),
        go.display()
    );
    let atoms = json!({"A1": task("echo 1 > first"), "A2": after(&["A1"], &step)});
    world.align(&plan(&["grep -q STAGED one && test -f first"], json!({}), atoms));
    let mut running = world.start(&["run"]);
    wait_for("the attempt", || at.exists());
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    // From the working tree too: nothing that could be recorded once more.
    world.git(&["rm", "-q", "-f", "staged.txt"]);
    world.git(&[&who[..], &["commit", "-q", "--amend", "--allow-empty", "-m", "other"]].concat());
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.touch("go");
    running.wait().expect(0);
    assert_eq!(world.result_file("one"), "STAGED\n");
    let fsck = ["fsck", "--no-dangling", "--no-progress"];
    assert_eq!(world.ours(&fsck), "");
}

#[test]
fn a_project_that_is_moved_takes_its_results_along() {
    let world = half_made("not committed\n");
    let away = world.root().join("away");
    open_again(&world);
    fs::rename(world.repo(), &away).unwrap();
    world.descent_in(&away, &["run"]).expect(0);
    world.descent_in(&away, &["apply"]).expect(0);
    assert_eq!(world.left("ended"), "A1\nA2\n");
    assert_eq!(fs::read_to_string(away.join("two")).unwrap(), "2\n");
}

#[test]
fn without_the_cache_a_run_goes_on_and_makes_nothing_again() {
    let world = half_made("not committed\n");
    fs::remove_dir_all(world.cache()).unwrap();
    open_again(&world);
    world.run().expect(0);
    assert_eq!(world.left("ended"), "A1\nA2\n");
    assert_eq!(world.result_file("one"), "1\n");
}

#[test]
fn a_branch_and_a_forward_apply_give_the_person_all_that_they_name() {
    for start in ["hello\n", "not committed\n"] {
        let world = half_made(start);
        open_again(&world);
        world.run().expect(0);
        world.descent(&["apply", "--branch", "side"]).expect(0);
        world.descent(&["apply"]).expect(0);
        fs::remove_dir_all(world.repo().join(".descent")).unwrap();
        world.git(&["fsck", "--no-dangling", "--no-progress"]);
        assert_eq!(world.git(&["show", "side:two"]), "2\n");
        world.git(&["gc", "-q", "--prune=now"]);
        world.git(&["fsck", "--no-dangling", "--no-progress"]);
    }
}

#[test]
fn a_fork_has_a_copy_of_what_it_names() {
    let world = half_made("not committed\n");
    world.descent(&["undo", "--into"]).expect(0);
    fs::remove_dir_all(world.repo().join(".descent/state.json.d/repository")).unwrap();
    let fork = world.repo().join(".descent/fork-1.json");
    let text = fs::read_to_string(&fork).unwrap();
    let open = text.replace("\"status\": \"failed\"", "\"status\": \"pending\"");
    fs::write(&fork, open).unwrap();
    let fork = fork.display().to_string();
    world.descent(&["--state", &fork, "run"]).expect(0);
    assert_eq!(world.left("ended"), "A1\nA2\n");
}
