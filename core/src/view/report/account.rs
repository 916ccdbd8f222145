//! The account of an ending: how near it came, what it took, and who is accountable.

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::CommitId,
    state::{
        account::{Accountable, LastDirective, RunMetrics},
        check::Thousandths,
        final_result::FinalResultRecord,
    },
    view::law::DirectiveView,
};

/// How near a run came, what it took, and who is accountable. Shares are from 0 to 1.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountReport {
    pub accountable: Accountable,
    /// The distance of the delivered tree from the base case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<String>,
    /// The share of logical failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<String>,
    /// The used share of changes and budgets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directive: Option<LastDirective>,
    /// How often the plan was changed.
    pub changes: u64,
    /// The nearest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<CommitId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
}

/// Counts of the tasks of the state, and of their attempts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricsReport {
    /// Tasks that were solved by their first attempt.
    pub solved_at_first: u64,
    pub solved_later: u64,
    /// Tasks that were tried and are not solved.
    pub unsolved: u64,
    pub attempts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_attempts: Option<String>,
    pub rested: u64,
    pub woken: u64,
    pub transient: u64,
    pub interruptions: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<DirectiveView>,
}

pub(super) fn account(last: &FinalResultRecord) -> Option<AccountReport> {
    let loss = last.loss.as_ref();
    Some(AccountReport {
        accountable: last.accountable?,
        d: loss.map(|loss| loss.d.text()),
        p: loss.map(|loss| loss.p.text()),
        omega: loss.map(|loss| loss.omega.text()),
        l: loss.map(|loss| loss.l.text()),
        directive: last.directive,
        changes: last.changes,
        best: last.best.as_ref().and_then(|best| best.commit.clone()),
        metrics: last.metrics.as_ref().map(metrics),
    })
}

fn metrics(of: &RunMetrics) -> MetricsReport {
    MetricsReport {
        solved_at_first: of.solved_at_first,
        solved_later: of.solved_later,
        unsolved: of.unsolved,
        attempts: of.attempts,
        mean_attempts: of.mean_attempts.map(Thousandths::text),
        rested: of.rested,
        woken: of.woken,
        transient: of.transient,
        interruptions: of.interruptions,
        directives: of.directives.iter().map(DirectiveView::from).collect(),
    }
}
