//! The kind of task, and the passes that it allows, for those who look at a run.

use alloc::{string::String, vec::Vec};
use serde::Serialize;

use crate::{
    id::AgentName,
    profile,
    state::{
        JudgingLevel, RunStatus, State,
        check::Thousandths,
        profile::{ConfidenceNeed, OutputBreadth, ProfileChange, ToolUsage},
    },
};

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
    pub history: Vec<ProfileChangeView>,
}

/// A field of the kind of task that was revised
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileChangeView {
    pub pass: u64,
    pub field: String,
    pub was: String,
    pub is: String,
    pub passes_were: u32,
    pub passes: u32,
    pub because: String,
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
        history: known.map_or(&[][..], |known| &known.history).iter().map(change).collect(),
    })
}

fn change(change: &ProfileChange) -> ProfileChangeView {
    ProfileChangeView {
        pass: change.pass,
        field: change.field.clone(),
        was: change.was.clone(),
        is: change.is.clone(),
        passes_were: change.passes_were,
        passes: change.passes,
        because: change.because.clone(),
    }
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
