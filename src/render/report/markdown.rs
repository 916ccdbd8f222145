//! A report as Markdown, fit as the body of a pull request, with the escapes as GitHub reads it.
//!
//! Invariant: at most [`CHARS_MAX`] characters. Text from elsewhere is escaped: it begins no block, and makes no HTML,
//! link, image, mention or reference. A line stays a line. Not here: the words (`outline`).

use descent_core::view::{graph::NodeView, report::Report};

use super::outline::{Item, Outline, Piece, Section, outline};
use crate::render::mermaid;

/// A pull request takes 65,536 characters: room is left for a person's own words.
const CHARS_MAX: usize = 60_000;
/// A graph of more atoms is not drawn: nobody reads it on a page.
const DRAWN_MAX: usize = 100;
/// Lines at most of an output in a long report.
const SHORT_OUTPUT_LINES: usize = 3;

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
    for lines_max in [usize::MAX, SHORT_OUTPUT_LINES] {
        let text = written(&outline, lines_max, CHARS_MAX, &end);
        if text.chars().count() <= CHARS_MAX {
            return text;
        }
    }
    let end = format!("The outputs are left out: `descent report --json` has them.\n\n{end}");
    let mut section_max = CHARS_MAX;
    loop {
        let text = written(&outline, 0, section_max, &end);
        if text.chars().count() <= CHARS_MAX || section_max == 0 {
            return text;
        }
        section_max -= (section_max / 16).max(1);
    }
}

/// With so many lines at most of each output.
fn written(outline: &Outline, lines_max: usize, section_max: usize, end: &str) -> String {
    let mut parts = vec![format!("# {}", block_text(&outline.title))];
    for section in &outline.sections {
        parts.push(format!("## {}", section.title));
        parts.push(lines_of(section, lines_max, section_max).join("\n"));
    }
    parts.push(end.to_owned());
    parts.join("\n\n")
}

/// The items of a section; a long one is cut where it matters least. An item goes with those below it.
fn lines_of(section: &Section, lines_max: usize, chars_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = section.items.iter().map(|one| item(one, lines_max)).collect();
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

fn item(item: &Item, lines_max: usize) -> String {
    let indent = "  ".repeat(item.depth);
    let mut pieces = String::new();
    for (place, piece) in item.pieces().into_iter().enumerate() {
        match piece {
            // A mark at the beginning would begin a block.
            Piece::Text(words) if place == 0 => pieces.push_str(&block_text(words)),
            Piece::Text(words) => pieces.push_str(&inside(words)),
            Piece::Code(words) => pieces.push_str(&code(words)),
            Piece::Word(word) => pieces.push_str(&format!("**{word}**")),
        }
    }
    let mut lines = vec![format!("{indent}- {}", pieces.trim_end())];
    let output: Vec<&str> = item.output.lines().collect();
    let output = output[output.len().saturating_sub(lines_max)..].join("\n");
    for block in [&item.words, &output] {
        if !block.is_empty() {
            lines.push(fence(block, &format!("{indent}  ")));
        }
    }
    lines.join("\n")
}

/// Stands where words would become a mention, a reference or a link after the marks were read. A backslash does not
/// help there.
const BREAK: &str = "&#8203;";
/// Marks inside a line.
const MARKS: &str = "\\`*_[]<>#|~&$";

/// A text at the beginning of a block.
fn block_text(words: &str) -> String {
    let inside = inside(words);
    let digits = inside.chars().take_while(char::is_ascii_digit).count();
    let after = inside.get(digits..).unwrap_or_default();
    match inside.chars().next() {
        Some('-' | '+' | '=' | ':') => format!("\\{inside}"),
        Some('0'..='9') if after.starts_with(['.', ')']) => {
            format!("{}\\{after}", inside.get(..digits).unwrap_or_default())
        }
        Some(_) | None => inside,
    }
}

/// A text on a line that has begun.
fn inside(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\n' => safe.push(' '),
            '@' => {
                safe.push('@');
                safe.push_str(BREAK);
            }
            '#' if is_number(after) => {
                safe.push_str("\\#");
                safe.push_str(BREAK);
            }
            ':' if after.starts_with("//") => {
                safe.push(':');
                safe.push_str(BREAK);
            }
            '.' if ends_with_word(&safe, "www") => {
                safe.push_str(BREAK);
                safe.push('.');
            }
            // `GH-12`.
            '-' if ends_with_word(&safe, "gh") && is_number(after) => {
                safe.push_str(BREAK);
                safe.push('-');
            }
            c if MARKS.contains(c) => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
        rest = after;
    }
    safe
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// A text to be copied, on one line. Nothing inside of it has a meaning.
fn code(words: &str) -> String {
    let words = words.replace('\n', " ");
    if words.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&words) + 1);
    let is_padded = words.starts_with(['`', ' ']) || words.ends_with(['`', ' ']);
    let blank = if is_padded { " " } else { "" };
    format!("{ticks}{blank}{words}{blank}{ticks}")
}

/// A block of lines as they are, below an item.
fn fence(block: &str, indent: &str) -> String {
    let ticks = "`".repeat((longest_run(block) + 1).max(3));
    let line = |line: &str| format!("{indent}{line}").trim_end().to_owned();
    let lines = block.lines().map(line);
    let lines: Vec<String> = lines.collect();
    format!("{indent}{ticks}text\n{}\n{indent}{ticks}", lines.join("\n"))
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_no_block_no_html_no_link_and_no_mention() {
        let pairs = [
            ("# big", "\\# big"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("3) item", "3\\) item"),
            ("> quote", "\\> quote"),
            ("=== ", "\\=== "),
            ("a <b>&amp;</b>", "a \\<b\\>\\&amp;\\</b\\>"),
            ("[x](y) ![z](w)", "\\[x\\](y) !\\[z\\](w)"),
            ("*a* _b_ ~~c~~ `d`", "\\*a\\* \\_b\\_ \\~\\~c\\~\\~ \\`d\\`"),
            ("by @ada, a@b.example", "by @&#8203;ada, a@&#8203;b.example"),
            ("fixes #12, GH-3", "fixes \\#&#8203;12, GH&#8203;-3"),
            ("https://x.example", "https:&#8203;//x.example"),
            ("www.x.example", "www&#8203;.x.example"),
            ("a\\*b | c\nd", "a\\\\\\*b \\| c d"),
            ("日本語", "日本語"),
        ];
        for (words, expected) in pairs {
            assert_eq!(block_text(words), expected);
        }
    }

    #[test]
    fn no_backtick_ends_a_code() {
        let pairs = [
            ("make test", "`make test`"),
            ("a `b`", "`` a `b` ``"),
            ("``", "``` `` ```"),
            (" ", "(empty)"),
        ];
        for (words, expected) in pairs {
            assert_eq!(code(words), expected);
        }
        let block = fence("a\n```\n\nb", "  ");
        assert_eq!(block, "  ````text\n  a\n  ```\n\n  b\n  ````");
    }
}
