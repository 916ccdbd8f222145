//! The atom itself: its words, its place among the steps, its checks, and the value that it shall give.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    checks::listed,
    section::PromptSection,
    subject::PromptSubject,
    text::{in_a_line, named, names, title},
};
use crate::{doc, measure, state::atom::TaskQuestion};

const DESCRIPTION_BYTES_MAX: usize = 6 << 10;
const PLACE_BYTES_MAX: usize = 1 << 10;
const ASSUMED_BYTES_MAX: usize = 2 << 10;
const GUIDANCE_BYTES_MAX: usize = 4 << 10;
const CHECKS_BYTES_MAX: usize = 4 << 10;
const VALUE_BYTES_MAX: usize = 4 << 10;
/// The sections that a planner does not have.
pub(super) const OF_TASK_BYTES_MAX: usize = CHECKS_BYTES_MAX + VALUE_BYTES_MAX;
/// All that this file adds.
pub(super) const BYTES_MAX: usize = DESCRIPTION_BYTES_MAX
    + PLACE_BYTES_MAX
    + ASSUMED_BYTES_MAX
    + GUIDANCE_BYTES_MAX
    + OF_TASK_BYTES_MAX;
/// Atoms named on one line, and the bytes of the words of each.
const NAMES_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 60;
const GLOBS_BYTES_MAX: usize = 300;

/// The words of the task.
pub(super) fn wanted(subject: &PromptSubject<'_>) -> [PromptSection; 4] {
    [description(subject), place(subject), assumed(subject), guidance(subject)]
}

/// The measure of its result.
pub(super) fn judged(subject: &PromptSubject<'_>) -> [PromptSection; 2] {
    [checks(subject), value(subject)]
}

fn description(subject: &PromptSubject<'_>) -> PromptSection {
    let intent = subject.intent;
    let state = &subject.world.state;
    let attempts_max = subject.task().map(|task| measure::attempts_max(state, task));
    let of = attempts_max.filter(|most| *most >= intent.n);
    let of = of.map(|most| format!(" of {most}")).unwrap_or_default();
    let kind = if subject.is_plan() { "plan " } else { "" };
    let head = if subject.is_probe() {
        format!("Your part: look into {}", intent.atom)
    } else {
        format!("Your part: {kind}{}, attempt {}{of}", intent.atom, intent.n)
    };
    PromptSection::new("description", &head, DESCRIPTION_BYTES_MAX)
        .with(title(subject.world, &intent.atom))
        .whole_in("description.txt")
}

/// Its place among the steps, and those who build on it.
fn place(subject: &PromptSubject<'_>) -> PromptSection {
    let mut lines = Vec::new();
    lines.extend(step(subject));
    lines.extend(handed_to(subject));
    if let Some(task) = subject.task() {
        for (lead, names) in [
            ("It is expected to change", &task.touches),
            ("It needs of the steps before", &task.needs),
            ("It provides for the steps after", &task.provides),
        ] {
            if !names.is_empty() {
                let names = in_a_line(&names.join(", "), GLOBS_BYTES_MAX);
                lines.push(format!("{lead}: {names}."));
            }
        }
    }
    PromptSection::new("place", "", PLACE_BYTES_MAX).with(lines.join("\n"))
}

/// Its number among the tasks of the plan as it stands.
fn step(subject: &PromptSubject<'_>) -> Option<String> {
    let (graph, active) = (&subject.world.graph, subject.active);
    let order = graph.order().iter();
    let steps = order.filter(|x| active.is_live(**x) && active.is_leaf(graph, **x));
    let steps: Vec<_> = steps.collect();
    let place = steps.iter().position(|x| Some(**x) == subject.x)?;
    // Nothing is parked where there is nothing to choose: then each binding is the result of a step.
    let may_be_parked = graph.groups().chain(graph.plans()).next().is_some();
    let done = if may_be_parked || !subject.world.is_settled || steps.len() < graph.len() {
        steps.iter().filter(|x| subject.result(***x).is_some()).count()
    } else {
        subject.world.state.bindings.len()
    };
    let (n, of) = (place + 1, steps.len());
    let done = match done {
        0 => "none is done yet".to_string(),
        1 => "1 is done".to_string(),
        done => format!("{done} are done"),
    };
    (of > 1).then(|| format!("It is step {n} of {of}; {done}."))
}

/// Those that wait for it, or for a group that it stands in.
fn handed_to(subject: &PromptSubject<'_>) -> Option<String> {
    let (world, x) = (subject.world, subject.x?);
    let graph = &world.graph;
    let own_and_above = core::iter::once(x).chain(graph.above(x));
    let mut waiting = Vec::new();
    for y in own_and_above.flat_map(|y| graph.needed_by(y)) {
        if subject.active.is_live(*y) && !waiting.contains(y) {
            waiting.push(*y);
        }
    }
    let waiting = waiting.iter();
    let waiting = waiting.map(|y| {
        let id = graph.id(*y);
        let task = world.state.atom(id).and_then(|atom| atom.task());
        let needs = task.map(|task| task.needs.join(", "));
        let named = named(world, id, NAME_BYTES_MAX);
        match needs.filter(|needs| !needs.is_empty()) {
            Some(needs) => format!("{named}, which needs {}", in_a_line(&needs, NAME_BYTES_MAX)),
            None => named,
        }
    });
    let waiting = names(waiting, NAMES_MAX);
    (!waiting.is_empty()).then(|| format!("Its result is handed on to {waiting}."))
}

/// The answers that are assumed to what is unclear about it.
fn assumed(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "What is unclear, and what to assume unless a person says otherwise";
    let questions = subject.task().map_or(&[][..], |task| &task.questions);
    let line = |one: &TaskQuestion| match one.assume.as_str() {
        "" => format!("- {} A person answers below.\n", one.question),
        assume => format!("- {} Assume: {assume}\n", one.question),
    };
    PromptSection::new("assumed", head, ASSUMED_BYTES_MAX)
        .with(questions.iter().map(line).collect::<String>())
}

/// A person's words, verbatim, the newest first if there is too little room for all.
fn guidance(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "What a person says to this, and what counts most";
    let section = PromptSection::new("guidance", head, GUIDANCE_BYTES_MAX);
    let words = subject.task().map_or(&[][..], |task| &task.spec.guidance);
    let in_order = words.join("\n\n");
    if in_order.trim_end().len() <= section.room() {
        section.with(in_order)
    } else {
        let newest_first: Vec<&str> = words.iter().rev().map(String::as_str).collect();
        section.with(newest_first.join("\n\n")).whole_in("guidance.txt")
    }
}

fn checks(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "Your part is done when this holds";
    let section = PromptSection::new("checks", head, CHECKS_BYTES_MAX).whole_in("checks.txt");
    let Some(task) = subject.task().filter(|_| !subject.is_plan()) else {
        return section;
    };
    let base_case = subject.world.state.objective.base_case.as_ref();
    match &task.spec.checks {
        Some(own) if Some(own) == base_case => section.with("The same as for the goal, see above."),
        Some(own) => section.with(listed(own)),
        None => section.with("It has no checks of its own: those of the goal decide in the end."),
    }
}

fn value(subject: &PromptSubject<'_>) -> PromptSection {
    let head = "The value that it shall give fits this JSON Schema";
    let section = PromptSection::new("value", head, VALUE_BYTES_MAX).whole_in("schema.json");
    let task = subject.task().filter(|_| !subject.is_plan());
    match task.and_then(|task| task.spec.output_schema.as_ref()) {
        Some(schema) => section.with(doc::write_compact(schema)),
        None => section,
    }
}
