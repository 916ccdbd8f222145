//! The issues that the rules find in a state or in a plan.
//!
//! Nothing is run or written.

use std::path::Path;

use descent_core::{
    graph::Graph,
    judging::{self, Issue, JudgedPlan, PlanFacts},
    state::State,
};

use super::environment;
use crate::{judging::PlanPlace, workspace};

/// The issues of the part of a state that is still to be done.
pub fn look(state: &State, project: &Path) -> Vec<Issue> {
    let found = facts(state, project);
    judged(state, &found)
}

/// The same with what is known of its checks.
pub fn judged(state: &State, facts: &PlanFacts) -> Vec<Issue> {
    judging::judge(&JudgedPlan::of_pending(state, &Graph::of(state), facts))
}

/// The things that the constraints and the open tasks of a state name and that are not there.
pub fn facts(state: &State, project: &Path) -> PlanFacts {
    let place = PlanPlace {
        project,
        path: &environment(state).path(),
        constraints: &state.objective.constraints,
    };
    let tasks = state.atoms.values().filter_map(|atom| atom.task());
    PlanFacts {
        unmatched: workspace::unmatched(project, &state.objective.constraints),
        ..place.facts(judging::questions(tasks))
    }
}

/// The patterns of the constraints that have no effect, a line each.
pub fn unmatched(state: &State, project: &Path) -> Vec<String> {
    let found = workspace::unmatched(project, &state.objective.constraints);
    let issues = found.iter().map(judging::no_match);
    let words = |issue: Issue| format!("{}; {}", issue.description, issue.proposed_repair);
    issues.map(words).collect()
}

/// The issues that a change of a state brings.
pub fn brought(before: &State, after: &State, project: &Path) -> Vec<Issue> {
    let known = look(before, project);
    let mut issues = look(after, project);
    issues.retain(|issue| !known.contains(issue));
    issues
}
