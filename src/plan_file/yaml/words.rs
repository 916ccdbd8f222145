//! YAML's pitfalls, in words that say what to type instead.
//!
//! Here: the parser's errors in plain words, hints for values that YAML read differently than meant, and warnings of
//! text that it drops silently. Not here: finding errors.

use descent_core::doc::{Fault, Span};

use super::fault;

const QUOTE: &str = "put the whole text in quotes, or write it under `|`";

/// An error of the parser at `at`: its rule, its message, and the remedy.
pub(super) fn explain(info: &str, text: &str, at: usize) -> (&'static str, String, String) {
    const RULE: &str = "yaml-syntax";
    if info.contains("recursion limit") {
        let message = "the nesting is deeper than is allowed";
        return ("too-deep", message.to_owned(), "nest less".to_owned());
    }
    let known = KNOWN.iter().find(|(part, ..)| info.contains(part));
    if let Some((_, message, hint)) = known {
        return (RULE, (*message).to_owned(), (*hint).to_owned());
    }
    let first = text[at..].chars().next();
    if info.contains("unexpected character") || info.contains("not find expected next token") {
        let shown = first.map_or_else(|| "it".to_owned(), |c| format!("`{c}`"));
        let message = format!("no text begins with {shown} unless it stands in quotes");
        return (RULE, message, QUOTE.to_owned());
    }
    let plain = info.rsplit_once(", ").map_or(info, |(_, what)| what).replace(['<', '>'], "");
    let hint = "look at the indentation and the quotes of this line and of the one above";
    (RULE, format!("this is no YAML: {plain}"), hint.to_owned())
}

/// The place at which an error is shown. For a tab that indents it is the tab, not the start of the text that it
/// breaks.
pub(super) fn place(info: &str, text: &str, at: Span) -> Span {
    if !info.contains("tab") || info.contains("unprintable") {
        return at;
    }
    let mut line_start = text[..at.start()].rfind('\n').map_or(0, |at| at + 1);
    for line in text[line_start..].split_inclusive('\n') {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if line[blanks..].starts_with('\t') {
            let start = line_start + blanks;
            let end = start + 1;
            return Span::new(start, end);
        }
        line_start += line.len();
    }
    at
}

/// Errors by a part of the parser's message.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "mapping values are not allowed",
        "a second `: ` in one line, or a line that is indented too far",
        "if it is part of a text, put the whole text in quotes, or write it under `|`",
    ),
    (
        "unknown anchor",
        "nothing above is named so by `&`",
        "a text or glob that begins with `*` needs quotes",
    ),
    (
        "unknown escape character",
        "a backslash in double quotes begins an escape, and this is none",
        "single quotes keep backslashes as they are: '\\d+'",
    ),
    (
        "hexadecimal",
        "an escape in double quotes is cut short",
        "single quotes keep backslashes as they are: '\\d+'",
    ),
    (
        "unprintable",
        "a character that no text may hold",
        "take it out, or write it as an escape in double quotes",
    ),
    (
        "':' must be followed",
        "a blank belongs behind the `:`, and a tab is none",
        "put a blank there",
    ),
    ("tab", "a tab cannot indent", "indent with spaces"),
    (
        "while scanning a block scalar",
        "the text of `|` or `>` begins in the next line",
        "put it there, indented",
    ),
    (
        "simple key expect",
        "a key without its colon, or a text that goes on at the wrong indentation",
        "write `key: value`; what goes on in the next line is indented further",
    ),
    ("trailing content after double-quoted", "more text after the closing quote", QUOTE),
    (
        "unexpected end of stream",
        "a quoted text is not closed",
        "close the quote; the file may have been cut off",
    ),
    (
        "block sequence entries are not allowed",
        "a list cannot begin here",
        "begin it in a line of its own, each entry with `- `",
    ),
    ("byte order mark", "a byte order mark inside of the text", "take it out"),
    (
        "while parsing a block mapping",
        "a key is expected here",
        "keys of one object stand one below the other, at the same indentation",
    ),
    (
        "while parsing a block collection",
        "an entry `- ` is expected here",
        "entries of one list stand one below the other, at the same indentation",
    ),
    ("flow mapping", "`,` or `}` is expected here", "close the object that opens with `{`"),
    ("flow sequence", "`,` or `]` is expected here", "close the list that opens with `[`"),
    (
        "invalid indentation",
        "what stands here is not indented as what it belongs to",
        "indent it further than the key above",
    ),
    (
        "wrongly indented",
        "what stands here is not indented as what it belongs to",
        "indent it as the first line of the text",
    ),
    ("misplaced bracket", "a bracket closes what was not opened", QUOTE),
    ("comment intercepting", "a comment cuts this text in two", QUOTE),
];

/// Adds a hint if YAML read a text as something else.
pub(in super::super) fn hint(faults: &mut [Fault], text: &str) {
    for fault in faults {
        let hint = match fault.rule {
            "wrong-type" if fault.hint.is_none() => of_wrong_type(fault, text),
            "bad-check" => of_bad_check(fault, text),
            _ => None,
        };
        if let Some(hint) = hint {
            fault.hint = Some(hint);
        }
    }
}

fn of_wrong_type(fault: &Fault, text: &str) -> Option<String> {
    let found = fault.message.strip_prefix("expected a string, found ")?;
    let begins_with =
        |open: char| text.get(fault.span.start()..).is_some_and(|at| at.starts_with(open));
    Some(match found {
        "a number" | "true or false" => "put it in quotes".to_owned(),
        "a list" if begins_with('[') => {
            format!("a text that begins with `[` needs quotes: {QUOTE}")
        }
        "an object" if begins_with('{') => {
            format!("a text that begins with `{{` needs quotes: {QUOTE}")
        }
        "an object" => format!("a text with `: ` in it is an object to YAML: {QUOTE}"),
        _ => return None,
    })
}

/// `- grep -q foo: bar` is an object with the key `grep -q foo`.
fn of_bad_check(fault: &Fault, text: &str) -> Option<String> {
    let line = text.get(fault.span.start()..)?.lines().next()?;
    let (key, _) = line.split_once(": ")?;
    let is_command = key.trim().contains(' ') && !key.contains(['"', '\'', '{', '[']);
    is_command.then(|| "a command stands behind `command: `, in quotes if it holds `: `".to_owned())
}

/// Warns of text that YAML drops silently: `run: grep -c #include x` ends at the ` #`. An ordinary comment has a blank
/// behind its `#` and is not meant. `end` is the end of a bare text.
pub(super) fn trap(text: &str, end: usize) -> Option<Fault> {
    let end = text[..end].trim_end_matches([' ', '\t']).len();
    let rest = &text[end..];
    let comment = rest.trim_start_matches([' ', '\t']);
    let behind = comment.strip_prefix('#')?.chars().next()?;
    if comment.len() == rest.len() || behind.is_whitespace() || matches!(behind, '#' | '-' | '=') {
        return None;
    }
    let start = text.len() - comment.len();
    let end = start + 1;
    let message = "what follows the ` #` is a comment, not part of the text";
    let hint = "quote the text if it belongs to it, else put a blank behind the `#`";
    Some(fault("comment", Span::new(start, end), message, Some(hint)))
}
