//! The two streams that are printed to, and what they lead to.
//!
//! Invariant: what a stream leads to is asked once, when it is printed to first. Not here: what is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)] // this is the door

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

/// A stream of text to a person or a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum StandardStream {
    Output,
    Errors,
}

impl StandardStream {
    pub(super) fn is_terminal(self) -> bool {
        static OUTPUT: OnceLock<bool> = OnceLock::new();
        static ERRORS: OnceLock<bool> = OnceLock::new();
        match self {
            Self::Output => *OUTPUT.get_or_init(|| io::stdout().is_terminal()),
            Self::Errors => *ERRORS.get_or_init(|| io::stderr().is_terminal()),
        }
    }

    /// As chosen, else by NO_COLOR, CLICOLOR_FORCE, and the terminal's ability.
    pub(super) fn is_coloured(self) -> bool {
        static OUTPUT: OnceLock<bool> = OnceLock::new();
        static ERRORS: OnceLock<bool> = OnceLock::new();
        match self {
            Self::Output => *OUTPUT.get_or_init(|| is_coloured(&io::stdout())),
            Self::Errors => *ERRORS.get_or_init(|| is_coloured(&io::stderr())),
        }
    }

    pub(super) fn write(self, text: &str) -> io::Result<()> {
        match self {
            Self::Output => write_line(io::stdout().lock(), text),
            Self::Errors => write_line(io::stderr().lock(), text),
        }
    }
}

fn is_coloured(stream: &(impl IsTerminal + anstream::stream::RawStream)) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.write_all(b"\n")?;
    to.flush()
}
