//! The first of the two commands of README.md, and the demo without a clone, with the program that the tests are of.

use std::{fs, os::unix::process::ExitStatusExt, path::PathBuf, process::Command};

use rustix::process::Signal;

use crate::{
    processes::processes_in,
    terminal::Terminal,
    world::{Ran, Running, World, wait_for},
};

#[test]
fn the_quickstart_ends_with_all_its_claims_held() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/quickstart");
    let ran = Command::new(script)
        .arg("--fast")
        .env("QUICKSTART_DESCENT", env!("CARGO_BIN_EXE_descent"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let wrong = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("All of this held."), "{said}\n{wrong}");
}

/// `descent demo`, with temporary files in a directory of this world.
fn command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(&[&["demo"], args].concat());
    command.env("TMPDIR", world.out(""));
    command
}

fn demo(world: &World, args: &[&str]) -> Ran {
    Running::of(command(world, args)).wait()
}

fn left(world: &World) -> Vec<PathBuf> {
    fs::read_dir(world.out("")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_demo_ends_with_all_its_claims_held_and_leaves_nothing() {
    let world = World::bare();
    let ran = demo(&world, &["--no-input"]).expect(0).shows("All of this held");
    assert_eq!(ran.stdout.matches("  ✓ ").count(), 15, "{}", ran.stdout);
    assert_eq!((left(&world), processes_in(&world.root())), (vec![], vec![]));
    assert_eq!(fs::read_dir(world.root().join("home")).unwrap().count(), 0);
    let told = demo(&world, &["--json", "--keep"]).expect(0).json();
    let claims = told["claims"].as_array().unwrap();
    assert!(claims.len() == 15 && claims.iter().all(|claim| claim["holds"] == true), "{told:#}");
    let kept = PathBuf::from(told["kept"].as_str().unwrap());
    // A fence of Landlock lets steps make nothing beside their project.
    assert!(kept.join("outside/outbox").is_file() && !kept.join("outbox").exists());
    assert_eq!(left(&world), [kept]);
}

#[test]
fn a_demo_that_is_interrupted_leaves_nothing() {
    let world = World::bare();
    let mut running = Running::of(command(&world, &[]));
    wait_for("the scene in which a step waits", || {
        String::from_utf8_lossy(&running.stdout.lock().unwrap()).contains("letter 2 is being")
    });
    running.signal(Signal::INT);
    let ran = running.wait();
    assert_eq!(ran.signal, Some(2), "{}", ran.stdout);
    assert!(!ran.stdout.contains("DID NOT HOLD"), "{}", ran.stdout);
    // At a terminal it waits for the person.
    let mut terminal = Terminal::of(command(&world, &[]));
    terminal.sees("(Enter goes on)").types("").sees("$ descent run").sees("(Enter goes on)");
    assert_eq!(terminal.interrupt().ends().signal(), Some(2), "{}", terminal.screen());
    assert_eq!((left(&world), processes_in(&world.root())), (vec![], vec![]));
}

#[test]
fn a_demo_that_cannot_hold_says_so() {
    let world = World::bare();
    let with_path = |path: String| {
        let mut command = command(&world, &[]);
        command.env("PATH", path);
        Running::of(command).wait()
    };
    with_path("/nowhere".to_owned()).expect(69).says("E-GIT").says("next: install git");
    assert_eq!(left(&world), [] as [PathBuf; 0]);
    let path = format!("{}:{}", world.root().join("bin").display(), std::env::var("PATH").unwrap());
    let old = "#!/bin/sh\ncase \"$*\" in *version*) echo git version 2.39.5; exit;; esac\nPATH=\"${PATH#*:}\" exec git \"$@\"\n";
    let git = world.program("git", old);
    with_path(path.clone()).expect(69).says("git 2.39.5 is too old").says("next: install git 2.40");
    assert_eq!(left(&world), [] as [PathBuf; 0]);
    fs::remove_file(git).unwrap();
    // The check of the second scene can never hold.
    world.program("wc", "#!/bin/sh\necho 2\n");
    let ran = with_path(path).expect(1);
    assert!(ran.stdout.contains("THIS DID NOT HOLD: the same command goes on"), "{}", ran.stdout);
    assert_eq!(left(&world).len(), 1);
    assert!(ran.stdout.contains("the directory of the demo is kept: "), "{}", ran.stdout);
    assert_eq!(processes_in(&world.root()), [] as [String; 0]);
}
