//! The two lists that only grow: the trail of the search (contract §7) and the corrections of people (§8).
//!
//! Invariant: a record keeps its tree as it was written, with all that a person put beside it. The program decides by
//! the typed values that are read from it, never by the tree.

mod correction;
mod entries;

use crate::doc::prelude::*;
pub use correction::{Correction, CorrectionRecord, CorrectionType, LostValue, Winner};
pub use entries::{
    AskedEntry, BacktrackEntry, ChoiceChange, ChoiceChanges, ChoiceEntry, DropEntry,
    EvidenceRecord, FailureEntry, InDoubtEntry, PlanEntry, ProbeEntry, RefineEntry, RefutedEntry,
    ReplanEntry, ReplanPlace, RequestRetiredEntry, RetireReason, TurnEntry, UserCorrectionEntry,
};

pub use super::tool_call::{TRIED_MAX, ToolCall};
use super::{
    fields::{Extra, Fields, Findings, Halves, Writer},
    rule::{Form, RecordRule},
    table::{Part, rule},
    value::FieldValue,
};
use crate::{
    doc::{self, Fault, Member, Node, Value},
    id::AtomId,
};

pub type Choices = BTreeMap<AtomId, AtomId>;

/// An entry of the trail.
#[derive(Debug, Clone)]
pub struct Entry {
    pub node: Node,
    /// Counts the entries; the key of its half in `internal`.
    pub n: u64,
    pub at: String,
    pub serial: Option<u64>,
    pass: Option<u64>,
    pub kind: EntryKind,
}

/// The keys by which the program decides. A wrong value of another key is history, and no fault.
const DECIDING: [&str; 10] = [
    "type", "class", "atom", "attempt", "reason", "conflict", "context", "group", "choice", "holds",
];

/// Reads what the program knows of a record of the past.
fn read_past<T>(
    node: &Node,
    pointer: &str,
    found: &mut Findings,
    read: impl FnOnce(&mut Fields<'_, '_>) -> T,
) -> Option<T> {
    let mut of_record = Findings { is_newer: found.is_newer, ..Findings::default() };
    let mut fields = Fields::open(node, pointer, &mut of_record);
    let data = fields.as_mut().map(|fields| {
        let _ = fields.need("type");
        read(fields)
    });
    drop(fields);
    let decides = |fault: &Fault| {
        let key = fault.pointer.get(pointer.len()..).unwrap_or_default();
        let key = key.split('/').nth(1);
        key.is_none_or(|key| DECIDING.contains(&key))
    };
    found.faults.extend(of_record.faults.into_iter().filter(decides));
    found.warnings.extend(of_record.warnings.into_iter().filter(decides));
    data
}

impl Entry {
    /// A new entry, written now.
    pub fn new(n: u64, at: &str, serial: u64, pass: u64, kind: EntryKind) -> Self {
        let (node, at) = (Node::null(), at.into());
        Self { node, n, at, serial: Some(serial), pass: Some(pass), kind }.written()
    }

    /// The number of the entry after these.
    pub fn next(trail: &[Arc<Self>]) -> u64 {
        trail.last().map_or(1, |last| last.n + 1)
    }

    /// The same entry under another number.
    pub fn numbered(mut self, n: u64) -> Self {
        self.n = n;
        if let Value::Object(members) = &mut self.node.value {
            members.retain(|member| member.key != "n");
            members.push(Member::new("n", Node::uint(n)));
        }
        self
    }

    /// The failure that it records, if it does.
    pub fn failure(&self) -> Option<&FailureEntry> {
        let EntryKind::Failure(failure) = &self.kind else {
            return None;
        };
        Some(&**failure)
    }

    /// The refuted selection that it records, if it does.
    pub fn refuted(&self) -> Option<&RefutedEntry> {
        let EntryKind::Refuted(refuted) = &self.kind else {
            return None;
        };
        Some(refuted)
    }

    /// The same entry with other data: only the keys of which the value changed are touched.
    pub fn with(&self, kind: EntryKind) -> Self {
        let text = |kind: &EntryKind| {
            let mut to = Writer::default();
            kind.write(&mut to);
            to.finish(&Extra::default())
        };
        let (before, after) = (text(&self.kind), text(&kind));
        let mut node = self.node.clone();
        if let Value::Object(members) = &mut node.value {
            for key in kind.keys() {
                let (was, is) = (before.get(key), after.get(key));
                let place = members.iter().position(|member| member.key == key);
                match (is, place) {
                    _ if was == is => {}
                    (Some(is), Some(place)) => members[place].node = is.clone(),
                    (None, Some(place)) => drop(members.remove(place)),
                    (Some(is), None) => members.push(Member::new(key, is.clone())),
                    (None, None) => {}
                }
            }
        }
        Self { node, kind, ..self.clone() }
    }

    fn written(mut self) -> Self {
        let mut to = Writer::default();
        to.put("n", Node::uint(self.n)).text("at", &self.at).text("type", self.kind.word());
        to.some("serial", self.serial.map(Node::uint)).some("pass", self.pass.map(Node::uint));
        self.kind.write(&mut to);
        self.node = to.finish(&Extra::default());
        self
    }
}

/// The kinds of entries, each with its word.
macro_rules! entry_kinds {
    ($($kind:ident $data:ty = $word:literal,)*) => {
        /// Each kind of entry, with its data.
        #[derive(Debug, Clone)]
        pub enum EntryKind {
            $( $kind($data), )*
            /// History of another kind: its word. It is carried as its tree.
            Other(String),
        }

        impl EntryKind {
            /// Its type in the file.
            pub fn word(&self) -> &str {
                match self {
                    $( EntryKind::$kind(_) => $word, )*
                    EntryKind::Other(word) => word,
                }
            }

            /// The keys that the program writes into an entry of this kind.
            pub fn keys(&self) -> Vec<&'static str> {
                let own = match self {
                    $( EntryKind::$kind(_) => <$data>::rules(), )*
                    EntryKind::Other(_) => Vec::new(),
                };
                let common = ["n", "at", "type", "serial", "pass"].into_iter();
                common.chain(own.into_iter().map(|rule| rule.key)).collect()
            }

            fn read(word: &str, fields: &mut Fields<'_, '_>) -> Option<Self> {
                match word {
                    $( $word => <$data>::read(fields).map(EntryKind::$kind), )*
                    _ => None,
                }
            }

            fn write(&self, to: &mut Writer) {
                match self {
                    $( EntryKind::$kind(data) => data.write(to), )*
                    EntryKind::Other(_) => {}
                }
            }
        }
    };
}

entry_kinds! {
    Choice ChoiceEntry = "choice",
    Failure Box<FailureEntry> = "failure",
    Turn TurnEntry = "turn",
    Asked AskedEntry = "asked",
    Refuted RefutedEntry = "refuted",
    Backtrack BacktrackEntry = "backtrack",
    Plan PlanEntry = "plan",
    Refine RefineEntry = "refine",
    Replan ReplanEntry = "replan",
    Probe ProbeEntry = "probe",
    Drop DropEntry = "drop",
    InDoubt InDoubtEntry = "in_doubt",
    RequestRetired RequestRetiredEntry = "request_retired",
    UserCorrection UserCorrectionEntry = "user_correction",
}

/// `None` if the trail did not grow out of the old one: an entry is gone that none leaves out, or all are.
pub fn added<'n>(old: &[Arc<Entry>], new: &'n [Arc<Entry>]) -> Option<Vec<&'n Arc<Entry>>> {
    let is: BTreeSet<Vec<String>> = new.iter().map(|entry| name(&entry.node)).collect();
    let was: BTreeSet<Vec<String>> = old.iter().map(|entry| name(&entry.node)).collect();
    let may_go = |entry: &Arc<Entry>| match entry.kind {
        EntryKind::Failure(_)
        | EntryKind::Turn(_)
        | EntryKind::Choice(_)
        | EntryKind::Backtrack(_) => true,
        _ => is.contains(&name(&entry.node)),
    };
    let has_grown = !new.is_empty() && old.iter().all(may_go);
    let is_new = |entry: &&Arc<Entry>| !was.contains(&name(&entry.node));
    has_grown.then(|| new.iter().filter(is_new).collect())
}

/// The keys that identify an entry: no remark and no shortening changes them.
fn name(node: &Node) -> Vec<String> {
    let keys =
        ["type", "at", "serial", "atom", "attempt", "group", "choice", "changes", "conflict"];
    let text = |key: &&str| node.get(key).map(doc::canonical).unwrap_or_default();
    keys.iter().map(text).collect()
}

/// Keys of entries that no person reads.
const OF_INTERNAL: [&str; 24] = [
    "serial",
    "pass",
    "attempt",
    "started",
    "nth",
    "context",
    "conflict",
    "fingerprint",
    "output",
    "whole",
    "criteria",
    "evidence",
    "files",
    "changed",
    "untried",
    "value",
    "handoff",
    "unclear",
    "by_form",
    "agent",
    "tried",
    "usage",
    "fragment",
    "parked",
];

impl Entry {
    /// Reads an entry; `half` finds the other half by its number.
    pub fn read_half<'n>(
        node: &Node,
        half: impl Fn(&str) -> Option<&'n Node>,
        pointer: &str,
        found: &mut Findings,
    ) -> Option<Self> {
        let n = node.get("n").and_then(Node::as_u64).unwrap_or_default();
        let other = half(&n.to_string()).and_then(Node::as_object).unwrap_or_default();
        let mut whole = node.clone();
        if let Value::Object(members) = &mut whole.value {
            // Keys of the other half decide nothing here.
            members.retain(|member| !OF_INTERNAL.contains(&member.key.as_str()));
            members.extend(other.iter().cloned());
        }
        Self::read(&whole, pointer, found)
    }

    /// Its half for people, and the one in `internal`.
    pub fn halves(&self) -> Halves {
        let members = self.node.as_object().unwrap_or_default().iter().cloned();
        let is_shown = |member: &Member| !OF_INTERNAL.contains(&member.key.as_str());
        let (shown, internal): (Vec<_>, Vec<_>) = members.partition(is_shown);
        let internal = (!internal.is_empty()).then(|| Value::Object(internal).into());
        Halves { shown: Value::Object(shown).into(), internal }
    }
}

impl FieldValue for Entry {
    fn form() -> Form {
        Form::Record(&ENTRY)
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        read_past(node, pointer, found, |fields| {
            let word = fields.text_or_empty("type");
            Self {
                node: node.clone(),
                n: fields.count("n").unwrap_or_default(),
                at: fields.text_or_empty("at"),
                serial: fields.count("serial"),
                pass: fields.count("pass"),
                kind: EntryKind::read(&word, fields).unwrap_or(EntryKind::Other(word)),
            }
        })
    }

    fn node(&self) -> Node {
        self.node.clone()
    }
}

const ENTRY: RecordRule = RecordRule {
    name: "Entry",
    doc: "An entry of the trail; its other keys depend on the type",
    fields: || {
        Vec::from([
            rule::<String>(
                "type",
                "`choice`, `failure`, `refuted`, `backtrack`, `user_correction`, or history of another kind",
            )
            .required(),
            rule::<u64>("n", "Counts the entries"),
            rule::<String>("at", "When it happened"),
            rule::<u64>("serial", ""),
            rule::<u64>("pass", ""),
        ])
    },
};
