//! The lessons of earlier runs of the project, as far as an agreement shows them.
//!
//! Not here: all of them (`descent memory`).

use descent_core::{
    memory,
    state::{Lesson, LessonKind},
    world::World,
};

use crate::render::{self, Line, Meaning, Page};

/// Lessons at most that are shown one by one.
const SHOWN_MAX: usize = 3;
/// Lines of one lesson at most.
const LINES_MAX: usize = 2;

pub(super) fn lines(page: &mut Page, world: &World, lessons: &[Lesson]) {
    for one in lessons.iter().take(SHOWN_MAX) {
        let head = Line::new().dim("remembered: ");
        page.wrapped(head, Meaning::Plain, &render::visible(&words(world, one)), LINES_MAX);
    }
    let left = lessons.len().saturating_sub(SHOWN_MAX);
    if left > 0 {
        let words = format!("  and {left} more: descent memory lists them");
        page.push(Line::of(words));
    }
}

/// A lesson in a line, with its use: it orders the choices of the graph, and agents are told any other.
pub(super) fn words(world: &World, one: &Lesson) -> String {
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
