//! Repositories that cannot be worked on: each is refused with a code, with the path, and with what mends it.

use std::{fs, os::unix::process::CommandExt, process::Command};

use super::*;
use crate::{
    passed_over::is_root,
    world::{Running, copy_program},
};

/// The id of no account.
const NOBODY: u32 = 65_534;

/// Refused, told how to mend it, and nothing was made.
#[track_caller]
fn refused(world: &World, code: &str, words: &[&str]) {
    let ran = world.try_align(&work(RIGHT)).expect(69).says(code);
    words
        .iter()
        .for_each(|words| assert!(ran.stderr.contains(words), "no `{words}` in {}", ran.stderr));
    assert!(!world.repo().join(".descent").exists());
}

/// The program in a world that belongs to somebody who is not root, for root reads everything.
fn by_an_ordinary_user(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    if rustix::process::geteuid().is_root() {
        // Nobody else may look into the directory in which the tests were built.
        let program = world.root().join("bin/descent");
        copy_program(env!("CARGO_BIN_EXE_descent"), &program);
        let mut give = Command::new("chown");
        give.args(["-R", &format!("{NOBODY}:{NOBODY}")]);
        assert!(give.arg(world.root()).status().unwrap().success());
        command = world.bare_command(&program.display().to_string());
        command.args(args).uid(NOBODY).gid(NOBODY);
    }
    command
}

#[test]
fn a_repository_without_commits_is_told_how_to_make_one_and_the_command_does_it() {
    let world = World::without_commits();
    world.write("a.txt", "hello\n");
    refused(&world, "E-REPOSITORY", &["git -C"]);
    let said = world.try_align(&work(RIGHT)).stderr;
    let command = said.split_once("make the first one: ").unwrap().1.trim();
    for part in command.split(" && ") {
        let words: Vec<&str> = part.split(' ').skip(1).collect();
        world.git(&words);
    }
    lives_through(&world);
}

#[test]
fn a_bare_repository_is_told_to_make_a_working_tree() {
    let world = World::bare();
    world.git(&["init", "-q", "--bare"]);
    refused(&world, "E-REPOSITORY", &["worktree add"]);
}

#[test]
fn data_that_nobody_wants_twice_on_the_disk_is_refused_with_its_name() {
    let world = World::new();
    let file = fs::File::create(world.repo().join("huge.bin")).unwrap();
    file.set_len(3 << 30).unwrap();
    refused(&world, "E-REPOSITORY", &["huge.bin", "3072 MB", ".git/info/exclude"]);
    fs::write(world.repo().join(".git/info/exclude"), "/huge.bin\n").unwrap();
    world.align(&work(RIGHT));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let world = World::new();
    world.write("secret", "s\n");
    fs::set_permissions(world.repo().join("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    let plan = world.plan(&work(RIGHT));
    let align = by_an_ordinary_user(&world, &["align", "-y", "-f", &plan]);
    let ran = Running::of(align).wait().expect(69).says("E-REPOSITORY");
    ran.says("secret").says("chmod u+r");
}

#[test]
fn a_repository_of_somebody_else_is_refused_with_the_command_that_trusts_it() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let path = world.repo().display().to_string();
    std::os::unix::fs::chown(world.repo(), Some(4321), None).unwrap();
    std::os::unix::fs::chown(world.repo().join(".git"), Some(4321), None).unwrap();
    let command = format!("git config --global --add safe.directory {path}");
    refused(&world, "E-REPOSITORY", &[&path, &command]);
    global(&world, "safe.directory", &path);
    lives_through(&world);
}
