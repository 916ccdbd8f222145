//! New atoms, atoms that go, choices of a redirect, and the changes that a plan which was edited brings.

use super::{Reading, place};
use crate::doc::prelude::*;
use crate::{
    change::{
        between, constraints_with,
        kinds::put_atom,
        merge::plan::{PlanMerge, merge_plan},
    },
    doc::{self, Node, did_you_mean},
    graph::validate,
    id::AtomId,
    plan::TakenPlan,
    state::{Atom, Body, Intent, State, atom_order},
};

/// Groups named in a hint at most.
const GROUPS_NAMED_MAX: usize = 10;

impl Reading<'_> {
    pub(super) fn graph(&mut self) {
        let mut groups = BTreeMap::new();
        let gone = self.change.removed.clone();
        self.leave(&gone, &mut groups);
        self.add(&mut groups);
        for (group, choice) in &self.redirect.selected {
            self.select(group, choice, &mut groups);
        }
        for (id, atom) in groups {
            put_atom(&mut self.change.state, &id, &atom);
        }
    }

    /// Takes atoms out with all below them.
    pub(super) fn remove(&mut self) {
        let removed = self.redirect.removed.iter();
        let known: Vec<&AtomId> = removed.filter(|id| self.atom(id).is_some()).collect();
        let gone = subtrees(self.state, &known);
        self.take_out(gone);
    }

    fn take_out(&mut self, gone: BTreeSet<AtomId>) {
        for id in &gone {
            self.change.state.atoms.remove(id);
            self.change.state.bindings.remove(id);
        }
        self.change.removed.extend(gone);
    }

    /// Takes what goes out of the groups that stay, which `changed` gets. An atom that still waits for it is a fault.
    fn leave(&mut self, gone: &BTreeSet<AtomId>, changed: &mut BTreeMap<AtomId, Arc<Atom>>) {
        let is_plan = self.redirect.plan.is_some();
        let known = self.state.all_atoms().into_keys().chain(changed.keys());
        let stays: BTreeSet<AtomId> = known.filter(|id| !gone.contains(*id)).cloned().collect();
        for id in stays {
            let Some(atom) = changed.get(&id).or_else(|| self.state.atom(&id)).cloned() else {
                continue;
            };
            for needed in atom.depends_on.iter().filter(|id| gone.contains(*id)) {
                let (more, hint) = if is_plan {
                    let hint =
                        format!("descent redirect --remove {id}, or leave {needed} in the plan");
                    (", which the plan does not name any more", hint)
                } else {
                    ("", format!("take it out too: --remove {id}"))
                };
                let message = format!("{id} waits for {needed}{more}");
                self.fault("still-needed", &place(needed), message, Some(&hint));
            }
            let is_planned = is_plan && atom.plan().is_some();
            if is_planned || !atom.kids().iter().any(|kid| gone.contains(kid)) {
                continue;
            }
            let mut left = (*atom).clone();
            match without(&mut left, gone) {
                Ok(()) => drop(changed.insert(id, Arc::new(left))),
                Err(message) => {
                    let hint = if is_plan {
                        "leave a part of it in the plan".to_owned()
                    } else {
                        format!("take {id} out with it: --remove {id}")
                    };
                    self.fault("still-needed", &place(&id), message, Some(&hint));
                }
            }
        }
    }

    fn add(&mut self, groups: &mut BTreeMap<AtomId, Arc<Atom>>) {
        let (redirect, state) = (self.redirect, self.state);
        for id in redirect.atoms.keys() {
            if state.atom(id).is_some() {
                let message = format!("there is an atom {id} already");
                let hint = "give the new one another id";
                self.fault("duplicate-id", &place(id), message, Some(hint));
            }
        }
        for (id, atom) in &redirect.atoms {
            put_atom(&mut self.change.state, id, &Arc::new(atom.clone()));
        }
        let Some(into) = &redirect.into else { return };
        let Some(present) = self.atom(into) else {
            return;
        };
        if state.bindings.contains_key(into) && !redirect.forgotten.contains(into) {
            let message = format!("{into} is solved");
            let hint = format!("--forget {into} opens it again");
            return self.fault("resolved", &place(into), message, Some(&hint));
        }
        let group = groups.entry(into.clone()).or_insert(present);
        let new = topmost(&redirect.atoms);
        match &mut Arc::make_mut(group).body {
            Body::All { parts } => parts.extend(new),
            Body::Any { choices, .. } => choices.extend(new),
            Body::Task(_) | Body::Plan(_) => {
                let message = format!("{into} is no group of parts or choices");
                let hint = "name a group; without --into the new atoms stand beside it";
                self.fault("no-group", &place(into), message, Some(hint));
            }
        }
    }

    fn select(
        &mut self,
        group: &AtomId,
        choice: &AtomId,
        groups: &mut BTreeMap<AtomId, Arc<Atom>>,
    ) {
        let state = self.state;
        let Some(present) = self.atom(group) else {
            return;
        };
        let atom = Arc::make_mut(groups.entry(group.clone()).or_insert(present));
        let Body::Any { choices, selected, .. } = &mut atom.body else {
            let message = format!("{group} has no choices");
            return self.fault("no-choice", &place(group), message, groups_of(state).as_deref());
        };
        if !choices.contains(choice) {
            let names: Vec<&str> = choices.iter().map(AtomId::as_str).collect();
            let hint = did_you_mean(choice.as_str(), names.iter().copied());
            let hint = hint.unwrap_or_else(|| format!("its choices are {}", names.join(", ")));
            let message = format!("{choice} is no choice of {group}");
            return self.fault("no-choice", &place(group), message, Some(&hint));
        }
        *selected = Some(choice.clone());
        for id in subtrees(state, &[choice]) {
            let task = state.atoms.get(&id).and_then(|atom| atom.task());
            // Nobody knows yet whether an effect that is under way happens.
            let is_under_way = |one: &Intent| one.atom == id && one.effect.is_once_only();
            if task.is_some_and(|task| task.tries.iter().any(|tried| tried.has_failed()))
                && !state.run.in_flight.iter().any(is_under_way)
            {
                self.change.retried.push(id);
            }
        }
    }
}

/// A hint that names groups with choices.
fn groups_of(state: &State) -> Option<String> {
    let atoms = state.all_atoms().into_iter();
    let groups = atoms.filter(|(_, atom)| matches!(atom.body, Body::Any { .. }));
    let names = groups.map(|(id, _)| id.as_str()).take(GROUPS_NAMED_MAX);
    let names = names.collect::<Vec<&str>>().join(", ");
    (!names.is_empty()).then(|| format!("groups with choices: {names}"))
}

/// These atoms and all below them.
fn subtrees(state: &State, tops: &[&AtomId]) -> BTreeSet<AtomId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&AtomId> = tops.to_vec();
    while let Some(id) = open.pop() {
        if found.insert(id.clone()) {
            open.extend(state.atom(id).into_iter().flat_map(|atom| atom.kids()));
        }
    }
    found
}

/// Takes parts out of a group, unless nothing would be left of it.
pub(super) fn without(group: &mut Atom, gone: &BTreeSet<AtomId>) -> Result<(), String> {
    let kids = match &mut group.body {
        Body::All { parts } => parts,
        Body::Any { choices, selected, .. } => {
            selected.take_if(|choice| gone.contains(choice));
            choices
        }
        Body::Plan(_) | Body::Task(_) => {
            return Err("its parts were planned together".to_owned());
        }
    };
    kids.retain(|kid| !gone.contains(kid));
    if kids.is_empty() { Err("nothing would be left of the group".to_owned()) } else { Ok(()) }
}

/// The atoms that are nobody's part.
fn topmost(atoms: &BTreeMap<AtomId, Atom>) -> Vec<AtomId> {
    let kids: BTreeSet<&AtomId> = atoms.values().flat_map(|atom| atom.kids()).collect();
    let tops = atoms.keys().filter(|id| !kids.contains(id));
    tops.cloned().collect()
}

impl Reading<'_> {
    pub(super) fn plan(&mut self) {
        let Some(theirs) = &self.redirect.plan else {
            return;
        };
        let mut merged = merge_plan(TakenPlan::of(self.state), self.state, theirs);
        let gone = merged.removed.clone();
        self.leave(&gone, &mut merged.atoms);
        let after = merged.state(self.state);
        self.faults.extend(validate::unmeasured(&after, &Node::null()));
        self.take_out(gone);
        let mut objective = (*self.state.objective).clone();
        let constraints = between::constraints(self.state, &after);
        let constraints = constraints_with(&objective.constraints, &constraints);
        if between::is_other_objective(self.state, &after) {
            objective = (*after.objective).clone();
        }
        objective.constraints = constraints.unwrap_or(objective.constraints);
        if doc::canonical(&objective.node()) != doc::canonical(&self.state.objective.node()) {
            self.change.state.objective = Arc::new(objective);
        }
        for (id, atom) in merged.atoms {
            self.replace(id, atom);
        }
        if theirs.plan.is_some() {
            self.change.state.plan.clone_from(&theirs.plan);
        }
    }

    fn replace(&mut self, id: AtomId, atom: Arc<Atom>) {
        let known = self.state.atom(&id);
        if known.is_some_and(|known| is_same_work(known, &atom)) {
            return;
        }
        // The result of a task says nothing of a group.
        if atom.task().is_none() && self.state.bindings.contains_key(&id) {
            self.take_result(&id);
        }
        put_atom(&mut self.change.state, &id, &atom);
    }
}

impl PlanMerge {
    /// The state with the plan merged in, before anything follows from it.
    fn state(&self, before: &State) -> State {
        let mut after = before.clone();
        after.objective = Arc::new(self.objective.clone());
        for (id, atom) in &self.atoms {
            put_atom(&mut after, id, atom);
        }
        for id in &self.removed {
            after.atoms.remove(id);
            after.bindings.remove(id);
        }
        after.order = Arc::new(atom_order::woven(&self.order, &before.settled_order()));
        after
    }
}

/// Remarks and unknown keys alone are no change.
fn is_same_work(known: &Atom, atom: &Atom) -> bool {
    let words =
        |atom: &Atom| atom.task().map(|task| task.spec.guidance.clone()).unwrap_or_default();
    !between::other_keys(known, atom) && words(known) == words(atom)
}
