//! A patch at a terminal, a line for each of its own, coloured by what git says of it.
//!
//! Invariant: the colours are ours. An escape in the text of a file is made visible like everywhere, so no change can
//! hide itself.

use super::{Line, Meaning, Page};

/// Columns between two stops of a tab.
const TAB: usize = 8;

/// The place of a line in a patch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatchPart {
    /// The lines of a file before its first hunk.
    Header,
    Hunk,
}

pub fn patch(text: &str) -> Page {
    let mut page = Page::new(usize::MAX);
    let mut part = PatchPart::Header;
    for line in text.lines() {
        // A line of a hunk begins with a mark of its own, so no text of a file looks like these.
        if line.starts_with("diff --git ") {
            part = PatchPart::Header;
        } else if line.starts_with("@@ ") {
            part = PatchPart::Hunk;
        }
        page.whole(Line::new().put(meaning(part, line), without_tabs(line)));
    }
    page
}

fn meaning(part: PatchPart, line: &str) -> Meaning {
    match (part, line.chars().next()) {
        (PatchPart::Header, _) => Meaning::Strong,
        (PatchPart::Hunk, Some('+')) => Meaning::Pass,
        (PatchPart::Hunk, Some('-')) => Meaning::Fail,
        (PatchPart::Hunk, Some('@')) => Meaning::Running,
        (PatchPart::Hunk, Some('\\')) => Meaning::Dim,
        (PatchPart::Hunk, _) => Meaning::Plain,
    }
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
}
