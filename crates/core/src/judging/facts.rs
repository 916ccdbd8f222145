//! Questions to the shell about a plan before it is judged: its commands and its files.

use super::alone::copes_with_failure;
use crate::doc::prelude::*;
use crate::{
    graph::overlap,
    id::AtomId,
    state::{Check, Leaf, Task},
};

/// The commands, files and names to look up.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PlanQuestions {
    pub commands: BTreeSet<String>,
    /// Literal paths, relative to the top.
    pub paths: BTreeSet<String>,
    /// Paths and patterns that are to be changed.
    pub touched: BTreeSet<String>,
    /// Names that may be those of files.
    pub names: BTreeSet<String>,
}

/// The answers. A thing that was not looked up counts as being there.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlanFacts {
    pub commands: BTreeMap<String, CommandFacts>,
    /// Paths that are not in the tree.
    pub absent: BTreeSet<String>,
    /// Names that are files of the tree.
    pub present: BTreeSet<String>,
    /// Paths and patterns of files that no attempt may change.
    pub protected: BTreeSet<String>,
    /// Whether something makes each workspace ready: it may install programs.
    pub has_setup: bool,
    /// Atoms whose checks hold before anything was done. No planner's plan has any.
    #[serde(skip)]
    pub holding: BTreeSet<AtomId>,
    /// Not looked up for a planner's plan, which has no constraints of its own.
    #[serde(skip)]
    pub unmatched: Vec<UnmatchedPattern>,
}

/// A pattern of a constraint that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedPattern {
    pub key: &'static str,
    /// Its place in the constraints, as a JSON pointer.
    pub at: String,
    pub pattern: String,
    pub why: Unmatched,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmatched {
    /// The project has no such path.
    NoPath { nearest: Option<String> },
    /// It matches only what is linked: a person's own files.
    Linked,
    /// Agents work on the person's own files, and nobody knows who changed one.
    InPlace,
}

/// The things that a command lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CommandFacts {
    /// Its first program is not there.
    pub missing_program: Option<String>,
    pub missing_target: Option<MissingTarget>,
}

/// A target that no manifest has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MissingTarget {
    /// As in `make lint`.
    pub words: String,
    /// The file that would have it.
    pub manifest: String,
    /// Files by which a step before may bring it about.
    pub makers: Vec<String>,
}

/// The questions about tasks.
pub fn questions<'a>(tasks: impl Iterator<Item = &'a Task>) -> PlanQuestions {
    let mut asked = PlanQuestions::default();
    for task in tasks {
        asked.commands.extend(task.spec.action.iter().map(|action| action.run.clone()));
        for leaf in task.spec.checks.iter().flat_map(Check::leaves).filter_map(Check::leaf) {
            match leaf {
                Leaf::Command(leaf) => drop(asked.commands.insert(leaf.command.clone())),
                Leaf::File(leaf) => drop(asked.paths.insert(leaf.path.clone())),
                _ => {}
            }
        }
        asked.touched.extend(task.touches.iter().cloned());
        asked.names.extend(task.needs.iter().cloned());
        let literal = task.touches.iter().filter(|path| overlap::is_literal(path));
        asked.paths.extend(literal.map(|path| overlap::plain(path).to_owned()));
    }
    asked.paths.retain(|path| overlap::is_literal(path));
    asked.commands.retain(|command| !copes_with_failure(command));
    asked
}
