//! A plan or a state looked at by the rules: its issues, or its faults.
//!
//! Nothing is run or written.

use std::path::Path;

use descent_core::{
    doc::Fault,
    graph::Graph,
    id::Lineage,
    judging::{self, Issue, JudgedPlan, PlanFacts},
    state::State,
};

use super::environment;
use crate::{
    judging::PlanPlace,
    plan_file::{self, PlanFile},
    store::{LoadedState, StatePlace},
    workspace,
};

/// The issues of a plan, or its faults.
#[derive(Debug, Default)]
pub struct JudgeReport {
    /// The atoms that were looked at.
    pub atoms: usize,
    pub issues: Vec<Issue>,
    /// Faults of the text; nothing is judged then.
    pub faults: Vec<Fault>,
}

/// The issues of the part of a state that is still to be done.
pub fn state(place: &StatePlace, loaded: &LoadedState) -> JudgeReport {
    look(&loaded.state, &place.project)
}

/// The issues of a plan in a file, or its faults.
pub fn plan(file: PlanFile, project: &Path) -> JudgeReport {
    let draft = plan_file::draft(file.plan(), Lineage::new("plan"));
    if !draft.faults.is_empty() {
        return JudgeReport { faults: draft.faults, ..JudgeReport::default() };
    }
    look(&draft.state, project)
}

/// The issues of a plan that has no text of its own.
pub fn look(state: &State, project: &Path) -> JudgeReport {
    let found = facts(state, project);
    judged(state, &found)
}

/// The same with what is known of its checks.
pub fn judged(state: &State, facts: &PlanFacts) -> JudgeReport {
    let graph = Graph::of(state);
    let plan = JudgedPlan::of_pending(state, &graph, facts);
    JudgeReport { atoms: plan.atoms.len(), issues: judging::judge(&plan), ..JudgeReport::default() }
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
    let known = look(before, project).issues;
    let mut issues = look(after, project).issues;
    issues.retain(|issue| !known.contains(issue));
    issues
}
