//! The two streams that are printed to, and what they lead to.
#![allow(clippy::print_stdout, clippy::print_stderr)] // this is the door

use std::io::{self, IsTerminal, Write};

/// A stream of text to a person or a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum StandardStream {
    Output,
    Errors,
}

impl StandardStream {
    pub(super) fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Errors => io::stderr().is_terminal(),
        }
    }

    /// As chosen, else by NO_COLOR, CLICOLOR_FORCE, and the terminal's ability.
    pub(super) fn is_coloured(self) -> bool {
        let choice = match self {
            Self::Output => anstream::AutoStream::choice(&io::stdout()),
            Self::Errors => anstream::AutoStream::choice(&io::stderr()),
        };
        choice != anstream::ColorChoice::Never
    }

    pub(super) fn write(self, text: &str) -> io::Result<()> {
        match self {
            Self::Output => write_line(io::stdout().lock(), text),
            Self::Errors => write_line(io::stderr().lock(), text),
        }
    }
}

fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.write_all(b"\n")?;
    to.flush()
}
