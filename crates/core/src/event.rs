//! The inputs of a run, and the events that it reports, as data.

mod about;
pub mod event_record;
mod input;
mod outcome;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

pub use input::{ConsultAnswer, ConsultEnd, Input, Merge, Observation, Scope};
pub(crate) use outcome::short;
pub use outcome::{AgentEnd, AgentLack};
pub use outcome::{
    AgentReport, AnswerDoubt, Clarity, Leftovers, MISFITS_MAX, Misfit, NotTaken, Outcome, Product,
};

pub use crate::state::{Reason, record::ChoiceChange};

use crate::{
    id::{AgentName, AtomId, AttemptId, CommitId, ConsultId, LessonId, RunId},
    state::{
        FailureClass, JudgedBy, Question, RunStatus,
        atom::{AttentionCause, PhaseLimit},
        law::{Directive, Gradient},
        objective::RequestKind,
        record::{Choices, CorrectionType, ReplanPlace, RetireReason},
    },
    verdict::Verdict,
};

/// Files at most that are named of one attempt.
pub const FILES_MAX: usize = 20;

/// An announcement of a commit: `run` reports it, and the journal keeps it in the commit's line.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    RunStarted {
        run: RunId,
        attempts_left: String,
        verdicts_left: String,
        /// Includes every transient retry, repair and interruption.
        starts_left: String,
        /// Changes of the plan that planners may still make.
        changes_left: Option<u32>,
        /// Attempts that each of them may add.
        attempts_a_change: Option<String>,
        /// Questions at most.
        consults_left: Option<String>,
    },
    /// An agent that thinks is asked.
    Consulting {
        consult: ConsultId,
        question: Question,
        agent: AgentName,
        about: String,
    },
    /// It answered, or did not.
    Consulted {
        consult: ConsultId,
        question: Question,
        agent: AgentName,
        about: String,
        ms: u64,
        /// A share of the highest score; none without a usable answer.
        score: Option<String>,
        /// Whether the score reaches the threshold.
        holds: Option<bool>,
        /// The answer in short, where nothing else shows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        words: String,
        /// The reason for the score, or why the answer is of no use.
        because: String,
    },
    /// A planner's plan was looked at: advice, not proof.
    Judged {
        atom: AtomId,
        by: JudgedBy,
        agent: Option<AgentName>,
        high: usize,
        medium: usize,
        low: usize,
        /// Issues of the agent that name no atom of the plan.
        #[serde(default, skip_serializing_if = "is_none")]
        unplaced: u32,
        /// Whether it is planned again before anything of it is tried.
        again: bool,
        /// Why no judging agent looked at it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },
    /// The standing of a run at a refuted selection, a change of the plan or a dead end: numbers from 0 to 1.
    Law {
        pass: u64,
        /// The distance of the result from the base case.
        d: String,
        /// The share of logical failures in the pass.
        p: String,
        /// The used share of changes and budgets.
        omega: String,
        l: String,
        gradient: Gradient,
        /// The change of the distance since the point before; absent at the first.
        grad_d: Option<String>,
        directive: Directive,
        because: String,
    },
    AttemptStarted {
        attempt: AttemptId,
        atom: AtomId,
        n: u32,
        of: u32,
        description: String,
        #[serde(default)]
        because: StartReason,
    },
    Solved {
        /// Unknown of a result whose event is not kept, as in all such options.
        attempt: Option<AttemptId>,
        atom: AtomId,
        ms: Option<u64>,
        files: Vec<String>,
        #[serialize_always]
        commit: Option<CommitId>,
        summary: String,
        /// The doubt about it, though its checks hold.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        unclear: String,
        /// Words for things that its attempt left and the result does not have.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        not_taken: String,
    },
    /// A planner's output is part of the graph now.
    Planned {
        attempt: AttemptId,
        atom: AtomId,
        ms: Option<u64>,
        parts: Vec<String>,
        /// Includes groups and what is inside them.
        atoms: Option<usize>,
        /// How it differs from the plan before it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        differs: String,
        /// Lessons of earlier runs that speak against it: it was the last attempt of its round.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        in_spite_of: Vec<LessonId>,
    },
    /// No fragment of a planning step is left: another is requested.
    PlannedAgain {
        atom: AtomId,
        round: u32,
        because: String,
    },
    /// A planner changes the plan where nothing was left to try, or no change was admitted.
    Replanned {
        /// The step that plans anew.
        atom: Option<AtomId>,
        place: ReplanPlace,
        because: String,
        /// The reason why no change was admitted.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        refused: String,
        /// The refiner that proposed it, where one was asked.
        by: Option<AgentName>,
        /// The tasks that it added or changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        atoms: Vec<AtomId>,
        /// The tasks that it took out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<AtomId>,
        /// Changes that may still be tried.
        changes_left: u32,
    },
    /// The budget of a fragment is over and parts of it are open.
    PhaseOver {
        atom: AtomId,
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        limit: PhaseLimit,
        /// It continues without them; otherwise the fragment failed.
        #[serde(default)]
        is_partial: bool,
        missing: Vec<String>,
    },
    AttemptFailed {
        attempt: AttemptId,
        atom: AtomId,
        ms: Option<u64>,
        class: FailureClass,
        reason: String,
        attempts_left: Option<u32>,
        /// Its checks that held, where it was judged by some.
        held: Option<u64>,
        /// All of its checks.
        of: Option<u64>,
    },
    /// Its checks do not hold: its agent is told, and goes on in the same session.
    Correcting {
        attempt: AttemptId,
        atom: AtomId,
        /// Milliseconds of all its turns so far.
        ms: Option<u64>,
        turn: u32,
        of: u32,
        reason: String,
    },
    Transient {
        attempt: AttemptId,
        atom: AtomId,
        ms: u64,
        retry: u32,
        of: u32,
        wait_ms: u64,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The provider of its agent takes no more until then, or is down: it waits, at no cost.
    Limited {
        attempt: AttemptId,
        atom: AtomId,
        agent: AgentName,
        until: String,
        wait: u32,
        of: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// It ended before the loop died: its result is used as it is.
    Adopted {
        attempt: AttemptId,
        atom: AtomId,
    },
    Interrupted {
        attempt: AttemptId,
        atom: AtomId,
        why: String,
    },
    /// A probe found out whether a task can be done, or nothing.
    Probed {
        attempt: AttemptId,
        atom: AtomId,
        ms: Option<u64>,
        feasible: Option<bool>,
        findings: String,
    },
    /// A person is asked before its next attempt: its failures are alike and nothing else can be chosen, or its agent or
    /// a refiner has a question.
    NeedsGuidance {
        atom: AtomId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        question: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// An atom is set aside in its context, where it failed alike, while other choices are left.
    Rested {
        atom: AtomId,
        /// The newest of its attempts there.
        n: u32,
        /// How many failures in a row are alike.
        alike: u32,
    },
    /// Nothing else is left: atoms that were set aside go on.
    Woken {
        atoms: Vec<AtomId>,
    },
    /// A person should look at an atom. It goes on as it is.
    Attention {
        atom: AtomId,
        cause: AttentionCause,
        because: String,
    },
    Repair {
        atom: AtomId,
        /// The attempt whose change did not merge.
        attempt: Option<AttemptId>,
        /// The paths in which it did not; of a commit that no longer applies, all that it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflict: Vec<String>,
        /// One more than `of` if it had failed before it could be made again.
        repair: u32,
        of: u32,
        why: String,
    },
    InDoubt {
        attempt: AttemptId,
        atom: AtomId,
        why: String,
    },
    Discarded {
        attempt: AttemptId,
    },
    Chosen {
        group: AtomId,
        choice: AtomId,
        untried: usize,
    },
    Refuted {
        choices: Choices,
        failed: Vec<String>,
    },
    Backtracked {
        changes: Vec<ChoiceChange>,
        because: String,
    },
    Parked {
        atom: AtomId,
        /// The task, or what it builds on, was changed; else its choices went out of force.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        is_changed: bool,
    },
    Revived {
        atom: AtomId,
    },
    /// The repository lost a result that was kept for another selection.
    Forgotten {
        atom: AtomId,
    },
    Rebuilt {
        kept: usize,
        taken_back: Vec<AtomId>,
        head: CommitId,
    },
    BaseCase {
        verdict: Verdict,
        /// Taken in a new checkout: it decides.
        pristine: bool,
        /// The leaves that hold; one that was not measured counts as not holding.
        held: Option<u64>,
        /// All leaves.
        of: Option<u64>,
        /// Those that were not measured: another one decided.
        unmeasured: Option<u64>,
        /// Agreed steps that are open although the check holds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        open: Vec<AtomId>,
        /// Everything else holds: a person must confirm this assertion.
        awaits: Option<String>,
        /// This check is unknown: it is measured again.
        again: Option<String>,
        /// The leaf that a judge rates once the rest is done.
        to_rate: Option<String>,
    },
    /// Checks whose verdicts differ between a reused and a new checkout: the latter counts.
    Disagreed {
        checks: Vec<String>,
    },
    /// Checks that failed at `align` and now hold on the same tree.
    Unsteady {
        checks: Vec<String>,
    },
    /// Several atoms failed alike.
    Pattern {
        atoms: Vec<AtomId>,
        reason: String,
    },
    Corrected {
        /// Absent where several kinds of things were corrected.
        kind: Option<CorrectionType>,
        what: String,
        effects: Vec<String>,
        /// Overridden values, one line each, if the edit and the program both wrote them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<String>,
    },
    /// Something is asked of the loop.
    Requested {
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        request: RequestKind,
        reason: Option<String>,
    },
    /// Everything in flight has ended; the loop waits for the change of a redirect.
    AwaitsChange {
        by: String,
    },
    /// A request is not obeyed any more.
    Retired {
        request: String,
        why: RetireReason,
    },
    Ended {
        result: RunStatus,
        reason: Reason,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
    },
    /// A kind that only another version of the program knows: carried whole.
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Unknown(serde_json::Value),
}

/// Why an attempt starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartReason {
    /// Its dependencies are solved.
    #[default]
    Ready,
    /// It is unknown, and looked into first.
    Probe,
    /// The attempt before it failed.
    Failed,
    /// The attempts before it failed on build state, and this one has none.
    Cold,
    /// The attempt before it failed in passing.
    Transient,
    /// The attempt before it was cut off.
    Interrupted,
    /// Its result is made again.
    Repair,
    /// A person said something to it.
    Guided,
    /// It was tried before, under other choices or with another specification.
    NewContext,
    /// It is tried beside the choice in force.
    Speculation,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}
