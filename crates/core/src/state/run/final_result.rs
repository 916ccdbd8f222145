//! The ending of a run as the state keeps it, and the final result that is made from it (contract §9).
//!
//! Not here: what is computed from the rest of the state (`step/run_end`).

use super::{
    AgentSpent, RunStatus, Spent,
    account::{Accountable, LastDirective, RunMetrics},
};
use crate::doc::prelude::*;
use crate::{
    doc::{Node, Value},
    id::{AtomId, CommitId, Lineage},
    state::{
        FailureClass, JudgedBy, UsageLimit,
        check::Thousandths,
        fields::{Extra, Writer},
        law::{Loss, NearestCommit, SignedThousandths},
        record::{Choices, EvidenceRecord},
        table::{Part, record, words},
    },
};

record! {
    part
    /// The facts about an ending that only the ending knows
    #[derive(Default)]
    pub struct EndingFacts {
        /// Absent before the first ending, and while a run is at work
        optional[program] reason: Reason,
        /// The stable code of an agent's trouble
        optional[program] code: AgentTrouble,
        /// When it ended
        optional[program] ended: String,
        /// How it ended, in a sentence
        filled[program] summary: String,
        /// Titles of leaves that failed and held on one tree
        filled[program] unsteady: Vec<String>,
        /// Parts of plans that their budgets left open
        filled[program] missing: Vec<DroppedPart>,
        /// The next commands where an agent or the setup is to blame
        filled[internal] moves: Vec<String>,
        /// The processes that a stop ended
        optional[internal] stopped: EndedProcesses,
        /// How near the delivered tree is
        optional[internal] loss: Loss,
    }
}

record! {
    /// The newest verdict on each leaf of the base case, of the tree that an ending delivered
    pub struct JudgedLeaves {
        always[program] at: String,
        always[program] evidence: Vec<EvidenceRecord>,
    }
}

record! {
    part
    /// How a run ended
    pub struct FinalResultRecord {
        optional result: RunStatus,
        optional reason: Reason,
        optional lineage: Lineage,
        optional at: String,
        /// The stable code of an agent's trouble
        optional code: AgentTrouble,
        always summary: String,
        /// It in words: what was asked, what holds, what was done, what is open
        optional output: FinalOutput,
        /// How near the delivered tree is
        optional loss: Loss,
        /// The change of the loss since the last point of the control law
        optional grad_l: SignedThousandths,
        optional directive: LastDirective,
        /// How often the plan was changed
        filled changes: u64,
        /// The nearest tree
        optional best: NearestCommit,
        optional accountable: Accountable,
        optional metrics: RunMetrics,
        /// The place where it ran out of passes, or of anything else
        optional expired: Expiry,
        always iterations: u64,
        /// Each leaf of the base case, as it was measured last
        always evidence: Vec<EvidenceRecord>,
        /// How much held on the delivered tree
        optional verdict: ResultVerdict,
        /// Titles of leaves that failed and held on one tree
        filled unsteady: Vec<String>,
        always done: Vec<DoneAtom>,
        /// Parts of plans that their budgets left open
        filled missing: Vec<DroppedPart>,
        /// Agreed steps that are open though the base case holds
        filled open: Vec<OpenStep>,
        /// Questions that wait for a person's answer
        filled questions: Vec<PersonQuestion>,
        always failed: Vec<FailedAtom>,
        always next_moves: Vec<String>,
        optional workspace: ResultWorkspace,
        optional spent: Spent,
        /// The part of each agent that reports its usage
        filled spent_by_agent: Vec<AgentSpent>,
        /// The processes that a stop ended
        optional ended: EndedProcesses,
    }
}

record! {
    /// The final answer, whatever the ending
    pub struct FinalOutput {
        always text: String,
        /// The share of the leaves of the base case that hold
        optional confidence: Thousandths,
        /// The atoms whose changes are in the result
        filled used: Vec<AtomId>,
        filled notes: Vec<String>,
        /// Whether an agent doubts that the result is what was asked: advice, not proof
        filled doubted: bool,
        /// Who worded it
        optional by: JudgedBy,
    }
}

record! {
    /// The processes that a stop ended, and how long the last of them lived on
    pub struct EndedProcesses {
        always processes: u64,
        /// From the moment when the loop noticed the request
        always ms: u64,
    }
}

words! {
    /// The trouble of an agent that ended a run
    pub enum AgentTrouble {
        /// It is not logged in, or its key is missing or wrong
        Login = "E-AGENT-LOGIN",
        /// Its account has no credit left
        Credit = "E-AGENT-CREDIT",
        /// Its program is not installed
        Missing = "E-AGENT-MISSING",
        /// It tells no cost, and `cost_usd` is set
        Cost = "E-AGENT-COST",
        /// It ends at once and does nothing, in three atoms alike
        Protocol = "E-AGENT-PROTOCOL",
        /// The base case needs a judge, and none is configured
        NoJudge = "E-NO-JUDGE",
        /// The judge gave no rating that could be used
        NoRating = "E-NO-RATING",
        /// The place of a provider's key cannot be read
        NoKey = "E-KEY",
        /// A provider has no such model
        Model = "E-MODEL",
        /// A provider never takes what it is asked
        Provider = "E-PROVIDER",
        /// A question does not fit into the context of a provider
        Context = "E-CONTEXT",
        /// A provider cannot be connected to, or is down
        Unreachable = "E-AGENT-UNREACHABLE",
        /// No agent's: the state has no room for what the run made
        NoRoom = "E-STATE-TOO-LARGE",
    }
}

words! {
    /// The place among its passes where a run ran out of something
    pub enum Expiry {
        /// No pass was left
        Boundary = "boundary",
        /// Something else was used up with work open
        MidPhase = "mid_phase",
    }
}

words! {
    /// Why a run ended: the contract's closed list, as far as this program can end so.
    pub enum Reason {
        AlreadyHeld = "already_held",
        BaseCase = "base_case",
        Stopped = "stopped",
        NoChoice = "no_choice",
        Passes = "passes",
        /// The control law ended planning, and what the plan holds was tried
        Abandoned = "abandoned",
        Iterations = "budget.iterations",
        Time = "budget.time",
        Calls = "budget.calls",
        Tokens = "budget.tokens",
        Cost = "budget.cost_usd",
        Guidance = "guidance",
        InDoubt = "in_doubt",
        Confirmation = "confirmation",
        Unavailable = "unavailable",
        Bug = "bug",
    }
}

record! {
    /// How much of the base case held on the delivered tree, and the selection that the tree was made under
    pub struct ResultVerdict {
        always held: u64,
        always of: u64,
        always pristine: bool,
        filled choices: Choices,
    }
}

record! {
    /// A resolved atom
    pub struct DoneAtom {
        always atom: AtomId,
        always summary: String,
        always attempts: u32,
        optional commit: CommitId,
    }
}

record! {
    /// A part of a plan that the budget of the plan left open
    pub struct DroppedPart {
        /// The part
        always atom: AtomId,
        /// The step whose part it is
        always of: AtomId,
        /// Its task
        always description: String,
    }
}

record! {
    /// An agreed step that is open
    pub struct OpenStep {
        always atom: AtomId,
        always description: String,
        optional reason: String,
    }
}

record! {
    /// A question that waits for a person's answer
    pub struct PersonQuestion {
        always atom: AtomId,
        always question: String,
        /// Answers to choose from
        filled options: Vec<String>,
    }
}

record! {
    /// An atom that failed, or the base case
    pub struct FailedAtom {
        always atom: String,
        optional choices: Choices,
        optional attempts: u64,
        always class: FailureClass = FailureClass::Logical,
        always reason: String,
        optional evidence: Vec<EvidenceRecord>,
    }
}

record! {
    /// The place of the delivered tree
    pub struct ResultWorkspace {
        always kind: String,
        optional base: CommitId,
        optional commit: CommitId,
    }
}

impl Reason {
    /// The reason of a run that came to a limit of usage.
    pub fn of_limit(limit: UsageLimit) -> Option<Self> {
        Self::of_word(limit.key())
    }

    /// The limit of usage that ended the run.
    pub fn usage_limit(self) -> Option<UsageLimit> {
        UsageLimit::ALL.into_iter().find(|limit| limit.key() == self.word())
    }

    /// A person is needed before anything else can be judged.
    pub fn asks_a_person(self) -> bool {
        matches!(self, Reason::Guidance | Reason::InDoubt | Reason::Confirmation)
    }
}

impl EndingFacts {
    /// Whether the run has ended, and no other began since.
    pub fn is_known(&self) -> bool {
        self.reason.is_some()
    }
}

/// The name of the base case among what failed.
pub const BASE_CASE: &str = "base case";

impl FinalResultRecord {
    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        self.write(&mut to);
        let mut members = to.finish(&Extra::default()).into_members();
        let spent = members.iter_mut().find(|member| member.key == "spent");
        if let (Some(member), Some(spent)) = (spent, &self.spent) {
            member.node = spent.whole();
        }
        Value::Object(members).into()
    }

    /// Failures that are not over. A selection under which the base case did not hold is over once it holds.
    pub fn still_failed(&self) -> impl Iterator<Item = &FailedAtom> {
        let holds = self.result == Some(RunStatus::Completed);
        let failed = self.failed.iter();
        failed.filter(move |one| !(holds && one.atom == BASE_CASE))
    }
}
