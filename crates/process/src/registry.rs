//! The processes that this process started itself and has not reaped yet.
//!
//! Invariant: a child started through [`spawn`] is on the list before anybody else can take the
//! lock, and stays on it until it is reaped. So a caller that lists our children first and asks
//! here afterwards never takes one of them for an orphan.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::process_table;

#[derive(Debug, Clone)]
struct LiveProcess {
    pid: u32,
    start_ticks: u64,
    is_tool: bool,
    /// Whether it was asked to end.
    is_asked: bool,
}

static LIVE: Mutex<Vec<LiveProcess>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<LiveProcess>> {
    // Every change is one push or one retain, so a panic leaves nothing half done.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a child on the list. It must be dropped after the child has been reaped, not before.
#[derive(Debug)]
pub struct RegistryEntry {
    pub pid: u32,
    /// 0 if the system doesn't report it.
    pub start_ticks: u64,
}

impl Drop for RegistryEntry {
    fn drop(&mut self) {
        live().retain(|one| (one.pid, one.start_ticks) != (self.pid, self.start_ticks));
    }
}

/// Runs `start`, which spawns one child and returns its process id, and puts it on the list. A tool is one of our own
/// helpers.
pub fn spawn<C>(
    is_tool: bool,
    start: impl FnOnce() -> io::Result<(u32, C)>,
) -> io::Result<(C, RegistryEntry)> {
    let mut live = live();
    let (pid, child) = start()?;
    // A child that has ended already is a zombie, and still has its line.
    let start_ticks = process_table::entry(pid).map_or(0, |entry| entry.start_ticks);
    live.push(LiveProcess { pid, start_ticks, is_tool, is_asked: false });
    Ok((child, RegistryEntry { pid, start_ticks }))
}

pub fn is_ours(pid: u32, start_ticks: u64) -> bool {
    live().iter().any(|one| (one.pid, one.start_ticks) == (pid, start_ticks))
}

/// The running helpers, each with its process id, its start, and whether an earlier call returned
/// it.
pub(crate) fn ask_tools() -> Vec<(u32, u64, bool)> {
    let mut live = live();
    let tools = live.iter_mut().filter(|one| one.is_tool);
    tools
        .map(|one| {
            let was_asked = std::mem::replace(&mut one.is_asked, true);
            (one.pid, one.start_ticks, was_asked)
        })
        .collect()
}
