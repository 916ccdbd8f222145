//! The one form of an error for a person or a program: a stable code, a message, the next step, and the exit code
//! (contract §12).
//!
//! Not here: the typed errors of the rooms; each turns into this at its own border.

mod lack;

use std::{borrow::Cow, ffi::OsStr, fmt::Display};

use serde::{Deserialize, Serialize};

pub use lack::{Lack, OutsideCause, lack_at_start, lack_in, lack_of};

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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorOutput<'a> {
    schema: &'static str,
    error: &'a Failure,
}

#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
