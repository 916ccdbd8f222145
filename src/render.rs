//! Everything that is printed goes through here: data on standard output, everything else on standard error.
//!
//! Invariant: text from outside reaches the terminal without control characters. A closed pipe is no error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // this is the door

mod carried;
mod notice;
mod views;

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering},
};

pub use carried::{Bounds, carried, visible};
pub use notice::notice;
pub use views::{graph, judged, result, status, why};

use crate::failure::Failure;

/// Characters at most of a text that was written elsewhere: a goal, a command, a reason.
const TEXT_WIDTH_MAX: usize = 160;

/// Where a command's words go.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    pub json: bool,
    pub quiet: bool,
}

impl Out {
    /// The data that was asked for.
    pub fn data(self, text: &str) {
        write(&mut std::io::stdout(), text);
    }

    pub fn json(self, value: &impl serde::Serialize) {
        let text = serde_json::to_string(value)
            .unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
        write(&mut std::io::stdout(), &text);
    }

    /// What is said beside the data.
    pub fn say(self, text: &str) {
        if !self.quiet {
            write(&mut std::io::stderr(), &clean(text));
        }
    }

    /// A question: the answer is typed behind it. Also where little is said, for it is waited for.
    pub fn ask(self, text: &str) {
        let mut to = std::io::stderr();
        // Nobody reads it: then nobody answers either.
        let _ = to
            .write_all(clean(text).as_bytes())
            .and_then(|()| to.flush());
    }

    pub fn failure(self, failure: &Failure) {
        if self.json {
            self.json(&failure.json());
        }
        let mut text = format!("error[{}]: {}", failure.code, clean(&failure.message));
        for line in &failure.details {
            text.push_str("\n  ");
            text.push_str(&clean(line));
        }
        text.push_str("\nnext: ");
        text.push_str(&clean(&failure.hint));
        write(&mut std::io::stderr(), &text);
    }
}

/// Data that could not be written, though somebody still reads.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether the data of this command reached where it goes.
pub fn data_was_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

fn write(to: &mut impl Write, text: &str) {
    let written = to
        .write_all(text.as_bytes())
        .and_then(|()| to.write_all(b"\n"))
        .and_then(|()| to.flush());
    // A reader that has gone wants no more; there is nobody left to tell.
    if written.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Control characters made visible, but for line breaks and tabs; marks that turn the reading direction too.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\u{1b}' => clean.push('␛'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.extend(c.escape_unicode()),
            c if c.is_control() => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// `40 ms`, `1.2 s`, `3 m 05 s`.
pub fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} m {:02} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// All on one line, cut to what a person reads.
pub fn line(text: &str) -> String {
    let flat = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    cut(&flat, TEXT_WIDTH_MAX)
}

fn cut(text: &str, width_max: usize) -> String {
    if text.chars().count() <= width_max {
        return text.to_owned();
    }
    text.chars().take(width_max - 1).chain(['…']).collect()
}
