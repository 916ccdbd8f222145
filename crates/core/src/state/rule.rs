//! The description of a record as data: its keys, their forms, and who decides what stands there.
//!
//! Not here: where it is made (`table`), and what it is used for (merges, the JSON Schema, the tables of the pages).

use crate::doc::Node;
use crate::doc::prelude::*;

/// Who decides what stands at a key when an edit and the program both changed it (contract §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// It says what is wanted.
    Person,
    /// It says what happened.
    Program,
    /// The same, of a key that no person reads: in the file it lies in `internal`.
    Internal,
}

/// The form of a value.
#[derive(Debug, Clone)]
pub enum Form {
    Any,
    Text,
    /// Text of a certain form: its name and its regular expression.
    Pattern(&'static str, &'static str),
    /// Text of at most so many characters.
    Short(usize),
    /// Text that is not blank.
    NonBlank,
    Flag,
    /// A whole number from 0 on; above 2^53 as decimal text.
    Count,
    Integer,
    /// A number, or its decimal text.
    Decimal,
    Words(&'static WordsRule),
    List(Box<Form>),
    /// An object whose keys are ids of atoms.
    ById(Box<Form>),
    /// An object whose keys and values are ids of atoms.
    Choices,
    Record(&'static RecordRule),
    /// One of several forms.
    Either(Vec<Form>),
    /// The key may not be used here.
    Never,
    /// One of several records.
    OneOf(&'static ChoiceRule),
    /// A number from 0 to 1.
    Share,
    /// A whole number between these.
    Whole(u32, u32),
    /// At most so many items.
    AtMost(usize, Box<Form>),
    /// At least one item.
    Filled(Box<Form>),
}

/// A span of time with its unit: `90s`, `10m`, `1h30m`.
pub const DURATION: Form = Form::Pattern("Duration", r"^\s*([0-9]+\s*(ms|s|m|h|d)\s*)+$");

/// A letter, then letters, digits, `_` or `-`: at most 64 in all.
pub const ATOM_ID: Form = Form::Pattern("AtomId", "^[A-Za-z][A-Za-z0-9_-]{0,63}$");

/// Lower case letters, digits, `_`, `.` or `-`: at most 64 in all.
pub const AGENT_NAME: Form = Form::Pattern("AgentName", "^[a-z0-9_.-]{1,64}$");

/// The words that a value may be.
#[derive(Debug)]
pub struct WordsRule {
    pub name: &'static str,
    pub doc: &'static str,
    /// Each with what it means.
    pub words: &'static [WordRule],
}

#[derive(Debug)]
pub struct WordRule {
    pub word: &'static str,
    pub doc: &'static str,
}

/// Records of which one stands there.
#[derive(Debug)]
pub struct ChoiceRule {
    pub name: &'static str,
    /// Whether what fits two of them fits none.
    pub is_exclusive: bool,
    pub doc: &'static str,
    /// The keys that each of them has.
    pub common: fn() -> Vec<FieldRule>,
    pub records: &'static [&'static RecordRule],
}

/// One kind of record.
#[derive(Debug)]
pub struct RecordRule {
    pub name: &'static str,
    pub doc: &'static str,
    pub fields: fn() -> Vec<FieldRule>,
}

/// One key of a record.
#[derive(Debug, Clone)]
pub struct FieldRule {
    pub key: &'static str,
    pub doc: &'static str,
    pub owner: Owner,
    pub is_required: bool,
    /// Whether the program writes it into every record.
    pub is_written: bool,
    pub form: Form,
    /// The value of an absent key, where it has one.
    pub default: Option<Node>,
}

impl RecordRule {
    /// The rule of a key; `None` for an unknown one.
    pub fn field(&self, key: &str) -> Option<FieldRule> {
        (self.fields)().into_iter().find(|rule| rule.key == key)
    }
}

impl ChoiceRule {
    /// The keys of all its records.
    pub fn all_fields(&self) -> Vec<FieldRule> {
        let own = self.records.iter().flat_map(|record| (record.fields)());
        (self.common)().into_iter().chain(own).collect()
    }
}

impl FieldRule {
    pub(crate) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    pub(crate) fn by_program(self) -> Self {
        Self { owner: Owner::Program, ..self }
    }

    pub(crate) fn internal(self) -> Self {
        Self { owner: Owner::Internal, ..self }
    }

    pub(crate) fn of_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The first paragraph of the description.
    pub fn summary(&self) -> String {
        text_of(self.doc.split("\n\n").next().unwrap_or_default())
    }

    /// The description after its first paragraph.
    pub fn details(&self) -> String {
        text_of(self.doc.split_once("\n\n").map_or("", |(_, rest)| rest))
    }
}

/// The text of a doc comment: a line, with a full stop between paragraphs.
pub fn text_of(doc: &str) -> String {
    let mut text = String::new();
    for line in doc.lines().map(str::trim).skip_while(|line| line.is_empty()) {
        match line {
            "" => text.push('.'),
            _ if text.is_empty() => text.push_str(line),
            _ => text.extend([" ", line]),
        }
    }
    text.trim_end_matches('.').into()
}
