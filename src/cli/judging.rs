//! Evaluating every leaf of a base case once, outside of a loop: for `align` and `verify`.

use std::time::Duration;

use descent_core::{
    id::CommitId,
    state::{Check, CheckKind, State},
    verdict::{self, Measured, Verdict},
    view::Judged,
};
use tokio_util::sync::CancellationToken;

use super::context::Context;
use crate::{
    driver,
    failure::Failure,
    process,
    store::Place,
    verify,
    workspace::{Checkout, Workspaces},
};

/// Verdicts on all leaves, in a clean checkout of `commit` (in place where the workspace is shared).
pub(super) async fn all_leaves(
    context: &Context,
    place: &Place,
    state: &State,
    workspaces: &Workspaces,
    commit: Option<CommitId>,
    checkout: Checkout,
    cancel: CancellationToken,
) -> Result<Vec<Judged>, Failure> {
    let environment = context.environment(state);
    let mark = format!("{}/judging", place.mark());
    if let Err(error) = process::become_subreaper() {
        tracing::warn!(%error, "orphans of checks go to init instead of here");
    }
    let at = driver::prepare_checkout(workspaces, checkout, commit, &environment, &mark, &cancel)
        .await?;
    let Some(at) = at else { return Ok(Vec::new()) };
    let timeout = Duration::from_millis(state.objective.constraints.attempt_timeout_ms());
    let mut judged = Vec::new();
    for leaf in state.objective.base_case.iter().flat_map(Check::leaves) {
        let Some(rule) = leaf.leaf() else { continue };
        if !rule.is_machine() {
            judged.push(open(leaf));
            continue;
        }
        let Some(seen) = verify::measure(rule, &at, &environment, timeout, &mark, &cancel).await
        else {
            break;
        };
        let ended = match &seen.what {
            Measured::Command {
                how,
                number: Some(number),
                ..
            } => format!("{}, number {number}", how.text()),
            Measured::Command { how, .. } => how.text(),
            Measured::Files { found, .. } => format!("{found} found"),
        };
        judged.push(Judged {
            check: leaf.title(),
            verdict: verdict::of_leaf(rule, &seen),
            ended,
            duration_ms: seen.duration_ms,
            output: seen.excerpt,
        });
    }
    Ok(judged)
}

/// The verdict of the whole tree, from those of its leaves.
pub(super) fn whole(state: &State, judged: &[Judged]) -> Verdict {
    let mut verdicts = judged.iter().map(|judged| judged.verdict);
    state
        .objective
        .base_case
        .as_ref()
        .map_or(Verdict::Unknown, |check| combine(check, &mut verdicts))
}

fn combine(check: &Check, verdicts: &mut impl Iterator<Item = Verdict>) -> Verdict {
    let (parts, decisive, other) = match &check.kind {
        CheckKind::Leaf(_) => return verdicts.next().unwrap_or(Verdict::Unknown),
        CheckKind::All(parts) => (parts, Verdict::Fail, Verdict::Pass),
        CheckKind::Any(parts) => (parts, Verdict::Pass, Verdict::Fail),
    };
    // Every part is looked at, so that each takes its own leaves.
    let parts: Vec<Verdict> = parts.iter().map(|part| combine(part, verdicts)).collect();
    if parts.contains(&decisive) {
        decisive
    } else if parts.contains(&Verdict::Unknown) {
        Verdict::Unknown
    } else {
        other
    }
}

fn open(leaf: &Check) -> Judged {
    Judged {
        check: leaf.title(),
        verdict: Verdict::Unknown,
        ended: "a person confirms it".to_owned(),
        duration_ms: 0,
        output: String::new(),
    }
}
