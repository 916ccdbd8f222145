//! Every fault of a state file or a plan, and the issues that the rules find in it.
//!
//! Invariant: nothing is run or written.

use std::path::{Path, PathBuf};

use descent_core::{
    doc::{Fault, Node},
    graph::{Graph, validate as rules},
    id::Lineage,
    judging::{self, Issue, JudgedPlan, PlanFacts},
    plan::PointerMap,
    state::{State, decode, fields::NEAR_MISS},
};

use super::environment;
use crate::{
    plan_file::{self, Notation, PlanDraft, PlanFile},
    plan_surroundings::PlanPlace,
};
use descent_store::{self as store, Store, StoreError};
use descent_system::failure::Failure;
use descent_workspace as workspace;

/// The faults and warnings of a file.
#[derive(Debug)]
pub struct ValidateReport {
    /// Its name and its bytes: a fault has its place in them.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub is_plan: bool,
    pub faults: Vec<Fault>,
    /// The issues of the rules are among them.
    pub warnings: Vec<Fault>,
    pub issues: Vec<Issue>,
}

/// The faults of the state in its place.
pub fn state(store: &mut Store) -> Result<ValidateReport, Failure> {
    let path = store.place().state.clone();
    let project = store.place().project.clone();
    if let Err(StoreError::NotAgreed { .. }) = store.read() {
        let bytes = store::read_bytes(&path)?;
        return Ok(look_at_plan(
            PlanFile { name: path, bytes, notation: Notation::Json },
            &project,
        ));
    }
    let mut found = look_at_state(path.clone(), store::read_bytes(&path)?, &project);
    // A binding taken out of a known state is a forgotten result: no fault, though others name its atom, or none is
    // left.
    if !found.faults.is_empty()
        && let Ok(loaded) = store.examine(&path, found.bytes.clone())
    {
        // A schema that cannot be used leaves the state readable too, and is a fault.
        let bad = found.faults.into_iter().filter(|fault| fault.rule == store::BAD_SCHEMA);
        found.faults = loaded.gate().iter().cloned().chain(bad).collect();
    }
    Ok(found)
}

/// The faults of a state file or a plan; `-` is standard input.
pub fn file(dir: &Path, path: &Path, project: &Path) -> Result<ValidateReport, Failure> {
    let file = plan_file::read(dir, path)?;
    Ok(if is_plan(&file) {
        look_at_plan(file, project)
    } else {
        look_at_state(file.name, file.bytes, project)
    })
}

/// Whether the file is a plan: it has no key of a state, or is not JSON.
fn is_plan(file: &PlanFile) -> bool {
    if file.notation == Notation::Yaml {
        return true;
    }
    let root = file.tree().node.unwrap_or_else(Node::null);
    let of_a_state = ["internal", "lineage"];
    of_a_state.iter().all(|key| root.get(key).is_none())
}

fn look_at_plan(file: PlanFile, project: &Path) -> ValidateReport {
    let draft = plan_file::draft(file.plan(), Lineage::new("plan"));
    let missing = match draft.root.as_object() {
        Some(_) => missing(&draft),
        None => Vec::new(),
    };
    let mut faults = draft.faults;
    faults.extend(missing);
    // A plan with faults may not be what it looks like.
    let issues = if faults.is_empty() { look(&draft.state, project) } else { Vec::new() };
    let mut warnings = draft.warnings;
    warnings.extend(judging::faults(&issues, &draft.root, &draft.written));
    ValidateReport { path: file.name, bytes: file.bytes, is_plan: true, faults, warnings, issues }
}

/// The parts that the agreement lacks. A part that is present but wrong, or in another place, is not missing too. A
/// part that is derived from the base case is not asked for.
fn missing(draft: &PlanDraft) -> Vec<Fault> {
    let has_objective = draft.root.get("objective").is_some();
    let atoms = draft.root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let is_named = atoms.and_then(Node::as_object).is_some_and(|atoms| !atoms.is_empty());
    let is_misplaced = |fault: &Fault| {
        let is_of_graph = fault.pointer == "/atoms" || fault.pointer.starts_with("/work_graph/");
        fault.rule == NEAR_MISS && is_of_graph
    };
    let has_atoms = is_named || draft.faults.iter().any(is_misplaced);
    let is_not_asked_for = |pointer: &str| match pointer {
        "/work_graph/atoms" => has_atoms,
        _ => !has_objective,
    };
    let mut missing = rules::gate(&draft.state, &draft.root);
    missing.retain(|one| !is_not_asked_for(&one.pointer));
    missing.retain(|one| draft.faults.iter().all(|fault| fault.pointer != one.pointer));
    missing
}

fn look_at_state(path: PathBuf, bytes: Vec<u8>, project: &Path) -> ValidateReport {
    let mut decoded = decode::decode(&bytes);
    store::check_rules(&mut decoded);
    let faults = [&decoded.faults[..], &store::faults_in_use(&decoded)].concat();
    let mut warnings = decoded.warnings;
    let mut issues = Vec::new();
    if let (Some(state), Some(root), true) = (&decoded.state, &decoded.root, faults.is_empty()) {
        issues = look(state, project);
        warnings.extend(judging::faults(&issues, root, &PointerMap::default()));
    }
    ValidateReport { path, bytes, is_plan: false, faults, warnings, issues }
}

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
        project: Some(project.to_owned()),
        path: environment(state).path(),
        constraints: state.objective.constraints.clone(),
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
