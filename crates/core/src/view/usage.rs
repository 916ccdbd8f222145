//! Model calls, tokens and money that were spent, and by which agent; and the bound of what can still happen. A number too
//! large for some readers is a decimal string.
//!
//! Not here: how it is drawn (the shell), how the bound is counted (`measure`).

use crate::doc::prelude::*;
use alloc::string::ToString as _;

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use crate::{
    doc::Node,
    id::{AgentName, AtomId},
    measure::RunBound,
    state::{AgentSpent, AgentWait, Duty, FreeValue, State, Usage},
    wording::KeptBudget,
};

/// Usage, as far as agents reported it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageView {
    pub calls: u64,
    pub tokens: TokensView,
    /// Dollars, as decimal text; absent if no agent tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Whether a part of it is an estimate.
    pub estimated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokensView {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

/// The usage of one agent, in all its roles.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentUsageView {
    pub agent: AgentName,
    /// Attempts from the first one on whose usage is known.
    pub attempts: u64,
    #[serde(flatten)]
    pub usage: UsageView,
}

impl UsageView {
    /// `None` if nothing was reported.
    pub fn of(usage: &Usage) -> Option<Self> {
        (!usage.is_none()).then(|| Self {
            calls: usage.calls,
            tokens: TokensView {
                input: usage.tokens.input,
                output: usage.tokens.output,
                cached: usage.tokens.cached,
            },
            cost_usd: usage.cost.map(|cost| cost.text()),
            estimated: usage.is_estimated,
        })
    }
}

impl TokensView {
    pub fn total(&self) -> u64 {
        let read = self.input.saturating_add(self.cached);
        read.saturating_add(self.output)
    }
}

/// An atom, or a question to a role, that waits until the provider of its agent takes more.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitView {
    /// Absent for a question that is no atom's.
    pub atom: Option<AtomId>,
    /// Such a question, with its role.
    pub question: Option<String>,
    pub agent: AgentName,
    pub until: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl WaitView {
    /// The atom or the question.
    pub fn name(&self) -> &str {
        let question = self.question.as_deref().unwrap_or_default();
        self.atom.as_ref().map_or(question, AtomId::as_str)
    }
}

pub fn waits(state: &State) -> Vec<WaitView> {
    let view = |wait: &AgentWait| WaitView {
        atom: wait.atom.clone(),
        question: wait.question.map(|question| Duty::from(question).text()),
        agent: wait.agent.clone(),
        until: wait.until.clone(),
        because: wait.because.clone(),
    };
    state.run.waits.iter().map(view).collect()
}

/// Agents in the order of their names, each with all its roles.
pub fn by_agent(rows: &[AgentSpent]) -> Vec<AgentUsageView> {
    let mut agents: BTreeMap<&AgentName, (u64, Usage)> = BTreeMap::new();
    for row in rows {
        let (attempts, usage) = agents.entry(&row.agent).or_default();
        *attempts = attempts.saturating_add(row.attempts);
        usage.add(&row.usage);
    }
    let view = |(agent, (attempts, usage)): (&AgentName, (u64, Usage))| AgentUsageView {
        agent: agent.clone(),
        attempts,
        usage: UsageView::of(&usage).unwrap_or_default(),
    };
    agents.into_iter().map(view).collect()
}

/// The bound of the remaining work; decimal strings above 2^64.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundView {
    pub attempts: FreeValue,
    pub verdicts: FreeValue,
    /// Starts of attempts, with every transient retry, repair and interruption.
    pub starts: FreeValue,
    /// Questions to judges; absent where nothing is rated.
    pub consults: Option<FreeValue>,
    /// The parts of the limits of usage that are kept for the wording of the final answer.
    #[serde(default, skip_serializing_if = "KeptBudget::is_none")]
    pub kept: KeptBudget,
    /// The part that changes of the plan by planners may add; absent if no planner may change it.
    pub changes: Option<ChangesBoundView>,
}

/// The most that changes of the plan may add.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesBoundView {
    /// Changes that may still be tried.
    pub left: u32,
    /// Attempts that each of them may add.
    pub attempts_each: FreeValue,
}

impl From<RunBound> for BoundView {
    fn from(bound: RunBound) -> Self {
        let counted = |count: &BigUint| match u64::try_from(count) {
            Ok(count) => Node::uint(count),
            Err(_) => Node::string(count.to_string()),
        };
        Self {
            attempts: counted(&bound.attempts),
            verdicts: counted(&bound.verdicts),
            starts: counted(&bound.starts),
            consults: bound.consults.as_ref().map(counted),
            kept: bound.kept,
            changes: bound.changes.map(|changes| ChangesBoundView {
                left: changes.left,
                attempts_each: counted(&changes.attempts_each),
            }),
        }
    }
}
