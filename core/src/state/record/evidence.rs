//! Pieces of evidence: how one is made, and what it says.

use alloc::string::String;

use crate::{
    id::Digest,
    state::{Check, FreeValue, SideFile, table::record},
};

/// The end of a command that says no more than that it succeeded.
const EXIT_0: &str = "exit 0";

record! {
    /// The verdict on one leaf, and what it was taken on
    #[derive(Default)]
    pub struct EvidenceRecord {
        optional check: String,
        /// Digest of the rule of the check, whatever it is called
        optional key: Digest,
        optional verdict: String,
        /// The basis
        optional on: String,
        /// How its command ended, or who said so
        optional ended: String,
        optional number: FreeValue,
        /// How many files were found
        optional found: u64,
        optional duration_ms: u64,
        filled output: String,
        /// The side file with all of the output
        optional whole: SideFile,
    }
}

impl EvidenceRecord {
    pub fn of(check: &Check, verdict: &str, on: String) -> Self {
        Self {
            check: Some(check.title()),
            key: Some(check.key()),
            verdict: Some(verdict.into()),
            on: Some(on),
            ..Self::default()
        }
    }

    /// As a result keeps it: of what passed, nothing that follows from that or from the result.
    pub fn of_result(self) -> Self {
        if !self.passes() {
            return self;
        }
        Self {
            check: self.check,
            verdict: self.verdict,
            ended: self.ended.filter(|ended| ended != EXIT_0),
            number: self.number,
            whole: self.whole,
            ..Self::default()
        }
    }

    /// Whether it is about this very check: a name may be another check's by now, but not within a result.
    pub fn is_of(&self, check: &Check) -> bool {
        match &self.key {
            Some(key) => *key == check.key(),
            None => self.check.as_deref() == Some(check.title().as_str()),
        }
    }

    pub fn passes(&self) -> bool {
        self.verdict.as_deref() == Some("pass")
    }

    /// Whether it spoke against what it was taken on: not an assertion of which nobody said anything.
    pub fn speaks_against(&self) -> bool {
        match self.verdict.as_deref() {
            Some("pass") => false,
            Some("unknown") => self.duration_ms.is_some(),
            _ => true,
        }
    }
}
