//! Builds the tree event by event, on a stack of open containers.
//!
//! Invariant: no recursion; the stack is no higher than the limit of depth; copies by aliases count like written nodes.

use std::collections::BTreeMap;

use descent_core::doc::{Fault, Limits, Member, Node, Parsed, Span, Value, pointer_push};
use saphyr_parser::{Event, ScalarStyle};

use super::{FAULTS_MAX, fault, is_end, lines::YamlLines, scalar, words};

/// Characters of a key that a message or a pointer shows.
const KEY_SHOWN_MAX: usize = 200;
const NO_TAGS: &str = "a plan takes no tags; a text that begins with `!` needs quotes";
const TEXT_KEYS: &str = "put the key in quotes";

/// An open container: a list, or an object with the key that waits for its value.
enum OpenContainer {
    List(Vec<Node>),
    Object(Vec<Member>, Option<(String, Span)>),
}

struct Frame {
    open: OpenContainer,
    start: usize,
    anchor: usize,
}

pub(super) struct Builder<'t> {
    pub(super) lines: YamlLines<'t>,
    text: &'t str,
    from: usize,
    pub(super) takes_number_keys: bool,
    limits: Limits,
    stack: Vec<Frame>,
    root: Option<Node>,
    /// Finished nodes that have an anchor.
    anchors: BTreeMap<usize, Node>,
    /// Nodes so far, written and copied.
    nodes: usize,
    /// The bytes of strings and keys that anchors and aliases copied.
    copied_bytes: usize,
    faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    documents: usize,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, from: usize, limits: &Limits) -> Self {
        Self {
            lines: YamlLines::new(text, from),
            text,
            from,
            takes_number_keys: false,
            limits: *limits,
            stack: Vec::new(),
            root: None,
            anchors: BTreeMap::new(),
            nodes: 0,
            copied_bytes: 0,
            faults: Vec::new(),
            warnings: Vec::new(),
            documents: 0,
        }
    }

    /// The whole text, and the part to be read.
    pub(super) fn texts(&self) -> (&'t str, &'t str) {
        (self.text, &self.text[self.from..])
    }

    /// `None` when the reading is over.
    pub(super) fn take(&mut self, event: Event<'_>, at: saphyr_parser::Span) -> Option<()> {
        let span = self.lines.span(at);
        if is_end(&event) {
            return None;
        }
        match event {
            Event::DocumentStart(_) => self.document(span),
            Event::Alias(id) => self.alias(id, span),
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    self.fault("yaml-tag", span, "a tag cannot stand here", Some(NO_TAGS));
                }
                self.scalar(text.into_owned(), style, anchor, span)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(OpenContainer::List(Vec::new()), anchor, tag.is_some(), span)
            }
            Event::MappingStart(anchor, tag) => {
                let open = OpenContainer::Object(Vec::new(), None);
                self.open(open, anchor, tag.is_some(), span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Some(()),
        }
    }

    pub(super) fn finish(self) -> Parsed {
        let mut faults = self.faults;
        let mut node = self.root;
        if node.as_ref().is_none_or(Node::is_null) && faults.is_empty() {
            let message = "the file holds no value";
            faults.push(fault("missing-value", Span::default(), message, None));
            node = None;
        }
        faults.sort_by_key(|fault| fault.span.start());
        Parsed { node, faults }
    }

    /// A fault after which no tree is left.
    pub(super) fn fail(
        &mut self,
        rule: &'static str,
        span: Span,
        message: &str,
        hint: Option<&str>,
    ) -> Option<()> {
        let _ = self.fault(rule, span, message, hint);
        self.root = None;
        self.stack.clear();
        None
    }

    fn fault(
        &mut self,
        rule: &'static str,
        span: Span,
        message: &str,
        hint: Option<&str>,
    ) -> Option<()> {
        let mut fault = fault(rule, span, message, hint);
        fault.pointer = self.pointer();
        self.faults.push(fault);
        (self.faults.len() < FAULTS_MAX).then_some(())
    }

    /// The place of the node that is being read.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for frame in &self.stack {
            match &frame.open {
                OpenContainer::List(items) => {
                    pointer = pointer_push(&pointer, &items.len().to_string())
                }
                OpenContainer::Object(_, Some((key, _))) => {
                    pointer = pointer_push(&pointer, shown(key))
                }
                OpenContainer::Object(_, None) => {}
            }
        }
        pointer
    }

    fn document(&mut self, span: Span) -> Option<()> {
        self.documents += 1;
        if self.documents > 1 {
            let hint = "a plan is one document: take out the `---`, and what is behind it";
            return self.fail("extra-text", span, "a second document begins here", Some(hint));
        }
        Some(())
    }

    fn waits_for_key(&self) -> bool {
        let top = self.stack.last().map(|frame| &frame.open);
        matches!(top, Some(OpenContainer::Object(_, None)))
    }

    fn open(
        &mut self,
        open: OpenContainer,
        anchor: usize,
        has_tag: bool,
        span: Span,
    ) -> Option<()> {
        if self.waits_for_key() {
            let message = "a key must be text, not a list or an object";
            return self.fail("bad-key", span, message, Some(TEXT_KEYS));
        }
        if self.stack.len() + 1 >= self.limits.depth {
            let message =
                format!("the nesting is {} deep, more than is allowed", self.limits.depth);
            return self.fail("too-deep", span, &message, None);
        }
        if has_tag {
            self.fault("yaml-tag", span, "a tag cannot stand here", Some(NO_TAGS))?;
        }
        let start = span.start();
        self.stack.push(Frame { open, start, anchor });
        Some(())
    }

    fn close(&mut self, span: Span) -> Option<()> {
        let frame = self.stack.pop()?;
        let start = frame.start;
        let is_flow = self.text[span.start()..].starts_with([']', '}']);
        let (value, last) = match frame.open {
            OpenContainer::List(items) => {
                let last = items.last().map(|item| item.span.end());
                (Value::Array(items), last)
            }
            OpenContainer::Object(members, _) => {
                let last = members.last().map(|member| member.node.span.end());
                self.duplicates(&members)?;
                (Value::Object(members), last)
            }
        };
        let opened = self.text[start..].starts_with(['[', '{']);
        let end = match last {
            _ if is_flow && (opened || frame.anchor > 0) => span.start() + 1,
            last => last.unwrap_or(start).max(start),
        };
        let span = Span::new(start, end);
        self.put(Node { value, span }, frame.anchor)
    }

    fn scalar(
        &mut self,
        text: String,
        style: ScalarStyle,
        anchor: usize,
        span: Span,
    ) -> Option<()> {
        let is_plain = style == ScalarStyle::Plain;
        if self.waits_for_key() {
            return self.key(text, is_plain, anchor, span);
        }
        if !is_plain {
            let value = Value::String(text);
            return self.put(Node { value, span }, anchor);
        }
        let span = if text.is_empty() { self.missing(span) } else { span };
        let read = scalar::plain(&text);
        if let Some((message, hint)) = read.wrong {
            self.fault("bad-number", span, message, Some(&hint))?;
        }
        if self.warnings.len() < FAULTS_MAX
            && let Some(mut trap) = words::trap(self.text, span.end())
        {
            trap.pointer = self.pointer();
            self.warnings.push(trap);
        }
        let value = read.value;
        self.put(Node { value, span }, anchor)
    }

    /// The place of a missing value: behind its key.
    fn missing(&self, span: Span) -> Span {
        let Some(Frame { open: OpenContainer::Object(_, Some((_, key))), .. }) = self.stack.last()
        else {
            return span;
        };
        let (start, end) = (key.end(), key.end());
        Span::new(start, end)
    }

    fn key(&mut self, text: String, is_plain: bool, anchor: usize, span: Span) -> Option<()> {
        let wrong = if anchor > 0 {
            Some(("bad-key", "a key cannot have an anchor".to_owned(), TEXT_KEYS))
        } else if is_plain && text == "<<" {
            let hint = "a plan takes no merge keys: write the keys out, or name a whole value with `&` and `*`";
            Some(("merge-key", "`<<` merges nothing here".to_owned(), hint))
        } else if is_plain && !self.can_be_key(&text) {
            let message = format!("a key must be text, and `{}` is none", shown(&text));
            Some(("bad-key", message, TEXT_KEYS))
        } else {
            None
        };
        let mut kept = Ok(());
        if let Some((rule, message, hint)) = wrong {
            kept = self.fault(rule, span, &message, Some(hint)).ok_or(());
        }
        if let Some(Frame { open: OpenContainer::Object(_, waiting), .. }) = self.stack.last_mut() {
            *waiting = Some((text, span));
        }
        kept.ok()
    }

    fn can_be_key(&self, text: &str) -> bool {
        match scalar::plain(text).value {
            Value::String(_) => true,
            Value::Number(_) => self.takes_number_keys,
            _ => false,
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Option<()> {
        if self.waits_for_key() {
            let message = "a key must be text, not an alias";
            return self.fail("bad-key", span, message, Some(TEXT_KEYS));
        }
        let Some(named) = self.anchors.get(&id) else {
            let hint = "a text that begins with `*` needs quotes";
            let message = "this alias stands inside of what it names";
            return self.fail("yaml-alias", span, message, Some(hint));
        };
        let (nodes, bytes) = size(named);
        let mut node = named.clone();
        node.span = span;
        self.copied(nodes, bytes, span)?;
        self.put(node, 0)
    }

    /// Counts the copies of an anchor or an alias; a few lines could name more than any memory holds.
    fn copied(&mut self, nodes: usize, bytes: usize, span: Span) -> Option<()> {
        self.nodes += nodes;
        self.copied_bytes += bytes;
        if self.nodes <= self.limits.nodes && self.copied_bytes <= self.limits.bytes {
            return Some(());
        }
        let message = "the aliases name more than a plan may hold";
        self.fail("too-many-values", span, message, Some("write less of it twice"))
    }

    fn put(&mut self, node: Node, anchor: usize) -> Option<()> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let message = format!("there are more than {} values", self.limits.nodes);
            return self.fail("too-many-values", node.span, &message, None);
        }
        if anchor > 0 {
            let (nodes, bytes) = size(&node);
            self.copied(nodes, bytes, node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.stack.last_mut().map(|frame| &mut frame.open) {
            None => self.root = Some(node),
            Some(OpenContainer::List(items)) => items.push(node),
            Some(OpenContainer::Object(members, waiting)) => {
                if let Some((key, key_span)) = waiting.take() {
                    members.push(Member { key, key_span, node });
                }
            }
        }
        Some(())
    }

    fn duplicates(&mut self, members: &[Member]) -> Option<()> {
        let mut order: Vec<&Member> = members.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        for same in order.chunk_by(|a, b| a.key == b.key) {
            for second in &same[1..] {
                let (line, column) = self.lines.line_col(same[0].key_span.start());
                let key = shown(&second.key);
                let message = format!("the key `{key}` already stands at {line}:{column}");
                let mut fault =
                    fault("duplicate-key", second.key_span, &message, Some("keep one of them"));
                fault.pointer = pointer_push(&self.pointer(), key);
                self.faults.push(fault);
                if self.faults.len() >= FAULTS_MAX {
                    return None;
                }
            }
        }
        Some(())
    }
}

/// Nodes in a tree, and bytes of its text.
fn size(node: &Node) -> (usize, usize) {
    let (mut nodes, mut bytes) = (0, 0);
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        nodes += 1;
        match &node.value {
            Value::String(text) | Value::Number(text) => bytes += text.len(),
            Value::Array(items) => todo.extend(items),
            Value::Object(members) => {
                bytes += members.iter().map(|member| member.key.len()).sum::<usize>();
                todo.extend(members.iter().map(|member| &member.node));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    (nodes, bytes)
}

fn shown(key: &str) -> &str {
    &key[..key.floor_char_boundary(KEY_SHOWN_MAX)]
}
