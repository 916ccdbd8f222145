//! Issues of a plan, as far as code can tell them: rules that each name an atom, and a repair.
//!
//! Invariant: a rule speaks only of what is certain, and a plan without an issue is not proved to be good. Not here: the
//! faults of a file or a graph (`graph::validate`), looking at programs and files (the shell), what follows from an issue
//! (`fragment`, `cli`).

mod alone;
mod facts;
mod surroundings;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Node},
    graph::{Graph, Ix, NodeKind, overlap},
    id::Digest,
    plan::PointerMap,
    state::{Atom, IssueRecord, IssueType, Severity, State, Task, Workspace, decode, table::words},
};

pub use alone::{constant, never_fails};
pub use facts::{
    CommandFacts, MissingTarget, PlanFacts, PlanQuestions, Unmatched, UnmatchedPattern, questions,
};

words! {
    /// A rule, by the word that issues name it by.
    pub enum PlanRule {
        /// A worker's task does not say what is to be done
        NoOrder = "no-order",
        /// Nothing tells when a worker's task is done
        NoEnd = "no-end",
        /// Its checks hold before anything was done
        VacuousCheck = "vacuous-check",
        /// Its check, or an action without one, always succeeds
        CannotFail = "cannot-fail",
        /// Its action does nothing
        DoesNothing = "does-nothing",
        /// It touches what no attempt may change
        Protected = "protected",
        /// The program of a command is not there
        NoProgram = "no-program",
        /// The manifest has no such target
        NoTarget = "no-target",
        /// A named file is not there, and nothing makes it
        NoFile = "no-file",
        /// Nothing that it waits for provides what it needs
        NotProvided = "not-provided",
        /// Two atoms without an order provide the same
        ProvidedTwice = "provided-twice",
        /// Two atoms are the same
        SameAtom = "same-atom",
        /// Two atoms without an order touch the same files
        Collide = "collide",
        /// The same has failed before
        Tried = "tried",
        /// It has no part in what its plan is for
        NoPart = "no-part",
        /// A pattern of a constraint has no effect
        NoMatch = "no-match",
    }
}

impl PlanRule {
    pub fn issue_type(self) -> IssueType {
        match self {
            Self::NoOrder | Self::NoEnd => IssueType::Specificity,
            Self::VacuousCheck | Self::CannotFail | Self::DoesNothing | Self::Protected => {
                IssueType::DoSayMismatch
            }
            Self::NoProgram | Self::NoTarget | Self::NoFile | Self::NoMatch => {
                IssueType::Hallucination
            }
            Self::NotProvided
            | Self::ProvidedTwice
            | Self::SameAtom
            | Self::Collide
            | Self::Tried => IssueType::Consistency,
            Self::NoPart => IssueType::Relevance,
        }
    }
}

/// An issue that a rule found at an atom, or at a constraint.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Issue {
    pub rule: PlanRule,
    #[serde(rename = "type")]
    pub kind: IssueType,
    pub severity: Severity,
    /// The id of the atom; `constraints` for the rule `no-match`
    pub location: String,
    /// JSON pointer into it, such as `/action/run`; empty for the whole of it
    pub at: String,
    pub description: String,
    pub proposed_repair: String,
}

impl Issue {
    /// As the state keeps it.
    pub fn record(&self) -> IssueRecord {
        IssueRecord {
            rule: Some(self.rule.word().to_string()),
            kind: self.kind,
            severity: self.severity,
            location: self.location.clone(),
            description: self.description.clone(),
            proposed_repair: self.proposed_repair.clone(),
            extra: Default::default(),
        }
    }

    /// The place in a plan or a state.
    pub fn pointer(&self) -> String {
        let above = match self.rule {
            PlanRule::NoMatch => "/objective",
            _ => "/work_graph/atoms",
        };
        doc::pointer_push(above, &self.location) + &self.at
    }
}

/// The issues as faults of a text, for those that show its lines.
pub fn faults(issues: &[Issue], root: &Node, written: &PointerMap) -> Vec<Fault> {
    let one = |issue: &Issue| {
        let flat = issue.pointer();
        Fault {
            span: decode::place_of(root, &flat),
            pointer: written.pointer(&flat),
            rule: issue.rule.word(),
            message: format!("{}: {}", issue.severity.word(), issue.description),
            hint: Some(issue.proposed_repair.clone()),
        }
    };
    issues.iter().map(one).collect()
}

/// A plan, or a part of one, among all that stands beside it.
#[derive(Debug)]
pub struct JudgedPlan<'a> {
    pub state: &'a State,
    pub graph: &'a Graph,
    /// The atoms that are judged.
    pub atoms: BTreeSet<Ix>,
    pub facts: &'a PlanFacts,
    /// Specifications that failed for good where these atoms would be tried.
    pub failed: BTreeSet<Digest>,
    /// Whether it is planned for one atom.
    pub has_target: bool,
}

impl<'a> JudgedPlan<'a> {
    /// The atoms of a state that are not resolved yet.
    pub fn of_pending(state: &'a State, graph: &'a Graph, facts: &'a PlanFacts) -> Self {
        let is_open = |x: &Ix| state.atoms.contains_key(graph.id(*x));
        Self {
            state,
            graph,
            atoms: graph.atoms().filter(is_open).collect(),
            facts,
            failed: BTreeSet::new(),
            has_target: false,
        }
    }

    fn atom(&self, x: Ix) -> Option<&'a Atom> {
        self.state.atom(self.graph.id(x)).map(|atom| &**atom)
    }

    /// The judged tasks and planning steps that are still to be done.
    fn tasks(&self) -> impl Iterator<Item = JudgedTask<'a>> {
        self.atoms.iter().copied().filter_map(|x| {
            let atom = self.atom(x)?;
            // A planning step with a fragment has been planned.
            let is_planned = atom.plan().is_some_and(|plan| plan.in_force().is_some());
            Some(JudgedTask { x, atom, task: atom.task()? }).filter(|_| !is_planned)
        })
    }

    fn issue(&self, x: Ix, rule: PlanRule, severity: Severity, found: IssueWords) -> Issue {
        Issue {
            rule,
            kind: rule.issue_type(),
            severity,
            location: self.graph.id(x).to_string(),
            at: found.at,
            description: found.what,
            proposed_repair: found.repair,
        }
    }
}

/// A task that is judged.
#[derive(Clone, Copy)]
struct JudgedTask<'a> {
    x: Ix,
    atom: &'a Atom,
    task: &'a Task,
}

impl JudgedTask<'_> {
    /// Whether an agent does it.
    fn is_of_agent(&self) -> bool {
        self.task.spec.action.is_none()
    }

    fn is_plan(&self) -> bool {
        self.atom.plan().is_some()
    }
}

/// The words of an issue.
struct IssueWords {
    at: String,
    what: String,
    repair: String,
}

fn found(at: impl Into<String>, what: impl Into<String>, repair: impl Into<String>) -> IssueWords {
    IssueWords { at: at.into(), what: what.into(), repair: repair.into() }
}

/// All issues, the heaviest first.
pub fn judge(plan: &JudgedPlan<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    let later = alone::CheckedLater::of(plan);
    for task in plan.tasks() {
        alone::judge(plan, task, &later, &mut issues);
        surroundings::judge(plan, task, &mut issues);
    }
    let tasks: Vec<JudgedTask<'_>> = plan.tasks().collect();
    same_atoms(plan, &tasks, &mut issues);
    provided_twice(plan, &tasks, &mut issues);
    collisions(plan, &mut issues);
    issues.extend(plan.facts.unmatched.iter().map(no_match));
    issues.sort_by_cached_key(|one| (one.severity.rank(), one.location.clone(), one.rule));
    issues
}

/// Whether it is a planning step that was not planned yet: nobody knows what it will do.
fn is_unplanned(plan: &JudgedPlan<'_>, x: Ix) -> bool {
    plan.graph.vertex(x).kind == NodeKind::Plan
        && plan.atom(x).and_then(Atom::plan).is_some_and(|step| step.in_force().is_none())
}

// A rule about the constraints: a pattern that matches nothing guards nothing.

/// The issue of a pattern that has no effect.
pub fn no_match(one: &UnmatchedPattern) -> Issue {
    let UnmatchedPattern { key, pattern, .. } = one;
    let does = match *key {
        "protected" => "protects",
        "link" => "shares",
        "setup.keep" => "keeps",
        "setup" => "prepares",
        _ => "names",
    };
    let (why, repair) = match &one.why {
        Unmatched::NoPath { nearest } => ("matches nothing here", instead(key, nearest.as_deref())),
        Unmatched::Linked => {
            ("matches only what is linked, and so your own", "leave the link out".to_owned())
        }
        Unmatched::InPlace => (
            "has no effect where agents work in place",
            "choose the workspace `git` or `shadow`, or leave it out".to_owned(),
        ),
    };
    Issue {
        rule: PlanRule::NoMatch,
        kind: PlanRule::NoMatch.issue_type(),
        severity: Severity::Medium,
        location: "constraints".to_string(),
        at: one.at.clone(),
        description: format!("{key} `{pattern}` {why}: it {does} nothing"),
        proposed_repair: repair,
    }
}

fn instead(key: &str, nearest: Option<&str>) -> String {
    match (nearest, key) {
        (Some(near), _) => format!("the nearest path that is there: `{near}`"),
        (None, "link") => "link a path of the project, or leave it out".to_owned(),
        (None, _) => "a pattern begins at the top; `**/NAME` is a name at any depth".to_owned(),
    }
}

// Rules about two atoms.

/// Pairs that are told.
const COLLISIONS_MAX: usize = 20;
/// Pairs whose order is looked for: more are alike only in a plan that was made by the dozen.
const COMPARED_MAX: usize = 300;

/// Whether two tasks can be under way together: neither waits for the other, and they are no choices of one group.
struct Together<'a> {
    graph: &'a Graph,
    left: usize,
}

impl Together<'_> {
    fn are(&mut self, x: Ix, y: Ix) -> bool {
        if x == y || self.left == 0 || overlap::are_choices(self.graph, x, y) {
            return false;
        }
        self.left -= 1;
        let waits = |x: Ix, y: Ix| overlap::upstream(self.graph, x).contains(&y);
        !waits(x, y) && !waits(y, x)
    }
}

fn same_atoms(plan: &JudgedPlan<'_>, tasks: &[JudgedTask<'_>], issues: &mut Vec<Issue>) {
    let mut together = Together { graph: plan.graph, left: COMPARED_MAX };
    let mut known: BTreeMap<_, Vec<Ix>> = BTreeMap::new();
    for one in tasks {
        let vertex = plan.graph.vertex(one.x);
        let key = (&vertex.spec, one.is_plan(), &vertex.deps, &one.task.touches);
        let same = known.entry(key).or_default();
        // To do the same again later may be wanted.
        if let Some(other) = same.iter().find(|x| together.are(**x, one.x)) {
            let id = plan.graph.id(*other);
            let told = found(
                "",
                format!("it is the same as `{id}`"),
                "leave one of them out, or say how they differ",
            );
            issues.push(plan.issue(one.x, PlanRule::SameAtom, Severity::Medium, told));
        }
        same.push(one.x);
    }
}

fn provided_twice(plan: &JudgedPlan<'_>, tasks: &[JudgedTask<'_>], issues: &mut Vec<Issue>) {
    let mut together = Together { graph: plan.graph, left: COMPARED_MAX };
    let mut known: BTreeMap<&str, Vec<Ix>> = BTreeMap::new();
    for one in tasks {
        for (nth, name) in one.task.provides.iter().enumerate() {
            let same = known.entry(name).or_default();
            if let Some(other) = same.iter().find(|x| together.are(**x, one.x)) {
                let id = plan.graph.id(*other);
                let told = found(
                    format!("/provides/{nth}"),
                    format!("`{id}` provides `{name}` too, and neither waits for the other"),
                    "let one of them provide it, or let one wait for the other",
                );
                issues.push(plan.issue(one.x, PlanRule::ProvidedTwice, Severity::Medium, told));
            }
            same.push(one.x);
        }
    }
}

fn collisions(plan: &JudgedPlan<'_>, issues: &mut Vec<Issue>) {
    let is_shared = plan.state.objective.constraints.workspace() == Workspace::Shared;
    let severity = if is_shared { Severity::Medium } else { Severity::Low };
    for meeting in overlap::meetings(plan.graph, plan.state).into_iter().take(COLLISIONS_MAX) {
        let [one, other] = &meeting.atoms;
        let judged = [one, other].map(|id| plan.graph.ix(id).filter(|x| plan.atoms.contains(x)));
        let [Some(_), Some(x)] = judged else { continue };
        let [a, b] = &meeting.touches;
        let told = found(
            "/touches",
            format!("it touches `{b}`, and `{one}` touches `{a}` beside it"),
            "let one wait for the other, or touch other files",
        );
        issues.push(plan.issue(x, PlanRule::Collide, severity, told));
    }
}
