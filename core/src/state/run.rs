//! The loop's own notebook (contract §9): what is in flight, where the tree stands, what is spent, how it ended.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::{
    FreeValue, Shared, SideEffect,
    fields::{Extra, Fields, Findings, Writer, pairs_node},
    record::Choices,
    verdicts::{Agreed, VerdictRecord},
};
use crate::{
    doc::{self, Node},
    id::{AtomId, AttemptId, CommitId, Digest, Epoch, RunId, TreeId},
};

#[derive(Debug, Clone)]
pub struct Run {
    pub id: Option<RunId>,
    pub status: RunStatus,
    pub epoch: Epoch,
    pub iteration: u64,
    pub pass: u64,
    /// Counts every attempt ever started, so that no id comes twice.
    pub attempts_started: u64,
    pub in_flight: Vec<Intent>,
    /// The integrated commit; refs, worktrees and the verification checkout only follow it.
    pub head: Option<CommitId>,
    /// The commits of the result after its start, in order.
    pub line: Shared<Vec<ResultCommit>>,
    /// The commit that the last ending delivered, where that is not the head.
    pub delivered: Option<CommitId>,
    pub started_from: Option<StartedFrom>,
    /// What `align` found.
    pub agreed: Option<Agreed>,
    /// The best verdict on the base case and the newest ones, oldest first.
    pub verdicts: Shared<Vec<VerdictRecord>>,
    pub spent: Usage,
    pub measure: Option<MeasureText>,
    pub last_result: Option<FreeValue>,
    /// The lineage and serial that this one was forked from.
    pub parent: Option<FreeValue>,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Aligned,
    Running,
    Redirecting,
    Completed,
    Stopped,
    Exhausted,
    NeedsGuidance,
}

/// An attempt that was started, or is about to be: durable before its first effect.
#[derive(Debug, Clone)]
pub struct Intent {
    pub id: AttemptId,
    pub atom: AtomId,
    pub context: Digest,
    pub choices: Choices,
    pub epoch: Epoch,
    /// 1-based, in this context.
    pub n: u32,
    pub effect: SideEffect,
    pub base: Option<CommitId>,
    pub at: String,
    pub extra: Extra,
}

/// A commit of the result, and the atom that made it. Two are the same whatever unknown keys stand beside.
#[derive(Debug, Clone)]
pub struct ResultCommit {
    pub atom: AtomId,
    pub commit: CommitId,
    pub extra: Extra,
}

impl PartialEq for ResultCommit {
    fn eq(&self, other: &Self) -> bool {
        (&self.atom, &self.commit) == (&other.atom, &other.commit)
    }
}

impl ResultCommit {
    pub fn new(atom: AtomId, commit: CommitId) -> Self {
        let extra = Extra::default();
        Self {
            atom,
            commit,
            extra,
        }
    }
}

/// The person's working tree as it was when the first run began.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedFrom {
    pub commit: CommitId,
    pub tree: TreeId,
    /// The person's HEAD then.
    pub head: CommitId,
    pub branch: Option<String>,
    /// Whether changes stood in the working tree that HEAD does not hold.
    pub dirty: bool,
    pub extra: Extra,
}

#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// That came to their end; what was made again as a repair is none.
    pub attempts: u64,
    pub transient: u64,
    pub repairs: u64,
    pub active_ms: u64,
    pub extra: Extra,
}

/// The pair of the contract, as decimal text: the counts have no largest value.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureText {
    pub attempts: String,
    pub verdicts: String,
    pub extra: Extra,
}

impl RunStatus {
    pub const WORDS: [(&'static str, RunStatus); 7] = [
        ("aligned", RunStatus::Aligned),
        ("running", RunStatus::Running),
        ("redirecting", RunStatus::Redirecting),
        ("completed", RunStatus::Completed),
        ("stopped", RunStatus::Stopped),
        ("exhausted", RunStatus::Exhausted),
        ("needs_guidance", RunStatus::NeedsGuidance),
    ];

    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Aligned => "aligned",
            RunStatus::Running => "running",
            RunStatus::Redirecting => "redirecting",
            RunStatus::Completed => "completed",
            RunStatus::Stopped => "stopped",
            RunStatus::Exhausted => "exhausted",
            RunStatus::NeedsGuidance => "needs_guidance",
        }
    }

    pub fn is_active(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::Redirecting)
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            id: None,
            status: RunStatus::Aligned,
            epoch: Epoch(0),
            iteration: 0,
            pass: 1,
            attempts_started: 0,
            in_flight: Vec::new(),
            head: None,
            line: Shared::default(),
            delivered: None,
            started_from: None,
            agreed: None,
            verdicts: Shared::default(),
            spent: Usage::default(),
            measure: None,
            last_result: None,
            parent: None,
            extra: Extra::default(),
        }
    }
}

fn each<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: impl Fn(&Node, &str, &mut Findings) -> Option<T>,
) -> Vec<T> {
    fields
        .list(key)
        .into_iter()
        .filter_map(|(at, node)| read(node, &at, fields.found))
        .collect()
}

fn one<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: impl Fn(&Node, &str, &mut Findings) -> Option<T>,
) -> Option<T> {
    let node = fields.take(key)?;
    let at = fields.at(key);
    read(node, &at, fields.found)
}

impl Run {
    /// The commit of the result: what the last ending delivered, else the head.
    pub fn result(&self) -> Option<&CommitId> {
        self.delivered.as_ref().or(self.head.as_ref())
    }

    /// The name of one more attempt: never one that was given before.
    pub fn next_attempt(&mut self, atom: &AtomId) -> AttemptId {
        self.attempts_started += 1;
        AttemptId::new(alloc::format!("{atom}.{}", self.attempts_started))
    }

    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        Some(Self {
            id: fields.text("id").map(RunId::new),
            status: fields
                .word("status", &RunStatus::WORDS)
                .unwrap_or(RunStatus::Aligned),
            epoch: Epoch(fields.count("epoch").unwrap_or(0)),
            iteration: fields.count("iteration").unwrap_or(0),
            pass: fields.count("pass").unwrap_or(1),
            attempts_started: fields.count("attempts_started").unwrap_or(0),
            in_flight: each(&mut fields, "in_flight", Intent::read),
            head: fields.text("head").map(CommitId::new),
            line: each(&mut fields, "line", ResultCommit::read).into(),
            delivered: fields.text("delivered").map(CommitId::new),
            started_from: one(&mut fields, "started_from", StartedFrom::read),
            agreed: one(&mut fields, "agreed", Agreed::read),
            verdicts: each(&mut fields, "verdicts", VerdictRecord::read).into(),
            spent: one(&mut fields, "spent", Usage::read).unwrap_or_default(),
            measure: one(&mut fields, "measure", MeasureText::read),
            last_result: fields.take("last_result").cloned(),
            parent: fields.take("parent").cloned(),
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.some("id", self.id.as_ref().map(|id| Node::string(id.as_str())));
        to.text("status", self.status.word());
        to.put("epoch", Node::uint(self.epoch.0))
            .put("iteration", Node::uint(self.iteration));
        to.put("pass", Node::uint(self.pass))
            .put("attempts_started", Node::uint(self.attempts_started));
        to.put(
            "in_flight",
            Node::array(self.in_flight.iter().map(Intent::node).collect()),
        );
        to.some(
            "head",
            self.head.as_ref().map(|head| Node::string(head.as_str())),
        );
        if !self.line.is_empty() {
            let nodes = self.line.iter().map(ResultCommit::node);
            to.put("line", Node::array(nodes.collect()));
        }
        to.some(
            "delivered",
            self.delivered
                .as_ref()
                .map(|one| Node::string(one.as_str())),
        );
        to.some(
            "started_from",
            self.started_from.as_ref().map(StartedFrom::node),
        );
        to.some("agreed", self.agreed.as_ref().map(Agreed::node));
        if !self.verdicts.is_empty() {
            let nodes = self.verdicts.iter().map(VerdictRecord::node);
            to.put("verdicts", Node::array(nodes.collect()));
        }
        to.put("spent", self.spent.node());
        to.some("measure", self.measure.as_ref().map(MeasureText::node));
        to.some("last_result", self.last_result.clone());
        to.some("parent", self.parent.clone());
        to.finish(&self.extra)
    }
}

impl Intent {
    /// Tells this very intent from every other, a made-again one of the same number too.
    pub fn digest(&self) -> Digest {
        Digest::of(doc::canonical(&self.node()).as_bytes())
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        for key in ["id", "atom", "context"] {
            let _ = fields.need(key);
        }
        let id = fields.attempt("id");
        let atom = fields.text("atom").map(AtomId::new);
        let context = fields.text("context").map(Digest::new);
        let choices = super::record::choices(fields.pairs("choices"));
        let epoch = Epoch(fields.count("epoch").unwrap_or(0));
        let n = fields.small("n").unwrap_or(1);
        let external = fields
            .word("effect", &[("tree", false), ("external", true)])
            .unwrap_or(false);
        let idempotent = fields.flag("idempotent");
        if fields.keeps("effect") {
            fields.keep("idempotent");
        }
        let effect = if external {
            SideEffect::External { idempotent }
        } else {
            SideEffect::Tree
        };
        let base = fields.text("base").map(CommitId::new);
        let at = fields.text_or_empty("at");
        let extra = fields.finish();
        Some(Self {
            id: id?,
            atom: atom?,
            context: context?,
            choices,
            epoch,
            n,
            effect,
            base,
            at,
            extra,
        })
    }

    fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("id", self.id.as_str())
            .text("atom", self.atom.as_str())
            .text("context", self.context.as_str());
        if !self.choices.is_empty() {
            to.put("choices", pairs_node(&self.choices));
        }
        to.put("epoch", Node::uint(self.epoch.0))
            .put("n", Node::uint(u64::from(self.n)));
        if let SideEffect::External { idempotent } = self.effect {
            to.text("effect", "external")
                .put("idempotent", Node::bool(idempotent));
        }
        to.some(
            "base",
            self.base.as_ref().map(|base| Node::string(base.as_str())),
        )
        .text("at", &self.at);
        to.finish(&self.extra)
    }
}

impl ResultCommit {
    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let _ = (fields.need("atom"), fields.need("commit"));
        let (atom, commit) = (fields.text("atom"), fields.text("commit"));
        let extra = fields.finish();
        let (atom, commit) = (AtomId::new(atom?), CommitId::new(commit?));
        Some(Self {
            atom,
            commit,
            extra,
        })
    }

    fn node(&self) -> Node {
        Writer::default()
            .text("atom", self.atom.as_str())
            .text("commit", self.commit.as_str())
            .finish(&self.extra)
    }
}

impl StartedFrom {
    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        for key in ["commit", "tree", "head"] {
            let _ = fields.need(key);
        }
        let (commit, tree, head) = (
            fields.text("commit"),
            fields.text("tree"),
            fields.text("head"),
        );
        let (branch, dirty) = (fields.text("branch"), fields.flag("dirty"));
        let extra = fields.finish();
        let (commit, tree, head) = (
            CommitId::new(commit?),
            TreeId::new(tree?),
            CommitId::new(head?),
        );
        Some(Self {
            commit,
            tree,
            head,
            branch,
            dirty,
            extra,
        })
    }

    fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("commit", self.commit.as_str())
            .text("tree", self.tree.as_str())
            .text("head", self.head.as_str());
        to.some("branch", self.branch.as_deref().map(Node::string))
            .put("dirty", Node::bool(self.dirty));
        to.finish(&self.extra)
    }
}

impl Usage {
    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        Some(Self {
            attempts: fields.count("attempts").unwrap_or(0),
            transient: fields.count("transient").unwrap_or(0),
            repairs: fields.count("repairs").unwrap_or(0),
            active_ms: fields.count("active_ms").unwrap_or(0),
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.put("attempts", Node::uint(self.attempts))
            .put("transient", Node::uint(self.transient));
        to.put("repairs", Node::uint(self.repairs))
            .put("active_ms", Node::uint(self.active_ms));
        to.finish(&self.extra)
    }
}

impl MeasureText {
    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let mut decimal = |key: &'static str| {
            let node = fields.take(key)?;
            node.as_u64()
                .map(|count| format!("{count}"))
                .or_else(|| node.as_str().map(ToOwned::to_owned))
        };
        let (attempts, verdicts) = (decimal("attempts"), decimal("verdicts"));
        let extra = fields.finish();
        Some(Self {
            attempts: attempts?,
            verdicts: verdicts?,
            extra,
        })
    }

    pub fn node(&self) -> Node {
        let decimal = |text: &str| text.parse().map_or_else(|_| Node::string(text), Node::uint);
        let mut to = Writer::default();
        to.put("attempts", decimal(&self.attempts))
            .put("verdicts", decimal(&self.verdicts));
        to.finish(&self.extra)
    }
}
