//! Pieces of evidence: how one is made, and what it says.

use alloc::string::String;

use super::EvidenceRecord;

impl EvidenceRecord {
    pub fn of(check: String, verdict: &str, on: String) -> Self {
        Self {
            check: Some(check),
            verdict: Some(verdict.into()),
            on: Some(on),
            ..Self::default()
        }
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
