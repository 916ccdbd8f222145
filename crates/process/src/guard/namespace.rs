//! A PID namespace for one job: when its first process ends, the kernel ends all others.
//!
//! The first process is a copy of the guard that only waits. The command is a child of the guard, not of the first process. So its status arrives unchanged, and its parent is not 1, which
//! programs would take for being orphaned. Ids begin at a different number in every job. Counted
//! from 1, a stale pid file would nearly always name a living process.
//!
//! Invariant: the first process never outlives the guard. The kernel sends it a signal, and the
//! socket that it reads comes to its end.
#![allow(clippy::disallowed_methods)] // door: the kernel's files that map users and set the next id

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal};

use super::super::process_table::FIRST;
use super::super::tag::Tag;
use super::kernel;

/// The smallest first id of a job.
const FIRST_ID: u64 = 300;
const IDS: u64 = 20_000;
/// The file of the id that was given last.
const LAST_ID: &str = "/proc/sys/kernel/ns_last_pid";

pub(super) struct Namespace {
    first: Pid,
    /// The first process lives while this is open.
    _open: UnixStream,
}

/// Enters a new mount namespace, and more. In a user namespace our own account keeps its number.
pub(super) fn enter(with_users: bool, more: i32) -> io::Result<()> {
    let users = if with_users { libc::CLONE_NEWUSER } else { 0 };
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    kernel::unshare(users | more | libc::CLONE_NEWNS)?;
    if with_users {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    // Outside mounts show inside, but not the other way round.
    let flags = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", flags)?;
    Ok(())
}

impl Namespace {
    /// Every process started from here on is inside, with a `/proc` of the inside.
    pub(super) fn make(with_users: bool, tag: Tag, group: Option<&File>) -> io::Result<Namespace> {
        enter(with_users, libc::CLONE_NEWPID)?;
        let (mut ours, its) = UnixStream::pair()?;
        let Some(first) = kernel::fork(group)? else {
            // Otherwise it would keep both ends open itself.
            drop(ours);
            live(&its, FIRST_ID + tag.raw() % IDS);
            std::process::exit(0);
        };
        drop(its);
        let mut raw = [0; 4];
        ours.read_exact(&mut raw)?;
        match i32::from_le_bytes(raw) {
            0 => Ok(Namespace { first, _open: ours }),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    pub(super) fn end(&self) {
        super::kill(self.first);
    }
}

/// The first process of a namespace: it tells whether the namespace is ready, and waits for the end of the guard.
fn live(own: &UnixStream, first_id: u64) {
    let error = prepare(first_id).err();
    let code = error.map_or(0, Errno::raw_os_error);
    let is_told = rustix::io::write(own, &code.to_le_bytes()).is_ok();
    if error.is_none() && is_told {
        // Nothing is ever written: the read returns when the guard is gone.
        let _ = rustix::io::read(own, &mut [0]);
    }
}

fn prepare(first_id: u64) -> Result<(), Errno> {
    let _ = rustix::thread::set_name(FIRST);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    kernel::forget_children();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)?;
    // A kernel without it counts from 1.
    let _ = fs::write(LAST_ID, first_id.to_string());
    Ok(())
}
