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
    text::cut,
};
use crate::{
    doc::{self, Node},
    law::{self, blocks},
    state::{
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
    let rationale = cut(&point.rationale, RATIONALE_BYTES_MAX);
    let mut text = format!("{word}: {meaning}; {rationale}.\n");
    if !law.blocked.is_empty() {
        text.push_str("\nBlocked; a plan with one of these is refused:\n");
        let newest = law.blocked.iter().rev().take(BLOCKED_MAX);
        text.push_str(&newest.map(line).collect::<String>());
    }
    section.with(text)
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
        text: doc::write(&node(point, &law.blocked)) + "\n",
    })
}

fn node(point: &LawPoint, blocked: &[BlockedRecord]) -> Node {
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
    let blocked: Vec<Node> = blocked.iter().map(FieldValue::node).collect();
    to.put("blocked", Node::array(blocked));
    to.finish(&Default::default())
}
