//! What became of each thing in an old file, with its place there.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{Fault, Node, Span},
    state::fields::Writer,
};

/// What was done with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It looks wrong, and was carried as it stands.
    Warned,
    /// The text could be meant in one way only, and is read so.
    Mended,
    /// It stands in another form, or means something else here.
    Changed,
    /// It has no place here: kept under `notes`.
    Kept,
    Carried,
}

impl Fate {
    pub const ALL: [Fate; 5] = [
        Fate::Warned,
        Fate::Mended,
        Fate::Changed,
        Fate::Kept,
        Fate::Carried,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Fate::Warned => "warned",
            Fate::Mended => "mended",
            Fate::Changed => "changed",
            Fate::Kept => "kept",
            Fate::Carried => "carried",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub fate: Fate,
    /// In the old file.
    pub span: Span,
    pub from: String,
    /// What became of it, and why; of what is carried only where it stands now.
    pub what: String,
}

#[derive(Debug, Default)]
pub struct Report {
    items: Vec<Item>,
    faults: Vec<Fault>,
    /// What has no place, by where it stood.
    kept: Vec<(String, Node)>,
}

impl Report {
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn add(&mut self, fate: Fate, (from, span): (&str, Span), what: impl Into<String>) {
        self.items.push(Item {
            fate,
            span,
            from: from.to_owned(),
            what: what.into(),
        });
    }

    /// What was told as carried from there became something else after all.
    pub(super) fn change(&mut self, from: &str, what: String) {
        let told = self.items.iter_mut().rev();
        let mut carried = told.filter(|item| item.from == from && item.fate == Fate::Carried);
        match carried.next() {
            Some(item) => (item.fate, item.what) = (Fate::Changed, what),
            None => self.add(Fate::Changed, (from, Span::default()), what),
        }
    }

    pub fn fault(
        &mut self,
        rule: &'static str,
        (from, span): (&str, Span),
        message: impl ToString,
        hint: Option<&str>,
    ) {
        self.faults.push(Fault {
            span,
            pointer: from.to_owned(),
            rule,
            message: message.to_string(),
            hint: hint.map(ToOwned::to_owned),
        });
    }

    pub fn take_faults(&mut self) -> Vec<Fault> {
        core::mem::take(&mut self.faults)
    }

    /// Kept as it stands, because of `why`.
    pub fn keep(&mut self, from: &str, node: &Node, why: &str) {
        self.add(
            Fate::Kept,
            (from, node.span),
            format!("{why}; kept in notes"),
        );
        self.kept.push((from.to_owned(), node.clone()));
    }

    /// The remark that the new state carries.
    pub(super) fn notes(&mut self, contract: &str) -> Node {
        let mut to = Writer::default();
        to.text("from", &format!("AoT loop, contract {contract}"));
        if !self.kept.is_empty() {
            to.put("kept", Node::object(core::mem::take(&mut self.kept)));
        }
        to.finish(&crate::state::Extra::default())
    }
}
