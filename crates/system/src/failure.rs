//! The one form of an error for a person or a program: a stable code, a message, the next step, and the exit code
//! (contract §12). A missing resource that alone made something fail comes back, by itself or by a person's hand.
//!
//! Not here: the typed errors of the rooms; each turns into this at its own border.

use std::{
    borrow::Cow, ffi::OsStr, fmt::Display, io, os::unix::process::ExitStatusExt,
    process::ExitStatus,
};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Exit codes, by the contract.
pub mod exit {
    pub const NOT_SO: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const STOPPED: u8 = 3;
    pub const NOT_ALIGNED: u8 = 4;
    pub const EXHAUSTED: u8 = 5;
    pub const PERSON_NEEDED: u8 = 6;
    pub const INVALID: u8 = 65;
    pub const UNAVAILABLE: u8 = 69;
    pub const BUG: u8 = 70;
    pub const IO: u8 = 74;
    pub const LEASE: u8 = 75;
    pub const UNTRUSTED: u8 = 77;
    pub const CONFIG: u8 = 78;
}

/// A path or a text quoted for a shell, for commands that a person types.
pub fn quoted(text: impl AsRef<OsStr>) -> String {
    let text = text.as_ref().to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An error of any command with `--json`
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug)]
pub struct ErrorOutput<'a> {
    schema: &'static str,
    error: &'a Failure,
}

#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message}")]
pub struct Failure {
    /// Stable, such as E-LEASE-HELD.
    pub code: Cow<'static, str>,
    pub exit: u8,
    pub message: String,
    /// One line for each fault, or other lines.
    pub details: Vec<String>,
    /// The next thing to do.
    pub hint: String,
    /// The cause, if something outside of the work failed.
    #[serde(skip)]
    pub cause: Option<OutsideCause>,
    /// Whether another `setup` may help.
    #[serde(skip)]
    pub is_of_setup: bool,
}

impl Failure {
    pub fn new(
        code: &'static str,
        exit: u8,
        message: impl Display,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code: Cow::Borrowed(code),
            exit,
            message: message.to_string(),
            details: Vec::new(),
            hint: hint.into(),
            cause: None,
            is_of_setup: false,
        }
    }

    /// Adds a missing resource: each has one code and one remedy, whatever was being done.
    #[must_use]
    pub fn lacking(self, lack: Option<Lack>) -> Self {
        self.because(lack.map(OutsideCause::Lack))
    }

    /// The same for every cause outside.
    #[must_use]
    pub fn because(mut self, cause: Option<OutsideCause>) -> Self {
        self.cause = cause;
        let Some(lack) = self.lack() else {
            return self;
        };
        let code = if lack == Lack::Repository { "E-REPOSITORY-AWAY" } else { "E-MACHINE" };
        (self.code, self.exit, self.hint) =
            (Cow::Borrowed(code), exit::IO, lack.remedy().to_owned());
        self
    }

    pub fn lack(&self) -> Option<Lack> {
        self.cause.and_then(OutsideCause::lack)
    }

    #[must_use]
    pub fn with(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    pub fn bug(message: impl Display) -> Self {
        let hint = "this is a bug of descent: please report it with the state file; `descent run` may go on";
        Self::new("E-BUG", exit::BUG, message, hint)
    }

    pub fn usage(message: impl Display, hint: impl Into<String>) -> Self {
        Self::new("E-USAGE", exit::USAGE, message, hint)
    }

    pub fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(
            "E-IO",
            exit::IO,
            format!("{what}: {error}"),
            "look at the disk and its permissions, then try again",
        )
    }

    /// The value for `--json`.
    pub fn output(&self) -> ErrorOutput<'_> {
        ErrorOutput { schema: "descent/error/1", error: self }
    }
}

/// A resource that comes back, by itself or by a person's hand, while a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Blocks, files or quota of a disk.
    Space,
    /// The file system is mounted for reading alone.
    Writing,
    /// Files that this process, or the system, may have open.
    Files,
    /// Processes that a person may have, or memory for one more.
    Processes,
    /// The person's repository, which has been moved away.
    Repository,
}

impl Lack {
    /// The thing to do about it, whatever was being done.
    fn remedy(self) -> &'static str {
        match self {
            Self::Space => "free some space there; `descent doctor` shows how much there is",
            Self::Writing => {
                "mount the file system for writing again; steps and checks of a run cannot write there at all"
            }
            Self::Files => "raise the limit (`ulimit -n`), or end what holds many files open",
            Self::Processes => {
                "raise the limit (`ulimit -u`), end what takes processes or memory, or lower max_parallel_agents"
            }
            Self::Repository => "put it back",
        }
    }
}

/// A cause outside of the work that failed: its subject is not to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideCause {
    Lack(Lack),
    /// A disk failed.
    Disk,
    /// A tool was killed, or cut off because it took too long.
    Killed,
}

impl OutsideCause {
    pub fn lack(self) -> Option<Lack> {
        match self {
            Self::Lack(lack) => Some(lack),
            Self::Disk | Self::Killed => None,
        }
    }

    /// The outside cause of an error of the system, if it has one.
    pub fn of(error: &io::Error) -> Option<Self> {
        let is_of_disk = Errno::from_io_error(error) == Some(Errno::IO);
        let disk = is_of_disk.then_some(Self::Disk);
        disk.or_else(|| lack_of(error).map(Self::Lack))
    }

    /// The same for a tool, from its end and from its output, which has the words of the system.
    pub fn of_tool(status: ExitStatus, output: &str) -> Option<Self> {
        if let Some(lack) = lack_in(output) {
            return Some(Self::Lack(lack));
        }
        let disk = output.contains("Input/output error").then_some(Self::Disk);
        disk.or_else(|| status.signal().map(|_| Self::Killed))
    }
}

/// The missing resource, if that is the cause of the error.
pub fn lack_of(error: &io::Error) -> Option<Lack> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Lack::Space),
        io::ErrorKind::ReadOnlyFilesystem => Some(Lack::Writing),
        _ => {
            let errno = Errno::from_io_error(error)?;
            let files = [Errno::MFILE, Errno::NFILE];
            files.contains(&errno).then_some(Lack::Files)
        }
    }
}

/// The same for a program that could not be started.
pub fn lack_at_start(error: &io::Error) -> Option<Lack> {
    lack_of(error).or_else(|| {
        let errno = Errno::from_io_error(error)?;
        let processes = [Errno::AGAIN, Errno::NOMEM];
        processes.contains(&errno).then_some(Lack::Processes)
    })
}

/// The same for another program's message, in the words of the system.
pub fn lack_in(text: &str) -> Option<Lack> {
    let words = [
        ("No space left on device", Lack::Space),
        // git's message for a write that wrote nothing.
        ("Out of diskspace", Lack::Space),
        ("Disk quota exceeded", Lack::Space),
        ("Read-only file system", Lack::Writing),
        ("Too many open files", Lack::Files),
        ("Resource temporarily unavailable", Lack::Processes),
        ("Cannot allocate memory", Lack::Processes),
    ];
    let found = words.iter().find(|(words, _)| text.contains(words));
    found.map(|(_, lack)| *lack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_told_by_the_error_or_by_its_words() {
        for (errno, lack) in [
            (28, Some(Lack::Space)),
            (122, Some(Lack::Space)),
            (30, Some(Lack::Writing)),
            (24, Some(Lack::Files)),
            (23, Some(Lack::Files)),
            (11, Some(Lack::Processes)),
            (12, Some(Lack::Processes)),
            (5, None),
            (13, None),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let of_any = lack.filter(|lack| *lack != Lack::Processes);
            assert_eq!(lack_of(&error), of_any, "{error}");
            assert_eq!(lack_at_start(&error), lack, "{error}");
            assert_eq!(lack_in(&format!("fatal: x: {error}")), lack, "{error}");
        }
        let of_git = "fatal: sha1 file 'index.lock' write error. Out of diskspace";
        assert_eq!(lack_in(of_git), Some(Lack::Space));
    }

    #[test]
    fn a_cause_outside_is_told_by_the_error_or_by_the_end_of_a_tool() {
        let (exit, killed) = (ExitStatus::from_raw(128 << 8), ExitStatus::from_raw(9));
        let space = OutsideCause::Lack(Lack::Space);
        let disk = io::Error::from_raw_os_error(5);
        assert_eq!(OutsideCause::of(&disk), Some(OutsideCause::Disk));
        assert_eq!(OutsideCause::of(&io::Error::from_raw_os_error(13)), None);
        for (status, output, cause) in [
            (exit, "fatal: bad object", None),
            (exit, "fatal: x: No space left on device", Some(space)),
            (exit, "fatal: x: Input/output error", Some(OutsideCause::Disk)),
            (killed, "", Some(OutsideCause::Killed)),
        ] {
            assert_eq!(OutsideCause::of_tool(status, output), cause, "{output}");
        }
    }
}
