//! The phases whose results are too long for a planner that is told them by the mode `summary`, and the words of an
//! agent that stand for them (contract §9.31).
//!
//! Invariant: a fragment is put to an agent once. Not here: the question (`step/summarise`).

use super::results::result_in;
use crate::doc::prelude::*;
use crate::{
    graph::{Graph, Ix, active, active::ActiveGraph},
    id::{AtomId, Digest},
    search::Facts,
    state::{Binding, Fragment, State},
};

/// The share of a planner's prompt that all phases have together: one part of so many.
const PHASES_PART: u32 = 2;

/// A phase whose results are longer than their share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongPhase {
    /// Its planning step.
    pub plan: AtomId,
    /// The first part of its fragment.
    pub first: AtomId,
    /// The tasks with results.
    pub atoms: Vec<AtomId>,
    /// A digest of the results.
    pub subject: Digest,
}

/// The first phase that an agent is to put in short before this step is planned.
pub fn wanted(seen: &Facts, step: Ix) -> Option<LongPhase> {
    let Facts { graph, active, state, .. } = seen;
    let (atom, constraints) = (state.atom(graph.id(step))?, &state.objective.constraints);
    if !atom.wants_phases_in_short(constraints) {
        return None;
    }
    let context = atom.plan()?.context(constraints);
    let upstream = active::upstream(graph, step, &active.selection);
    let mut phases: BTreeMap<Option<Ix>, Vec<(Ix, &Binding)>> = BTreeMap::new();
    for x in upstream.iter().copied() {
        if let Some(binding) = result_in(graph, state, active, x) {
            let plan = graph.planned_by(x).filter(|plan| upstream.contains(plan));
            phases.entry(plan).or_default().push((x, binding));
        }
    }
    let count = u32::try_from(phases.len()).unwrap_or(u32::MAX).max(1);
    let share = context.chars() / PHASES_PART / count;
    let mut long = phases.into_iter().filter_map(|(plan, of_phase)| {
        let is_long = bytes(&of_phase) > share;
        plan.filter(|_| is_long).map(|plan| (plan, of_phase))
    });
    long.find_map(|(plan, of_phase)| {
        let fragment = in_force(graph, active, state, plan)?;
        fragment.summary.is_none().then(|| phase(graph, plan, fragment, &of_phase))?
    })
}

/// The phase that a question is about, if it is as it was and nobody answered.
pub fn find(seen: &Facts, plan: &AtomId, subject: &Digest) -> Option<LongPhase> {
    let Facts { graph, active, state, .. } = seen;
    let plan = graph.ix(plan)?;
    let fragment = in_force(graph, active, state, plan)?;
    let atoms = graph.subtree(plan).into_iter();
    let own = atoms.filter(|x| graph.planned_by(*x) == Some(plan) && active.is_live(*x));
    let with_results = own.filter_map(|x| Some((x, result_in(graph, state, active, x)?)));
    let of_phase: Vec<(Ix, &Binding)> = with_results.collect();
    let found = phase(graph, plan, fragment, &of_phase)?;
    (fragment.summary.is_none() && found.subject == *subject).then_some(found)
}

/// The words that stand for these results of a phase, if they are of them.
pub fn told<'s>(
    graph: &Graph,
    fragment: &'s Fragment,
    of_phase: &[(Ix, &Binding)],
) -> Option<&'s str> {
    let summary = fragment.summary.as_ref()?;
    let is_of_them = summary.subject == subject(graph, fragment, of_phase);
    summary.text().filter(|_| is_of_them).map(|answer| answer.text.as_str())
}

/// The fragment of a planning step that is live.
pub fn in_force<'s>(
    graph: &Graph,
    active: &ActiveGraph,
    state: &'s State,
    plan: Ix,
) -> Option<&'s Fragment> {
    let first = graph.id(active.phase(graph, plan)?.first());
    let mut all = state.atoms.get(graph.id(plan))?.plan()?.fragments();
    all.find(|fragment| fragment.first() == Some(first))
}

fn phase(
    graph: &Graph,
    plan: Ix,
    fragment: &Fragment,
    of_phase: &[(Ix, &Binding)],
) -> Option<LongPhase> {
    Some(LongPhase {
        plan: graph.id(plan).clone(),
        first: fragment.first()?.clone(),
        atoms: of_phase.iter().map(|(x, _)| graph.id(*x).clone()).collect(),
        subject: subject(graph, fragment, of_phase),
    })
}

/// The length of results as the mode `summary` tells them.
fn bytes(of_phase: &[(Ix, &Binding)]) -> u32 {
    let each = of_phase.iter().map(|(_, binding)| {
        binding.summary.len() + binding.handoff.as_deref().unwrap_or_default().len()
    });
    u32::try_from(each.sum::<usize>()).unwrap_or(u32::MAX)
}

fn subject(graph: &Graph, fragment: &Fragment, of_phase: &[(Ix, &Binding)]) -> Digest {
    let mut of_phase: Vec<&(Ix, &Binding)> = of_phase.iter().collect();
    of_phase.sort_by_key(|(x, _)| *x);
    let mut text = fragment.digest.to_string();
    for (x, binding) in of_phase {
        let (result, summary) = (binding.result_digest(), &binding.summary);
        let handoff = binding.handoff.as_deref().unwrap_or_default();
        text.push_str(&format!("\n{} {result} {summary} {handoff}", graph.id(*x)));
    }
    Digest::of(text.as_bytes())
}
