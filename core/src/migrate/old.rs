//! An object of an old file, taken apart key by key: what nobody takes is kept, and told.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::report::{Fate, Report};
use crate::doc::{self, Node, Span, Value};

pub(super) struct Old<'a> {
    node: &'a Node,
    pub(super) at: String,
    taken: Vec<&'static str>,
}

/// A name, and where it stands.
pub(super) type Name = (String, Span);

impl<'a> Old<'a> {
    /// `None`, with a fault, where it is no object.
    pub(super) fn open(node: &'a Node, at: &str, report: &mut Report) -> Option<Self> {
        if node.as_object().is_none() {
            let message = format!("expected keys with values, found {}", node.kind_name());
            report.fault("wrong-type", (at, node.span), message, None);
            return None;
        }
        Some(Self {
            node,
            at: at.to_owned(),
            taken: Vec::new(),
        })
    }

    pub(super) fn span(&self) -> Span {
        self.node.span
    }

    pub(super) fn path(&self, key: &str) -> String {
        doc::pointer_push(&self.at, key)
    }

    /// A null is as good as nothing.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'a Node> {
        self.taken.push(key);
        self.node.get(key).filter(|node| !node.is_null())
    }

    /// A text; a bare word that YAML takes for a number or a truth value is the text that stands there.
    pub(super) fn text(&mut self, key: &'static str, report: &mut Report) -> Option<Node> {
        let node = self.take(key)?;
        let text = match &node.value {
            Value::String(_) => return Some(node.clone()),
            Value::Number(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let message = format!("expected a text, found {}", node.kind_name());
                report.fault("wrong-type", (&self.path(key), node.span), message, None);
                return None;
            }
        };
        let what = format!("read as the text `{text}`");
        report.add(Fate::Mended, (&self.path(key), node.span), what);
        Some(placed(node.span, Node::string(text)))
    }

    /// A count, also where it stands in quotes.
    pub(super) fn count(&mut self, key: &'static str, report: &mut Report) -> Option<Node> {
        let node = self.take(key)?;
        let at = self.path(key);
        let text = node.as_str().map(str::trim);
        let Some(count) = text.map_or_else(|| node.as_u64(), |text| text.parse().ok()) else {
            report.fault("wrong-type", (&at, node.span), "not a whole number", None);
            return None;
        };
        if text.is_some() {
            report.add(
                Fate::Mended,
                (&at, node.span),
                format!("a text, read as the number {count}"),
            );
        }
        Some(placed(node.span, Node::uint(count)))
    }

    pub(super) fn items(
        &mut self,
        key: &'static str,
        report: &mut Report,
    ) -> Vec<(String, &'a Node)> {
        let Some(node) = self.take(key) else {
            return Vec::new();
        };
        let at = self.path(key);
        let is_empty_map = node.as_object().is_some_and(<[_]>::is_empty);
        let Some(items) = node.as_array() else {
            if !is_empty_map {
                let message = format!("expected a list, found {}", node.kind_name());
                report.fault("wrong-type", (&at, node.span), message, None);
            }
            return Vec::new();
        };
        let place = |n: usize| doc::pointer_push(&at, &n.to_string());
        items
            .iter()
            .enumerate()
            .map(|(n, item)| (place(n), item))
            .collect()
    }

    pub(super) fn names(&mut self, key: &'static str, report: &mut Report) -> Vec<Name> {
        let mut names = Vec::new();
        for (at, node) in self.items(key, report) {
            match node.as_str() {
                Some(text) => names.push((text.to_owned(), node.span)),
                None => report.fault("wrong-type", (&at, node.span), "expected a name", None),
            }
        }
        names
    }

    pub(super) fn name(&mut self, key: &'static str, report: &mut Report) -> Option<Name> {
        let node = self.text(key, report)?;
        Some((node.as_str()?.to_owned(), node.span))
    }

    pub(super) fn flag(&mut self, key: &'static str, report: &mut Report) -> bool {
        let Some(node) = self.take(key) else {
            return false;
        };
        let flag = node.as_bool().or_else(|| node.as_str()?.parse().ok());
        if flag.is_none() {
            let at = self.path(key);
            report.fault(
                "wrong-type",
                (&at, node.span),
                "neither true nor false",
                None,
            );
        }
        flag.unwrap_or(false)
    }

    /// What was not taken is kept.
    pub(super) fn finish(self, report: &mut Report) {
        for member in self.node.as_object().unwrap_or_default() {
            if !self.taken.contains(&member.key.as_str()) && !member.node.is_null() {
                report.keep(&self.path(&member.key), &member.node, "not known here");
            }
        }
    }
}

/// The same value, standing in the old file where this stands.
pub(super) fn placed(span: Span, mut node: Node) -> Node {
    node.span = span;
    node
}
