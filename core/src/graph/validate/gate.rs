//! The start gate (contract §9): which parts of the agreement are missing.

use alloc::{borrow::ToOwned, vec::Vec};

use crate::{
    doc::{Fault, Node},
    state::{Leaf, Objective, State, decode},
};

/// A part of the agreement that no run begins without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    Goal,
    Why,
    BaseCase,
    /// The base case has leaves, and a machine decides none of them.
    MachineLeaf,
    Work,
}

impl MissingPart {
    pub fn pointer(self) -> &'static str {
        match self {
            Self::Goal => "/objective/goal",
            Self::Why => "/objective/background_intent",
            Self::BaseCase | Self::MachineLeaf => "/objective/base_case",
            Self::Work => "/work_graph/atoms",
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::Goal => "the goal is missing",
            Self::Why => "why it is wanted is missing",
            Self::BaseCase => "the base case is missing",
            Self::MachineLeaf => "no leaf of the base case is decided by a machine",
            Self::Work => "the work graph is empty",
        }
    }

    /// How it is given.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Goal => "descent align GOAL",
            Self::Why => "--why TEXT",
            Self::BaseCase => "--check COMMAND",
            Self::MachineLeaf => "add a `command` or a `file` check",
            Self::Work => "--step TEXT[=COMMAND]",
        }
    }

    fn fault(self, root: &Node) -> Fault {
        Fault {
            span: decode::place_of(root, self.pointer()),
            pointer: self.pointer().to_owned(),
            rule: "not-aligned",
            message: self.message().to_owned(),
            hint: Some(self.hint().to_owned()),
        }
    }
}

/// Every missing part, in the order of the file.
pub fn missing_parts(state: &State) -> Vec<MissingPart> {
    let Objective { goal, background_intent, base_case, .. } = &*state.objective;
    let is_blank = |text: &str| text.trim().is_empty();
    let leaves = base_case.as_ref().map(|check| check.leaves());
    let has_no_machine = leaves.is_some_and(|leaves| {
        let mut rules = leaves.iter().filter_map(|leaf| leaf.leaf());
        !rules.any(Leaf::is_machine)
    });
    let parts = [
        (MissingPart::Goal, is_blank(goal)),
        (MissingPart::Why, is_blank(background_intent)),
        (MissingPart::BaseCase, base_case.is_none()),
        (MissingPart::MachineLeaf, has_no_machine),
        (MissingPart::Work, state.atoms.is_empty() && state.bindings.is_empty()),
    ];
    let missing = parts.into_iter().filter(|(_, is_missing)| *is_missing);
    missing.map(|(part, _)| part).collect()
}

/// The same as faults, with their places.
pub fn gate(state: &State, root: &Node) -> Vec<Fault> {
    let parts = missing_parts(state).into_iter();
    parts.map(|part| part.fault(root)).collect()
}
