//! Jobs that a signal has stopped, and that nobody continues: each would be waited for until its time limit.
//!
//! Facts: the system stops a program in the background that asks at its terminal, and a shell waits for it. A process that is
//! traced counts as one that runs. Not here: its end (`handle`).

use std::time::Duration;

use rustix::process::Signal;

use super::table::{self, FIRST, ProcessEntry};

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Looks after which a program that has a terminal goes on no more: it asked there.
const ASKING_LOOKS: u32 = 2;
/// The same for any other: a person may have stopped it for a while.
const LOOKS: u32 = 6;
/// Processes of a job that are looked at.
const PROCESSES_MAX: usize = 64;

/// Returns when the command is stopped for good, with the signal that is likely to have done it.
pub(super) async fn for_good(leader: u32) -> i32 {
    let mut looks = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let mut left = PROCESSES_MAX;
        let stopped = stopped(command(leader), &mut left);
        looks = stopped.map_or(0, |_| looks + 1);
        match stopped {
            Some(it) if it.has_terminal && looks >= ASKING_LOOKS => return Signal::TTIN.as_raw(),
            Some(_) if looks >= LOOKS => return Signal::STOP.as_raw(),
            _ => {}
        }
    }
}

/// The command of a job, which may have a guard. Orphans come after it.
fn command(leader: u32) -> u32 {
    let is_first = |pid: &u32| {
        FIRST
            .to_str()
            .is_ok_and(|first| table::is_named(*pid, first))
    };
    let below = || {
        table::children(leader)
            .into_iter()
            .find(|pid| !is_first(pid))
    };
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
