//! Turns a YAML text into the lossless tree of JSON, so that all later stages see one notation.
//!
//! Here: the reader, from the events of the parser. `scalar` types bare words, and `words` explains syntax errors. Not
//! here: the meaning of keys.
//!
//! Invariant: a JSON text reads as the same tree. Spans are bytes of the text. The tree is no larger than the limits,
//! whatever its aliases name; copies count like written nodes. Strings are strings by the rules of YAML 1.2: `yes`, `no`,
//! `on` and dates too.

mod scalar;
mod words;

pub(super) use words::hint;

use std::collections::BTreeMap;

use descent_core::doc::{Fault, Limits, Member, Node, Parsed, Places, Span, Value, pointer_push};
use granit_parser::{Event, Marker, Parser, ScalarStyle, StrInput, StructureStyle};

const FAULTS_MAX: usize = 100;
const BYTE_ORDER_MARK: &str = "\u{feff}";
/// Characters of a key that a message or a pointer shows.
const KEY_SHOWN_MAX: usize = 200;
const NO_TAGS: &str = "a plan takes no tags; a text that begins with `!` needs quotes";
const TEXT_KEYS: &str = "put the key in quotes";

/// Reads a text whole. A syntax error ends the reading, with one fault and no tree; all else is found in one pass.
/// Oddities that are no faults go to `warnings`.
pub(super) fn parse(text: &str, limits: &Limits, warnings: &mut Vec<Fault>) -> Parsed {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if body.is_empty() {
        let fault = fault("empty-file", Span::default(), "the file is empty", None);
        return Parsed { node: None, faults: vec![fault] };
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
    Fault {
        span,
        pointer: String::new(),
        rule,
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    }
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
    /// Finished nodes that have an anchor.
    anchors: BTreeMap<usize, Node>,
    /// Nodes so far, written and copied.
    nodes: usize,
    /// The bytes of strings and keys that anchors and aliases copied.
    copied_bytes: usize,
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
            anchors: BTreeMap::new(),
            nodes: 0,
            copied_bytes: 0,
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
        let anchor = event.anchor_id().unwrap_or_default();
        let node = match event {
            Event::Alias(id) => return self.alias(id, span),
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
        if anchor > 0 {
            self.copied(&node)?;
            self.anchors.insert(anchor, node.clone());
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
            let hint = "a plan takes no merge keys: write the keys out, or name a whole value with `&` and `*`";
            self.fault("merge-key", span, "`<<` merges nothing here", Some(hint))?;
        } else if is_plain && !self.can_be_key(&text) {
            let message = format!("a key must be text, and `{}` is none", shown(&text));
            self.fault("bad-key", span, &message, Some(TEXT_KEYS))?;
        }
        Ok(text.into_owned())
    }

    fn can_be_key(&self, text: &str) -> bool {
        match scalar::plain(text).value {
            Value::String(_) => true,
            Value::Number(_) => self.takes_number_keys,
            _ => false,
        }
    }

    /// A text without quotes.
    fn bare(&mut self, text: &str, span: Span) -> Result<Node, ReadingOver> {
        let read = scalar::plain(text);
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

    fn alias(&mut self, id: usize, span: Span) -> Result<Node, ReadingOver> {
        let Some(mut node) = self.anchors.get(&id).cloned() else {
            let hint = "a text that begins with `*` needs quotes";
            let message = "this alias stands inside of what it names";
            return Err(self.fail("yaml-alias", span, message, Some(hint)));
        };
        node.span = span;
        self.copied(&node)?;
        Ok(node)
    }

    /// Counts the copies of an anchor or an alias; a few lines could name more than any memory holds.
    fn copied(&mut self, node: &Node) -> Result<(), ReadingOver> {
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            self.nodes += 1;
            match &node.value {
                Value::String(text) | Value::Number(text) => self.copied_bytes += text.len(),
                Value::Array(items) => todo.extend(items),
                Value::Object(members) => {
                    self.copied_bytes += members.iter().map(|one| one.key.len()).sum::<usize>();
                    todo.extend(members.iter().map(|one| &one.node));
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
        if self.nodes <= self.limits.nodes && self.copied_bytes <= self.limits.bytes {
            return Ok(());
        }
        let message = "the aliases name more than a plan may hold";
        let hint = Some("write less of it twice");
        Err(self.fail("too-many-values", node.span, message, hint))
    }

    fn duplicates(&mut self, members: &[Member]) -> Result<(), ReadingOver> {
        let mut order: Vec<&Member> = members.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        for same in order.chunk_by(|a, b| a.key == b.key) {
            for second in &same[1..] {
                let (line, column) = Places::new(self.text).line_col(same[0].key_span.start());
                let key = shown(&second.key);
                let message = format!("the key `{key}` already stands at {line}:{column}");
                self.path.push(key.to_owned());
                let hint = Some("keep one of them");
                self.fault("duplicate-key", second.key_span, &message, hint)?;
                self.path.pop();
            }
        }
        Ok(())
    }
}

fn shown(key: &str) -> &str {
    &key[..key.floor_char_boundary(KEY_SHOWN_MAX)]
}
