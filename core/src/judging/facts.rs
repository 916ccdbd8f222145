//! Questions to the shell about a plan before it is judged: its commands and its files.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use super::commands::copes_with_failure;
use crate::{
    doc::Node,
    graph::overlap,
    id::AtomId,
    state::{
        Check, Extra, Leaf, Task,
        fields::{Fields, Findings, Writer},
    },
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Atoms whose checks hold before anything was done.
    pub holding: BTreeSet<AtomId>,
    /// Not looked up for a planner's plan, which has no constraints of its own.
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandFacts {
    /// Its first program is not there.
    pub missing_program: Option<String>,
    pub missing_target: Option<MissingTarget>,
}

/// A target that no manifest has.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let action = task.spec.action.iter().map(|action| action.run.clone());
        asked.commands.extend(action);
        let leaves = task.spec.checks.iter().flat_map(Check::leaves);
        for leaf in leaves.filter_map(Check::leaf) {
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

impl PlanFacts {
    /// Whether everything is there, and nothing is known beyond that.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As it stands in the record of an outcome; what holds and what matches nothing are not part of it.
    pub fn node(&self) -> Node {
        let command = |(command, facts): (&String, &CommandFacts)| {
            let mut to = Writer::default();
            let program = facts.missing_program.as_deref().map(Node::string);
            to.text("command", command).some("program", program);
            if let Some(target) = &facts.missing_target {
                to.text("target", &target.words)
                    .text("manifest", &target.manifest)
                    .texts_unless_empty("makers", &target.makers);
            }
            to.finish(&Extra::default())
        };
        let mut to = Writer::default();
        let lacking = self.commands.iter();
        let lacking = lacking.filter(|(_, facts)| **facts != CommandFacts::default());
        to.put("commands", Node::array(lacking.map(command).collect()));
        for (key, paths) in
            [("absent", &self.absent), ("present", &self.present), ("protected", &self.protected)]
        {
            let paths = paths.iter().map(Node::string);
            to.put(key, Node::array(paths.collect()));
        }
        to.flag_if("has_setup", self.has_setup);
        to.finish(&Extra::default())
    }

    /// Reads what [`Self::node`] wrote.
    pub fn read(node: &Node, found: &mut Findings) -> Self {
        let Some(mut fields) = Fields::open(node, "/facts", found) else {
            return Self::default();
        };
        let mut commands = BTreeMap::new();
        for (at, node) in fields.list("commands") {
            if let Some(mut one) = Fields::open(node, &at, fields.found) {
                let words = one.text("target");
                let (manifest, makers) = (one.text_or_empty("manifest"), one.texts("makers"));
                let target = |words| MissingTarget { words, manifest, makers };
                let facts = CommandFacts {
                    missing_program: one.text("program"),
                    missing_target: words.map(target),
                };
                commands.insert(one.text_or_empty("command"), facts);
            }
        }
        Self {
            commands,
            absent: fields.texts("absent").into_iter().collect(),
            present: fields.texts("present").into_iter().collect(),
            protected: fields.texts("protected").into_iter().collect(),
            has_setup: fields.flag("has_setup").unwrap_or(false),
            holding: BTreeSet::new(),
            unmatched: Vec::new(),
        }
    }
}
