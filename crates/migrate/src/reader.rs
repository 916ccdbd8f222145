//! Reads an object of an old file key by key: members that nobody takes are kept, and reported.

use descent_core::doc::prelude::*;
use descent_core::{
    doc::{self, Member, Node, Span, Value},
    state::fields::{Extra, Writer},
};

use crate::report::{Fate, Report};

/// One object being read; `report` receives all oddities.
pub(crate) struct Reader<'a, 'r> {
    node: &'a Node,
    pub(crate) at: String,
    taken: Vec<&'static str>,
    pub(crate) report: &'r mut Report,
}

/// A name, and its place.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A value of a list or of a table, and its pointer.
pub(crate) struct Element<'a> {
    pub(crate) at: String,
    /// Its name in a table.
    pub(crate) key: &'a str,
    pub(crate) key_span: Span,
    pub(crate) node: &'a Node,
}

impl<'a> Element<'a> {
    pub(crate) fn open<'r>(&self, report: &'r mut Report) -> Option<Reader<'a, 'r>> {
        Reader::open(self.node, &self.at, report)
    }
}

/// The object itself in the place of a key of it.
pub(crate) const HERE: &str = "";

impl<'a, 'r> Reader<'a, 'r> {
    /// `None`, with a fault, if it is no object.
    pub(crate) fn open(node: &'a Node, at: &str, report: &'r mut Report) -> Option<Self> {
        if node.as_object().is_none() {
            let message = format!("expected keys with values, found {}", node.kind_name());
            report.fault("wrong-type", at, node.span, message, None);
            return None;
        }
        Some(Self { node, at: at.to_owned(), taken: Vec::new(), report })
    }

    /// The object below a key, if there is one.
    pub(crate) fn object(&mut self, key: &'static str) -> Option<Reader<'a, '_>> {
        let node = self.take(key)?;
        Reader::open(node, &self.path(key), self.report)
    }

    pub(crate) fn span(&self) -> Span {
        self.node.span
    }

    pub(crate) fn path(&self, key: &str) -> String {
        if key == HERE { self.at.clone() } else { doc::pointer_push(&self.at, key) }
    }

    pub(crate) fn span_of(&self, key: &str) -> Span {
        self.node.get(key).map_or(self.node.span, |node| node.span)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some_and(|node| !node.is_null())
    }

    /// A null counts as absent.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'a Node> {
        self.taken.push(key);
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// A text. A bare word that YAML takes for a number or a truth value is read as the text that was written.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<Node> {
        let node = self.take(key)?;
        let text = match &node.value {
            Value::String(_) => return Some(node.clone()),
            Value::Number(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let message = format!("expected a text, found {}", node.kind_name());
                self.fault_in(key, "wrong-type", message, None);
                return None;
            }
        };
        self.note(Fate::Mended, key, format!("read as the text `{text}`"));
        Some(placed(node.span, Node::string(text)))
    }

    /// A count, also if it is quoted.
    pub(crate) fn count(&mut self, key: &'static str) -> Option<Node> {
        let node = self.take(key)?;
        let text = node.as_str().map(str::trim);
        let Some(count) = text.map_or_else(|| node.as_u64(), |text| text.parse().ok()) else {
            self.fault_in(key, "wrong-type", "not a whole number", None);
            return None;
        };
        if text.is_some() {
            let what = format!("a text, read as the number {count}");
            self.note(Fate::Mended, key, what);
        }
        Some(placed(node.span, Node::uint(count)))
    }

    /// Hands on each object of a list.
    pub(crate) fn each<'s>(&'s mut self, key: &'static str, mut to: impl FnMut(Reader<'a, '_>)) {
        for element in self.elements(key) {
            element.open(self.report).into_iter().for_each(&mut to);
        }
    }

    pub(crate) fn elements(&mut self, key: &'static str) -> Vec<Element<'a>> {
        let Some(node) = self.take(key) else {
            return Vec::new();
        };
        let Some(items) = node.as_array() else {
            if !node.as_object().is_some_and(<[_]>::is_empty) {
                let message = format!("expected a list, found {}", node.kind_name());
                self.fault_in(key, "wrong-type", message, None);
            }
            return Vec::new();
        };
        let at = self.path(key);
        let element = |(n, node): (usize, &'a Node)| Element {
            at: doc::pointer_push(&at, &n.to_string()),
            key: "",
            key_span: node.span,
            node,
        };
        items.iter().enumerate().map(element).collect()
    }

    /// The entries of a table; an empty list is an empty table.
    pub(crate) fn entries(&mut self, key: &'static str) -> Vec<Element<'a>> {
        let Some(node) = self.take(key) else {
            return Vec::new();
        };
        if node.as_array().is_none_or(|items| !items.is_empty()) {
            // Reports the fault of a node that is no table.
            self.object(key);
        }
        let at = self.path(key);
        let entry = |member: &'a Member| Element {
            at: doc::pointer_push(&at, &member.key),
            key: &member.key,
            key_span: member.key_span,
            node: &member.node,
        };
        let members = node.as_object().unwrap_or_default().iter();
        members.map(entry).collect()
    }

    pub(crate) fn names(&mut self, key: &'static str) -> Vec<Name> {
        let mut names = Vec::new();
        for Element { at, node, .. } in self.elements(key) {
            match node.as_str() {
                Some(text) => names.push(Name { text: text.to_owned(), span: node.span }),
                None => {
                    let report = &mut self.report;
                    report.fault("wrong-type", &at, node.span, "expected a name", None);
                }
            }
        }
        names
    }

    pub(crate) fn name(&mut self, key: &'static str) -> Option<Name> {
        let node = self.text(key)?;
        Some(Name { text: node.as_str()?.to_owned(), span: node.span })
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> bool {
        let Some(node) = self.take(key) else {
            return false;
        };
        let flag = node.as_bool().or_else(|| node.as_str()?.parse().ok());
        if flag.is_none() {
            self.fault_in(key, "wrong-type", "neither true nor false", None);
        }
        flag.unwrap_or(false)
    }

    pub(crate) fn note(&mut self, fate: Fate, key: &str, what: impl Into<String>) {
        let (path, span) = (self.path(key), self.span_of(key));
        self.report.add(fate, &path, span, what);
    }

    /// Keeps a member under `notes` as it is, with its place.
    pub(crate) fn keep(&mut self, key: &'static str, why: &str) {
        if let Some(node) = self.take(key) {
            self.report.keep(&self.path(key), node, why);
        }
    }

    pub(crate) fn keep_here(&mut self, why: &str) {
        self.report.keep(&self.at, self.node, why);
    }

    pub(crate) fn fault_in(
        &mut self,
        key: &str,
        rule: &'static str,
        message: impl ToString,
        hint: Option<&str>,
    ) {
        let (path, span) = (self.path(key), self.span_of(key));
        self.report.fault(rule, &path, span, message, hint);
    }

    /// Keeps all members that were not taken.
    pub(crate) fn finish(self) {
        for member in self.node.as_object().unwrap_or_default() {
            if !self.taken.contains(&member.key.as_str()) && !member.node.is_null() {
                let path = doc::pointer_push(&self.at, &member.key);
                self.report.keep(&path, &member.node, "not known here");
            }
        }
    }

    /// The same; the converted node takes the place of the old one.
    pub(crate) fn finish_as(self, mut to: Writer) -> Node {
        let span = self.node.span;
        self.finish();
        written(span, &mut to)
    }
}

/// The same value, with this place in the old file.
pub(crate) fn placed(span: Span, mut node: Node) -> Node {
    node.span = span;
    node
}

/// The written object, with this place in the old file.
pub(crate) fn written(span: Span, to: &mut Writer) -> Node {
    placed(span, to.finish(&Extra::default()))
}
