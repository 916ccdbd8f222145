//! Judgements: checks measured in a clean checkout, leaf after leaf, until they are decided.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use descent_core::{
    event::{Event, Merge, Scope},
    id::CommitId,
    owed,
    state::{Check, Leaf},
    step::{Session, World},
    verdict::{self, Basis, Measurement, Verdict},
};
use tokio_util::sync::CancellationToken;

use super::has_room;
use crate::{
    driver::{Measuring, blocking},
    evidence::{Keeper, Shelf},
    failure::{Failure, exit, is_from_outside},
    process::{Programs, environment::Environment},
    space,
    verify::{self, Bench},
    workspace::{Checkout, Workspaces},
};

/// How long `setup` may take in a checkout for checks.
const SETUP_MAX: Duration = Duration::from_secs(1800);

pub(super) struct Judging {
    pub(super) workspaces: Workspaces,
    pub(super) environment: Environment,
    pub(super) programs: Arc<dyn Programs>,
    pub(super) mark: String,
    pub(super) timeout_ms: u64,
    pub(super) session: Session,
    pub(super) world: World,
    pub(super) scope: Scope,
    pub(super) basis: Basis,
    pub(super) commit: Option<CommitId>,
    pub(super) onto: Option<CommitId>,
    pub(super) check: Check,
    pub(super) measuring: Measuring,
    pub(super) shelf: Arc<Shelf>,
}

pub(super) async fn judge(j: Judging, cancel: CancellationToken) -> Result<Option<Event>, Failure> {
    let (scope, onto) = (j.scope.clone(), j.onto.clone());
    let (workspaces, head) = (j.workspaces.clone(), onto.clone());
    let judged = judge_in_checkout(j, cancel).await;
    match (judged, scope) {
        (Err(failure), Scope::Atom(attempt)) => {
            // With the repository in order it is the candidate that cannot be checked out.
            let is_sound = blocking(move || match head {
                Some(head) => workspaces.head_is_there(&head).unwrap_or(false),
                None => false,
            });
            let is_elsewhere = failure.lack.is_some() || is_from_outside(&failure.message);
            if failure.code == "E-SETUP" || is_elsewhere || !is_sound.await? {
                return Err(failure);
            }
            let merge = Merge::Broken(failure.message);
            Ok(Some(Event::Tried {
                attempt,
                onto,
                merge,
            }))
        }
        (judged, _) => judged,
    }
}

/// A check that did not pass on a full disk is no verdict: it is waited for, and measured again.
fn proves_nothing(at: &Path, rule: &Leaf, seen: &Measurement) -> Option<Failure> {
    if verdict::of_leaf(rule, seen) == Verdict::Pass || !space::is_used_up(at) {
        return None;
    }
    has_room(at).err()
}

/// Measures leaf after leaf until the check is decided; each leaf once.
async fn judge_in_checkout(
    mut j: Judging,
    cancel: CancellationToken,
) -> Result<Option<Event>, Failure> {
    let kind = match &j.scope {
        Scope::BaseCase => Checkout::Verify,
        Scope::Atom(_) => Checkout::Candidate,
    };
    let at = prepare_checkout(
        &j.workspaces,
        kind,
        j.commit.clone(),
        &j.environment,
        &*j.programs,
        &j.mark,
        &cancel,
    )
    .await?;
    let Some(at) = at else { return Ok(None) };
    let bench = Bench {
        at: &at,
        env: &j.environment,
        programs: &*j.programs,
        timeout_default: Duration::from_millis(j.timeout_ms),
        mark: &j.mark,
        cancel: &cancel,
        keep: Some(Keeper {
            shelf: &j.shelf,
            state: &j.world.state,
        }),
    };
    let mut seen = Vec::new();
    while let Some(leaf) = owed::next_leaf(&j.session, &j.world, &j.check, &j.basis) {
        let key = leaf.key();
        if seen.iter().any(|(measured, _)| *measured == key) {
            break;
        }
        let Some(rule) = leaf.leaf() else { break };
        (j.measuring)(&j.scope, &leaf.title());
        let Some(measurement) = verify::measure(rule, &bench).await else {
            return Ok(None);
        };
        if let Some(failure) = proves_nothing(&at, rule, &measurement) {
            return Err(failure);
        }
        j.session.ledger.record(leaf, &j.basis, measurement.clone());
        seen.push((key, measurement));
    }
    Ok(Some(Event::Judged {
        scope: j.scope,
        basis: j.basis,
        seen,
    }))
}

/// A clean checkout with `setup` done; `None` when cancelled.
pub async fn prepare_checkout(
    workspaces: &Workspaces,
    kind: Checkout,
    commit: Option<CommitId>,
    env: &Environment,
    programs: &dyn Programs,
    mark: &str,
    cancel: &CancellationToken,
) -> Result<Option<PathBuf>, Failure> {
    let inner = workspaces.clone();
    let made = blocking(move || inner.for_checks(kind, commit.as_ref())).await??;
    if let (true, Some(setup)) = (made.is_new, workspaces.setup()) {
        let check = Check::command(setup);
        let Some(rule) = check.leaf() else {
            return Ok(Some(made.path));
        };
        let bench = Bench {
            at: &made.path,
            env,
            programs,
            timeout_default: SETUP_MAX,
            mark,
            cancel,
            keep: None,
        };
        let Some(seen) = verify::measure(rule, &bench).await else {
            return Ok(None);
        };
        if verdict::of_leaf(rule, &seen) != Verdict::Pass {
            let hint = "run the `setup` command in a fresh clone and mend what it says";
            let failure = Failure::new(
                "E-SETUP",
                exit::UNAVAILABLE,
                format!("`setup` failed: {setup}"),
                hint,
            );
            return Err(failure.with(vec![seen.excerpt]));
        }
        workspaces.checks_are_set_up(kind, &made)?;
    }
    Ok(Some(made.path))
}
