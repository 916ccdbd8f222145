//! How much of the trail stands, and when it is looked at again. Not here: how it is shortened (`step::trail`).

/// How much of the trail stands: the newest of each.
#[derive(Debug, Clone, Copy)]
pub struct TrailLimits {
    /// Failures of one atom and context that stand in full.
    pub failures: usize,
    /// Older ones of the same that stand as a line.
    pub failure_lines: usize,
    /// Choices and backtracks together.
    pub steps: usize,
    /// Failures in full, and refuted selections, that keep their output.
    pub failures_long: usize,
    pub refuted_long: usize,
    /// How many more may stay while a run goes on; a fraction of the trail, if that is more.
    pub surplus: usize,
}

impl Default for TrailLimits {
    fn default() -> Self {
        Self {
            failures: 3,
            failure_lines: 50,
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
