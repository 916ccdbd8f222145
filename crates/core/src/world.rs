//! A state with its derived values, and a loop's knowledge beside it. Everything here only reads.
//!
//! Not here: changes of a state (`step`), the desired work (`desired`).

mod budget_left;
pub mod earlier;
pub mod long_phase;
pub mod results;
pub mod session;
pub(crate) mod speculation;

use crate::doc::prelude::*;
use core::ops::Deref;

pub(crate) use self::session::{
    AttemptProgress, GateWait, QuickFailure, SpeculativeTree, Unavailable,
};
use self::speculation::{LandingContext, Speculation};
pub use self::{
    budget_left::{BudgetLeft, budget_left},
    session::{AgentTable, Session},
};
use crate::{
    fragment::FragmentRequest,
    graph::{AtomVec, Ix},
    id::AtomId,
    measure::{Measure, RunBound, granted},
    profile,
    search::Facts,
    state::{Intent, PhaseLimit, ResultCommit, Role, State, Workspace},
};

/// A state with its derived values.
#[derive(Debug, Clone)]
pub struct World {
    pub facts: Facts,
    pub(crate) solved: Arc<AtomVec<bool>>,
    /// The selections tried beside the one in force.
    pub speculations: Arc<Vec<Speculation>>,
    pub(crate) measure: Measure,
    /// Whether the tree consists of exactly the results that stay.
    pub(crate) is_line_settled: bool,
    /// Whether results were brought into line with this selection and inputs were checked. A state from a file is
    /// checked anew.
    pub is_settled: bool,
    /// The open atoms of a settled world whose status may not match their tries, or that failed or rest in force. All others
    /// were checked and not touched since. So a step looks at few atoms, however many there are.
    pub(crate) dirty_tasks: Arc<BTreeSet<AtomId>>,
}

impl Deref for World {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl World {
    pub fn new(state: State) -> Self {
        let facts = Facts::of(state);
        let Facts { state, graph, active, .. } = &facts;
        let measure = Measure::of(&facts);
        let solved = results::solved(graph, active, state);
        let is_line_settled = results::is_line_settled(graph, &solved, state);
        let speculations = speculation::all(&facts, &solved);
        Self {
            facts,
            solved: Arc::new(solved),
            speculations: Arc::new(speculations),
            measure,
            is_line_settled,
            is_settled: false,
            dirty_tasks: Arc::default(),
        }
    }

    /// Whether each atom is resolved: a bound task whose dependencies are, an `all` of such, an `any` whose choice is.
    pub fn solved(&self) -> &AtomVec<bool> {
        &self.solved
    }

    /// The work that can still be tried.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// An upper bound of what can still happen.
    pub fn bound(&self) -> RunBound {
        RunBound::of(&self.facts, &self.measure)
    }

    /// The same when a loop starts that has these agents.
    pub fn bound_of_start(&self, agents: &AgentTable) -> RunBound {
        let mut facts = self.facts.clone();
        let state = &mut facts.state;
        let run = Arc::make_mut(&mut state.run);
        run.probes = agents.in_role(Role::Probe).is_some();
        run.questions = agents.questions(profile::judging(&self.state));
        let known = state.run.grant.as_ref();
        let is_in_force = known.is_some_and(|grant| grant.is_in_force());
        let grant = match agents.changes_plans(profile::judging(&self.state)) {
            true if is_in_force || state.objective.constraints.planning.changes() == 0 => {
                known.cloned()
            }
            true => Some(granted::anew(&self.graph, state)),
            false => None,
        };
        Arc::make_mut(&mut state.run).grant = grant;
        RunBound::of(&facts, &Measure::of(&facts))
    }

    pub(crate) fn landing_context<'a>(&'a self, session: &'a Session) -> LandingContext<'a> {
        LandingContext {
            facts: &self.facts,
            speculations: &self.speculations,
            is_line_settled: self.is_line_settled,
            session,
            serial: self.state.serial.0,
        }
    }

    /// The commits that the result should consist of.
    pub fn line_wanted(&self) -> Vec<ResultCommit> {
        if self.state.objective.constraints.workspace() == Workspace::Shared {
            return self.state.run.line.to_vec();
        }
        let commit = |x: Ix| self.state.bindings.get(self.graph.id(x))?.commit.clone();
        results::line_of(&self.graph, &self.solved, &self.state, commit)
    }

    /// The milliseconds of active time until the first phase's time budget ends, given the active time spent.
    pub(crate) fn phase_over_in_ms(&self, spent_ms: u64) -> Option<u64> {
        let left_ms = |plan: Ix| {
            self.active.phase(&self.graph, plan)?;
            let step = self.state.atoms.get(self.graph.id(plan))?.plan()?;
            let since_ms = step.in_force()?.since_ms?;
            let most_ms = step.budget.as_ref()?.of(PhaseLimit::Time)?;
            most_ms.checked_sub(spent_ms.saturating_sub(since_ms))
        };
        self.graph.plans().filter_map(left_ms).min()
    }

    /// The live atoms: those that are resolved, and those that are not.
    pub fn split(&self) -> (Vec<AtomId>, Vec<AtomId>) {
        let solved = self.solved();
        let live = self.graph.atoms().filter(|x| self.active.is_live(*x));
        let (done, open): (Vec<Ix>, Vec<Ix>) = live.partition(|x| solved[*x]);
        let names = |list: Vec<Ix>| list.into_iter().map(|x| self.graph.id(x).clone()).collect();
        (names(done), names(open))
    }
}

/// The request that the plan of this attempt answers.
pub fn fragment_request<'a>(facts: &'a Facts, intent: &'a Intent) -> FragmentRequest<'a> {
    FragmentRequest {
        state: &facts.state,
        graph: &facts.graph,
        active: &facts.active,
        plan: &intent.atom,
        context: &intent.context,
        choices: &intent.choices,
        attempt: &intent.id,
    }
}

/// The number of attempts that may run side by side.
pub fn slots(state: &State, session: &Session) -> usize {
    session.slots.min(state.objective.constraints.parallel_agents()).max(1) as usize
}
