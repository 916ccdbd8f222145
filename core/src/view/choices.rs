//! The choices of groups: what is selected, what failed, and what is left.

use alloc::vec::Vec;
use serde::Serialize;

use crate::{
    graph::{Ix, NodeKind},
    id::AtomId,
    state::EntryKind,
    world::World,
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChoiceView {
    pub group: AtomId,
    pub selected: Option<AtomId>,
    pub failed: Vec<AtomId>,
    /// Choices in a whole selection under which the base case did not hold.
    pub refuted: Vec<AtomId>,
    pub untried: Vec<AtomId>,
}

pub(super) fn choices(world: &World) -> Vec<ChoiceView> {
    let mut groups: Vec<Ix> = world.graph.groups().collect();
    groups.sort_by_key(|group| world.graph.place(*group));
    groups.into_iter().map(|group| choice_view(world, group)).collect()
}

/// Choices of a group in refuted selections, in the order in which that happened.
fn refuted(world: &World, group: &AtomId) -> Vec<AtomId> {
    let mut refuted: Vec<AtomId> = Vec::new();
    for entry in world.state.trail.iter() {
        if let EntryKind::Refuted(one) = &entry.kind
            && let Some(choice) = one.conflict.get(group)
            && !refuted.contains(choice)
        {
            refuted.push(choice.clone());
        }
    }
    refuted
}

pub(super) fn choice_view(world: &World, group: Ix) -> ChoiceView {
    let graph = &world.graph;
    let mut view = ChoiceView {
        group: graph.id(group).clone(),
        selected: world.active.selection.get(&group).map(|choice| graph.id(*choice).clone()),
        failed: Vec::new(),
        refuted: refuted(world, graph.id(group)),
        untried: Vec::new(),
    };
    for kid in &graph.vertex(group).kids {
        let tasks: Vec<Ix> = graph
            .subtree(*kid)
            .into_iter()
            .filter(|x| matches!(graph.vertex(*x).kind, NodeKind::Task | NodeKind::Plan))
            .collect();
        let tries = |x: &Ix| crate::search::tries(&world.state, graph.id(*x));
        if tasks.iter().any(|x| tries(x).iter().any(|tried| tried.has_failed())) {
            view.failed.push(graph.id(*kid).clone());
        } else if tasks
            .iter()
            .all(|x| tries(x).is_empty() && !world.state.bindings.contains_key(graph.id(*x)))
        {
            view.untried.push(graph.id(*kid).clone());
        }
    }
    view
}
