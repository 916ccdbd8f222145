//! Keys of constraints that were, and what is written in their place.
//!
//! Not here: the fault of such a key in a file (`near_miss`).

use alloc::{format, string::String};

use super::limits::{FRAGMENT_ATOMS_MAX, FRAGMENT_DEPTH_MAX, INTERRUPTIONS_MAX, REPAIRS_MAX};

/// The fate of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFate {
    /// A key, or one in a group.
    Key(&'static str),
    /// The value that it has always.
    Constant(u32),
}

/// Each key that was, in the order of the page.
pub const OLD_WORDS: [(&str, KeyFate); 20] = [
    ("max_iterations", KeyFate::Key("budget.iterations")),
    ("time_budget", KeyFate::Key("budget.time")),
    ("model_calls", KeyFate::Key("budget.calls")),
    ("tokens", KeyFate::Key("budget.tokens")),
    ("cost_usd", KeyFate::Key("budget.cost_usd")),
    ("max_planned_atoms", KeyFate::Key("planning.atoms")),
    ("max_depth", KeyFate::Key("planning.depth")),
    ("max_replans", KeyFate::Key("planning.changes")),
    ("max_planning_phases", KeyFate::Key("planning.phases")),
    ("max_passes", KeyFate::Key("planning.passes")),
    ("context", KeyFate::Key("planning.context")),
    ("setup_inputs", KeyFate::Key("setup.inputs")),
    ("keep", KeyFate::Key("setup.keep")),
    ("gradient", KeyFate::Key("law")),
    ("reflection", KeyFate::Key("rest")),
    ("max_interruptions", KeyFate::Constant(INTERRUPTIONS_MAX)),
    ("max_repairs", KeyFate::Constant(REPAIRS_MAX)),
    ("max_refinements_per_atom", KeyFate::Key("planning.refinements")),
    ("max_fragment_atoms", KeyFate::Constant(FRAGMENT_ATOMS_MAX)),
    ("max_fragment_depth", KeyFate::Constant(FRAGMENT_DEPTH_MAX)),
];

/// The fate of that key, if it was one.
pub fn fate_of(key: &str) -> Option<KeyFate> {
    let (_, fate) = OLD_WORDS.into_iter().find(|(old, _)| *old == key)?;
    Some(fate)
}

impl KeyFate {
    /// The form that a person writes in a file.
    pub fn hint(self) -> String {
        match self {
            Self::Key(key) => match key.split_once('.') {
                Some((group, key)) => format!("write `{group}: {{{key}: …}}`"),
                None => format!("write `{key}: …`"),
            },
            Self::Constant(value) => format!("leave it out: it is {value}, always"),
        }
    }

    /// The option that a person types.
    pub fn option(self, value: &str) -> String {
        match self {
            Self::Key(key @ ("law" | "rest")) => {
                format!("--set {key}={}", if key == "law" { "show" } else { "true" })
            }
            Self::Key(key) => format!("--set {key}={value}"),
            Self::Constant(_) => self.hint(),
        }
    }
}
