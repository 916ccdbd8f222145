//! The lessons of a project as a text, and what an ending changes in it.
//!
//! Invariant: an ending changes a book once, however often it is told.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Limits},
    id::{LessonId, Lineage, UnixMillis},
    state::{Extra, LearntRun, Lesson, LessonBook, LessonKind, LessonSource, fields::Findings},
};

/// Ids are numbered up to here.
const NUMBER_MAX: u64 = 1_000_000_000_000;
/// Lessons that a project has at most.
pub const LESSONS_MAX: usize = 200;
/// Lineages that a lesson names at most: the newest.
const RUNS_MAX: usize = 20;
/// Endings that a book knows at most: the newest.
const LEARNT_MAX: usize = 200;
/// From so many runs on that saw a failure it counts.
const SEEN_MIN: u32 = 2;
pub const SCHEMA: &str = "descent/lessons/1";
const SCHEMA_STEM: &str = "descent/lessons/";

/// A book without lessons.
pub fn new() -> LessonBook {
    LessonBook {
        schema: SCHEMA.to_owned(),
        next: 1,
        lessons: Vec::new(),
        learnt: Vec::new(),
        extra: Extra::default(),
    }
}

/// Reads a book, whoever wrote it: its texts are capped, and what is too much is left out.
///
/// # Errors
/// Why it is none.
pub fn read(bytes: &[u8]) -> Result<LessonBook, String> {
    let torn = |why: &str| format!("it cannot be read: {why}");
    let text = core::str::from_utf8(bytes).map_err(|_| torn("it is no UTF-8"))?;
    let parsed = doc::parse(text, &Limits::default());
    if let Some(fault) = parsed.faults.first() {
        return Err(torn(&fault.message));
    }
    let node = parsed.node.ok_or_else(|| torn("it is empty"))?;
    let mut found = Findings::default();
    let book = LessonBook::read(&node, "", &mut found);
    let schema = node.get("schema").and_then(doc::Node::as_str);
    match schema.and_then(|schema| schema.strip_prefix(SCHEMA_STEM)) {
        Some("1") => {}
        Some(version) if version.parse::<u32>().is_ok() => {
            return Err(format!("it is of a newer version ({SCHEMA_STEM}{version})"));
        }
        Some(_) | None => return Err(torn("it names no version")),
    }
    if let Some(fault) = found.faults.first() {
        return Err(torn(&format!("{}: {}", fault.pointer, fault.message)));
    }
    let mut book = book.ok_or_else(|| torn("it holds no lessons"))?;
    book.lessons = book.lessons.into_iter().map(cleaned).collect();
    // A person may have added one by hand.
    let numbers = book.lessons.iter().filter_map(|one| number(&one.id));
    book.next = book.next.max(numbers.max().map_or(1, |last| last.saturating_add(1)));
    shorten(&mut book);
    Ok(book)
}

/// The number of an id, unless it is larger than any that is given.
fn number(id: &LessonId) -> Option<u64> {
    let number = id.as_str().strip_prefix('m')?.parse().ok();
    number.filter(|number| *number < NUMBER_MAX)
}

pub fn write(book: &LessonBook) -> String {
    doc::write(&book.node())
}

/// Takes in what an ending left; false where it did already.
pub fn learn(
    book: &mut LessonBook,
    learnt: Vec<Lesson>,
    ending: LearntRun,
    now: UnixMillis,
) -> bool {
    let is_this = |one: &LearntRun| one.lineage == ending.lineage && one.run == ending.run;
    if book.learnt.iter().any(is_this) {
        return false;
    }
    let at = now.rfc3339();
    for one in learnt {
        take_in(book, one, &ending.lineage, &at);
    }
    book.learnt.push(ending);
    shorten(book);
    true
}

/// Whether a lesson is given: a failure that one run alone saw may have been bad luck.
pub fn counts(lesson: &Lesson) -> bool {
    match lesson.kind {
        LessonKind::MustNot => lesson.seen >= SEEN_MIN || lesson.by == LessonSource::Person,
        LessonKind::Prefer | LessonKind::Note => true,
    }
}

/// Takes a lesson out; false where there is none of that id.
pub fn forget(book: &mut LessonBook, id: &LessonId) -> bool {
    let before = book.lessons.len();
    book.lessons.retain(|one| one.id != *id);
    book.lessons.len() < before
}

fn take_in(book: &mut LessonBook, mut lesson: Lesson, lineage: &Lineage, at: &str) {
    let (kind, choice) = (lesson.kind, lesson.choice.clone());
    let is_same = |one: &&mut Lesson| one.kind == kind && one.choice == choice;
    let counts_now = match book.lessons.iter_mut().find(is_same) {
        Some(known) => {
            see_again(known, lesson, lineage, at);
            counts(known)
        }
        None => {
            lesson.id = LessonId::new(format!("m{}", book.next));
            book.next = book.next.saturating_add(1);
            lesson.runs = Vec::from([lineage.clone()]);
            (lesson.first, lesson.last) = (at.to_string(), at.to_string());
            let counts_now = counts(&lesson);
            book.lessons.push(lesson);
            counts_now
        }
    };
    if counts_now {
        let other = match kind {
            LessonKind::Prefer => LessonKind::MustNot,
            LessonKind::MustNot => LessonKind::Prefer,
            LessonKind::Note => return,
        };
        book.lessons.retain(|one| one.kind != other || one.choice != choice);
    }
}

/// Another run of the same lineage saw it with the eyes of the first.
fn see_again(known: &mut Lesson, learnt: Lesson, lineage: &Lineage, at: &str) {
    if !known.runs.contains(lineage) {
        known.seen = known.seen.saturating_add(1);
        known.runs.push(lineage.clone());
    }
    known.last = at.to_string();
    known.because = learnt.because;
    known.by = learnt.by;
}

/// The least seen lessons go first, of these the oldest.
fn shorten(book: &mut LessonBook) {
    while book.lessons.len() > LESSONS_MAX {
        let least = book.lessons.iter().enumerate().min_by_key(|(_, one)| (one.seen, &one.last));
        let Some(place) = least.map(|(place, _)| place) else { return };
        book.lessons.remove(place);
    }
    for lesson in &mut book.lessons {
        let surplus = lesson.runs.len().saturating_sub(RUNS_MAX);
        lesson.runs.drain(..surplus);
    }
    let surplus = book.learnt.len().saturating_sub(LEARNT_MAX);
    book.learnt.drain(..surplus);
}

/// Characters of a lesson at most, and of its reason.
pub const LESSON_CHARS_MAX: usize = 300;
/// Characters of a tool or a target at most.
pub(super) const NAME_CHARS_MAX: usize = 100;
/// Shorter words say little.
const WORD_CHARS_MIN: usize = 3;

/// A text as a lesson may hold it.
pub(super) fn clean(text: &str, chars_max: usize) -> String {
    let plain = |c: char| if is_odd(c) { ' ' } else { c };
    let plain: String = text.chars().take(4 * chars_max).map(plain).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(chars_max) {
        None => text,
        Some(_) => {
            let kept: String = text.chars().take(chars_max - 1).collect();
            kept.trim_end().to_owned() + "…"
        }
    }
}

/// Control characters, and those that turn or hide the text around them.
fn is_odd(c: char) -> bool {
    let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || hides
}

/// A lesson whose texts are as they may be, whoever wrote them.
pub(super) fn cleaned(mut lesson: Lesson) -> Lesson {
    for text in [&mut lesson.lesson, &mut lesson.because] {
        *text = clean(text, LESSON_CHARS_MAX);
    }
    let names = [&mut lesson.tool, &mut lesson.target];
    for name in names.into_iter().chain([&mut lesson.first, &mut lesson.last]) {
        *name = clean(name, NAME_CHARS_MAX);
    }
    lesson
}

/// The words of a text, in small letters.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    long.map(|word| word.to_lowercase().to_string()).collect()
}
