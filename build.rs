//! Links the program of the tests at a fixed address: without relocations it starts in half of the time.
//!
//! Not here: release programs, which keep a random address.
#![allow(clippy::print_stdout)] // how a build script speaks

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
