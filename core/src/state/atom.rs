//! Atoms: the nodes of the work graph (contract §5), and what was tried of each.

mod phase;
mod plan;
mod text;

pub use phase::{PhaseBudget, PhaseEnd, PhaseLimit};
pub use plan::{Fragment, Grant, GrantEntry, PlanningStep, replans};

use alloc::{boxed::Box, collections::BTreeMap, string::String, sync::Arc, vec::Vec};

use super::{
    Binding, Check, FreeValue,
    fields::{DurationText, Extra, Writer},
};
use crate::{
    doc,
    id::{AtomId, AttemptId, Digest},
};

#[derive(Debug, Clone)]
pub struct Atom {
    pub description: String,
    pub depends_on: Vec<AtomId>,
    pub body: Body,
    /// Whether it can begin with a part of what a planning step that plans for it came to.
    pub accepts_partial: bool,
    pub origin: Option<FreeValue>,
    pub extra: Extra,
}

/// A kind carries its data.
#[derive(Debug, Clone)]
pub enum Body {
    Task(Box<Task>),
    /// A planning step: an `all` as soon as a fragment is in force.
    Plan(Box<PlanningStep>),
    All {
        parts: Vec<AtomId>,
    },
    Any {
        choices: Vec<AtomId>,
        selected: Option<AtomId>,
        speculative: bool,
    },
}

#[derive(Debug, Clone)]
pub struct Task {
    pub spec: Arc<Spec>,
    pub status: AtomStatus,
    pub tries: Vec<Try>,
    pub interruptions: u32,
    pub touches: Vec<String>,
    pub interruptible: bool,
    pub unknown: bool,
}

/// What an attempt is made from: a change of it opens a new context.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub action: Option<Action>,
    pub effect: SideEffect,
    pub checks: Option<Check>,
    pub output_schema: Option<FreeValue>,
    pub timeout: Option<DurationText>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub run: String,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// Lives in the workspace tree alone.
    Tree,
    /// Reaches outside: nothing undoes it.
    External { idempotent: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub enum AtomStatus {
    Pending,
    /// No attempt left in the present context.
    Failed,
    /// The attempt said that it cannot be done; its words.
    Invalid(String),
    NeedsGuidance,
    /// An external effect of which nobody knows whether it happened.
    InDoubt(AttemptId),
}

/// What was tried of one task in one context.
#[derive(Debug, Clone)]
pub struct Try {
    pub context: Digest,
    /// The choices in force upstream, group → choice: with the specifications they make the context.
    pub choices: BTreeMap<AtomId, AtomId>,
    pub attempts: u32,
    /// Of the attempt under way.
    pub transient: u32,
    pub repairs: u32,
    /// Of a planning step: how often it was planned again. Its attempts are those of the newest round.
    pub rounds: u32,
    pub ended: Option<TryEnd>,
    pub extra: Extra,
}

#[derive(Debug, Clone)]
pub enum TryEnd {
    Failed(FailureClass),
    /// Solved in a context that is not in force.
    Parked(Arc<Binding>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The work was wrong.
    Logical,
    /// The surroundings were: a timeout, a missing program.
    Environmental,
}

impl FailureClass {
    pub const WORDS: [(&'static str, FailureClass); 2] = [
        ("logical", FailureClass::Logical),
        ("environmental", FailureClass::Environmental),
    ];

    pub fn word(self) -> &'static str {
        match self {
            FailureClass::Logical => "logical",
            FailureClass::Environmental => "environmental",
        }
    }
}

impl SideEffect {
    pub fn is_in_tree(self) -> bool {
        self == SideEffect::Tree
    }

    pub fn is_once_only(self) -> bool {
        self == SideEffect::External { idempotent: false }
    }
}

impl Try {
    pub fn new(context: Digest, choices: BTreeMap<AtomId, AtomId>) -> Self {
        Self {
            context,
            choices,
            attempts: 0,
            transient: 0,
            repairs: 0,
            rounds: 0,
            ended: None,
            extra: Extra::default(),
        }
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.ended, Some(TryEnd::Failed(_)))
    }
}

impl Task {
    pub fn new(spec: Spec) -> Self {
        Self {
            spec: Arc::new(spec),
            status: AtomStatus::Pending,
            tries: Vec::new(),
            interruptions: 0,
            touches: Vec::new(),
            interruptible: true,
            unknown: false,
        }
    }

    pub fn tried(&self, context: &Digest) -> Option<&Try> {
        self.tries.iter().find(|tried| tried.context == *context)
    }

    /// The entry of that context, made where there is none.
    pub fn tried_mut(&mut self, context: &Digest, choices: &BTreeMap<AtomId, AtomId>) -> &mut Try {
        let index = match self
            .tries
            .iter()
            .position(|tried| tried.context == *context)
        {
            Some(index) => index,
            None => {
                // Nearly always the only one.
                self.tries.reserve_exact(1);
                self.tries.push(Try::new(context.clone(), choices.clone()));
                self.tries.len() - 1
            }
        };
        &mut self.tries[index]
    }
}

impl Atom {
    pub fn task(&self) -> Option<&Task> {
        match &self.body {
            Body::Task(task) => Some(task),
            Body::Plan(plan) => Some(&plan.task),
            Body::All { .. } | Body::Any { .. } => None,
        }
    }

    pub fn task_mut(&mut self) -> Option<&mut Task> {
        match &mut self.body {
            Body::Task(task) => Some(task),
            Body::Plan(plan) => Some(&mut plan.task),
            Body::All { .. } | Body::Any { .. } => None,
        }
    }

    pub fn plan(&self) -> Option<&PlanningStep> {
        match &self.body {
            Body::Plan(plan) => Some(plan),
            Body::Task(_) | Body::All { .. } | Body::Any { .. } => None,
        }
    }

    pub fn plan_mut(&mut self) -> Option<&mut PlanningStep> {
        match &mut self.body {
            Body::Plan(plan) => Some(plan),
            Body::Task(_) | Body::All { .. } | Body::Any { .. } => None,
        }
    }

    /// The same atom where atoms have other names.
    pub fn rename(&mut self, name: impl Fn(&mut AtomId)) {
        self.depends_on.iter_mut().for_each(&name);
        match &mut self.body {
            Body::Task(_) => {}
            Body::Plan(plan) => plan.rename(&name),
            Body::All { parts } => parts.iter_mut().for_each(name),
            Body::Any {
                choices, selected, ..
            } => choices.iter_mut().chain(selected).for_each(name),
        }
    }

    pub fn kids(&self) -> &[AtomId] {
        match &self.body {
            Body::Task(_) => &[],
            Body::Plan(plan) => plan.kids(),
            Body::All { parts } => parts,
            Body::Any { choices, .. } => choices,
        }
    }

    pub fn selected(&self) -> Option<&AtomId> {
        match &self.body {
            Body::Any { selected, .. } => selected.as_ref(),
            Body::Task(_) | Body::Plan(_) | Body::All { .. } => None,
        }
    }

    /// What a person calls it: its description, else its id.
    pub fn title<'a>(&'a self, id: &'a AtomId) -> &'a str {
        if self.description.is_empty() {
            id.as_str()
        } else {
            &self.description
        }
    }

    /// The digest of what decides its result: description and specification.
    pub fn spec_digest(&self) -> Digest {
        let mut to = Writer::default();
        to.text("description", &self.description);
        if self.plan().is_some() {
            to.text("kind", "plan");
        }
        if let Some(task) = self.task() {
            text::write_spec(&task.spec, &mut to);
        }
        Digest::of(doc::canonical(&to.finish(&Extra::default())).as_bytes())
    }
}
