//! All that can happen to a run, as data, and all that is said of it.

pub mod record;

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use crate::{
    id::{AtomId, AttemptId, CommitId, Digest, Epoch, RunId, TreeId, UnixMillis},
    state::{FreeValue, Request, ResultCommit, SideFile, StartedFrom, record::Choices},
    verdict::{Basis, CommandEnd, Measurement, Verdict},
};

/// One observation: an event, and what the core may not look up itself.
#[derive(Debug, Clone)]
pub struct Observation {
    pub now: UnixMillis,
    /// Active time since the last observation; the sleep of the machine is none.
    pub active_ms: u64,
    pub event: Input,
}

#[derive(Debug, Clone)]
pub enum Input {
    /// A loop took the lease. What was in flight before is lost, but for what came to its end and was recorded whole.
    Started {
        run: RunId,
        from: Option<StartedFrom>,
        finished: Vec<(AttemptId, Outcome)>,
        /// Commits that the state names and the repository lost.
        gone: BTreeSet<CommitId>,
    },
    /// A deadline passed, or the file changed.
    Tick,
    /// A person asks, by command or by signal.
    Asked {
        request: Request,
        reason: Option<String>,
    },
    /// An attempt came to its end.
    Ended {
        attempt: AttemptId,
        epoch: Epoch,
        outcome: Outcome,
    },
    /// Its change was merged onto `onto`, no ref moved.
    Tried {
        attempt: AttemptId,
        onto: Option<CommitId>,
        merge: Merge,
    },
    /// The tree was rebuilt from what stays.
    Built {
        head: CommitId,
        line: Vec<ResultCommit>,
        dropped: Vec<AtomId>,
    },
    /// The tree of what is tried beside the selection in force: `wanted`, applied in order but for what was dropped.
    Staged {
        /// A group and one of its choices.
        prospect: (AtomId, AtomId),
        wanted: Vec<ResultCommit>,
        head: CommitId,
        dropped: Vec<AtomId>,
    },
    /// The host looked up the tree of a commit.
    Learned { commit: CommitId, tree: TreeId },
    /// Leaves were measured.
    Judged {
        scope: Scope,
        basis: Basis,
        seen: Vec<(Digest, Measurement)>,
    },
    /// What no verdict can do without is not there, such as a `setup` that succeeds on the start's tree.
    Unavailable { why: String },
}

/// How an attempt ended, as the shell saw it.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub how: CommandEnd,
    pub duration_ms: u64,
    /// Head and tail of what it printed.
    pub excerpt: String,
    /// All that it printed, where that is longer than the excerpt.
    pub whole: Option<SideFile>,
    pub last_line: Option<String>,
    /// Of a planner: its whole standard output.
    pub stdout: Option<String>,
    /// Of a planner: what only the shell can see wrong in its plan, as a pointer and what is wrong.
    pub shell_faults: Vec<(String, String)>,
    pub report: Option<AgentReport>,
    /// The report's fault, where it wrote one that cannot be used.
    pub report_fault: Option<String>,
    /// What stood in its workspace then; none where it failed, or has no tree of its own.
    pub made: Option<Product>,
}

impl Outcome {
    /// That says nothing but how it ended.
    pub fn ended(how: CommandEnd, duration_ms: u64) -> Self {
        Self {
            how,
            duration_ms,
            excerpt: String::new(),
            whole: None,
            last_line: None,
            stdout: None,
            shell_faults: Vec::new(),
            report: None,
            report_fault: None,
            made: None,
        }
    }
}

/// What an attempt made of the commit that it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Product {
    Unchanged,
    /// A commit on its base.
    Commit(CommitId),
    /// It left its workspace so that nothing can be made of it; why.
    Broken(String),
}

/// What an agent wrote into its result file: untrusted, capped by its reader.
#[derive(Debug, Clone, Default)]
pub struct AgentReport {
    pub summary: String,
    pub value: Option<FreeValue>,
    pub artifacts: Vec<String>,
    pub is_blocked: bool,
    pub handoff: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Merge {
    /// The tree is as it was.
    Unchanged {
        tree: Option<TreeId>,
    },
    Clean {
        commit: CommitId,
        tree: TreeId,
        change: Digest,
        files: Vec<String>,
        protected: Vec<String>,
    },
    Conflict(Vec<String>),
    /// The attempt left its workspace so that nothing can be made of it; why.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Atom(AttemptId),
    BaseCase,
}

/// Why a run ended: the contract's closed list, as far as this program can end so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    AlreadyHeld,
    BaseCase,
    Stopped,
    NoChoice,
    Iterations,
    Time,
    Guidance,
    InDoubt,
    Confirmation,
    Unavailable,
    Bug,
}

impl Reason {
    /// A person is needed before anything else can be judged.
    pub fn asks_a_person(self) -> bool {
        match self {
            Reason::Guidance | Reason::InDoubt | Reason::Confirmation => true,
            Reason::AlreadyHeld
            | Reason::BaseCase
            | Reason::Stopped
            | Reason::NoChoice
            | Reason::Iterations
            | Reason::Time
            | Reason::Unavailable
            | Reason::Bug => false,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Reason::AlreadyHeld => "already_held",
            Reason::BaseCase => "base_case",
            Reason::Stopped => "stopped",
            Reason::NoChoice => "no_choice",
            Reason::Iterations => "iterations",
            Reason::Time => "time",
            Reason::Guidance => "guidance",
            Reason::InDoubt => "in_doubt",
            Reason::Confirmation => "confirmation",
            Reason::Unavailable => "unavailable",
            Reason::Bug => "bug",
        }
    }
}

/// What `run` says while it goes on: one line a notice, or one JSON value.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    RunStarted {
        run: RunId,
        attempts_left: String,
        verdicts_left: String,
        /// With every transient retry, repair and interruption.
        starts_left: String,
    },
    AttemptStarted {
        attempt: AttemptId,
        atom: AtomId,
        n: u32,
        of: u32,
        description: String,
    },
    Solved {
        attempt: AttemptId,
        atom: AtomId,
        ms: u64,
        files: Vec<String>,
        commit: Option<CommitId>,
        summary: String,
    },
    /// What a planner printed is part of the graph now.
    Planned {
        attempt: AttemptId,
        atom: AtomId,
        ms: u64,
        parts: Vec<String>,
        /// Groups and what is inside them included.
        atoms: usize,
    },
    /// Nothing is left of the fragments of a planning step: another is asked for.
    PlannedAgain {
        atom: AtomId,
        round: u32,
        because: String,
    },
    /// The budget of a fragment is over and parts of it are open.
    PhaseOver {
        atom: AtomId,
        /// `attempts` or `time`.
        limit: &'static str,
        /// It is gone on with without them; else the fragment failed.
        is_partial: bool,
        missing: Vec<String>,
    },
    AttemptFailed {
        attempt: AttemptId,
        atom: AtomId,
        ms: u64,
        class: &'static str,
        reason: String,
        attempts_left: u32,
    },
    Transient {
        attempt: AttemptId,
        atom: AtomId,
        ms: u64,
        retry: u32,
        of: u32,
        wait_ms: u64,
    },
    /// It came to its end before the loop died: its result is taken as it is.
    Adopted {
        attempt: AttemptId,
        atom: AtomId,
    },
    Interrupted {
        attempt: AttemptId,
        atom: AtomId,
        why: &'static str,
    },
    Repair {
        atom: AtomId,
        /// One more than `of`: it had failed before it could be made again.
        repair: u32,
        of: u32,
        why: String,
    },
    InDoubt {
        attempt: AttemptId,
        atom: AtomId,
        why: String,
    },
    Discarded {
        attempt: AttemptId,
    },
    Chosen {
        group: AtomId,
        choice: AtomId,
        untried: usize,
    },
    Refuted {
        choices: Choices,
        failed: Vec<String>,
    },
    Backtracked {
        changes: Vec<ChoiceChange>,
        because: String,
    },
    Parked {
        atom: AtomId,
    },
    Revived {
        atom: AtomId,
    },
    /// The repository lost a result that was kept for another selection.
    Forgotten {
        atom: AtomId,
    },
    Rebuilt {
        kept: usize,
        taken_back: Vec<AtomId>,
        head: CommitId,
    },
    BaseCase {
        verdict: Verdict,
        /// Taken in a checkout made anew: it decides.
        pristine: bool,
        /// Agreed steps that are open although it holds.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        open: Vec<AtomId>,
        /// All else holds: a person must confirm this assertion.
        #[serde(skip_serializing_if = "Option::is_none")]
        awaits: Option<String>,
        /// Nothing could be told of this check: it is measured again.
        #[serde(skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// Checks whose verdicts differ between a checkout that was used before and one made anew: the latter counts.
    Disagreed {
        checks: Vec<String>,
    },
    /// Checks that failed at `align` and hold on the same tree now.
    Unsteady {
        checks: Vec<String>,
    },
    Corrected {
        what: String,
        effects: Vec<String>,
        /// What gave way where the edit and the program both wrote, a line each.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lost: Vec<String>,
    },
    Retired {
        request: String,
    },
    Ended {
        result: &'static str,
        reason: &'static str,
    },
}

/// A group that changed its choice.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ChoiceChange {
    pub group: AtomId,
    pub from: Option<AtomId>,
    pub to: AtomId,
}
