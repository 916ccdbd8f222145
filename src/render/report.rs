//! A report as a file: Markdown, HTML or JUnit's XML.
//!
//! Invariant: the same report gives the same bytes. Whatever an agent or a person wrote stays a text: it becomes no
//! markup, no link, no mention and no control character. Not here: what a report says (`view` of the core).

mod html;
mod junit;
mod markdown;
mod outline;
#[cfg(test)]
mod tests;

pub use html::html;
pub use junit::junit;
pub use markdown::markdown;

/// The class of a status, by which it is coloured.
fn look_of(status: &str) -> &'static str {
    match status {
        "resolved" | "completed" | "pass" => "done",
        "running" | "redirecting" => "run",
        "failed" | "invalid" | "fail" | "exhausted" => "fail",
        "needs guidance" | "needs_guidance" | "needs a person" | "in doubt" | "unknown"
        | "unsteady" | "stopped" => "ask",
        "not chosen" | "parked" | "resting" | "dropped" => "off",
        _ => "open",
    }
}

/// A text that is no markup, neither between elements nor between quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Without sequences for a terminal and control characters, which XML forbids. Lines end with a line feed. Marks that
/// turn the reading direction are spelled out.
fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => kept.push('\n'),
            '\n' | '\t' => kept.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => kept.push(c),
        }
    }
    super::clean(&kept)
}

/// The rest of a sequence that begins with ESC.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            // Parameters come before the letter that ends it; anything else belongs to the text.
            while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
            chars.next_if(|c| ('@'..='~').contains(c));
        }
        Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {},
        Some('(' | ')') => {
            chars.next();
            chars.next_if(char::is_ascii_alphanumeric);
        }
        Some(_) | None => {}
    }
}

/// The same on one line, cut to a length.
fn flat(text: &str, chars_max: usize) -> String {
    let text = plain(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    super::cut(&words.join(" "), chars_max)
}

/// The last lines of an output, each cut to a length, and the number of those before.
fn tail(output: &str, lines_max: usize, chars_max: usize) -> String {
    let text = plain(output);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let first = end.saturating_sub(lines_max);
    let before = match first {
        0 => None,
        1 => Some("… 1 line before".to_owned()),
        n => Some(format!("… {n} lines before")),
    };
    let lines = lines[first..end].iter().map(|line| super::cut(line, chars_max));
    before.into_iter().chain(lines).collect::<Vec<String>>().join("\n")
}
