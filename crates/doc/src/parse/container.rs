//! Reads objects and lists, and recovers when one of them is broken.
//!
//! Invariant: every entry consumes text or the container ends. A container that is too deep is
//! skipped without recursion.

use super::{Parser, clipped};
use crate::prelude::*;
use crate::{Member, Node, Value};

/// The limit of the stack, whatever a caller allows.
const DEPTH_MAX: usize = 512;

impl Parser<'_> {
    pub(super) fn container(&mut self) -> Value {
        let depth_max = self.limits.depth.min(DEPTH_MAX);
        if self.open.len() + 1 >= depth_max {
            let message = format!("the nesting is {depth_max} deep, more than is allowed");
            self.fault(self.at..self.at + 1, "too-deep", message, None);
            self.skip_balanced();
            return Value::Null;
        }
        self.open.push(self.at);
        let object = self.bytes[self.at] == b'{';
        self.at += 1;
        let value = if object { Value::Object(self.members()) } else { Value::Array(self.items()) };
        self.open.pop();
        value
    }

    fn items(&mut self) -> Vec<Node> {
        let mut items = Vec::new();
        while self.inside(b']') {
            let mark = self.faults.len();
            let node = self.value();
            if mark < self.faults.len() {
                self.under(mark, &items.len().to_string());
            }
            let node = node.unwrap_or_else(|| self.absent());
            self.separator(node.span.end());
            items.push(node);
        }
        // A large tree is mostly small lists: their spare capacity would double its size.
        items.shrink_to_fit();
        items
    }

    fn members(&mut self) -> Vec<Member> {
        let mut members = Vec::new();
        while self.inside(b'}') {
            let member = self.member();
            let end = self.at;
            members.extend(member);
            self.separator(end);
        }
        self.report_duplicates(&members);
        members.shrink_to_fit();
        members
    }

    /// Reads a member; `None` if it has no key. Something is consumed either way.
    fn member(&mut self) -> Option<Member> {
        let start = self.at;
        let Some(key) = self.key() else {
            self.value();
            return None;
        };
        let key_span = self.since(start);
        let mark = self.faults.len();
        let node = if self.colon() { self.value() } else { None };
        if mark < self.faults.len() {
            self.under(mark, &key);
        }
        let node = node.unwrap_or_else(|| self.absent());
        Some(Member { key, key_span, node })
    }

    fn key(&mut self) -> Option<String> {
        if self.at_quote() {
            return Some(self.quoted(true));
        }
        if let Some(key) = self.bare_key() {
            return Some(key);
        }
        let message = "a key in quotes is missing here";
        self.fault(self.at..self.at, "missing-key", message, None);
        if self.peek() == Some(b':') {
            self.at += 1;
        }
        None
    }

    /// Skips the colon behind a key; `false` if no value follows.
    fn colon(&mut self) -> bool {
        let end = self.at;
        self.skip_blank();
        match self.peek() {
            Some(b':') => self.at += 1,
            Some(b'=') => {
                let message = "a colon belongs between key and value, not `=`";
                self.fault(self.at..self.at + 1, "missing-colon", message, None);
                self.at += if self.text[self.at..].starts_with("=>") { 2 } else { 1 };
            }
            None => return false,
            Some(b',' | b'}' | b']') => {
                let message = "the key has no value";
                self.fault(end..end, "missing-value", message, None);
                return false;
            }
            Some(_) => {
                let message = "the colon after the key is missing";
                self.fault(end..end, "missing-colon", message, None);
            }
        }
        true
    }

    /// Whether the container goes on here; otherwise it has been left.
    fn inside(&mut self, close: u8) -> bool {
        loop {
            self.skip_blank();
            match self.peek() {
                None => self.report_end(),
                Some(byte) if byte == close => self.at += 1,
                Some(b'}' | b']') => self.foreign_closer(),
                Some(b',') => {
                    let message = "there is a comma too many";
                    self.fault(self.at..self.at + 1, "extra-comma", message, None);
                    self.at += 1;
                    continue;
                }
                Some(_) => return true,
            }
            return false;
        }
    }

    /// Skips the separator between a value that ended at `end` and the next.
    fn separator(&mut self, end: usize) {
        self.skip_blank();
        let here = self.at..self.at + 1;
        match self.peek() {
            None | Some(b'}' | b']') => {}
            Some(b',') => {
                self.at += 1;
                self.skip_blank();
                if let Some(b'}' | b']') = self.peek() {
                    let message = "there is a comma after the last entry";
                    self.fault(here, "trailing-comma", message, Some("take it out"));
                }
            }
            Some(byte @ (b';' | b':')) => {
                let message = format!("a comma is expected here, not `{}`", char::from(byte));
                self.fault(here, "wrong-separator", message, None);
                self.at += 1;
            }
            Some(_) => {
                let message = "a comma is missing between two entries";
                self.fault(end..end, "missing-comma", message, None);
            }
        }
    }

    /// Handles a closing bracket of the other kind: it ends an outer container, or is a slip for
    /// ours.
    fn foreign_closer(&mut self) {
        let closer = self.bytes[self.at];
        let here = self.at..self.at + 1;
        let opened = self.innermost();
        if self.closes_outer(closer) {
            let repeated = self
                .faults
                .last()
                .is_some_and(|fault| fault.rule == "unclosed" && fault.span.start() == self.at);
            if !repeated {
                let message = format!("{opened} is not closed before this bracket");
                self.fault(here, "unclosed", message, None);
            }
            return;
        }
        let message = format!("`{}` does not close {opened}", char::from(closer));
        self.fault(here, "wrong-bracket", message, None);
        self.at += 1;
    }

    fn closes_outer(&self, closer: u8) -> bool {
        let opener = if closer == b'}' { b'{' } else { b'[' };
        let outer = &self.open[..self.open.len() - 1];
        match outer.iter().rposition(|at| self.bytes[*at] == opener) {
            None => false,
            // Only the last bracket can close the outermost value.
            Some(0) => self.at + 1 == self.content_end(),
            Some(_) => true,
        }
    }

    fn report_end(&mut self) {
        if self.end_reported {
            return;
        }
        self.end_reported = true;
        if let Some(LeftOpen { opened, end }) = left_open(self.bytes) {
            let message = format!("{} is not closed here", self.described(opened));
            let closer = if self.bytes[opened] == b'{' { "add a `}`" } else { "add a `]`" };
            return self.fault(end..end, "unclosed", message, Some(closer));
        }
        let end = self.content_end();
        let message = format!("the text ends inside {}", self.innermost());
        let hint = "the file may have been cut off";
        self.fault(end..end, "unclosed", message, Some(hint));
    }

    /// The innermost open container, in words.
    fn innermost(&mut self) -> String {
        self.described(self.open.last().copied().unwrap_or_default())
    }

    fn described(&mut self, at: usize) -> String {
        let object = self.bytes.get(at) == Some(&b'{');
        let (line, column) = self.place(at);
        let kind = if object { "object" } else { "list" };
        format!("the {kind} that opens at {line}:{column}")
    }

    fn report_duplicates(&mut self, members: &[Member]) {
        if self.halted {
            return;
        }
        for (first, second) in duplicates(members) {
            let (line, column) = self.place(first.key_span.start());
            let key = clipped(&second.key);
            let message = format!("the key `{key}` already stands at {line}:{column}");
            let mark = self.faults.len();
            let span = second.key_span.start()..second.key_span.end();
            self.fault(span, "duplicate-key", message, Some("keep one of them"));
            self.under(mark, &second.key);
        }
    }

    /// Skips a container that is too deep, without recursion.
    fn skip_balanced(&mut self) {
        let (mut depth, mut quoted) = (0_usize, false);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => quoted = !quoted,
                b'\\' if quoted => {
                    let escaped = self.text[self.at..].chars().next();
                    self.at += escaped.map_or(0, char::len_utf8);
                }
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
        self.end_reported = true;
    }

    fn absent(&self) -> Node {
        let span = self.since(self.at);
        let value = Value::Null;
        Node { value, span }
    }
}

/// The members whose key occurs before, each behind the first of that key.
pub fn duplicates(members: &[Member]) -> Vec<(&Member, &Member)> {
    let mut order: Vec<&Member> = members.iter().collect();
    order.sort_by(|a, b| a.key.cmp(&b.key));
    let same = order.chunk_by(|a, b| a.key == b.key);
    same.flat_map(|same| same[1..].iter().map(|second| (same[0], *second))).collect()
}

/// A container that nobody closed, and where it should be.
struct LeftOpen {
    opened: usize,
    end: usize,
}

/// The container left open by its layout: a line begins with a key where keys of an outer one begin.
fn left_open(text: &[u8]) -> Option<LeftOpen> {
    // Each with the column in which its keys begin their lines.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut at, mut line, mut end) = (0, 0, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\n' => line = at + 1,
            b'{' | b'[' => open.push((at, None)),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                if text[line..at].iter().all(|byte| *byte == b' ') {
                    let column = Some(at - line);
                    let outer = open.iter().rposition(|(_, keys)| *keys == column);
                    match (outer, open.len().checked_sub(1)) {
                        (Some(outer), Some(inner)) if outer < inner => {
                            return Some(LeftOpen { opened: open[outer + 1].0, end });
                        }
                        (_, Some(inner)) => drop(open[inner].1.get_or_insert(at - line)),
                        (_, None) => {}
                    }
                }
                at += string_length(&text[at..]);
            }
            _ => {}
        }
        at += 1;
        if !byte.is_ascii_whitespace() {
            end = at;
        }
    }
    None
}

/// Bytes from the opening quote up to the closing one.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}
