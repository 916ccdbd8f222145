//! Corrections: the changes that people made (contract §8).

use super::read_past;
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{AttemptId, CommitId},
    state::{
        FreeValue,
        fields::{Extra, Fields, Findings, Writer},
        law::BlockedRecord,
        rule::{FieldRule, Form, RecordRule},
        table::{Part, record, words},
        value::FieldValue,
    },
};

/// A change made by a person.
#[derive(Debug, Clone)]
pub struct Correction {
    pub node: Node,
    pub data: CorrectionRecord,
}

record! {
    part
    /// A change made by a person
    #[derive(Default)]
    pub struct CorrectionRecord {
        /// Its name
        optional id: String,
        /// When it was taken in
        optional timestamp: String,
        /// The kind of change
        optional(known_type) kind as "type": CorrectionType,
        /// The change in words
        optional description: String,
        /// Whether the trail was cleared for it
        optional trail_cleared: bool,
        /// The account, or the program
        optional by: String,
        /// The consequences
        always changes: Vec<String>,
        /// Values that gave way where the edit and the program both wrote
        filled lost: Vec<LostValue>,
        /// The assertion that a confirmation confirms
        optional name: String,
        /// Whether the assertion holds
        optional holds: bool,
        /// The tree that was looked at; without one it is for good
        optional on: String,
        /// The commit that was looked at
        optional commit: CommitId,
        /// Why, in the words of the person
        optional reason: String,
        /// The attempt in doubt that a resolution is about, or whose work a confirmation is about
        optional attempt: AttemptId,
        /// Whether the effect happened
        optional done: bool,
        /// The serial that an undo went back to
        optional to: u64,
        /// Blocked tools and targets that a person took out, or brought back with an undo
        filled unblocked: Vec<BlockedRecord>,
    }
}

/// History of another type is carried as its tree: it decides nothing.
fn known_type(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<CorrectionType> {
    let word = fields.text(key)?;
    let known = CorrectionType::of_word(&word);
    if known.is_none() {
        fields.keep(key);
    }
    known
}

record! {
    /// A place where both sides wrote, or where a person wrote what only the program may
    #[derive(PartialEq)]
    pub struct LostValue {
        /// A JSON pointer
        always at: String,
        /// Which side is kept
        always kept: Winner = Winner::Program,
        /// The other side's value; null where it had none
        nullable value: FreeValue,
    }
}

words! {
    pub enum Winner {
        Edit = "edit",
        Program = "program",
    }
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
        /// The run has another start
        StartChange = "start_change",
        /// Planners may propose again what the control law blocked
        Unblock = "unblock",
        /// Back to an earlier serial, which stands in `to`
        Undo = "undo",
    }
}

impl Correction {
    /// A new correction, written now.
    pub fn new(data: CorrectionRecord) -> Self {
        let mut to = Writer::default();
        data.write(&mut to);
        Self { node: to.finish(&Extra::default()), data }
    }

    /// The next id of a correction; a person may have added some under any.
    pub fn free_id(corrections: &[Arc<Self>]) -> String {
        let taken: BTreeSet<&str> =
            corrections.iter().filter_map(|one| one.data.id.as_deref()).collect();
        // There is one candidate more than corrections, so one is free.
        let mut names = (1..=corrections.len() + 1).map(|n| format!("c{}", corrections.len() + n));
        names.find(|id| !taken.contains(id.as_str())).unwrap_or_default()
    }

    /// Its word on an assertion, if it is one.
    pub fn confirms(&self) -> Option<&CorrectionRecord> {
        Some(&self.data).filter(|data| data.told_as() == Some(CorrectionType::Confirmation))
    }
}

impl CorrectionRecord {
    /// The keys that every correction has.
    pub fn new(id: String, at: &str, kind: CorrectionType, by: &str) -> Self {
        Self {
            id: Some(id),
            timestamp: Some(at.into()),
            kind: Some(kind),
            trail_cleared: Some(false),
            by: Some(by.into()),
            ..Self::default()
        }
    }

    /// The type by which it is told: without a name it is no answer.
    pub fn told_as(&self) -> Option<CorrectionType> {
        let is_answer = self.name.is_some();
        self.kind.filter(|kind| is_answer || *kind != CorrectionType::Confirmation)
    }

    /// Whether the assertion that it is a word on holds.
    pub fn affirms(&self) -> bool {
        self.holds.unwrap_or(true)
    }

    /// The word on an assertion, with who said it and when.
    pub fn word_text(&self) -> String {
        let verb = if self.affirms() { "confirmed" } else { "denied" };
        let [by, at] = [&self.by, &self.timestamp].map(|text| text.as_deref().unwrap_or_default());
        format!("{verb} by {by} at {at}")
    }
}

impl FieldValue for Correction {
    fn form() -> Form {
        Form::Record(&CORRECTION)
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let data = read_past(node, pointer, found, CorrectionRecord::read)??;
        Some(Self { node: node.clone(), data })
    }

    fn node(&self) -> Node {
        self.node.clone()
    }
}

/// Its keys in the file. A value that decides nothing may be anything.
const CORRECTION: RecordRule = RecordRule {
    name: "Correction",
    doc: "A change made by a person",
    fields: || {
        let fields = CorrectionRecord::rules().into_iter();
        let fields = fields.map(|field| match field.key {
            "type" => field.required(),
            "lost" | "name" | "to" | "unblocked" => field,
            _ => field.of_form(Form::Any),
        });
        fields.collect::<Vec<FieldRule>>()
    },
};
