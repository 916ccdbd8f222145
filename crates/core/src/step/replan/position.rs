//! The places where a planning step may be put, in their order, and the atoms that each would change.

use crate::doc::prelude::*;
use crate::state::limits::FRAGMENT_ATOMS_MAX;
use crate::{
    fragment::delta::AcceptedDelta,
    graph::{Ix, NodeKind},
    id::AtomId,
    search::ranking::{self, Round},
    state::{
        Atom, Body, Extra, Grant, GrantEntry, PlanningStep, Spec, TryEnd, atom::Placed,
        fields::Writer, record::ReplanPlace,
    },
    step::transaction::Transaction,
};

/// Atoms of a placed step, the most first: the first that is admitted is granted.
const GRANTS: [u32; 2] = [8, 3];

/// A place for one more planning step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// One more choice of this group, the last.
    Choice(Ix),
    /// In the place of this task, under its id.
    Atom(Ix),
    /// One more round of this planning step, whose fragments failed.
    Round(Ix),
    /// A new root that waits for all others.
    Root,
}

/// The atoms that a change adds or replaces.
#[derive(Debug)]
pub(super) struct Proposal {
    /// The step that plans anew; a refiner's change has none.
    pub(super) step: Option<AtomId>,
    pub(super) place: ReplanPlace,
    pub(super) atoms: BTreeMap<AtomId, Atom>,
    /// Atoms that it takes out: a refiner's change alone has some.
    pub(super) removed: Vec<AtomId>,
}

impl Proposal {
    fn of(step: AtomId, place: ReplanPlace, atoms: BTreeMap<AtomId, Atom>) -> Self {
        Self { step: Some(step), place, atoms, removed: Vec::new() }
    }
}

/// All places, the best first. `failed` is empty where the base case is refuted.
pub(super) fn all(transaction: &Transaction, failed: &[Ix]) -> Vec<Place> {
    let graph = &transaction.graph;
    let is_open = |x: &Ix| {
        let is_group = graph.vertex(*x).kind == NodeKind::Any;
        // A fragment may be resolved in no more ways than its step was granted.
        is_group && graph.planned_by(*x).is_none()
    };
    if failed.is_empty() {
        let groups = graph.groups().filter(is_open).map(Place::Choice);
        return core::iter::once(Place::Root).chain(groups).collect();
    }
    let mut places = Vec::new();
    for x in failed.iter().copied() {
        let group = graph.above(x).find(is_open);
        places.extend(group.map(Place::Choice));
        places.push(Place::Atom(x));
        let around = core::iter::once(x).chain(graph.above(x));
        let plans = around.filter(|y| graph.vertex(*y).kind == NodeKind::Plan);
        places.extend(plans.map(Place::Round));
    }
    places
}

impl Place {
    /// The changes that it allows, the one with the largest grant first.
    pub(super) fn proposals(self, transaction: &Transaction, because: &str) -> Vec<Proposal> {
        if let Self::Round(x) = self {
            return once_more(transaction, x).into_iter().collect();
        }
        let all = grants(transaction).into_iter();
        all.filter_map(|atoms| self.step(transaction, because, atoms)).collect()
    }

    fn step(self, transaction: &Transaction, because: &str, atoms: u32) -> Option<Proposal> {
        let graph = &transaction.graph;
        let max_depth = transaction.state.objective.constraints.planning.depth() as usize;
        let has_depth = |above: usize| above < max_depth;
        match self {
            Self::Choice(group) => {
                let depth = graph.above(group).count() + 1;
                let id = graph.id(group);
                let mut atom = (**transaction.state.atoms.get(id)?).clone();
                let Body::Any { choices, .. } = &mut atom.body else {
                    return None;
                };
                let step = free_id(transaction, id.as_str())?;
                choices.push(step.clone());
                let title = format!("another way for {}", atom.title(id));
                let plan = placed(because, title, atoms, None);
                let atoms = BTreeMap::from([(step.clone(), plan), (id.clone(), atom)]);
                has_depth(depth).then_some(Proposal::of(step, ReplanPlace::Choice, atoms))
            }
            Self::Atom(x) => {
                let id = graph.id(x);
                let was = transaction.state.atoms.get(id)?;
                let plan = in_place_of(was, because, atoms)?;
                let atoms = BTreeMap::from([(id.clone(), plan)]);
                has_depth(graph.above(x).count())
                    .then(|| Proposal::of(id.clone(), ReplanPlace::Atom, atoms))
            }
            Self::Root => {
                let step = free_id(transaction, "plan")?;
                let goal = "what is missing to the base case".to_string();
                let mut plan = placed(because, goal, atoms, None);
                let roots = graph.roots().iter().map(|root| graph.id(*root).clone());
                plan.depends_on = roots.collect();
                let atoms = BTreeMap::from([(step.clone(), plan)]);
                has_depth(0).then_some(Proposal::of(step, ReplanPlace::Root, atoms))
            }
            Self::Round(_) => None,
        }
    }
}

/// The changes that a refiner's delta comes to: with planning steps in it one for each grant, the largest first.
pub(super) fn of_delta(transaction: &Transaction, delta: &AcceptedDelta) -> Vec<Proposal> {
    let is_step = |id: &&AtomId| delta.atoms.get(*id).is_some_and(|one| one.plan().is_some());
    let steps: Vec<&AtomId> = delta.added.iter().filter(is_step).collect();
    let with = |granted: Option<u32>| {
        let mut atoms = delta.atoms.clone();
        for id in &steps {
            let plan = atoms.get_mut(*id).and_then(Atom::plan_mut);
            if let (Some(plan), Some(granted)) = (plan, granted) {
                plan.grant = Some(one_round(granted));
            }
        }
        Proposal { step: None, place: ReplanPlace::Delta, atoms, removed: delta.removed.clone() }
    };
    if steps.is_empty() {
        Vec::from([with(None)])
    } else {
        grants(transaction).into_iter().map(Some).map(with).collect()
    }
}

/// The grant of a step that is planned once, in one way.
fn one_round(atoms: u32) -> GrantEntry {
    GrantEntry::of(Grant { atoms, alternatives: 1, rounds: 1 })
}

/// The atoms of a fragment, as far as planners may still add so many.
fn grants(transaction: &Transaction) -> Vec<u32> {
    let graph = &transaction.graph;
    let constraints = &transaction.state.objective.constraints;
    let planned = graph.planned(&transaction.state);
    let planned = u32::try_from(planned).unwrap_or(u32::MAX);
    let left = constraints.planning.atoms().saturating_sub(planned);
    let most = FRAGMENT_ATOMS_MAX.min(left);
    let smaller = GRANTS.into_iter().filter(|atoms| *atoms < most);
    let all = core::iter::once(most).chain(smaller);
    all.filter(|atoms| *atoms > 0).collect()
}

/// A planning step that the program places.
fn placed(because: &str, description: String, atoms: u32, was: Option<Arc<Atom>>) -> Atom {
    let mut plan = PlanningStep::default();
    plan.grant = Some(one_round(atoms));
    plan.placed = Placed {
        by: "planner".to_string(),
        reason: because.to_string(),
        was,
        extra: Extra::default(),
    };
    let mut origin = Writer::default();
    origin.text("by", "planner").text("reason", because);
    Atom {
        description,
        body: Body::Plan(Box::new(plan)),
        origin: Some(origin.finish(&Extra::default())),
        ..Atom::default()
    }
}

/// A step under the id of what failed, which keeps what a person said of it. `None` where no plan can stand for it: its
/// effect is outside, a value of a certain shape is waited for, or a planner was asked already.
fn in_place_of(was: &Arc<Atom>, because: &str, atoms: u32) -> Option<Atom> {
    let task = was.task()?;
    let has_shape = task.spec.output_schema.is_some();
    let was_planner = was.plan().is_some_and(|plan| {
        let has_plans = plan.fragments().next().is_some();
        has_plans || task.spec.action.is_none()
    });
    let keeps_checks = was.plan().is_none() && task.spec.checks.is_some();
    let is_outside = !task.spec.effect.is_in_tree();
    if is_outside || has_shape || was_planner || keeps_checks && atoms < 2 {
        return None;
    }
    let mut atom = placed(because, was.description.clone(), atoms, Some(Arc::clone(was)));
    if let (Some(own), Some(was)) = (atom.plan_mut(), was.plan()) {
        own.convergence_target.clone_from(&was.convergence_target);
        own.budget.clone_from(&was.budget);
        own.context.clone_from(&was.context);
    }
    let own = atom.task_mut()?;
    own.spec = Arc::new(Spec {
        guidance: task.spec.guidance.clone(),
        timeout: task.spec.timeout.clone(),
        ..(*own.spec).clone()
    });
    // A person agreed to it, whoever plans how.
    Some(Atom {
        depends_on: was.depends_on.clone(),
        accepts_partial: was.accepts_partial,
        origin: was.origin.clone(),
        extra: was.extra.clone(),
        ..atom
    })
}

/// One more round of a step whose fragments failed. A step that came to none is not put to its planner again.
fn once_more(transaction: &Transaction, x: Ix) -> Option<Proposal> {
    let (id, context) = (transaction.graph.id(x), transaction.active.context(x)?);
    let mut atom = (**transaction.state.atoms.get(id)?).clone();
    let constraints = &transaction.state.objective.constraints;
    let plan = atom.plan_mut()?;
    let Round::Made { .. } = ranking::round(&transaction.state, plan, context) else {
        return None;
    };
    let grant = plan.grant(constraints);
    plan.grant = Some(GrantEntry::of(Grant { rounds: grant.rounds.saturating_add(1), ..grant }));
    plan.set_aside();
    let tried = plan.task.tries.iter_mut().find(|tried| tried.context == *context)?;
    tried.rounds += 1;
    (tried.attempts, tried.transient) = (0, 0);
    tried.ended = tried.ended.take().filter(|end| !matches!(end, TryEnd::Failed(_)));
    plan.task.status = crate::state::AtomStatus::Pending;
    Some(Proposal::of(id.clone(), ReplanPlace::Round, BTreeMap::from([(id.clone(), atom)])))
}

/// `auth` gives `auth-3`, if that is the first that no atom has.
fn free_id(transaction: &Transaction, head: &str) -> Option<AtomId> {
    let room = AtomId::MAX_BYTES.saturating_sub(8);
    let head: String = head.chars().take(room).collect();
    let mut ids = (1_u32..).map(|n| AtomId::new(format!("{head}-{n}")));
    ids.find(|id| transaction.state.atom(id).is_none())
}
