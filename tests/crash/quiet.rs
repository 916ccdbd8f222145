//! A table of processes of the test's own. Who looks through a busy machine's makes tens of thousands of calls at each
//! look, which are traced one by one.

use std::process::Command;

const INSIDE: &str = "DESCENT_TEST_INSIDE";

/// Runs the test of this name inside, and tells whether that was done; where it can't be, it goes on where it is.
#[track_caller]
pub fn runs_inside(name: &str) -> bool {
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    let can = inside
        .arg("true")
        .output()
        .is_ok_and(|tried| tried.status.success());
    if std::env::var_os(INSIDE).is_some() || !can {
        return false;
    }
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    inside
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"]);
    assert!(
        inside.env(INSIDE, "1").status().unwrap().success(),
        "inside"
    );
    true
}
