//! How little is left of a run's model calls, tokens and money.
//!
//! Not here: whether something may start with it (`step`).

use crate::doc::prelude::*;
use crate::{
    state::{Intent, State, UsageLimit, usage},
    wording,
};

/// A limit of which little is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLeft {
    pub limit: UsageLimit,
    /// In model calls, tokens, or millionths of a dollar.
    pub left: u64,
    pub of: u64,
}

/// The limits of the run of which a fifth at most is left for this attempt. Parts that are reserved for others in flight,
/// or kept for the final answer, are not left.
pub fn budget_left(state: &State, intent: &Intent) -> Vec<BudgetLeft> {
    let constraints = &state.objective.constraints;
    let others = || state.run.in_flight.iter().filter(|other| other.id != intent.id);
    let left = UsageLimit::ALL.into_iter().filter_map(|limit| {
        let of = constraints.usage(limit)?;
        let reserved = others().map(|other| other.reserved.of(limit));
        let used = reserved.fold(state.run.spent.usage.of(limit), u64::saturating_add);
        let left = of.saturating_sub(used.saturating_add(wording::kept(state, limit)));
        usage::is_little(left, of).then_some(BudgetLeft { limit, left, of })
    });
    left.collect()
}

impl BudgetLeft {
    /// As an agent is told: `2 of 10 model calls are left`.
    pub fn text(&self) -> String {
        let (left, of) = (self.limit.text(self.left), self.limit.text(self.of));
        match self.limit {
            UsageLimit::Calls => format!("{left} of {of} model calls are left"),
            UsageLimit::Tokens => format!("{left} of {of} tokens are left"),
            UsageLimit::Cost => format!("${left} of ${of} are left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::{
        id::{AtomId, AttemptId, Digest, Epoch, Lineage},
        plan,
        state::{Role, SideEffect, Usage},
    };

    fn state(limits: &str, spent: Usage) -> State {
        let text = format!(
            r#"{{"objective": {{"goal": "g", "base_case": {{"command": "make"}}, "constraints": {limits}}}}}"#
        );
        let mut state = plan::read(text.as_bytes()).into_state(Lineage::new("l"));
        Arc::make_mut(&mut state.run).spent.usage = spent;
        state
    }

    fn calls(calls: u64) -> Usage {
        Usage { calls, ..Usage::default() }
    }

    fn intent(id: &str, reserved: Usage) -> Intent {
        Intent {
            id: AttemptId::new(id),
            atom: AtomId::new("A"),
            context: Digest::new("c"),
            epoch: Epoch(1),
            effect: SideEffect::Tree,
            role: Role::Worker,
            reserved,
            at: "2026-01-01T00:00:00Z".into(),
            ..Intent::default()
        }
    }

    #[test]
    fn agents_are_told_from_a_fifth_on() {
        let limits = r#"{"budget": {"calls": 10, "cost_usd": "1"}}"#;
        let own = intent("A.1", calls(5));
        assert_eq!(budget_left(&state(limits, calls(7)), &own), []);
        let left = budget_left(&state(limits, calls(8)), &own);
        let texts: Vec<String> = left.iter().map(BudgetLeft::text).collect();
        assert_eq!(texts, ["2 of 10 model calls are left"]);
        assert_eq!(budget_left(&state(limits, calls(99)), &own)[0].left, 0);
        assert_eq!(budget_left(&state("{}", calls(99)), &own), []);
    }

    #[test]
    fn what_others_reserved_is_not_left_and_its_own_reservation_is() {
        let mut state = state(r#"{"budget": {"calls": 10}}"#, calls(4));
        let (own, other) = (intent("A.1", calls(5)), intent("B.2", calls(4)));
        let in_flight = alloc::vec![own.clone(), other];
        Arc::make_mut(&mut state.run).in_flight = in_flight;
        assert_eq!(budget_left(&state, &own)[0].left, 2);
    }
}
