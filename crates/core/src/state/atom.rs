//! Atoms: the nodes of the work graph (contract §5), and the tries of each.

pub(crate) mod atom_text;
pub mod binding;
mod ends;
mod phase;
mod plan;

pub use ends::{GUIDANCE_CHARS_MAX, GUIDANCE_MAX, ShownStatus};
pub use phase::{AlikeFailures, PhaseBudget, PhaseEnd, PhaseLimit, Placed, Rest};
pub use plan::{Fragment, Grant, GrantEntry, PlanningStep, replans, replans_left};

use super::{
    Binding, Check, FreeValue, RetryFrom,
    answer_records::CostEstimate,
    fields::{DurationText, Extra, Fields, Writer},
    rule::Form,
    table::{Part, record, words},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node, Value},
    id::{AgentName, AtomId, AttemptId, Digest},
};

#[derive(Debug, Clone, Default)]
pub struct Atom {
    pub description: String,
    pub depends_on: Vec<AtomId>,
    pub body: Body,
    /// Whether it can begin with a partial result of the planning step that plans for it.
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
        /// Whether its choices are probed before one is tried.
        unknown: bool,
    },
}

impl Default for Body {
    fn default() -> Self {
        Self::Task(Box::default())
    }
}

record! {
    part
    /// The work of an atom, and its attempts
    pub struct Task {
        part spec: Arc<Spec>,
        /// The paths that it is expected to change
        filled touches: Vec<String>,
        /// Names of what it needs of the steps before it; no part of the specification
        filled needs: Vec<String>,
        /// Names of what it provides for the steps after it; no part of the specification
        filled provides: Vec<String>,
        /// How often planners changed it
        filled[internal] refined: u32,
        /// Whether a refiner added or changed it, and it does not start before that was looked at
        filled[internal] unjudged: bool,
        /// The reason why a person should look at it
        optional[program] attention: AttentionMark,
        /// Questions of its own agent, or of a refiner
        filled[program] questions: Vec<TaskQuestion>,
        /// Whether a stop may cut it off (true)
        filled interruptible: bool = true,
        /// Whether it is probed before it is tried
        filled unknown: bool,
        /// The beginning of an attempt after a failed one; no part of the specification
        optional retry_from: RetryFrom,
        part[program] status: AtomStatus,
        /// The attempts, by context
        filled[internal] tries: Vec<Try>,
        /// Crashes that cut it off
        filled[internal] interruptions: u32,
    }
    with Default;
}

words! {
    /// Why a person should look at an atom
    pub enum AttentionCause {
        /// A refiner says that its result contradicts another
        Contradicted = "contradicted",
        /// Its plan is tried with the issues that were found in it
        Issues = "issues",
        /// Planners changed it as often as is allowed
        Limit = "limit",
    }
}

record! {
    /// A mark that asks a person to look at an atom: it decides nothing
    #[derive(PartialEq)]
    pub struct AttentionMark {
        required[program] because: AttentionCause,
        /// The words for a person
        filled[program] text: String,
    }
}

/// Questions of a task that are kept, the newest. A refiner may ask as many in one answer.
pub(crate) const QUESTIONS_MAX: usize = 3;

record! {
    /// A question about a task
    #[derive(Default, PartialEq)]
    pub struct TaskQuestion {
        /// The question
        required[program] question: String,
        /// Answers to choose from, as its agent sees them
        filled[program] options: Vec<String>,
        /// The answer that is assumed; absent once a person has said something to the task
        filled[program] assume: String,
    }
}

record! {
    part
    /// The specification of an attempt: a change of it opens a new context
    #[derive(Default, PartialEq)]
    pub struct Spec {
        /// A shell action; without one the configured worker does it
        optional action: Action,
        part effect: SideEffect,
        /// The conditions that solve it
        optional(ends::own_checks) checks: Check,
        /// A JSON Schema that the value of its result must fit
        optional output_schema: FreeValue,
        /// How long an attempt may take
        optional timeout: DurationText,
        /// The agent that does it, by its name in the configuration
        optional agent: AgentName,
        /// A person's words on it: 20 at most, of 4,000 characters each
        filled(ends::guidance) guidance: Vec<String>,
    }
}

record! {
    /// A shell action
    #[derive(PartialEq)]
    pub struct Action {
        /// A shell command
        required(Fields::command) run: String,
        /// Ends that may pass, beside exit 75: it is tried again, and no attempt is used up
        optional transient: TransientEnd,
    }
    hint ends::form_of_action;
}

record! {
    /// Ends of a command that may pass: one of the codes, or an output that fits
    #[derive(PartialEq)]
    pub struct TransientEnd {
        /// Exit codes from 1 to 255
        filled(ends::exit_codes) exit: Vec<i32> {Form::List(Box::new(Form::Whole(1, 255)))},
        /// A regular expression that its output matches
        optional output: String,
    }
    with Default;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SideEffect {
    /// Changes the workspace tree alone.
    #[default]
    Tree,
    /// Reaches outside: nothing undoes it.
    External { idempotent: bool },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub enum AtomStatus {
    #[default]
    Pending,
    /// No attempt is left in the present context.
    Failed,
    /// The attempt reported that it cannot be done.
    Invalid(BlockedReport),
    NeedsGuidance,
    /// An external effect that may or may not have happened.
    InDoubt(AttemptId),
}

/// The report of an attempt that says that its task cannot be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BlockedReport {
    pub words: String,
    /// Its value and what it hands on, if it gave any.
    pub output: Option<FreeValue>,
}

record! {
    /// The attempts of a task in one context
    #[derive(Default)]
    pub struct Try {
        required[program] context: Digest,
        /// The choices in force upstream, group to choice: with the specifications they make the context
        filled[program] choices: BTreeMap<AtomId, AtomId>,
        always[program] attempts: u32,
        /// Retries of the attempt under way
        filled[program] transient: u32,
        filled[program] repairs: u32,
        /// The change that did not merge, until another lands
        optional[program] conflict: MergeConflict,
        /// The probe before its first attempt
        optional[program] probe: ProbeRecord,
        /// How often a planning step was planned again; its attempts are those of the newest round
        filled[program] rounds: u32,
        /// The newest failures that are alike, until it goes on or ends
        optional[program] alike: AlikeFailures,
        /// Its rest, which it has once at most
        optional[program] rest: Rest,
        part[program] ended: Option<TryEnd>,
    }
}

record! {
    /// The estimate of a probe; its finding stands in the trail
    #[derive(PartialEq)]
    pub struct ProbeRecord {
        required attempt: AttemptId,
        /// Absent of a probe that found nothing out
        optional feasible: bool,
        part estimate: CostEstimate,
    }
}

record! {
    /// A change that did not merge
    pub struct MergeConflict {
        /// The attempt that made it; unknown of a commit that no longer applies
        optional attempt: AttemptId,
        /// The paths; of a commit that no longer applies, all that it changed
        always paths: Vec<String>,
    }
}

#[derive(Debug, Clone)]
pub enum TryEnd {
    Failed(FailureClass),
    /// Solved in a context that is not in force.
    Parked(Arc<Binding>),
}

words! {
    pub enum FailureClass {
        /// The work was wrong
        Logical = "logical",
        /// The environment failed: a timeout, a missing program
        Environmental = "environmental",
    }
}

impl TaskQuestion {
    /// It with its options, in a line.
    pub fn text(&self) -> String {
        match &self.options[..] {
            [] => self.question.clone(),
            options => format!("{} ({})", self.question, options.join(" | ")),
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
        Self { context, choices, ..Self::default() }
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.ended, Some(TryEnd::Failed(_)))
    }

    /// Its result, which is kept until its context comes back.
    pub fn parked(&self) -> Option<&Binding> {
        match &self.ended {
            Some(TryEnd::Parked(binding)) => Some(binding),
            Some(TryEnd::Failed(_)) | None => None,
        }
    }
}

impl Task {
    pub fn new(spec: Spec) -> Self {
        Self { spec: Arc::new(spec), ..Self::default() }
    }

    /// The question that waits for a person's answer.
    pub fn open_question(&self) -> Option<&TaskQuestion> {
        self.questions.last().filter(|_| self.status == AtomStatus::NeedsGuidance)
    }

    pub fn tried(&self, context: &Digest) -> Option<&Try> {
        self.tries.iter().find(|tried| tried.context == *context)
    }

    /// The try of that context, created if missing.
    pub fn tried_mut(&mut self, context: &Digest, choices: &BTreeMap<AtomId, AtomId>) -> &mut Try {
        let index = match self.tries.iter().position(|tried| tried.context == *context) {
            Some(index) => index,
            None => {
                // Nearly always there is only one.
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

    /// Whether a change of a plan that stood added it, so that it is in no fragment.
    pub fn is_added_by_delta(&self) -> bool {
        let origin = self.origin.as_ref();
        origin.is_some_and(|origin| origin.get("delta").is_some())
    }

    /// The same atom with other names of atoms.
    pub fn rename(&mut self, name: impl Fn(&mut AtomId)) {
        self.depends_on.iter_mut().for_each(&name);
        match &mut self.body {
            Body::Task(_) => {}
            Body::Plan(plan) => plan.rename(&name),
            Body::All { parts } => parts.iter_mut().for_each(name),
            Body::Any { choices, selected, .. } => {
                choices.iter_mut().chain(selected).for_each(name)
            }
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

    /// Its name for a person: its description, else its id.
    pub fn title<'a>(&'a self, id: &'a AtomId) -> &'a str {
        if self.description.is_empty() { id.as_str() } else { &self.description }
    }

    /// The digest of everything that decides its result: description and specification, without remarks in them.
    pub fn spec_digest(&self) -> Digest {
        let mut to = Writer::default();
        to.text("description", &self.description);
        if self.plan().is_some() {
            to.text("kind", "plan");
        }
        if let Some(task) = self.task() {
            task.spec.write(&mut to);
        }
        let mut node = to.finish(&Extra::default());
        if let Value::Object(members) = &mut node.value {
            let is_record = |key: &str| matches!(key, "action" | "checks");
            for member in members.iter_mut().filter(|member| is_record(&member.key)) {
                member.node = core::mem::replace(&mut member.node, Node::null()).without_notes();
            }
        }
        Digest::of(doc::canonical(&node).as_bytes())
    }
}
