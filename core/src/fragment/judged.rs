//! The rules over a fragment that fits: what weighs heavily refuses it, all else is told.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{AcceptedFragment, FragmentRequest, form};
use crate::{
    doc::{self, Fault},
    graph::{Graph, Ix},
    id::{AtomId, Digest},
    judging::{self, Issue, JudgedPlan, PlanFacts},
    state::{Severity, State},
};

/// A fragment in the graph that it would make.
pub(super) struct JudgedFragment<'a> {
    pub(super) state: &'a State,
    pub(super) graph: &'a Graph,
    /// The program's id of each atom, by the proposed one.
    pub(super) names: &'a BTreeMap<AtomId, AtomId>,
}

impl JudgedFragment<'_> {
    /// The heavy issues as faults, in the words of the planner; the others stay with the fragment.
    pub(super) fn refused(
        &self,
        asked: FragmentRequest<'_>,
        taken: &mut AcceptedFragment,
        facts: &PlanFacts,
    ) -> Vec<Fault> {
        let atoms = self.names.values();
        let atoms: BTreeSet<Ix> = atoms.filter_map(|id| self.graph.ix(id)).collect();
        let plan = JudgedPlan {
            state: self.state,
            graph: self.graph,
            atoms,
            facts,
            failed: failed(asked),
            has_target: has_target(asked),
        };
        let (heavy, light): (Vec<Issue>, Vec<Issue>) =
            judging::judge(&plan).into_iter().partition(|issue| issue.severity == Severity::High);
        taken.issues = light;
        heavy.iter().map(|issue| fault(issue, self.names)).collect()
    }
}

fn has_target(asked: FragmentRequest<'_>) -> bool {
    let step = asked.state.atom(asked.plan).and_then(|atom| atom.plan());
    step.is_some_and(|step| step.convergence_target.is_some())
}

/// The specifications that earlier plans of this step and context began with, and that were wrong.
fn failed(asked: FragmentRequest<'_>) -> BTreeSet<Digest> {
    let step = asked.state.atom(asked.plan).and_then(|atom| atom.plan());
    let parts = step.into_iter().flat_map(|step| {
        let made = step.made_in(asked.context);
        made.flat_map(|fragment| &fragment.parts)
    });
    let inside = parts.filter_map(|id| asked.graph.ix(id));
    let inside = inside.flat_map(|x| asked.graph.subtree(x));
    let failed = inside.filter(|x| {
        let atom = asked.state.atom(asked.graph.id(*x));
        asked.graph.vertex(*x).deps.is_empty()
            && atom.is_some_and(|atom| form::has_failed_logically(atom))
    });
    failed.map(|x| asked.graph.vertex(x).spec.clone()).collect()
}

/// The place and the words with the ids that the planner gave.
pub(super) fn fault(issue: &Issue, names: &BTreeMap<AtomId, AtomId>) -> Fault {
    let proposed = |id: &str| {
        let mut names = names.iter();
        let known = names.find(|(_, own)| own.as_str() == id);
        known.map_or_else(|| id.to_string(), |(proposed, _)| proposed.to_string())
    };
    let words: Vec<String> = issue.description.split('`').map(proposed).collect();
    let at = doc::pointer_push("/atoms", &proposed(&issue.location)) + &issue.at;
    let message = format!("{} [{}]", words.join("`"), issue.rule.word());
    form::fault(issue.rule.word(), &at, message, Some(&issue.proposed_repair))
}
