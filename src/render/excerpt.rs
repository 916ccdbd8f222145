//! One line of a text with a caret under a place in it.
//!
//! Invariant: two lines, no wider than a screen, even for a long line. Not here: finding the place.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters of the line shown at most, and how many of them come before the place.
const SHOWN_MAX: usize = 90;
const BEFORE_MAX: usize = 60;

/// Line and column count from 1, the column in characters.
pub fn excerpt(text: &str, line: usize, column: usize) -> String {
    let number = line.to_string();
    let from = column.saturating_sub(1 + BEFORE_MAX);
    let chars = text.trim_end().chars().skip(from);
    let shown: String = chars.take(SHOWN_MAX).map(visible).collect();
    let before = column.saturating_sub(1 + from);
    let before: String = shown.chars().take(before).collect();
    let (gutter, blanks) = (" ".repeat(number.len()), " ".repeat(before.width()));
    format!("  {number} | {shown}\n  {gutter} | {blanks}^")
}

/// Replaces tabs and marks without width, which would move the caret.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.width().unwrap_or(0) == 0 => '\u{b7}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, column: usize, expected: &str) {
        assert_eq!(excerpt(text, 7, column), expected, "{text}");
    }

    #[test]
    fn the_caret_stands_under_the_character_that_is_meant() {
        check("\"a\": 1", 6, "  7 | \"a\": 1\n    |      ^");
        check("\t\"a\"", 2, "  7 |  \"a\"\n    |  ^");
        check("\"界\": x", 6, "  7 | \"界\": x\n    |       ^");
        check("", 1, "  7 | \n    | ^");
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let long = format!("{}x{}", "a".repeat(5_000), "b".repeat(5_000));
        let shown = excerpt(&long, 1, 5_001);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].chars().count() <= 100, "{shown}");
        let at = lines[1].find('^').expect("a caret");
        assert_eq!(lines[0].chars().nth(at), Some('x'), "{shown}");
    }
}
