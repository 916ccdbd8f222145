//! The texts of lessons: short, on one line, without control characters.

use alloc::{
    borrow::ToOwned,
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use crate::state::Lesson;

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
