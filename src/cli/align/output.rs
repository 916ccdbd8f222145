//! An agreement as one value for a program: `descent align --json`.
//!
//! Not here: the same for a person (`preview`).

use descent_core::{
    advice::Advice,
    judging::Issue,
    view::{self, BoundView, VerdictView},
    world::World,
};
use serde::Serialize;

use crate::{config::Config, ops::compare::CheckoutComparison};

/// The agreement: `descent align --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cli) struct AlignOutput<'a> {
    schema: &'static str,
    goal: &'a str,
    why: &'a str,
    /// In a fresh checkout, where a run makes its checks; in place where the workspace is `shared`.
    base_case: &'a [VerdictView],
    /// The same in the working directory; empty where the workspace is `shared`.
    here: &'a [VerdictView],
    warnings: &'a [Advice],
    /// The issues that the rules find in the work: advice, not proof.
    issues: &'a [Issue],
    lacking: LackingPaths<'a>,
    /// Flags that may mend a difference of the two.
    suggested: Vec<String>,
    bound: BoundView,
    /// A base case of a single yes or no, where planners are or may be asked; else null.
    yes_or_no: Option<YesOrNo>,
    atoms: usize,
    workspace: &'static str,
    /// The command that does tasks without an action; null where none is named.
    worker: Option<String>,
    /// The lessons of earlier runs of the project that a run would be given now.
    pub(super) remembered: Vec<String>,
    /// The same was agreed before: nothing was written.
    pub(super) unchanged: bool,
}

const YES_OR_NO: &str = "the base case is a single yes or no: its distance is 0 or 1; a count (`number` in a plan) would steer planners better";

/// A base case whose distance is 0 or 1
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct YesOrNo {
    check: String,
    pub(super) what: &'static str,
}

/// None where the base case has more leaves or a count, and where no planner is or may be asked.
pub(super) fn yes_or_no(world: &World, bound: &BoundView) -> Option<YesOrNo> {
    let may_plan = world.graph.plans().next().is_some() || bound.changes.is_some();
    let base_case = world.state.objective.base_case.as_ref();
    let leaves = base_case.filter(|_| may_plan)?.leaves();
    let [check] = leaves.as_slice() else {
        return None;
    };
    let leaf = check.leaf()?;
    let is_one = leaf.is_machine() && leaf.number().is_none();
    is_one.then(|| YesOrNo { check: check.title(), what: YES_OR_NO })
}

/// Ignored paths that one of the two places lacks, where verdicts differ
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LackingPaths<'a> {
    checkout: &'a [String],
    here: &'a [String],
}

impl<'a> AlignOutput<'a> {
    pub(super) fn of(
        world: &'a World,
        comparison: &'a CheckoutComparison,
        issues: &'a [Issue],
        config: &'a Config,
    ) -> Self {
        let objective = &world.state.objective;
        let bound = view::bound_of_start(world, &config.table());
        Self {
            schema: "descent/align/1",
            goal: &objective.goal,
            why: &objective.background_intent,
            base_case: &comparison.fresh,
            here: &comparison.here,
            warnings: &comparison.advice,
            issues,
            lacking: LackingPaths { checkout: &comparison.not_fresh, here: &comparison.not_here },
            suggested: if comparison.differ() { comparison.link_flags() } else { Vec::new() },
            yes_or_no: yes_or_no(world, &bound),
            bound,
            atoms: world.graph.len(),
            workspace: objective.constraints.workspace().word(),
            worker: config.worker_line(),
            remembered: Vec::new(),
            unchanged: false,
        }
    }
}
