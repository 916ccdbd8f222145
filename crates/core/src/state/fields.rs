//! Reads an object of the lossless tree key by key, and writes one back: the table of keys is the code.
//!
//! Invariant: a key that is not asked for is unknown. It is a fault where `near_miss` says so; else it is kept with the key
//! that it followed, and warned of.

use crate::doc::prelude::*;

mod length;
mod writer;

pub use length::DurationText;
pub use writer::{Extra, Halves, Writer, pairs_node, texts_node};

use writer::{UnknownKey, UnknownKeys};

use super::rule::Owner;
pub use crate::doc::Span;
use crate::doc::{self, Fault, Member, Node, Value};
use crate::id::{AgentName, AttemptId};

/// The faults of a reading, and what is merely odd.
#[derive(Debug, Default)]
pub struct Findings {
    pub faults: Vec<Fault>,
    pub warnings: Vec<Fault>,
    /// Whether the file is of a version that knows more: then an unknown value is no fault.
    pub is_newer: bool,
    /// Finds the unknown keys that are faults: not in history, and not in what the program writes.
    pub near_miss: Option<FindNearMiss>,
    /// Whether an agent's answer is read: its unknown keys say nothing, and are not kept.
    pub is_answer: bool,
}

/// Judges a member that nobody asked for: the rule, the message and the hint of its fault.
pub type FindNearMiss = fn(&Member, &Fields<'_, '_>) -> Option<(&'static str, String, String)>;

/// Whether a person marked the key as their own.
pub(crate) fn is_own(key: &str) -> bool {
    key.starts_with("x-") || key.starts_with("x_")
}

impl Findings {
    pub fn fault(
        &mut self,
        rule: &'static str,
        at: (&str, Span),
        message: String,
        hint: Option<String>,
    ) {
        self.faults.push(Fault { span: at.1, pointer: at.0.to_owned(), rule, message, hint });
    }

    /// Warns of a value that a newer version may know, and keeps it. False for a version that should know it, which is
    /// a fault.
    pub fn newer(&mut self, at: (&str, Span), message: String, hint: Option<String>) -> bool {
        if self.is_newer {
            self.warnings.push(Fault {
                span: at.1,
                pointer: at.0.to_owned(),
                rule: NEWER_VALUE,
                message: message + " here, kept as it is",
                hint,
            });
        }
        self.is_newer
    }

    pub(crate) fn wrong_type(&mut self, pointer: &str, node: &Node, wanted: &str) {
        self.wrong_type_or(pointer, node, wanted, None);
    }

    /// The same, with a hint.
    pub(super) fn wrong_type_or(
        &mut self,
        pointer: &str,
        node: &Node,
        wanted: &str,
        hint: Option<String>,
    ) {
        let found = match &node.value {
            // A number of another kind is named by its kind.
            Value::Number(number) if wanted.contains("number") && number.len() <= NUMBER_SHOWN => {
                number.as_str()
            }
            _ => node.kind_name(),
        };
        let message = format!("expected {wanted}, found {found}");
        self.fault("wrong-type", (pointer, node.span), message, hint);
    }
}

/// More than is ever counted, and far from an overflow.
const COUNT_MAX: u64 = (1 << 63) - 1;
const NAME_BYTES_MAX: usize = 128;

/// Whether a text may be the name of a file, and of nothing above.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.len() <= NAME_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_plain)
}

/// Longer numbers are not shown.
const NUMBER_SHOWN: usize = 24;

/// The rule of the warning for a value that only a newer version knows.
pub const NEWER_VALUE: &str = "newer-value";

/// The rule of the fault for a key that was written for another.
pub const NEAR_MISS: &str = "near-miss";

/// The rule of a key that is not known: a fault where it is surely misspelt or could decide something, else a warning.
pub const UNKNOWN_KEY: &str = "unknown-key";

/// One object under reading.
#[derive(Debug)]
pub struct Fields<'a, 'f> {
    pub node: &'a Node,
    pub pointer: String,
    pub found: &'f mut Findings,
    /// The half of the record in `internal`; none where all of the record is in `node`.
    pub(crate) internal: Option<&'a Node>,
    owner: Owner,
    asked: Vec<&'static str>,
    kept: Vec<&'static str>,
    /// The keys of `internal` that are known and understood.
    understood: Vec<&'static str>,
}

/// The part of the file that no person reads; in a record that is written as one object, what nobody knows of it.
pub(crate) const INTERNAL: &str = "internal";

impl<'a, 'f> Fields<'a, 'f> {
    /// `None`, with a fault, when `node` is no object.
    pub fn open(node: &'a Node, pointer: &str, found: &'f mut Findings) -> Option<Self> {
        Self::open_or(node, pointer, found, |_| None)
    }

    /// The same, with a hint.
    pub fn open_or(
        node: &'a Node,
        pointer: &str,
        found: &'f mut Findings,
        hint: fn(&Node) -> Option<String>,
    ) -> Option<Self> {
        if node.as_object().is_none() {
            found.wrong_type_or(pointer, node, "an object", hint(node));
            return None;
        }
        Some(Self {
            node,
            pointer: pointer.to_owned(),
            found,
            internal: None,
            owner: Owner::Person,
            asked: Vec::new(),
            kept: Vec::new(),
            understood: Vec::new(),
        })
    }

    /// Reads the keys of `internal` from there; without one they are among the others.
    pub(crate) fn with_internal(self, internal: Option<&'a Node>) -> Self {
        Self { internal, ..self }
    }

    /// Whether the record is in two halves.
    pub(crate) fn is_in_halves(&self) -> bool {
        self.internal.is_some()
    }

    /// The object that has the keys of the present owner.
    fn half(&self) -> &'a Node {
        self.internal.filter(|_| self.owner == Owner::Internal).unwrap_or(self.node)
    }

    pub fn at(&self, key: &str) -> String {
        match self.owner {
            Owner::Internal if self.is_in_halves() => {
                let record = self.pointer.strip_prefix("/work_graph").unwrap_or(&self.pointer);
                doc::pointer_push(&format!("/internal{record}"), key)
            }
            _ => doc::pointer_push(&self.pointer, key),
        }
    }

    /// The keys that were asked for so far: in the end all that are known.
    pub fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    /// Reads what belongs to `owner`. In what only the program writes, every key is kept.
    pub(crate) fn owned<T>(&mut self, owner: Owner, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.enter(owner);
        let value = read(self);
        self.leave(before);
        value
    }

    /// Begins to read what belongs to `owner`, until [`Fields::leave`].
    pub(crate) fn enter(&mut self, owner: Owner) -> (Option<FindNearMiss>, Owner) {
        let before = (self.found.near_miss, self.owner);
        self.owner = self.owner.max(owner);
        let is_said = self.owner == Owner::Person || self.found.is_answer;
        self.found.near_miss = before.0.filter(|_| is_said);
        before
    }

    pub(crate) fn leave(&mut self, before: (Option<FindNearMiss>, Owner)) {
        (self.found.near_miss, self.owner) = before;
    }

    /// The value of `key`; a null reads as absent.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Node> {
        let half = self.half();
        if self.owner == Owner::Internal && self.is_in_halves() {
            self.understood.push(key)
        } else {
            self.asked.push(key)
        }
        half.get(key).filter(|node| !node.is_null())
    }

    /// The value of `key`, a fault when it is missing.
    pub fn need(&mut self, key: &'static str) -> Option<&'a Node> {
        let found = self.take(key);
        if found.is_none() {
            let (pointer, span) = (self.pointer.clone(), self.half().span);
            let what = format!("the key `{key}` is missing");
            self.found.fault("missing-key", (&pointer, span), what, None);
        }
        found
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        wanted: &str,
        read: impl Fn(&Node) -> Option<T>,
    ) -> Option<T> {
        let node = self.take(key)?;
        let value = read(node);
        if value.is_none() {
            let pointer = self.at(key);
            self.found.wrong_type(&pointer, node, wanted);
        }
        value
    }

    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.typed(key, "a string", |node| node.as_str().map(ToOwned::to_owned))
    }

    /// Whether something stands at that key; a null reads as absent.
    pub fn has(&self, key: &str) -> bool {
        self.half().get(key).is_some_and(|node| !node.is_null())
    }

    /// Passes over a key that is written for people alone.
    pub(crate) fn pass_over(&mut self, key: &'static str) {
        if self.is_in_halves() {
            self.asked.push(key);
        }
    }

    /// A fault at the value of `key`, or at the object where it is absent.
    pub fn fault_at(
        &mut self,
        key: &str,
        rule: &'static str,
        message: String,
        hint: Option<String>,
    ) {
        let at = self.at(key);
        let half = self.half();
        let span = half.get(key).map_or(half.span, |node| node.span);
        self.found.fault(rule, (&at, span), message, hint);
    }

    /// `text` of that key, unless it is blank.
    pub fn filled(&mut self, key: &'static str, text: String) -> Option<String> {
        if !text.trim().is_empty() {
            return Some(text);
        }
        self.fault_at(key, "empty-text", format!("`{key}` is empty"), None);
        None
    }

    pub fn text_or_empty(&mut self, key: &'static str) -> String {
        self.text(key).unwrap_or_default()
    }

    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.typed(key, "true or false", Node::as_bool)
    }

    pub fn count(&mut self, key: &'static str) -> Option<u64> {
        self.typed(key, "a whole number from 0 to 9223372036854775807", |node| {
            node.as_u64().filter(|count| *count <= COUNT_MAX)
        })
    }

    /// An attempt's id, which must be a safe name, since files of the attempt have it.
    pub fn attempt(&mut self, key: &'static str) -> Option<AttemptId> {
        self.typed(key, "the id of an attempt, as A1.3", |node| {
            node.as_str().filter(|id| is_name(id)).map(AttemptId::new)
        })
    }

    pub fn agent(&mut self, key: &'static str) -> Option<AgentName> {
        self.typed(key, "the name of an agent, as claude", |node| {
            let name = node.as_str().filter(|name| AgentName::is_valid(name));
            name.map(AgentName::new)
        })
    }

    pub fn small(&mut self, key: &'static str) -> Option<u32> {
        self.typed(key, "a whole number from 0 to 4294967295", |node| {
            node.as_u64().and_then(|count| u32::try_from(count).ok())
        })
    }

    pub fn integer(&mut self, key: &'static str) -> Option<i32> {
        self.typed(key, "a whole number", |node| match &node.value {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        })
    }

    pub fn list(&mut self, key: &'static str) -> Vec<(String, &'a Node)> {
        let Some(node) = self.take(key) else {
            return Vec::new();
        };
        let pointer = self.at(key);
        let Some(items) = node.as_array() else {
            self.found.wrong_type(&pointer, node, "a list");
            return Vec::new();
        };
        let place = |index: usize| doc::pointer_push(&pointer, &index.to_string());
        items.iter().enumerate().map(|(index, item)| (place(index), item)).collect()
    }

    /// A value from a closed list of words; otherwise a fault with a did-you-mean.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let node = self.take(key)?;
        let pointer = self.at(key);
        let Some(text) = node.as_str() else {
            self.found.wrong_type(&pointer, node, "a string");
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = doc::did_you_mean(text, known.iter().copied());
        let message = format!("`{text}` is no known `{key}`");
        let at = (pointer.as_str(), node.span);
        if self.found.newer(at, message.clone(), near.clone()) {
            self.keep(key);
            return None;
        }
        let hint = near.or_else(|| Some(format!("one of {}", known.join(", "))));
        self.found.fault("unknown-value", at, message, hint);
        None
    }

    /// Keeps the value of `key` as it is, because it belongs to a value that is not understood.
    pub fn keep(&mut self, key: &'static str) {
        if self.owner == Owner::Internal && self.is_in_halves() {
            self.understood.retain(|known| *known != key)
        } else {
            self.kept.push(key)
        }
    }

    pub fn keeps(&self, key: &str) -> bool {
        self.kept.contains(&key)
    }

    /// Closes the object. Keys that were not asked for are unknown. Exceptions are a person's `notes`, and the `$schema`
    /// that an editor reads at the top.
    pub fn finish(mut self) -> Extra {
        let is_of_file = self.is_in_halves() || self.asked.contains(&INTERNAL);
        let whole = if is_of_file { None } else { self.node.get(INTERNAL) };
        let half = self.internal.or(whole).and_then(Node::as_object).unwrap_or_default().iter();
        let unknown = half.filter(|member| !self.understood.contains(&member.key.as_str()));
        let mut extra = UnknownKeys::default();
        if !self.found.is_answer {
            extra.internal = unknown.cloned().collect();
        }
        let mut after: Option<String> = None;
        for member in self.node.as_object().unwrap_or_default() {
            if whole.is_some() && member.key == INTERNAL {
                continue;
            }
            let is_known = self.asked.contains(&member.key.as_str());
            let after = if is_known { after.replace(member.key.clone()) } else { after.clone() };
            let is_for_others = member.key == "$schema" && self.pointer.is_empty();
            if !is_known && member.key != "notes" && !is_for_others {
                self.unknown_key(member);
            }
            let is_carried = if is_known { self.keeps(&member.key) } else { !self.found.is_answer };
            if is_carried {
                let (key, node) = (member.key.clone(), member.node.clone());
                extra.keys.push(UnknownKey { after, key, node, is_known });
            }
        }
        extra.into_extra()
    }

    /// Reports a key that nobody asked for. It is a fault if something else would be done than its author meant.
    fn unknown_key(&mut self, member: &Member) {
        let key = member.key.as_str();
        let find = self.found.near_miss.filter(|_| !self.found.is_newer);
        let of_internal = self.understood.contains(&key).then(|| {
            let hint = "take it out".to_owned();
            (NEAR_MISS, format!("`{key}` is the program's, and has its place in `internal`"), hint)
        });
        let miss = of_internal.or_else(|| find.and_then(|find| find(member, self)));
        let (pointer, span) = (self.at(key), member.key_span);
        if let Some((rule, message, hint)) = miss {
            self.found.fault(rule, (&pointer, span), message, Some(hint));
        } else if self.found.is_newer || !is_own(key) {
            self.found.warnings.push(Fault {
                span,
                pointer,
                rule: UNKNOWN_KEY,
                message: format!("unknown key `{key}`, kept as it is"),
                hint: doc::did_you_mean(key, self.asked.iter().copied()),
            });
        }
    }
}
