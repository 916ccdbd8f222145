//! Views of what steers a run: issues of plans, opinions about passes, the control law, marks and questions, the kind of
//! task. None of it is proof.

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    graph::{Ix, NodeKind},
    id::{AgentName, AtomId},
    law as control_law, profile,
    state::{
        AnswerRecord, Atom, AtomStatus, IssueRecord, JudgingLevel, Question, RunStatus, State,
        atom::AttentionCause,
        check::Thousandths,
        law::{BlockedRecord, CurvePoint, DirectiveOutcome, LawPoint, Loss},
        profile::{ConfidenceNeed, OutputBreadth, ProfileChange, ToolUsage},
    },
    world::World,
};

/// Advice of agents and rules about the run, and no proof
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedView {
    /// The newest answer to each question that has one, or whose agent gave none that can be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRecord>,
    /// Repairs that were proposed for any plan and not made, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advisories: Vec<IssueRecord>,
    /// Issues of plans that were planned again for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedView>,
}

/// A step whose plan was found wrong, and planned again
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplacedView {
    pub atom: AtomId,
    pub issues: Vec<IssueRecord>,
}

pub fn judged(state: &State) -> JudgedView {
    let judging = state.run.judging.clone().unwrap_or_default();
    // The words of an ending are in its result.
    let has_come = |one: &AnswerRecord| match one.question {
        Question::Word => !one.because.is_empty() && !state.run.status.is_active(),
        _ => one.answer.is_some() || !one.because.is_empty(),
    };
    JudgedView {
        answers: judging.answers.into_iter().filter(has_come).collect(),
        advisories: judging.advisories,
        replaced: replaced(state),
    }
}

/// The issues that concern an atom: its own, or all of the plan of a step.
pub(super) fn issues_of(world: &World, x: Ix) -> Vec<IssueRecord> {
    let run = &world.state.run;
    let id = world.graph.id(x);
    let is_step = world.graph.vertex(x).kind == NodeKind::Plan;
    let own = |report: &&AnswerRecord| is_step && report.atom.as_ref() == Some(id);
    let of_its_plan = run.kept(Question::Plan).filter(own).into_iter();
    let of_its_plan = of_its_plan.flat_map(AnswerRecord::issues);
    let own = run.issues().filter(|one| one.location == id.as_str());
    let all = of_its_plan.chain(own).chain(found_before(&world.state, id));
    let mut issues: Vec<IssueRecord> = Vec::new();
    for issue in all {
        if !issues.contains(issue) {
            issues.push(issue.clone());
        }
    }
    issues
}

/// The issues for which a step was planned again.
fn found_before<'s>(state: &'s State, step: &AtomId) -> impl Iterator<Item = &'s IssueRecord> {
    let plan = state.atom(step).and_then(|atom| atom.plan());
    let marks = plan.into_iter().flat_map(|plan| plan.fragments());
    let marks = marks.filter_map(|fragment| fragment.judged.as_ref());
    marks.flat_map(|mark| &mark.found)
}

/// The plans that were found wrong and planned again, each with its step.
fn replaced(state: &State) -> Vec<ReplacedView> {
    let found = |id: &AtomId| found_before(state, id).cloned().collect::<Vec<_>>();
    let steps = state.atoms.keys().map(|id| ReplacedView { atom: id.clone(), issues: found(id) });
    steps.filter(|one| !one.issues.is_empty()).collect()
}

/// The newest point of the control law. Numbers are from 0 to 1.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LawView {
    #[serde(flatten)]
    pub point: LawPoint,
    /// The directive in words.
    pub meaning: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedRecord>,
    /// The standing of the delivered tree, where the run has ended and it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Loss>,
    /// The points so far, the oldest first: 64 at most, of older ones every second.
    pub curve: Vec<CurvePoint>,
    /// How often each directive was given, and followed by progress.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<DirectiveOutcome>,
}

/// The standing of a run that goes on, or ended without success.
pub(super) fn law(state: &State) -> Option<LawView> {
    // A goal that is reached lies behind the newest point.
    let is_over = state.run.status == RunStatus::Completed;
    law_of_run(state).filter(|_| !is_over)
}

/// The newest point of a run, whatever came of it.
pub fn law_of_run(state: &State) -> Option<LawView> {
    let law = state.run.law.as_ref()?;
    let point = law.point.clone()?;
    let loss = state.run.delivered.as_ref().and(state.run.ending.loss.as_ref());
    Some(LawView {
        meaning: control_law::meaning(point.directive),
        point,
        blocked: law.blocked.clone(),
        delivered: loss.cloned(),
        curve: law.curve.clone(),
        outcomes: law.outcomes.clone(),
    })
}

/// The tools and targets that the planner of a step may not propose.
pub(super) fn blocked(state: &State, kind: NodeKind) -> Vec<BlockedRecord> {
    let law = law(state).filter(|_| kind == NodeKind::Plan);
    law.map(|law| law.blocked).unwrap_or_default()
}

/// A mark that asks a person to look at an atom: it decides nothing
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttentionView {
    pub atom: AtomId,
    pub cause: AttentionCause,
    pub because: String,
}

/// Something that is unclear about a task, and the answer that is assumed
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnclearView {
    pub atom: AtomId,
    pub question: String,
    /// Answers to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Empty once a person has said something to the task.
    pub assume: String,
    /// Whether the task waits for a person's answer.
    pub waits: bool,
}

/// All marks, in the order of the atoms.
pub fn marks(state: &State) -> Vec<AttentionView> {
    let all = state.all_atoms().into_iter();
    all.filter_map(|(id, atom)| mark(id, atom)).collect()
}

pub(super) fn mark(id: &AtomId, atom: &Atom) -> Option<AttentionView> {
    let mark = atom.task()?.attention.as_ref()?;
    Some(AttentionView { atom: id.clone(), cause: mark.because, because: mark.text.clone() })
}

/// All questions, in the order of the atoms.
pub fn questions(state: &State) -> Vec<UnclearView> {
    let all = state.all_atoms().into_iter();
    all.flat_map(|(id, atom)| questions_of(state, id, atom)).collect()
}

pub(super) fn questions_of(state: &State, id: &AtomId, atom: &Atom) -> Vec<UnclearView> {
    let Some(task) = atom.task() else {
        return Vec::new();
    };
    let is_open = !state.bindings.contains_key(id);
    let waits = is_open && task.status == AtomStatus::NeedsGuidance;
    let view = |one: &crate::state::atom::TaskQuestion| UnclearView {
        atom: id.clone(),
        question: one.question.clone(),
        options: one.options.clone(),
        assume: one.assume.clone(),
        waits,
    };
    task.questions.iter().map(view).collect()
}

/// The kind of task that a goal is, and what follows from it
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileView {
    pub reasoning_depth: u32,
    /// A decimal from 0 to 1.
    pub information_sufficiency: String,
    pub expected_tool_usage: ToolUsage,
    pub output_breadth: OutputBreadth,
    pub confidence_requirement: ConfidenceNeed,
    pub passes: u32,
    /// The most that a planner's plan may nest.
    pub fragment_depth: u32,
    pub judging: JudgingLevel,
    /// `person`, `inferred` by an agent, or `default` where it gave no answer that can be used.
    pub source: &'static str,
    /// The agent that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Its reasons.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub raw_inference: String,
    /// Why there is only a default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fault: String,
    /// Fields that were revised at the end of a pass, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<ProfileChange>,
}

/// The passes of a run
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassesView {
    /// Those that have begun, the present one among them.
    pub begun: u32,
    pub allocated: u32,
    /// The most that a person allows.
    pub at_most: u32,
}

/// None where nobody said anything of it.
pub fn profile(state: &State) -> Option<ProfileView> {
    let profile = profile::in_force(state)?;
    let most = profile::max_passes(&state.objective.constraints);
    let is_persons = state.objective.constraints.profile.is_some();
    let known = state.run.profile.as_ref().filter(|_| !is_persons);
    Some(ProfileView {
        reasoning_depth: profile.reasoning_depth,
        information_sufficiency: Thousandths::text(profile.information_sufficiency),
        expected_tool_usage: profile.expected_tool_usage,
        output_breadth: profile.output_breadth,
        confidence_requirement: profile.confidence_requirement,
        passes: profile::passes(&profile, most),
        fragment_depth: profile::fragment_depth(state),
        judging: profile::judging(state),
        source: known.map_or("person", |known| known.source.word()),
        agent: known.map(|known| known.agent.clone()),
        raw_inference: known.map_or_else(String::new, |known| known.raw_inference.clone()),
        fault: known.map_or_else(String::new, |known| known.fault.clone()),
        history: known.map_or_else(Vec::new, |known| known.history.clone()),
    })
}

/// None where only `planning.changes` limits changes of the plan.
pub fn passes(state: &State) -> Option<PassesView> {
    let count = profile::allocated(state)?;
    let kept = profile::kept(state).filter(|_| state.run.status != RunStatus::Aligned);
    Some(PassesView {
        begun: count.begun,
        allocated: kept.unwrap_or(count.allocated),
        at_most: profile::max_passes(&state.objective.constraints),
    })
}
