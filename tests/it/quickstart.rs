//! The first of the two commands of README.md, with the program that the tests are of.

use std::process::Command;

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
