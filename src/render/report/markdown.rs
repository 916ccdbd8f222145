//! A report as Markdown, fit as the body of a pull request.
//!
//! Invariant: at most [`CHARS_MAX`] characters. Text from elsewhere is escaped: it begins no block, and makes no HTML,
//! link, image, mention or reference. It holds no HTML at all. Not here: the words (`outline`).

mod escape;

use descent_core::view::report::Report;

use super::outline::{Item, Outline, Piece, Section, outline};
use escape::{code, fence, text};

/// A pull request takes 65,536 characters: room is left for a person's own words.
const CHARS_MAX: usize = 60_000;
/// Characters for the line that says what is left out of a section.
const NOTE_CHARS: usize = 80;
/// Lines at most of an output in a long report.
const SHORT_OUTPUT_LINES: usize = 3;

/// How much of the outputs is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputShare {
    Whole,
    LastLines,
    Nothing,
}

/// Without the last line feed. A long report loses its outputs first, then items of its longest sections.
pub fn markdown(report: &Report) -> String {
    let outline = outline(report);
    let end = end(report);
    for share in [OutputShare::Whole, OutputShare::LastLines, OutputShare::Nothing] {
        let written = Written::of(&outline, share);
        if written.chars(&end) <= CHARS_MAX {
            return written.joined(&end);
        }
    }
    let mut written = Written::of(&outline, OutputShare::Nothing);
    written.shorten(CHARS_MAX.saturating_sub(written.fixed_chars(&end)));
    written.joined(&end)
}

fn end(report: &Report) -> String {
    let lineage = code(report.lineage.as_str());
    format!("Of the state {lineage} at serial {}.", report.serial)
}

struct Written<'o> {
    title: String,
    sections: Vec<WrittenSection<'o>>,
    has_outputs: bool,
}

struct WrittenSection<'o> {
    of: &'o Section,
    /// Each as one or more lines.
    items: Vec<String>,
    note: String,
}

impl<'o> Written<'o> {
    fn of(outline: &'o Outline, share: OutputShare) -> Self {
        let sections = outline.sections.iter().map(|of| WrittenSection {
            of,
            items: of.items.iter().map(|one| item(one, share)).collect(),
            note: String::new(),
        });
        Self {
            title: format!("# {}", text(&outline.title)),
            sections: sections.collect(),
            has_outputs: share != OutputShare::Nothing,
        }
    }

    fn chars(&self, end: &str) -> usize {
        let sections = self.sections.iter().map(WrittenSection::chars);
        self.fixed_chars(end) + sections.sum::<usize>()
    }

    /// Everything but the items of the sections.
    fn fixed_chars(&self, end: &str) -> usize {
        let headings =
            self.sections.iter().map(|section| heading(section.of.title).chars().count());
        let whole = [&self.title, end, self.outputs_note()];
        let whole = whole.iter().map(|part| part.chars().count() + 2);
        whole.sum::<usize>() + headings.map(|chars| chars + 2 + NOTE_CHARS).sum::<usize>()
    }

    fn outputs_note(&self) -> &'static str {
        if self.has_outputs {
            ""
        } else {
            "The outputs are left out: `descent report --json` has them."
        }
    }

    /// Cuts every section that is longer than the others' share down to it.
    fn shorten(&mut self, chars_max: usize) {
        let mut lengths: Vec<usize> = self.sections.iter().map(WrittenSection::chars).collect();
        lengths.sort_unstable();
        let (mut left, mut share) = (chars_max, 0);
        for (place, length) in lengths.iter().enumerate() {
            let sections = lengths.len() - place;
            share = left / sections;
            if *length > share {
                break;
            }
            left -= length;
        }
        for section in &mut self.sections {
            section.shorten(share);
        }
    }

    fn joined(&self, end: &str) -> String {
        let mut parts = vec![self.title.clone()];
        for section in &self.sections {
            parts.push(heading(section.of.title));
            let note = Some(&section.note).filter(|note| !note.is_empty());
            let lines: Vec<&str> = if section.of.keeps_the_end {
                note.into_iter().chain(&section.items).map(String::as_str).collect()
            } else {
                section.items.iter().chain(note).map(String::as_str).collect()
            };
            parts.push(lines.join("\n"));
        }
        parts.push(self.outputs_note().to_owned());
        parts.push(end.to_owned());
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }
}

fn heading(title: &str) -> String {
    format!("## {title}")
}

impl WrittenSection<'_> {
    fn chars(&self) -> usize {
        self.items.iter().map(|item| item.chars().count() + 1).sum()
    }

    /// Leaves items out until the others have at most so many characters. An item goes with those below it.
    fn shorten(&mut self, chars_max: usize) {
        let mut chars = self.chars();
        let all = self.items.len();
        if chars <= chars_max {
            return;
        }
        if self.of.keeps_the_end {
            let mut first = 0;
            let is_below =
                |place: usize| self.of.items.get(place).is_some_and(|item| item.depth > 0);
            while first < all && (chars > chars_max || is_below(first)) {
                chars -= self.items[first].chars().count() + 1;
                first += 1;
            }
            self.items.drain(..first);
        } else {
            while let Some(last) = self.items.pop() {
                chars -= last.chars().count() + 1;
                if chars <= chars_max {
                    break;
                }
            }
        }
        let left_out = all - self.items.len();
        self.note =
            format!("- … {left_out} of {all} lines are left out: `descent report --json` has all");
    }
}

fn item(item: &Item, share: OutputShare) -> String {
    let indent = "  ".repeat(item.depth);
    let mut pieces = String::new();
    for (place, piece) in item.pieces.iter().enumerate() {
        match piece {
            // A mark at the beginning would begin a block.
            Piece::Text(words) if place == 0 => pieces.push_str(&text(words)),
            Piece::Text(words) => pieces.push_str(&escape::inside(words)),
            Piece::Code(words) => pieces.push_str(&code(words)),
            Piece::Word(word) => pieces.push_str(&format!("**{word}**")),
        }
    }
    let mut lines = vec![format!("{indent}- {}", pieces.trim_end())];
    let output = match share {
        OutputShare::Whole => item.output.clone(),
        OutputShare::LastLines => last_lines(&item.output),
        OutputShare::Nothing => String::new(),
    };
    for block in [&item.words, &output] {
        if !block.is_empty() {
            lines.push(fence(block, &format!("{indent}  ")));
        }
    }
    lines.join("\n")
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let first = lines.len().saturating_sub(SHORT_OUTPUT_LINES);
    lines[first..].join("\n")
}
