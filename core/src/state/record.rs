//! The two lists that only grow: the trail of the search (contract §7) and the corrections of people (§8).
//!
//! Invariant: a record keeps its tree as it was written, with all that a person put beside it. The program decides by
//! the typed values that are read from it, never by the tree.

mod correction;
mod entry_halves;
mod evidence;
mod growth;
mod probe;
mod replan;
mod tool_call;

use alloc::{boxed::Box, collections::BTreeMap, string::String, sync::Arc, vec::Vec};

pub use correction::{
    Confirmation, Correction, CorrectionRecord, CorrectionType, LostValue, Winner,
};
pub use evidence::EvidenceRecord;
pub use growth::added;
pub use probe::ProbeEntry;
pub use replan::{ReplanEntry, ReplanPlace};
pub use tool_call::{TRIED_MAX, ToolCall};

use super::{
    FreeValue, PhaseLimit, SideFile, Usage,
    fields::{Extra, Fields, Findings, Writer},
    rule::{FieldRule, Form, RecordRule},
    table::{Part, record, rule, words},
    value::FieldValue,
};
use crate::{
    doc::{Fault, Member, Node, Span, Value},
    id::{AgentName, AtomId, AttemptId, CommitId, Digest},
    state::FailureClass,
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

/// Each kind of entry, with its data.
#[derive(Debug, Clone)]
pub enum EntryKind {
    Choice(ChoiceEntry),
    Failure(Box<FailureEntry>),
    Refuted(RefutedEntry),
    Backtrack(BacktrackEntry),
    Plan(PlanEntry),
    Refine(RefineEntry),
    Replan(ReplanEntry),
    Probe(ProbeEntry),
    Drop(DropEntry),
    InDoubt(InDoubtEntry),
    RequestRetired(RequestRetiredEntry),
    UserCorrection(UserCorrectionEntry),
    /// History of another kind: its word. It is carried as its tree.
    Other(String),
}

record! {
    part
    /// A group got a choice
    pub struct ChoiceEntry {
        always group: AtomId,
        always choice: AtomId,
        always untried: Vec<AtomId>,
        /// As some versions wrote it
        optional commit: CommitId,
        /// As some versions wrote it
        optional reason: String,
    }
}

record! {
    part
    /// An attempt that failed; an older one stands as a line
    pub struct FailureEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        filled started: String,
        /// 1-based, in its context
        optional nth: u32,
        always class: FailureClass = FailureClass::Logical,
        always reason: String,
        optional context: Digest,
        /// The end of what was printed
        filled output: String,
        /// The side file with all of it
        optional whole: SideFile,
        filled criteria: Vec<FreeValue>,
        /// Files of solved atoms that the output names
        filled files: Vec<String>,
        /// Files that the attempt had changed
        filled changed: Vec<String>,
        optional conflict: Choices,
        /// Equal for failures that are alike
        optional fingerprint: Digest,
        /// The report of the attempt
        filled summary: String,
        /// The value that it reported, up to 4 KiB
        optional value: FreeValue,
        optional handoff: String,
        /// Its agent says that it was only partly clear
        filled unclear: bool,
        /// The form of its answer alone was wrong: its work was not judged
        filled by_form: bool,
        optional agent: AgentName,
        /// Tools that it called
        filled tried: Vec<ToolCall>,
        filled usage: Usage,
    }
}

impl FailureEntry {
    /// How many of its checks held, and how many there are; none where it was not judged by any.
    pub fn confidence(&self) -> Option<(u64, u64)> {
        let verdicts = self.criteria.iter().map(|one| one.get("verdict"));
        let held = verdicts.filter(|one| one.and_then(Node::as_str) == Some("pass"));
        let of = self.criteria.len() as u64;
        (of > 0).then(|| (held.count() as u64, of))
    }
}

record! {
    part
    /// The base case did not hold under a whole selection, with every step done
    pub struct RefutedEntry {
        always conflict: Choices,
        optional context: Digest,
        filled files: Vec<String>,
        always evidence: Vec<EvidenceRecord>,
    }
}

record! {
    part
    /// Groups got other choices
    pub struct BacktrackEntry {
        part changes: ChoiceChanges,
        always reason: String,
    }
}

record! {
    part
    /// A planning step came to a fragment
    pub struct PlanEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        optional fragment: Digest,
        always parts: Vec<AtomId>,
        /// How it differs from the one before it
        filled differs: String,
    }
}

record! {
    part
    /// A step is planned again
    pub struct RefineEntry {
        always atom: AtomId,
        always round: u32,
        always reason: String,
        always failed: Vec<AtomId>,
    }
}

record! {
    part
    /// Parts of a fragment were dropped at the end of its budget
    pub struct DropEntry {
        always atom: AtomId,
        optional limit: PhaseLimit,
        always used: u64,
        filled partial: bool,
        always missing: Vec<AtomId>,
    }
}

record! {
    part
    /// Nobody knows whether an effect outside happened
    pub struct InDoubtEntry {
        always atom: AtomId,
        always attempt: AttemptId,
        always started: String,
        optional context: Digest,
        always reason: String,
    }
}

record! {
    part
    /// A request that is not obeyed any more
    pub struct RequestRetiredEntry {
        always request: String,
        always by: String,
        required why: RetireReason,
    }
}

words! {
    pub enum RetireReason {
        /// It was for a run that is over
        EarlierRun = "earlier_run",
        /// The process that asked is gone
        AskerGone = "asker_gone",
        /// Who asked took it back
        TakenBack = "taken_back",
    }
}

record! {
    part
    /// A correction of the graph
    pub struct UserCorrectionEntry {
        always description: String,
    }
}

/// The changes of a backtrack, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChoiceChanges(pub Vec<ChoiceChange>);

/// A group that changed its choice.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceChange {
    pub group: AtomId,
    pub from: Option<AtomId>,
    pub to: AtomId,
}

/// The keys of the one change, or a list where several groups changed.
impl Part for ChoiceChanges {
    fn rules() -> Vec<FieldRule> {
        Vec::from([
            rule::<AtomId>("group", "The group that changed its choice"),
            rule::<AtomId>("from", "Absent where nothing was chosen before"),
            rule::<AtomId>("to", ""),
            rule::<Vec<FreeValue>>("changes", "The same three keys of each, where several changed"),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let of_several = fields.take("changes").and_then(Node::as_array).unwrap_or_default();
        let id = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(AtomId::new);
        let change = |node: &Node| {
            let (group, to) = (id(node, "group")?, id(node, "to")?);
            Some(ChoiceChange { group, from: id(node, "from"), to })
        };
        let _ = ["group", "from", "to"].map(|key| fields.take(key));
        let one = change(fields.node);
        Some(Self(one.into_iter().chain(of_several.iter().filter_map(change)).collect()))
    }

    fn write(&self, to: &mut Writer) {
        match self.0.as_slice() {
            [one] => one.write(to),
            several => {
                let node = |one: &ChoiceChange| {
                    let mut to = Writer::default();
                    one.write(&mut to);
                    to.finish(&Extra::default())
                };
                to.put("changes", Node::array(several.iter().map(node).collect()));
            }
        }
    }
}

impl ChoiceChange {
    fn write(&self, to: &mut Writer) {
        to.text("group", self.group.as_str());
        to.some("from", self.from.as_ref().map(AtomId::node));
        to.text("to", self.to.as_str());
    }
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
            members.push(Member {
                key: "n".into(),
                key_span: Span::default(),
                node: Node::uint(n),
            });
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
                    (Some(is), None) => members.push(Member {
                        key: key.into(),
                        key_span: Span::default(),
                        node: is.clone(),
                    }),
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

    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
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
}

/// The kinds of entries, each with its word.
macro_rules! entry_kinds {
    ($($kind:ident $data:ty = $word:literal,)*) => {
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

impl FieldValue for Entry {
    fn form() -> Form {
        Form::Record(&ENTRY)
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
