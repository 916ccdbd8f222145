//! Every error code as a person meets it: the code, its exit code, and that the next step is told.
//!
//! `tests/tidy` holds that each code of the program occurs in these tests.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::{
    edits::broken::a_plan,
    passed_over::{Lack, passed_over},
    world::{Ran, Running, World, plan, task},
};

#[track_caller]
fn check(ran: Ran, code: &str, exit: i32) -> Ran {
    ran.expect(exit).says(&format!("error[{code}]")).says("next: ")
}

/// Aligns the plain plan with these arguments more.
fn aligned_with(world: &World, more: &[&str]) -> Ran {
    let plan = a_plan(world);
    world.descent(&[&["align", "-y", "-f", &plan], more].concat())
}

#[test]
fn what_the_place_lacks_is_told_by_its_code() {
    let in_git = ["--set", "workspace=git"];
    check(aligned_with(&World::bare(), &in_git), "E-REPOSITORY", 69);
    check(aligned_with(&World::without_commits(), &[]), "E-REPOSITORY", 69);
    let world = World::new();
    world.descent(&["align", "-y", "-f", &a_plan(&world)]).expect(0);
    let with_path = |path: String| {
        let mut command = world.command(&["run"]);
        command.env("PATH", path);
        Running::of(command).wait()
    };
    check(with_path("/nowhere".to_owned()), "E-GIT", 69);
    let own = format!("{}:/usr/bin:/bin", world.root().join("bin").display());
    world.program("git", "#!/bin/sh\necho git version 2.1.4\n");
    check(with_path(own.clone()), "E-GIT", 69)
        .says("git 2.1.4 is too old, 2.40 or later is needed");
    let broken = "#!/bin/sh\ncase \"$*\" in *--version*) echo git version 2.47.0;; *) echo it broke >&2; exit 99;; esac\n";
    world.program("git", broken);
    check(with_path(own), "E-GIT", 69).says("it broke");
}

#[test]
fn constraints_that_cannot_be_met_are_told_by_their_code() {
    for (set, code, exit) in [
        ("link=../outside", "E-INVALID", 65),
        ("protected=a[", "E-INVALID", 65),
        ("setup.run=echo no such luck; exit 3", "E-SETUP", 69),
    ] {
        let world = World::new();
        check(aligned_with(&world, &["--set", set]), code, exit);
        assert!(!world.repo().join(".descent").exists(), "{set}");
    }
}

#[test]
fn a_plan_that_is_not_there_and_a_run_that_is_not_finished_are_told_by_their_code() {
    let world = World::new();
    check(world.descent(&["align", "-y", "-f", "gone.json"]), "E-INVALID", 65);
    aligned_with(&world, &[]).expect(0);
    check(
        world.descent(&[
            "align",
            "-y",
            "another goal",
            "--why",
            "x",
            "--check",
            "false",
            "--step",
            "a",
        ]),
        "E-USAGE",
        2,
    );
}

#[test]
fn a_configuration_that_lacks_something_is_told_by_its_code() {
    let world = World::new();
    let by_worker = json!({"A1": {"kind": "task", "description": "do it"}});
    world.align(&plan(&["test -f done"], json!({}), by_worker));
    check(world.descent(&["run"]), "E-CONFIG", 78);
    world.write("descent.toml", "worker = [\n");
    check(world.descent(&["run"]), "E-CONFIG", 78);
}

#[test]
fn a_state_that_cannot_be_used_is_told_by_its_code() {
    let world = World::new();
    aligned_with(&world, &[]).expect(0);
    world.save("{\"version\": ");
    check(world.descent(&["run"]), "E-STATE-INVALID", 65);
    fs::remove_file(world.state_path()).unwrap();
    // A link to itself: no user may read it, root neither.
    std::os::unix::fs::symlink("state.json", world.state_path()).unwrap();
    check(world.descent(&["run"]), "E-STATE-PLACE", 74);
    fs::remove_file(world.state_path()).unwrap();
    // A link to nothing, as to a disk that is not mounted: no state is there, and yet the name is taken.
    std::os::unix::fs::symlink("gone.json", world.state_path()).unwrap();
    check(aligned_with(&world, &[]), "E-STATE-INVALID", 65);
    check(world.descent(&["validate"]), "E-STATE-INVALID", 65);
    let run = world.descent(&["run"]);
    check(run.says("to `gone.json`, and nothing is there"), "E-STATE-INVALID", 65);
}

#[test]
fn a_state_that_would_be_too_large_is_not_written() {
    let world = World::new();
    let mut plan = plan(&["test -f done"], json!({}), json!({"A1": task("touch done")}));
    plan["objective"]["raw_input"] = json!("y".repeat(8_000_000));
    plan["objective"]["goal"] = json!("x".repeat(8_000_000));
    let path = world.plan(&plan);
    check(world.descent(&["align", "-y", "-f", &path]), "E-STATE-TOO-LARGE", 65);
    assert!(!world.state_path().exists());
}

#[test]
fn a_commit_that_the_repository_lost_is_told_by_its_code() {
    let world = World::new();
    // Uncommitted files of the person are nowhere else.
    world.write("mine.txt", "not committed\n");
    world.align(&plan(&["test -f done"], json!({}), json!({"A1": task("exit 1")})));
    world.run().expect(5);
    let start = world.state()["run"]["started_from"]["commit"].clone();
    let (dir, name) = start.as_str().unwrap().split_at(2);
    fs::remove_file(world.repository().join("objects").join(dir).join(name)).unwrap();
    // While they are as they were, the run begins from the files again.
    world.write("mine.txt", "something else\n");
    check(world.descent(&["run"]), "E-COMMIT-MISSING", 69);
}

#[test]
fn a_place_for_attempts_that_is_a_file_is_told_by_its_code() {
    let world = World::new();
    aligned_with(&world, &[]).expect(0);
    fs::write(world.repo().join(".descent/state.json.d/attempts"), "in the way").unwrap();
    check(world.descent(&["run"]), "E-IO", 74);
    let other = World::new();
    other.write(".descent", "a file in the way\n");
    check(aligned_with(&other, &[]), "E-IO", 74);
}

#[test]
fn a_lock_that_nobody_releases_is_waited_for_and_then_told() {
    let world = World::new();
    aligned_with(&world, &[]).expect(0);
    let lock = fs::File::create(world.repo().join(".descent/state.json.d/commit.lock")).unwrap();
    lock.lock().unwrap();
    check(world.descent(&["run"]), "E-BUSY", 75);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        let why = Lack::Machine("it is not here, or may not be written");
        return passed_over("/dev/full", why);
    };
    let world = World::new();
    aligned_with(&world, &[]).expect(0);
    let child = world
        .command(&["status"])
        .stdout(Stdio::from(full))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(74), "{said}");
    assert!(said.contains("error[E-IO]"), "{said}");
}
