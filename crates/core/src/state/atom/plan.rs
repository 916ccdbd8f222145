//! Planning steps: a task whose result is a fragment of new atoms, and its fragments (contract §5).
//!
//! Invariant: a fragment stays once it was made, in force or not: its tries tell that another is needed. Not here:
//! accepting a fragment (`fragment`), asking for another (`search`).

use crate::doc::prelude::*;
use num_bigint::BigUint;

use super::{Atom, PhaseBudget, PhaseEnd, Placed, Task, ends};
use crate::state::limits::FRAGMENT_ATOMS_MAX;
use crate::{
    doc::Node,
    id::{AtomId, AttemptId, Digest},
    state::{
        AnswerRecord, Constraints, ContextMode, JudgedMark, PlannerContext, State, Usage,
        fields::{Extra, Fields, Writer},
        rule::{FieldRule, Owner},
        table::{Part, record, rule},
        value::FieldValue,
    },
};

#[derive(Debug, Clone, Default)]
pub struct PlanningStep {
    /// The planning itself: the action, and the tries.
    pub task: Task,
    /// The atom that the fragment is for, which waits for this step.
    pub convergence_target: Option<AtomId>,
    /// The grant of a step that a planner made, or the one that a person wrote. Without it the constraints apply.
    pub grant: Option<GrantEntry>,
    /// The limit of each fragment; when it is over, open parts are dropped.
    pub budget: Option<PhaseBudget>,
    /// How its planner is told results; what it leaves out is as in the constraints.
    pub context: Option<PlannerContext>,
    /// The fragment whose parts count like those of an `all`.
    in_force: Option<Fragment>,
    /// Fragments of other contexts, and failed ones.
    kept: Vec<Fragment>,
    /// The parts of all fragments.
    kids: Vec<AtomId>,
    /// Why the program placed it, if it did.
    pub placed: Placed,
}

record! {
    /// A planner's output for one context
    #[derive(Default, PartialEq)]
    pub struct Fragment {
        /// The context of the planning step, when it was planned
        required[program] context: Digest,
        filled[program] choices: BTreeMap<AtomId, AtomId>,
        /// Digest of what was proposed, before its ids were replaced
        required[program] digest: Digest,
        always[program] attempt: AttemptId,
        /// The fragment in force has those of the atom
        filled[program] parts: Vec<AtomId>,
        /// Attempts of its atoms that came to their end, where the step has a budget of them
        filled[program] attempts: u32,
        /// Active time of the run when its clock began, in milliseconds, where the step has a budget of time
        optional[program] since_ms: u64,
        /// Usage of its atoms, where the step has a budget of it
        filled[program] usage: Usage,
        /// Whether nothing of it starts before it was looked at
        filled[program] unjudged: bool,
        /// Who looked at it
        optional[program] judged: JudgedMark,
        /// Its results in short, for the planners that build on them
        optional[program] summary: AnswerRecord,
        optional[program] ended: PhaseEnd,
    }
}

/// The most that a fragment may use, fixed when its planning step was made. The measure counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Tasks, each counted in every context that it can see.
    pub atoms: u32,
    /// Ways in which a fragment can be resolved.
    pub alternatives: u32,
    /// Fragments in one context.
    pub rounds: u32,
}

record! {
    /// The most that a fragment may use; missing members are as in the constraints
    #[derive(PartialEq)]
    pub struct GrantEntry {
        /// Tasks, each counted in every context that it can see: 20 unless given
        optional atoms: u32,
        /// Ways in which a fragment can be resolved: 16 unless given
        optional alternatives: u32,
        /// Fragments in one context: one more than `planning.refinements` unless given
        optional rounds: u32,
    }
}

/// Ways in which a person's planning step may be resolved, unless it says so.
const ALTERNATIVES: u32 = 16;

impl Grant {
    pub fn of_person(constraints: &Constraints) -> Self {
        Self {
            atoms: FRAGMENT_ATOMS_MAX.min(constraints.planning.atoms()),
            alternatives: ALTERNATIVES,
            rounds: constraints.planning.refinements().saturating_add(1),
        }
    }

    /// The most attempts that one round of planning, and of work on its fragment, can take.
    pub fn round(&self, of_planner: u32, of_task: u32) -> BigUint {
        BigUint::from(of_planner) + BigUint::from(self.atoms) * BigUint::from(of_task)
    }
}

impl GrantEntry {
    /// An entry for a whole grant.
    pub fn of(grant: Grant) -> Self {
        Self {
            atoms: Some(grant.atoms),
            alternatives: Some(grant.alternatives),
            rounds: Some(grant.rounds),
            extra: Extra::default(),
        }
    }
}

impl Atom {
    /// Whether an agent may put phases in short for it: a person chose the mode. A planner's own choice costs no question.
    pub fn wants_phases_in_short(&self, constraints: &Constraints) -> bool {
        let is_summary = |context: PlannerContext| context.mode() == ContextMode::Summary;
        let is_persons = self.origin.is_none() || is_summary(constraints.planning.context());
        let plan = self.plan().filter(|_| is_persons);
        plan.is_some_and(|plan| is_summary(plan.context(constraints)))
    }
}

fn read_kept(fields: &mut Fields<'_, '_>) -> Vec<Fragment> {
    let mut kept = Vec::new();
    for (at, node) in fields.list("fragments") {
        let fragment = Fragment::read(node, &at, fields.found);
        if fragment.as_ref().is_some_and(|one| one.parts.is_empty()) {
            ends::no_kids(fields.found, node, &at, "parts");
        }
        kept.extend(fragment);
    }
    kept
}

impl PlanningStep {
    pub fn new(task: Task) -> Self {
        Self { task, ..Self::default() }
    }

    /// How its planner is told results.
    pub fn context(&self, constraints: &Constraints) -> PlannerContext {
        let general = constraints.planning.context();
        let own = self.context.as_ref();
        own.map_or_else(|| general.clone(), |own| own.or(&general))
    }

    pub fn in_force(&self) -> Option<&Fragment> {
        self.in_force.as_ref()
    }

    pub fn in_force_mut(&mut self) -> Option<&mut Fragment> {
        self.in_force.as_mut()
    }

    /// All fragments, the one in force first.
    pub fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.in_force.iter().chain(&self.kept)
    }

    /// The fragments of one context.
    pub fn made_in<'p>(&'p self, context: &'p Digest) -> impl Iterator<Item = &'p Fragment> {
        self.fragments().filter(move |fragment| fragment.context == *context)
    }

    pub(super) fn kids(&self) -> &[AtomId] {
        &self.kids
    }

    pub fn grant(&self, constraints: &Constraints) -> Grant {
        let Grant { atoms, alternatives, rounds } = Grant::of_person(constraints);
        let Some(entry) = &self.grant else {
            return Grant { atoms, alternatives, rounds };
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

    /// Restores the facts of fragments that `was` knows; their parts and unknown keys stay. Gives the changed ones, by
    /// their place in `fragments`, `None` for the one in force.
    pub fn keep_facts(&mut self, was: &Self) -> Vec<(Option<usize>, Node)> {
        let in_force = self.in_force.iter_mut().map(|one| (None, one));
        let kept = self.kept.iter_mut().enumerate();
        let all = in_force.chain(kept.map(|(index, one)| (Some(index), one)));
        let changed = all.filter_map(|(place, fragment)| {
            let known = was.fragments().find(|known| known.is_same_as(fragment))?;
            let edited = core::mem::replace(fragment, known.with_parts_of(fragment));
            (edited != *fragment).then(|| (place, edited.written(place.is_some())))
        });
        changed.collect()
    }

    /// The end of a fragment's budget, unless a person raised it since.
    pub fn end_of<'p>(&self, fragment: &'p Fragment) -> Option<&'p PhaseEnd> {
        let ended = fragment.ended.as_ref();
        ended.filter(|end| end.holds(self.budget.as_ref()))
    }

    /// Adds a new fragment, in force or for when its context is.
    pub fn add(&mut self, fragment: Fragment, is_in_force: bool) {
        if is_in_force {
            self.set_aside();
            self.in_force = Some(fragment);
        } else {
            self.kept.push(fragment);
        }
        self.count_kids();
    }

    /// Sets the fragment in force aside: the step is a leaf.
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

    /// Takes a part out of its fragment. False if it is the part that identifies the fragment.
    pub fn remove_part(&mut self, id: &AtomId) -> bool {
        if self.fragments().any(|one| one.first() == Some(id)) {
            return false;
        }
        let all = self.in_force.iter_mut().chain(&mut self.kept);
        all.for_each(|fragment| fragment.parts.retain(|part| part != id));
        self.count_kids();
        true
    }

    /// Renames atoms.
    pub(super) fn rename(&mut self, name: &impl Fn(&mut AtomId)) {
        self.convergence_target.iter_mut().for_each(name);
    }

    fn count_kids(&mut self) {
        let parts = self.fragments().flat_map(|one| one.parts.iter().cloned());
        self.kids = parts.collect();
    }

    /// In the file, the parts of the fragment in force are those of the atom.
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let mut plan = Self::new(Task::read(fields)?);
        plan.convergence_target = AtomId::take(fields, "convergence_target");
        plan.grant = fields.owned(Owner::Program, |fields| GrantEntry::take(fields, "grant"));
        plan.budget = PhaseBudget::take(fields, "budget");
        plan.context = PlannerContext::take(fields, "context");
        fields.owned(Owner::Internal, |fields| {
            plan.in_force = Fragment::take(fields, "fragment");
            plan.kept = read_kept(fields);
            plan.placed = Placed::take(fields, "placed").unwrap_or_default();
        });
        if fields.is_in_halves() && (plan.in_force.is_some() || fields.has("parts")) {
            let parts = ends::kids(fields, "parts");
            match &mut plan.in_force {
                Some(fragment) => fragment.parts = parts,
                None => {
                    let message = "a planning step with parts that nobody planned".into();
                    let hint = Some("remove `parts`, or `kind`, which makes it a group".into());
                    fields.fault_at("parts", "plan-key", message, hint);
                }
            }
        }
        plan.count_kids();
        refuse_outcome(fields, &plan.task);
        Some(plan)
    }

    /// Writes the parts of the fragment in force, where the file has them apart from it.
    pub(super) fn write_parts(&self, to: &mut Writer) {
        let in_force = self.in_force.as_ref().filter(|_| to.is_in_halves());
        to.some("parts", in_force.map(|fragment| fragment.parts.node()));
    }

    pub(super) fn write(&self, to: &mut Writer) {
        self.task.write(to);
        to.some("convergence_target", self.convergence_target.as_ref().map(FieldValue::node));
        to.some("grant", self.grant.as_ref().map(FieldValue::node))
            .some("budget", self.budget.as_ref().map(FieldValue::node))
            .some("context", self.context.as_ref().map(FieldValue::node));
        let (in_force, is_whole) = (self.in_force.as_ref(), !to.is_in_halves());
        to.owned(Owner::Internal, |to| {
            to.some("fragment", in_force.map(|one| one.written(is_whole)));
            if !self.kept.is_blank() {
                to.put("fragments", self.kept.node());
            }
            if self.placed.is_placed() {
                to.put("placed", self.placed.node());
            }
        });
    }

    /// The keys of a planning step, the fragments that it came to among them.
    pub(super) fn rules() -> Vec<FieldRule> {
        let mut rules = Task::rules();
        rules.retain(|rule| !OUTCOME_KEYS.contains(&rule.key) && rule.key != "idempotent");
        let target = "What is planned serves this atom, which waits for the step";
        rules.extend([
            rule::<AtomId>("convergence_target", target),
            rule::<GrantEntry>("grant", "").by_program(),
            rule::<PhaseBudget>("budget", ""),
            rule::<PlannerContext>("context", ""),
            rule::<Fragment>("fragment", "The one in force; its parts are those of the atom")
                .internal(),
            rule::<Vec<Fragment>>("fragments", "Fragments of other contexts, and failed ones")
                .internal(),
            rule::<Placed>("placed", "").internal(),
        ]);
        rules
    }
}

/// The keys of a task that a planning step has not: it makes nothing but atoms.
const OUTCOME_KEYS: [&str; 3] = ["checks", "effect", "output_schema"];

/// A planning step changes nothing, in the tree or outside, and the program judges its output.
fn refuse_outcome(fields: &mut Fields<'_, '_>, task: &Task) {
    let is_there = [
        task.spec.checks.is_some(),
        !task.spec.effect.is_in_tree(),
        task.spec.output_schema.is_some(),
    ];
    for (key, _) in OUTCOME_KEYS.into_iter().zip(is_there).filter(|(_, is_there)| *is_there) {
        let message = format!("a planning step has no `{key}`: it makes nothing but atoms");
        let hint = Some("put it on an atom of the fragment, or on one that waits for it".into());
        fields.fault_at(key, "plan-key", message, hint);
    }
}

impl Fragment {
    /// The part whose id identifies this fragment in recorded choices.
    pub fn first(&self) -> Option<&AtomId> {
        self.parts.first()
    }

    /// No atom is a part of two fragments.
    fn is_same_as(&self, other: &Self) -> bool {
        self.parts.iter().any(|part| other.parts.contains(part))
    }

    /// The facts of this one, with the parts and unknown keys of the other.
    fn with_parts_of(&self, other: &Self) -> Self {
        Self { parts: other.parts.clone(), extra: other.extra.clone(), ..self.clone() }
    }

    /// The parts of the one in force are written as those of its atom.
    fn written(&self, with_parts: bool) -> Node {
        let parts = if with_parts { self.parts.clone() } else { Vec::new() };
        Self { parts, ..self.clone() }.node()
    }
}

/// How often planning steps may still be planned again, changes of the plan that were tried among them.
pub fn replans_left(state: &State) -> u64 {
    let grant = state.run.grant.as_ref();
    if let Some(grant) = grant.filter(|grant| grant.is_in_force()) {
        return u64::from(grant.left);
    }
    let used = replans(state).saturating_add(grant.map_or(0, |grant| grant.tried.into()));
    let most = state.objective.constraints.planning.changes();
    u64::from(most).saturating_sub(used)
}

/// The number of times that all planning steps together were planned again.
pub fn replans(state: &State) -> u64 {
    let plans = state.atoms.values().filter_map(|atom| atom.plan());
    let tries = plans.flat_map(|plan| &plan.task.tries);
    tries.map(|tried| u64::from(tried.rounds)).sum()
}
