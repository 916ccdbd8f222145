//! The state file of an AoT loop as it lies on the disk: Markdown with YAML in front, often written by `sed` and hand.
//!
//! Here: where the front matter ends, what is mended in its text, and its tree. Mended is only what can be meant in one
//! way: all else is a fault. Not here: what the keys mean (`migrate` of the core).
//!
//! Invariant: every place is one of the text as it was written.

use std::ops::Range;

use descent_core::{
    doc::{self, Fault, Limits, Member, Node, Parsed, Span, Value},
    migrate::{Fate, Report},
};

use super::yaml;

const FENCE: &str = "---";
const HEADING: &str = "# Original Prompt";
/// Texts that the loop's own scripts put between quotes without looking at what is in them.
const WRITTEN_BLINDLY: [&str; 4] = ["description", "summary", "reason", "stop_reason"];

/// The front matter as a tree, and where the text below it stands.
#[derive(Debug)]
pub struct FrontMatter {
    pub front: Option<Node>,
    pub body: Range<usize>,
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// What was mended.
    pub report: Report,
    pub text: String,
}

pub fn read(bytes: &[u8]) -> FrontMatter {
    let mut file = FrontMatter {
        front: None,
        body: 0..0,
        faults: Vec::new(),
        warnings: Vec::new(),
        report: Report::default(),
        text: doc::readable(bytes).into_owned(),
    };
    let parsed = doc::parse_bytes_as(bytes, &Limits::default(), |text, limits| {
        parse(text, limits, &mut file)
    });
    file.front = parsed.node;
    file.faults = parsed.faults;
    file
}

fn parse(text: &str, limits: &Limits, file: &mut FrontMatter) -> Parsed {
    let parts = match split(text) {
        Ok(parts) => parts,
        Err(fault) => {
            return Parsed {
                node: None,
                faults: vec![*fault],
            };
        }
    };
    say_what_was_split(text, &parts, &mut file.report);
    file.body = parts.body.clone();
    let (mended, added) = mend(text, &parts.front, &mut file.report);
    let mut parsed = yaml::parse_below(&mended, parts.front.start, limits, &mut file.warnings);
    let back = |span: &mut Span| {
        *span = Span::new(before(&added, span.start()), before(&added, span.end()));
    };
    if let Some(node) = &mut parsed.node {
        each_span(node, &back);
    }
    let faults = parsed.faults.iter_mut().chain(&mut file.warnings);
    faults.for_each(|fault| back(&mut fault.span));
    parsed
}

struct Parts {
    front: Range<usize>,
    body: Range<usize>,
    has_mark: bool,
    is_closed: bool,
}

/// A fence is a line of three dashes at the left; the first one below the beginning closes.
fn split(text: &str) -> Result<Parts, Box<Fault>> {
    let has_mark = text.starts_with('\u{feff}');
    let mut at = if has_mark { '\u{feff}'.len_utf8() } else { 0 };
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
                return Ok(Parts {
                    front: start..at,
                    body: at + line.len()..text.len(),
                    has_mark,
                    is_closed: true,
                });
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
    Ok(Parts {
        front: start..*heading,
        body: *heading..text.len(),
        has_mark,
        is_closed: false,
    })
}

fn fault(rule: &'static str, at: Range<usize>, message: &str, hint: &str) -> Box<Fault> {
    Box::new(Fault {
        span: Span::new(at.start, at.end),
        pointer: String::new(),
        rule,
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    })
}

fn say_what_was_split(text: &str, parts: &Parts, report: &mut Report) {
    let point = |at: usize| Span::new(at, at);
    if parts.has_mark {
        report.add(
            Fate::Mended,
            ("", point(0)),
            "a byte order mark, passed over",
        );
    }
    if text[parts.front.clone()].contains("\r\n") {
        report.add(
            Fate::Mended,
            ("", point(0)),
            "lines end with CR LF, read as line ends",
        );
    }
    if !parts.is_closed {
        let what = "the closing `---` is missing: the front matter ends above `# Original Prompt`";
        report.add(Fate::Mended, ("", point(parts.front.end)), what);
    }
}

/// The text up to the end of the front matter with bare quotes escaped, and where a backslash was added.
fn mend(text: &str, front: &Range<usize>, report: &mut Report) -> (String, Vec<usize>) {
    let mut mended = text[..front.start].to_owned();
    let mut added = Vec::new();
    let mut at = front.start;
    for line in text[front.clone()].split_inclusive('\n') {
        let quotes = bare_quotes(line);
        let mut from = 0;
        for quote in &quotes {
            mended.push_str(&line[from..*quote]);
            added.push(mended.len());
            mended.push('\\');
            from = *quote;
        }
        mended.push_str(&line[from..]);
        if let Some(first) = quotes.first() {
            let span = Span::new(at + first, at + first + 1);
            report.add(
                Fate::Mended,
                ("", span),
                "quotes inside of a quoted text, read as part of it",
            );
        }
        at += line.len();
    }
    (mended, added)
}

/// Of `description: "say "hi" now"` the inner quotes, where the line is one that the scripts write and is no YAML as
/// it stands.
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
    // Behind the first one stands a comment: then it is YAML, and the quotes belong to that.
    let is_comment = quotes.first().is_some_and(|first| {
        let behind = &trimmed[first + 1..];
        behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#')
    });
    if is_comment { Vec::new() } else { quotes }
}

/// Where a byte of the mended text stood.
fn before(added: &[usize], at: usize) -> usize {
    at - added.partition_point(|place| *place < at)
}

/// The depth is bounded by the limits of the reader.
fn each_span(node: &mut Node, back: &impl Fn(&mut Span)) {
    back(&mut node.span);
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_span(item, back)),
        Value::Object(members) => {
            for Member { key_span, node, .. } in members {
                back(key_span);
                each_span(node, back);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn places_are_those_of_the_text_as_it_was_written() {
        let text =
            "---\natoms:\n  - id: A1\n    description: \"say \"hi\" now\"\n    status: [\n---\n";
        let read = read(text.as_bytes());
        assert!(read.front.is_none());
        let at = read.faults[0].span.start();
        assert!(
            at > text.find("status").expect("the key"),
            "{:?}",
            read.faults
        );
        let text = text.replace("status: [", "status: x");
        let read = super::read(text.as_bytes());
        let front = read.front.expect("a tree");
        let atom = &front.get("atoms").and_then(Node::as_array).expect("a list")[0];
        assert_eq!(
            atom.get("description").and_then(Node::as_str),
            Some("say \"hi\" now")
        );
        let status = atom.get("status").expect("a status").span;
        assert_eq!(&text[status.start()..status.end()], "x");
    }

    #[test]
    fn the_first_fence_closes_and_a_heading_closes_where_there_is_none() {
        let body = |text: &str| {
            let read = read(text.as_bytes());
            let faults: Vec<&str> = read.faults.iter().map(|fault| fault.rule).collect();
            (read.text[read.body].to_owned(), faults)
        };
        let (end, none): (_, Vec<&str>) = ("# Original Prompt\n\na\n---\nb\n", Vec::new());
        assert_eq!(
            body(&format!("---\na: 1\n---\n{end}")),
            (end.to_owned(), none.clone())
        );
        assert_eq!(body(&format!("---\na: 1\n{end}")), (end.to_owned(), none));
        assert_eq!(body("---\na: 1\n").1, ["unclosed"]);
        assert_eq!(body("a: 1\n").1, ["no-front-matter"]);
        assert_eq!(body("").1.len(), 1);
    }
}
