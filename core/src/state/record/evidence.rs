//! Pieces of evidence: how one is made, and what it says.

use alloc::string::String;

use super::EvidenceRecord;
use crate::state::Check;

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

    /// Whether it is about this very check. A name may be another check's by now, so of an older record only the title of
    /// a check without a name tells.
    pub fn is_of(&self, check: &Check) -> bool {
        match &self.key {
            Some(key) => *key == check.key(),
            None => check.name.is_none() && self.check.as_ref() == Some(&check.title()),
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
