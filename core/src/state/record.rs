//! The two lists that only grow: the trail of the search (contract §7) and the corrections of people (§8).
//!
//! Invariant: an entry, once written, is kept as its tree. The parts that decide are read beside it.

mod growth;

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, vec::Vec};

pub use growth::added;

use super::{
    fields::{Extra, Fields, Findings, Writer, pairs_node},
    rule::{Form, RecordRule},
    table::{rule, words},
    value::FieldValue,
};
use crate::{
    doc::Node,
    id::{AtomId, AttemptId, CommitId, Digest},
    state::FailureClass,
};

pub type Choices = BTreeMap<AtomId, AtomId>;

#[derive(Debug, Clone)]
pub struct Entry {
    pub node: Node,
    pub kind: EntryKind,
}

/// The part of an entry that the program reads. Anything else is history.
#[derive(Debug, Clone)]
pub enum EntryKind {
    Failure {
        atom: AtomId,
        attempt: AttemptId,
        class: FailureClass,
        reason: String,
    },
    /// The base case failed under a whole selection, with all roots resolved.
    Refuted {
        conflict: Choices,
        context: Option<Digest>,
    },
    Choice {
        group: AtomId,
        choice: AtomId,
    },
    Backtrack,
    Other,
}

impl Entry {
    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let _ = fields.need("type");
        let kind = match fields.text("type").as_deref() {
            Some("failure") => read_failure(&mut fields),
            Some("refuted") => {
                let conflict = choices(fields.pairs("conflict"));
                EntryKind::Refuted {
                    conflict,
                    context: fields.text("context").map(Digest::new),
                }
            }
            Some("choice") => read_choice(&mut fields),
            Some("backtrack") => EntryKind::Backtrack,
            _ => EntryKind::Other,
        };
        Some(Self {
            node: node.clone(),
            kind,
        })
    }
}

fn read_failure(fields: &mut Fields<'_, '_>) -> EntryKind {
    let class = fields
        .word("class", &FailureClass::WORDS)
        .unwrap_or(FailureClass::Logical);
    EntryKind::Failure {
        atom: AtomId::new(fields.text_or_empty("atom")),
        attempt: AttemptId::new(fields.text_or_empty("attempt")),
        class,
        reason: fields.text_or_empty("reason"),
    }
}

fn read_choice(fields: &mut Fields<'_, '_>) -> EntryKind {
    EntryKind::Choice {
        group: AtomId::new(fields.text_or_empty("group")),
        choice: AtomId::new(fields.text_or_empty("choice")),
    }
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
        let types = "`choice`, `failure`, `refuted`, `backtrack`, `user_correction`, or history of another kind";
        Vec::from([
            rule::<String>("type", types).required(),
            rule::<String>("at", ""),
            rule::<u64>("serial", ""),
            rule::<u64>("pass", ""),
        ])
    },
};

impl FieldValue for Correction {
    fn form() -> Form {
        Form::Record(&CORRECTION)
    }

    fn node(&self) -> Node {
        self.node.clone()
    }
}

const CORRECTION: RecordRule = RecordRule {
    name: "Correction",
    doc: "A change made by a person",
    fields: || {
        let any = [
            "id",
            "timestamp",
            "description",
            "trail_cleared",
            "by",
            "changes",
        ];
        let mut rules: Vec<_> = any.into_iter().map(|key| rule::<Node>(key, "")).collect();
        rules.extend([
            rule::<CorrectionType>("type", "").required(),
            rule::<Vec<Node>>(
                "lost",
                "What gave way where the edit and the program both wrote",
            ),
            rule::<String>("name", "The assertion that a confirmation confirms"),
            rule::<u64>("to", "The serial that an undo went back to"),
        ]);
        rules
    },
};

pub fn choices(pairs: BTreeMap<String, String>) -> Choices {
    pairs
        .into_iter()
        .map(|(group, choice)| (AtomId::new(group), AtomId::new(choice)))
        .collect()
}

pub fn choices_node(choices: &Choices) -> Node {
    pairs_node(choices)
}

/// A change made by a person.
#[derive(Debug, Clone)]
pub struct Correction {
    pub node: Node,
    /// The answer to an assertion, for a correction of type `confirmation`.
    pub confirms: Option<Confirmation>,
}

/// A person's answer to an assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The name of the assertion, or its statement.
    pub name: String,
    pub holds: bool,
    /// The tree that was looked at; without one the answer holds for good.
    pub on: Option<String>,
    /// The commit of that tree, if there was one.
    pub commit: Option<CommitId>,
    pub by: String,
    pub at: String,
    pub reason: Option<String>,
}

words! {
    pub enum CorrectionType {
        ObjectiveChange = "objective_change",
        DagAdjustment = "dag_adjustment",
        ConstraintChange = "constraint_change",
        BindingsOverride = "bindings_override",
        Guidance = "guidance",
        Confirmation = "confirmation",
        Resolution = "resolution",
        /// A return to an earlier serial, which is in `to`
        Undo = "undo",
    }
}

impl Correction {
    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let _ = fields.need("type");
        let kind = fields.word("type", &CorrectionType::WORDS);
        let confirms = match kind {
            Some(CorrectionType::Confirmation) => read_confirmation(&mut fields),
            Some(_) | None => None,
        };
        Some(Self {
            node: node.clone(),
            confirms,
        })
    }
}

/// Reads a confirmation; without a name there is none.
fn read_confirmation(fields: &mut Fields<'_, '_>) -> Option<Confirmation> {
    Some(Confirmation {
        name: fields.text("name")?,
        holds: fields.flag("holds").unwrap_or(true),
        on: fields.text("on"),
        commit: fields.text("commit").map(CommitId::new),
        by: fields.text_or_empty("by"),
        at: fields.text_or_empty("timestamp"),
        reason: fields.text("reason"),
    })
}

/// Starts an entry of the trail: its type, time, serial and pass.
pub fn entry(kind: &str, at: &str, serial: u64, pass: u64) -> Writer {
    let mut to = Writer::default();
    to.text("type", kind)
        .text("at", at)
        .put("serial", Node::uint(serial))
        .put("pass", Node::uint(pass));
    to
}

/// Closes an entry.
pub fn close(to: &mut Writer, kind: EntryKind) -> Entry {
    Entry {
        node: to.finish(&Extra::default()),
        kind,
    }
}

/// The word of a trail entry's type, for showing.
pub fn type_of(entry: &Entry) -> String {
    entry
        .node
        .get("type")
        .and_then(Node::as_str)
        .unwrap_or_default()
        .to_owned()
}
