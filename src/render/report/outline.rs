//! A report in words, as sections of items, for every format that a person reads.
//!
//! Invariant: every text has a maximum, and says where it was cut. Not here: escapes and marks of a format.

mod agreed;
mod ended;
mod judged;
mod law;
mod tried;
mod work;

use descent_core::view::report::Report;

use super::plain::{flat, tail};

/// Characters at most of a goal, a reason, a summary.
const TEXT_MAX: usize = 400;
/// Characters at most of the final answer.
const ANSWER_MAX: usize = 4_000;
/// Characters at most of a command, a path, an id.
const CODE_MAX: usize = 200;
/// Lines at most of an output, and characters of a line.
const OUTPUT_LINES_MAX: usize = 15;
const OUTPUT_CHARS_MAX: usize = 200;
/// The same of the words of a person, which stand as they were said.
const WORDS_LINES_MAX: usize = 60;
const WORDS_CHARS_MAX: usize = 400;
/// Names at most in a row.
const NAMES_MAX: usize = 12;

pub(super) struct Outline {
    pub(super) title: String,
    pub(super) sections: Vec<Section>,
}

pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) items: Vec<Item>,
    /// The newest items matter most, if it is too long.
    pub(super) keeps_the_end: bool,
}

/// A point, below another by its depth.
#[derive(Clone, Default)]
pub(super) struct Item {
    pub(super) depth: usize,
    pub(super) pieces: Vec<Piece>,
    /// A person's words, as they were said.
    pub(super) words: String,
    /// The output of a program: the first to be left out.
    pub(super) output: String,
}

#[derive(Clone)]
pub(super) enum Piece {
    /// Prose, on one line.
    Text(String),
    /// A name, a command or a path, to be copied.
    Code(String),
    /// A word of our own that tells a status.
    Word(&'static str),
}

impl Item {
    fn at(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }

    fn text(self, text: impl AsRef<str>) -> Self {
        self.prose(text.as_ref(), TEXT_MAX)
    }

    fn prose(mut self, text: &str, chars_max: usize) -> Self {
        // Blanks between pieces are not part of the words that are folded.
        let start = if text.starts_with(' ') { " " } else { "" };
        let end = if text.len() > 1 && text.ends_with(' ') { " " } else { "" };
        let text = format!("{start}{}{end}", flat(text, chars_max));
        self.pieces.push(Piece::Text(text));
        self
    }

    fn code(mut self, text: impl AsRef<str>) -> Self {
        self.pieces.push(Piece::Code(flat(text.as_ref(), CODE_MAX)));
        self
    }

    fn word(mut self, word: &'static str) -> Self {
        self.pieces.push(Piece::Word(word));
        self
    }

    /// Names in a row, and the number of further ones.
    fn codes<T: AsRef<str>>(self, names: &[T]) -> Self {
        let shown = names.iter().take(NAMES_MAX).enumerate();
        let item = shown.fold(self, |item, (place, name)| {
            let item = if place > 0 { item.text(", ") } else { item };
            item.code(name)
        });
        match names.len().saturating_sub(NAMES_MAX) {
            0 => item,
            more => item.text(format!(" and {more} more")),
        }
    }

    /// `a` = `b`, a pair for each group.
    fn choices(self, choices: &descent_core::state::record::Choices) -> Self {
        let shown = choices.iter().take(NAMES_MAX).enumerate();
        let item = shown.fold(self, |item, (place, (group, choice))| {
            let item = if place > 0 { item.text(", ") } else { item };
            item.code(group.as_str()).text(" = ").code(choice.as_str())
        });
        match choices.len().saturating_sub(NAMES_MAX) {
            0 => item,
            more => item.text(format!(" and {more} more")),
        }
    }

    fn said(mut self, words: &str) -> Self {
        self.words = tail_of_words(words);
        self
    }

    fn printed(mut self, output: &str) -> Self {
        self.output = tail(output, OUTPUT_LINES_MAX, OUTPUT_CHARS_MAX);
        self
    }
}

/// The beginning of a person's words, line by line.
fn tail_of_words(words: &str) -> String {
    let text = super::plain::plain(words);
    let lines: Vec<&str> = text.trim().lines().collect();
    let cut = |line: &&str| super::super::cut(line, WORDS_CHARS_MAX);
    let mut kept: Vec<String> = lines.iter().take(WORDS_LINES_MAX).map(cut).collect();
    if let more @ 1.. = lines.len().saturating_sub(WORDS_LINES_MAX) {
        kept.push(format!("… and {more} more lines"));
    }
    kept.join("\n")
}

/// Sections without anything to say are left out.
pub(super) fn outline(report: &Report) -> Outline {
    let section = |title, items| Section { title, items, keeps_the_end: false };
    let history = |title, items| Section { title, items, keeps_the_end: true };
    let mut sections = vec![
        section("Outcome", ended::outcome(report)),
        section("What was agreed", agreed::agreement(&report.agreement)),
        section("Checks", agreed::checks(&report.agreement)),
        section("What was done", work::work(&report.work)),
        history("Tried and dropped", tried::tried(&report.tried)),
        history("Failures", tried::failures(&report.tried)),
        section("Judged (advice, not proof)", judged::judged(report)),
        history("Control law", law::law(report)),
        section("Found by the auditor", law::findings(report)),
        section("Patterns", tried::patterns(&report.patterns)),
        history("Corrections", tried::corrections(&report.corrections)),
        section("Spent", ended::spent(report)),
        section("Next", ended::next(report)),
    ];
    sections.retain(|section| !section.items.is_empty());
    let goal = flat(&report.agreement.goal, TEXT_MAX);
    Outline { title: if goal.is_empty() { "No goal is agreed".to_owned() } else { goal }, sections }
}
