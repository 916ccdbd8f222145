//! The control law as the commands that look show it.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::{
    law as control_law,
    state::{
        RunStatus, State,
        law::{
            BlockedRecord, CurvePoint, Directive, DirectiveOutcome, Gradient, LawPoint, LawRecord,
        },
    },
};

/// The newest point of the control law. Numbers are from 0 to 1.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LawView {
    pub pass: u64,
    /// The distance of the result from the base case.
    pub d: String,
    /// The share of logical failures in the pass.
    pub p: String,
    /// The used share of changes and budgets.
    pub omega: String,
    pub l: String,
    pub grad_d: String,
    pub grad_l: String,
    pub gradient: Gradient,
    pub directive: Directive,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_directive: Option<Directive>,
    /// The directive in words.
    pub meaning: &'static str,
    pub rationale: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<BlockedView>,
    /// The distance of the delivered tree, where the run has ended and it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<String>,
    /// The points so far, the oldest first: 64 at most, of older ones every second.
    pub curve: Vec<CurveView>,
    /// How often each directive was given, and followed by progress.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<DirectiveView>,
}

/// A point of the curve.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurveView {
    pub pass: u64,
    pub d: String,
    pub p: String,
    pub omega: String,
    pub l: String,
    pub directive: Directive,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectiveView {
    pub directive: Directive,
    pub given: u64,
    /// How often the distance fell at the next point, or the base case held.
    pub followed: u64,
}

/// A tool, or a tool with a target, that a planner may not propose.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedView {
    pub tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The attempt that failed with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl From<&DirectiveOutcome> for DirectiveView {
    fn from(one: &DirectiveOutcome) -> Self {
        Self { directive: one.directive, given: one.given, followed: one.followed }
    }
}

/// The standing of a run that goes on, or ended without success.
pub(super) fn law(state: &State) -> Option<LawView> {
    // A goal that is reached lies behind the newest point.
    let is_over = state.run.status == RunStatus::Completed;
    of_run(state).filter(|_| !is_over)
}

/// The newest point of a run, whatever came of it.
pub fn of_run(state: &State) -> Option<LawView> {
    let law = state.run.law.as_ref()?;
    let view = view(law.point.as_ref()?, law);
    Some(LawView { delivered: delivered(state), ..view })
}

fn delivered(state: &State) -> Option<String> {
    state.run.delivered.as_ref()?;
    Some(state.run.ending.loss.as_ref()?.d.text())
}

/// The tools and targets that planners may not propose.
pub(super) fn blocked(state: &State) -> Vec<BlockedView> {
    law(state).map(|law| law.blocked).unwrap_or_default()
}

fn view(point: &LawPoint, law: &LawRecord) -> LawView {
    let blocked = |one: &BlockedRecord| BlockedView {
        tool: one.tool.clone(),
        target: one.target.clone(),
        because: one.because.as_ref().map(|id| id.as_str().into()),
    };
    let curve = |one: &CurvePoint| CurveView {
        pass: one.pass,
        d: one.d.text(),
        p: one.p.text(),
        omega: one.omega.text(),
        l: one.l.text(),
        directive: one.directive,
    };
    LawView {
        pass: point.pass,
        d: point.d.text(),
        p: point.p.text(),
        omega: point.omega.text(),
        l: point.l.text(),
        grad_d: point.grad_d.text(),
        grad_l: point.grad_l.text(),
        gradient: point.gradient,
        directive: point.directive,
        prev_directive: point.prev_directive,
        meaning: control_law::meaning(point.directive),
        rationale: point.rationale.clone(),
        blocked: law.blocked.iter().map(blocked).collect(),
        delivered: None,
        curve: law.curve.iter().map(curve).collect(),
        outcomes: law.outcomes.iter().map(DirectiveView::from).collect(),
    }
}
