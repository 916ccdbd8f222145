//! The kernel's table of processes, read from `/proc`.
//!
//! Everything here is a glance that may be out of date when it returns: who acts on it opens the
//! process first and compares the start time again (`orphans`). Where there is no `/proc`, there
//! are no processes to be seen.
//! Not here: signals, decisions.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The variable that every process of a job inherits.
pub(crate) const MARK: &str = "DESCENT_MARK";
const ENVIRON_BYTES_MAX: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Ended, but its parent has not asked yet.
    pub(crate) is_zombie: bool,
    /// Stopped by a signal: it does nothing until it is continued.
    pub(crate) is_stopped: bool,
    /// Since boot, in clock ticks (10 ms almost everywhere).
    pub(crate) start_ticks: u64,
}

pub(crate) fn entry(pid: u32) -> Option<Entry> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &text)
}

/// The second field is the program's name in brackets, and may contain anything, brackets too.
fn parse(pid: u32, stat: &[u8]) -> Option<Entry> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(after_name..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // A process outside of our pid namespace shows as 0; the kernel's ids fit 32 bits.
    let id = |index: usize| u32::try_from(number(index)?).ok();
    Some(Entry {
        pid,
        parent: id(1)?,
        group: id(2)?,
        session: id(3)?,
        is_zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
        is_stopped: *fields.first()? == "T",
        start_ticks: number(19)?,
    })
}

pub(crate) fn every_pid() -> Vec<u32> {
    numbers_in("/proc")
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    if !children_are_listed() {
        let all = every_pid().into_iter().filter_map(entry);
        return all
            .filter(|entry| entry.parent == pid)
            .map(|entry| entry.pid)
            .collect();
    }
    let threads = numbers_in(&format!("/proc/{pid}/task"));
    let lists = threads.into_iter().filter_map(|thread| {
        fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()
    });
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace()
                .flat_map(str::parse)
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// A kernel may be built without these lists.
fn children_are_listed() -> bool {
    static LISTED: OnceLock<bool> = OnceLock::new();
    *LISTED.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// We, our parent, its parent …
pub(crate) fn ourselves_and_ancestors() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(entry) = line.last().and_then(|pid| entry(*pid)) {
        if entry.parent == 0 || line.contains(&entry.parent) {
            break;
        }
        line.push(entry.parent);
    }
    line
}

/// The mark in the environment that the process was started with. Nothing for a zombie, for a
/// process of another user, and for one that wrote over its environment.
pub(crate) fn mark(pid: u32) -> Option<String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(ENVIRON_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    bytes.split(|byte| *byte == 0).find_map(|pair| {
        let value = pair.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        Some(OsStr::from_bytes(value).to_string_lossy().into_owned())
    })
}

/// Does the process write its output or its errors to one of these pipes? Other descriptors say
/// nothing: between its start and its exec, a child of ours has copies of all that we have open.
pub(crate) fn writes_to(pid: u32, pipe_inodes: &[u64]) -> bool {
    let targets = [1, 2].map(|number| fs::read_link(format!("/proc/{pid}/fd/{number}")).ok());
    let is_it = |inode| targets.contains(&Some(PathBuf::from(format!("pipe:[{inode}]"))));
    pipe_inodes.iter().any(is_it)
}

/// Changes with every boot: process ids and start times mean nothing beyond it. Empty where the
/// system doesn't tell.
pub(crate) fn boot_id() -> String {
    static BOOT: OnceLock<String> = OnceLock::new();
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    BOOT.get_or_init(|| read().trim().to_owned()).clone()
}

fn numbers_in(directory: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_confuse_the_fields() {
        let stat = b"77 (a) Z 1 (b)) S 5 6 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9\n";
        let expected = Entry {
            pid: 77,
            parent: 5,
            group: 6,
            session: 7,
            is_zombie: false,
            is_stopped: false,
            start_ticks: 12345,
        };
        assert_eq!(parse(77, stat), Some(expected));
    }

    #[test]
    fn what_is_no_stat_line_is_no_process() {
        for text in [
            &b""[..],
            b"1 (x",
            b"1 (x)",
            b"1 (x) S 1",
            b"1 (x) S a b c",
            b")\xff",
        ] {
            assert_eq!(parse(1, text), None);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_line_starts_with_us_and_our_parent() {
        let line = ourselves_and_ancestors();
        assert_eq!(line[0], std::process::id());
        assert_eq!(line[1], std::os::unix::process::parent_id());
    }
}
