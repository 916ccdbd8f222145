//! The places that a run writes to: the state's directory and the cache.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::Finding;
use crate::{
    failure::quoted,
    files::private,
    render, space,
    store::{self, StatePlace},
    workspace,
};

/// With less, a run may soon wait.
const FREE_BYTES_LOW: u64 = 512 << 20;
const FREE_FILES_LOW: u64 = 10_000;

/// The kernel's numbers of file systems, as far as they matter here.
const KINDS: [(u64, &str); 17] = [
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, "tmpfs"),
    (0x794c_7630, "overlay"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x6969, "nfs"),
    (0xFE53_4D42, "smb"),
    (0xFF53_4D42, "cifs"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x6a65_6a63, "virtiofs"),
    (0x4d44, "vfat"),
    (0x2011_BAB0, "exfat"),
    (0x5346_544e, "ntfs"),
];
const REMOTE: [&str; 5] = ["nfs", "smb", "cifs", "9p", "fuse"];

pub(super) fn findings(place: &StatePlace) -> Vec<Finding> {
    let mut findings = state(place);
    match workspace::cache_dir() {
        Some(cache) => {
            let there = nearest(&cache);
            findings.push(kind("cache", &there));
            findings.push(room("cache space", &there));
            findings.extend(writable("cache write", &there));
            findings.extend(leftovers(place, &cache));
        }
        None => findings.push(
            Finding::missing(
                "cache",
                "neither XDG_CACHE_HOME nor HOME is set",
                "there is no place for the working copies of attempts",
            )
            .mend("export HOME=…"),
        ),
    }
    findings
}

/// The leftovers of ended runs; `None` if there are none or they cannot be told.
fn leftovers(place: &StatePlace, cache: &Path) -> Option<Finding> {
    let all = workspace::leftovers(place, Some(cache)).ok()?;
    let bytes = all.iter().map(|one| one.bytes).fold(0, u64::saturating_add);
    let found = match all.len() {
        0 => return None,
        1 => format!("1 ended run, {}", render::megabytes(bytes)),
        many => format!("{many} ended runs, {}", render::megabytes(bytes)),
    };
    let means = "nothing needs them; they take room";
    Some(Finding::degraded("leftovers", found, means).mend("descent clean -n"))
}

fn state(place: &StatePlace) -> Vec<Finding> {
    let dir = nearest(&place.dir);
    let mut findings = vec![kind("state", &dir), owner(&dir), room("state space", &dir)];
    match store::probe(&dir) {
        Ok(probe) => findings.extend(tried(&probe)),
        Err(error) => findings.push(unwritable("state write", &dir, &error)),
    }
    findings
}

fn tried(probe: &store::Probe) -> [Finding; 3] {
    let durable = match &probe.durable {
        Ok(()) => Finding::ok("state write", "written, synced and renamed"),
        Err(error) => Finding::missing(
            "state write",
            error.to_string(),
            "a commit cannot be made durable here",
        )
        .mend("put the project on another file system, or name another with --state"),
    };
    let edits = match &probe.mode {
        Ok(mode) if mode.is_degraded() => Finding::degraded("edits", mode.name(), mode.meaning())
            .mend("keep the state on a local disk: --state FILE"),
        Ok(mode) => Finding::ok("edits", format!("{}: {}", mode.name(), mode.meaning())),
        Err(error) => {
            Finding::missing("edits", error.to_string(), "no commit can take a name here")
                .mend("put the project on another file system, or name another with --state")
        }
    };
    let lock = match &probe.lock {
        Ok(()) => Finding::ok("locks", "who holds a lock keeps others out"),
        Err(error) => {
            Finding::missing("locks", error.to_string(), "two loops could work on one state")
                .mend("keep the state on a local disk: --state FILE")
        }
    };
    [durable, edits, lock]
}

fn unwritable(name: &'static str, dir: &Path, error: &io::Error) -> Finding {
    let found = format!("{}: {error}", dir.display());
    Finding::missing(name, found, "nothing can be written there")
        .mend(format!("chmod u+w {}, or free some space", quoted(dir)))
}

fn writable(name: &'static str, dir: &Path) -> Option<Finding> {
    let error = store::probe(dir).err()?;
    Some(unwritable(name, dir, &error))
}

fn kind(name: &'static str, dir: &Path) -> Finding {
    let found = kind_of(dir);
    let text = format!("{found}, {}", dir.display());
    if REMOTE.contains(&found.as_str()) {
        return Finding::degraded(
            name,
            text,
            "a change by another machine is noticed by polling, within a second",
        );
    }
    if found == "tmpfs" {
        return Finding::degraded(name, text, "what is there is gone when the machine restarts");
    }
    Finding::ok(name, text)
}

#[cfg(target_os = "linux")]
fn kind_of(dir: &Path) -> String {
    let Ok(stat) = rustix::fs::statfs(dir) else {
        return "unknown".to_owned();
    };
    // The field is signed on some machines, but the number has 32 bits everywhere.
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let number = stat.f_type as u64 & 0xffff_ffff;
    let known = KINDS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("file system {number:#x}"), |(_, name)| (*name).to_owned())
}

#[cfg(not(target_os = "linux"))]
fn kind_of(_: &Path) -> String {
    "a file system".to_owned()
}

fn room(name: &'static str, dir: &Path) -> Finding {
    let Some(space) = space::free_space(dir) else {
        return Finding::degraded(name, "unknown", "a full disk is noticed when it is full");
    };
    let files = space.free_files;
    let files_text = files.map_or_else(String::new, |files| format!(", room for {files} files"));
    let found = format!("{} free{files_text}", render::megabytes(space.free_bytes));
    if space.is_read_only {
        let means = "nothing can be written there";
        return Finding::missing(name, "mounted for reading alone", means)
            .mend("mount it for writing");
    }
    if space::is_used_up(dir) {
        return Finding::missing(name, found, "a run would wait for room").mend("free some space");
    }
    if space.free_bytes < FREE_BYTES_LOW || files.is_some_and(|files| files < FREE_FILES_LOW) {
        let means = "a run that finds it full waits, and goes on when there is room";
        return Finding::degraded(name, found, means).mend("free some space");
    }
    Finding::ok(name, found)
}

fn owner(dir: &Path) -> Finding {
    let Ok(meta) = dir.metadata() else {
        return Finding::degraded("owner", "unknown", "permissions cannot be looked at");
    };
    let (mode, mine) = (meta.mode() & 0o777, private::me().uid == meta.uid());
    let whose = if mine { "yours" } else { "of another account" };
    let found = format!("{whose}, mode {mode:03o}");
    let is_sticky = meta.mode() & 0o1000 != 0;
    if mode & 0o002 != 0 && !is_sticky {
        let means = "anybody can put commands into your state";
        return Finding::degraded("owner", found, means).mend(format!("chmod o-w {}", quoted(dir)));
    }
    Finding::ok("owner", found)
}

/// The nearest existing directory of a path that a run would make.
fn nearest(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|path| path.is_dir());
    there.unwrap_or(Path::new("/")).to_owned()
}
