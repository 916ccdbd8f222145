//! The outcome of an attempt, as the shell saw it: its report, the faults of its value, and what its result does not
//! have.
//!
//! Not here: its record on the disk (`record`), and what it means (`step/attempt_end`).

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    id::{AttemptId, CommitId, UnixMillis},
    judging::PlanFacts,
    state::{
        AgentTrouble, FreeValue, SideFile, Usage,
        record::ToolCall,
        table::{record, words},
        value::by_serde,
    },
    verdict::CommandEnd,
};

by_serde! { AgentEnd, CommandEnd, Misfit, NotTaken, PlanFacts, Product, (String, String) }

record! {
    /// How an attempt ended, as the shell saw it
    pub struct Outcome {
        required how: CommandEnd = CommandEnd::TimedOut,
        always duration_ms: u64,
        /// Head and tail of what it printed
        always excerpt: String,
        /// The whole output, if it is longer than the excerpt
        optional whole: SideFile,
        optional last_line: String,
        /// The whole standard output of a planner
        optional stdout: String,
        /// Faults in a planner's plan that only the shell can see, each as a pointer and a message
        filled shell_faults: Vec<(String, String)>,
        /// The programs, targets and files that a planner's plan names and the machine lacks
        filled facts: PlanFacts = PlanFacts::default(),
        optional report: AgentReport,
        /// The fault of a report that cannot be used
        optional report_fault: String,
        /// The faults of the value by the schema of its atom, the first few
        filled misfits: Vec<Misfit>,
        /// The content of its workspace at the end; `None` if it failed, or has no tree of its own
        optional made: Product,
        /// The files that it changed, also if it failed; as many as are named at most
        filled changed: Arc<Vec<String>>,
        filled not_taken: NotTaken = NotTaken::default(),
        /// Its tree began with build state of an earlier one
        filled is_warm: bool,
        filled usage: Usage,
        /// The tools that it called, at most 50
        filled tried: Vec<ToolCall>,
        /// How its agent ended, where its protocol tells
        optional agent_end: AgentEnd,
        /// Its task, or its agent, says that such an end may pass
        filled may_pass: bool,
        /// Its agent can go on in its session
        filled goes_on: bool,
    }
    with Default;
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

    /// The question without whose answer it cannot go on, with its options.
    pub fn question(&self) -> Option<(&str, &[String])> {
        let report = self.report.as_ref().filter(|_| self.is_blocked())?;
        Some((report.question.as_deref()?, &report.options))
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
        Self { how, duration_ms, ..Self::default() }
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Product {
    Unchanged,
    /// A commit on its base.
    Commit(CommitId),
    /// Its workspace is unusable; the reason.
    Broken(String),
}

record! {
    /// An agent's own report from its result file: untrusted, capped by its reader
    pub struct AgentReport {
        always summary: String,
        optional value: FreeValue,
        always artifacts: Vec<String>,
        always clarity: Clarity = Clarity::Clear,
        /// It says so itself
        always has_failed: bool,
        optional handoff: String,
        /// It cannot go on without a person's answer
        optional question: String,
        /// Answers to choose from
        filled options: Vec<String>,
        /// Notes of keys that were read as they were meant
        filled read_as: Vec<String>,
    }
    with Default;
}

words! {
    /// How clear its task was to an agent
    pub enum Clarity {
        Clear = "CLEAR",
        Partial = "PARTIALLY_CLEAR",
        Blocked = "BLOCKED",
    }
}

impl Clarity {
    /// A partly clear task, in words.
    pub const PARTIAL_WORDS: &str = "it was only partly clear to its agent";

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
}

/// Left by an earlier loop for this one.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Leftovers {
    /// Attempts whose outcome was recorded whole: it is used as it is.
    pub finished: Vec<(AttemptId, Outcome)>,
    /// Attempts whose agent can go on in its session, in a workspace that is as it left it.
    pub continued: BTreeSet<AttemptId>,
    /// The usage that attempts in flight had told.
    pub used: Vec<(AttemptId, Usage)>,
    /// Commits that the state names and the repository has lost.
    pub gone: BTreeSet<CommitId>,
    /// Trees of attempts begin with build state.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub is_warm: bool,
}

/// Faults of one value that are kept at most.
pub const MISFITS_MAX: usize = 5;

/// One fault of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    /// The JSON pointer into the value; empty for the value itself.
    pub at: String,
    pub message: String,
}

impl Misfit {
    /// The faults as the reason of a failure: `value: /files/0/name: it is not of type "string"`.
    pub fn reason(misfits: &[Misfit]) -> String {
        let one = |misfit: &Misfit| match misfit.at.as_str() {
            "" => misfit.message.clone(),
            at => format!("{at}: {}", misfit.message),
        };
        let all: Vec<String> = misfits.iter().take(MISFITS_MAX).map(one).collect();
        format!("value: {}", all.join("; "))
    }
}

const NOT_TAKEN: &str = "not taken: ";

/// Words for all that an attempt left and no commit takes, with the reason of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTaken {
    /// Paths that git ignores: most often what a build leaves.
    pub ignored: String,
    pub others: String,
}

impl NotTaken {
    /// Adds things, each with its reason.
    pub fn add(&mut self, more: impl Iterator<Item = String>) {
        for one in more {
            let before = if self.others.is_empty() { "" } else { ", " };
            self.others += &format!("{before}{one}");
        }
    }

    /// All of it in words; empty if there is nothing.
    pub fn words(&self) -> String {
        let parts = [&*self.others, &*self.ignored];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { String::new() } else { format!("{NOT_TAKEN}{}", parts.join(", ")) }
    }

    /// The same for a line: beside a change, ignored paths are no news.
    pub fn in_short(&self, has_changed: bool) -> String {
        if has_changed {
            Self { ignored: String::new(), others: self.others.clone() }.words()
        } else {
            self.words()
        }
    }

    /// The part of a summary that names it.
    pub fn in_summary(summary: &str) -> Option<&str> {
        let (_, left) = summary.rsplit_once(NOT_TAKEN)?;
        Some(left)
    }

    /// A text of `chars_max` characters at most that ends with it.
    pub fn after(&self, text: &str, chars_max: usize) -> String {
        let words = self.words();
        if words.is_empty() {
            return text.chars().take(chars_max).collect();
        }
        let room = chars_max.saturating_sub(words.chars().count() + 2);
        let text: String = text.chars().take(room).collect();
        format!("{text}; {words}")
    }
}

// How an agent ended its turn, where its protocol tells more than an exit code does.

/// How an agent ended its turn. It counts before the end of its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", content = "of", rename_all = "snake_case")]
pub enum AgentEnd {
    /// It says that it is done: the checks decide.
    Done,
    /// The model refused, in its words.
    Refused(String),
    /// It ran out of turns or tokens of its own.
    OutOfTurns(String),
    /// Its answer was cut at the greatest length, or has no end.
    CutShort(String),
    /// It said nothing for so long.
    Silent { ms: u64 },
    /// It broke its protocol.
    Protocol(String),
    /// Its provider is down, or cannot be reached.
    Down(String),
    /// Its prompt, with all that it has read, does not fit into its model.
    TooLong(String),
    /// Its provider takes no more until then.
    Limited { until: Option<UnixMillis> },
    /// It cannot be used at all.
    Unavailable {
        kind: AgentLack,
        words: String,
        /// The variable that lacks, or that holds a wrong key.
        variable: Option<String>,
    },
}

words! {
    /// A lack of an agent that only a person can end
    pub enum AgentLack {
        /// It is not logged in
        Login = "login",
        /// Its account has no credit left
        Credit = "credit",
        /// Its key is missing or wrong
        Key = "key",
        /// Its program is missing
        Missing = "missing",
        /// The place of its key cannot be read
        NoKey = "no_key",
        /// Its server has no such model
        Model = "model",
        /// Its server never takes what it is asked
        Provider = "provider",
        /// A question does not fit into its context
        Context = "context",
        /// Its server cannot be connected to
        Unreachable = "unreachable",
        /// Its provider was waited for long enough
        Down = "down",
    }
}

impl AgentLack {
    /// The code of a run that ends by it.
    pub fn trouble(self) -> AgentTrouble {
        match self {
            AgentLack::Login | AgentLack::Key => AgentTrouble::Login,
            AgentLack::Credit => AgentTrouble::Credit,
            AgentLack::Missing => AgentTrouble::Missing,
            AgentLack::NoKey => AgentTrouble::NoKey,
            AgentLack::Model => AgentTrouble::Model,
            AgentLack::Provider => AgentTrouble::Provider,
            AgentLack::Context => AgentTrouble::Context,
            AgentLack::Unreachable | AgentLack::Down => AgentTrouble::Unreachable,
        }
    }
}

/// Characters at most of an agent's words in a sentence.
const SHORT_CHARS: usize = 300;

/// The first line of an agent's words, cut.
pub(crate) fn short(words: &str) -> String {
    let line = words.trim().lines().next().unwrap_or_default();
    line.chars().take(SHORT_CHARS).collect()
}

impl AgentEnd {
    /// Whether its provider is to be waited for.
    pub fn is_of_provider(&self) -> bool {
        matches!(self, AgentEnd::Limited { .. } | AgentEnd::Down(_))
    }

    /// The end in words, for a reason.
    pub fn text(&self) -> String {
        let with = |what: &str, words: &str| match short(words).as_str() {
            "" => what.into(),
            words => format!("{what}: {words}"),
        };
        match self {
            AgentEnd::Done => "is done".into(),
            AgentEnd::Refused(words) => with("the model refused", words),
            AgentEnd::OutOfTurns(words) => with("the agent ran out of turns", words),
            AgentEnd::CutShort(words) => with("the answer was too long", words),
            AgentEnd::Silent { ms } => format!("the agent said nothing for {} s", ms / 1_000),
            AgentEnd::Protocol(words) => with("the agent broke its protocol", words),
            AgentEnd::Down(words) => with("its provider is down", words),
            AgentEnd::TooLong(words) => with("the prompt does not fit into the model", words),
            AgentEnd::Limited { .. } => "its provider takes no more for now".into(),
            AgentEnd::Unavailable { words, .. } => with("the agent cannot be used", words),
        }
    }
}
