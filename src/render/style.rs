//! The meaning of colours, in one place: nothing else names a colour. Also the two streams that are printed to, and what
//! they lead to.
//!
//! Invariant: a word or a mark says the same as the colour.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Plain,
    /// A name, or the most important part of a line.
    Strong,
    /// A secondary text: headings, ages, counts.
    Dim,
    Pass,
    Fail,
    /// Not decided, or a warning.
    Unknown,
    /// At work now.
    Running,
    Error,
    /// A command to type.
    Next,
}

impl Meaning {
    pub(super) fn style(self) -> Style {
        let coloured = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Meaning::Plain => Style::new(),
            Meaning::Strong => Style::new().bold(),
            Meaning::Dim => Style::new().dimmed(),
            Meaning::Pass => coloured(AnsiColor::Green),
            Meaning::Fail => coloured(AnsiColor::Red),
            Meaning::Unknown => coloured(AnsiColor::Yellow),
            Meaning::Running => coloured(AnsiColor::Cyan),
            Meaning::Error => coloured(AnsiColor::Red).bold(),
            Meaning::Next => coloured(AnsiColor::Cyan).bold(),
        }
    }

    /// The meaning of a status word.
    pub fn of(word: &str) -> Self {
        match word {
            "pass" | "resolved" | "solved" | "completed" | "reused" => Meaning::Pass,
            "fail" | "failed" | "rejected" | "exhausted" | "invalid" => Meaning::Fail,
            "unknown" | "stopped" | "needs_guidance" | "needs guidance" | "in doubt"
            | "in_doubt" | "cut off" | "switched" | "repair" | "transient" | "redirecting" => {
                Meaning::Unknown
            }
            "running" | "start" => Meaning::Running,
            "-" | "not chosen" | "set aside" | "resting" | "rested" | "dropped" => Meaning::Dim,
            _ => Meaning::Plain,
        }
    }
}

/// The styles of the help.
pub fn of_help() -> clap::builder::Styles {
    clap::builder::Styles::plain()
        .header(Meaning::Strong.style())
        .usage(Meaning::Strong.style())
        .literal(Meaning::Next.style())
        .placeholder(Meaning::Dim.style())
        .error(Meaning::Error.style())
        .valid(Meaning::Pass.style())
        .invalid(Meaning::Unknown.style())
}

/// Applies `--color` to this whole process. It is read before the command line is parsed, so that a usage error has the
/// right colours too. The parser reports a wrong value.
pub fn choose(args: impl Iterator<Item = std::ffi::OsString>) {
    let words: Vec<String> = args
        .map(|word| word.to_string_lossy().into_owned())
        .take_while(|word| word != "--")
        .collect();
    let chosen = words.iter().enumerate().rev().find_map(|(place, word)| {
        match word.strip_prefix("--color")? {
            "" => words.get(place + 1).map(String::as_str),
            value => value.strip_prefix('='),
        }
    });
    let choice = match chosen {
        Some("always") => anstream::ColorChoice::Always,
        Some("never") => anstream::ColorChoice::Never,
        _ => anstream::ColorChoice::Auto,
    };
    choice.write_global();
}

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
