//! YAML's pitfalls, in words that say what to type instead.
//!
//! Here: the parser's errors in plain words, hints for values that YAML read differently than meant, and warnings of
//! text that it drops silently. Not here: finding errors.

use descent_core::doc::{Fault, Span};
use granit_parser::ErrorKind;

use super::fault;

const QUOTE: &str = "put the whole text in quotes, or write it under `|`";

/// An error of the parser: its rule, its message, and the remedy.
pub(super) fn explain(kind: &ErrorKind) -> (&'static str, String, &'static str) {
    use ErrorKind as E;
    let hint = match kind {
        E::RecursionLimitExceeded => {
            return ("too-deep", "the nesting is deeper than is allowed".to_owned(), "nest less");
        }
        E::UnknownAnchor | E::MissingAnchorOrAliasName => {
            "a text or glob that begins with `*` needs quotes"
        }
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => {
            "single quotes keep backslashes as they are: '\\d+'"
        }
        kind if is_tab(kind) => "indent with spaces, no tabs",
        E::SimpleKeyExpected | E::ExpectedBlockMappingKey | E::InvalidIndentation => {
            "write `key: value`; what goes on in the next line is indented further"
        }
        E::UnclosedQuotedScalar => "close the quote; the file may have been cut off",
        E::UnclosedFlowCollection { .. } | E::MismatchedFlowCollectionEnd { .. } => {
            "close what opens here; a text with a bracket needs quotes"
        }
        E::MappingValueNotAllowed
        | E::InvalidTrailingDoubleQuotedScalar
        | E::InvalidTrailingSingleQuotedScalar
        | E::MisplacedFlowCollectionEnd
        | E::CommentInterceptedScalar
        | E::UnexpectedCharacter { .. } => QUOTE,
        _ => "look at the indentation and the quotes of this line and of the one above",
    };
    ("yaml-syntax", format!("this is no YAML: {kind}"), hint)
}

fn is_tab(kind: &ErrorKind) -> bool {
    use ErrorKind as E;
    matches!(
        kind,
        E::TabNotAllowed
            | E::TabInBlockIndentation
            | E::TabInIndentation
            | E::TabAtBlockScalarStart
            | E::TabInPlainScalar
            | E::InvalidBlockEntryWhitespace
    )
}

/// The place of a tab that indents, from the line of the error on: it is shown, not the text that it breaks.
pub(super) fn tab(kind: &ErrorKind, text: &str, at: usize) -> Option<usize> {
    if !is_tab(kind) {
        return None;
    }
    let mut line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let mut lines = text[line_start..].split_inclusive('\n');
    lines.find_map(|line| {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        let at = line_start + blanks;
        line_start += line.len();
        line[blanks..].starts_with('\t').then_some(at)
    })
}

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
    let first = text.get(fault.span.start()..)?.chars().next();
    let open = first.filter(|first| matches!(first, '[' | '{'));
    Some(match (found, open) {
        ("a number" | "true or false", _) => "put it in quotes".to_owned(),
        ("a list" | "an object", Some(open)) => {
            format!("a text that begins with `{open}` needs quotes: {QUOTE}")
        }
        ("an object", None) => format!("a text with `: ` in it is an object to YAML: {QUOTE}"),
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
