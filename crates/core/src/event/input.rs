//! The inputs of a run: observations with the facts that the core may not look up itself, and each as a line.
//!
//! Not here: where lines are kept.

use crate::doc::prelude::*;
use serde::Serialize;

use super::{AgentEnd, Leftovers, Outcome};
use crate::{
    doc::{Node, Value},
    id::{
        AtomId, AttemptId, CommitId, ConsultId, Digest, Epoch, RunId, Serial, TreeId, UnixMillis,
    },
    judging::PlanFacts,
    state::{
        Request, ResultCommit, StartedFrom, Usage, final_result::EndedProcesses, value::node_of,
    },
    verdict::{Basis, Measurement},
};

const SCHEMA: &str = "descent/input/1";
const TEXT_CHARS_MAX: usize = 2_000;
const ITEMS_MAX: usize = 200;

/// One observation: an input, with the facts that the core may not look up itself.
#[derive(Debug, Clone)]
pub struct Observation {
    pub now: UnixMillis,
    /// Active time since the last observation, without the sleep of the machine.
    pub active_ms: u64,
    pub event: Input,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A loop took the lease. Earlier work in flight is lost, but for what the earlier loop left.
    Started { run: RunId, from: Option<StartedFrom>, left: Leftovers },
    /// A deadline passed, or the file changed.
    Tick,
    /// The process that asked for a redirect is gone, and made no change.
    AskerGone,
    /// The last process of a stopped run is gone.
    AllEnded(EndedProcesses),
    /// A person's request, by command or by signal.
    Asked { request: Request, reason: Option<String> },
    /// An attempt ended.
    Ended { attempt: AttemptId, epoch: Epoch, outcome: Box<Outcome> },
    /// An attempt in flight reports its usage up to now.
    Used { attempt: AttemptId, epoch: Epoch, usage: Usage },
    /// A question to a judging role ended.
    Consulted { consult: ConsultId, end: Box<ConsultEnd> },
    /// Its change was merged onto `onto`, no ref moved.
    Tried { attempt: AttemptId, onto: Option<CommitId>, merge: Merge },
    /// The tree was rebuilt from the kept results.
    Built {
        /// The start that it was made from; of another one it is void.
        start: CommitId,
        head: CommitId,
        line: Vec<ResultCommit>,
        dropped: Vec<AtomId>,
    },
    /// The tree of a speculative selection: `wanted`, applied in order except dropped commits.
    Staged {
        /// A group and one of its choices.
        speculation: (AtomId, AtomId),
        /// The start that it was made from; of another one it is void.
        start: CommitId,
        wanted: Vec<ResultCommit>,
        head: CommitId,
        dropped: Vec<AtomId>,
    },
    /// The host looked up the tree of a commit.
    Learned { commit: CommitId, tree: TreeId },
    /// Leaves were measured.
    Judged { scope: Scope, basis: Basis, seen: Vec<(Digest, Measurement)> },
    /// Nobody waits any more for the words of the final answer.
    Unworded,
    /// A verdict is impossible because something is missing, such as a `setup` that succeeds on the
    /// start's tree.
    Unavailable { why: String },
    /// The state has no room for the next commit.
    NoRoom { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// The attempt left an unusable workspace; the reason.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Atom(AttemptId),
    BaseCase,
}

/// How a question ended, and what it cost.
#[derive(Debug, Clone, Serialize)]
pub struct ConsultEnd {
    pub answer: ConsultAnswer,
    pub usage: Usage,
    pub duration_ms: u64,
    /// The things that a plan in the answer names and the machine lacks.
    pub facts: PlanFacts,
    /// The place and the words of faults of the answer that the core cannot see.
    pub shell_faults: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsultAnswer {
    /// An object, not judged yet.
    Value(Node),
    /// Words that hold no answer, after all repairs; the fault.
    Faulty(String),
    /// Nobody answered; the reason.
    Silent(String),
    /// Its provider takes no more or is down, or it cannot be used.
    Ended(AgentEnd),
}

/// An observation as it is written.
#[derive(Serialize)]
struct ObservedLine<'a> {
    schema: &'static str,
    /// The commit that took it in.
    serial: Serial,
    at: UnixMillis,
    active_ms: u64,
    #[serde(flatten)]
    event: &'a Input,
}

impl Observation {
    /// The line of what the loop knew when it decided, to be compared and replayed. A long text is cut.
    pub fn line(&self, serial: Serial) -> Node {
        let Self { now: at, active_ms, event } = self;
        let (schema, active_ms) = (SCHEMA, *active_ms);
        let mut node = node_of(&ObservedLine { schema, serial, at: *at, active_ms, event });
        bound(&mut node);
        node
    }
}

/// Cuts long texts and lists.
fn bound(node: &mut Node) {
    match &mut node.value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => {
            items.truncate(ITEMS_MAX);
            items.iter_mut().for_each(bound);
        }
        Value::Object(members) => members.iter_mut().for_each(|member| bound(&mut member.node)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
