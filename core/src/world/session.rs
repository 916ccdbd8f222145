//! The knowledge of a loop beside the file. A crash forgets it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec::Vec,
};

use super::agents::AgentTable;
use super::trail_limits::{TrailLimits, Watch};
use super::unavailable::Unavailable;
use crate::{
    event::{Merge, Outcome},
    id::{AgentName, AtomId, AttemptId, CommitId, Digest, TreeId},
    state::Role,
    state::{Intent, Lesson, ReportedUsage, ResultCommit, State, VerdictRecord},
    verdict::{Basis, EvidenceCache},
};

/// The knowledge of a loop beside the file. Without it, the attempts in flight are lost and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// The number of attempts that the host can run side by side.
    pub slots: u32,
    /// The agents of the configuration.
    pub agents: Arc<AgentTable>,
    pub evidence: EvidenceCache,
    /// The lessons of earlier runs for a run that begins; `None` without memory.
    pub remembered: Option<Vec<Lesson>>,
    /// The start of the run that all of this is true of.
    pub(crate) start: Option<CommitId>,
    /// The pass that the unwritten verdicts were taken in.
    pass: u64,
    pub(crate) progress: BTreeMap<AttemptId, AttemptProgress>,
    /// Attempts whose outcomes have arrived and are not observed yet.
    pub(crate) arrived: BTreeSet<AttemptId>,
    /// Attempts that have ended, and whose outcomes are being recorded.
    pub(crate) recorded: BTreeSet<AttemptId>,
    /// Usage that attempts in flight have reported so far, or at their end.
    pub(crate) reported: BTreeMap<AttemptId, ReportedUsage>,
    /// Trees by commit, as far as the host has reported them.
    pub(crate) trees: BTreeMap<CommitId, TreeId>,
    /// The trees of speculations, by group and choice.
    pub(crate) staged: BTreeMap<(AtomId, AtomId), SpeculativeTree>,
    /// Whether the base case was evaluated since the start.
    pub(crate) base_was_seen: bool,
    /// The steps that were open when the last run completed: they are not awaited again.
    pub(crate) left_open: Option<Vec<AtomId>>,
    /// Verdicts that no commit holds yet.
    pub(crate) verdicts: Vec<VerdictRecord>,
    /// Checks that failed at `align` and hold on the same tree now.
    pub(crate) unsteady: Vec<String>,
    /// Why the run had to stop.
    pub(crate) unavailable: Option<Unavailable>,
    /// The basis on which the base case is being evaluated.
    pub(crate) base_target: Option<Basis>,
    /// The beginning of that evaluation, in active time.
    pub(crate) base_since_ms: u64,
    /// The end of a backoff, in active time of this session. Setting a clock or suspending the machine moves none.
    pub(crate) base_again_at_ms: Option<u64>,
    /// The question about a plan that is asked again later.
    pub(crate) gate: Option<GateWait>,
    pub(crate) waits_until_ms: BTreeMap<(AtomId, Digest), u64>,
    pub(crate) provider_waits: BTreeMap<AgentName, ProviderWait>,
    /// Whether nothing happens but such a wait.
    pub(crate) only_waits: bool,
    /// Failures that may be those of an agent that cannot work at all.
    pub(crate) quick_failures: Vec<QuickFailure>,
    pub(crate) checks_wait_until_ms: BTreeMap<AttemptId, u64>,
    pub(crate) active_ms: u64,
    /// The time that evaluations of the base case took, with their checkouts and the starts of their processes.
    pub(crate) verify_ms: u64,
    /// Active time not yet written into the state.
    pub(crate) unwritten_ms: u64,
    pub trail_limits: TrailLimits,
    pub(crate) trail_watch: Watch,
    /// Whether a step reached its limit before all consequences were handled.
    pub(crate) has_more: bool,
}

impl Session {
    /// Notes that an attempt has ended, before its outcome is observed: a stop in between does not take it back.
    pub fn arrives(&mut self, attempt: &AttemptId) {
        self.arrived.insert(attempt.clone());
    }

    /// Notes which attempts have ended and are being recorded: an end of the run waits for them.
    pub fn are_recorded(&mut self, attempts: BTreeSet<AttemptId>) {
        self.recorded = attempts;
    }

    /// The session of a new loop that can run `slots` attempts side by side.
    pub fn new(slots: u32) -> Self {
        Self { slots, ..Self::default() }
    }

    /// The end of the wait for the provider of an agent, if one goes on.
    pub(crate) fn provider_wait(&self, agent: &AgentName) -> Option<u64> {
        let wait = self.provider_waits.get(agent)?;
        (wait.until_ms > self.active_ms).then_some(wait.until_ms)
    }

    /// Forgets what is true of another start of the run: trees made from it, and verdicts on them. A correction may have
    /// taken results out of the trees of the last pass.
    pub(crate) fn begin_at(&mut self, start: Option<&CommitId>, pass: u64) {
        if self.pass != pass {
            self.pass = pass;
            self.verdicts.clear();
        }
        if self.start.as_ref() == start {
            return;
        }
        self.start = start.cloned();
        self.staged.clear();
        self.verdicts.clear();
        self.base_target = None;
        self.base_again_at_ms = None;
        self.base_was_seen = false;
    }

    /// The tree of a commit, if it is known.
    pub(crate) fn tree_of(&self, state: &State, commit: &CommitId) -> Option<TreeId> {
        let start = state.run.started_from.as_ref();
        let start = start.filter(|start| start.commit == *commit);
        start.map(|start| start.tree.clone()).or_else(|| self.trees.get(commit).cloned())
    }

    /// Forgets the trees of commits that nothing needs any more.
    pub(crate) fn forget_trees(&mut self, of_run: &[CommitId]) {
        let candidates = self.progress.values().filter_map(|progress| match progress {
            AttemptProgress::Merged { merge, .. } => match &**merge {
                Merge::Clean { commit, .. } => Some(commit),
                Merge::Unchanged { .. } | Merge::Conflict(_) | Merge::Broken(_) => None,
            },
            AttemptProgress::Finished(_) => None,
        });
        let needed: BTreeSet<&CommitId> = candidates.chain(of_run).collect();
        let target = self.base_target.as_ref();
        self.trees.retain(|commit, tree| {
            needed.contains(commit) || target.and_then(Basis::tree) == Some(tree)
        });
    }
}

/// A question about a plan that nobody answered yet.
#[derive(Debug, Clone)]
pub(crate) struct GateWait {
    pub(crate) role: Role,
    pub(crate) subject: Digest,
    pub(crate) asked: u32,
    /// In active time of this session.
    pub(crate) again_at_ms: u64,
}

/// The waits of an agent for its provider, one after another; all times are active ones of this session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderWait {
    /// The last moment at which the provider may have been up.
    pub(crate) up_ms: u64,
    pub(crate) until_ms: u64,
    /// How many there were.
    pub(crate) n: u32,
}

/// A failure of an agent that ended at once and did nothing.
#[derive(Debug, Clone)]
pub(crate) struct QuickFailure {
    pub(crate) intent: Intent,
    pub(crate) fingerprint: Digest,
}

/// The progress of an attempt that succeeded.
#[derive(Debug, Clone)]
pub(crate) enum AttemptProgress {
    Finished(Arc<Outcome>),
    Merged { outcome: Arc<Outcome>, onto: Option<CommitId>, merge: Arc<Merge> },
}

/// The tree of a speculation, as the host made it.
#[derive(Debug, Clone)]
pub(crate) struct SpeculativeTree {
    pub(crate) line: Vec<ResultCommit>,
    pub(crate) head: CommitId,
    /// Whether all commits applied.
    pub(crate) is_whole: bool,
}
