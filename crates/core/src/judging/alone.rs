//! Rules that need one atom alone, and what waits for it; commands that do nothing.

use super::{Issue, JudgedPlan, JudgedTask, PlanRule, Severity, found};
use crate::doc::prelude::*;
use crate::{
    graph::{AtomVec, Ix, NodeKind, overlap},
    state::{
        Leaf, SideEffect,
        check::{CommandLeaf, NotCommandLeaf},
    },
    verdict::Verdict,
};

pub(super) fn judge(
    plan: &JudgedPlan<'_>,
    task: JudgedTask<'_>,
    later: &CheckedLater,
    issues: &mut Vec<Issue>,
) {
    let all = [
        no_order(plan, task),
        no_end(plan, task, later),
        cannot_fail(plan, task),
        does_nothing(plan, task),
        protected(plan, task),
        vacuous(plan, task),
        tried(plan, task),
        no_part(plan, task),
    ];
    issues.extend(all.into_iter().flatten());
}

fn no_order(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let words = one.atom.description.trim();
    let says_nothing = words.is_empty() || words == plan.graph.id(one.x).as_str();
    (one.is_of_agent() && says_nothing).then(|| {
        let told = found(
            "/description",
            "nothing says what is to be done",
            "say in `description` what shall be there when it is done",
        );
        plan.issue(one.x, PlanRule::NoOrder, Severity::High, told)
    })
}

fn no_end(plan: &JudgedPlan<'_>, one: JudgedTask<'_>, later: &CheckedLater) -> Option<Issue> {
    let is_open = one.is_of_agent() && !one.is_plan() && !one.task.unknown;
    let has_end = one.task.spec.checks.is_some() || one.task.spec.output_schema.is_some();
    // The goal's own checks come right after the last step.
    if !is_open || has_end || later.0[one.x] || is_only_last(plan, one.x) {
        return None;
    }
    let told = found(
        "/checks",
        "nothing tells when it is done: it has no `checks`, and nothing that waits for it has any",
        "give it `checks`, or let a step with checks wait for it",
    );
    Some(plan.issue(one.x, PlanRule::NoEnd, Severity::Medium, told))
}

/// Whether only choices beside it come last too: something waits for every other task, and nothing for it.
fn is_only_last(plan: &JudgedPlan<'_>, x: Ix) -> bool {
    let graph = plan.graph;
    let is_last =
        |x: &Ix| core::iter::once(*x).chain(graph.above(*x)).all(|y| graph.needed_by(y).is_empty());
    let mut others = graph.tasks().filter(|y| *y != x && is_last(y));
    is_last(&x) && others.all(|y| overlap::are_choices(graph, x, y))
}

/// For each atom, whether anything that waits for it has checks of its own.
#[derive(Debug)]
pub(super) struct CheckedLater(AtomVec<bool>);

impl CheckedLater {
    pub(super) fn of(plan: &JudgedPlan<'_>) -> Self {
        let graph = plan.graph;
        let mut is_checked = graph.filled(false);
        for x in graph.order().iter().copied() {
            let task = plan.atom(x).and_then(|atom| atom.task());
            let is_own = task.is_some_and(|task| task.spec.checks.is_some());
            let kids = &graph.vertex(x).kids;
            is_checked[x] = is_own || kids.iter().any(|kid| is_checked[*kid]);
        }
        let mut later = graph.filled(false);
        for x in graph.order().iter().rev().copied() {
            let mut waiting = graph.needed_by(x).iter();
            let is_above = graph.vertex(x).parent.is_some_and(|above| later[above]);
            later[x] = is_above || waiting.any(|y| is_checked[*y] || later[*y]);
        }
        Self(later)
    }
}

const CLEANS_UP: [&str; 5] = ["rm", "rmdir", "kill", "pkill", "killall"];

fn first_word(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or_default()
}

fn cannot_fail(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let spec = &one.task.spec;
    let (at, what) = match (&spec.checks, &spec.action) {
        (Some(checks), _) => {
            let leaves = checks.leaves();
            let bad = leaves.iter().find(|leaf| leaf.leaf().and_then(constant).is_some())?;
            let what =
                format!("its check `{}` tells nothing: it ends the same way always", bad.title());
            ("/checks", what)
        }
        // One that does nothing at all is told by its own rule; to clean up may fail.
        (None, Some(action))
            if never_fails(&action.run)
                && !is_idle(&action.run)
                && !CLEANS_UP.contains(&first_word(&action.run))
                && one.task.spec.effect.is_in_tree() =>
        {
            ("/action/run", format!("its action `{}` always succeeds", action.run.trim()))
        }
        _ => return None,
    };
    let repair = "give a command that fails as long as the work is not done";
    let told = found(at, what, repair);
    Some(plan.issue(one.x, PlanRule::CannotFail, Severity::Medium, told))
}

fn does_nothing(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let action = one.task.spec.action.as_ref()?;
    let is_outside = matches!(one.task.spec.effect, SideEffect::External { .. });
    // With checks of its own it waits for others and looks at what they made.
    let is_gate = one.task.spec.checks.is_some();
    (is_idle(&action.run) && !is_outside && !is_gate && !one.is_plan()).then(|| {
        let told = found(
            "/action/run",
            format!("its action `{}` does nothing", action.run.trim()),
            "give the command that does the work, or leave `action` out so that an agent does it",
        );
        plan.issue(one.x, PlanRule::DoesNothing, Severity::High, told)
    })
}

fn protected(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let mut touches = one.task.touches.iter().enumerate();
    let (nth, path) = touches.find(|(_, path)| plan.facts.protected.contains(*path))?;
    let told = found(
        format!("/touches/{nth}"),
        format!("it touches `{path}`, which no attempt may change"),
        "leave protected files out: an attempt that changes one fails",
    );
    Some(plan.issue(one.x, PlanRule::Protected, Severity::High, told))
}

fn vacuous(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let id = plan.graph.id(one.x);
    // A check that cannot fail is told as that.
    let is_told = cannot_fail(plan, one).is_some();
    (plan.facts.holding.contains(id) && !is_told).then(|| {
        let told = found(
            "/checks",
            "its checks hold already, before anything was done",
            "check what the work makes: a check that fails now",
        );
        plan.issue(one.x, PlanRule::VacuousCheck, Severity::Medium, told)
    })
}

fn tried(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let graph = plan.graph;
    let line = || core::iter::once(one.x).chain(graph.above(one.x));
    let inside = || line().take_while(|x| plan.atoms.contains(x));
    let is_first = inside().all(|x| graph.vertex(x).deps.is_empty());
    let parent = graph.vertex(one.x).parent.map(|x| graph.vertex(x).kind);
    // Another atom beside it could make it succeed.
    let is_whole = plan.atoms.len() == 1 || parent == Some(NodeKind::Any);
    let has_failed = plan.failed.contains(&graph.vertex(one.x).spec);
    (is_first && is_whole && has_failed).then(|| {
        let told = found(
            "",
            "the very same was tried here, and failed",
            "go another way, by what it failed with",
        );
        plan.issue(one.x, PlanRule::Tried, Severity::High, told)
    })
}

fn no_part(plan: &JudgedPlan<'_>, one: JudgedTask<'_>) -> Option<Issue> {
    let task = one.task;
    let changes = !task.touches.is_empty() || !task.provides.is_empty() || !one.is_of_agent();
    let is_checked = task.spec.checks.is_some() || task.spec.output_schema.is_some();
    let is_waited_for = !plan.graph.needed_by(one.x).is_empty();
    if !plan.has_target || changes || is_checked || is_waited_for || one.is_plan() {
        return None;
    }
    let told = found(
        "",
        "it changes and provides nothing that is named, and nothing waits for it",
        "say in `touches` or `provides` what it is for, or leave it out",
    );
    Some(plan.issue(one.x, PlanRule::NoPart, Severity::Medium, told))
}

// Commands that do nothing, or that cannot fail, as far as is seen without a shell.
//
// Invariant: by the plainest of signs alone. A command that no rule here knows counts as one that works.

const NO_OPS: &[&str] = &["true", ":", "exit 0"];

/// Whether a command ends with 0 whatever the goal.
#[must_use]
pub fn never_fails(command: &str) -> bool {
    let text = plain(command);
    let is_no_op = |part: &str| NO_OPS.contains(&part.trim());
    let after = |mark: &str| text.rsplit_once(mark).map(|(_, last)| last);
    // Both could end it before its last command.
    let may_leave = text.contains("set -") || text.matches("exit").count() > 1;
    is_idle(command)
        || after("||").is_some_and(is_no_op)
        || after(";").is_some_and(|last| is_no_op(last) && !may_leave)
}

/// The verdict of a leaf whose command ends the same way whatever the goal.
#[must_use]
pub fn constant(leaf: &Leaf) -> Option<Verdict> {
    match leaf {
        Leaf::Command(CommandLeaf {
            command,
            expect_exit: 0,
            stdout_matches: None,
            number: None,
            ..
        }) if never_fails(command) => Some(Verdict::Pass),
        Leaf::NotCommand(NotCommandLeaf { command, expect_exit: None, .. })
            if never_fails(command) =>
        {
            Some(Verdict::Fail)
        }
        Leaf::NotCommand(NotCommandLeaf { command, expect_exit: None, .. })
            if matches!(command.trim(), "false" | "exit 1") =>
        {
            Some(Verdict::Pass)
        }
        _ => None,
    }
}

/// Whether a command goes on where its first part fails: what that part lacks is no fault then.
pub(super) fn copes_with_failure(command: &str) -> bool {
    let goes_on = [";", "\n", "||", "| ", "MAKEFILES="];
    !command.contains("set -e") && goes_on.iter().any(|mark| command.contains(mark))
}

/// Whether a command changes nothing and cannot fail.
pub(super) fn is_idle(command: &str) -> bool {
    let text = plain(command);
    let parts = text.split("&&").flat_map(|part| part.split([';', '\n']));
    let parts: Vec<&str> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    let is_idle = |part: &&str| {
        let says = matches!(first_word(part), "echo" | "printf")
            && !part.contains(['>', '|', '&', '<', '`', '$', '(']);
        NO_OPS.contains(part) || says
    };
    !parts.is_empty() && parts.iter().all(is_idle)
}

/// The text without its comments, and with quoted words that hold nothing for a shell replaced by a letter.
fn plain(command: &str) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(['\'', '"', '#', '\\']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let quote = from.chars().next().unwrap_or_default();
        let inside = &from[quote.len_utf8()..];
        let is_comment = quote == '#' && (text.is_empty() || text.ends_with(char::is_whitespace));
        if is_comment {
            rest = inside.find('\n').map_or("", |end| &inside[end..]);
            continue;
        }
        let end = inside.find(quote).filter(|_| matches!(quote, '\'' | '"'));
        let word = end.map(|end| &inside[..end]);
        let is_quiet = |word: &&str| quote == '\'' || !word.contains(['$', '`', '\\']);
        match (end, word.filter(is_quiet)) {
            (Some(end), Some(_)) => {
                text.push('q');
                rest = &inside[end + 1..];
            }
            _ => {
                text.push(quote);
                rest = inside;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_nothing_is_seen_through_quotes_and_comments() {
        for idle in [
            "true",
            " : ",
            "echo",
            "echo 'a; b > c'",
            "printf \"done\\n\" && true",
            "true # later",
            "echo a; echo b",
        ] {
            assert!(is_idle(idle), "{idle}");
        }
        for works in [
            "",
            "make",
            "echo a > b",
            "echo $(make)",
            "echo \"$(make)\"",
            "echo a | sh",
            "echo `make`",
            "true && make",
            "./true",
            "echoes",
        ] {
            assert!(!is_idle(works), "{works}");
        }
    }

    #[test]
    fn a_command_that_goes_on_after_a_failure_copes_with_it() {
        for copes in ["make clean || true; make", "a; b", "a | b", "a\nb"] {
            assert!(copes_with_failure(copes), "{copes}");
        }
        for ends in ["make", "a && b", "set -e; a; b", "make -j4 all"] {
            assert!(!copes_with_failure(ends), "{ends}");
        }
    }

    #[test]
    fn what_never_fails_ends_with_a_command_that_does_not() {
        for never in ["make || true", "make test; true", "make; exit 0", "echo done", "make || :"] {
            assert!(never_fails(never), "{never}");
        }
        for may in [
            "make",
            "set -e; make; true",
            "cd x || exit 1; exit 0",
            "test \"a || true\"",
            "false",
            "make || true && false",
        ] {
            assert!(!never_fails(may), "{may}");
        }
    }
}
