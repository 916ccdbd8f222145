//! The fate of each thing in an old file, with its place there.

use descent_core::doc::prelude::*;
use descent_core::{
    doc::{Fault, Node, Places, Span},
    state::fields::{Extra, Writer},
};

/// The treatment of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It looks wrong, and was carried as it is.
    Warned,
    /// The text could be meant in one way only, and was read so.
    Mended,
    /// It has another form, or another meaning here.
    Changed,
    /// It has no place here: kept under `notes`.
    Kept,
    Carried,
}

impl Fate {
    pub const ALL: [Fate; 5] =
        [Fate::Warned, Fate::Mended, Fate::Changed, Fate::Kept, Fate::Carried];

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

/// One thing of the old file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub fate: Fate,
    pub line: usize,
    pub column: usize,
    /// The JSON pointer of it in the old file.
    pub from: String,
    /// Its fate and the reason; for a thing that is only carried, its new place.
    pub what: String,
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Without its line and column, which the span tells.
    items: Vec<(Span, Item)>,
    faults: Vec<Fault>,
    /// Things without a place in the new state, by their old place.
    kept: Vec<(String, Node)>,
}

impl Report {
    /// The items by fate, and by the place in the old text.
    pub(crate) fn items(self, text: &str) -> Vec<Item> {
        let places = Places::new(text);
        let placed = self.items.into_iter().map(|(span, item)| {
            let (line, column) = places.line_col(span.start());
            Item { line, column, ..item }
        });
        let mut items: Vec<Item> = placed.collect();
        items.sort_by_key(|item| (item.fate, item.line, item.column));
        items
    }

    pub(crate) fn add(&mut self, fate: Fate, from: &str, span: Span, what: impl Into<String>) {
        let item = Item { fate, line: 0, column: 0, from: from.to_owned(), what: what.into() };
        self.items.push((span, item));
    }

    /// Marks something that was reported as carried from there as changed after all.
    pub(crate) fn change(&mut self, from: &str, what: String) {
        let items = self.items.iter_mut().rev().map(|(_, item)| item);
        let mut carried = items.filter(|one| one.from == from && one.fate == Fate::Carried);
        match carried.next() {
            Some(one) => (one.fate, one.what) = (Fate::Changed, what),
            None => self.add(Fate::Changed, from, Span::default(), what),
        }
    }

    pub(crate) fn fault(
        &mut self,
        rule: &'static str,
        from: &str,
        span: Span,
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

    pub(crate) fn take_faults(&mut self) -> Vec<Fault> {
        core::mem::take(&mut self.faults)
    }

    /// Keeps a node as it is, because of `why`.
    pub(crate) fn keep(&mut self, from: &str, node: &Node, why: &str) {
        let what = format!("{why}; kept in notes");
        self.add(Fate::Kept, from, node.span, what);
        self.kept.push((from.to_owned(), node.clone()));
    }

    /// The remark that the new state carries.
    pub(crate) fn notes(&mut self, contract: &str) -> Node {
        let mut to = Writer::default();
        to.text("from", &format!("AoT loop, contract {contract}"));
        if !self.kept.is_empty() {
            to.put("kept", Node::object(core::mem::take(&mut self.kept)));
        }
        to.finish(&Extra::default())
    }
}
