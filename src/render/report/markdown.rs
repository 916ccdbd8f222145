//! A report as Markdown, fit as the body of a pull request.
//!
//! Invariant: at most [`CHARS_MAX`] characters. Text from elsewhere is escaped: it begins no block, and makes no HTML,
//! link, image, mention or reference. It holds no HTML at all. Not here: the words (`outline`).

mod escape;

use descent_core::view::{graph::NodeView, report::Report};

use super::outline::{Item, Outline, Piece, Section, outline};
use crate::render::mermaid;
use escape::{code, fence, text};

/// A pull request takes 65,536 characters: room is left for a person's own words.
const CHARS_MAX: usize = 60_000;
/// A graph of more atoms is not drawn: nobody reads it on a page.
const DRAWN_MAX: usize = 100;
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
    let nodes: Vec<&NodeView> = report.work.iter().map(|atom| &atom.node).collect();
    let graph = match nodes.len() {
        1..=DRAWN_MAX => format!("## The work graph\n\n```mermaid\n{}\n```\n\n", mermaid(&nodes)),
        _ => String::new(),
    };
    let end = format!(
        "{graph}Of the state {} at serial {}.",
        code(report.lineage.as_str()),
        report.serial
    );
    for share in [OutputShare::Whole, OutputShare::LastLines] {
        let text = written(&outline, share, CHARS_MAX, &end);
        if text.chars().count() <= CHARS_MAX {
            return text;
        }
    }
    let end = format!("The outputs are left out: `descent report --json` has them.\n\n{end}");
    let mut section_max = CHARS_MAX;
    loop {
        let text = written(&outline, OutputShare::Nothing, section_max, &end);
        if text.chars().count() <= CHARS_MAX || section_max == 0 {
            return text;
        }
        section_max -= (section_max / 16).max(1);
    }
}

fn written(outline: &Outline, share: OutputShare, section_max: usize, end: &str) -> String {
    let mut parts = vec![format!("# {}", text(&outline.title))];
    for section in &outline.sections {
        parts.push(format!("## {}", section.title));
        parts.push(lines_of(section, share, section_max).join("\n"));
    }
    parts.push(end.to_owned());
    parts.join("\n\n")
}

/// The items of a section; a long one is cut where it matters least. An item goes with those below it.
fn lines_of(section: &Section, share: OutputShare, chars_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = section.items.iter().map(|one| item(one, share)).collect();
    let all = lines.len();
    let mut chars: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    if chars <= chars_max {
        return lines;
    }
    if section.keeps_the_end {
        let is_below = |place: usize| section.items.get(place).is_some_and(|item| item.depth > 0);
        let mut first = 0;
        while first < all && (chars > chars_max || is_below(first)) {
            chars -= lines[first].chars().count() + 1;
            first += 1;
        }
        lines.drain(..first);
    } else {
        while chars > chars_max
            && let Some(last) = lines.pop()
        {
            chars -= last.chars().count() + 1;
        }
    }
    let left_out = all - lines.len();
    let note =
        format!("- … {left_out} of {all} lines are left out: `descent report --json` has all");
    lines.insert(if section.keeps_the_end { 0 } else { lines.len() }, note);
    lines
}

fn item(item: &Item, share: OutputShare) -> String {
    let indent = "  ".repeat(item.depth);
    let mut pieces = String::new();
    for (place, piece) in item.pieces().into_iter().enumerate() {
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
