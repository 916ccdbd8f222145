//! The one way in which a state changes: `step` takes an observation and gives the next state, what of it was
//! touched, and what is to be said. Same state, session, event and time: the same bytes.
//!
//! One arm a line here; what an arm does lives in a file of its own under `step/`. Not here: what should be going on
//! (`owed`), which only reads.

mod advance;
mod attempt_end;
mod backtrack;
mod candidate;
pub mod correct;
mod delivery;
mod dispatch;
pub mod judgement;
mod landing;
mod lost_commits;
pub(crate) mod phase;
mod planning;
mod reconcile;
pub mod remedies;
pub mod run_end;
mod run_start;
mod speculation;
#[cfg(test)]
mod tests;
pub mod trail;
mod transaction;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};

use crate::{
    event::{Event, Input, Merge, Observation, Outcome},
    graph::{
        Graph, Ix,
        active::{self, ActiveGraph},
    },
    id::{AtomId, AttemptId, CommitId, Digest, TreeId},
    measure::{Measure, MeasureInput, RunBound},
    search::{self, ValidContexts},
    state::{ResultCommit, State, VerdictRecord, Workspace, encode::ChangeSet, record::Choices},
    verdict::{Basis, EvidenceCache},
};

/// A state with what is derived from it.
#[derive(Debug, Clone)]
pub struct World {
    pub state: State,
    pub graph: Arc<Graph>,
    pub standing: Arc<ActiveGraph>,
    pub valid_contexts: Arc<ValidContexts>,
    /// Whole selections that the base case refuted.
    refuted: Arc<Vec<Choices>>,
    solved: Arc<Vec<bool>>,
    /// What is tried beside the selection in force.
    speculations: Arc<Vec<speculation::Speculation>>,
    measure: Measure,
    is_line_settled: bool,
    /// Results were brought into line with this selection, and inputs looked at; a state from a file is looked at anew.
    is_settled: bool,
    /// Of a settled world, the open atoms that may not stand as their tries tell, or have failed in force; all others
    /// were looked at and not touched since. So a step looks at few atoms, however many there are.
    dirty_tasks: Arc<BTreeSet<AtomId>>,
}

impl World {
    pub fn new(state: State) -> Self {
        let graph = Graph::of(&state);
        let standing = ActiveGraph::of(&graph, active::selection_of(&graph, &state));
        let fits = search::fits(&graph, &standing, &state);
        let refuted = search::refuted(&graph, &state);
        let seen = MeasureInput {
            graph: &graph,
            state: &state,
            fits: &fits,
            refuted: refuted.len(),
        };
        let measure = Measure::of(seen);
        let solved = reconcile::solved(&graph, &standing, &state);
        let is_line_settled = reconcile::is_line_settled(&graph, &solved, &state);
        let prospects = speculation::all(speculation::SpeculationInputs {
            graph: &graph,
            standing: &standing,
            state: &state,
            fits: &fits,
            refuted: &refuted,
            solved: &solved,
        });
        Self {
            state,
            graph: Arc::new(graph),
            standing: Arc::new(standing),
            valid_contexts: Arc::new(fits),
            refuted: Arc::new(refuted),
            solved: Arc::new(solved),
            speculations: Arc::new(prospects),
            measure,
            is_line_settled,
            is_settled: false,
            dirty_tasks: Arc::default(),
        }
    }

    /// What is resolved: a bound task whose dependencies are, an `all` of such, an `any` whose choice is.
    pub fn solved(&self) -> &[bool] {
        &self.solved
    }

    /// What can still be tried.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// What can still happen at most.
    pub fn bound(&self) -> RunBound {
        RunBound::of(self.measured(), &self.measure)
    }

    fn measured(&self) -> MeasureInput<'_> {
        let refuted = self.refuted.len();
        MeasureInput {
            graph: &self.graph,
            state: &self.state,
            fits: &self.valid_contexts,
            refuted,
        }
    }

    /// Whether the tree is made of exactly what stays.
    pub(crate) fn is_line_settled(&self) -> bool {
        self.is_line_settled
    }

    pub(crate) fn ground<'a>(&'a self, session: &'a Session) -> speculation::LandingContext<'a> {
        speculation::LandingContext {
            graph: &self.graph,
            standing: &self.standing,
            state: &self.state,
            prospects: &self.speculations,
            is_line_settled: self.is_line_settled,
            session,
        }
    }

    /// The commits that the result should be made of.
    pub fn line_wanted(&self) -> Vec<ResultCommit> {
        if self.state.objective.constraints.workspace() == Workspace::Shared {
            return self.state.run.line.to_vec();
        }
        reconcile::line_wanted(&self.graph, &self.solved, &self.state)
    }

    /// What is resolved and what is not, among the live atoms.
    pub fn split(&self) -> (Vec<AtomId>, Vec<AtomId>) {
        let solved = self.solved();
        let live = (0..self.graph.len()).filter(|x| self.standing.is_live(*x));
        let (done, open): (Vec<Ix>, Vec<Ix>) = live.partition(|x| solved[*x]);
        let names = |list: Vec<Ix>| list.into_iter().map(|x| self.graph.id(x).clone()).collect();
        (names(done), names(open))
    }
}

/// What a loop knows beside the file, and may forget: a crash costs the attempts in flight and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// How many attempts the host can make side by side.
    pub slots: u32,
    pub evidence: EvidenceCache,
    pub(crate) progress: BTreeMap<AttemptId, AttemptProgress>,
    /// Trees by commit, as far as the host has told.
    pub(crate) trees: BTreeMap<CommitId, TreeId>,
    /// The trees of what is tried beside the selection in force, by group and choice.
    pub(crate) staged: BTreeMap<(AtomId, AtomId), speculation::SpeculativeTree>,
    /// The base case was evaluated since the start.
    pub(crate) base_was_seen: bool,
    /// The steps that were open when the run before this one completed: they are not waited for again.
    pub(crate) left_open: Option<Vec<AtomId>>,
    /// Verdicts that no commit holds yet.
    pub(crate) verdicts: Vec<VerdictRecord>,
    /// Checks that failed at `align` and hold on the same tree now.
    pub(crate) unsteady: Vec<String>,
    /// Why the run had to stop.
    pub(crate) unavailable: Option<String>,
    /// What the base case is being evaluated on.
    pub(crate) base_target: Option<Basis>,
    /// When that began, in active time.
    pub(crate) base_since_ms: u64,
    /// Backoffs end at an active time of this session: a clock that is set, or a machine that sleeps, moves none.
    pub(crate) base_again_at_ms: Option<u64>,
    pub(crate) waits_until_ms: BTreeMap<(AtomId, Digest), u64>,
    pub(crate) checks_wait_until_ms: BTreeMap<AttemptId, u64>,
    /// Attempts of the lineage when this run began.
    pub(crate) started_with: u64,
    pub(crate) active_ms: u64,
    /// What evaluations of the base case took, with their checkouts and the starts of their processes.
    pub(crate) verify_ms: u64,
    /// Active time not yet written into the state.
    pub(crate) unwritten_ms: u64,
    /// How much of the trail stands in full.
    pub full: trail::Full,
    pub(crate) trail_watch: trail::Watch,
    /// A step came to its limit before everything that follows was looked at.
    pub(crate) has_more: bool,
}

impl Session {
    /// A loop that can make `slots` attempts side by side, and knows nothing yet.
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            ..Self::default()
        }
    }
}

/// How far an attempt is that has ended well.
#[derive(Debug, Clone)]
pub(crate) enum AttemptProgress {
    Finished(Arc<Outcome>),
    Merged {
        outcome: Arc<Outcome>,
        onto: Option<CommitId>,
        merge: Arc<Merge>,
    },
}

/// What an observation leads to.
#[derive(Debug, Clone)]
pub struct Transition {
    pub world: World,
    pub touched: ChangeSet,
    pub session: Session,
    pub notices: Vec<Event>,
    /// Nothing to commit: only the session changed.
    pub is_quiet: bool,
}

/// Why an observation cannot be taken: the state stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("nothing is running, so there is nothing to stop")]
    NothingRuns,
    #[error("a stop was requested already")]
    AlreadyAsked,
    #[error("BUG: the measure rose from ({before}) to ({after})")]
    MeasureRose { before: String, after: String },
}

/// Takes one observation.
pub fn step(world: &World, session: &Session, seen: Observation) -> Result<Transition, Refusal> {
    let mut draft = transaction::Transaction::new(world, session, seen.now, seen.active_ms);
    match seen.event {
        Input::Started {
            run,
            from,
            finished,
            gone,
        } => run_start::started(&mut draft, run, from, finished, &gone),
        Input::Tick => {}
        Input::Asked { request, reason } => run_start::asked(&mut draft, request, reason)?,
        Input::Ended {
            attempt,
            epoch,
            outcome,
        } => attempt_end::ended(&mut draft, &attempt, epoch, outcome),
        Input::Tried {
            attempt,
            onto,
            merge,
        } => candidate::tried(&mut draft, &attempt, onto, merge),
        Input::Built {
            head,
            line,
            dropped,
        } => landing::built(&mut draft, head, line, &dropped),
        Input::Staged {
            prospect,
            wanted,
            head,
            dropped,
        } => {
            let staged = speculation::SpeculativeTree {
                line: wanted,
                head,
                is_whole: dropped.is_empty(),
            };
            draft.session.staged.insert(prospect, staged);
        }
        Input::Judged { scope, basis, seen } => landing::judged(&mut draft, &scope, &basis, seen),
        Input::Learned { commit, tree } => landing::learn(&mut draft, commit, tree),
        Input::Unavailable { why } => advance::unavailable(&mut draft, why),
    }
    if draft.state.run.status.is_active() && draft.is_loop {
        advance::advance(&mut draft);
    }
    draft.close(world)
}

pub(crate) use candidate::of_candidate;
pub(crate) use run_start::control_with;

/// The effective number of side-by-side attempts.
pub fn slots(state: &State, session: &Session) -> usize {
    session
        .slots
        .min(state.objective.constraints.max_parallel_agents())
        .max(1) as usize
}
