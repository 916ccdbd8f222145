//! The control law as the commands that look show it.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::{
    law,
    state::{
        RunStatus, State,
        law::{BlockedRecord, Directive, Gradient, LawPoint},
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

pub(super) fn law(state: &State) -> Option<LawView> {
    // A goal that is reached lies behind the newest point.
    let is_over = state.run.status == RunStatus::Completed;
    let law = state.run.law.as_ref().filter(|_| !is_over)?;
    Some(view(law.point.as_ref()?, &law.blocked))
}

fn view(point: &LawPoint, blocked: &[BlockedRecord]) -> LawView {
    let one = |one: &BlockedRecord| BlockedView {
        tool: one.tool.clone(),
        target: one.target.clone(),
        because: one.because.as_ref().map(|id| id.as_str().into()),
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
        meaning: law::meaning(point.directive),
        rationale: point.rationale.clone(),
        blocked: blocked.iter().map(one).collect(),
    }
}
