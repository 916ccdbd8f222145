//! The reasons of earlier plans: of this step, and of the steps before and around it.
//!
//! Invariant: the newest five, each with its reason and what came of it, in 300 bytes each. A result that is told
//! elsewhere in the prompt is not told again.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use super::{
    section::PromptSection,
    subject::PromptSubject,
    text::{in_a_line, named},
};
use crate::{
    graph::active,
    id::AtomId,
    state::{Binding, Fragment, Try},
    world::World,
};

pub(super) const BYTES_MAX: usize = 4 << 10;
const PLANS_MAX: usize = 5;
const WORDS_BYTES_MAX: usize = 300;
const NAME_BYTES_MAX: usize = 60;

pub(super) fn section(
    subject: &PromptSubject<'_>,
    told: &BTreeSet<&AtomId>,
    bytes_max: usize,
) -> PromptSection {
    let section = PromptSection::new("reasons", "Why it was planned so before", bytes_max);
    if !subject.is_plan() {
        return section;
    }
    let mut plans = plans(subject);
    plans.sort_by_key(|(_, fragment)| core::cmp::Reverse(fragment.attempt.count()));
    let entries =
        plans.into_iter().filter_map(|(plan, fragment)| entry(subject.world, plan, fragment, told));
    section.with(entries.take(PLANS_MAX).collect::<String>())
}

/// All plans of this step, and those in force of the planning steps before and around it.
fn plans<'w>(subject: &PromptSubject<'w>) -> Vec<(&'w AtomId, &'w Fragment)> {
    let (Some(x), world, seen) = (subject.x, subject.world, subject.active) else {
        return Vec::new();
    };
    let graph = &world.graph;
    let step = |id: &AtomId| world.state.atoms.get(id)?.plan();
    let own = step(graph.id(x)).into_iter().flat_map(|one| one.fragments());
    let own = own.map(|fragment| (graph.id(x), fragment));
    let others = active::upstream(graph, x, &seen.selection).into_iter();
    let others = others.chain(graph.above(x)).filter_map(|y| {
        let (id, phase) = (graph.id(y), seen.phase(graph, y)?);
        let mut all = step(id)?.fragments();
        let in_force = all.find(|one| one.first() == Some(graph.id(phase.first())))?;
        Some((id, in_force))
    });
    own.chain(others).collect()
}

fn entry(
    world: &World,
    plan: &AtomId,
    fragment: &Fragment,
    told: &BTreeSet<&AtomId>,
) -> Option<String> {
    let first = world.state.atom(fragment.first()?)?;
    let reason = first.origin.as_ref().and_then(|origin| origin.get("reason"));
    let reason = reason.and_then(|reason| reason.as_str()).unwrap_or_default();
    let parts = fragment.parts.iter().filter_map(|id| world.graph.ix(id));
    let inside = parts.flat_map(|part| world.graph.subtree(part));
    let inside = inside.map(|y| world.graph.id(y));
    let results = inside.filter(|id| !told.contains(id)).filter_map(|id| {
        let summary = &result(world, id)?.summary;
        (!summary.is_empty()).then(|| format!("{id}: {summary}"))
    });
    let results: Vec<String> = results.take(PLANS_MAX).collect();
    if reason.trim().is_empty() && results.is_empty() {
        return None;
    }
    let name = named(world, plan, NAME_BYTES_MAX);
    let reason = in_a_line(reason, WORDS_BYTES_MAX);
    let came = in_a_line(&results.join("; "), WORDS_BYTES_MAX);
    let came = if came.is_empty() { came } else { format!("    (what came of it: {came})\n") };
    Some(format!("- {name}, plan {}: {reason}\n{came}", fragment.attempt))
}

/// The result of an atom, in force or kept for its context.
fn result<'w>(world: &'w World, id: &AtomId) -> Option<&'w Binding> {
    let bound = world.state.bindings.get(id).map(|binding| &**binding);
    bound.or_else(|| {
        let tries = world.state.atom(id)?.task()?.tries.iter();
        tries.rev().find_map(Try::parked)
    })
}
