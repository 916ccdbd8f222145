//! Evaluates checks once, outside of a loop: in a clean checkout, or in place.

use std::{path::Path, time::Duration};

use descent_core::{
    id::{CommitId, TreeId},
    state::{Check, CheckKind, Leaf, State},
    verdict::{
        self, Basis, CommandEnd, Evaluator, EvidenceCache, Measurement, MeasurementKind, Verdict,
        assertions,
    },
    view::VerdictView,
};
use tokio_util::sync::CancellationToken;

use crate::driver::{CheckSetting, CheckTree, ReadyCheckout};
use descent_process::{self as process, Programs, environment::Environment};
use descent_store::StatePlace;
use descent_system::failure::Failure;
use descent_workspace::{Checkout, Warmth, Workspaces, Worktrees, git::Stamps};

/// A check that begins, the `nth` of `all`.
#[derive(Debug)]
pub struct CheckStart<'a> {
    pub title: &'a str,
    pub nth: usize,
    pub all: usize,
}

/// A leaf as it was measured.
#[derive(Debug, Clone, Default)]
pub struct SeenLeaf {
    /// Absent where no machine decides it.
    pub measured: Option<Measurement>,
    /// Tracked files of the working directory that changed meanwhile.
    pub changed: Vec<String>,
    /// The same of those that git neither tracks nor ignores.
    pub left: Vec<String>,
}

/// The setting in which checks are evaluated.
pub struct CheckBench<'a> {
    /// The working directory.
    pub top: &'a Path,
    pub place: &'a StatePlace,
    pub environment: &'a Environment,
    pub programs: &'a dyn Programs,
    pub cancel: &'a CancellationToken,
}

impl CheckBench<'_> {
    /// Verdicts on all leaves of the base case, on a commit; in place if the workspace is shared.
    pub async fn base_case(
        &self,
        state: &State,
        workspaces: &Workspaces,
        commit: Option<CommitId>,
        on_check: &dyn Fn(CheckStart<'_>),
    ) -> Result<Vec<VerdictView>, Failure> {
        let tree = match &commit {
            Some(commit) => workspaces.tree_of(commit)?,
            None => None,
        };
        let Some(ready) = self.checkout(workspaces, commit, Warmth::Cold).await? else {
            return Ok(Vec::new());
        };
        let seen = self.leaves(state, &ready.at, None, on_check).await?;
        Ok(judged(state, &seen, tree.as_ref()))
    }

    /// A clean checkout of a commit, after its `setup`; `None` if that was cancelled. A warm one begins with the person's
    /// build state.
    pub async fn checkout(
        &self,
        workspaces: &Workspaces,
        commit: Option<CommitId>,
        warmth: Warmth,
    ) -> Result<Option<ReadyCheckout>, Failure> {
        process::prepare()?;
        let tree = CheckTree { kind: Checkout::Judging, commit, warmth };
        self.setting().prepare(workspaces, tree).await?.or_fail(workspaces)
    }

    /// Measures every leaf of the base case in one directory, in the order written, up to one that is cut off. `files`
    /// are those to be watched meanwhile.
    pub async fn leaves(
        &self,
        state: &State,
        at: &Path,
        files: Option<&Worktrees>,
        on_check: &dyn Fn(CheckStart<'_>),
    ) -> Result<Vec<SeenLeaf>, Failure> {
        let timeout = Duration::from_millis(state.objective.constraints.attempt_timeout_ms());
        let look = || files.map_or(Ok(Stamps::default()), Worktrees::stamps);
        let mut before = look()?;
        let mut seen = Vec::new();
        let leaves = leaves(state);
        for (place, leaf) in leaves.iter().enumerate() {
            let Some(rule) = leaf.leaf().filter(|rule| rule.is_machine()) else {
                seen.push(SeenLeaf::default());
                continue;
            };
            on_check(CheckStart { title: &leaf.title(), nth: place + 1, all: leaves.len() });
            let Some(measured) = self.measure(rule, at, timeout).await else {
                break;
            };
            let after = look()?;
            seen.push(SeenLeaf {
                measured: Some(measured),
                changed: after.changed_since(&before),
                left: after.left_since(&before),
            });
            before = after;
        }
        Ok(seen)
    }

    /// Measures one leaf; `None` where it was cut off. A command's output goes to the person, not into the state.
    pub async fn measure(&self, rule: &Leaf, at: &Path, timeout: Duration) -> Option<Measurement> {
        self.setting().measure(rule, at, timeout, None).await
    }

    fn setting(&self) -> CheckSetting<'_> {
        let &Self { environment, programs, cancel, place, .. } = self;
        CheckSetting { environment, programs, mark: format!("{}/judging", place.mark()), cancel }
    }
}

/// The leaves of the base case.
pub fn leaves(state: &State) -> Vec<&Check> {
    let base_case = state.objective.base_case.iter();
    base_case.flat_map(Check::leaves).collect()
}

/// The verdicts on the leaves of the base case, as they were measured on this tree.
pub fn judged(state: &State, seen: &[SeenLeaf], tree: Option<&TreeId>) -> Vec<VerdictView> {
    let pairs = leaves(state).into_iter().zip(seen);
    pairs
        .map(|(leaf, seen)| match (leaf.leaf(), &seen.measured) {
            (Some(rule), Some(seen)) => verdict_of(leaf, rule, seen.clone()),
            _ => by_others(leaf, state, tree),
        })
        .collect()
}

/// The verdict of the whole tree, from those of its leaves.
pub fn whole(state: &State, judged: &[VerdictView]) -> Verdict {
    let mut verdicts = judged.iter().map(|judged| judged.verdict);
    let check = state.objective.base_case.as_ref();
    check.map_or(Verdict::Unknown, |check| combine(check, &mut verdicts))
}

/// The verdict of a tree of checks, from those of its leaves in the order written.
pub fn combine(check: &Check, verdicts: &mut impl Iterator<Item = Verdict>) -> Verdict {
    let (parts, decisive, other) = match &check.kind {
        CheckKind::Leaf(_) => return verdicts.next().unwrap_or(Verdict::Unknown),
        CheckKind::All(parts) => (parts, Verdict::Fail, Verdict::Pass),
        CheckKind::Any(parts) => (parts, Verdict::Pass, Verdict::Fail),
    };
    // Every part is evaluated, so that each takes its own leaves.
    let parts: Vec<Verdict> = parts.iter().map(|part| combine(part, verdicts)).collect();
    if parts.contains(&decisive) {
        decisive
    } else if parts.contains(&Verdict::Unknown) {
        Verdict::Unknown
    } else {
        other
    }
}

/// A leaf that a machine decides, with its verdict.
pub fn verdict_of(leaf: &Check, rule: &Leaf, seen: Measurement) -> VerdictView {
    // A baseline that is being measured is met by itself.
    let number = number_of(rule, &seen);
    let rule = with_baseline(rule, number);
    VerdictView {
        check: leaf.title(),
        by_person: false,
        verdict: verdict::of_leaf(&rule, &seen),
        ended: ended(&rule, &seen),
        number,
        duration_ms: seen.duration_ms,
        output: seen.excerpt,
    }
}

/// The number that a command printed, if the command ended by itself.
fn number_of(rule: &Leaf, seen: &Measurement) -> Option<f64> {
    let (Leaf::Command(leaf), MeasurementKind::Command { how, number, .. }) = (rule, &seen.what)
    else {
        return None;
    };
    let has_ended = how.has_run().is_some() || *how == CommandEnd::Exit(leaf.expect_exit);
    number.filter(|_| has_ended)
}

fn with_baseline(rule: &Leaf, number: Option<f64>) -> Leaf {
    let mut rule = rule.clone();
    if let (Leaf::Command(leaf), Some(number)) = (&mut rule, number)
        && let Some(limits) = &mut leaf.number
        && limits.has_baseline()
        && limits.baseline.is_none()
    {
        limits.set_baseline(number);
    }
    rule
}

fn ended(rule: &Leaf, seen: &Measurement) -> String {
    match &seen.what {
        MeasurementKind::Command { how, number, .. } => {
            let limits = rule.number().map(|limits| {
                let found = number.map_or("no number".to_owned(), |n| format!("number {n}"));
                format!(", {found}, {}", limits.describe())
            });
            how.text() + &limits.unwrap_or_default()
        }
        MeasurementKind::Files { found, .. } => format!("{found} found"),
        MeasurementKind::SetupFailed { how } => format!("{} in setup", how.text()),
    }
}

/// The verdict on a leaf that no machine decides: a person's word, or a judge's rating in an earlier run. Nobody is asked.
fn by_others(leaf: &Check, state: &State, tree: Option<&TreeId>) -> VerdictView {
    let tree = tree.cloned().unwrap_or_else(|| TreeId::new(""));
    let (cache, basis) = (EvidenceCache::default(), Basis::Pristine(tree));
    let record = Evaluator::new(&cache, state, &basis).evidence_of(leaf).pop();
    let record = record.unwrap_or_default();
    let mut decided = [Verdict::Pass, Verdict::Fail].into_iter();
    let verdict = decided.find(|one| record.verdict.as_deref() == Some(one.word()));
    let verdict = verdict.unwrap_or(Verdict::Unknown);
    let said = match leaf.leaf() {
        Some(Leaf::Assertion(said)) if verdict == Verdict::Unknown => {
            Some(assertions::command(leaf.name.as_ref().unwrap_or(&said.statement)))
        }
        _ => record.ended,
    };
    VerdictView {
        check: leaf.title(),
        by_person: !matches!(leaf.leaf(), Some(Leaf::Quality(_))),
        verdict,
        ended: said.unwrap_or_default(),
        number: None,
        duration_ms: 0,
        output: String::new(),
    }
}
