//! Model calls, tokens and money: what was spent, by which agent, and how little is left.
//!
//! Not here: how it is drawn (the shell).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde::{Deserialize, Serialize};

use crate::{
    doc::Node,
    id::{AgentName, AtomId},
    state::{AgentSpent, AgentWait, State, Usage, UsageLimit, fields::Findings},
};

/// The part of a limit from which on agents are told, in percent.
const TOLD_PERCENT: u64 = 20;

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

/// A limit of which little is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLeft {
    pub limit: UsageLimit,
    /// In model calls, tokens, or millionths of a dollar.
    pub left: u64,
    pub of: u64,
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

/// An atom that waits until the provider of its agent takes more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitView {
    pub atom: AtomId,
    pub agent: AgentName,
    pub until: String,
}

pub fn waits(state: &State) -> Vec<WaitView> {
    let view = |wait: &AgentWait| WaitView {
        atom: wait.atom.clone(),
        agent: wait.agent.clone(),
        until: wait.until.clone(),
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

/// The limits of the run of which a fifth at most is left, without what is reserved for attempts in flight.
pub fn budget_left(state: &State) -> Vec<BudgetLeft> {
    let constraints = &state.objective.constraints;
    let left = UsageLimit::ALL.into_iter().filter_map(|limit| {
        let of = constraints.usage(limit)?;
        let reserved = state.run.in_flight.iter();
        let reserved: u64 = reserved.map(|intent| intent.reserved.of(limit)).sum();
        let used = state.run.spent.usage.of(limit).saturating_add(reserved);
        let left = of.saturating_sub(used);
        let is_little = left.saturating_mul(100) <= of.saturating_mul(TOLD_PERCENT);
        is_little.then_some(BudgetLeft { limit, left, of })
    });
    left.collect()
}

impl BudgetLeft {
    /// As an agent is told: `model_calls: 2 of 10 are left`.
    pub fn text(&self) -> String {
        let (key, left, of) = (
            self.limit.key(),
            self.limit.text(self.left),
            self.limit.text(self.of),
        );
        let mut text = key.to_string();
        text.extend([": ", &left, " of ", &of, " are left"]);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{id::Lineage, plan};

    fn state(limits: &str, spent: Usage) -> State {
        let text = alloc::format!(
            r#"{{"objective": {{"goal": "g", "base_case": {{"command": "make"}}, "constraints": {limits}}}}}"#
        );
        let mut state = plan::read(text.as_bytes()).into_state(Lineage::new("l"));
        alloc::sync::Arc::make_mut(&mut state.run).spent.usage = spent;
        state
    }

    #[test]
    fn agents_are_told_from_a_fifth_on() {
        let calls = |calls| Usage {
            calls,
            ..Usage::default()
        };
        let limits = r#"{"model_calls": 10, "cost_usd": "1"}"#;
        assert_eq!(budget_left(&state(limits, calls(7))), []);
        let left = budget_left(&state(limits, calls(8)));
        let texts: Vec<String> = left.iter().map(BudgetLeft::text).collect();
        assert_eq!(texts, ["model_calls: 2 of 10 are left"]);
        assert_eq!(budget_left(&state(limits, calls(99)))[0].left, 0);
        assert_eq!(budget_left(&state("{}", calls(99))), []);
    }
}
