//! The part of a planner's prompt about the control law: where the result stands, what is to be done, and what may not
//! come again. Also the same as a file.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    section::{PromptFile, PromptSection},
    subject::PromptSubject,
    text::{cut, fenced, in_a_line},
};
use crate::{
    doc::{self, Node},
    law::{self, blocks},
    state::{
        Lesson,
        fields::Writer,
        law::{BlockedRecord, LawPoint},
        value::FieldValue,
    },
};

pub(super) const BYTES_MAX: usize = 1 << 10;
/// The name of the file.
pub const DIRECTIVE_FILE: &str = "directive.json";
const RATIONALE_BYTES_MAX: usize = 400;
const BLOCKED_MAX: usize = 6;
const LINE_BYTES_MAX: usize = 100;

pub(super) fn section(subject: &PromptSubject<'_>) -> PromptSection {
    let section = PromptSection::new("directive", "How you go on", BYTES_MAX);
    let in_force = blocks::in_force(&subject.world.state);
    let Some((law, point)) = in_force.filter(|_| subject.is_plan()) else {
        return section;
    };
    let (word, meaning) = (point.directive.word(), law::meaning(point.directive));
    let mut text = format!("{word}: {meaning}.\n");
    let rationale = cut(&point.rationale, RATIONALE_BYTES_MAX);
    if !rationale.is_empty() {
        text.push_str(&format!("\nWhy (data):\n{}", fenced(&rationale)));
    }
    let newest = law.blocked.iter().rev().map(line);
    let lines = newest.chain(lessons(subject).map(line_of_lesson));
    let lines: String = lines.take(BLOCKED_MAX).collect();
    if !lines.is_empty() {
        let head = "Blocked; a plan with one of these is refused (data)";
        text.push_str(&format!("\n{head}:\n{}", fenced(&lines)));
    }
    section.with(text)
}

/// Lessons that block something; in the last attempt of a round they block nothing.
fn lessons<'s>(subject: &PromptSubject<'s>) -> impl Iterator<Item = &'s Lesson> {
    let asked = subject.world.fragment_request(subject.intent);
    let is_heeded = !asked.is_last_attempt();
    blocks::lessons(&subject.world.state).filter(move |_| is_heeded)
}

fn line_of_lesson(one: &Lesson) -> String {
    let what = format!("{} {}", one.tool, one.target);
    let what = in_a_line(&what.replace('`', "'"), LINE_BYTES_MAX);
    format!("- {what}, lesson {}\n", one.id)
}

fn line(one: &BlockedRecord) -> String {
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
        .text("d", &point.d.text())
        .text("grad_d", &point.grad_d.text())
        .text("p", &point.p.text())
        .text("omega", &point.omega.text())
        .text("l", &point.l.text());
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
