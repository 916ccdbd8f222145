//! Judges an aligner's answer by code: its form, the plan in it, its patterns, and the agents that it names.
//!
//! Invariant: a warning of a plan is a fault here, since a mistyped key means a missing part.

use descent_core::{
    change::Redirect,
    doc::{self, Fault, Node, Parsed},
    graph::validate::{MissingPart, missing_parts},
    id::{AtomId, Lineage},
    plan::{self, PlanReading},
    proposal::{self, ChangeProposal, OpenQuestion},
    state::{Atom, State},
};

use crate::{
    agent::object,
    config::Config,
    plan_file::{self, Notation, PlanFile},
    store,
};

/// Faults that are told at most.
const FAULTS_MAX: usize = 20;
/// The name of a proposal in a fault's place.
const NAME: &str = "proposal";

/// A plan or a redirect that is proposed, with questions about it.
#[derive(Debug)]
pub struct Proposed<T> {
    pub value: T,
    pub questions: Vec<OpenQuestion>,
}

pub(super) fn agreement_of(
    text: &str,
    may_ask: bool,
    config: &Config,
) -> Result<Proposed<PlanFile>, String> {
    let answer = object(text)?;
    let read = proposal::read_agreement(&answer, may_ask).map_err(|faults| told(&faults))?;
    let plan = plan::of_tree(whole(read.plan.clone()));
    let mut faults = of_agents(&plan, config);
    let draft = plan_file::draft(plan, Lineage::new(NAME));
    faults.extend(lines(draft.faults.iter().chain(&draft.warnings)));
    if faults.is_empty() {
        let missing = missing_parts(&draft.state).into_iter();
        // The why is always the person's.
        let missing = missing.filter(|part| *part != MissingPart::Why);
        faults.extend(missing.map(|part| format!("{}: {}", own(part.pointer()), part.message())));
    }
    if !faults.is_empty() {
        return Err(told(&faults));
    }
    let value = PlanFile {
        name: NAME.into(),
        bytes: doc::write(&read.plan).into_bytes(),
        notation: Notation::Json,
    };
    Ok(Proposed { value, questions: read.questions })
}

/// The change in an answer, for the state that it changes, at that time.
pub(super) fn change_of(
    text: &str,
    may_ask: bool,
    config: &Config,
    state: &State,
    at: &str,
) -> Result<Proposed<Redirect>, String> {
    let answer = object(text)?;
    let change = proposal::read_change(&answer, may_ask).map_err(|faults| told(&faults))?;
    let mut atoms = match &change.atoms {
        Some(atoms) => plan::atoms_of_tree(whole(atoms.clone())),
        None => PlanReading::default(),
    };
    let mut faults = of_agents(&atoms, config);
    let found = std::mem::take(&mut atoms.faults).into_iter();
    let found = found.chain(std::mem::take(&mut atoms.warnings));
    let found = found.chain(store::pattern_faults(&atoms.patterns));
    faults.extend(lines(found.collect::<Vec<_>>().iter()));
    let questions = change.questions.clone();
    let value = redirect_of(change, atoms);
    // A change that only asks has nothing to be judged yet.
    if faults.is_empty() && !value.is_empty() {
        let refused = value.changes(state, at).err();
        faults.extend(lines(refused.unwrap_or_default().iter()));
    }
    if faults.is_empty() { Ok(Proposed { value, questions }) } else { Err(told(&faults)) }
}

fn redirect_of(change: ChangeProposal, atoms: PlanReading) -> Redirect {
    let ids = |texts: Vec<String>| texts.into_iter().map(AtomId::new).collect();
    let selected = change.selected.into_iter();
    let selected = selected.map(|(group, choice)| (AtomId::new(group), AtomId::new(choice)));
    Redirect {
        goal: change.goal,
        deliverables: change.deliverables,
        definition_of_done: change.definition_of_done,
        checks: change.checks,
        more_checks: change.more_checks,
        atoms: atoms.atoms,
        into: change.into.map(AtomId::new),
        removed: ids(change.removed),
        selected: selected.collect(),
        retried: ids(change.retried),
        ..Redirect::default()
    }
}

fn whole(node: Node) -> Parsed {
    Parsed { node: Some(node), faults: Vec::new() }
}

/// Atoms may name agents of the configuration alone.
fn of_agents(plan: &PlanReading, config: &Config) -> Vec<String> {
    let named = |atom: &Atom| atom.task().and_then(|task| task.spec.agent.clone());
    let named = plan.atoms.iter().filter_map(|(id, atom)| Some((id, named(atom)?)));
    let unknown = named.filter_map(|(id, name)| {
        let error = config.by_name(&name, "an atom").err()?;
        Some(format!("/atoms/{id}/agent: {error}"))
    });
    unknown.collect()
}

fn lines<'f>(faults: impl Iterator<Item = &'f Fault>) -> Vec<String> {
    let line = |fault: &Fault| {
        let hint = fault.hint.as_ref().map(|hint| format!(" ({hint})"));
        let message = fault.message.replace(", kept as it is", "");
        format!("{}: {message}{}", own(&fault.pointer), hint.unwrap_or_default())
    };
    faults.map(line).collect()
}

/// The place in the answer for a place in the plan that it became.
fn own(pointer: &str) -> &str {
    let inner = pointer.strip_prefix("/objective/constraints");
    let inner = inner.or_else(|| pointer.strip_prefix("/objective"));
    inner.or_else(|| pointer.strip_prefix("/work_graph")).unwrap_or(pointer)
}

fn told(faults: &[String]) -> String {
    let shown = faults.iter().take(FAULTS_MAX).cloned();
    let mut shown: Vec<String> = shown.collect();
    let more = faults.len().saturating_sub(FAULTS_MAX);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join("; ")
}
