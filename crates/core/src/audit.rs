//! The auditor (contract §9.36): patterns of a run that a person should know of.
//!
//! Invariant: it only reads the state, and nothing that decides may read it: no room below names it. Not here: who is
//! accountable for an ending (`step/account`).

use crate::doc::prelude::*;
use serde::Serialize;

use crate::{
    id::{AgentName, AtomId},
    law,
    law::approach,
    memory,
    state::{
        Atom, FailureClass, JudgingRecord, Role, RunStatus, State,
        law::{CurvePoint, Directive, DirectiveOutcome, LawRecord, LawWeights},
        run::ACTION,
        table::words,
    },
    world::World,
};

/// Atoms that are named at most.
const NAMED_MAX: usize = 5;
/// So many atoms that fail alike have one cause.
const SYSTEMIC_MIN: usize = 3;
/// So many proposals that reach for what is not theirs are told.
const OVERSTEPS_MIN: u32 = 3;

words! {
    /// The kinds of findings
    pub enum AuditCode {
        /// Planners were told to break with all that was tried, and the result came no nearer
        Thrashing = "thrashing",
        /// Several passes brought the result no nearer
        NoProgress = "no_progress",
        /// Passes were taken for converged though the base case did not hold
        ConvergenceFailure = "convergence_failure",
        /// Proposals reached for what is not their role's to propose
        Boundary = "boundary",
        /// A tool or a worker is hindered in half of its uses
        ToolHealth = "tool_health",
        /// More is used up than the result came nearer
        BudgetDrift = "budget_drift",
        /// Several atoms fail alike
        Systemic = "systemic",
        /// A directive is seldom followed by progress
        LawIdle = "law_idle",
        /// A lesson of an earlier run spoke against what succeeded
        MemoryConflict = "memory_conflict",
    }
}

/// A pattern of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditFinding {
    pub code: AuditCode,
    /// How many cases of it there are.
    pub count: u64,
    pub what: String,
    /// The next step of a person.
    pub hint: &'static str,
}

/// The findings of a run, in the order of their kinds.
pub fn audit(world: &World) -> Vec<AuditFinding> {
    let mut findings = curve_findings(&world.state);
    findings.extend(assessed(world));
    findings.extend(overstepped(world));
    findings.extend(tools_findings(world));
    findings.extend(systemic(world));
    findings.extend(misremembered(world));
    findings.sort_by_key(|one| one.code as usize);
    findings
}

fn judging(world: &World) -> Option<&JudgingRecord> {
    world.state.run.judging.as_ref()
}

fn assessed(world: &World) -> Option<AuditFinding> {
    let judging = judging(world).filter(|judging| judging.assessor_errs())?;
    let count = judging.mistaken;
    Some(AuditFinding {
        code: AuditCode::ConvergenceFailure,
        count: count.into(),
        what: format!("{count} passes were taken for converged, and the base case did not hold"),
        hint: "another agent for judge.pass, or other criteria: --set convergence=…",
    })
}

fn overstepped(world: &World) -> Option<AuditFinding> {
    let count = judging(world)?.overstepped;
    (count >= OVERSTEPS_MIN).then(|| AuditFinding {
        code: AuditCode::Boundary,
        count: count.into(),
        what: format!("{count} proposals were refused: for keys or atoms of others, or for what is blocked"),
        hint: "descent log shows them; another agent in that role, or descent redirect --unblock TEXT",
    })
}

fn systemic(world: &World) -> impl Iterator<Item = AuditFinding> {
    let patterns = world.state.run.patterns.iter();
    let shared = patterns.filter(|one| one.atoms.len() >= SYSTEMIC_MIN);
    shared.map(|one| {
        let named: Vec<&str> = one.atoms.iter().take(NAMED_MAX).map(AtomId::as_str).collect();
        let more = match one.atoms.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        AuditFinding {
            code: AuditCode::Systemic,
            count: one.atoms.len() as u64,
            what: format!("{}{more} fail alike: {}", named.join(", "), one.reason),
            hint: "look for one cause in the environment, or in what they share",
        }
    })
}

fn misremembered(world: &World) -> impl Iterator<Item = AuditFinding> {
    memory::refuted(&world.state, &world.graph).map(|one| AuditFinding {
        code: AuditCode::MemoryConflict,
        count: 1,
        what: format!("{} spoke against what is solved: {}", one.id, one.lesson),
        hint: "descent memory forget ID",
    })
}

// Findings about tools and workers: how often their uses were hindered.

/// The newest uses that are looked at, and how many it takes.
const USES_MAX: usize = 8;
const USES_MIN: usize = 4;

/// The uses of each tool by their time: whether they were hindered.
type Uses = BTreeMap<String, Vec<(String, bool)>>;

fn tools_findings(world: &World) -> Vec<AuditFinding> {
    let mut uses = Uses::new();
    let mut used = |tool: Option<String>, at: &str, hindered: bool| {
        if let Some(tool) = tool {
            let known = uses.entry(tool).or_default();
            known.push((at.to_string(), hindered));
        }
    };
    let state = &world.state;
    for (entry, failed) in state.failures() {
        let tool = tool(world, &failed.atom, failed.agent.as_ref());
        let is_hindered = failed.class == FailureClass::Environmental;
        used(tool, &entry.at, is_hindered);
    }
    for (id, binding) in state.bindings.iter() {
        // A person's result used nothing.
        if binding.context.is_some() {
            used(tool(world, id, only_worker(world)), &binding.at, false);
        }
    }
    let found = uses.into_iter();
    let found = found.filter_map(|(tool, uses)| unhealthy(&tool, uses));
    found.collect()
}

/// The program of an atom's action, else its agent.
fn tool(world: &World, id: &AtomId, agent: Option<&AgentName>) -> Option<String> {
    let atom = world.state.atom(id)?;
    let own = atom.task().and_then(|task| task.spec.agent.as_ref());
    of_action(atom).or_else(|| own.or(agent).map(ToString::to_string))
}

/// The agent that does tasks without one of their own, where the run had one alone.
fn only_worker(world: &World) -> Option<&AgentName> {
    let rows = world.state.run.spent_by_agent.iter();
    let mut workers =
        rows.filter(|row| row.duty.role == Role::Worker && row.agent.as_str() != ACTION);
    let worker = workers.next()?;
    workers.next().is_none().then_some(&worker.agent)
}

fn of_action(atom: &Atom) -> Option<String> {
    atom.task()?.spec.action.as_ref()?;
    let first = approach::of_atom(atom).into_iter().next();
    first.map(|first| first.tool)
}

fn unhealthy(tool: &str, mut uses: Vec<(String, bool)>) -> Option<AuditFinding> {
    // Times in records compare as their texts do.
    uses.sort_by(|a, b| a.0.cmp(&b.0));
    let old = uses.len().saturating_sub(USES_MAX);
    let newest = uses.get(old..).unwrap_or_default();
    let hindered = newest.iter().filter(|(_, hindered)| *hindered).count();
    let is_unhealthy = newest.len() >= USES_MIN && hindered * 2 >= newest.len();
    is_unhealthy.then(|| AuditFinding {
        code: AuditCode::ToolHealth,
        count: hindered as u64,
        what: format!("{tool} was hindered in {hindered} of its newest {} uses", newest.len()),
        hint: "descent why shows what hindered it; descent doctor looks at the surroundings",
    })
}

// Findings about the curve of the control law: it moves without coming nearer, or costs more than
// it brings.

/// Directives to break with everything, since the result came nearer.
const BREAKS_MIN: u64 = 2;
/// Passes without a result that is nearer.
const IDLE_PASSES_MIN: u64 = 3;
/// A directive that was given so often is judged by what followed.
const GIVEN_MIN: u64 = 4;
/// It helps where progress followed more often than once in so many times.
const FOLLOWED_ONE_IN: u64 = 4;
/// The used share from which on it is compared with what is reached, and the difference that is told, in thousandths.
const USED_MIN: u32 = 500;
const DRIFT_MIN: i64 = 300;

fn curve_findings(state: &State) -> Vec<AuditFinding> {
    let Some(law) = state.run.law.as_ref() else {
        return Vec::new();
    };
    let idle = law.outcomes.iter().filter_map(idle);
    // A run that reached its goal came nearer, whatever its curve was before.
    let is_over = state.run.status == RunStatus::Completed;
    let least = i64::from(LawWeights::OF_PROGRAM.epsilon.0);
    let since = (!is_over).then(|| since_progress(&law.curve, least));
    let since = since.unwrap_or_default();
    // The directive at an end was given to nobody.
    let given = if state.run.status.is_active() {
        since
    } else {
        since.split_last().map_or(since, |(_, given)| given)
    };
    let moving = [thrashing(given), no_progress(since)].into_iter().flatten();
    let drift = budget_drift(law).filter(|_| !is_over);
    moving.chain(drift).chain(idle).collect()
}

/// The points from the last one on that was nearer than all before by `least`.
fn since_progress(curve: &[CurvePoint], least: i64) -> &[CurvePoint] {
    let mut from = 0;
    for (place, point) in curve.iter().enumerate() {
        let nearest = curve.get(from).map_or(point.loss.d.0, |nearest| nearest.loss.d.0);
        let fell = i64::from(nearest) - i64::from(point.loss.d.0);
        if fell > 0 && fell >= least {
            from = place;
        }
    }
    curve.get(from..).unwrap_or_default()
}

fn thrashing(since: &[CurvePoint]) -> Option<AuditFinding> {
    let breaks = since.iter().filter(|one| one.directive == Directive::BreakSymmetry);
    let count = breaks.count() as u64;
    (count >= BREAKS_MIN).then(|| AuditFinding {
        code: AuditCode::Thrashing,
        count,
        what: format!("break_symmetry was given {count} times, and the result came no nearer"),
        hint: "guide the planner, give it other tools, or split the base case: descent redirect",
    })
}

fn no_progress(since: &[CurvePoint]) -> Option<AuditFinding> {
    let first = since.first()?;
    let mut passes: Vec<u64> = since.iter().map(|one| one.pass).collect();
    passes.dedup();
    let count = (passes.len() as u64).saturating_sub(1);
    (count >= IDLE_PASSES_MIN).then(|| AuditFinding {
        code: AuditCode::NoProgress,
        count,
        what: format!("{count} passes brought the result no nearer than {}", first.loss.d.text()),
        hint: "descent why, then descent redirect or descent guide",
    })
}

fn budget_drift(law: &LawRecord) -> Option<AuditFinding> {
    let point = law.point.as_ref()?;
    // The nearest tree is the one that is delivered.
    let nearest = law.best.as_ref().map_or(point.loss.d, |best| best.d.min(point.loss.d));
    let reached = i64::from(law::ONE) - i64::from(nearest.0);
    let drift = i64::from(point.loss.omega.0) - reached;
    (point.loss.omega.0 >= USED_MIN && drift > DRIFT_MIN).then(|| AuditFinding {
        code: AuditCode::BudgetDrift,
        count: 1,
        what: format!(
            "{} of changes and budgets is used up, and the nearest result lacks {} of the base case",
            point.loss.omega.text(),
            nearest.text()
        ),
        hint: "raise the budget that is used up most, or ask for less: descent redirect",
    })
}

fn idle(one: &DirectiveOutcome) -> Option<AuditFinding> {
    let is_idle =
        one.given >= GIVEN_MIN && one.followed.saturating_mul(FOLLOWED_ONE_IN) <= one.given;
    is_idle.then(|| AuditFinding {
        code: AuditCode::LawIdle,
        count: one.given,
        what: format!(
            "{} was given {} times, and progress followed {}",
            one.directive.word(),
            one.given,
            match one.followed {
                0 => "never".to_string(),
                1 => "once".to_string(),
                followed => format!("{followed} times"),
            }
        ),
        hint: "the control law does not help here: --set law=show",
    })
}
