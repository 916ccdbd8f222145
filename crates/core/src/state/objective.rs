//! The agreement: objective, constraints (contract §4), and the control flags.

use super::{
    Check, FreeValue, JudgingLevel, Micros, PlannerContext, UsageLimit,
    fields::{DurationText, Fields},
    judged::{self, ConvergenceCriterion},
    profile::ProfileText,
    table::{record, words},
    value::FieldValue,
};
use crate::doc::prelude::*;
use crate::{
    doc::{Node, Value},
    id::{RequestId, RunId},
};

/// Failures in a row that are alike, after which an atom may rest.
pub const PERSISTENT: u32 = 2;

record! {
    /// The goal, and how a machine sees that it is reached
    #[derive(Default)]
    pub struct Objective {
        /// The person's first words, where the goal has become another
        filled(other_words) raw_input: String,
        /// The thing that shall exist or hold
        always goal: String,
        /// Why it is wanted
        always background_intent: String,
        /// The things that shall exist
        filled deliverables: String,
        /// When it is done
        filled definition_of_done: String,
        /// The parts that belong to it (`in`), and those that do not (`out`)
        optional(filled_value) scope: FreeValue,
        /// Questions that were asked, and their answers
        optional(filled_value) clarifications: FreeValue,
        /// Ends the run when it holds; one leaf at least is decided by a machine
        optional base_case: Check,
        filled constraints: Constraints = Constraints::default(),
    }
}

/// First words that are the goal are none.
fn other_words(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let words = fields.text(key);
    words.filter(|words| fields.node.get("goal").and_then(Node::as_str) != Some(words))
}

/// A value that says nothing is none.
fn filled_value(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<FreeValue> {
    fn is_empty(node: &Node) -> bool {
        match &node.value {
            Value::Object(members) => members.iter().all(|member| is_empty(&member.node)),
            Value::Array(items) => items.iter().all(is_empty),
            _ => false,
        }
    }
    FreeValue::take(fields, key).filter(|value| !is_empty(value))
}

record! {
    /// Only what somebody chose; everything has a default
    #[derive(Default, PartialEq)]
    pub struct Constraints {
        /// attempts at the same time
        optional max_parallel_agents: u32 = 3,
        /// attempts of an atom in a context
        ///
        /// A context is new when something changes that the atom builds on
        optional(above_zero) max_attempts: u32,
        /// turns in which an attempt corrects its work
        ///
        /// The agent is told which checks do not hold, and goes on in its session. 0: a failed check ends the attempt
        optional corrections: u32 = 2,
        /// retries of an attempt or a check
        ///
        /// Network errors and the like are transient
        optional max_transient: u32 = 3,
        /// what the run may use in all
        filled budget: RunBudget = RunBudget::default(),
        /// what planners may add and change
        filled planning: PlanningLimits = PlanningLimits::default(),
        /// time of one attempt or check
        optional(Fields::length) attempt_timeout: DurationText = DurationText::minutes(30),
        /// where attempts work
        ///
        /// `git`: a tree and a repository for each attempt. `shadow`: the same without a repository of yours, which
        /// `align` writes down outside of one. `shared`: in place, nothing is undone
        optional workspace: Workspace = Workspace::Git,
        /// paths shared into each workspace
        ///
        /// For example `[node_modules, .env]`, but never `.git` or `.descent`
        filled link: Vec<String>,
        /// what makes a new workspace ready
        filled setup: Setup = Setup::default(),
        /// whether trees begin with build state
        ///
        /// `on`: attempts and candidates begin with what a checkout built before, in directories that git ignores. The
        /// verdicts that decide never do. `off`: everything is built anew each time
        optional warm: WarmUse = WarmUse::On,
        /// variables passed on beside others
        ///
        /// The default list is passed on anyway
        filled env: Vec<String>,
        /// what no attempt may change
        ///
        /// Globs such as `['tests/**']`. An attempt that changes one fails, class `logical`, and the reason names the
        /// path
        filled protected: Vec<String>,
        /// what an attempt begins with after a failed one
        ///
        /// `clean`: the tree alone. `last`: also the newest change of its atom in this context that is kept, without
        /// protected paths. An atom may have its own
        optional retry_from: RetryFrom = RetryFrom::Clean,
        /// end at the first verdict that holds
        ///
        /// Steps may be open then
        filled finish_early: bool,
        /// how much a planner's plan is looked at
        ///
        /// `off`: not at all. `code`: by rules. `model`: also by the judge (`judge.plan`), before anything of it starts.
        /// `full`: also all steps together, at the end of a pass
        optional judging: JudgingLevel = JudgingLevel::Code,
        /// the kind of task that the goal is
        ///
        /// Any of `depth=1..5`, `information=0..1`, `tools=none|minimal|moderate|extensive`,
        /// `breadth=narrow|moderate|broad`, `confidence=low|medium|high`. It gives passes, depth of plans and `judging`
        optional profile: ProfileText,
        /// when a pass counts as converged
        ///
        /// Criteria `{name, statement, at_least}` beside the program's own, which decide nothing (`judging`)
        filled(judged::criteria) convergence: Vec<ConvergenceCriterion>,
        /// whether the control law decides
        ///
        /// `act`: planners obey its directives. `show`: it is only shown. `off`: it is not computed
        optional law: LawUse = LawUse::Act,
        /// whether an atom rests after failures alike
        ///
        /// It rests while other choices are left. Unless given, atoms of workers do. A shell action does so only with
        /// `true` and `max_attempts`
        optional rest: bool = true,
        /// when nothing is left to try
        ///
        /// `ask` ends as `needs_guidance`, `abandon` as `exhausted`. `align` writes `ask` where it has a terminal
        optional on_stuck: OnStuck = OnStuck::Abandon,
        /// whether earlier runs of the project count
        ///
        /// `on`: their lessons change the order in which choices are tried, and are told to planners and workers. `off`:
        /// no lesson is read or written
        optional memory: MemoryUse = MemoryUse::On,
    }
}

record! {
    /// Limits of a run in all, over restarts
    #[derive(Default, PartialEq)]
    pub struct RunBudget {
        /// iterations
        ///
        /// The halting bound limits them anyway
        optional iterations: u64,
        /// active time
        ///
        /// Sleep counts for nothing
        optional time: DurationText,
        /// model calls
        ///
        /// As agents report them. An agent that reports none uses none of it
        optional(above_zero) calls: u64,
        /// tokens
        ///
        /// Those read, written and read from a cache together
        optional(above_zero) tokens: u64,
        /// dollars
        ///
        /// Decimal text such as `"2.50"`
        optional(above_zero) cost_usd: Micros,
    }
}

record! {
    /// Limits of what planners add and change
    #[derive(Default, PartialEq)]
    pub struct PlanningLimits {
        /// atoms that planners may add in all
        optional atoms: u32 = 100,
        /// how deep groups may nest
        optional depth: u32 = 5,
        /// plans that failed and are made again
        ///
        /// All planning steps count together, and each change of the plan by a planner. 0: never
        optional changes: u32 = 10,
        /// how often one step is planned again
        ///
        /// Each context counts alone
        optional refinements: u32 = 3,
        /// planning steps at the same time
        ///
        /// Steps yet to be made count too, and those inside of plans
        optional phases: u32 = 5,
        /// passes that a run may have
        ///
        /// A pass is a stretch of a run under one plan. One more than `changes` unless given
        optional(above_zero) passes: u32,
        /// what planners are told of results
        ///
        /// `{mode, chars}`. `mode` is `full`, `contract`, `summary`, `selective`, `hierarchical` or `auto`; `chars` limits
        /// the planner's prompt. A planning step may have its own
        optional context: PlannerContext = PlannerContext::of_program(),
    }
}

record! {
    /// The command that makes a new workspace ready
    #[derive(Default, PartialEq)]
    pub struct Setup {
        /// a command that runs once in each new workspace
        ///
        /// It runs again in a workspace that is kept, or begins with build state, if what it reads differs. Its changes are
        /// no part of a step's change
        optional(Fields::command) run: String,
        /// the only files that it reads
        ///
        /// Globs. Unless given: lock files, what they are made from, and files that the command names; the whole tree if
        /// there are none
        filled inputs: Vec<String>,
        /// ignored paths that checkouts keep
        ///
        /// Globs such as `[target, node_modules]`. These paths survive from one pristine checkout to the next. A tracked
        /// path, or one that git does not ignore, never does
        filled keep: Vec<String>,
    }
    hint form_of_setup;
}

fn form_of_setup(node: &Node) -> Option<String> {
    node.as_str().map(|_| "write `setup: {run: …}`".to_owned())
}

words! {
    pub enum LawUse {
        /// Planners obey its directives
        Act = "act",
        /// It is only shown
        Show = "show",
        /// It is not computed
        Off = "off",
    }
}

words! {
    pub enum Workspace {
        /// A worktree an attempt
        Git = "git",
        /// The same on a private repository in the cache, for a directory that is in none
        Shadow = "shadow",
        /// In place: no isolation, nothing is undone
        Shared = "shared",
    }
}

words! {
    pub enum RetryFrom {
        /// The tree alone
        Clean = "clean",
        /// Also the newest change in this context that is kept
        Last = "last",
    }
}

words! {
    pub enum OnStuck {
        Ask = "ask",
        Abandon = "abandon",
    }
}

words! {
    pub enum WarmUse {
        /// Trees begin with what a checkout built before
        On = "on",
        /// Everything is built anew
        Off = "off",
    }
}

words! {
    pub enum MemoryUse {
        /// Lessons of earlier runs are read, and those of this one are written
        On = "on",
        /// Neither
        Off = "off",
    }
}

impl Constraints {
    pub fn max_attempts(&self, is_action: bool) -> u32 {
        self.max_attempts.unwrap_or(if is_action { 1 } else { 3 }).max(1)
    }

    /// Failures in a row that are alike, after which a task rests; none where it never does. An action is told nothing new,
    /// so it rests only if a person says so and gave it more than one attempt.
    pub fn rests_after(&self, is_action: bool) -> Option<u32> {
        let is_wanted = self.rest.unwrap_or(!is_action);
        (is_wanted && self.max_attempts(is_action) > PERSISTENT).then_some(PERSISTENT)
    }

    pub fn law_acts(&self) -> bool {
        self.law() == LawUse::Act
    }

    /// The larger of both limits, for an atom whose worker is not known yet.
    pub fn max_attempts_of_any(&self) -> u32 {
        self.max_attempts(true).max(self.max_attempts(false))
    }

    /// One at least: without any the run would stand still.
    pub fn parallel_agents(&self) -> u32 {
        self.max_parallel_agents().max(1)
    }

    /// A limit of usage; of money in millionths of a dollar.
    pub fn usage(&self, limit: UsageLimit) -> Option<u64> {
        match limit {
            UsageLimit::Calls => self.budget.calls,
            UsageLimit::Tokens => self.budget.tokens,
            UsageLimit::Cost => self.budget.cost_usd.map(|cost| cost.0),
        }
    }

    /// Whether model calls, tokens or money are limited.
    pub fn limits_usage(&self) -> bool {
        let mut limits = UsageLimit::ALL.into_iter();
        limits.any(|limit| self.usage(limit).is_some())
    }

    pub fn attempt_timeout_ms(&self) -> u64 {
        self.attempt_timeout().ms
    }
}

fn above_zero<T: FieldValue>(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<T> {
    let value = T::take(fields, key)?;
    if value.is_blank() {
        let message = format!("`{key}` is 0, so nothing could ever be tried");
        fields.fault_at(key, "limit", message, Some("more than 0".to_owned()));
    }
    Some(value)
}

record! {
    /// Requests of a person to the loop, by command or by hand
    #[derive(Default)]
    pub struct Control {
        /// `true` ends the present run in order, or the next one
        always stop_requested: bool,
        /// Why, for who reads it later
        optional stop_reason: String,
        /// `true` ends what is under way once, and the run goes on
        always redirect_requested: bool,
        /// Written by a command
        optional(readable_request) request: Request,
    }
}

record! {
    /// A request by command: obeyed once, by the run that it names
    pub struct Request {
        /// Its name
        required id: RequestId,
        /// The run that it is for
        optional run: RunId,
        /// The account
        always by: String,
        /// When
        always at: String,
        /// The wish
        required kind: RequestKind,
    }
}

words! {
    pub enum RequestKind {
        /// End in order: attempts that may not be interrupted finish
        Stop = "stop",
        /// End at once
        StopNow = "stop_now",
        Redirect = "redirect",
    }
}

/// A request that is not understood is written back as it is.
fn readable_request(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Request> {
    let request = Request::take(fields, key);
    if request.is_none() && fields.has(key) {
        fields.keep(key);
    }
    request
}
