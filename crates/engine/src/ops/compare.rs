//! Every check runs twice: in the working directory, and in a fresh checkout as a run makes it. If the verdicts differ,
//! files that git ignores are the likely cause. The value of a `"baseline"` is measured there too (contract §3).
//!
//! Invariant: one run after the other, never both at once. In the workspace `shared` there is one place, and one run.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use descent_core::{
    id::{AtomId, CommitId, Digest},
    state::{
        Check, Leaf, State,
        check::{CommandLeaf, NotCommandLeaf, NumberRule},
    },
    verdict::{self, Verdict},
    view::VerdictView,
};
use descent_minds::advice::{self, Advice, LeafFacts};

use super::evaluate::{self, CheckBench, SeenLeaf};
use crate::{driver::ReadyCheckout, survey::Proposal};
use descent_process::environment::Environment;
use descent_system::{
    clock,
    failure::{Failure, exit, quoted},
};
use descent_workspace::{CarriedDirs, Checkout, Warmth, Workspaces, Worktrees};

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
    pub(crate) not_fresh: Vec<String>,
    pub not_here: Vec<String>,
    /// The first of the former, without what would lead from a checkout back into the project.
    pub links: Vec<Proposal>,
    pub advice: Vec<Advice>,
    /// The duration of `setup` in the fresh checkout.
    pub setup_ms: Option<u64>,
    /// The build state that trees will begin with.
    pub carried: Option<CarriedDirs>,
    /// Atoms whose own checks hold in the fresh checkout, before anything was done.
    pub holding: BTreeSet<AtomId>,
    /// The verdicts in the fresh checkout by the key of a leaf: all of the base case, and those of atoms that were
    /// measured.
    pub by_key: BTreeMap<Digest, VerdictView>,
    seen_here: Vec<SeenLeaf>,
}

impl CheckoutComparison {
    pub fn differ(&self) -> bool {
        let mut pairs = self.here.iter().zip(&self.fresh);
        pairs.any(|(here, fresh)| here.verdict != fresh.verdict)
    }

    /// Has the bound count what actions are made once more for, where trees begin with build state.
    pub(super) fn note_carried(&self, state: &mut State) {
        if self.carried.as_ref().is_some_and(CarriedDirs::are_carried) {
            Arc::make_mut(&mut state.run).cold_tries = true;
        }
    }

    /// Titles of the checks that failed in the fresh checkout.
    pub fn failed(&self) -> Vec<String> {
        let failed = self.fresh.iter().filter(|one| one.verdict == Verdict::Fail);
        failed.map(|one| one.check.clone()).collect()
    }

    /// The links as flags to add to `descent align`.
    pub(crate) fn link_flags(&self) -> Vec<String> {
        let flag = |link: &Proposal| format!("--link {}", quoted(&link.text));
        self.links.iter().map(flag).collect()
    }
}

/// An agreement whose checks are run, for a run that would start from that commit; in place if there is none.
pub(super) struct CheckedDraft<'a> {
    pub(super) bench: &'a CheckBench<'a>,
    pub(super) state: &'a State,
    pub(super) workspaces: &'a Workspaces,
    pub(super) start: Option<&'a CommitId>,
}

impl CheckedDraft<'_> {
    /// Does both runs.
    pub(super) async fn compare(&self) -> Result<CheckoutComparison, Failure> {
        let mut comparison = CheckoutComparison::default();
        // The checkout of a shared workspace is the working directory.
        if self.start.is_some() {
            let (top, trees) = (self.bench.top, self.workspaces.trees());
            let seen = self.bench.leaves(self.state, top, trees, &|_| ()).await?;
            comparison.here = evaluate::judged(self.state, &seen, None);
            comparison.seen_here = seen;
        }
        self.measure_fresh(&mut comparison).await?;
        Ok(comparison)
    }

    /// Repeats the run in a fresh checkout, after the setup of workspaces changed.
    pub(super) async fn measure_fresh(
        &self,
        comparison: &mut CheckoutComparison,
    ) -> Result<(), Failure> {
        let Self { bench, state, workspaces, start } = *self;
        let trees = workspaces.trees();
        if let Some(trees) = trees {
            trees.refuse_ways_back(start)?;
        }
        let prepared = match self.warm_checkout().await {
            Ok(prepared) => prepared,
            Err(mut failure) => {
                let lacking = self.lacked(true)?.into_iter();
                let words = lacking.map(|one| format!("`{}`: {}", one.check, one.what));
                failure.details.extend(words);
                return Err(failure);
            }
        };
        let Some(ReadyCheckout { at, setup_ms, .. }) = prepared else {
            return Ok(());
        };
        comparison.setup_ms = setup_ms;
        let changed = self.changed_by_setup()?;
        let seen = bench.leaves(state, &at, None, &|_| ()).await?;
        comparison.fresh = evaluate::judged(state, &seen, None);
        self.measure_atoms(&at, comparison).await;
        let trees = trees.filter(|_| comparison.differ());
        (comparison.not_fresh, comparison.not_here) = match trees {
            Some(trees) => lacking(trees, &at, bench.top)?,
            None => Default::default(),
        };
        // Leftovers of tools are offered only where there is nothing else.
        let has_caches_alone = comparison.not_fresh.first().is_some_and(|path| is_cache(path));
        let may_be_linked = |path: &&String| {
            let is_likely = has_caches_alone || !is_cache(path);
            is_likely && trees.is_some_and(|trees| trees.may_be_linked(Path::new(path)))
        };
        let links = comparison.not_fresh.iter().take(OFFERS_MAX);
        let offer =
            |path: &String| Proposal { text: path.clone(), from: "ignored by git".to_owned() };
        comparison.links = links.filter(may_be_linked).map(offer).collect();
        let fails = comparison.fresh.iter().any(|one| one.verdict != Verdict::Pass);
        let mut advice = self.lacked(fails)?;
        advice.extend(changed);
        advice.extend(self.advise(comparison, &seen)?);
        comparison.advice = advice;
        if let (Some(trees), Some(start)) = (workspaces.trees(), start) {
            trees.keep_warm(Checkout::Judging, start)?;
            comparison.carried = trees.carried()?;
        }
        Ok(())
    }

    /// With the person's build state, unless `setup` fails on that, or a limit is measured there that decides later.
    async fn warm_checkout(&self) -> Result<Option<ReadyCheckout>, Failure> {
        let checkout = |warmth| self.bench.checkout(self.workspaces, self.start.cloned(), warmth);
        if wanted(self.state).next().is_some() {
            return checkout(Warmth::Cold).await;
        }
        match checkout(Warmth::Warm).await {
            Err(failure) if failure.is_of_setup => checkout(Warmth::Cold).await,
            prepared => prepared,
        }
    }

    /// The paths that jobs do not find in the fresh checkout; directories of packages only where a check fails there.
    fn lacked(&self, fails: bool) -> Result<Vec<Advice>, Failure> {
        let Some(trees) = self.workspaces.trees() else {
            return Ok(Vec::new());
        };
        let lacking =
            lacking_paths(trees, self.bench.environment, Some(Checkout::Judging), &[])?.into_iter();
        let told = lacking.filter(|one| one.is_named || fails);
        Ok(told.map(|one| one.advice).collect())
    }

    /// The files that `setup` changed in the fresh checkout.
    fn changed_by_setup(&self) -> Result<Option<Advice>, Failure> {
        let workspaces = self.workspaces;
        let trees = workspaces.trees().filter(|_| workspaces.setup().is_some());
        let Some(trees) = trees else { return Ok(None) };
        let changed = trees.changed_in_checks(Checkout::Judging)?;
        let changed: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
        Ok(advice::of_setup(&changed))
    }

    /// Measures the checks of atoms: those with a baseline, and as many others as the time suffices for.
    async fn measure_atoms(&self, at: &Path, comparison: &mut CheckoutComparison) {
        let (state, is_fresh) = (self.state, self.start.is_some());
        let since = clock::Stopwatch::start(clock::real());
        let keys = evaluate::leaves(state).into_iter().map(Check::key);
        comparison.by_key = keys.zip(comparison.fresh.iter().cloned()).collect();
        let whole = Duration::from_millis(state.objective.constraints.attempt_timeout_ms());
        for (_, leaf) in leaves_of_atoms(state) {
            let rule = leaf.leaf().filter(|rule| rule.is_machine());
            let Some(rule) = rule.filter(|_| !comparison.by_key.contains_key(&leaf.key())) else {
                continue;
            };
            let left = HOLDING_MAX.saturating_sub(Duration::from_millis(since.passed_ms()));
            let seen = if is_wanted(leaf) {
                self.bench.measure(rule, at, whole).await
            } else if is_fresh && !left.is_zero() {
                self.bench.measure(&without_timeout(rule), at, left).await
            } else {
                // In place, checks of single steps would run among the person's own files.
                continue;
            };
            let Some(seen) = seen else { return };
            let seen = evaluate::verdict_of(leaf, rule, seen);
            comparison.by_key.insert(leaf.key(), seen);
        }
        let holds = |checks: &Check| {
            let found = |leaf: &Check| comparison.by_key.get(&leaf.key()).map(|one| one.verdict);
            let found = checks.leaves().into_iter().map(found);
            let mut verdicts = found.map(|one| one.unwrap_or(Verdict::Unknown));
            evaluate::combine(checks, &mut verdicts) == Verdict::Pass
        };
        let held = state.atoms.iter().filter(|(_, atom)| {
            let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
            is_fresh && checks.is_some_and(holds)
        });
        comparison.holding = held.map(|(id, _)| id.clone()).collect();
    }

    fn advise(
        &self,
        comparison: &CheckoutComparison,
        fresh: &[SeenLeaf],
    ) -> Result<Vec<Advice>, Failure> {
        let timeout_ms = self.state.objective.constraints.attempt_timeout_ms();
        let mut found: Vec<Advice> = Vec::new();
        // A command that fails today may make a file once the work is done.
        let mut may_be_made = false;
        for (at, leaf) in evaluate::leaves(self.state).into_iter().enumerate() {
            let here = comparison.seen_here.get(at).cloned().unwrap_or_default();
            let fresh = fresh.get(at).and_then(|seen| seen.measured.as_ref());
            let is_ignored = match (leaf.leaf(), self.workspaces.trees()) {
                (Some(Leaf::File(leaf)), Some(trees)) => trees.is_ignored(&leaf.path)?,
                _ => false,
            };
            let facts = LeafFacts {
                here: here.measured.as_ref(),
                fresh,
                timeout_ms,
                is_ignored,
                may_be_made,
                changed: &here.changed,
                left: &here.left,
            };
            found.extend(advice::of_leaf(leaf, &facts));
            if let (Some(rule @ Leaf::Command(_)), Some(fresh)) = (leaf.leaf(), fresh) {
                may_be_made |= verdict::of_leaf(rule, fresh) != Verdict::Pass;
            }
        }
        Ok(found)
    }
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

/// Forgets values that a plan carries from another tree: they are measured anew.
pub(crate) fn forget_baselines(state: &mut State) {
    each_rule(state, &mut |rule| rule.baseline = None);
}

/// Records the numbers that were measured beside the leaves of the base case and of the atoms.
pub fn record_baselines(
    state: &mut State,
    seen: &BTreeMap<Digest, VerdictView>,
) -> Result<(), Failure> {
    let (mut numbers, mut missing) = (Vec::new(), Vec::new());
    for (atom, leaf) in wanted(state) {
        match seen.get(&leaf.key()).map(|seen| seen.number.ok_or(seen)) {
            Some(Ok(number)) => numbers.push(number),
            Some(Err(seen)) => missing.push(without_number(atom, seen)),
            None => {}
        }
    }
    if !missing.is_empty() {
        let hint = "try the command and mend `number`, or write the number in the place of \"baseline\"; then align again";
        let message = "a baseline cannot be measured on the tree that a run would start from";
        return Err(Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint).with(missing));
    }
    let mut numbers = numbers.into_iter();
    each_rule(state, &mut |rule| {
        if let Some(number) = numbers.next() {
            rule.set_baseline(number);
        }
    });
    Ok(())
}

/// Whether the value of a leaf is to be measured.
fn is_wanted(leaf: &Check) -> bool {
    let rule = leaf.leaf().and_then(Leaf::number);
    rule.is_some_and(NumberRule::has_baseline)
}

/// The leaves whose values are to be measured, with the atom whose own they are, in the order of `each_rule`.
fn wanted(state: &State) -> impl Iterator<Item = (Option<&AtomId>, &Check)> {
    let base_case = evaluate::leaves(state).into_iter().map(|leaf| (None, leaf));
    let of_atoms = leaves_of_atoms(state).map(|(atom, leaf)| (Some(atom), leaf));
    base_case.chain(of_atoms).filter(|(_, leaf)| is_wanted(leaf))
}

/// The leaves of all atoms.
fn leaves_of_atoms(state: &State) -> impl Iterator<Item = (&AtomId, &Check)> {
    state.atoms.iter().flat_map(|(id, atom)| {
        let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
        checks.into_iter().flat_map(Check::leaves).map(move |leaf| (id, leaf))
    })
}

/// The rules with a baseline: those of the base case, then those of each atom.
fn each_rule(state: &mut State, each: &mut impl FnMut(&mut NumberRule)) {
    let holders: BTreeSet<Option<AtomId>> = wanted(state).map(|(id, _)| id.cloned()).collect();
    let mut each = |check: Option<&mut Check>| {
        check.into_iter().flat_map(Check::baselines_mut).for_each(&mut *each);
    };
    if holders.contains(&None) {
        each(Arc::make_mut(&mut state.objective).base_case.as_mut());
    }
    for (id, atom) in state.atoms.iter_mut() {
        if holders.contains(&Some(id.clone())) {
            let task = Arc::make_mut(atom).task_mut();
            each(task.and_then(|task| Arc::make_mut(&mut task.spec).checks.as_mut()));
        }
    }
}

/// A leaf that found no number, in words.
fn without_number(atom: Option<&AtomId>, seen: &VerdictView) -> String {
    let whose =
        atom.map_or_else(|| "the base case".to_owned(), |atom| format!("the checks of {atom}"));
    let last = seen.output.lines().last().unwrap_or_default();
    format!("`{}` in {whose}: `number` found no number ({}): {last}", seen.check, seen.ended)
}

/// Directories that tools make and checks seldom need: offered last.
const CACHES: &str = "target __pycache__ .pytest_cache .mypy_cache .ruff_cache .DS_Store .idea .vscode coverage .cache";

/// A path that a checkout lacks.
#[derive(Debug)]
pub(crate) struct LackingPath {
    /// Otherwise it holds packages, and matters only where a check fails.
    pub is_named: bool,
    pub advice: Advice,
}

/// Advice on each such path, but for caches, which tools make anew. Without a checkout it is for a run that links these.
pub(crate) fn lacking_paths(
    trees: &Worktrees,
    environment: &Environment,
    which: Option<Checkout>,
    linked: &[String],
) -> Result<Vec<LackingPath>, Failure> {
    let lacking = trees.lacking(environment, which)?.into_iter();
    let lacking = lacking.filter(|(path, _)| !is_cache(&path.to_string_lossy()));
    let advice = lacking.map(|(path, names)| {
        let links = [linked, &[path.display().to_string()]].concat().join(",");
        let (link, setup) = match which {
            Some(_) => (format!("--link {}", quoted(&path)), "--setup COMMAND"),
            None => (
                format!("descent run --set {}", quoted(format!("link={links}"))),
                "descent run --set setup=COMMAND",
            ),
        };
        let link = if trees.may_be_linked(&path) {
            format!("share yours: {link}; or ")
        } else {
            String::new()
        };
        let is_named = !names.is_empty();
        let why = if is_named {
            format!("it is named by {}", Vec::from_iter(names).join(" and "))
        } else {
            "it holds packages".to_owned()
        };
        let advice = Advice {
            what: format!("{why}, and a checkout lacks it"),
            hint: format!("{link}make it in each checkout: {setup}"),
            check: path.display().to_string(),
        };
        LackingPath { is_named, advice }
    });
    Ok(advice.collect())
}

/// Whether a path looks like a tool's leftovers, or lies in them: a cache may ignore each of its files itself.
pub(super) fn is_cache(path: &str) -> bool {
    let is_cache = |name: &str| {
        CACHES.split(' ').any(|cache| cache == name)
            || name.ends_with(".log")
            || name.ends_with(".egg-info")
    };
    path.split('/').any(is_cache)
}
