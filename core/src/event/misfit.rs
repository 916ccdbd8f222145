//! The faults of a value by the schema of its atom.
//!
//! Not here: finding them (the shell), and the failure that follows (`step/attempt_end`).

use alloc::{format, string::String, vec::Vec};

use crate::{
    doc::Node,
    state::fields::{Extra, Fields, Writer},
};

/// Faults of one value that are kept at most.
pub const MISFITS_MAX: usize = 5;

const KEY: &str = "misfits";

/// One fault of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The JSON pointer into the value; empty for the value itself.
    pub at: String,
    pub message: String,
}

impl Misfit {
    /// The faults as the reason of a failure: `value: /files/0/name: it is not of type "string"`.
    pub fn reason(misfits: &[Misfit]) -> String {
        let one = |misfit: &Misfit| match misfit.at.as_str() {
            "" => misfit.message.clone(),
            at => format!("{at}: {}", misfit.message),
        };
        let all: Vec<String> = misfits.iter().take(MISFITS_MAX).map(one).collect();
        format!("value: {}", all.join("; "))
    }

    pub(super) fn write_all(misfits: &[Misfit], to: &mut Writer) {
        let one = |misfit: &Misfit| {
            let mut to = Writer::default();
            to.text("at", &misfit.at).text("message", &misfit.message);
            to.finish(&Extra::default())
        };
        let all: Vec<Node> = misfits.iter().take(MISFITS_MAX).map(one).collect();
        if !all.is_empty() {
            to.put(KEY, Node::array(all));
        }
    }

    pub(super) fn read_all(fields: &mut Fields<'_, '_>) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        for (at, node) in fields.list(KEY).into_iter().take(MISFITS_MAX) {
            if let Some(mut one) = Fields::open(node, &at, fields.found) {
                misfits.push(Misfit {
                    at: one.text_or_empty("at"),
                    message: one.text_or_empty("message"),
                });
            }
        }
        misfits
    }
}
