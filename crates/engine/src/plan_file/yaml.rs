//! Turns a YAML text into the lossless tree of JSON, so that all later stages see one notation.
//!
//! Here: the reader, from the events of the parser, and the types of bare words by the core schema of YAML 1.2: `yes`,
//! `no`, `on` and dates are strings. `words` explains syntax errors. Not here: the meaning of keys.
//!
//! Invariant: a JSON text reads as the same tree, and a number is one to JSON. Numbers that readers of YAML take for
//! different ones are faults. Spans are bytes of the text. The tree is no larger than the limits.

mod words;

pub(super) use words::hint;

use std::sync::LazyLock;

use descent_core::doc::{
    Fault, Limits, Member, Node, Parsed, Places, Span, Value, duplicates, fits_double, pointer_push,
};
use granit_parser::{Event, Marker, Parser, ScalarStyle, StrInput, StructureStyle};
use regex::Regex;

const FAULTS_MAX: usize = 100;
const BYTE_ORDER_MARK: &str = "\u{feff}";
/// Characters of a key that a message or a pointer shows.
const KEY_SHOWN_MAX: usize = 200;
const NO_TAGS: &str = "a plan takes no tags; a text that begins with `!` needs quotes";
const NO_ANCHORS: &str = "write the value out; a text that begins with `&` or `*` needs quotes";
const TEXT_KEYS: &str = "put the key in quotes";

/// Reads a text whole. A syntax error ends the reading, with one fault and no tree; all else is found in one pass.
/// Oddities that are no faults go to `warnings`.
pub(super) fn parse(text: &str, limits: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.is_empty() {
        return Parsed::refused(fault("empty-file", Span::default(), "the file is empty", None));
    }
    YamlReader::new(text, text.len() - body.len(), limits).read(warnings)
}

/// Reads the text from byte `from` to the end. Numbers may be keys there, as other programs write them.
pub fn parse_below(text: &str, from: usize, limits: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
    let mut reader = YamlReader::new(text, from, limits);
    reader.takes_number_keys = true;
    reader.read(warnings)
}

fn fault(rule: &'static str, span: Span, message: &str, hint: Option<&str>) -> Fault {
    Fault { span, ..Fault::at(rule, "", message.to_owned(), hint) }
}

/// The reading is over, with a fault that is noted already.
struct ReadingOver;

struct YamlReader<'t> {
    events: Parser<'t, StrInput<'t>>,
    text: &'t str,
    from: usize,
    takes_number_keys: bool,
    limits: Limits,
    /// The keys and indexes of the open containers.
    path: Vec<String>,
    /// Nodes so far.
    nodes: usize,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl<'t> YamlReader<'t> {
    fn new(text: &'t str, from: usize, limits: &Limits) -> Self {
        Self {
            events: Parser::new_from_str(&text[from..]),
            text,
            from,
            takes_number_keys: false,
            limits: *limits,
            path: Vec::new(),
            nodes: 0,
            faults: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn read(mut self, warnings: &mut Vec<Fault>) -> Parsed {
        let mut node = self.document().ok().flatten();
        warnings.append(&mut self.warnings);
        let mut faults = self.faults;
        if node.as_ref().is_none_or(Node::is_null) && faults.is_empty() {
            let message = "the file holds no value";
            faults.push(fault("missing-value", Span::default(), message, None));
            node = None;
        }
        faults.sort_by_key(|fault| fault.span.start());
        Parsed { node, faults }
    }

    fn document(&mut self) -> Result<Option<Node>, ReadingOver> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentEnd, _) => {}
                (Event::StreamEnd, _) => return Ok(root),
                (Event::DocumentStart(..), span) if root.is_some() => {
                    let hint = "a plan is one document: take out the `---`, and what is behind it";
                    let message = "a second document begins here";
                    return Err(self.fail("extra-text", span, message, Some(hint)));
                }
                (Event::DocumentStart(..), _) => {}
                (event, span) => root = Some(self.node(event, span)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), ReadingOver> {
        match self.events.next() {
            Some(Ok((event, at))) => {
                let start = self.byte(at.tag_start().unwrap_or(at.start));
                let end = self.byte(at.end).max(start);
                Ok((event, Span::new(start, end)))
            }
            Some(Err(error)) => {
                let at = self.byte(*error.marker());
                let tab = words::tab(error.kind(), self.text, at);
                let start = tab.unwrap_or(at);
                let char = self.text[start..].chars().next();
                let span = Span::new(start, start + char.map_or(0, char::len_utf8));
                let (rule, message, hint) = words::explain(error.kind());
                Err(self.fail(rule, span, &message, Some(hint)))
            }
            None => Err(ReadingOver),
        }
    }

    fn byte(&self, marker: Marker) -> usize {
        let byte = marker.byte_offset().map_or(self.text.len(), |offset| self.from + offset);
        self.text.floor_char_boundary(byte)
    }

    fn fault(
        &mut self,
        rule: &'static str,
        span: Span,
        message: &str,
        hint: Option<&str>,
    ) -> Result<(), ReadingOver> {
        let mut fault = fault(rule, span, message, hint);
        fault.pointer = self.pointer();
        self.faults.push(fault);
        if self.faults.len() < FAULTS_MAX { Ok(()) } else { Err(ReadingOver) }
    }

    /// A fault after which no tree is left.
    fn fail(
        &mut self,
        rule: &'static str,
        span: Span,
        message: &str,
        hint: Option<&str>,
    ) -> ReadingOver {
        let _ = self.fault(rule, span, message, hint);
        ReadingOver
    }

    /// The place of the node that is being read.
    fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |to, step| pointer_push(&to, step))
    }

    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Node, ReadingOver> {
        if event.tag().is_some() {
            self.fault("yaml-tag", span, "a tag cannot stand here", Some(NO_TAGS))?;
        }
        if event.anchor_id().is_some_and(|id| id > 0) || matches!(event, Event::Alias(_)) {
            let message = "a plan takes no anchors and no aliases";
            return Err(self.fail("yaml-alias", span, message, Some(NO_ANCHORS)));
        }
        let node = match event {
            Event::SequenceStart(style, ..) => self.list(style, span)?,
            Event::MappingStart(style, ..) => self.object(style, span)?,
            Event::Scalar(text, ScalarStyle::Plain, ..) => self.bare(&text, span)?,
            Event::Scalar(text, ..) => Node { value: Value::String(text.into_owned()), span },
            _ => return Err(ReadingOver),
        };
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let message = format!("there are more than {} values", self.limits.nodes);
            return Err(self.fail("too-many-values", span, &message, None));
        }
        Ok(node)
    }

    fn enter(&mut self, span: Span) -> Result<(), ReadingOver> {
        if self.path.len() + 1 < self.limits.depth {
            return Ok(());
        }
        let message = format!("the nesting is {} deep, more than is allowed", self.limits.depth);
        Err(self.fail("too-deep", span, &message, None))
    }

    fn list(&mut self, style: StructureStyle, span: Span) -> Result<Node, ReadingOver> {
        self.enter(span)?;
        let mut items: Vec<Node> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            if event == Event::SequenceEnd {
                let last = items.last().map(|item| item.span);
                return Ok(self.closed(Value::Array(items), style, span, at, last));
            }
            self.path.push(items.len().to_string());
            items.push(self.node(event, at)?);
            self.path.pop();
        }
    }

    fn object(&mut self, style: StructureStyle, span: Span) -> Result<Node, ReadingOver> {
        self.enter(span)?;
        let mut members: Vec<Member> = Vec::new();
        loop {
            let (event, key_span) = self.next()?;
            if event == Event::MappingEnd {
                self.duplicates(&members)?;
                let last = members.last().map(|member| member.node.span);
                return Ok(self.closed(Value::Object(members), style, span, key_span, last));
            }
            let key = self.key(event, key_span)?;
            self.path.push(shown(&key).to_owned());
            let (event, mut at) = self.next()?;
            if matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty()) {
                // The place of a missing value is behind its key.
                at = Span::new(key_span.end(), key_span.end());
            }
            let node = self.node(event, at)?;
            self.path.pop();
            members.push(Member { key, key_span, node });
        }
    }

    /// A container that ends with its bracket, or with its last entry.
    fn closed(
        &self,
        value: Value,
        style: StructureStyle,
        open: Span,
        close: Span,
        last: Option<Span>,
    ) -> Node {
        let start = open.start();
        let is_bracket = self.text[close.start()..].starts_with([']', '}']);
        let end = match last {
            _ if style == StructureStyle::Flow && is_bracket => close.start() + 1,
            Some(last) => last.end().max(start),
            None => start,
        };
        Node { value, span: Span::new(start, end) }
    }

    fn key(&mut self, event: Event<'t>, span: Span) -> Result<String, ReadingOver> {
        let Event::Scalar(text, style, anchor, tag) = event else {
            let message = "a key must be text, not an alias, a list or an object";
            return Err(self.fail("bad-key", span, message, Some(TEXT_KEYS)));
        };
        let is_plain = style == ScalarStyle::Plain;
        if tag.is_some() {
            self.fault("yaml-tag", span, "a tag cannot stand here", Some(NO_TAGS))?;
        }
        if anchor > 0 {
            self.fault("bad-key", span, "a key cannot have an anchor", Some(TEXT_KEYS))?;
        } else if is_plain && text == "<<" {
            let hint = "a plan takes no merge keys: write the keys out";
            self.fault("merge-key", span, "`<<` merges nothing here", Some(hint))?;
        } else if is_plain && !self.can_be_key(&text) {
            let message = format!("a key must be text, and `{}` is none", shown(&text));
            self.fault("bad-key", span, &message, Some(TEXT_KEYS))?;
        }
        Ok(text.into_owned())
    }

    fn can_be_key(&self, text: &str) -> bool {
        match plain(text).value {
            Value::String(_) => true,
            Value::Number(_) => self.takes_number_keys,
            _ => false,
        }
    }

    /// A text without quotes.
    fn bare(&mut self, text: &str, span: Span) -> Result<Node, ReadingOver> {
        let read = plain(text);
        if let Some((message, hint)) = read.wrong {
            self.fault("bad-number", span, message, Some(&hint))?;
        }
        if self.warnings.len() < FAULTS_MAX
            && let Some(mut trap) = words::trap(self.text, span.end())
        {
            trap.pointer = self.pointer();
            self.warnings.push(trap);
        }
        Ok(Node { value: read.value, span })
    }

    fn duplicates(&mut self, members: &[Member]) -> Result<(), ReadingOver> {
        for (first, second) in duplicates(members) {
            let (line, column) = Places::new(self.text).line_col(first.key_span.start());
            let key = shown(&second.key);
            let message = format!("the key `{key}` already stands at {line}:{column}");
            self.path.push(key.to_owned());
            let hint = Some("keep one of them");
            self.fault("duplicate-key", second.key_span, &message, hint)?;
            self.path.pop();
        }
        Ok(())
    }
}

fn shown(key: &str) -> &str {
    &key[..key.floor_char_boundary(KEY_SHOWN_MAX)]
}

/// A value or its fault: message and hint. `value` then is the one that was probably meant.
struct Scalar {
    value: Value,
    wrong: Option<(&'static str, String)>,
}

fn plain(text: &str) -> Scalar {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => return number(text).unwrap_or_else(|| fine(Value::String(text.to_owned()))),
    };
    fine(value)
}

fn fine(value: Value) -> Scalar {
    Scalar { value, wrong: None }
}

/// `None` if the word is no number of the core schema.
fn number(text: &str) -> Option<Scalar> {
    static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let infinite = r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)";
        Regex::new(&format!(r"^({infinite}|0x[0-9a-fA-F]+|0o[0-7]+)$")).ok()
    });
    static DECIMAL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$").ok());
    let wrong = |message, hint: &str| {
        let wrong = Some((message, hint.to_owned()));
        Some(Scalar { value: Value::String(text.to_owned()), wrong })
    };
    if OTHER.as_ref()?.is_match(text) {
        let hint = "write it so, or put it in quotes if it is text";
        return wrong("a plan has decimal numbers only, and no infinite ones", hint);
    }
    let parts = DECIMAL.as_ref()?.captures(text)?;
    let part = |nth| parts.get(nth).map(|part: regex::Match<'_>| part.as_str());
    let (whole, fraction) = (part(2).unwrap_or_default(), part(3));
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    // JSON has a digit on both sides of the point, no plus and no leading zero.
    let sign = part(1).filter(|sign| *sign == "-").unwrap_or_default();
    let digits = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let fraction = match fraction {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(fraction) => format!(".{fraction}"),
    };
    let number = format!("{sign}{digits}{fraction}{}", part(4).unwrap_or_default());
    if whole.len() > 1 && whole.starts_with('0') {
        let hint = format!("write {number}, or put it in quotes if it is text");
        return wrong("a number with a leading zero is octal to some and decimal to others", &hint);
    }
    if !fits_double(&number) {
        return wrong("this number is too large for a double", "put it in quotes");
    }
    Some(fine(Value::Number(number)))
}
