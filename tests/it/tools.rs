//! Programs that not every machine has: a test without one says in a line what it has not looked at, and is over.

#![allow(clippy::print_stderr)] // what was not looked at

use std::process::Command;

pub fn has(program: &str, package: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!(
            "{program} is not on the PATH: this test has looked at nothing (apt-get install {package})"
        );
    }
    is_there
}

/// Whether system calls can be watched: in some containers strace is there and may not.
pub fn can_trace() -> bool {
    if !has("strace", "strace") {
        return false;
    }
    let mut trial = Command::new("strace");
    let tried = trial.args(["-f", "-o", "/dev/null", "true"]).output();
    let works = tried.is_ok_and(|ran| ran.status.success());
    if !works {
        eprintln!("strace may not trace here: this test has looked at nothing");
    }
    works
}
