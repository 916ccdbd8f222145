//! Findings about the curve of the control law: it moves without coming nearer, or costs more than it brings.

use alloc::{format, string::ToString, vec::Vec};

use super::{AuditCode, AuditFinding};
use crate::state::law::LawWeights;
use crate::{
    law,
    state::{
        RunStatus, State,
        law::{CurvePoint, Directive, DirectiveOutcome, LawRecord},
    },
};

/// Directives to break with everything, since the result came nearer.
const BREAKS_MIN: u64 = 2;
/// Passes without a result that is nearer.
const IDLE_PASSES_MIN: u64 = 3;
/// A directive that was given so often is judged by what followed.
const GIVEN_MIN: u64 = 4;
/// It helps where progress followed more often than once in so many times.
const FOLLOWED_ONE_IN: u64 = 4;
/// The used share from which on it is compared with what is reached, and the difference that is told, in thousandths.
const USED_MIN: u32 = 500;
const DRIFT_MIN: i64 = 300;

pub(super) fn findings(state: &State) -> Vec<AuditFinding> {
    let Some(law) = state.run.law.as_ref() else {
        return Vec::new();
    };
    let idle = law.outcomes.iter().filter_map(idle);
    // A run that reached its goal came nearer, whatever its curve was before.
    let is_over = state.run.status == RunStatus::Completed;
    let least = i64::from(LawWeights::OF_PROGRAM.epsilon.0);
    let since = (!is_over).then(|| since_progress(&law.curve, least));
    let since = since.unwrap_or_default();
    // The directive at an end was given to nobody.
    let given = if state.run.status.is_active() {
        since
    } else {
        since.split_last().map_or(since, |(_, given)| given)
    };
    let moving = [thrashing(given), no_progress(since)].into_iter().flatten();
    let drift = budget_drift(law).filter(|_| !is_over);
    moving.chain(drift).chain(idle).collect()
}

/// The points from the last one on that was nearer than all before by `least`.
fn since_progress(curve: &[CurvePoint], least: i64) -> &[CurvePoint] {
    let mut from = 0;
    for (place, point) in curve.iter().enumerate() {
        let nearest = curve.get(from).map_or(point.loss.d.0, |nearest| nearest.loss.d.0);
        let fell = i64::from(nearest) - i64::from(point.loss.d.0);
        if fell > 0 && fell >= least {
            from = place;
        }
    }
    curve.get(from..).unwrap_or_default()
}

fn thrashing(since: &[CurvePoint]) -> Option<AuditFinding> {
    let breaks = since.iter().filter(|one| one.directive == Directive::BreakSymmetry);
    let count = breaks.count() as u64;
    (count >= BREAKS_MIN).then(|| AuditFinding {
        code: AuditCode::Thrashing,
        count,
        what: format!("break_symmetry was given {count} times, and the result came no nearer"),
        hint: "guide the planner, give it other tools, or split the base case: descent redirect",
    })
}

fn no_progress(since: &[CurvePoint]) -> Option<AuditFinding> {
    let first = since.first()?;
    let mut passes: Vec<u64> = since.iter().map(|one| one.pass).collect();
    passes.dedup();
    let count = (passes.len() as u64).saturating_sub(1);
    (count >= IDLE_PASSES_MIN).then(|| AuditFinding {
        code: AuditCode::NoProgress,
        count,
        what: format!("{count} passes brought the result no nearer than {}", first.loss.d.text()),
        hint: "descent why, then descent redirect or descent guide",
    })
}

fn budget_drift(law: &LawRecord) -> Option<AuditFinding> {
    let point = law.point.as_ref()?;
    // The nearest tree is the one that is delivered.
    let nearest = law.best.as_ref().map_or(point.loss.d, |best| best.d.min(point.loss.d));
    let reached = i64::from(law::ONE) - i64::from(nearest.0);
    let drift = i64::from(point.loss.omega.0) - reached;
    (point.loss.omega.0 >= USED_MIN && drift > DRIFT_MIN).then(|| AuditFinding {
        code: AuditCode::BudgetDrift,
        count: 1,
        what: format!(
            "{} of changes and budgets is used up, and the nearest result lacks {} of the base case",
            point.loss.omega.text(),
            nearest.text()
        ),
        hint: "raise the budget that is used up most, or ask for less: descent redirect",
    })
}

fn idle(one: &DirectiveOutcome) -> Option<AuditFinding> {
    let is_idle =
        one.given >= GIVEN_MIN && one.followed.saturating_mul(FOLLOWED_ONE_IN) <= one.given;
    is_idle.then(|| AuditFinding {
        code: AuditCode::LawIdle,
        count: one.given,
        what: format!(
            "{} was given {} times, and progress followed {}",
            one.directive.word(),
            one.given,
            match one.followed {
                0 => "never".to_string(),
                1 => "once".to_string(),
                followed => format!("{followed} times"),
            }
        ),
        hint: "the control law does not help here: --set law=show",
    })
}
