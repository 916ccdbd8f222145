//! The state file of an AoT loop on the disk: Markdown with YAML in front, often written by `sed` and by hand.
//!
//! Here: the end of the front matter, repairs of its text, and its tree. A text is repaired only if it can be meant in
//! one way: all else is a fault. Not here: the meaning of the keys.
//!
//! Invariant: every place is one of the text as it was written.

use core::ops::Range;
use descent_core::doc::prelude::*;

use descent_core::doc::{self, Fault, Limits, Member, Node, Parsed, Span, Value};
use descent_core::state::check::Pattern;

use crate::report::{Fate, Report};

const FENCE: &str = "---";
pub(crate) const HEADING: &str = "# Original Prompt";
/// Keys whose texts the loop's own scripts quote without escaping.
const WRITTEN_BLINDLY: [&str; 4] = ["description", "summary", "reason", "stop_reason"];

/// The services of the host for a migration.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Reads a text as YAML from that byte on; oddities that are no faults go to the warnings.
    pub yaml: fn(&str, usize, &Limits, &mut Vec<Fault>) -> Parsed,
    /// The faults of the regular expressions among them.
    pub pattern_faults: fn(&[Pattern]) -> Vec<Fault>,
}

/// The front matter as a tree, and the place of the text below it.
#[derive(Debug)]
pub(crate) struct FrontMatter {
    pub(crate) front: Node,
    pub(crate) body: Range<usize>,
    pub(crate) warnings: Vec<Fault>,
    pub(crate) text: String,
}

/// `report` receives the repairs.
pub(crate) fn read(
    bytes: &[u8],
    host: Host,
    report: &mut Report,
) -> Result<FrontMatter, Vec<Fault>> {
    let (mut body, mut warnings) = (0..0, Vec::new());
    let parsed = doc::parse_bytes_as(bytes, &Limits::default(), |text, limits| {
        let parts = match split(text, report) {
            Ok(parts) => parts,
            Err(faults) => return Parsed { node: None, faults },
        };
        if text[parts.front.clone()].contains("\r\n") {
            mended_at(0, "lines end with CR LF, read as line ends", report);
        }
        let mended = mend(text, &parts.front, report);
        body = parts.body;
        let parsed = (host.yaml)(&mended.text, parts.front.start, limits, &mut warnings);
        mended.back(parsed, &mut warnings)
    });
    match parsed.node {
        Some(front) if parsed.faults.is_empty() => {
            Ok(FrontMatter { front, body, warnings, text: doc::readable(bytes).into_owned() })
        }
        _ => Err(parsed.faults),
    }
}

struct Parts {
    front: Range<usize>,
    body: Range<usize>,
}

/// A fence is a line of three dashes at the left; the first one after the beginning closes.
fn split(text: &str, report: &mut Report) -> Result<Parts, Vec<Fault>> {
    let mut at = 0;
    if text.starts_with('\u{feff}') {
        at = '\u{feff}'.len_utf8();
        mended_at(0, "a byte order mark, passed over", report);
    }
    let mut lines = text[at..].split_inclusive('\n');
    let first = lines.by_ref().find(|line| {
        let is_blank = line.trim().is_empty();
        at += line.len();
        !is_blank
    });
    if first.map(str::trim_end) != Some(FENCE) {
        let hint = "the state file of an AoT loop is Markdown that begins with `---` and YAML";
        let message = "there is no front matter: the file does not begin with a line `---`";
        return Err(fault("no-front-matter", 0..0, message, hint));
    }
    let start = at;
    let mut headings = Vec::new();
    for line in lines {
        match line.trim_end() {
            HEADING => headings.push(at),
            FENCE if headings.is_empty() => {
                return Ok(Parts { front: start..at, body: at + line.len()..text.len() });
            }
            _ => {}
        }
        at += line.len();
    }
    let [heading] = headings.as_slice() else {
        let end = text.trim_end().len();
        let message = "the front matter is not closed: there is no second line `---`";
        let hint = "write `---` where the YAML ends";
        return Err(fault("unclosed", end..end, message, hint));
    };
    let what = "the closing `---` is missing: the front matter ends above `# Original Prompt`";
    mended_at(*heading, what, report);
    Ok(Parts { front: start..*heading, body: *heading..text.len() })
}

fn fault(rule: &'static str, at: Range<usize>, message: &str, hint: &str) -> Vec<Fault> {
    Vec::from([Fault {
        span: Span::new(at.start, at.end),
        pointer: String::new(),
        rule,
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    }])
}

fn mended_at(at: usize, what: &str, report: &mut Report) {
    report.add(Fate::Mended, "", Span::new(at, at), what);
}

/// The text up to the end of the front matter with bare quotes escaped.
struct MendedText {
    text: String,
    /// The places at which a backslash was added.
    added: Vec<usize>,
}

fn mend(text: &str, front: &Range<usize>, report: &mut Report) -> MendedText {
    let mut mended = MendedText { text: text[..front.start].to_owned(), added: Vec::new() };
    let mut at = front.start;
    for line in text[front.clone()].split_inclusive('\n') {
        let quotes = bare_quotes(line);
        let mut from = 0;
        for quote in &quotes {
            mended.text.push_str(&line[from..*quote]);
            mended.added.push(mended.text.len());
            mended.text.push('\\');
            from = *quote;
        }
        mended.text.push_str(&line[from..]);
        if let Some(first) = quotes.first() {
            let span = Span::new(at + first, at + first + 1);
            let what = "quotes inside of a quoted text, read as part of it";
            report.add(Fate::Mended, "", span, what);
        }
        at += line.len();
    }
    mended
}

impl MendedText {
    /// The same with places of the original text.
    fn back(&self, mut parsed: Parsed, warnings: &mut [Fault]) -> Parsed {
        if let Some(node) = &mut parsed.node {
            self.node_back(node);
        }
        let faults = parsed.faults.iter_mut().chain(warnings);
        faults.for_each(|fault| self.span_back(&mut fault.span));
        parsed
    }

    /// The reader's limits bound the depth.
    fn node_back(&self, node: &mut Node) {
        self.span_back(&mut node.span);
        match &mut node.value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.node_back(item)),
            Value::Object(members) => {
                for Member { key_span, node, .. } in members {
                    self.span_back(key_span);
                    self.node_back(node);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn span_back(&self, span: &mut Span) {
        let before = |at: usize| at - self.added.partition_point(|added| *added < at);
        *span = Span::new(before(span.start()), before(span.end()));
    }
}

/// The inner quotes of `description: "say "hi" now"`. Only lines that the scripts write, and that are no YAML as they
/// stand, have any.
fn bare_quotes(line: &str) -> Vec<usize> {
    let trimmed = line.trim_end();
    let key = trimmed.trim_start().trim_start_matches("- ").trim_start();
    let Some((name, value)) = key.split_once(':') else {
        return Vec::new();
    };
    let value = value.trim_start();
    let is_quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
    if !WRITTEN_BLINDLY.contains(&name) || !is_quoted {
        return Vec::new();
    }
    let start = trimmed.len() - value.len() + 1;
    let inner = &trimmed[start..trimmed.len() - 1];
    let mut quotes = Vec::new();
    let mut is_escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\\' => is_escaped = !is_escaped,
            '"' if !is_escaped => quotes.push(start + at),
            _ => is_escaped = false,
        }
    }
    // If a comment follows the first one, it is YAML, and the quotes belong to the comment.
    let is_comment = quotes.first().is_some_and(|first| {
        let behind = &trimmed[first + 1..];
        behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#')
    });
    if is_comment { Vec::new() } else { quotes }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[track_caller]
    fn check_quotes(line: &str, expected: &[usize]) {
        assert_eq!(bare_quotes(line), expected, "{line}");
    }

    #[test]
    fn quotes_are_mended_only_where_a_script_wrote_them_and_one_reading_is_left() {
        check_quotes("    description: \"say \"hi\" now\"\n", &[22, 25]);
        check_quotes("  - description: \"a \"b\"\"\r\n", &[20, 22]);
        check_quotes("    description: \"all \\\"well\\\" here\"\n", &[]);
        check_quotes("    description: \"a\" # \"b\"\n", &[]);
        check_quotes("    description: plain \"words\"\n", &[]);
        check_quotes("    value: \"grep \"x\" f\"\n", &[]);
        check_quotes("    description: \"\n", &[]);
    }

    /// A substitute for YAML: the tree is the text of the front matter, with the place of the word `status` in it.
    fn word(text: &str, from: usize, _: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
        let at = text.find("status").expect("the word");
        warnings.extend(fault("odd", at..at, "", ""));
        let mut node = Node::string(&text[from..]);
        node.span = Span::new(at, at + "status".len());
        Parsed { node: Some(node), faults: Vec::new() }
    }

    const HOST: Host = Host { yaml: word, pattern_faults: |_| Vec::new() };

    #[test]
    fn places_are_those_of_the_text_as_it_was_written() {
        let text = "---\n- description: \"say \"hi\" now\"\n  status: x\n---\n";
        let read = read(text.as_bytes(), HOST, &mut Report::default()).expect("a front matter");
        let mended = "- description: \"say \\\"hi\\\" now\"\n  status: x\n";
        assert_eq!(read.front.as_str(), Some(mended));
        let span = read.front.span;
        assert_eq!(&text[span.start()..span.end()], "status");
        assert_eq!(read.warnings[0].span.start(), span.start());
    }

    #[test]
    fn the_first_fence_closes_and_a_heading_closes_where_there_is_none() {
        let body = |text: &str| match split(text, &mut Report::default()) {
            Ok(parts) => text[parts.body].to_owned(),
            Err(faults) => faults[0].rule.to_owned(),
        };
        let end = "# Original Prompt\n\na\n---\nb\n";
        assert_eq!(body(&format!("---\na: 1\n---\n{end}")), end);
        assert_eq!(body(&format!("---\na: 1\n{end}")), end);
        assert_eq!(body("---\na: 1\n"), "unclosed");
        assert_eq!(body("a: 1\n"), "no-front-matter");
        assert_eq!(body(""), "no-front-matter");
    }
}
