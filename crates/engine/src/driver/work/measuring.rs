//! Judgements: measures checks in a clean checkout, leaf after leaf, until they are decided.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use descent_core::{
    desired,
    event::{Input, Merge, Scope},
    id::{CommitId, Digest},
    state::{Check, Leaf},
    verdict::{
        self, Basis, CheckProgress, CommandEnd, Evaluator, EvidenceCache, Measurement,
        MeasurementKind, Verdict,
    },
    world::{Session, World},
};
use tokio_util::sync::CancellationToken;

use crate::driver::executor::{RealExecutor, with_trees};
use descent_process::{Programs, environment::Environment};
use descent_store::evidence::EvidenceKeeper;
use descent_system::{
    failure::{Failure, Lack, exit},
    space,
};
use descent_workspace::{
    Checkout, Warmth, Workspaces,
    verify::{self, MeasureContext},
};

/// How long `setup` may take in a checkout for checks.
const SETUP_MAX: Duration = Duration::from_secs(1800);

/// A check to be judged, with the state that asks for it.
pub(super) struct Judging {
    pub(super) executor: RealExecutor,
    pub(super) cancel: CancellationToken,
    pub(super) session: Session,
    pub(super) world: World,
    pub(super) scope: Scope,
    pub(super) basis: Basis,
    pub(super) commit: Option<CommitId>,
    pub(super) onto: Option<CommitId>,
    pub(super) check: Check,
}

pub(super) async fn judge(j: Judging) -> Result<Option<Input>, Failure> {
    let (scope, onto) = (j.scope.clone(), j.onto.clone());
    let (workspaces, head) = (&j.executor.workspaces, onto.clone());
    let mut judged = judge_in_checkout(&j).await;
    let is_unexplained = judged.as_ref().is_err_and(|failure| failure.cause.is_none());
    if is_unexplained && matches!(scope, Scope::Atom(_)) && workspaces.missing().is_none() {
        // The repository may have been away for a moment.
        judged = judge_in_checkout(&j).await;
    }
    match (judged, scope) {
        (Err(failure), Scope::Atom(attempt)) => {
            // If the repository is in order, the candidate itself cannot be checked out.
            let is_sound = with_trees(workspaces, move |workspaces| match head {
                Some(head) if workspaces.missing().is_none() => {
                    Ok(workspaces.head_is_there(&head).unwrap_or(false))
                }
                _ => Ok(false),
            });
            if failure.cause.is_some() || !is_sound.await? {
                return Err(failure);
            }
            let merge = Merge::Broken(failure.message);
            Ok(Some(Input::Tried { attempt, onto, merge }))
        }
        (judged, _) => judged,
    }
}

/// The failure to wait for if a check did not pass on a full disk: that is no verdict, and is
/// measured again.
fn proves_nothing(at: &Path, rule: &Leaf, seen: &Measurement) -> Option<Failure> {
    match verdict::of_leaf(rule, seen) {
        Verdict::Pass => None,
        Verdict::Fail | Verdict::Unknown => has_room(at).err(),
    }
}

impl Judging {
    fn setting(&self) -> CheckSetting<'_> {
        let RealExecutor { environment, programs, place, run, .. } = &self.executor;
        let mark = format!("{}/{run}/check", place.mark());
        CheckSetting { environment, programs: &**programs, mark, cancel: &self.cancel }
    }

    /// All that was measured.
    fn judged(&self, seen: Vec<(Digest, Measurement)>) -> Input {
        Input::Judged { scope: self.scope.clone(), basis: self.basis.clone(), seen }
    }

    /// Candidates and mere progress verdicts reuse a checkout; a deciding verdict gets a new one.
    fn checkout(&self) -> Checkout {
        match (&self.scope, &self.basis) {
            (Scope::Atom(_), _) => Checkout::Candidate,
            (Scope::BaseCase, Basis::Pristine(_)) => Checkout::Pristine,
            (Scope::BaseCase, Basis::Warm(_) | Basis::Serial(_)) => Checkout::Verify,
        }
    }

    /// A checkout with `setup` done. If `setup` fails in a reused one, it is made anew once.
    async fn prepare(&self, tree: CheckTree) -> Result<CheckoutOutcome, Failure> {
        let (workspaces, setting) = (&self.executor.workspaces, self.setting());
        let prepared = setting.prepare(workspaces, tree.clone()).await?;
        if let CheckoutOutcome::SetupFailed { is_reused: true, .. } = prepared {
            self.remove(tree.kind).await?;
            return setting.prepare(workspaces, CheckTree { warmth: Warmth::Cold, ..tree }).await;
        }
        Ok(prepared)
    }

    /// Keeps what a deciding verdict built for the trees that begin later. Trees whose verdict differed are removed.
    async fn keep_warm(&self, evidence: &EvidenceCache) -> Result<(), Failure> {
        let differs = !evidence.disagreed(&self.check, &self.basis).is_empty();
        let Some(commit) = self.commit.clone() else { return Ok(()) };
        let keep = move |workspaces: &Workspaces| {
            let Some(trees) = workspaces.trees() else { return Ok(()) };
            if differs {
                trees.forget_warm()?;
            }
            trees.keep_warm(Checkout::Pristine, &commit)
        };
        with_trees(&self.executor.workspaces, keep).await
    }

    /// Removes the checkout, so that the next one is made anew, and returns its parent directory.
    async fn remove(&self, kind: Checkout) -> Result<Option<PathBuf>, Failure> {
        let remove = move |workspaces: &Workspaces| {
            workspaces.trees().map(|trees| trees.remove_checks(kind)).transpose()
        };
        with_trees(&self.executor.workspaces, remove).await
    }

    /// Whether an attempt would fail by a measurement in a reused checkout: an earlier tree may
    /// have left the cause behind.
    fn is_doubtful(&self, checked: &ReadyCheckout, evidence: &EvidenceCache) -> bool {
        let evaluator = Evaluator::new(evidence, &self.world.state, &self.basis);
        let has_failed = || evaluator.judge(&self.check) == CheckProgress::Decided(Verdict::Fail);
        checked.is_reused && matches!(self.scope, Scope::Atom(_)) && has_failed()
    }

    /// If `setup` fails on a result, the result has failed, unless `setup` fails on the start's
    /// tree too.
    async fn after_failed_setup(&self, seen: Measurement) -> Result<Option<Input>, Failure> {
        let start = self.world.state.run.started_from.as_ref();
        let commit = start.map(|start| start.commit.clone());
        let on_start = if commit == self.commit {
            CheckoutOutcome::SetupFailed { seen: seen.clone(), is_reused: false }
        } else {
            let (kind, warmth) = (Checkout::Pristine, Warmth::Cold);
            self.prepare(CheckTree { kind, commit, warmth }).await?
        };
        Ok(match on_start {
            CheckoutOutcome::Cancelled => None,
            CheckoutOutcome::SetupFailed { seen: on_start, .. } => {
                let message = setup_failed(&self.executor.workspaces, &on_start).message;
                let lines = on_start.excerpt.lines().map(str::trim);
                let last = lines.rev().find(|line| !line.is_empty());
                let why = last.map_or(message.clone(), |last| format!("{message}: {last}"));
                Some(Input::Unavailable { why })
            }
            CheckoutOutcome::Ready(_) => Some(self.all_failed(&seen)),
        })
    }

    /// No check can run if `setup` failed: none of them holds.
    fn all_failed(&self, setup: &Measurement) -> Input {
        let how = match &setup.what {
            MeasurementKind::Command { how, .. } | MeasurementKind::SetupFailed { how } => {
                how.clone()
            }
            MeasurementKind::Files { .. } => CommandEnd::NotRun(String::new()),
        };
        let failed = Measurement { what: MeasurementKind::SetupFailed { how }, ..setup.clone() };
        let leaves = self.check.leaves().into_iter();
        let leaves = leaves.filter(|leaf| leaf.leaf().is_some_and(Leaf::is_machine));
        self.judged(leaves.map(|leaf| (leaf.key(), failed.clone())).collect())
    }
}

/// Measures leaf after leaf until the check is decided, each leaf once. A result that would make an
/// attempt fail is measured again in a new checkout.
async fn judge_in_checkout(j: &Judging) -> Result<Option<Input>, Failure> {
    let kind = j.checkout();
    let mut tree = CheckTree { kind, commit: j.commit.clone(), warmth: Warmth::Warm };
    if matches!(j.basis, Basis::Pristine(_)) {
        tree.warmth = Warmth::Cold;
        if kind == Checkout::Candidate {
            // Nothing of a candidate may be left in it.
            j.remove(kind).await?;
        }
    }
    for is_last in [false, true] {
        let checked = match j.prepare(tree.clone()).await {
            Ok(CheckoutOutcome::Ready(checked)) => checked,
            Ok(CheckoutOutcome::Cancelled) => return Ok(None),
            Ok(CheckoutOutcome::SetupFailed { seen, .. }) => {
                return j.after_failed_setup(seen).await;
            }
            Err(failure) => return too_small(j, kind, failure).await,
        };
        let Some((seen, evidence)) = measure_in(j, &checked.at).await? else {
            return Ok(None);
        };
        if is_last || !j.is_doubtful(&checked, &evidence) {
            if kind == Checkout::Pristine {
                j.keep_warm(&evidence).await?;
            }
            return Ok(Some(j.judged(seen)));
        }
        j.remove(kind).await?;
        tree.warmth = Warmth::Cold;
    }
    Ok(None)
}

/// The measurements and the evidence with them; `None` if cancelled.
type Measurements = (Vec<(Digest, Measurement)>, EvidenceCache);

async fn measure_in(j: &Judging, at: &Path) -> Result<Option<Measurements>, Failure> {
    let (setting, state) = (j.setting(), &j.world.state);
    let timeout = Duration::from_millis(state.objective.constraints.attempt_timeout_ms());
    let mut session = j.session.clone();
    let mut seen: Vec<(Digest, Measurement)> = Vec::new();
    while let Some(leaf) = desired::next_leaf(&session, &j.world, &j.check, &j.basis) {
        let key = leaf.key();
        if seen.iter().any(|(measured, _)| *measured == key) {
            break;
        }
        let Some(rule) = leaf.leaf() else { break };
        (j.executor.measuring)(&j.scope, &leaf.title());
        let keep = Some(EvidenceKeeper { store: &j.executor.evidence, state });
        let measured = setting.measure(rule, at, timeout, keep).await;
        let Some(measurement) = measured else { return Ok(None) };
        if let Some(failure) = proves_nothing(at, rule, &measurement) {
            return Err(failure);
        }
        session.evidence.record(leaf, &j.basis, measurement.clone());
        seen.push((key, measurement));
    }
    Ok(Some((seen, session.evidence)))
}

/// If only a second, pristine checkout lacks disk space, it is not waited for: the space would
/// never come.
async fn too_small(
    j: &Judging,
    kind: Checkout,
    failure: Failure,
) -> Result<Option<Input>, Failure> {
    if kind != Checkout::Pristine || failure.lack() != Some(Lack::Space) {
        return Err(failure);
    }
    let place = j.remove(kind).await?;
    if place.is_none_or(|place| space::is_used_up(&place)) {
        return Err(failure);
    }
    let message = failure.message;
    let why = format!("the disk is too small for a fresh checkout: {message}");
    Ok(Some(Input::Unavailable { why }))
}

/// The result of preparing a checkout for checks.
#[derive(Debug)]
pub(crate) enum CheckoutOutcome {
    Ready(ReadyCheckout),
    /// In a reused checkout that proves nothing: an earlier tree may have left the cause behind.
    SetupFailed {
        seen: Measurement,
        is_reused: bool,
    },
    Cancelled,
}

impl CheckoutOutcome {
    /// For callers without a fallback: a failed `setup` is an error. `None` if cancelled.
    pub(crate) fn or_fail(self, workspaces: &Workspaces) -> Result<Option<ReadyCheckout>, Failure> {
        match self {
            CheckoutOutcome::Ready(checked) => Ok(Some(checked)),
            CheckoutOutcome::Cancelled => Ok(None),
            CheckoutOutcome::SetupFailed { seen, .. } => Err(setup_failed(workspaces, &seen)),
        }
    }
}

/// A checkout in which `setup` is done.
#[derive(Debug)]
pub struct ReadyCheckout {
    pub at: PathBuf,
    /// Files of earlier checks may still be there.
    pub is_reused: bool,
    /// How long `setup` took now, if it was run.
    pub setup_ms: Option<u64>,
}

fn setup_failed(workspaces: &Workspaces, seen: &Measurement) -> Failure {
    let setup = workspaces.setup().unwrap_or_default();
    let ended = match &seen.what {
        MeasurementKind::Command { how, .. } => format!(" ({})", how.text()),
        MeasurementKind::Files { .. } | MeasurementKind::SetupFailed { .. } => String::new(),
    };
    let message = format!("`setup` failed on the files that the run starts from: {setup}{ended}");
    let hint = "run the `setup` command in a fresh clone and mend what it says";
    let mut failure = Failure::new("E-SETUP", exit::UNAVAILABLE, message, hint);
    failure.is_of_setup = true;
    failure.with(vec![seen.excerpt.clone()])
}

/// The tree that checks need.
#[derive(Debug, Clone)]
pub struct CheckTree {
    pub kind: Checkout,
    pub commit: Option<CommitId>,
    pub warmth: Warmth,
}

/// The setting in which checks are measured, and `setup` runs.
pub struct CheckSetting<'a> {
    pub environment: &'a Environment,
    pub programs: &'a dyn Programs,
    /// The mark of the processes.
    pub mark: String,
    pub cancel: &'a CancellationToken,
}

impl CheckSetting<'_> {
    /// Measures one leaf, which may have a time of its own; `None` where it was cut off.
    pub async fn measure(
        &self,
        rule: &Leaf,
        at: &Path,
        timeout_default: Duration,
        keep: Option<EvidenceKeeper<'_>>,
    ) -> Option<Measurement> {
        let &Self { environment: env, programs, ref mark, cancel } = self;
        let context = MeasureContext { at, env, programs, timeout_default, mark, cancel, keep };
        verify::measure(rule, &context).await
    }

    /// Makes a clean checkout, and runs `setup` if that is still needed.
    pub async fn prepare(
        &self,
        workspaces: &Workspaces,
        tree: CheckTree,
    ) -> Result<CheckoutOutcome, Failure> {
        let CheckTree { kind, commit, warmth } = tree;
        let make =
            move |workspaces: &Workspaces| workspaces.for_checks(kind, commit.as_ref(), warmth);
        let made = with_trees(workspaces, make).await?;
        let ready = |setup_ms| {
            let (at, is_reused) = (made.path.clone(), made.is_reused);
            Ok(CheckoutOutcome::Ready(ReadyCheckout { at, is_reused, setup_ms }))
        };
        let check = workspaces.setup().filter(|_| made.is_new).map(Check::command);
        let Some(rule) = check.as_ref().and_then(Check::leaf) else { return ready(None) };
        let Some(seen) = self.measure(rule, &made.path, SETUP_MAX, None).await else {
            return Ok(CheckoutOutcome::Cancelled);
        };
        if verdict::of_leaf(rule, &seen) != Verdict::Pass {
            // A failure on a full disk proves nothing.
            has_room(&made.path)?;
            return Ok(CheckoutOutcome::SetupFailed { seen, is_reused: made.is_reused });
        }
        if let Some(trees) = workspaces.trees() {
            trees.checks_are_set_up(kind, &made)?;
        }
        ready(Some(seen.duration_ms))
    }
}

pub(super) fn has_room(at: &Path) -> Result<(), Failure> {
    if !space::is_used_up(at) {
        return Ok(());
    }
    let message = format!("no room is left on the disk of {}", at.display());
    Err(Failure::new("E-IO", exit::IO, message, "").lacking(Some(Lack::Space)))
}
