//! A process table of the test's own. A scan of a busy machine's table makes tens of thousands of calls each time,
//! which are traced one by one.

use std::{env, fs, process::Command};

/// Names the file that the test makes when it begins inside.
const INSIDE: &str = "DESCENT_TEST_INSIDE";

/// Runs the test of this name inside, and returns whether that was done. If it is impossible, the test goes on where it
/// is.
#[track_caller]
pub fn runs_inside(name: &str) -> bool {
    if let Some(begun) = env::var_os(INSIDE) {
        fs::write(begun, "").unwrap();
        return false;
    }
    let inside = || {
        let mut inside = Command::new("unshare");
        inside.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        inside
    };
    let tried = inside().arg("true").output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return false;
    }
    let dir = tempfile::tempdir().unwrap();
    let begun = dir.path().join("begun");
    let mut test = inside();
    // The shell is the first process of the namespace, and reaps what loses its parent.
    test.args(["sh", "-c", "\"$@\"; exit $?", "sh"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, &begun);
    assert!(test.status().unwrap().success(), "inside");
    assert!(begun.exists(), "no test is named {name}");
    true
}
