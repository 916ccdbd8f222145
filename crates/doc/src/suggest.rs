//! Did you mean: the known word that a wrong one probably stands for.
//!
//! Invariant: words of very different length cost nothing, so a wrong word of any size is safe.

use crate::prelude::*;

/// First a word that differs only in case; else the nearest within two typing slips (one under four
/// characters). A slip is a character added, left out, changed, or swapped with its neighbour.
pub fn suggest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(wrong, known, |length| if length < 4 { 1 } else { 2 })
}

/// The same as a hint.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    suggest(wrong, known).map(|near| format!("did you mean `{near}`?"))
}

/// The known word of which `wrong` is surely a slip: one slip in four characters, two in eight.
///
/// A false alarm would cost more than a slip that is missed.
pub fn slip_of<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(wrong, known, |length| (length / 4).min(2))
}

fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
    slips_max: impl Fn(usize) -> usize,
) -> Option<&'a str> {
    let wrong = lower(wrong);
    let slips_max = slips_max(wrong.len());
    let mut best: Option<(usize, &str)> = None;
    for word in known {
        let chars = lower(word);
        if chars.len().abs_diff(wrong.len()) > slips_max {
            continue;
        }
        let slips = distance(&wrong, &chars);
        let near = slips == 0 || (slips <= slips_max && slips < wrong.len());
        if near && best.is_none_or(|(least, _)| slips < least) {
            best = Some((slips, word));
        }
    }
    best.map(|(_, word)| word)
}

fn lower(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// The Damerau-Levenshtein distance that edits no part twice: three rows of the table suffice.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i);
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}
