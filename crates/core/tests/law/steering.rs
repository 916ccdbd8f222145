//! The control law as a planner meets it: a point after each round, and what is blocked until the next.

use std::{collections::BTreeMap, sync::Arc};

use descent_core::{
    id::{AtomId, Lineage},
    law::{self, LawInputs, approach, blocks},
    plan,
    state::{
        Atom, State,
        law::{BlockedRecord, Directive, LawPoint, LawRecord, LawWeights},
    },
};

/// A plan of one action, as a planner proposes it.
pub(crate) type Proposal = BTreeMap<AtomId, Atom>;

fn state(atoms: &str) -> State {
    let text = format!(
        r#"{{"objective": {{"goal": "g", "background_intent": "w", "base_case": {{"command": "base"}}}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#
    );
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}\n{text}", plan.faults);
    plan.into_state(Lineage::new("lineage"))
}

pub(crate) fn proposal(action: &str) -> Proposal {
    let atom =
        format!(r#""a": {{"kind": "task", "description": "a", "action": {{"run": "{action}"}}}}"#);
    let atoms = state(&atom).atoms;
    let atoms = atoms.iter().map(|(id, atom)| (id.clone(), (**atom).clone()));
    atoms.collect()
}

/// The law of one run.
#[derive(Clone)]
pub(crate) struct Steering {
    state: State,
    pass: u64,
    pub(crate) rules: LawWeights,
}

impl Steering {
    pub(crate) fn new(rules: LawWeights) -> Self {
        let atom = r#""a": {"kind": "task", "description": "a", "action": {"run": "true"}}"#;
        Self { state: state(atom), pass: 0, rules }
    }

    /// Takes a point after a plan failed.
    pub(crate) fn point(&mut self, inputs: &LawInputs, failed: &Proposal) -> Directive {
        self.pass += 1;
        let law = Arc::make_mut(&mut self.state.run).law.get_or_insert_with(LawRecord::default);
        let point = law::point(&self.rules, inputs, law.point.as_ref(), String::new());
        let tried = failed.values().flat_map(approach::of_atom);
        law.failed = tried
            .map(|one| BlockedRecord {
                tool: one.tool,
                target: Some(one.target),
                pass: self.pass,
                because: None,
                atom: None,
                extra: Default::default(),
            })
            .collect();
        let (pass, directive) = (self.pass, point.directive);
        let point = LawPoint { pass, rationale: String::new(), ..point };
        blocks::block(law, &point);
        law.point = Some(point);
        directive
    }

    pub(crate) fn refuses(&self, proposal: &Proposal) -> bool {
        !blocks::refused(&self.state, proposal).is_empty()
    }
}
