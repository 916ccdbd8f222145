//! Commands that somebody else may have written, for a person who decides about them.
//!
//! Invariant: nothing in a command can hide a part of it. Characters that a terminal would obey, turn round or not draw
//! are spelled out. Omissions are counted.

use descent_core::trust::{TrustItem, TrustList};

use super::clean;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub items_max: usize,
    pub chars_max: usize,
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
    let mut lines: Vec<String> = cut
        .split('\n')
        .enumerate()
        .map(|(n, line)| {
            let before = if n == 0 { label(item) } else { String::new() };
            let mark = if n == 0 { ' ' } else { '|' };
            format!("{before:<width$} {mark}{}", visible(line))
        })
        .collect();
    if left_out > 0 {
        lines.push(format!("{:width$} … {left_out} characters more", ""));
    }
    lines
}

/// A text on one line. Every character that would be drawn as nothing, or as another, is spelled out.
pub fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => seen.extend(c.escape_default()),
            c if is_unseen(c) => seen.extend(c.escape_unicode()),
            c => seen.push(c),
        }
    }
    clean(&seen)
}

fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
        | '\u{a0}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

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
