//! Planning steps: a task whose result is a fragment of new atoms, and the fragments that it came to (contract §5).
//!
//! Invariant: a fragment stays once it was made, in force or not: what was tried in it is what tells that another is
//! needed. Not here: whether a fragment is taken (`fragment`), when another is asked for (`search`).

use alloc::{collections::BTreeMap, vec::Vec};
use num_bigint::BigUint;

use super::{PhaseBudget, PhaseEnd, Task, text};
use crate::{
    doc::Node,
    id::{AtomId, AttemptId, Digest},
    state::{
        Constraints, State,
        fields::{Extra, Fields, Findings, Writer, pairs_node},
    },
};

#[derive(Debug, Clone)]
pub struct PlanningStep {
    /// How it is planned: the action, and what was tried.
    pub task: Task,
    /// What the fragment is for: it waits for this step.
    pub convergence_target: Option<AtomId>,
    /// Of a step that a planner made, or what a person said of it; else it is as the constraints say.
    pub grant: Option<GrantEntry>,
    /// What each fragment may take up, beyond which what is open of it is dropped.
    pub budget: Option<PhaseBudget>,
    /// Whose parts stand where those of an `all` do.
    in_force: Option<Fragment>,
    /// Those of other contexts, and those that failed.
    kept: Vec<Fragment>,
    /// The parts of all fragments.
    kids: Vec<AtomId>,
    /// Unknown keys of `planned`.
    pub extra: Extra,
}

/// What a planner made of one context.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// Of the planning step, when it was planned.
    pub context: Digest,
    pub choices: BTreeMap<AtomId, AtomId>,
    /// Of what the planner proposed, before its ids were replaced.
    pub digest: Digest,
    pub attempt: AttemptId,
    pub parts: Vec<AtomId>,
    /// Attempts of its atoms that came to their end, counted where the step has a budget of them.
    pub attempts: u32,
    /// The active time of the run when its clock began, in milliseconds, where the step has a budget of time.
    pub since_ms: Option<u64>,
    pub ended: Option<PhaseEnd>,
    pub extra: Extra,
}

/// What a fragment may use up at most, fixed when its planning step was made: what the measure counts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Tasks, each counted in every context that it can see.
    pub atoms: u32,
    /// Ways in which a fragment can be resolved.
    pub alternatives: u32,
    /// Fragments in one context.
    pub rounds: u32,
}

/// What stands in the file of a grant: what is left out is as the constraints say.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantEntry {
    pub atoms: Option<u32>,
    pub alternatives: Option<u32>,
    pub rounds: Option<u32>,
    pub extra: Extra,
}

/// Ways in which a person's planning step may be resolved, unless it says so.
const ALTERNATIVES: u32 = 16;

impl Grant {
    pub fn of_person(constraints: &Constraints) -> Self {
        Self {
            atoms: constraints
                .max_fragment_atoms()
                .min(constraints.max_planned_atoms()),
            alternatives: ALTERNATIVES,
            rounds: constraints.max_refinements_per_atom().saturating_add(1),
        }
    }

    /// How much of it one round of planning and of working through the fragment takes at most, in attempts.
    pub fn round(&self, of_planner: u32, of_task: u32) -> BigUint {
        BigUint::from(of_planner) + BigUint::from(self.atoms) * BigUint::from(of_task)
    }
}

impl GrantEntry {
    /// The whole of a grant.
    pub fn of(grant: Grant) -> Self {
        Self {
            atoms: Some(grant.atoms),
            alternatives: Some(grant.alternatives),
            rounds: Some(grant.rounds),
            extra: Extra::default(),
        }
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        Some(Self {
            atoms: fields.small("atoms"),
            alternatives: fields.small("alternatives"),
            rounds: fields.small("rounds"),
            extra: fields.finish(),
        })
    }

    fn node(&self) -> Node {
        let small = |count: Option<u32>| count.map(|count| Node::uint(u64::from(count)));
        Writer::default()
            .some("atoms", small(self.atoms))
            .some("alternatives", small(self.alternatives))
            .some("rounds", small(self.rounds))
            .finish(&self.extra)
    }
}

impl PlanningStep {
    pub fn new(task: Task) -> Self {
        Self {
            task,
            convergence_target: None,
            grant: None,
            budget: None,
            in_force: None,
            kept: Vec::new(),
            kids: Vec::new(),
            extra: Extra::default(),
        }
    }

    pub fn in_force(&self) -> Option<&Fragment> {
        self.in_force.as_ref()
    }

    pub fn in_force_mut(&mut self) -> Option<&mut Fragment> {
        self.in_force.as_mut()
    }

    /// All that were made, the one in force first.
    pub fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.in_force.iter().chain(&self.kept)
    }

    /// Those of one context.
    pub fn made_in<'p>(&'p self, context: &'p Digest) -> impl Iterator<Item = &'p Fragment> {
        self.fragments()
            .filter(move |fragment| fragment.context == *context)
    }

    pub(super) fn kids(&self) -> &[AtomId] {
        &self.kids
    }

    pub fn grant(&self, constraints: &Constraints) -> Grant {
        let Grant {
            atoms,
            alternatives,
            rounds,
        } = Grant::of_person(constraints);
        let Some(entry) = &self.grant else {
            return Grant {
                atoms,
                alternatives,
                rounds,
            };
        };
        Grant {
            atoms: entry.atoms.unwrap_or(atoms),
            alternatives: entry.alternatives.unwrap_or(alternatives),
            rounds: entry.rounds.unwrap_or(rounds),
        }
    }

    /// One of its fragments, by its first part, to be changed.
    pub fn fragment_mut(&mut self, first: &AtomId) -> Option<&mut Fragment> {
        let mut all = self.in_force.iter_mut().chain(&mut self.kept);
        all.find(|fragment| fragment.first() == Some(first))
    }

    /// What happened with fragments that `was` knows stands as it says; their parts and what is beside are as here. Gives
    /// those that said something else, by their place in `fragments`, `None` for the one in force.
    pub fn keep_facts(&mut self, was: &Self) -> Vec<(Option<usize>, Node)> {
        let in_force = self.in_force.iter_mut().map(|one| (None, one));
        let kept = self.kept.iter_mut().enumerate();
        let all = in_force.chain(kept.map(|(index, one)| (Some(index), one)));
        let changed = all.filter_map(|(place, fragment)| {
            let known = was.fragments().find(|known| known.is_same_as(fragment))?;
            let edited = core::mem::replace(fragment, known.with_parts_of(fragment));
            (edited != *fragment).then(|| (place, edited.node(place.is_some())))
        });
        changed.collect()
    }

    /// How the budget of a fragment ended, unless a person gave it more since.
    pub fn end_of<'p>(&self, fragment: &'p Fragment) -> Option<&'p PhaseEnd> {
        let ended = fragment.ended.as_ref();
        ended.filter(|end| end.holds(self.budget.as_ref()))
    }

    /// Takes in a new fragment, in force or for the time when its context is.
    pub fn add(&mut self, fragment: Fragment, is_in_force: bool) {
        if is_in_force {
            self.set_aside();
            self.in_force = Some(fragment);
        } else {
            self.kept.push(fragment);
        }
        self.count_kids();
    }

    /// No fragment is in force any more: the step is a leaf.
    pub fn set_aside(&mut self) {
        self.kept.extend(self.in_force.take());
        self.count_kids();
    }

    /// Brings the fragment with that first part into force.
    pub fn take_up(&mut self, first: &AtomId) {
        let is_it = |fragment: &Fragment| fragment.first() == Some(first);
        if self.in_force.as_ref().is_some_and(is_it) {
            return;
        }
        if let Some(index) = self.kept.iter().position(is_it) {
            let fragment = self.kept.remove(index);
            self.set_aside();
            self.in_force = Some(fragment);
        }
        self.count_kids();
    }

    /// The same with other names for atoms.
    pub(super) fn rename(&mut self, name: &impl Fn(&mut AtomId)) {
        self.convergence_target.iter_mut().for_each(name);
    }

    fn count_kids(&mut self) {
        let parts = self.fragments().flat_map(|one| one.parts.iter().cloned());
        self.kids = parts.collect();
    }

    /// Of `{"kind": "plan"}`, or of the `planned` of an `all`, whose parts are `parts`.
    pub(super) fn read(fields: &mut Fields<'_, '_>, parts: Option<Vec<AtomId>>) -> Option<Self> {
        let task = text::read_task(fields)?;
        let mut plan = Self::new(task);
        plan.convergence_target = fields.text("convergence_target").map(AtomId::new);
        plan.grant = fields.take("grant").and_then(|node| {
            let at = fields.at("grant");
            GrantEntry::read(node, &at, fields.found)
        });
        plan.budget = fields.take("budget").and_then(|node| {
            let at = fields.at("budget");
            PhaseBudget::read(node, &at, fields.found)
        });
        let is_all = parts.is_some();
        let in_force = if is_all {
            fields.need("fragment")
        } else {
            fields.take("fragment")
        };
        plan.in_force = in_force.and_then(|node| {
            let at = fields.at("fragment");
            Fragment::read(node, &at, fields.found, parts)
        });
        for (at, node) in fields.list("fragments") {
            plan.kept
                .extend(Fragment::read(node, &at, fields.found, None));
        }
        plan.count_kids();
        refuse_outcome(fields, &plan.task);
        Some(plan)
    }

    /// What is written of it beside the parts of the fragment in force; with them where it is to be told whole.
    pub(super) fn write(&self, to: &mut Writer, is_whole: bool) {
        text::write_task(&self.task, to);
        let target = self.convergence_target.as_ref();
        to.some(
            "convergence_target",
            target.map(|id| Node::string(id.as_str())),
        )
        .some("grant", self.grant.as_ref().map(GrantEntry::node))
        .some("budget", self.budget.as_ref().map(PhaseBudget::node));
        let in_force = self.in_force.as_ref();
        to.some("fragment", in_force.map(|one| one.node(is_whole)));
        if !self.kept.is_empty() {
            let kept = self.kept.iter().map(|one| one.node(true));
            to.put("fragments", Node::array(kept.collect()));
        }
    }
}

/// A planning step changes nothing, in the tree or outside, and the program judges what it prints.
fn refuse_outcome(fields: &mut Fields<'_, '_>, task: &Task) {
    let odd = [
        ("checks", task.spec.checks.is_some()),
        ("effect", !task.spec.effect.is_in_tree()),
        ("output_schema", task.spec.output_schema.is_some()),
    ];
    for (key, _) in odd.into_iter().filter(|(_, is_there)| *is_there) {
        let span = fields.node.get(key).map_or(fields.node.span, |n| n.span);
        let at = fields.at(key);
        let message = alloc::format!("a planning step has no `{key}`: it makes nothing but atoms");
        let hint = Some("put it on an atom of the fragment, or on one that waits for it".into());
        fields.found.fault("plan-key", (&at, span), message, hint);
    }
}

impl Fragment {
    /// By which it is called where choices are.
    pub fn first(&self) -> Option<&AtomId> {
        self.parts.first()
    }

    /// No atom is a part of two.
    fn is_same_as(&self, other: &Self) -> bool {
        self.parts.iter().any(|part| other.parts.contains(part))
    }

    /// The facts are these, what a person may say of it is the other's.
    fn with_parts_of(&self, other: &Self) -> Self {
        Self {
            parts: other.parts.clone(),
            extra: other.extra.clone(),
            ..self.clone()
        }
    }

    fn read(
        node: &Node,
        pointer: &str,
        found: &mut Findings,
        parts: Option<Vec<AtomId>>,
    ) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        for key in ["context", "digest"] {
            let _ = fields.need(key);
        }
        let context = fields.text("context").map(Digest::new);
        let choices = fields.pairs("choices");
        let digest = fields.text("digest").map(Digest::new);
        let attempt = AttemptId::new(fields.text_or_empty("attempt"));
        let parts = match parts {
            Some(parts) => parts,
            None => text::kids(&mut fields, "parts"),
        };
        let attempts = fields.small("attempts").unwrap_or(0);
        let since_ms = fields.count("since_ms");
        let ended = fields.take("ended").and_then(|node| {
            let at = fields.at("ended");
            PhaseEnd::read(node, &at, fields.found)
        });
        let extra = fields.finish();
        Some(Self {
            context: context?,
            choices: crate::state::record::choices(choices),
            digest: digest?,
            attempt,
            parts,
            attempts,
            since_ms,
            ended,
            extra,
        })
    }

    fn node(&self, with_parts: bool) -> Node {
        let mut to = Writer::default();
        to.text("context", self.context.as_str());
        if !self.choices.is_empty() {
            to.put("choices", pairs_node(&self.choices));
        }
        to.text("digest", self.digest.as_str())
            .text("attempt", self.attempt.as_str());
        if with_parts {
            to.put("parts", text::ids_node(&self.parts));
        }
        to.count_unless_zero("attempts", u64::from(self.attempts))
            .some("since_ms", self.since_ms.map(Node::uint))
            .some("ended", self.ended.as_ref().map(PhaseEnd::node));
        to.finish(&self.extra)
    }
}

/// How often something was planned again, all planning steps together.
pub fn replans(state: &State) -> u64 {
    let plans = state.atoms.values().filter_map(|atom| atom.plan());
    let tries = plans.flat_map(|plan| &plan.task.tries);
    tries.map(|tried| u64::from(tried.rounds)).sum()
}
