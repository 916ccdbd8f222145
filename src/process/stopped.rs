//! Jobs that a signal has stopped, and that nobody continues: each would be waited for until its time limit.
//!
//! Facts: the system stops a program in the background that asks at its terminal, and a shell waits for it. A process that is
//! traced counts as one that runs. Not here: its end (`handle`).

use std::time::Duration;

use rustix::process::Signal;

use super::{
    JobEnd,
    table::{self, FIRST, ProcessEntry},
};

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Looks after which a program that has a terminal goes on no more: it asked there.
const ASKING_LOOKS: u32 = 2;
/// The same for any other: a person may have stopped it for a while.
const LOOKS: u32 = 6;
/// Processes of a job that are looked at.
const PROCESSES_MAX: usize = 64;

/// Returns when the command is stopped for good, with the signal that is likely to have done it, or its time is over. There
/// is one timer, since each wakes the runtime.
pub(super) async fn or_timed_out(leader: u32, timeout: Duration) -> JobEnd {
    let after = |pause| tokio::time::sleep(pause).deadline();
    let (end, mut looks) = (after(timeout), 0);
    loop {
        let look = after(LOOK_EVERY);
        tokio::time::sleep_until(look.min(end)).await;
        if end <= look {
            return JobEnd::TimedOut;
        }
        let mut left = PROCESSES_MAX;
        let stopped = stopped(command(leader), &mut left);
        looks = stopped.map_or(0, |_| looks + 1);
        let signal = match stopped {
            Some(it) if it.has_terminal && looks >= ASKING_LOOKS => Signal::TTIN,
            Some(_) if looks >= LOOKS => Signal::STOP,
            _ => continue,
        };
        return JobEnd::Signal(signal.as_raw());
    }
}

/// The command of a job, which may have a guard. Orphans come after it.
fn command(leader: u32) -> u32 {
    let is_first = |pid: &u32| FIRST.to_str().is_ok_and(|first| table::is_named(*pid, first));
    let below = || table::children(leader).into_iter().find(|pid| !is_first(pid));
    let is_guard = table::is_named(leader, table::GUARD);
    is_guard.then(below).flatten().unwrap_or(leader)
}

/// The process for which a tree of processes waits, if it is stopped.
fn stopped(pid: u32, left: &mut usize) -> Option<ProcessEntry> {
    *left = left.checked_sub(1)?;
    let it = table::entry(pid)?;
    if it.is_stopped {
        return Some(it);
    }
    let mut found = None;
    for child in table::children(pid) {
        found = Some(stopped(child, left)?);
    }
    found
}
