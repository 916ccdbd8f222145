//! The messages and dates of atoms' commits.

use descent_core::id::{AtomId, UnixMillis};

/// Characters at most in the first line of a commit message.
const SUBJECT_CHARS_MAX: usize = 72;

/// A time of the state file, to date commits by. An unreadable time is the beginning of 1970, so that the same file
/// always gives the same commit.
pub fn time_of(text: &str) -> UnixMillis {
    let time = text.parse::<jiff::Timestamp>().ok();
    let time_ms = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    UnixMillis(time_ms.unwrap_or_default())
}

/// The message of an atom's commit: its description (else its id), and a trailer that names it.
pub fn message(atom: &AtomId, description: &str) -> String {
    let one_line = description.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = one_line.filter(|word| !word.is_empty()).collect();
    let subject = if words.is_empty() { atom.to_string() } else { words.join(" ") };
    let subject = if subject.chars().count() <= SUBJECT_CHARS_MAX {
        subject
    } else {
        let cut: String = subject.chars().take(SUBJECT_CHARS_MAX - 1).collect();
        format!("{}…", cut.trim_end())
    };
    format!("{subject}\n\nDescent-Atom: {atom}\n")
}
