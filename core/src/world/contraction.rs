//! How much of the trail stands in full: what a host may set of it, and when it is looked at again. Not here: the
//! contraction itself (`step::trail`).

/// How much of the trail stands in full: the newest of each.
#[derive(Debug, Clone, Copy)]
pub struct Full {
    /// Failures of one atom and context.
    pub failures: usize,
    /// Choices and backtracks together.
    pub steps: usize,
    /// Of the failures that stand in full, and of refuted selections, those whose output does.
    pub failures_long: usize,
    pub refuted_long: usize,
    /// How many more may, while a run goes on; or a part of the trail, where that is more.
    pub surplus: usize,
}

impl Default for Full {
    fn default() -> Self {
        Self {
            failures: 3,
            steps: 200,
            failures_long: 200,
            refuted_long: 8,
            surplus: 8,
        }
    }
}

/// When the trail is looked at again: by its length, which is what it grows by.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// When it was looked at last; shorter, it is another.
    pub(crate) len: usize,
    pub(crate) look_at: usize,
}
