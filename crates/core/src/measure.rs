//! The measure: what can still be tried, as the pair (attempts, verdicts), compared in this order.
//!
//! *attempts* is the sum of the attempts left over all tasks and the open contexts that each can see. A task's contexts
//! are the choices that can be in force upstream; independent groups add up, they don't multiply. *verdicts* counts the
//! whole selections that the base case has not refuted.
//!
//! A planning step stands for atoms that nobody knows yet. Its grant says how many atoms, in how many contexts, with
//! how many alternatives, in how many rounds. In each of its contexts, every round without a fragment counts the
//! attempts to plan and those that the granted atoms can take. A step that other work waits for counts as many
//! configurations as it was granted alternatives in all its rounds. A fragment is taken in only if it takes no more
//! than was granted. That covers its tasks, in the contexts that they see inside it, and the grants of steps inside it.
//! Nor may it be resolvable in more ways. A fragment belongs to one context of its step, so it adds nothing outside.
//! Fragments stay in the state, failed ones too, so that what was used up in them stays counted.
//!
//! **Why the loop halts.** Both are whole numbers. The contexts of a known task, and the number of whole selections,
//! depend on the graph and on the grants. Only a correction changes these:
//! - an attempt that ends takes one from its context, or closes it (solved, parked, failed): *attempts* falls. The one
//!   more that an action has where trees begin with build state is counted from the start, used or not;
//! - a planning step that succeeds takes its whole round from *attempts*: at least one attempt of its own and the grant
//!   of the round. Its fragment adds no more than that grant: *attempts* falls;
//! - to plan again adds no round, only ends the wait for one: the rounds of a context were counted from the start;
//! - a closed context is never opened by the loop: a backtrack parks and revives, and an atom opened for a repair has
//!   all its attempts used;
//! - a refuted selection takes one from *verdicts*, and conflicts keep it from being selected again;
//! - a correcting turn gives an attempt back to its agent; each has `corrections` of them at most, and counts once;
//! - everything else (starting, interrupting, acknowledging) touches neither.
//!
//! So the measure never rises, falls at each end of an attempt and each refuted base case, and is bounded below by (0,
//! 0). Transient retries, interruptions and repairs leave it as it is: each has a cap of its own.
//!
//! **Changes of the plan** ([`granted`]) are granted their attempts and verdicts before they are made. With R changes
//! left, both components have R grants more, and what earlier changes left over. A change is taken only if what the
//! changed plan opens stays within one grant and what is over; the rest of it is over then. So each change that is
//! tried, taken or not, lowers the measure by one attempt.
//!
//! **How often anything is started** ([`RunBound::starts`]) follows from it:
//! - Each attempt that is left is started once, and once more for each of its transient retries.
//! - A repair is started likewise, so often in each context.
//! - Live work is repaired once more whenever the choices change; each change is paid for by a failed context, a refuted
//!   selection or a rest (`granted`).
//! - A crash cuts off an atom only so often.
//! - A start after a wait for a provider is not counted: the waits of an agent have a cap, until its provider
//!   answers.
//! - All else that is cut off at no cost is cut off by a context that closes, a selection that is refuted, or a rest. Each
//!   change of the choices cuts off at most all that goes on side by side.

pub mod granted;

use core::ops::Add;

use num_bigint::BigUint;

use crate::{
    graph::{Graph, Ix},
    id::AtomId,
    profile,
    search::Facts,
    state::{
        Check, ContextMode, Extra, Moment, PlanningStep, Question, State, Task, Try,
        limits::{INTERRUPTIONS_MAX, REPAIRS_MAX},
        run,
    },
    wording::{self, KeptBudget},
};

/// An answer, and two repairs of it.
const TURNS_OF_AN_ANSWER: u64 = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure {
    pub attempts: BigUint,
    pub verdicts: BigUint,
}

impl Measure {
    pub fn of(seen: &Facts) -> Self {
        Self::open(seen) + granted::of(&seen.state)
    }

    /// The measure of the plan as it is, without what is granted to changes of it.
    pub fn open(seen: &Facts) -> Self {
        let attempts = seen.graph.tasks().map(|x| attempts_left(seen, x)).sum();
        Self { attempts, verdicts: verdicts_left(seen) }
    }

    /// The measure of `after`, which differs from `before` only in these atoms; `self` is the
    /// measure of `before`.
    pub fn moved<'i>(
        &self,
        before: &Facts,
        after: &Facts,
        touched: impl Iterator<Item = &'i AtomId>,
    ) -> Self {
        let (before_granted, granted) = (granted::of(&before.state), granted::of(&after.state));
        let (mut gone, mut come) = (before_granted.attempts, granted.attempts);
        for x in touched.filter_map(|id| after.graph.ix(id)) {
            gone += attempts_left(before, x);
            come += attempts_left(after, x);
        }
        Self {
            attempts: &self.attempts + come - gone,
            verdicts: verdicts_left(after) + granted.verdicts,
        }
    }

    pub fn record(&self) -> run::MeasureText {
        run::MeasureText {
            attempts: Some(granted::text(&self.attempts)),
            verdicts: Some(granted::text(&self.verdicts)),
            extra: Extra::default(),
        }
    }
}

impl Add for Measure {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { attempts: self.attempts + more.attempts, verdicts: self.verdicts + more.verdicts }
    }
}

/// The upper bound of what can still happen, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBound {
    /// Without those of changes of the plan.
    pub attempts: BigUint,
    pub verdicts: BigUint,
    /// The part that changes of the plan may add.
    pub changes: Option<ChangesBound>,
    /// Starts of attempts, with every transient retry, repair and interruption.
    pub starts: BigUint,
    /// Questions to judges, with every repair of an answer; none where nothing is rated.
    pub consults: Option<BigUint>,
    /// The parts of the limits that are kept for the wording of the final answer.
    pub kept: KeptBudget,
}

/// The most that planners may add to a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesBound {
    /// Changes that may still be tried.
    pub left: u32,
    /// Attempts that each of them may open.
    pub attempts_each: BigUint,
}

impl RunBound {
    /// From the present state to the end of the run. A person's changes and a new run count anew.
    pub fn of(seen: &Facts, measure: &Measure) -> Self {
        let constraints = &seen.state.objective.constraints;
        let each = BigUint::from(constraints.max_transient()) + 1_u32;
        let (mut repairs, mut interruptions) = (BigUint::ZERO, BigUint::ZERO);
        for x in seen.graph.tasks() {
            let granted = granted_left(seen, x);
            repairs += repairs_left(seen, x) + &granted * REPAIRS_MAX;
            interruptions += granted * INTERRUPTIONS_MAX;
            let used = seen.task(x).map_or(INTERRUPTIONS_MAX, |task| task.interruptions);
            interruptions += INTERRUPTIONS_MAX.saturating_sub(used);
        }
        let granted = granted::of(&seen.state);
        let may_come = granted::tasks_left(&seen.graph, &seen.state);
        repairs += &granted.attempts * REPAIRS_MAX;
        interruptions += BigUint::from(may_come) * INTERRUPTIONS_MAX;
        let turns = granted::turns_left(seen, measure);
        let closings = &measure.attempts + &measure.verdicts + &repairs + turns;
        repairs += turns_left(seen, measure) * live_at_once(seen);
        let other_slots = BigUint::from(constraints.parallel_agents()) - 1_u32;
        let starts = (&measure.attempts + repairs) * each + interruptions + closings * other_slots;
        let iterations = constraints.budget.iterations;
        let left = iterations.map(|most| most.saturating_sub(seen.state.run.iteration));
        let at_most = |count: &BigUint| match left.map(BigUint::from) {
            Some(left) if left < *count => left,
            _ => count.clone(),
        };
        let changes = granted::bound(&seen.state);
        let known = granted::without_changes(&seen.state, measure);
        Self {
            attempts: at_most(&known.attempts),
            verdicts: at_most(&known.verdicts),
            changes: changes.map(|changes| ChangesBound {
                attempts_each: at_most(&changes.attempts_each),
                ..changes
            }),
            starts,
            consults: consults_left(seen, measure),
            kept: KeptBudget::of(&seen.state),
        }
    }
}

/// A quality leaf of the base case is rated once on each tree that is judged. A tree comes from an attempt that lands, or from a change of
/// the choices; two more are those of the start and of the delivery. One of a task is rated once on each work of an attempt. A judge that gives no score is asked again, and each
/// answer may be mended so often. Each plan of a planner is a question too, where an agent judges it, and another where
/// one puts its results in short.
fn consults_left(seen: &Facts, measure: &Measure) -> Option<BigUint> {
    let constraints = &seen.state.objective.constraints;
    let samples = |check: &Check| check.qualities().map(|leaf| u64::from(leaf.samples())).sum();
    let rated: u64 = seen.state.objective.base_case.as_ref().map_or(0, samples);
    let turns = turns_left(seen, measure);
    let works = |x: Ix| {
        let samples = seen.task(x)?.spec.checks.as_ref().map(samples)?;
        let made = attempts_left(seen, x) + repairs_left(seen, x) + &turns;
        Some(made * (u64::from(constraints.corrections()) + 1) * samples)
    };
    let works: BigUint = seen.graph.tasks().filter_map(works).sum();
    let each = u64::from(constraints.max_transient()) + 1;
    // A plan has an atom at least.
    let may_plan = seen.graph.plans().next().is_some() || seen.state.run.grant.is_some();
    let of_plans =
        |asks: bool| u64::from(may_plan && asks) * u64::from(constraints.planning.atoms());
    let plans = of_plans(profile::judging(&seen.state).asks());
    let phases = of_plans(may_put_in_short(&seen.state));
    let trees = &measure.attempts + &measure.verdicts + &turns + 2_u32;
    // Before each change of the plan all is asked that there is an agent for.
    let (run, judging) = (&seen.state.run, profile::judging(&seen.state));
    let asked = Question::at(Moment::DeadEnd).filter(|question| {
        run.asks(*question)
            && judging >= question.row().level
            && (*question != Question::Profile || run.profile.is_some())
    });
    let changes = asked.count() as u64 * u64::from(granted::changes_left(&seen.state));
    let questions = trees * rated + works + plans + phases + changes;
    // The one for the final answer is asked once.
    let answer = u64::from(wording::is_wanted(&seen.state));
    let all = (questions * each + answer) * TURNS_OF_AN_ANSWER;
    (all > BigUint::ZERO).then_some(all)
}

/// Whether an agent may put the results of phases in short: one has the role, and a person chose the mode.
fn may_put_in_short(state: &State) -> bool {
    let constraints = &state.objective.constraints;
    let is_chosen = constraints.planning.context().mode() == ContextMode::Summary;
    let mut atoms = state.atoms.values();
    state.run.asks(Question::Summarise)
        && (is_chosen || atoms.any(|atom| atom.wants_phases_in_short(constraints)))
}

/// The sum over all contexts that a task can see; a context that failed for good gets no repairs.
fn repairs_left(seen: &Facts, x: Ix) -> BigUint {
    let Some(task) = seen.task(x) else { return BigUint::ZERO };
    let most = REPAIRS_MAX;
    let is_valid = |tried: &&Try| seen.valid_contexts.contains(&(x, tried.context.clone()));
    let gone = task.tries.iter().filter(is_valid).map(|tried| {
        if tried.has_failed() { u64::from(most) } else { u64::from(tried.repairs.min(most)) }
    });
    let all = &seen.graph.vertex(x).contexts * BigUint::from(most);
    let gone = BigUint::from(gone.sum::<u64>());
    if gone < all { all - gone } else { BigUint::ZERO }
}

/// Whether there is anything to choose, or may be once.
fn may_turn(seen: &Facts) -> bool {
    let graph = &seen.graph;
    graph.groups().next().is_some()
        || graph.plans().next().is_some()
        || granted::changes_left(&seen.state) > 0
}

/// How often the choices in force can change: once for each failure that names some, and for each
/// failed base case; and for each rest.
fn turns_left(seen: &Facts, measure: &Measure) -> BigUint {
    let graph = &seen.graph;
    let depends = |x: Ix| {
        let chooses = |y: Ix| graph.vertex(y).has_ways();
        graph.vertex(x).is_branching || chooses(x) || graph.above(x).any(chooses)
    };
    let groups = graph.groups().count();
    let granted = granted::of(&seen.state);
    let changes = granted::changes_left(&seen.state);
    if !may_turn(seen) {
        return BigUint::ZERO;
    }
    let contexts = graph.tasks().filter(|x| depends(*x));
    let contexts = contexts.map(|x| &graph.vertex(x).contexts + granted_left(seen, x));
    let turns = granted::turns_left(seen, measure);
    contexts.sum::<BigUint>() + groups + &measure.verdicts + granted.attempts + changes + turns
}

/// Maximum of tasks that are live at the same time.
fn live_at_once(seen: &Facts) -> BigUint {
    let constraints = &seen.state.objective.constraints;
    let of = |x: Ix| seen.plan(x).map_or(1, |plan| u64::from(plan.grant(constraints).atoms) + 1);
    let may_come = granted::tasks_left(&seen.graph, &seen.state);
    BigUint::from(seen.graph.tasks().map(of).sum::<u64>() + may_come)
}

/// The tasks that a planning step may still add, each in every context that it can see.
fn granted_left(seen: &Facts, x: Ix) -> BigUint {
    let Some(plan) = seen.plan(x) else { return BigUint::ZERO };
    let grant = plan.grant(&seen.state.objective.constraints);
    let rounds = &seen.graph.vertex(x).contexts * grant.rounds;
    let made = BigUint::from(plan.fragments().count());
    let left = if made < rounds { rounds - made } else { BigUint::ZERO };
    left * grant.atoms
}

/// Maximum of attempts of one task in one context; for a planning step, in one round there.
pub fn attempts_max(state: &State, task: &Task) -> u32 {
    let most = state.objective.constraints.max_attempts(task.spec.action.is_some());
    most + u32::from(has_cold_try(state, task))
}

/// Whether the last attempt of a task in a context only confirms a failure on build state of an earlier tree. An action
/// that reaches outside of its tree is never made for that.
pub fn has_cold_try(state: &State, task: &Task) -> bool {
    state.run.cold_tries && task.spec.action.is_some() && task.spec.effect.is_in_tree()
}

/// Whether an attempt needs a tree without build state: its failure would decide.
pub fn decides_alone(state: &State, task: &Task, n: u32) -> bool {
    let is_action = task.spec.action.is_some();
    is_action && (!task.spec.effect.is_in_tree() || n >= attempts_max(state, task))
}

/// Maximum of attempts of any task in one context, with its probe.
fn attempts_of_any(state: &State) -> u32 {
    let (run, constraints) = (&state.run, &state.objective.constraints);
    constraints.max_attempts_of_any() + u32::from(run.cold_tries) + u32::from(run.probes)
}

/// For a planning step, the rounds without a fragment: each with its own attempts and those of what
/// it was granted. A fragment counts by its own atoms.
fn plan_left(seen: &Facts, x: Ix, plan: &PlanningStep) -> BigUint {
    let Facts { graph, state, valid_contexts, .. } = seen;
    let constraints = &state.objective.constraints;
    if state.bindings.contains_key(graph.id(x)) {
        return BigUint::ZERO;
    }
    let most = attempts_max(state, &plan.task);
    let grant = plan.grant(constraints);
    let round = grant.round(most, attempts_of_any(state));
    let all = &graph.vertex(x).contexts * &round * grant.rounds;
    let tries = plan.task.tries.iter();
    let used: BigUint = tries
        .filter(|tried| valid_contexts.contains(&(x, tried.context.clone())))
        .map(|tried| {
            let made = plan.made_in(&tried.context).count();
            let is_open = made <= tried.rounds as usize;
            match is_open && tried.has_failed() {
                true => &round * grant.rounds,
                false if is_open => &round * made + tried.attempts.min(most),
                false => &round * made,
            }
        })
        .sum();
    if used < all { all - used } else { BigUint::ZERO }
}

fn verdicts_left(seen: &Facts) -> BigUint {
    let (refuted, selections) = (BigUint::from(seen.refuted.len()), seen.graph.selections());
    if refuted < *selections { selections - refuted } else { BigUint::ZERO }
}

/// Probes of a task in one context: one where it is unknown, or a choice of an unknown group.
fn probes_max(graph: &Graph, state: &State, x: Ix) -> u32 {
    let of_group = graph.vertex(x).parent.is_some_and(|group| graph.vertex(group).is_unknown);
    u32::from(state.run.probes && (graph.vertex(x).is_unknown || of_group))
}

fn attempts_left(seen: &Facts, x: Ix) -> BigUint {
    let Facts { graph, state, valid_contexts, .. } = seen;
    if let Some(plan) = seen.plan(x) {
        return plan_left(seen, x, plan);
    }
    let Some(task) = seen.task(x) else { return BigUint::ZERO };
    let binding = state.bindings.get(graph.id(x));
    if binding.is_some_and(|binding| binding.is_by_person()) {
        return BigUint::ZERO;
    }
    let most = attempts_max(state, task);
    let probes = probes_max(graph, state, x);
    let bound_in = binding.and_then(|binding| binding.context.as_ref());
    let used: u64 = task
        .tries
        .iter()
        .filter(|tried| valid_contexts.contains(&(x, tried.context.clone())))
        .map(|tried| {
            let is_closed = tried.ended.is_some() || bound_in == Some(&tried.context);
            let has_probe = is_closed || tried.probe.is_some() || tried.attempts > 0;
            let probes = if has_probe { probes } else { 0 };
            u64::from(probes + if is_closed { most } else { tried.attempts.min(most) })
        })
        .sum();
    let all = &graph.vertex(x).contexts * BigUint::from(most + probes);
    let used = BigUint::from(used);
    if used < all { all - used } else { BigUint::ZERO }
}

#[cfg(test)]
mod tests;
