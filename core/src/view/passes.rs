//! The kind of task, and the passes that it allows, for those who look at a run.

use alloc::string::String;
use serde::Serialize;

use crate::{
    profile,
    state::{
        JudgingLevel, State,
        check::Thousandths,
        profile::{ConfidenceNeed, OutputBreadth, ToolUsage},
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
    Some(ProfileView {
        reasoning_depth: profile.reasoning_depth,
        information_sufficiency: Thousandths::text(profile.information_sufficiency),
        expected_tool_usage: profile.expected_tool_usage,
        output_breadth: profile.output_breadth,
        confidence_requirement: profile.confidence_requirement,
        passes: profile::passes(&profile, most),
        fragment_depth: profile::fragment_depth(state),
        judging: profile::judging(state),
    })
}

/// None where only `max_replans` limits changes of the plan.
pub fn passes(state: &State) -> Option<PassesView> {
    let count = profile::allocated(state)?;
    Some(PassesView {
        begun: count.begun,
        allocated: count.allocated,
        at_most: profile::max_passes(&state.objective.constraints),
    })
}
