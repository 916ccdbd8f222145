//! Model calls, tokens and money: what was spent, and by which agent.
//!
//! Not here: how it is drawn (the shell).

use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

use crate::{
    doc::Node,
    id::{AgentName, AtomId},
    state::{AgentSpent, AgentWait, State, Usage, fields::Findings},
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitView {
    /// Absent for a question that is no atom's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atom: Option<AtomId>,
    /// The role of such a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub agent: AgentName,
    pub until: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl WaitView {
    /// The atom or the role.
    pub fn name(&self) -> &str {
        let role = self.role.as_deref().unwrap_or_default();
        self.atom.as_ref().map_or(role, AtomId::as_str)
    }
}

pub fn waits(state: &State) -> Vec<WaitView> {
    let view = |wait: &AgentWait| WaitView {
        atom: wait.atom.clone(),
        role: wait.role.map(|role| role.word().into()),
        agent: wait.agent.clone(),
        until: wait.until.clone(),
        because: wait.because.clone(),
    };
    state.run.waits.iter().map(view).collect()
}

/// Agents in the order of their names, each with all its roles.
pub fn by_agent(rows: &[AgentSpent]) -> Vec<AgentUsageView> {
    let mut agents: Vec<(&AgentName, u64, Usage)> = Vec::new();
    for row in rows {
        match agents.iter_mut().find(|(agent, ..)| *agent == &row.agent) {
            Some((_, attempts, usage)) => {
                *attempts = attempts.saturating_add(row.attempts);
                usage.add(&row.usage);
            }
            None => agents.push((&row.agent, row.attempts, row.usage.clone())),
        }
    }
    agents.sort_by_key(|(agent, ..)| *agent);
    let view = |(agent, attempts, usage): (&AgentName, u64, Usage)| AgentUsageView {
        agent: agent.clone(),
        attempts,
        usage: UsageView::of(&usage).unwrap_or_default(),
    };
    agents.into_iter().map(view).collect()
}

/// The agents of a final result, as it was written.
pub fn of_result(result: &Node) -> Vec<AgentUsageView> {
    let rows = result.get("spent_by_agent").and_then(Node::as_array);
    let rows = rows.unwrap_or_default().iter();
    let rows = rows.filter_map(|row| AgentSpent::read(row, "", &mut Findings::default()));
    by_agent(&rows.collect::<Vec<_>>())
}
