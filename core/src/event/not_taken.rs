//! Words for what an attempt left in its workspace and its result does not have.

use alloc::{format, string::String, vec::Vec};

use crate::state::fields::{Fields, Writer};

const IGNORED: &str = "ignored";
const OTHERS: &str = "not_taken";
const WORDS: &str = "not taken: ";

/// Words for all that an attempt left and no commit takes, with the reason of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotTaken {
    /// Paths that git ignores: most often what a build leaves.
    pub ignored: String,
    pub others: String,
}

impl NotTaken {
    /// Adds things, each with its reason.
    pub fn add(&mut self, more: impl Iterator<Item = String>) {
        for one in more {
            let before = if self.others.is_empty() { "" } else { ", " };
            self.others += &format!("{before}{one}");
        }
    }

    /// All of it in words; empty if there is nothing.
    pub fn words(&self) -> String {
        let parts = [&*self.others, &*self.ignored];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { String::new() } else { format!("{WORDS}{}", parts.join(", ")) }
    }

    /// The same for a line: beside a change, ignored paths are no news.
    pub fn in_short(&self, has_changed: bool) -> String {
        if has_changed {
            Self { ignored: String::new(), others: self.others.clone() }.words()
        } else {
            self.words()
        }
    }

    /// The part of a summary that names it.
    pub fn in_summary(summary: &str) -> Option<&str> {
        let (_, left) = summary.rsplit_once(WORDS)?;
        Some(left)
    }

    /// A text of `chars_max` characters at most that ends with it.
    pub fn after(&self, text: &str, chars_max: usize) -> String {
        let words = self.words();
        if words.is_empty() {
            return text.chars().take(chars_max).collect();
        }
        let room = chars_max.saturating_sub(words.chars().count() + 2);
        let text: String = text.chars().take(room).collect();
        format!("{text}; {words}")
    }

    pub(super) fn write(&self, to: &mut Writer) {
        for (key, words) in [(IGNORED, &self.ignored), (OTHERS, &self.others)] {
            if !words.is_empty() {
                to.text(key, words);
            }
        }
    }

    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        Self { ignored: fields.text_or_empty(IGNORED), others: fields.text_or_empty(OTHERS) }
    }
}
