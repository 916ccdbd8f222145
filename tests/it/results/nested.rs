//! A repository inside of a project: a person who stands in it works on it, never on the project around it.
//!
//! Not here: what a run of the project around makes of a repository inside (`repositories`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::world::{Ran, Running, World, listing, plan, task};

/// A project whose run has ended and was applied.
fn applied() -> World {
    let world = World::new();
    let atoms = json!({"A1": task("touch oo")});
    world.align(&plan(&["test -e oo"], json!({}), atoms));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    world
}

fn worktree(world: &World) -> PathBuf {
    world.git(&["worktree", "add", "-q", ".worktrees/x"]);
    world.repo().join(".worktrees/x")
}

/// All of the project around, but for what lies in the repository inside and git's record of it.
fn around(world: &World, inside: &Path) -> Vec<(PathBuf, String)> {
    let all = listing(&world.repo()).into_iter();
    let all = all.map(|(path, bytes)| (path, format!("{bytes:?}")));
    let is_its =
        |path: &Path| path.starts_with(inside) || path.starts_with(world.repo().join(".git"));
    let files = all.filter(|(path, _)| !is_its(path));
    let head = world.git(&["rev-parse", "main"]);
    files.chain([(PathBuf::from("main"), head)]).collect()
}

fn work_there(world: &World, dir: &Path) -> Ran {
    let step = "s=touch io";
    let align = ["align", "child", "--why", "w", "--check", "test -e io", "--step", step, "-y"];
    world.descent_in(dir, &align).expect(0);
    world.descent_in(dir, &["run", "-q", "--apply"]).expect(0)
}

#[test]
fn in_a_worktree_inside_of_a_project_the_work_is_done_and_applied_there() {
    let world = applied();
    let inside = worktree(&world);
    let before = around(&world, &inside);
    work_there(&world, &inside);
    assert!(inside.join("io").exists() && inside.join(".descent/state.json").exists());
    let log = world.descent_in(&inside, &["status", "--json"]).expect(0).json();
    assert_eq!(log["goal"], "child");
    let subjects = world.git(&["-C", ".worktrees/x", "log", "--format=%s", "main..x"]);
    assert_eq!(subjects, "s\n");
    assert_eq!(around(&world, &inside), before);
    // Below its top it is the same project.
    let below = inside.join("below");
    fs::create_dir(&below).unwrap();
    let shown = world.descent_in(&below, &["status", "--json"]).expect(0).json();
    assert_eq!(shown["goal"], "child");
}

#[test]
fn no_command_there_works_on_the_project_around_and_each_names_both_ways_to_say_what_is_meant() {
    let world = applied();
    let inside = worktree(&world);
    let made = |path: &str, args: &[&str]| {
        world.git(args);
        world.repo().join(path)
    };
    let nested = made("nested", &["init", "-q", "nested"]);
    let bare = made("bare.git", &["init", "-q", "--bare", "bare.git"]);
    let allow = ["-c", "protocol.file.allow=always"];
    let from = world.repo().display().to_string();
    world.git(&[&allow[..], &["submodule", "add", "-q", &from, "sub"]].concat());
    let places =
        [inside.clone(), nested, bare, world.repo().join("sub"), world.repo().join(".git")];
    let before = around(&world, &inside);
    let way = format!("descent -C {} …", world.repo().display());
    for place in &places {
        for command in [
            &["status"][..],
            &["run"],
            &["apply"],
            &["undo", "-y"],
            &["retry", "--all"],
            &["redirect", "--set", "max_attempts=9", "-y"],
            &["guide", "words"],
            &["diff"],
        ] {
            let ran = world.descent_in(place, command);
            if ran.code == Some(2) && !matches!(command[0], "status" | "run" | "apply") {
                continue;
            }
            let ran = ran.expect(4).says("E-NO-STATE").says(&way);
            assert!(
                ran.stderr.contains("`descent align …` begins a project here"),
                "{}",
                ran.stderr
            );
        }
    }
    assert_eq!(around(&world, &inside), before);
    // As it is said: each of the ways works.
    let around = world.repo().display().to_string();
    world.descent_in(&inside, &["-C", &around, "status"]).expect(0);
    let state = world.state_path().display().to_string();
    world.descent_in(&inside, &["--state", &state, "status"]).expect(0);
    fs::create_dir(inside.join(".descent")).unwrap();
    let ran = world.descent_in(&inside, &["status"]).expect(4);
    assert!(!ran.stderr.contains(&way), "{}", ran.stderr);
}

#[test]
fn a_state_is_found_from_where_git_finds_the_repository_and_from_nowhere_else() {
    let world = applied();
    world.write(".gitignore", "ignored\n");
    for dir in ["ignored/deep", "empty/.git", "plain/deep"] {
        fs::create_dir_all(world.repo().join(dir)).unwrap();
    }
    let status = |dir: &str, variables: &[(&str, String)]| {
        let mut command = world.command(&["status"]);
        command.current_dir(world.repo().join(dir));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let git = |command: &mut std::process::Command| command.output().unwrap().status.success();
        let mut asked = world.bare_command("git");
        asked.args(["rev-parse", "--show-toplevel"]).current_dir(world.repo().join(dir));
        asked.envs(variables.iter().map(|(name, value)| (name, value)));
        assert_eq!(git(&mut asked), git(&mut command), "{dir} {variables:?}");
        Running::of(command).wait()
    };
    for dir in ["ignored/deep", "empty", "plain/deep"] {
        status(dir, &[]).expect(0);
    }
    let ceiling = |dir: PathBuf| [("GIT_CEILING_DIRECTORIES", format!("/none:{}", dir.display()))];
    status("plain/deep", &ceiling(world.root())).expect(0);
    status("plain/deep", &ceiling(world.repo())).expect(4);
    status(".", &ceiling(world.repo())).expect(0);
}

#[test]
fn a_variable_of_a_hook_does_not_move_the_work_to_the_project_around() {
    let world = applied();
    let inside = worktree(&world);
    let before = around(&world, &inside);
    let git_dir = world.repo().join(".git").display().to_string();
    let work_tree = world.repo().display().to_string();
    for args in [
        &["align", "child", "--why", "w", "--check", "test -e io", "--step", "s=touch io", "-y"][..],
        &["run", "-q", "--apply"],
    ] {
        let mut command = world.command(args);
        command.current_dir(&inside);
        command.env("GIT_DIR", &git_dir).env("GIT_WORK_TREE", &work_tree);
        Running::of(command).wait().expect(0);
    }
    assert!(inside.join("io").exists());
    assert_eq!(around(&world, &inside), before);
}

#[test]
fn a_project_that_lost_its_git_is_not_taken_for_a_directory_of_the_repository_around_it() {
    let world = applied();
    let inside = worktree(&world);
    work_there(&world, &inside);
    let moved = world.out("git");
    fs::rename(inside.join(".git"), &moved).unwrap();
    let before = around(&world, &inside);
    for command in [&["run"][..], &["apply"], &["apply", "--branch", "b"], &["verify"], &["diff"]] {
        let ran = world.descent_in(&inside, command).expect(69);
        ran.says("E-REPOSITORY").says("put the project's .git");
    }
    assert_eq!(around(&world, &inside), before);
    fs::rename(moved, inside.join(".git")).unwrap();
    world.descent_in(&inside, &["run"]).expect(0);
}
