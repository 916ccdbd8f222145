//! Finds the faults of planning steps: their purpose, their number, and the references of their fragments; and what is
//! missing of the agreement.

use super::{Graph, Ix, Validator};
use crate::doc::prelude::*;
use crate::{
    doc::{Fault, Node},
    graph::{NodeKind, overlap},
    state::{Leaf, Objective, State},
};

impl Validator<'_> {
    pub(super) fn plans(&mut self, graph: &Graph) {
        for plan in graph.plans() {
            self.convergence(graph, plan);
        }
        for x in graph.atoms() {
            self.across_fragments(graph, x);
        }
        self.phases(graph);
    }

    /// The atom that a step plans for must wait for it: otherwise nothing would wait for its
    /// fragment.
    fn convergence(&mut self, graph: &Graph, plan: Ix) {
        let id = graph.id(plan);
        let atom = self.state.atom(id);
        let Some(target) = atom.and_then(|atom| atom.plan()?.convergence_target.clone()) else {
            return;
        };
        let at = super::pointer_of(id) + "/convergence_target";
        let Some(x) = graph.ix(&target) else { return self.reference(&at, &target, id) };
        if !waits_for(graph, x, plan) {
            let message = format!("`{target}` does not wait for `{id}`");
            let hint = format!("add `{id}` to its depends_on, or name an atom that waits for it");
            self.fault("convergence", &at, message, Some(&hint));
        }
    }

    /// Atoms of two fragments of one step are never live together.
    fn across_fragments(&mut self, graph: &Graph, x: Ix) {
        for (index, dep) in graph.vertex(x).deps.iter().copied().enumerate() {
            let Some(plan) = graph.vertex(dep).parent else { continue };
            if graph.vertex(plan).kind != NodeKind::Plan {
                continue;
            }
            let line = core::iter::once(x).chain(graph.above(x));
            let mut part = line.filter(|y| graph.vertex(*y).parent == Some(plan));
            let other = part.next().and_then(|part| graph.phase_of(plan, part));
            let own = graph.phase_of(plan, dep);
            let is_other = other.zip(own).is_some_and(|(a, b)| a.first() != b.first());
            if is_other {
                let (id, dep) = (graph.id(x), graph.id(dep));
                let at = format!("{}/depends_on/{index}", super::pointer_of(id));
                let message = format!("`{dep}` is in another plan than `{id}`");
                self.fault("dependency-out-of-reach", &at, message, None);
            }
        }
    }

    /// A step that the program placed counts among the changes of the plan.
    fn is_placed(&self, graph: &Graph, plan: Ix) -> bool {
        let atom = self.state.atom(graph.id(plan)).and_then(|atom| atom.plan());
        atom.is_some_and(|plan| plan.placed.is_placed())
    }

    fn phases(&mut self, graph: &Graph) {
        let most = self.state.objective.constraints.planning.phases() as usize;
        let own: Vec<Ix> = graph
            .plans()
            .filter(|plan| graph.planned_by(*plan).is_none() && !self.is_placed(graph, *plan))
            .collect();
        if let Some(plan) = own.get(most) {
            let at = super::pointer_of(graph.id(*plan));
            let message = format!("{} planning steps, the limit is {most}", own.len());
            let hint = "raise /objective/constraints/planning/phases";
            self.fault("too-many-phases", &at, message, Some(hint));
        }
    }
}

/// Whether `x` is done only after `plan`, directly or through other atoms.
fn waits_for(graph: &Graph, x: Ix, plan: Ix) -> bool {
    let upstream = overlap::upstream(graph, x);
    core::iter::once(plan).chain(graph.above(plan)).any(|y| upstream.contains(&y))
}

// The start gate (contract §9): which parts of the agreement are missing.

/// A part of the agreement that no run begins without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    Goal,
    Why,
    BaseCase,
    /// The base case has leaves, and a machine decides none of them.
    MachineLeaf,
    Work,
}

impl MissingPart {
    /// Its place, what is said of it, and how it is given.
    pub fn words(self) -> [&'static str; 3] {
        let base_case = "/objective/base_case";
        match self {
            Self::Goal => ["/objective/goal", "the goal is missing", "descent align GOAL"],
            Self::Why => {
                ["/objective/background_intent", "why it is wanted is missing", "--why TEXT"]
            }
            Self::BaseCase => [base_case, "the base case is missing", "--check COMMAND"],
            Self::MachineLeaf => [
                base_case,
                "no leaf of the base case is decided by a machine",
                "add a `command` or a `file` check",
            ],
            Self::Work => ["/work_graph/atoms", "the work graph is empty", "--step TEXT[=COMMAND]"],
        }
    }
}

/// Every missing part, in the order of the file.
pub fn missing_parts(state: &State) -> Vec<MissingPart> {
    let Objective { goal, background_intent, base_case, .. } = &*state.objective;
    let is_blank = |text: &str| text.trim().is_empty();
    let leaves = base_case.as_ref().map(|check| check.leaves());
    let has_no_machine = leaves.is_some_and(|leaves| {
        let mut rules = leaves.iter().filter_map(|leaf| leaf.leaf());
        !rules.any(Leaf::is_machine)
    });
    let parts = [
        (MissingPart::Goal, is_blank(goal)),
        (MissingPart::Why, is_blank(background_intent)),
        (MissingPart::BaseCase, base_case.is_none()),
        (MissingPart::MachineLeaf, has_no_machine),
        (MissingPart::Work, state.atoms.is_empty() && state.bindings.is_empty()),
    ];
    parts.into_iter().filter(|(_, is_missing)| *is_missing).map(|(part, _)| part).collect()
}

/// The same as faults, with their places.
pub fn gate(state: &State, root: &Node) -> Vec<Fault> {
    let fault = |part: MissingPart| {
        let [pointer, message, hint] = part.words();
        super::fault_in(root, "not-aligned", pointer, message.to_owned(), Some(hint))
    };
    missing_parts(state).into_iter().map(fault).collect()
}
