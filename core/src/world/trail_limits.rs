//! The limits of the trail, and when it is checked against them. Not here: the shortening (`step::trail`).

/// How many of the newest entries stay, of each kind.
#[derive(Debug, Clone, Copy)]
pub struct TrailLimits {
    /// Failures of one atom and context that stay in full.
    pub failures: usize,
    /// Older ones of the same that stay as a line.
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

/// When the trail is checked again: by its length, which only grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    /// Its length at the last check; a shorter trail is another one.
    pub(crate) len: usize,
    pub(crate) look_at: usize,
}
