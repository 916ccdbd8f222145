//! An entry of the trail in the file: the keys that a person reads, and those in `internal`, under its number.

use alloc::{string::ToString, vec::Vec};

use super::Entry;
use crate::{
    doc::{Member, Node, Value},
    state::fields::{Findings, Halves},
};

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
