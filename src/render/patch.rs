//! Texts of others at a terminal: a patch, coloured by what git says of it, a line with a caret under a place, and
//! commands that a person decides about.
//!
//! Invariant: the colours are ours, and nothing can hide a part of itself: characters that a terminal would obey, turn
//! round or not draw are spelled out. Omissions are counted.

use descent_core::trust::{TrustItem, TrustList};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Line, Meaning, Page, visible};

/// Columns between two stops of a tab.
const TAB: usize = 8;

pub fn patch(text: &str) -> Page {
    let mut page = Page::new(usize::MAX);
    // The lines of a file before its first hunk are its header.
    let mut is_header = true;
    for line in text.lines() {
        // A line of a hunk begins with a mark of its own, so no text of a file looks like these.
        is_header = line.starts_with("diff --git ") || is_header && !line.starts_with("@@ ");
        let meaning = match line.chars().next() {
            _ if is_header => Meaning::Strong,
            Some('+') => Meaning::Pass,
            Some('-') => Meaning::Fail,
            Some('@') => Meaning::Running,
            Some('\\') => Meaning::Dim,
            _ => Meaning::Plain,
        };
        page.whole(Line::new().put(meaning, without_tabs(line)));
    }
    page
}

/// Tabs as spaces; the mark at the begin of a line moves no stop.
fn without_tabs(line: &str) -> String {
    let mut shown = String::new();
    let mut column = 0_usize;
    for (at, char) in line.chars().enumerate() {
        if char != '\t' {
            shown.push(char);
            column += usize::from(at > 0);
            continue;
        }
        let wide = TAB - column % TAB;
        shown.push_str(&" ".repeat(wide));
        column += wide;
    }
    shown
}

/// Characters of the line shown at most, and how many of them come before the place.
const SHOWN_MAX: usize = 90;
const BEFORE_MAX: usize = 60;

/// Line and column count from 1, the column in characters.
pub fn excerpt(text: &str, line: usize, column: usize) -> String {
    let number = line.to_string();
    let from = column.saturating_sub(1 + BEFORE_MAX);
    let chars = text.trim_end().chars().skip(from);
    let shown: String = chars.take(SHOWN_MAX).map(seen_as).collect();
    let before = column.saturating_sub(1 + from);
    let before: String = shown.chars().take(before).collect();
    let (gutter, blanks) = (" ".repeat(number.len()), " ".repeat(before.width()));
    format!("  {number} | {shown}\n  {gutter} | {blanks}^")
}

/// Replaces tabs and marks without width, which would move the caret.
fn seen_as(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.width().unwrap_or(0) == 0 => '\u{b7}',
        c => c,
    }
}

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub items_max: usize,
    pub chars_max: usize,
}

impl Bounds {
    /// For what a person decides about, and for answers that are bounded by themselves: nothing is left out.
    pub const WHOLE: Self = Self { items_max: usize::MAX, chars_max: usize::MAX };
}

/// Columns of the word before a command.
const LABEL_WIDTH_MAX: usize = 32;

/// One line for each command; its further lines are marked. Ends with the number of omissions, and the command that
/// shows all.
pub fn carried(carried: &TrustList, bounds: Bounds, command: &str) -> Vec<String> {
    let items = carried.items();
    let shown = items.get(..bounds.items_max).unwrap_or(items);
    let widths = shown.iter().map(|item| label(item).chars().count());
    let width = widths.max().unwrap_or(0).min(LABEL_WIDTH_MAX);
    let mut lines: Vec<String> =
        shown.iter().flat_map(|item| one(item, width, bounds.chars_max)).collect();
    let left_out = items.len() - shown.len();
    if left_out > 0 {
        lines
            .push(format!("… and {left_out} more of {} ({command} --json shows all)", items.len()));
    }
    lines
}

fn label(item: &TrustItem) -> String {
    let word = item.group.word();
    if item.at.is_empty() { word.to_owned() } else { format!("{word} {}", visible(&item.at)) }
}

fn one(item: &TrustItem, width: usize, chars_max: usize) -> Vec<String> {
    let cut: String = item.text.chars().take(chars_max).collect();
    let left_out = item.text.chars().count() - cut.chars().count();
    let row = |(n, line): (usize, &str)| {
        let (before, mark) = if n == 0 { (label(item), ' ') } else { (String::new(), '|') };
        format!("{before:<width$} {mark}{}", visible(line))
    };
    let mut lines: Vec<String> = cut.split('\n').enumerate().map(row).collect();
    if left_out > 0 {
        lines.push(format!("{:width$} … {left_out} characters more", ""));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_colour_of_its_mark_and_a_removed_dash_is_no_header() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- old\n+new\n same\n";
        let shown = patch(text).text(true);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "\u{1b}[1m--- a/x\u{1b}[0m");
        assert_eq!(lines[4], "\u{1b}[31m--- old\u{1b}[0m");
        assert_eq!(lines[5], "\u{1b}[32m+new\u{1b}[0m");
        assert_eq!(lines[6], " same");
    }

    #[test]
    fn an_escape_in_a_file_is_seen_and_hides_nothing() {
        let text = "@@ -0,0 +1 @@\n+ok\u{1b}[8m; rm -rf all\u{1b}[0m\n+\ta\n";
        let shown = patch(text).text(false);
        assert!(shown.contains("+ok␛[8m; rm -rf all␛[0m"), "{shown}");
        assert!(shown.contains("+        a"), "{shown}");
    }

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

    const BOUNDS: Bounds = Bounds { items_max: 2, chars_max: 10 };

    #[test]
    fn nothing_in_a_command_is_obeyed_turned_round_or_unseen() {
        assert_eq!(visible("a\u{1b}[2Kb"), "a␛[2Kb");
        assert_eq!(visible("a\rb\tc\nd"), "a\\u{d}b\\tc\\nd");
        assert_eq!(
            visible("a\u{202e}b\u{200b}c\u{a0}d\u{e0041}"),
            "a\\u{202e}b\\u{200b}c\\u{a0}d\\u{e0041}"
        );
        assert_eq!(visible("naïve — 漢字 $HOME"), "naïve — 漢字 $HOME");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let list = TrustList::of_agent("0123456789abc")
            .and(TrustList::of_agent("one\ntwo"))
            .and(TrustList::of_agent("three"));
        assert_eq!(
            carried(&list, BOUNDS, "descent trust"),
            [
                "agent  0123456789",
                "      … 3 characters more",
                "agent  one",
                "      |two",
                "… and 1 more of 3 (descent trust --json shows all)",
            ]
        );
    }
}
