//! The wait before a commit for more outcomes, as databases delay a group commit.
//!
//! It is worth it where attempts are short beside a commit: those that started together end together, and one commit
//! takes all of them in. A wait that brought nothing is repeated ever more seldom. Not here: what a commit takes in
//! (`together`).

use std::time::Duration;

use descent_core::event::Input;

use super::Loop;
use crate::failure::Failure;

/// A shorter wait is not worth it: timers have steps of a millisecond.
const WAIT_MIN: Duration = Duration::from_millis(2);
/// A wait that nobody notices, however long a commit takes.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// Commits without a wait at most, after waits in vain.
const SKIPPED_MAX: u32 = 256;

#[derive(Debug, Default)]
pub(super) struct GroupDelay {
    /// How long the last commit took.
    last: Duration,
    /// Commits without a wait before the next one with it.
    skips: u32,
    /// How many `skips` were at the last wait in vain.
    skipped: u32,
}

impl GroupDelay {
    pub(super) fn committed(&mut self, took: Duration) {
        self.last = took;
    }

    /// The longest wait: half of what the commit costs that it may save.
    fn wait(&mut self) -> Option<Duration> {
        let wait = (self.last / 2).min(WAIT_MAX);
        if wait < WAIT_MIN {
            return None;
        }
        if self.skips > 0 {
            self.skips -= 1;
            return None;
        }
        Some(wait)
    }

    fn waited(&mut self, has_brought_any: bool) {
        self.skipped = if has_brought_any { 0 } else { (self.skipped * 2 + 1).min(SKIPPED_MAX) };
        self.skips = self.skipped;
    }
}

impl Loop<'_> {
    /// Waits for more outcomes to be in the commit of those that are there, while other work is under way.
    pub(super) async fn await_more(&mut self) -> Result<(), Failure> {
        let has_outcome = self.pending.iter().any(|input| matches!(input, Input::Ended { .. }));
        if !has_outcome || self.running.is_empty() {
            return Ok(());
        }
        let Some(wait) = self.delay.wait() else {
            return Ok(());
        };
        let known = self.pending.len();
        let mut over = self.host.clock.sleep(wait);
        while !self.running.is_empty() {
            tokio::select! {
                biased;
                done = self.inbox.recv() => {
                    let taken = self.take(done);
                    self.endure(taken)?;
                }
                () = &mut over => break,
            }
        }
        self.delay.waited(self.pending.len() > known);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_a_commit_of(ms: u64) -> GroupDelay {
        let mut delay = GroupDelay::default();
        delay.committed(Duration::from_millis(ms));
        delay
    }

    #[test]
    fn a_wait_takes_half_of_what_a_commit_takes_and_never_long() {
        let waits = [0, 3, 4, 10, 40, 5_000].map(|ms| after_a_commit_of(ms).wait());
        let expected = [None, None, Some(2), Some(5), Some(20), Some(20)];
        assert_eq!(waits, expected.map(|ms| ms.map(Duration::from_millis)));
    }

    #[test]
    fn what_is_waited_for_in_vain_is_waited_for_ever_more_seldom() {
        let mut delay = after_a_commit_of(10);
        let mut waits = 0;
        for _ in 0..10_000 {
            if delay.wait().is_some() {
                waits += 1;
                delay.waited(false);
            }
        }
        assert!((40..60).contains(&waits), "{waits}");
        while delay.wait().is_none() {}
        delay.waited(true);
        assert!(delay.wait().is_some(), "one that brought something is followed by another");
    }
}
