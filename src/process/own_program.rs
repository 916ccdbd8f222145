//! Our own program again, as a child that talks with the person: a command that another command opens.
#![allow(clippy::disallowed_methods)] // door: a command of ours at the person's terminal

use std::{
    ffi::OsString,
    io,
    process::{Command, ExitStatus},
};

/// Runs this program with these arguments at this terminal, and waits for its end.
///
/// # Errors
/// If it cannot be started.
pub fn talk(args: &[OsString]) -> io::Result<ExitStatus> {
    let program = std::env::current_exe()?;
    Command::new(program).args(args).status()
}
