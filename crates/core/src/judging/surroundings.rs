//! Rules about what is there: programs, targets and files, and what earlier steps may make.

use crate::doc::prelude::*;
use core::cell::OnceCell;

use super::{Issue, JudgedPlan, JudgedTask, PlanRule, Severity, found, is_unplanned};
use crate::{
    graph::{Ix, overlap},
    state::{Check, Leaf, Task},
};

/// The part of the earlier steps in something that is not there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Earlier {
    /// Nothing is done before.
    Nothing,
    /// Something is done, and nobody says what it changes.
    Anything,
    /// It says that it changes this.
    This,
}

pub(super) fn judge(plan: &JudgedPlan<'_>, one: JudgedTask<'_>, issues: &mut Vec<Issue>) {
    // Hardly any task needs it.
    let upstream = OnceCell::new();
    let upstream = || upstream.get_or_init(|| overlap::upstream(plan.graph, one.x));
    if let Some(action) = &one.task.spec.action {
        let earlier = |path: Option<&str>| earlier(plan, upstream(), path);
        command(plan, one.x, "/action/run", &action.run, earlier, issues);
    }
    for leaf in leaves(one.task) {
        if let Leaf::Command(leaf) = leaf {
            // Its own work is done before its check.
            let earlier = |path: Option<&str>| match path {
                Some(path) if covers(one.task, path) => Earlier::This,
                _ => earlier(plan, upstream(), path).max(Earlier::Anything),
            };
            command(plan, one.x, "/checks", &leaf.command, earlier, issues);
        }
    }
    issues.extend(no_file(plan, one, &upstream));
    issues.extend(not_provided(plan, one, &upstream));
}

fn leaves(task: &Task) -> Vec<&Leaf> {
    task.spec.checks.iter().flat_map(Check::leaves).filter_map(Check::leaf).collect()
}

/// The part of the steps before in a path, or in anything that is not there.
fn earlier(plan: &JudgedPlan<'_>, upstream: &BTreeSet<Ix>, path: Option<&str>) -> Earlier {
    let of = |x: &Ix| {
        if is_unplanned(plan, *x) {
            return Earlier::Anything;
        }
        match plan.atom(*x).and_then(|atom| atom.task()) {
            None => Earlier::Nothing,
            Some(task) => match path {
                Some(path) if covers(task, path) => Earlier::This,
                Some(_) if !task.touches.is_empty() => Earlier::Nothing,
                _ => Earlier::Anything,
            },
        }
    };
    upstream.iter().map(of).max().unwrap_or(Earlier::Nothing)
}

/// Whether a task says that it changes or provides a path.
fn covers(task: &Task, path: &str) -> bool {
    let mut touches = task.touches.iter();
    let is_provided = task.provides.iter().any(|name| name == path);
    is_provided || touches.any(|touched| overlap::may_meet(touched, path))
}

fn command(
    plan: &JudgedPlan<'_>,
    x: Ix,
    at: &str,
    command: &str,
    earlier: impl Fn(Option<&str>) -> Earlier,
    issues: &mut Vec<Issue>,
) {
    let Some(facts) = plan.facts.commands.get(command) else { return };
    if let Some(program) = &facts.missing_program {
        let path = Some(program.as_str()).filter(|program| program.contains('/'));
        let severity = match earlier(path) {
            Earlier::This => None,
            Earlier::Nothing if !plan.facts.has_setup => Some(Severity::High),
            Earlier::Nothing | Earlier::Anything => Some(Severity::Medium),
        };
        let told = found(
            at,
            format!("`{program}` is not there, or cannot be executed"),
            format!("name a program that is there, or let a step before bring `{program}`"),
        );
        issues.extend(severity.map(|severity| plan.issue(x, PlanRule::NoProgram, severity, told)));
    }
    if let Some(target) = &facts.missing_target {
        let (words, manifest) = (&target.words, &target.manifest);
        let makers = target.makers.iter().chain([words, manifest]);
        let most = makers.map(|path| earlier(Some(path))).max();
        let severity = match most.unwrap_or(Earlier::Nothing) {
            Earlier::Nothing => Severity::High,
            Earlier::Anything => Severity::Medium,
            Earlier::This => Severity::Low,
        };
        let told = found(
            at,
            format!("`{words}`: {manifest} has no such target"),
            format!("name a target that {manifest} has, or let a step before add it"),
        );
        issues.push(plan.issue(x, PlanRule::NoTarget, severity, told));
    }
}

/// Words of a description by which the task itself makes what it touches.
const MAKING: &str = "
    add adds adding build compile copy create creates creating draft export extract generate generates
    implement init initialise initialize introduce make makes produce rename scaffold split write writes
    writing
";

fn no_file<'u>(
    plan: &JudgedPlan<'_>,
    one: JudgedTask<'_>,
    upstream: &dyn Fn() -> &'u BTreeSet<Ix>,
) -> Option<Issue> {
    let task = one.task;
    let is_absent = |path: &str| {
        plan.facts.absent.contains(path)
            && earlier(plan, upstream(), Some(path)) == Earlier::Nothing
    };
    let repair = "name a file that is there, or let a step before make it";
    let words = one.atom.description.to_lowercase();
    let is_making = |word: &str| MAKING.split_whitespace().any(|known| known == word);
    let makes = words.split(|c: char| !c.is_alphanumeric()).any(is_making);
    let is_checked = |path: &str| {
        let leaves = leaves(task).into_iter();
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut wanted = leaves.map(|leaf| match leaf {
            Leaf::File(leaf) => leaf.path == path,
            Leaf::Command(leaf) => leaf.command.contains(name),
            _ => false,
        });
        wanted.any(|is_wanted| is_wanted) || task.provides.iter().any(|name| name == path)
    };
    let mut literal = task.touches.iter().enumerate().filter(|(_, path)| overlap::is_literal(path));
    let lost = literal.find(|(_, path)| {
        let path = overlap::plain(path);
        let is_of_agent = one.is_of_agent() && !makes;
        is_of_agent && !is_checked(path) && is_absent(path)
    });
    if let Some((nth, path)) = lost {
        let what = format!("it touches `{path}`, which is not there, and nothing makes it");
        let told = found(format!("/touches/{nth}"), what, repair);
        return Some(plan.issue(one.x, PlanRule::NoFile, Severity::Medium, told));
    }
    // A task that says what it changes makes no other file.
    let says = !task.touches.is_empty();
    let files = leaves(task).into_iter().filter_map(|leaf| match leaf {
        Leaf::File(leaf) => Some(leaf.path.as_str()),
        _ => None,
    });
    let path = files.filter(|path| says && !covers(task, path)).find(|path| is_absent(path))?;
    let what = format!("its check wants `{path}`, which is not there, and nothing touches it");
    Some(plan.issue(one.x, PlanRule::NoFile, Severity::Medium, found("/checks", what, repair)))
}

fn not_provided<'u>(
    plan: &JudgedPlan<'_>,
    one: JudgedTask<'_>,
    upstream: &dyn Fn() -> &'u BTreeSet<Ix>,
) -> Option<Issue> {
    let provides = |name: &str| {
        upstream()
            .iter()
            .any(|x| is_unplanned(plan, *x) || overlap::provides(plan.graph, plan.state, *x, name))
            || plan.facts.present.contains(name)
    };
    let needs = one.task.needs.iter().enumerate();
    let (nth, name) = needs.into_iter().find(|(_, name)| !provides(name))?;
    let told = found(
        format!("/needs/{nth}"),
        format!("it needs `{name}`, and nothing that it waits for provides that"),
        format!("let it wait for a step with `{name}` in its `provides`"),
    );
    Some(plan.issue(one.x, PlanRule::NotProvided, Severity::High, told))
}
