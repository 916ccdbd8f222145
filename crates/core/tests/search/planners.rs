//! Planners of changes of the plan, and what they plan.

use std::fmt::Write as _;

use descent_core::{
    event::{AgentReport, Clarity, Input, Outcome},
    id::AtomId,
    state::Intent,
};

use super::sim::{Piece, Sim, outcome};

/// The beginning of the name of a task that succeeds and makes the base case hold. Without one of these beginnings it
/// succeeds and changes nothing.
pub(crate) const MEND: &str = "mend";
/// It does the work of a task of the model.
pub(crate) const INSTEAD: &str = "as_";
/// It never succeeds.
const NEVER: &str = "no";
/// It cannot be done as it is said.
pub(crate) const STUCK: &str = "stuck";

/// Who plans where nothing is left to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planner {
    Silent,
    Nonsense,
    /// Names atoms of others.
    Stranger,
    /// The same at each request.
    Same,
    /// The same at each request: it succeeds and changes nothing.
    Nothing,
    /// Two plans in turn.
    Circles,
    /// Another plan at each request.
    Endless,
    /// As many atoms as were granted.
    Most,
    /// Steps that plan further steps.
    Deep,
    Random,
    /// Does what the failed atom was to do.
    Instead,
    /// Makes the base case hold.
    Mends,
}

pub(crate) const ADVERSARIES: [Planner; 10] = [
    Planner::Silent,
    Planner::Nonsense,
    Planner::Stranger,
    Planner::Same,
    Planner::Nothing,
    Planner::Circles,
    Planner::Endless,
    Planner::Most,
    Planner::Deep,
    Planner::Random,
];

impl Sim<'_> {
    /// The name that a planner gave to an atom, else its id.
    pub(crate) fn proposed(&self, id: &AtomId) -> String {
        let atom = self.world.state.atom(id);
        let origin = atom.and_then(|atom| atom.origin.as_ref());
        let proposed = origin.and_then(|origin| origin.get("proposed")?.as_str());
        proposed.unwrap_or(id.as_str()).to_owned()
    }

    pub(crate) fn proposed_of(&self, piece: &Piece) -> String {
        self.proposed(&AtomId::new(piece.atom.as_str()))
    }

    /// Whether a change of the plan brought it.
    pub(crate) fn is_new(&self, id: &AtomId) -> bool {
        let atom = self.world.state.atom(id);
        let is_placed = atom.is_some_and(|atom| {
            let plan = atom.plan();
            plan.is_some_and(|plan| plan.placed.is_placed())
        });
        let name = self.proposed(id);
        is_placed || self.model.nodes.iter().all(|node| node.id != name)
    }

    /// The name of what stands in the tree.
    pub(crate) fn name(&self, id: &AtomId) -> String {
        let name = self.proposed(id);
        match name.strip_prefix(INSTEAD) {
            Some(name) => name.to_owned(),
            None if name.starts_with(MEND) => MEND.to_owned(),
            None => name,
        }
    }

    pub(crate) fn is_good(&self, id: &AtomId) -> bool {
        !self.proposed(id).starts_with(NEVER)
    }

    pub(crate) fn changes_nothing(&self, id: &AtomId) -> bool {
        let name = self.proposed(id);
        !name.starts_with(MEND) && !name.starts_with(INSTEAD)
    }

    /// An attempt of an atom that a change of the plan brought.
    pub(crate) fn unknown(&mut self, intent: &Intent) -> Input {
        let plan = self.world.state.atom(&intent.atom).and_then(|atom| atom.plan());
        let granted = plan.and_then(|plan| plan.grant.as_ref()?.atoms);
        let is_plan = plan.is_some();
        let made = if self.rng.percent(self.faults.transient) {
            outcome(75)
        } else if is_plan {
            let printed = self.plan_anew(intent, granted.unwrap_or(1));
            match printed {
                Some(printed) => Outcome { stdout: Some(printed), ..outcome(0) },
                None => outcome(1),
            }
        } else if self.proposed(&intent.atom).starts_with(STUCK) {
            let report = AgentReport { clarity: Clarity::Blocked, ..AgentReport::default() };
            Outcome { report: Some(report), ..outcome(0) }
        } else {
            outcome(i32::from(!self.is_good(&intent.atom)))
        };
        Input::Ended { attempt: intent.id.clone(), epoch: intent.epoch, outcome: Box::new(made) }
    }

    fn plan_anew(&mut self, intent: &Intent, granted: u32) -> Option<String> {
        let n = self.world.state.run.attempts_started;
        let of = |atoms: &str| Some(format!(r#"{{"atoms": {{{atoms}}}}}"#));
        let planner = self.planner.expect("a planner");
        let planner = match planner {
            Planner::Random => ADVERSARIES[self.rng.below(ADVERSARIES.len() - 1)],
            other => other,
        };
        match planner {
            Planner::Silent | Planner::Random => None,
            Planner::Nonsense => of(r#""a": {"parts": []}"#),
            Planner::Stranger => {
                let others = self.world.state.all_atoms();
                let other = others.keys().next().expect("an atom");
                of(&format!(r#""a": {{"depends_on": ["{other}"]}}"#))
            }
            Planner::Same => of(r#""no_a": {"description": "a"}"#),
            Planner::Nothing => of(r#""ok": {"description": "it"}"#),
            Planner::Circles => of(&format!(r#""no_{0}": {{"description": "{0}"}}"#, n % 2)),
            Planner::Endless => of(&format!(
                r#""ok": {{"description": "it"}}, "no_{n}": {{"description": "{n}", "depends_on": ["ok"]}}"#
            )),
            Planner::Most => {
                let mut atoms = String::new();
                for k in 0..granted {
                    let name = if k + 1 < granted { "ok" } else { NEVER };
                    let comma = if k > 0 { ", " } else { "" };
                    let _ = write!(atoms, r#"{comma}"{name}_{k}": {{"description": "{n}"}}"#);
                }
                of(&atoms)
            }
            Planner::Deep => of(&format!(
                r#""ok": {{"description": "{n}"}}, "deeper": {{"kind": "plan", "description": "more"}}"#
            )),
            Planner::Instead => of(&format!(
                r#""as_{0}": {{"description": "as {0}"}}"#,
                self.proposed(&intent.atom)
            )),
            Planner::Mends => of(&format!(r#""mend_{n}": {{"description": "{n}"}}"#)),
        }
    }
}
