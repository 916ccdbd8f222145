//! The rest of a task in a context, where it failed alike (contract §9.34).
//!
//! Not here: when it rests, and when it goes on (`step::rest`).

use super::Try;
use crate::{
    id::Digest,
    state::table::{record, words},
};

words! {
    /// How far a task is with its one rest in a context
    pub enum Rest {
        /// Set aside until no other selection is left
        Resting = "resting",
        /// It goes on, and never rests again here
        Woken = "woken",
    }
}

record! {
    /// The newest failures of a task in a context that are alike
    #[derive(PartialEq)]
    pub struct AlikeFailures {
        /// The digest of the checks that do not hold, else the fingerprint
        required[program] mark: Digest,
        /// How many they are
        required[program] times: u32,
    }
}

impl Try {
    pub fn is_resting(&self) -> bool {
        self.rest == Some(Rest::Resting)
    }

    /// Whether its conflict counts: it failed for good, or it rests.
    pub fn is_set_aside(&self) -> bool {
        self.has_failed() || self.is_resting()
    }

    /// Its failures count no more.
    pub fn forget_failures(&mut self) {
        self.ended = None;
        (self.attempts, self.repairs) = (0, 0);
        (self.rest, self.alike) = (None, None);
    }
}
