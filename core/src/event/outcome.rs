//! The outcome of an attempt, as the shell saw it.
//!
//! Not here: its record on the disk (`record`), and what it means (`step/attempt_end`).

use alloc::{collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};

use super::{AgentEnd, Misfit, NotTaken};
use crate::{
    id::{AttemptId, CommitId},
    judging::PlanFacts,
    state::{FreeValue, SideFile, Usage, record::ToolCall},
    verdict::CommandEnd,
};

/// How an attempt ended, as the shell saw it.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub how: CommandEnd,
    pub duration_ms: u64,
    /// Head and tail of what it printed.
    pub excerpt: String,
    /// The whole output, if it is longer than the excerpt.
    pub whole: Option<SideFile>,
    pub last_line: Option<String>,
    /// The whole standard output of a planner.
    pub stdout: Option<String>,
    /// Faults in a planner's plan that only the shell can see, each as a pointer and a message.
    pub shell_faults: Vec<(String, String)>,
    /// The programs, targets and files that a planner's plan names and the machine lacks.
    pub facts: PlanFacts,
    pub report: Option<AgentReport>,
    /// The fault of a report that cannot be used.
    pub report_fault: Option<String>,
    /// The faults of the value by the schema of its atom, the first few.
    pub misfits: Vec<Misfit>,
    /// The content of its workspace at the end; `None` if it failed, or has no tree of its own.
    pub made: Option<Product>,
    /// The files that it changed, also if it failed; as many as are named at most.
    pub changed: Arc<Vec<String>>,
    pub not_taken: NotTaken,
    pub usage: Usage,
    /// The tools that it called, at most 50.
    pub tried: Vec<ToolCall>,
    /// How its agent ended, where its protocol tells.
    pub agent_end: Option<AgentEnd>,
}

impl Outcome {
    /// Whether it says that it is done; its checks decide.
    pub fn is_success(&self) -> bool {
        match &self.agent_end {
            Some(end) => *end == AgentEnd::Done,
            None => self.how == CommandEnd::Exit(0),
        }
    }

    /// Whether it came to an end at which its checks may decide.
    pub fn may_land(&self) -> bool {
        use AgentEnd::{CutShort, OutOfTurns, Refused};
        let end = self.agent_end.as_ref();
        self.is_success() || matches!(end, Some(Refused(_) | OutOfTurns(_) | CutShort(_)))
    }

    /// The words against it at such an end.
    pub fn doubt(&self) -> Option<AnswerDoubt> {
        let denial = self.report.as_ref().filter(|report| report.has_failed);
        match (&self.agent_end, denial, &self.report_fault) {
            (Some(end @ AgentEnd::Refused(_)), _, _) => Some(AnswerDoubt::Denied(end.text())),
            (_, Some(report), _) => Some(AnswerDoubt::Denied(match report.summary.as_str() {
                "" => "it says that it did not succeed".into(),
                words => format!("it says that it did not succeed: {words}"),
            })),
            (Some(end @ (AgentEnd::OutOfTurns(_) | AgentEnd::CutShort(_))), _, _) => {
                Some(AnswerDoubt::Unfinished(end.text()))
            }
            (_, None, Some(fault)) => {
                Some(AnswerDoubt::Form(format!("its answer cannot be read: {fault}")))
            }
            (_, None, None) => None,
        }
    }

    pub fn is_blocked(&self) -> bool {
        let report = self.report.as_ref();
        report.is_some_and(|report| report.clarity == Clarity::Blocked)
    }

    /// Whether it ended before its agent could tell all that it used.
    pub fn was_cut_off(&self) -> bool {
        let is_broken =
            matches!(self.agent_end, Some(AgentEnd::Silent { .. } | AgentEnd::Protocol(_)));
        is_broken || self.how.is_cut_off()
    }

    /// An outcome with nothing but the end.
    pub fn ended(how: CommandEnd, duration_ms: u64) -> Self {
        Self {
            how,
            duration_ms,
            excerpt: String::new(),
            whole: None,
            last_line: None,
            stdout: None,
            shell_faults: Vec::new(),
            facts: PlanFacts::default(),
            report: None,
            report_fault: None,
            misfits: Vec::new(),
            made: None,
            changed: Arc::default(),
            not_taken: NotTaken::default(),
            usage: Usage::default(),
            tried: Vec::new(),
            agent_end: None,
        }
    }
}

/// Speaks against an attempt that came to its end, in words. The checks of its atom decide all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerDoubt {
    /// Its answer cannot be read: that says nothing about its work.
    Form(String),
    /// Its agent was cut off by a limit of its own.
    Unfinished(String),
    /// Its agent says that it failed, or the model refused.
    Denied(String),
}

impl AnswerDoubt {
    pub fn words(&self) -> &str {
        match self {
            AnswerDoubt::Form(words)
            | AnswerDoubt::Unfinished(words)
            | AnswerDoubt::Denied(words) => words,
        }
    }

    pub fn is_denied(&self) -> bool {
        matches!(self, AnswerDoubt::Denied(_))
    }
}

/// The output of an attempt, relative to the commit that it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Product {
    Unchanged,
    /// A commit on its base.
    Commit(CommitId),
    /// Its workspace is unusable; the reason.
    Broken(String),
}

/// An agent's own report from its result file: untrusted, capped by its reader.
#[derive(Debug, Clone, Default)]
pub struct AgentReport {
    pub summary: String,
    pub value: Option<FreeValue>,
    pub artifacts: Vec<String>,
    pub clarity: Clarity,
    /// It says so itself.
    pub has_failed: bool,
    pub handoff: Option<String>,
    /// Notes of keys that were read as they were meant.
    pub read_as: Vec<String>,
}

/// How clear its task was to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clarity {
    #[default]
    Clear,
    Partial,
    Blocked,
}

impl Clarity {
    /// A partly clear task, in words.
    pub const PARTIAL_WORDS: &str = "it was only partly clear to its agent";

    pub const WORDS: &[(&str, Clarity)] = &[
        ("CLEAR", Clarity::Clear),
        ("PARTIALLY_CLEAR", Clarity::Partial),
        ("BLOCKED", Clarity::Blocked),
    ];

    /// In what a result is unclear, in words; none where it is clear.
    pub fn words(unclear: bool, because: &str) -> Option<String> {
        match because {
            "" => unclear.then(|| Self::PARTIAL_WORDS.into()),
            words => Some(format!("unclear: {words}")),
        }
    }

    pub fn is_partial(self) -> bool {
        self == Clarity::Partial
    }

    pub fn word(self) -> &'static str {
        match self {
            Clarity::Clear => "CLEAR",
            Clarity::Partial => "PARTIALLY_CLEAR",
            Clarity::Blocked => "BLOCKED",
        }
    }
}

/// Left by an earlier loop for this one.
#[derive(Debug, Clone, Default)]
pub struct Leftovers {
    /// Attempts whose outcome was recorded whole: it is used as it is.
    pub finished: Vec<(AttemptId, Outcome)>,
    /// Attempts whose agent can go on in its session, in a workspace that is as it left it.
    pub continued: BTreeSet<AttemptId>,
    /// The usage that attempts in flight had told.
    pub used: Vec<(AttemptId, Usage)>,
    /// Commits that the state names and the repository has lost.
    pub gone: BTreeSet<CommitId>,
}
