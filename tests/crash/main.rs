//! A whole session through the binary, with a fault at every system call.
//!
//! The world of such a test, and the facts at its end, are those of `tests/it`. Linux on x86-64 only: elsewhere these
//! tests cannot read the calls of another program.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr, // the story of a session that went wrong
    clippy::print_stdout, // what was run
    clippy::zombie_processes, // the tracer waits for what it traces, by its id
    missing_debug_implementations
)] // door: tests

mod call;
mod every_call;
mod faults;
mod notices;
mod outward;
mod quiet;
mod session;
mod tracer;

use crate::{chance, passed_over, undisturbed, world};
