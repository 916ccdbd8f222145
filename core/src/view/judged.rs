//! Issues of plans and who looked at them, for those who look at a run: advice, not proof.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::Serialize;

use crate::{
    graph::{Ix, NodeKind},
    id::{AgentName, AtomId},
    state::{
        Complexity, CriterionScore, IssueRecord, IssueType, JudgedBy, Severity, State,
        ValidationRecord, check::Thousandths,
    },
    world::World,
};

/// The newest report on a planner's plan
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgedView {
    /// The planning step.
    pub atom: String,
    pub by: JudgedBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Why no judging agent looked at it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    pub issues: Vec<IssueView>,
    /// Issues of the agent that name no atom of the plan.
    pub unplaced: u32,
    /// Repairs that were proposed for any plan and not made, the newest last.
    pub advisories: Vec<IssueView>,
    /// Issues of plans that were planned again for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedView>,
}

/// A step whose plan was found wrong, and planned again
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplacedView {
    pub atom: AtomId,
    pub issues: Vec<IssueView>,
}

/// The newest opinion about a pass that came to its end
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssessmentView {
    pub agent: AgentName,
    pub pass: u64,
    /// Absent where nobody gave an opinion that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    pub reason_codes: Vec<String>,
    /// Why nobody assessed it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Decimals from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completeness: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coherence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consistency: Option<String>,
    pub missing: Vec<String>,
    pub contradictions: Vec<String>,
    pub blame: Vec<AtomId>,
    /// Scores of a person's own criteria: decimals from 0 to 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
}

/// The score of a person's own criterion
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriterionView {
    pub name: String,
    pub score: String,
}

/// The newest opinion; none before the first.
pub fn assessed(state: &State) -> Option<AssessmentView> {
    let said = state.run.judging.as_ref()?.assessment.as_ref()?;
    let text = |share: Option<Thousandths>| share.map(Thousandths::text);
    Some(AssessmentView {
        agent: said.agent.clone(),
        pass: said.pass,
        converged: said.converged,
        reason_codes: said.reason_codes.clone(),
        because: said.because.clone(),
        completeness: text(said.completeness),
        coherence: text(said.coherence),
        consistency: text(said.consistency),
        missing: said.missing.clone(),
        contradictions: said.contradictions.clone(),
        blame: said.blame.clone(),
        criteria: said.criteria.iter().map(criterion).collect(),
        complexity: said.complexity,
    })
}

fn criterion(one: &CriterionScore) -> CriterionView {
    CriterionView { name: one.name.clone(), score: one.score.text() }
}

/// The newest report across the phases of a pass
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReviewView {
    pub agent: AgentName,
    pub pass: u64,
    /// Why nobody looked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    pub issues: Vec<IssueView>,
    /// Issues that name no atom of the plan.
    pub unplaced: u32,
}

/// The newest report across phases; none before the first.
pub fn reviewed(state: &State) -> Option<ReviewView> {
    let report = state.run.judging.as_ref()?.review.as_ref()?;
    Some(ReviewView {
        agent: report.agent.clone(),
        pass: report.pass,
        because: report.because.clone(),
        issues: report.issues.iter().map(view).collect(),
        unplaced: report.unplaced,
    })
}

/// The newest question for the words of a final answer, where an answer came to nothing
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnwordedView {
    pub agent: AgentName,
    /// Why its answer was not used.
    pub because: String,
}

/// The newest question, if it came to nothing; the final answer stands as code made it then.
pub fn unworded(state: &State) -> Option<UnwordedView> {
    let asked = state.run.judging.as_ref()?.wording.as_ref()?;
    let is_unused = !state.run.status.is_active() && !asked.because.is_empty();
    is_unused.then(|| UnwordedView { agent: asked.agent.clone(), because: asked.because.clone() })
}

/// Something that is wrong with a plan
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssueView {
    /// The rule that tells it; absent of a judging agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(rename = "type")]
    pub kind: IssueType,
    pub severity: Severity,
    pub location: String,
    pub description: String,
    pub proposed_repair: String,
}

/// The newest report; none before the first.
pub fn judged(state: &State) -> Option<JudgedView> {
    let report = state.run.validation()?;
    let advisories = state.run.judging.iter();
    let advisories = advisories.flat_map(|judging| &judging.advisories);
    Some(JudgedView {
        atom: report.atom.to_string(),
        by: report.by,
        agent: report.agent.clone(),
        because: report.because.clone(),
        issues: report.issues.iter().map(view).collect(),
        unplaced: report.unplaced,
        advisories: advisories.map(view).collect(),
        replaced: replaced(state),
    })
}

/// The issues that concern an atom: its own, or all of the plan of a step.
pub(super) fn of_atom(world: &World, x: Ix) -> Vec<IssueView> {
    let run = &world.state.run;
    let id = world.graph.id(x);
    let is_step = world.graph.vertex(x).kind == NodeKind::Plan;
    let own = |report: &&ValidationRecord| is_step && report.atom == *id;
    let of_its_plan = run.validation().filter(own).into_iter();
    let of_its_plan = of_its_plan.flat_map(|report| &report.issues);
    let own = run.issues().filter(|one| one.location == id.as_str());
    let all = of_its_plan.chain(own).chain(found_before(&world.state, id));
    let mut issues: Vec<IssueView> = Vec::new();
    for issue in all.map(view) {
        if !issues.contains(&issue) {
            issues.push(issue);
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
    let found = |id: &AtomId| found_before(state, id).map(view).collect::<Vec<_>>();
    let steps = state.atoms.keys().map(|id| ReplacedView { atom: id.clone(), issues: found(id) });
    steps.filter(|one| !one.issues.is_empty()).collect()
}

fn view(issue: &IssueRecord) -> IssueView {
    IssueView {
        rule: issue.rule.clone(),
        kind: issue.kind,
        severity: issue.severity,
        location: issue.location.clone(),
        description: issue.description.clone(),
        proposed_repair: issue.proposed_repair.clone(),
    }
}
