//! The stall detector: finds a run that nothing will ever move. Either nothing is desired or
//! awaited and the run is not over, or it decides again and again without a result. Such a run
//! would never end; it is a bug of ours, and the run ends with that error.
//!
//! Not here: what a run waits for (`desired`), what it decides (`step`).

use descent_core::id::Serial;

use crate::failure::Failure;

/// How many turns in a row at one commit may find nothing to move the run. Inputs of the same
/// instant are seen by the next turn. Each turn of a deciding run is a whole step.
const LOOKS_MAX: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct StallDetector {
    at: Serial,
    looks: u32,
}

/// The findings of one turn of the loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopTurn {
    /// The commit that the loop is at.
    pub at: Serial,
    /// Work runs, a result has come and was not processed yet, or the loop waits for a person or
    /// the disk.
    pub has_work: bool,
    /// When the run wants the next turn; 0 if it is in the middle of deciding.
    pub wake_in_ms: Option<u64>,
}

impl StallDetector {
    pub(super) fn observe(&mut self, seen: LoopTurn) -> Result<(), Failure> {
        let waits = seen.wake_in_ms.is_some_and(|in_ms| in_ms > 0);
        if seen.has_work || waits || seen.at != self.at {
            *self = Self { at: seen.at, looks: 0 };
            return Ok(());
        }
        self.looks += 1;
        if self.looks <= LOOKS_MAX {
            return Ok(());
        }
        Err(Failure::bug(match seen.wake_in_ms {
            None => "the run has nothing left to do and is not over",
            Some(_) => "the run goes on deciding and decides nothing",
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: LoopTurn = LoopTurn { at: Serial(7), has_work: false, wake_in_ms: None };
    const DECIDING: LoopTurn = LoopTurn { wake_in_ms: Some(0), ..IDLE };

    /// Whether a run with these turns is ended as a bug, and with which words.
    fn check(looks: impl IntoIterator<Item = LoopTurn>) -> Option<String> {
        let mut rest = StallDetector::default();
        let ended = looks.into_iter().find_map(|seen| rest.observe(seen).err());
        ended.map(|failure| {
            assert_eq!(failure.code, "E-BUG");
            failure.message
        })
    }

    #[test]
    fn a_run_that_waits_for_nothing_or_decides_nothing_for_ever_is_a_bug() {
        for (look, word) in [(IDLE, "nothing left to do"), (DECIDING, "decides nothing")] {
            let message = check([look; 10]).unwrap_or_default();
            assert!(message.contains(word), "{message}");
        }
        let by_turns = [IDLE, DECIDING].into_iter().cycle().take(10);
        assert!(check(by_turns).is_some());
    }

    #[test]
    fn work_a_wait_and_a_commit_each_move_a_run() {
        let working = LoopTurn { has_work: true, ..IDLE };
        let waiting = LoopTurn { wake_in_ms: Some(1), ..IDLE };
        for moved in [working, waiting] {
            let by_turns = [[IDLE; 4].as_slice(), &[moved]].concat();
            assert_eq!(check(by_turns.into_iter().cycle().take(100)), None);
        }
        let commits = (0..1_000).map(|n| LoopTurn { at: Serial(n), ..DECIDING });
        assert_eq!(check(commits), None);
    }
}
