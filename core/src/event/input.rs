//! The inputs of a run: observations with the facts that the core may not look up itself.

use alloc::{boxed::Box, string::String, vec::Vec};

use super::{ConsultEnd, Leftovers, Outcome};
use crate::{
    id::{AtomId, AttemptId, CommitId, ConsultId, Digest, Epoch, RunId, TreeId, UnixMillis},
    state::{Request, ResultCommit, StartedFrom, Usage, final_result::EndedProcesses},
    verdict::{Basis, Measurement},
};

/// One observation: an input, with the facts that the core may not look up itself.
#[derive(Debug, Clone)]
pub struct Observation {
    pub now: UnixMillis,
    /// Active time since the last observation, without the sleep of the machine.
    pub active_ms: u64,
    pub event: Input,
}

#[derive(Debug, Clone)]
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
    /// The attempt left an unusable workspace; the reason.
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Atom(AttemptId),
    BaseCase,
}
