//! Rules about two atoms.

use alloc::{collections::BTreeMap, format, vec::Vec};

use super::{Issue, JudgedPlan, JudgedTask, PlanRule, Severity, found};
use crate::{
    graph::{Graph, Ix, overlap},
    state::Workspace,
};

/// Pairs that are told.
const COLLISIONS_MAX: usize = 20;
/// Pairs whose order is looked for: more are alike only in a plan that was made by the dozen.
const COMPARED_MAX: usize = 300;

pub(super) fn judge(plan: &JudgedPlan<'_>, issues: &mut Vec<Issue>) {
    let tasks: Vec<JudgedTask<'_>> = plan.tasks().collect();
    same_atoms(plan, &tasks, issues);
    provided_twice(plan, &tasks, issues);
    collisions(plan, issues);
}

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
    let mut together = together(plan);
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

fn together<'a>(plan: &JudgedPlan<'a>) -> Together<'a> {
    Together { graph: plan.graph, left: COMPARED_MAX }
}

fn provided_twice(plan: &JudgedPlan<'_>, tasks: &[JudgedTask<'_>], issues: &mut Vec<Issue>) {
    let mut together = together(plan);
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
    let meetings = overlap::meetings(plan.graph, plan.state);
    for meeting in meetings.into_iter().take(COLLISIONS_MAX) {
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
