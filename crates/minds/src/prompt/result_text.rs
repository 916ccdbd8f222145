//! One result as it stands in a prompt, and in `$DESCENT_BINDINGS`.
//!
//! Not here: how much of it is shown (`built_on`, `upstream`).

use super::section::{indented, led, names};
use descent_core::doc::prelude::*;
use descent_core::{
    doc::{self, Node},
    event::Clarity,
    id::AtomId,
    state::{Binding, Extra, fields::Writer},
};

/// The parts of a result that are told; an empty one is not.
#[derive(Debug)]
pub(super) struct ResultText<'a> {
    pub(super) id: &'a AtomId,
    pub(super) summary: String,
    pub(super) handoff: String,
    pub(super) unclear: Option<String>,
    pub(super) value: String,
    pub(super) files: String,
}

impl<'a> ResultText<'a> {
    /// All of it.
    pub(super) fn of(id: &'a AtomId, binding: &Binding) -> Self {
        Self {
            id,
            summary: binding.summary.clone(),
            handoff: binding.handoff.clone().unwrap_or_default(),
            unclear: Clarity::words(binding.unclear, &binding.unclear_because),
            value: binding.value.as_ref().map(doc::write_compact).unwrap_or_default(),
            files: names(binding.artifacts.iter().cloned(), usize::MAX),
        }
    }

    /// An item of a list, with its other parts below it.
    pub(super) fn item(&self) -> String {
        let mut text = format!("- {}: {}\n", self.id, self.summary);
        text.push_str(&led("    (what it hands on:)\n", &indented(&self.handoff)));
        if let Some(words) = &self.unclear {
            text.push_str(&format!("    ({words})\n"));
        }
        for (head, words) in [("its value", &self.value), ("its files", &self.files)] {
            if !words.is_empty() {
                text.push_str(&format!("    ({head}: {words})\n"));
            }
        }
        text
    }
}

/// A result as it stands in `$DESCENT_BINDINGS`.
pub(super) fn binding_node(binding: &Binding) -> Node {
    let mut to = Writer::default();
    to.text("summary", &binding.summary).some("value", binding.value.clone());
    to.texts_unless_empty("artifacts", &binding.artifacts);
    to.some("handoff", binding.handoff.as_deref().map(Node::string))
        .some("unclear", binding.unclear.then(|| Node::bool(true)));
    to.finish(&Extra::default())
}
