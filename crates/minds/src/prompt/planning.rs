//! The parts of a planner's prompt: its remaining budget, its failed plans, and the directive of the control law.

use super::{
    replan,
    section::{PromptFile, cut, fenced, in_a_line, led, title},
    subject::PromptSubject,
};
use descent_core::doc::prelude::*;
use descent_core::{
    doc::{self, Node},
    fragment::Remaining,
    graph::{Ix, NodeKind},
    id::AtomId,
    law::{self, blocks},
    state::{
        Fragment, Intent, IssueRecord, Lesson, PlannerContext, Question,
        fields::Writer,
        law::{BlockedRecord, LawPoint, LawRecord},
        value::FieldValue,
    },
    world::{World, fragment_request},
};

/// Maximum of atoms described of a failed plan.
const ATOMS_MAX: usize = 40;
/// Bytes of an atom's title, and of how it ended.
const TITLE_BYTES_MAX: usize = 100;
const END_BYTES_MAX: usize = 200;
const REFUTED_BYTES_MAX: usize = 600;
const TARGET_BYTES_MAX: usize = 200;
const CHARS_OF_TOKEN: u32 = 4;

/// The remaining budget of the planner of this attempt.
pub fn remaining(world: &World, intent: &Intent) -> Remaining {
    Remaining::of(fragment_request(world, intent))
}

/// How the planner of this attempt is told results.
pub(super) fn context(subject: &PromptSubject<'_>) -> PlannerContext {
    let constraints = &subject.world.state.objective.constraints;
    let plan = subject.atom().and_then(|atom| atom.plan());
    plan.map_or_else(|| constraints.planning.context(), |plan| plan.context(constraints))
}

/// The values about a planner that its template names.
pub(super) fn value(subject: &PromptSubject<'_>, name: &str) -> Option<String> {
    let remaining = || remaining(subject.world, subject.intent);
    let context = || context(subject);
    let law = blocks::in_force(&subject.world.state).filter(|_| subject.is_plan());
    Some(match name {
        "little" => {
            let little = remaining().little;
            little.iter().map(|limit| limit.word()).collect::<Vec<&str>>().join(", ")
        }
        "context_chars" => context().chars().to_string(),
        "context_tokens" => (context().chars() / CHARS_OF_TOKEN).to_string(),
        "context_mode" => context().mode().word().to_string(),
        "limits" => {
            let line = |(key, count, what): &(_, _, _)| format!("- {key}: {count} — {what}\n");
            remaining().rows.iter().map(line).collect()
        }
        "targets" => targets(subject),
        "rounds" => rounds(subject),
        "directive" => law.map(|(_, point)| directive(point)).unwrap_or_default(),
        "rationale" => {
            let rationale = law.map(|(_, point)| cut(&point.rationale, RATIONALE_BYTES_MAX));
            fenced(&rationale.unwrap_or_default())
        }
        "blocked" => law.map(|(law, _)| blocked(subject, law)).unwrap_or_default(),
        _ => return None,
    })
}

/// The atom that a step inside a plan serves, and the one that this serves in turn.
fn targets(subject: &PromptSubject<'_>) -> String {
    let (world, intent) = (subject.world, subject.intent);
    let steps = world.graph.ix(&intent.atom).into_iter();
    let steps = steps.flat_map(|x| core::iter::once(x).chain(world.graph.above(x)));
    let line = |x: Ix| {
        let plan = world.state.atom(world.graph.id(x))?.plan()?;
        let id = plan.convergence_target.as_ref()?;
        let title = in_a_line(title(world, id), TARGET_BYTES_MAX);
        let is_own = *world.graph.id(x) == intent.atom;
        let words = if is_own {
            "What is planned serves"
        } else {
            "The plan that this step is a part of serves"
        };
        let partial = world.state.atom(id).is_some_and(|atom| atom.accepts_partial);
        let partial = if partial { ", which can begin with a part of it" } else { "" };
        Some(format!("{words} {id}{partial}: {title}\n"))
    };
    steps.filter_map(line).collect()
}

/// The parts of a planning step that its budget left open.
pub(super) struct Missing<'w> {
    pub(super) plan: &'w AtomId,
    /// The limit that ended it: `attempts` or `time`.
    pub(super) limit: &'static str,
    /// The names of its parts for people.
    pub(super) open: Vec<&'w str>,
}

/// The missing parts of what an atom waits for, if partial results are accepted.
pub(super) fn missing<'w>(subject: &PromptSubject<'w>) -> Vec<Missing<'w>> {
    let Some(x) = subject.x else {
        return Vec::new();
    };
    let (world, active) = (subject.world, subject.active);
    if world.graph.plans().next().is_none() {
        return Vec::new();
    }
    let upstream = descent_core::graph::active::upstream(&world.graph, x, &active.selection);
    let partial = |x: Ix| {
        active.phase(&world.graph, x)?;
        let plan = world.graph.id(x);
        let step = world.state.atoms.get(plan)?.plan()?;
        let end = step.end_of(step.in_force()?)?;
        Some(Missing {
            plan,
            limit: end.limit.word(),
            open: end.missing.iter().map(|id| title(world, id)).collect(),
        })
    };
    upstream.into_iter().filter_map(partial).collect()
}

/// The failed plans of this context, atom by atom.
fn rounds(subject: &PromptSubject<'_>) -> String {
    let Some(plan) = subject.atom().and_then(|atom| atom.plan()) else {
        return String::new();
    };
    let (world, context) = (subject.world, &subject.intent.context);
    let mut text = String::new();
    // The newest first: the oldest are left out for want of room.
    let made: Vec<_> = plan.made_in(context).collect();
    for fragment in made.into_iter().rev() {
        let end = plan.end_of(fragment).filter(|end| end.has_failed);
        let end = end.map(|end| format!(" (its budget of {} was over)", end.limit.word()));
        let end = end.unwrap_or_default();
        text.push_str(&format!("- the plan of {}{end}:\n", fragment.attempt));
        text.push_str(&issues_of(world, fragment));
        let parts = fragment.parts.iter().filter_map(|id| world.graph.ix(id));
        let inside = parts.flat_map(|x| world.graph.subtree(x));
        for x in inside.take(ATOMS_MAX) {
            text.push_str(&line(world, x));
        }
        text.push_str(&refuted_with(world, &subject.intent.atom, fragment));
    }
    text
}

/// The issues of a plan, by the newest report: the next one is to be without them.
fn issues_of(world: &World, fragment: &Fragment) -> String {
    let report = world.state.run.kept(Question::Plan);
    let report = report.filter(|report| report.subject == world.graph.plan_subject(fragment));
    let issues = report.map_or(&[][..], |report| report.issues());
    let proposed = |id: &str| {
        let origin = world.state.atom(&AtomId::new(id))?.origin.as_ref()?;
        Some(origin.get("proposed")?.as_str()?.to_string())
    };
    let line = |issue: &IssueRecord| {
        let at = proposed(&issue.location).unwrap_or_else(|| issue.location.clone());
        let what = in_a_line(&issue.description, END_BYTES_MAX);
        let repair = in_a_line(&issue.proposed_repair, END_BYTES_MAX);
        let severity = issue.severity.word();
        let repair = led("; to mend it: ", &repair);
        format!("    an issue ({severity}) of {at}: {what}{repair}\n")
    };
    issues.iter().map(line).collect()
}

/// The verdict on the goal with a plan that was carried out.
fn refuted_with(world: &World, plan: &AtomId, fragment: &Fragment) -> String {
    let first = fragment.parts.first();
    let refuted = first.and_then(|first| replan::newest_with(world, plan, first));
    match refuted.map(|one| replan::reasons(one, REFUTED_BYTES_MAX)) {
        Some(why) if !why.is_empty() => format!("    the goal was not reached with it: {why}\n"),
        _ => String::new(),
    }
}

fn line(world: &World, x: Ix) -> String {
    let id = world.graph.id(x);
    let title = in_a_line(title(world, id), TITLE_BYTES_MAX);
    let origin = world.state.atom(id).and_then(|atom| atom.origin.as_ref());
    let proposed = origin.and_then(|origin| origin.get("proposed")?.as_str());
    let name = proposed.unwrap_or(id.as_str());
    if world.graph.vertex(x).kind != NodeKind::Task {
        return format!("    {name} ({title})\n");
    }
    let tries = descent_core::search::tries(&world.state, id);
    let has_failed = tries.iter().any(|tried| tried.has_failed());
    let end = match world.state.newest_failure(id).filter(|_| has_failed) {
        Some((_, failure)) => format!("failed: {}", in_a_line(&failure.reason, END_BYTES_MAX)),
        None if tries.is_empty() => "was not tried".to_string(),
        None => "was done, and did not help".to_string(),
    };
    format!("    {name} ({title}) {end}\n")
}

// The part of a planner's prompt about the control law: where the result stands, what is to be done, and what may not
// come again. Also the same as a file.

/// The name of the file.
pub const DIRECTIVE_FILE: &str = "directive.json";
const RATIONALE_BYTES_MAX: usize = 400;
const BLOCKED_MAX: usize = 6;
const LINE_BYTES_MAX: usize = 100;

fn directive(point: &LawPoint) -> String {
    format!("{}: {}.", point.directive.word(), law::meaning(point.directive))
}

fn blocked(subject: &PromptSubject<'_>, law: &LawRecord) -> String {
    let newest = law.blocked.iter().rev().map(directive_line);
    let lines = newest.chain(lessons(subject).map(line_of_lesson));
    fenced(&lines.take(BLOCKED_MAX).collect::<String>())
}

/// Lessons that block something; in the last attempt of a round they block nothing.
fn lessons<'s>(subject: &PromptSubject<'s>) -> impl Iterator<Item = &'s Lesson> {
    let asked = fragment_request(subject.world, subject.intent);
    let is_heeded = !asked.is_last_attempt();
    blocks::lessons(&subject.world.state).filter(move |_| is_heeded)
}

fn line_of_lesson(one: &Lesson) -> String {
    let what = format!("{} {}", one.tool, one.target);
    let what = in_a_line(&what.replace('`', "'"), LINE_BYTES_MAX);
    format!("- {what}, lesson {}\n", one.id)
}

fn directive_line(one: &BlockedRecord) -> String {
    let target = one.target.as_deref().unwrap_or("(with whatever target)");
    let failed = one.because.as_ref();
    let failed = failed.map_or_else(String::new, |id| format!(", failed in {id}"));
    let what = cut(&format!("{} {target}", one.tool), LINE_BYTES_MAX);
    format!("- {what}{failed}\n")
}

/// The same as JSON, for a planner that is a program.
pub(super) fn file(subject: &PromptSubject<'_>) -> Option<PromptFile> {
    let (law, point) = blocks::in_force(&subject.world.state)?;
    subject.is_plan().then(|| PromptFile {
        name: DIRECTIVE_FILE.to_string(),
        text: doc::write(&node(point, &law.blocked, lessons(subject))) + "\n",
    })
}

fn node<'s>(
    point: &LawPoint,
    blocked: &[BlockedRecord],
    lessons: impl Iterator<Item = &'s Lesson>,
) -> Node {
    let mut to = Writer::default();
    to.text("directive", point.directive.word());
    let prev = point.prev_directive.map_or("init", |before| before.word());
    to.text("prev_directive", prev)
        .text("meaning", law::meaning(point.directive))
        .text("rationale", &point.rationale)
        .text("failed_criterion", &point.failed_criterion)
        .text("failure_class", point.failure_class.word())
        .text("gradient", point.gradient.word())
        .text("d", &point.loss.d.text())
        .text("grad_d", &point.grad_d.text())
        .text("p", &point.loss.p.text())
        .text("omega", &point.loss.omega.text())
        .text("l", &point.loss.l.text());
    let of_lesson = |one: &Lesson| {
        let mut to = Writer::default();
        to.text("tool", &one.tool).text("target", &one.target).text("lesson", one.id.as_str());
        to.finish(&Default::default())
    };
    let blocked = blocked.iter().map(FieldValue::node);
    let blocked: Vec<Node> = blocked.chain(lessons.map(of_lesson)).collect();
    to.put("blocked", Node::array(blocked));
    to.finish(&Default::default())
}
