//! A person's editor: it has the terminal, and is waited for however long it takes.
//!
//! Invariant: a terminal that a killed editor left in a mode of its own is as before. It stays in our group, so that
//! Ctrl-Z and Ctrl-C reach both. Not here: which editor, and what becomes of the text.
#![allow(clippy::disallowed_methods)] // door: the editor, a child that talks with the person

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

/// The shell steps aside where it can, so that signals and the way it ended are the editor's own.
fn line(command: &str) -> String {
    let is_plain = !command.contains(|c| "|&;<>(){}=\n".contains(c));
    let exec = if is_plain { "exec " } else { "" };
    format!("{exec}{command} \"$@\"")
}

impl Editor {
    /// `command` is a line for the shell, as `$EDITOR` holds it; the file comes behind it. Where nobody is, it reads
    /// nothing: one that wants a person ends then, and does not wait.
    ///
    /// # Errors
    /// When the shell cannot be started.
    pub fn open(command: &str, file: &Path, is_attended: bool) -> io::Result<Self> {
        let mode = tcgetattr(io::stdin()).ok();
        // What it draws belongs on the terminal, also where our data goes elsewhere.
        let screen = io::stderr().as_fd().try_clone_to_owned()?;
        let child = Command::new(super::SHELL)
            .arg("-c")
            .arg(line(command))
            .arg(command)
            .arg(file)
            .stdin(if is_attended {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::from(screen))
            .stderr(Stdio::inherit())
            .spawn()?;
        Ok(Self { child, mode })
    }

    /// Safe to drop and call again.
    ///
    /// # Errors
    /// When the system does not tell how it ended.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        if let (Some(_), Some(mode)) = (status.signal(), &self.mode) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, mode);
        }
        Ok(status)
    }

    /// Passes a signal on; one that has ended needs none.
    pub fn tell(&self, number: i32) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let (Some(pid), Some(signal)) =
            (pid.and_then(Pid::from_raw), Signal::from_named_raw(number))
        {
            let _ = kill_process(pid, signal);
        }
    }
}
