//! Programs at a person's terminal, for which we wait without a time limit: the editor, and a command of our own.
//!
//! Invariant: if a killed editor changed the terminal's mode, the mode is restored. The editor
//! stays in our process group, so that Ctrl-Z and Ctrl-C reach both. Not here: which editor it is,
//! and what happens with the text.
#![allow(clippy::disallowed_methods)] // door: children that talk with the person

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::process::{Child, Command};

#[derive(Debug)]
pub struct Editor {
    child: Child,
    mode: Option<Termios>,
}

/// The shell replaces itself by the editor if it can. Then signals and the exit status are the
/// editor's own.
fn shell_line(command: &str) -> String {
    let is_plain = !command.contains(|c| "|&;<>(){}=\n".contains(c));
    let exec = if is_plain { "exec " } else { "" };
    format!("{exec}{command} \"$@\"")
}

impl Editor {
    /// `command` is a line for the shell, as `$EDITOR` holds it; the file is appended to it. If
    /// nobody is attending, standard input is empty: an editor that needs a person then ends and
    /// does not wait.
    ///
    /// # Errors
    /// If the shell cannot be started.
    pub fn open(command: &str, file: &Path, is_attended: bool) -> io::Result<Self> {
        let mode = tcgetattr(io::stdin()).ok();
        // The editor draws on the terminal, even if our data goes elsewhere.
        let screen = io::stderr().as_fd().try_clone_to_owned()?;
        let child = Command::new(super::SHELL)
            .arg("-c")
            .arg(shell_line(command))
            .arg(command)
            .arg(file)
            .stdin(if is_attended { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::from(screen))
            .stderr(Stdio::inherit())
            .spawn()?;
        Ok(Self { child, mode })
    }

    /// Cancellation-safe: it may be dropped and called again.
    ///
    /// # Errors
    /// If the system does not report how the editor ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        if let (Some(_), Some(mode)) = (status.signal(), &self.mode) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, mode);
        }
        Ok(status)
    }

    /// Passes a signal on; an editor that has ended gets none.
    pub fn send_signal(&self, number: i32) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let (Some(pid), Some(signal)) =
            (pid.and_then(Pid::from_raw), Signal::from_named_raw(number))
        {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Runs this program with these arguments at this terminal, and waits for its end: a command that another command opens.
///
/// # Errors
/// If it cannot be started.
pub fn talk(args: &[OsString]) -> io::Result<ExitStatus> {
    let program = std::env::current_exe()?;
    std::process::Command::new(program).args(args).status()
}
