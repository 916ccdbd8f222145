//! The fence of one job, put up by its guard before the command exists.
//!
//! Invariant: what is closed and missing is passed over; anything else that fails keeps the job from starting. Not
//! here: what is closed (`process::fence`).

use std::env;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use rustix::io::Errno;
use rustix::mount::{mount_bind, mount_bind_recursive};

use super::super::fence::{FenceTask, FenceWay, opened};
use super::{kernel, namespace};

/// Writing in any form, with renames between directories: older kernels cannot tell those apart.
const WRITES: ABI = ABI::V2;

/// Puts up the fence around this process and all that it starts.
pub(super) fn put_up(task: &FenceTask) -> io::Result<()> {
    match task.way {
        FenceWay::Mounts => mount(task),
        FenceWay::UserMounts => namespace::enter(true, 0).and_then(|()| mount(task)),
        FenceWay::Landlock => restrict(task),
    }
}

fn mount(task: &FenceTask) -> io::Result<()> {
    let cwd = env::current_dir()?;
    // A mount point can be neither renamed nor removed.
    for held in &task.held {
        mount_bind_recursive(held, held)?;
    }
    // The mounts below one that becomes read-only stay as they are.
    for open in &task.open {
        mount_bind(open, open)?;
    }
    for closed in &task.closed {
        match mount_bind_recursive(closed, closed) {
            Err(Errno::NOENT) => {}
            bound => {
                bound?;
                kernel::make_read_only(&text(closed)?)?;
            }
        }
    }
    // The same directory, in the mounts that its absolute path leads through now.
    env::set_current_dir(cwd)
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn restrict(task: &FenceTask) -> io::Result<()> {
    let failed = |error: RulesetError| io::Error::other(error.to_string());
    let writes = AccessFs::from_write(WRITES) | AccessFs::Truncate;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(WRITES))
        .map_err(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Truncate)
        .and_then(Ruleset::create)
        .map_err(failed)?;
    for path in opened(&task.closed)?.iter().chain(&task.open) {
        // It may be gone meanwhile.
        if let (Ok(at), Ok(meta)) = (PathFd::new(path), path.symlink_metadata()) {
            let rights = rights(writes, meta.is_dir());
            ruleset = ruleset.add_rule(PathBeneath::new(at, rights)).map_err(failed)?;
        }
    }
    match ruleset.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::NotEnforced => Err(Errno::NOSYS.into()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn rights(writes: BitFlags<AccessFs>, is_dir: bool) -> BitFlags<AccessFs> {
    if is_dir { writes } else { writes & AccessFs::from_file(ABI::V3) }
}
