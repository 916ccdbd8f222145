//! Every check runs twice: in the working directory, and in a fresh checkout as a run makes it. If the verdicts differ,
//! files that git ignores are the likely cause.
//!
//! Invariant: one run after the other, never both at once. In the workspace `shared` there is one place, and one run.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use descent_core::{
    advice::{self, Advice, LeafFacts},
    id::{AtomId, CommitId, Digest},
    state::{
        Check, Leaf, State,
        check::{CommandLeaf, NotCommandLeaf},
    },
    verdict::{self, Measurement, Verdict},
    view::VerdictView,
};
use tokio_util::sync::CancellationToken;

use super::{
    evaluate,
    lacking::{is_cache, lacking as not_found},
};
use crate::{
    clock, driver,
    failure::{Failure, quoted},
    git::Stamps,
    process::{self, Programs, environment::Environment},
    store::StatePlace,
    survey::Proposal,
    verify,
    workspace::{Checkout, Workspaces, Worktrees},
};

/// The leaves of one run.
type LeafResult = Vec<Option<Measurement>>;

/// The time for all checks of single atoms together.
const HOLDING_MAX: Duration = Duration::from_secs(30);

/// Paths named and offered at most.
pub const OFFERS_MAX: usize = 8;

/// Both runs.
#[derive(Debug, Clone, Default)]
pub struct CheckoutComparison {
    /// In a fresh checkout (in place if the workspace is shared): these verdicts decide.
    pub fresh: Vec<VerdictView>,
    /// In the working directory; empty if the workspace is shared.
    pub here: Vec<VerdictView>,
    /// Ignored paths that the checkout lacks, the likely ones first, and that the working directory lacks.
    pub not_fresh: Vec<String>,
    pub not_here: Vec<String>,
    /// The first of the former, without what would lead from a checkout back into the project.
    pub links: Vec<Proposal>,
    pub advice: Vec<Advice>,
    /// The duration of `setup` in the fresh checkout, and the ignored paths after it.
    pub setup_ms: Option<u64>,
    pub made_by_setup: Vec<String>,
    /// Atoms whose own checks hold in the fresh checkout, before anything was done.
    pub holding: BTreeSet<AtomId>,
    seen_here: LeafResult,
    touched: Vec<TouchedFiles>,
}

/// Files of the working directory that changed while a check ran.
#[derive(Debug, Clone, Default)]
struct TouchedFiles {
    tracked: Vec<String>,
    /// Those that git neither tracks nor ignores.
    left: Vec<String>,
}

/// The setting in which checks are measured.
pub struct CheckoutBench<'a> {
    pub environment: &'a Environment,
    pub programs: &'a dyn Programs,
    pub top: &'a Path,
    pub place: &'a StatePlace,
    pub start: Option<CommitId>,
    pub cancel: CancellationToken,
}

impl CheckoutComparison {
    pub fn differ(&self) -> bool {
        let mut pairs = self.here.iter().zip(&self.fresh);
        pairs.any(|(here, fresh)| here.verdict != fresh.verdict)
    }

    /// Titles of the checks that failed in the fresh checkout.
    pub fn failed(&self) -> Vec<String> {
        let failed = self.fresh.iter().filter(|one| one.verdict == Verdict::Fail);
        failed.map(|one| one.check.clone()).collect()
    }

    /// Without leftovers of tools, unless there is nothing else.
    pub fn likely_links(&self) -> Vec<Proposal> {
        let mut links = self.links.clone();
        // Also where what is lacking leads back: then the leftovers are not what the checks need.
        if self.not_fresh.first().is_some_and(|path| !is_cache(path)) {
            links.retain(|link| !is_cache(&link.text));
        }
        links
    }

    /// The same as flags to add to `descent align`.
    pub fn link_flags(&self) -> Vec<String> {
        let flag = |link: Proposal| format!("--link {}", quoted(&link.text));
        self.likely_links().into_iter().map(flag).collect()
    }
}

impl CheckoutBench<'_> {
    /// Does both runs.
    pub async fn compare(
        &self,
        state: &State,
        workspaces: &Workspaces,
    ) -> Result<CheckoutComparison, Failure> {
        process::prepare()?;
        let mut comparison = CheckoutComparison::default();
        // The checkout of a shared workspace is the working directory.
        if self.start.is_some() {
            (comparison.seen_here, comparison.touched) =
                self.measure(state, self.top, workspaces).await?;
            comparison.here = judged(state, &comparison.seen_here);
        }
        self.measure_fresh(state, workspaces, &mut comparison).await?;
        Ok(comparison)
    }

    /// Repeats the run in a fresh checkout, after the setup of workspaces changed.
    pub async fn measure_fresh(
        &self,
        state: &State,
        workspaces: &Workspaces,
        comparison: &mut CheckoutComparison,
    ) -> Result<(), Failure> {
        if let Some(trees) = workspaces.trees() {
            trees.refuse_ways_back(self.start.as_ref())?;
        }
        let mark = evaluate::mark(self.place);
        let at = driver::prepare_checkout(
            workspaces,
            Checkout::Judging,
            self.start.clone(),
            self.environment,
            self.programs,
            &mark,
            &self.cancel,
        );
        let prepared = match at.await?.or_fail(workspaces) {
            Ok(prepared) => prepared,
            Err(mut failure) => {
                let lacking = self.lacked(workspaces, true)?.into_iter();
                let words = lacking.map(|one| format!("`{}`: {}", one.check, one.what));
                failure.details.extend(words);
                return Err(failure);
            }
        };
        let Some(driver::ReadyCheckout { at, setup_ms, .. }) = prepared else {
            return Ok(());
        };
        comparison.setup_ms = setup_ms;
        comparison.made_by_setup = match workspaces.trees().filter(|_| setup_ms.is_some()) {
            Some(trees) => trees.ignored(Some(Checkout::Judging))?,
            None => Vec::new(),
        };
        let changed = self.changed_by_setup(workspaces)?;
        let (seen, touched) = self.measure(state, &at, workspaces).await?;
        if self.start.is_none() {
            comparison.touched = touched;
        }
        comparison.fresh = judged(state, &seen);
        comparison.holding = match self.start.is_some() {
            true => self.holding(state, &at, &comparison.fresh).await,
            // In place, checks of single steps would run among the person's own files.
            false => BTreeSet::new(),
        };
        let trees = workspaces.trees().filter(|_| comparison.differ());
        (comparison.not_fresh, comparison.not_here) = match trees {
            Some(trees) => lacking(trees, &at, self.top)?,
            None => Default::default(),
        };
        let may_be_linked = |path: &&String| {
            is_cache(path) || trees.is_some_and(|trees| trees.may_be_linked(Path::new(path)))
        };
        let links = comparison.not_fresh.iter().take(OFFERS_MAX);
        let offer =
            |path: &String| Proposal { text: path.clone(), from: "ignored by git".to_owned() };
        comparison.links = links.filter(may_be_linked).map(offer).collect();
        let fails = comparison.fresh.iter().any(|one| one.verdict != Verdict::Pass);
        let mut advice = self.lacked(workspaces, fails)?;
        advice.extend(changed);
        advice.extend(self.advise(state, workspaces, comparison, &seen)?);
        comparison.advice = advice;
        Ok(())
    }

    /// The paths that jobs do not find in the fresh checkout; directories of packages only where a check fails there.
    fn lacked(&self, workspaces: &Workspaces, fails: bool) -> Result<Vec<Advice>, Failure> {
        let Some(trees) = workspaces.trees() else {
            return Ok(Vec::new());
        };
        let lacking = not_found(trees, self.environment, Some(Checkout::Judging), &[])?.into_iter();
        let told = lacking.filter(|one| one.is_named || fails);
        Ok(told.map(|one| one.advice).collect())
    }

    /// The files that `setup` changed in the fresh checkout.
    fn changed_by_setup(&self, workspaces: &Workspaces) -> Result<Option<Advice>, Failure> {
        let trees = workspaces.trees().filter(|_| workspaces.setup().is_some());
        let Some(trees) = trees else { return Ok(None) };
        let changed = trees.changed_in_checks(Checkout::Judging)?;
        let changed: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
        Ok(advice::of_setup(&changed))
    }

    /// The atoms whose checks hold at `at`. Checks for which the time does not suffice are left out.
    async fn holding(&self, state: &State, at: &Path, known: &[VerdictView]) -> BTreeSet<AtomId> {
        let since = clock::Stopwatch::start(clock::real());
        let base = leaves(state).into_iter().map(Check::key);
        let known = known.iter().map(|one| one.verdict);
        let mut known: BTreeMap<Digest, Verdict> = base.zip(known).collect();
        let mut holding = BTreeSet::new();
        for (id, atom) in state.atoms.iter() {
            let Some(checks) = atom.task().and_then(|task| task.spec.checks.as_ref()) else {
                continue;
            };
            for leaf in checks.leaves() {
                let Some(rule) = leaf.leaf().filter(|rule| rule.is_machine()) else {
                    continue;
                };
                let passed = Duration::from_millis(since.passed_ms());
                let left = HOLDING_MAX.saturating_sub(passed);
                if left.is_zero() || known.contains_key(&leaf.key()) {
                    continue;
                }
                let Some(seen) = self.seen(&without_timeout(rule), at, left).await else {
                    return holding;
                };
                known.insert(leaf.key(), evaluate::verdict_of(leaf, rule, seen).verdict);
            }
            let found = |leaf: &Check| known.get(&leaf.key()).copied();
            let verdicts = checks.leaves().into_iter().map(found);
            let mut verdicts = verdicts.map(|one| one.unwrap_or(Verdict::Unknown));
            if evaluate::combine(checks, &mut verdicts) == Verdict::Pass {
                holding.insert(id.clone());
            }
        }
        holding
    }

    /// Measures one leaf; `None` where it was cut off.
    async fn seen(&self, rule: &Leaf, at: &Path, timeout: Duration) -> Option<Measurement> {
        let bench = verify::MeasureContext {
            at,
            env: self.environment,
            programs: self.programs,
            timeout_default: timeout,
            mark: &evaluate::mark(self.place),
            cancel: &self.cancel,
            keep: None,
        };
        verify::measure(rule, &bench).await
    }

    /// Measures every leaf in one directory, in the order written, and lists the project's files that changed.
    async fn measure(
        &self,
        state: &State,
        at: &Path,
        workspaces: &Workspaces,
    ) -> Result<(LeafResult, Vec<TouchedFiles>), Failure> {
        let timeout = Duration::from_millis(state.objective.constraints.attempt_timeout_ms());
        let (mut seen, mut touched) = (Vec::new(), Vec::new());
        let trees = workspaces.trees().filter(|_| at == self.top);
        let look = || trees.map_or(Ok(Stamps::default()), |trees| trees.stamps());
        let mut before = look()?;
        for leaf in leaves(state) {
            let Some(rule) = leaf.leaf().filter(|rule| rule.is_machine()) else {
                seen.push(None);
                touched.push(TouchedFiles::default());
                continue;
            };
            let Some(measured) = self.seen(rule, at, timeout).await else {
                break;
            };
            seen.push(Some(measured));
            let after = look()?;
            touched.push(TouchedFiles {
                tracked: after.changed_since(&before),
                left: after.left_since(&before),
            });
            before = after;
        }
        Ok((seen, touched))
    }

    fn advise(
        &self,
        state: &State,
        workspaces: &Workspaces,
        comparison: &CheckoutComparison,
        fresh: &LeafResult,
    ) -> Result<Vec<Advice>, Failure> {
        let timeout_ms = state.objective.constraints.attempt_timeout_ms();
        let mut found: Vec<Advice> = Vec::new();
        // A command that fails today may make a file once the work is done.
        let mut may_be_made = false;
        for (at, leaf) in leaves(state).into_iter().enumerate() {
            let seen = |list: &'_ LeafResult| list.get(at).cloned().flatten();
            let (here, fresh) = (seen(&comparison.seen_here), seen(fresh));
            let is_ignored = match (leaf.leaf(), workspaces.trees()) {
                (Some(Leaf::File(leaf)), Some(trees)) => trees.is_ignored(&leaf.path)?,
                _ => false,
            };
            let touched = comparison.touched.get(at).cloned().unwrap_or_default();
            let facts = LeafFacts {
                here: here.as_ref(),
                fresh: fresh.as_ref(),
                timeout_ms,
                is_ignored,
                may_be_made,
                changed: &touched.tracked,
                left: &touched.left,
            };
            found.extend(advice::of_leaf(leaf, &facts));
            if let (Some(rule @ Leaf::Command(_)), Some(fresh)) = (leaf.leaf(), &fresh) {
                may_be_made |= verdict::of_leaf(rule, fresh) != Verdict::Pass;
            }
        }
        Ok(found)
    }
}

fn leaves(state: &State) -> Vec<&Check> {
    let base_case = state.objective.base_case.iter();
    base_case.flat_map(Check::leaves).collect()
}

/// A leaf that has the time of its context and none of its own.
fn without_timeout(leaf: &Leaf) -> Leaf {
    let mut leaf = leaf.clone();
    if let Leaf::Command(CommandLeaf { timeout, .. })
    | Leaf::NotCommand(NotCommandLeaf { timeout, .. }) = &mut leaf
    {
        *timeout = None;
    }
    leaf
}

fn judged(state: &State, seen: &LeafResult) -> Vec<VerdictView> {
    let pairs = leaves(state).into_iter().zip(seen);
    pairs
        .map(|(leaf, seen)| match (leaf.leaf(), seen) {
            (Some(rule), Some(seen)) => evaluate::verdict_of(leaf, rule, seen.clone()),
            // Nobody has confirmed anything yet.
            _ => evaluate::by_others(leaf, state, None),
        })
        .collect()
}

/// Ignored paths that one of the two places lacks.
fn lacking(
    trees: &Worktrees,
    fresh: &Path,
    here: &Path,
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let not_in = |paths: Vec<String>, place: &Path| -> Vec<String> {
        let is_missing = |path: &String| place.join(path).symlink_metadata().is_err();
        paths.into_iter().filter(is_missing).collect()
    };
    let mut not_fresh = not_in(trees.ignored(None)?, fresh);
    not_fresh.sort_by_key(|path| is_cache(path));
    let not_here = not_in(trees.ignored(Some(Checkout::Judging))?, here);
    Ok((not_fresh, not_here))
}
