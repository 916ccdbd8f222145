//! A PID namespace for one job: when its first process ends, the kernel ends all others.
//!
//! The first process is a fork of the guard that only waits. The command is a child of the guard,
//! not of the first process. So its status arrives unchanged, and its parent is not 1, which
//! programs would take for being orphaned. Ids begin at a different number in every job. Counted
//! from 1, a stale pid file would nearly always name a living process.
//!
//! Invariant: the first process never outlives the guard. The kernel sends it a signal, and the
//! pipe that it reads comes to its end.
#![allow(clippy::disallowed_methods)] // door: the kernel's files that map users and set the next id

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal};

use super::super::table::FIRST;
use super::super::tag::Tag;
use super::kernel;

/// The smallest first id of a job.
const FIRST_ID: u64 = 300;
const IDS: u64 = 20_000;

pub(super) struct Namespace {
    first: Pid,
    /// The first process lives while this is open.
    _open: io::PipeWriter,
}

impl Namespace {
    /// Every process started from here on is inside, with a `/proc` of the inside.
    pub(super) fn make(
        with_users: bool,
        tag: Tag,
        group: Option<BorrowedFd<'_>>,
    ) -> io::Result<Namespace> {
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        let users = if with_users { libc::CLONE_NEWUSER } else { 0 };
        kernel::unshare(users | libc::CLONE_NEWPID | libc::CLONE_NEWNS)?;
        if with_users {
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
        }
        // Outside mounts show inside, but not the other way round.
        let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change("/", flags)?;
        let (mut reader, writer) = io::pipe()?;
        let (closed, open) = io::pipe()?;
        let Some(first) = kernel::fork(group)? else {
            drop((reader, open));
            run_init(writer, closed, tag);
        };
        drop((writer, closed));
        let mut raw = [0; 4];
        match reader
            .read_exact(&mut raw)
            .map(|()| i32::from_le_bytes(raw))
        {
            Ok(0) => Ok(Namespace { first, _open: open }),
            Ok(code) => Err(io::Error::from_raw_os_error(code)),
            Err(error) => Err(error),
        }
    }

    pub(super) fn end(&self) {
        super::kill(self.first);
    }
}

/// Runs the first process of the namespace.
fn run_init(mut writer: io::PipeWriter, mut closed: io::PipeReader, tag: Tag) -> ! {
    let is_ready = prepare(tag);
    let code = is_ready
        .err()
        .map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
    let is_told = writer.write_all(&code.to_le_bytes()).is_ok();
    drop(writer);
    if code == 0 && is_told {
        // Nothing is ever written: the read returns when the guard is gone.
        let _ = closed.read(&mut [0]);
    }
    std::process::exit(0)
}

fn prepare(tag: Tag) -> io::Result<()> {
    let _ = rustix::thread::set_name(FIRST);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    kernel::forget_children();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    let next = FIRST_ID + tag.raw() % IDS;
    // A kernel without it counts from 1.
    let _ = fs::write("/proc/sys/kernel/ns_last_pid", next.to_string());
    Ok(())
}
