//! Evaluates the leaves of a base case once, outside of a loop.

use std::time::Duration;

use descent_core::{
    id::{CommitId, TreeId},
    state::{Check, CheckKind, Leaf, State, check::QualityLeaf},
    verdict::{self, Basis, CommandEnd, Measurement, MeasurementKind, Verdict, assertions},
    view::VerdictView,
};
use tokio_util::sync::CancellationToken;

use crate::{
    driver,
    failure::Failure,
    process::{self, Programs, environment::Environment},
    store::StatePlace,
    verify::{self, MeasureContext},
    workspace::{Checkout, Workspaces},
};

/// A check that begins, the `nth` of `all`.
#[derive(Debug)]
pub struct CheckStart<'a> {
    pub title: &'a str,
    pub nth: usize,
    pub all: usize,
}

/// The setting in which leaves are evaluated.
pub struct Evaluation<'a> {
    pub place: &'a StatePlace,
    pub workspaces: &'a Workspaces,
    /// Leaves are evaluated in a clean checkout of this commit; in place if the workspace is shared.
    pub commit: Option<CommitId>,
    pub checkout: Checkout,
    pub environment: &'a Environment,
    pub programs: &'a dyn Programs,
    pub cancel: &'a CancellationToken,
    pub on_check: &'a dyn Fn(CheckStart<'_>),
}

impl Evaluation<'_> {
    /// Verdicts on all leaves of the base case.
    pub async fn base_case(&self, state: &State) -> Result<Vec<VerdictView>, Failure> {
        let checks = state.objective.base_case.iter().flat_map(Check::leaves);
        let checks: Vec<&Check> = checks.collect();
        self.leaves(state, &checks).await
    }

    /// Verdicts on these leaves.
    pub async fn leaves(
        &self,
        state: &State,
        leaves: &[&Check],
    ) -> Result<Vec<VerdictView>, Failure> {
        let tree = match &self.commit {
            Some(commit) => self.workspaces.tree_of(commit)?,
            None => None,
        };
        let mark = mark(self.place);
        process::prepare()?;
        let at = driver::prepare_checkout(
            self.workspaces,
            self.checkout,
            self.commit.clone(),
            self.environment,
            self.programs,
            &mark,
            self.cancel,
        );
        let Some(driver::ReadyCheckout { at, .. }) = at.await?.or_fail(self.workspaces)? else {
            return Ok(Vec::new());
        };
        let timeout_ms = state.objective.constraints.attempt_timeout_ms();
        let bench = MeasureContext {
            at: &at,
            env: self.environment,
            programs: self.programs,
            timeout_default: Duration::from_millis(timeout_ms),
            mark: &mark,
            cancel: self.cancel,
            // A command's output goes to the person, not into the state.
            keep: None,
        };
        let mut judged = Vec::new();
        for (place, leaf) in leaves.iter().enumerate() {
            let Some(rule) = leaf.leaf() else { continue };
            if !rule.is_machine() {
                judged.push(by_others(leaf, state, tree.as_ref()));
                continue;
            }
            let title = &leaf.title();
            let (nth, all) = (place + 1, leaves.len());
            (self.on_check)(CheckStart { title, nth, all });
            let Some(seen) = verify::measure(rule, &bench).await else {
                break;
            };
            judged.push(verdict_of(leaf, rule, seen));
        }
        Ok(judged)
    }
}

/// The mark of an evaluation's processes.
pub fn mark(place: &StatePlace) -> String {
    format!("{}/judging", place.mark())
}

/// The verdict of the whole tree, from those of its leaves.
pub fn whole(state: &State, judged: &[VerdictView]) -> Verdict {
    let mut verdicts = judged.iter().map(|judged| judged.verdict);
    state
        .objective
        .base_case
        .as_ref()
        .map_or(Verdict::Unknown, |check| combine(check, &mut verdicts))
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

/// The verdict on a leaf that no machine decides, for this tree.
pub fn by_others(leaf: &Check, state: &State, tree: Option<&TreeId>) -> VerdictView {
    match leaf.leaf() {
        Some(Leaf::Quality(rule)) => by_judge(leaf, rule, state, tree),
        Some(_) | None => by_person(leaf, state, tree),
    }
}

/// A judge's rating of this tree in an earlier run; nobody is asked.
fn by_judge(leaf: &Check, rule: &QualityLeaf, state: &State, tree: Option<&TreeId>) -> VerdictView {
    let basis = tree.map(|tree| Basis::Pristine(tree.clone()));
    let ratings = &state.run.ratings;
    let rating = basis.and_then(|basis| verdict::rating_on(ratings, &leaf.key(), &basis));
    let verdict = match rating.and_then(|rating| rating.passes(rule)) {
        Some(true) => Verdict::Pass,
        Some(false) => Verdict::Fail,
        None => Verdict::Unknown,
    };
    VerdictView {
        check: leaf.title(),
        by_person: false,
        verdict,
        ended: rating
            .map_or_else(|| "a judge rates it in a run".to_owned(), |rating| rating.text(rule)),
        number: None,
        duration_ms: 0,
        output: String::new(),
    }
}

/// A person's verdict on the assertion, for this tree.
fn by_person(leaf: &Check, state: &State, tree: Option<&TreeId>) -> VerdictView {
    let statement = match leaf.leaf() {
        Some(Leaf::Assertion(leaf)) => leaf.statement.clone(),
        Some(_) | None => leaf.title(),
    };
    let name = leaf.name.clone().unwrap_or_else(|| statement.clone());
    let word = assertions::newest(&state.corrections, &name, &statement, |word| {
        word.on.is_none() || word.on.as_deref() == tree.map(TreeId::as_str)
    });
    let (verdict, ended) = match word {
        Some(word) => {
            let (verdict, verb) =
                if word.holds { (Verdict::Pass, "confirmed") } else { (Verdict::Fail, "denied") };
            (verdict, format!("{verb} by {} at {}", word.by, word.at))
        }
        None => (Verdict::Unknown, assertions::command(&name)),
    };
    VerdictView {
        check: leaf.title(),
        by_person: true,
        verdict,
        ended,
        number: None,
        duration_ms: 0,
        output: String::new(),
    }
}
