//! Tests that this machine cannot run: told in the summary of `scripts/test`, never in silence.
//!
//! `DESCENT_PASSED_OVER` names the file that gets a line for each test. If `DESCENT_TEST_ALL` is set, a test fails if
//! it lacks something that `scripts/test` could have installed. A feature that the machine lacks stays a line.
//! Invariant: the machine is asked without the program under test, so that a broken feature is no lack. The program's
//! own tests have this file as a module too (`src/main.rs`).
#![allow(clippy::disallowed_methods, clippy::panic, clippy::print_stderr, dead_code)] // door: tests

use std::{env, fs::OpenOptions, io::Write, process::Command, thread};

/// The missing requirement of a test.
#[derive(Debug, Clone, Copy)]
pub enum Lack<'a> {
    /// A program, by the package of Debian that it is in.
    Program(&'a str),
    /// Something that no package gives.
    Machine(&'a str),
}

/// Reports that the present test did not try `what`.
#[track_caller]
pub fn passed_over(what: &str, lack: Lack<'_>) {
    let why = match lack {
        Lack::Program(package) => format!("install {package}"),
        Lack::Machine(why) => why.replace('\n', " "),
    };
    let thread = thread::current();
    let line = format!("{}: {what}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("passed over: {line}");
    if let Some(path) = env::var_os("DESCENT_PASSED_OVER") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let told = file.and_then(|mut file| file.write_all(line.as_bytes()));
        told.expect("the file that DESCENT_PASSED_OVER names");
    }
    let could_be_here = matches!(lack, Lack::Program(_));
    assert!(
        !could_be_here || env::var_os("DESCENT_TEST_ALL").is_none(),
        "DESCENT_TEST_ALL is set, and this was not looked at: {line}"
    );
}

/// Whether a program is on the PATH; if not, the test is passed over.
#[track_caller]
pub fn has(program: &str, package: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        passed_over(program, Lack::Program(package));
    }
    is_there
}

/// Whether system calls can be traced: some containers have strace but forbid it.
#[track_caller]
pub fn can_trace() -> bool {
    if !has("strace", "strace") {
        return false;
    }
    let mut trial = Command::new("strace");
    let tried = trial.args(["-f", "-o", "/dev/null", "true"]).output();
    let works = tried.is_ok_and(|ran| ran.status.success());
    if !works {
        passed_over("strace", Lack::Machine("it may not trace here"));
    }
    works
}

/// Whether the tests are run by root, since nobody else can give files away.
#[track_caller]
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        passed_over("files of another account", Lack::Machine("only root gives files away"));
    }
    is_root
}
