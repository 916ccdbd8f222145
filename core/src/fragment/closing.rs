//! A placed planning step and its place: the closing atom with the checks of what stood there, and the plans that failed
//! there before (contract §9.20).

use alloc::{boxed::Box, format};

use super::{AcceptedFragment, FragmentRequest};
use crate::{
    id::AtomId,
    state::{Action, Atom, Body, Extra, Fragment, Spec, Task, fields::Writer},
};

/// The atom that keeps the checks of the task that stood in the place of the step. `None` where it had none.
pub(super) fn of(asked: FragmentRequest<'_>) -> Option<Atom> {
    let plan = asked.state.atom(asked.plan)?.plan()?;
    let was = plan.placed.was.as_ref()?;
    let checks = was.task()?.spec.checks.clone()?;
    let spec = Spec {
        action: Some(Action { run: "true".into(), extra: Extra::default() }),
        checks: Some(checks),
        ..Spec::default()
    };
    Some(Atom {
        description: format!("the checks of {}", was.title(asked.plan)),
        body: Body::Task(Box::new(Task::new(spec))),
        ..Atom::default()
    })
}

/// Adds the closing atom, which waits for all other parts.
pub(super) fn add(asked: FragmentRequest<'_>, taken: &mut AcceptedFragment, mut atom: Atom) {
    atom.depends_on.clone_from(&taken.fragment.parts);
    let mut origin = Writer::default();
    origin
        .text("by", "planner")
        .text("fragment", asked.attempt.as_str())
        .text("reason", &format!("it keeps the checks of {}", asked.plan));
    atom.origin = Some(origin.finish(&Extra::default()));
    let is_free = |id: &AtomId| asked.state.atom(id).is_none() && !taken.atoms.contains_key(id);
    let mut ids = (1..).map(|n| super::derived(asked.plan, n));
    if let Some(id) = ids.find(is_free) {
        taken.fragment.parts.push(id.clone());
        taken.atoms.insert(id, atom);
    }
}

/// Fragments of other placed steps in the same place: the same atoms again would fail again. A root waits for all that
/// was there, so it has no context in common with an earlier one.
pub(super) fn others<'s>(asked: FragmentRequest<'s>) -> impl Iterator<Item = &'s Fragment> {
    let own = asked.state.atoms.get(asked.plan).and_then(|atom| atom.plan());
    let is_placed = own.is_some_and(|plan| plan.placed.is_placed());
    let is_root = is_placed_root(asked, asked.plan);
    let others = asked.state.atoms.iter().filter(move |(id, atom)| {
        let plan = atom.plan().filter(|plan| plan.placed.is_placed());
        is_placed && plan.is_some() && *id != asked.plan && is_root == is_placed_root(asked, id)
    });
    others
        .filter_map(|(_, atom)| atom.plan())
        .flat_map(|plan| plan.fragments())
        .filter(move |one| is_root || one.context == *asked.context)
}

fn is_placed_root(asked: FragmentRequest<'_>, id: &AtomId) -> bool {
    let plan = asked.state.atoms.get(id).and_then(|atom| atom.plan());
    let is_new = plan.is_some_and(|plan| plan.placed.is_placed() && plan.placed.was.is_none());
    let x = asked.graph.ix(id);
    is_new && x.is_some_and(|x| asked.graph.vertex(x).parent.is_none())
}
