//! An agreement as one value, before anybody agrees to it: `descent align --json`, and all that a page of it shows.

use descent_core::{
    judging::Issue,
    memory,
    state::{Lesson, LessonKind, StartedFrom, State, Workspace},
    view::{BoundView, VerdictView},
    world::World,
};
use descent_minds::advice::Advice;
use serde::Serialize;

use super::AgreementDraft;
use crate::ops::{self, Client, agents, compare::CheckoutComparison};
use descent_agent::config::Config;
use descent_system::failure::Failure;
use descent_workspace::{CarriedDirs, Worktrees};

const YES_OR_NO: &str = "the base case is a single yes or no: its distance is 0 or 1; a count (`number` in a plan) would steer planners better";

/// The agreement: `descent align --json`
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgreementView {
    schema: &'static str,
    pub goal: String,
    pub why: String,
    /// In a fresh checkout, where a run makes its checks; in place where the workspace is `shared`.
    pub base_case: Vec<VerdictView>,
    /// The same in the working directory; empty where the workspace is `shared`.
    pub here: Vec<VerdictView>,
    pub warnings: Vec<Advice>,
    /// The issues that the rules find in the work: advice, not proof.
    pub issues: Vec<Issue>,
    pub lacking: LackingPaths,
    /// Flags that may mend a difference of the two.
    pub suggested: Vec<String>,
    pub bound: BoundView,
    /// A base case of a single yes or no, where planners are or may be asked; else null.
    pub yes_or_no: Option<YesOrNo>,
    atoms: usize,
    workspace: &'static str,
    /// The command that does tasks without an action; null where none is named.
    pub worker: Option<String>,
    /// The lessons of earlier runs of the project that a run would be given now.
    pub remembered: Vec<String>,
    /// The same was agreed before: nothing was written.
    unchanged: bool,
    #[serde(skip)]
    pub world: World,
    #[serde(skip)]
    pub start: Option<StartedFrom>,
    /// Files of the person that are in no commit.
    #[serde(skip)]
    pub uncommitted: usize,
    #[serde(skip)]
    pub notify: Option<String>,
    /// How long `setup` takes in a fresh checkout.
    #[serde(skip)]
    pub setup_ms: Option<u64>,
    /// The directories of build state that trees begin with; null without any.
    pub carried: Option<CarriedDirs>,
    /// Git has no name for the author of commits.
    #[serde(skip)]
    pub is_nobody: bool,
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Ignored paths that one of the two places lacks, where verdicts differ
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LackingPaths {
    pub checkout: Vec<String>,
    pub here: Vec<String>,
}

/// A base case whose distance is 0 or 1
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YesOrNo {
    check: String,
    pub what: &'static str,
}

impl AgreementView {
    /// An agreement that stands already.
    pub fn unchanged(state: &State, config: &Config) -> Self {
        Self::of(state, config, &CheckoutComparison::default())
    }

    fn of(state: &State, config: &Config, comparison: &CheckoutComparison) -> Self {
        let world = World::new(state.clone());
        let objective = &world.state.objective;
        let bound = world.bound_of_start(&config.table()).into();
        Self {
            schema: "descent/align/1",
            goal: objective.goal.clone(),
            why: objective.background_intent.clone(),
            base_case: comparison.fresh.clone(),
            here: comparison.here.clone(),
            warnings: Vec::new(),
            issues: Vec::new(),
            lacking: LackingPaths {
                checkout: comparison.not_fresh.clone(),
                here: comparison.not_here.clone(),
            },
            suggested: if comparison.differ() { comparison.link_flags() } else { Vec::new() },
            yes_or_no: yes_or_no(&world, &bound),
            bound,
            atoms: world.graph.len(),
            workspace: objective.constraints.workspace().word(),
            worker: config.worker_line(),
            remembered: Vec::new(),
            unchanged: true,
            start: None,
            uncommitted: 0,
            notify: config.notify().map(str::to_owned),
            setup_ms: comparison.setup_ms,
            carried: comparison.carried.clone(),
            is_nobody: false,
            notes: Vec::new(),
            world,
        }
    }

    /// Whether a check ends otherwise in a fresh checkout.
    pub fn differ(&self) -> bool {
        let mut pairs = self.here.iter().zip(&self.base_case);
        pairs.any(|(here, fresh)| here.verdict != fresh.verdict)
    }
}

impl AgreementDraft<'_> {
    /// The agreement as it would be, with everything that a person should know of it.
    pub fn view(&self, client: &dyn Client, config: &Config) -> Result<AgreementView, Failure> {
        let (comparison, top) = (&self.comparison, self.bench.top);
        let trees = self.workspaces.trees();
        let mut facts = ops::file_faults::facts(&self.state, top);
        facts.holding.clone_from(&comparison.holding);
        let lessons = ops::memory::shown(client, top, &self.state);
        let view = AgreementView::of(&self.state, config, comparison);
        let is_git = self.state.objective.constraints.workspace() == Workspace::Git;
        Ok(AgreementView {
            warnings: warnings(&view.world, comparison, config),
            issues: ops::file_faults::judged(&self.state, &facts),
            remembered: lessons.iter().map(|one| lesson(&view.world, one)).collect(),
            unchanged: false,
            start: self.start.clone(),
            uncommitted: trees.map_or(Ok(0), Worktrees::uncommitted)?,
            is_nobody: is_git && trees.is_some_and(|trees| trees.git().identity_is_default()),
            notes: trees.map(Worktrees::notes).unwrap_or_default(),
            ..view
        })
    }
}

/// None where the base case has more leaves or a count, and where no planner is or may be asked.
fn yes_or_no(world: &World, bound: &BoundView) -> Option<YesOrNo> {
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

/// Odd things about the checks, the work and the places of an agreement.
fn warnings(world: &World, comparison: &CheckoutComparison, config: &Config) -> Vec<Advice> {
    let advice =
        |what: String, hint: &str| Advice { check: String::new(), what, hint: hint.to_owned() };
    let mut all = comparison.advice.clone();
    let is_shared = world.state.objective.constraints.workspace() == Workspace::Shared;
    if is_shared && world.graph.groups().next().is_some() {
        let what = "there are groups: what an abandoned choice did stays in the files";
        let hint = "take the workspace git or shadow, or plan without groups";
        all.push(advice(what.to_owned(), hint));
    }
    if let Some(what) = agents::lacks_worker(&world.state, config) {
        let how =
            "before the run, write this or the like in descent.toml, at the top of the project:";
        let hint = format!("{how}\n{}", agents::example().join("\n"));
        all.push(advice(format!("{what}, and none is named yet"), &hint));
    }
    all
}

/// A lesson in a line, with its use: it orders the choices of the graph, and agents are told any other.
fn lesson(world: &World, one: &Lesson) -> String {
    let because = match one.because.as_str() {
        "" => String::new(),
        because => format!(" ({because})"),
    };
    let usage = match (one.kind, memory::orders(world, one)) {
        (LessonKind::MustNot, true) => ", tried last",
        (LessonKind::Prefer, true) => ", tried first",
        (LessonKind::MustNot, false) => ", told to planners and workers",
        (LessonKind::Prefer, false) => ", told to planners",
        (LessonKind::Note, _) => "",
    };
    format!("{}{because}{usage}", one.lesson)
}
