//! The places that a run writes to, the state's directory and the cache, and the programs that it starts there.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use descent_core::state::Workspace;

use super::{Finding, Health};
use crate::ops;
use descent_process as process;
use descent_store::{self as store, StatePlace, Store};
use descent_system::{
    failure::{Failure, quoted},
    files::private,
    phrase, space,
};
use descent_workspace::{
    self as workspace,
    git::{self, Git},
};

/// With less, a run may soon wait.
const FREE_BYTES_LOW: u64 = 512 << 20;
const FREE_FILES_LOW: u64 = 10_000;
/// The kernel's numbers of file systems that another machine may write to.
const REMOTE: [u64; 6] = [0x6969, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997, 0x6573_5546, 0x6a65_6a63];
const TMPFS: u64 = 0x0102_1994;
const OTHER_DISK: &str = "put the project on another file system, or name another with --state";
const LOCAL_DISK: &str = "keep the state on a local disk: --state FILE";

pub(super) fn findings(place: &StatePlace) -> Vec<Finding> {
    let mut findings = state(place);
    match workspace::cache_dir() {
        Some(cache) => {
            let there = nearest(&cache);
            findings.push(room("cache", &there));
            if let Err(error) = store::probe(&there) {
                findings.push(unwritable("cache write", &there, &error));
            }
            findings.push(build_state(&place.project, &there));
            findings.extend(leftovers(place, &cache));
        }
        None => findings.push(Health::Missing.of(
            "cache",
            "neither XDG_CACHE_HOME nor HOME is set",
            "there is no place for the working copies of attempts",
            "export HOME=…",
        )),
    }
    findings.push(version(place));
    findings.extend(repository(place));
    findings
}

/// How trees get the build state that they begin with.
fn build_state(project: &Path, cache: &Path) -> Finding {
    let how = match workspace::copies_share_blocks(cache) {
        true => "carried by reflink: a copy takes no room",
        false if process::layers_work(cache) => "carried by copy up to 4 GB, by overlay if larger",
        false => "carried by copy, up to 4 GB",
    };
    let trees = match workspace::bytes_of_trees(project, cache) {
        0 => String::new(),
        bytes => format!("; the trees of this project take {}", phrase::megabytes(bytes)),
    };
    Finding::ok("build state", format!("{how}{trees}"))
}

/// The leftovers of ended runs; `None` if there are none or they cannot be read.
fn leftovers(place: &StatePlace, cache: &Path) -> Option<Finding> {
    let all = workspace::leftovers(place, Some(cache)).ok().filter(|all| !all.is_empty())?;
    let bytes = all.iter().map(|one| one.bytes).fold(0, u64::saturating_add);
    let found = format!("{}, {}", phrase::count(all.len(), "ended run"), phrase::megabytes(bytes));
    let means = "nothing needs them; they take room";
    Some(Health::Degraded.of("leftovers", found, means, "descent clean -n"))
}

fn state(place: &StatePlace) -> Vec<Finding> {
    let dir = nearest(&place.dir);
    let mut findings = vec![room("state", &dir), owner(&dir)];
    match store::probe(&dir) {
        Ok(probe) => findings.extend(tried(&probe)),
        Err(error) => findings.push(unwritable("state write", &dir, &error)),
    }
    findings
}

fn tried(probe: &store::Probe) -> [Finding; 3] {
    let lacks = |name, error: &io::Error, means, mend: &str| {
        Health::Missing.of(name, error.to_string(), means, mend)
    };
    let durable = match &probe.durable {
        Ok(()) => Finding::ok("state write", "written, synced and renamed"),
        Err(error) => {
            lacks("state write", error, "a commit cannot be made durable here", OTHER_DISK)
        }
    };
    let edits = match &probe.mode {
        Ok(mode) if mode.is_degraded() => {
            let [name, meaning] = mode.words();
            Health::Degraded.of("edits", name, meaning, LOCAL_DISK)
        }
        Ok(mode) => Finding::ok("edits", mode.words().join(": ")),
        Err(error) => lacks("edits", error, "no commit can take a name here", OTHER_DISK),
    };
    let lock = match &probe.lock {
        Ok(()) => Finding::ok("locks", "who holds a lock keeps others out"),
        Err(error) => lacks("locks", error, "two loops could work on one state", LOCAL_DISK),
    };
    [durable, edits, lock]
}

fn unwritable(name: &'static str, dir: &Path, error: &io::Error) -> Finding {
    let found = format!("{}: {error}", dir.display());
    let mend = format!("chmod u+w {}, or free some space", quoted(dir));
    Health::Missing.of(name, found, "nothing can be written there", mend)
}

#[cfg(target_os = "linux")]
fn file_system(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statfs(dir).ok()?;
    // The field is signed on some machines, but the number has 32 bits everywhere.
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    Some(stat.f_type as u64 & 0xffff_ffff)
}

#[cfg(not(target_os = "linux"))]
fn file_system(_: &Path) -> Option<u64> {
    None
}

/// A directory, its file system and the room in it.
fn room(name: &'static str, dir: &Path) -> Finding {
    let at = dir.display();
    let Some(space) = space::free_space(dir) else {
        let means = "a full disk is noticed when it is full";
        return Health::Degraded.of(name, format!("{at}, free space unknown"), means, "");
    };
    let found = format!("{at}, {} free", phrase::megabytes(space.free_bytes));
    if space.is_read_only {
        let (found, means) =
            (format!("{at}, mounted for reading alone"), "nothing can be written there");
        return Health::Missing.of(name, found, means, "mount it for writing");
    }
    if space::is_used_up(dir) {
        return Health::Missing.of(name, found, "a run would wait for room", "free some space");
    }
    let has_few_files = space.free_files.is_some_and(|files| files < FREE_FILES_LOW);
    if space.free_bytes < FREE_BYTES_LOW || has_few_files {
        let means = "a run that finds it full waits, and goes on when there is room";
        return Health::Degraded.of(name, found, means, "free some space");
    }
    match file_system(dir) {
        Some(TMPFS) => {
            let means = "what is there is gone when the machine restarts";
            Health::Degraded.of(name, format!("{found} in memory (tmpfs)"), means, "")
        }
        Some(kind) if REMOTE.contains(&kind) => {
            let means = "a change by another machine is noticed by polling, within a second";
            Health::Degraded.of(name, format!("{found} on another machine"), means, "")
        }
        Some(_) | None => Finding::ok(name, found),
    }
}

fn owner(dir: &Path) -> Finding {
    let Ok(meta) = dir.metadata() else {
        return Health::Degraded.of("owner", "unknown", "permissions cannot be looked at", "");
    };
    let (mode, mine) = (meta.mode() & 0o777, private::me().uid == meta.uid());
    let whose = if mine { "yours" } else { "of another account" };
    let found = format!("{whose}, mode {mode:03o}");
    let is_sticky = meta.mode() & 0o1000 != 0;
    if mode & 0o002 != 0 && !is_sticky {
        let means = "anybody can put commands into your state";
        return Health::Degraded.of("owner", found, means, format!("chmod o-w {}", quoted(dir)));
    }
    Finding::ok("owner", found)
}

/// The nearest existing directory of a path that a run would make.
fn nearest(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|path| path.is_dir());
    there.unwrap_or(Path::new("/")).to_owned()
}

fn version(place: &StatePlace) -> Finding {
    match git::version(&place.project) {
        Ok((major, minor)) => {
            Finding::ok("git", format!("{major}.{minor}, syncs what it writes when descent asks"))
        }
        Err(error) => without_copies("git", error),
    }
}

/// No copies for attempts can be made.
fn without_copies(name: &'static str, error: git::GitError) -> Finding {
    let failure = Failure::from(error);
    let means = "no copies for attempts can be made";
    Health::Missing.of(name, failure.message, means, failure.hint)
}

fn repository(place: &StatePlace) -> Vec<Finding> {
    let chosen = chosen(place);
    match chosen {
        Some(Workspace::Shared) => {
            return vec![Finding::ok("repository", "none is used: agents work in place")];
        }
        Some(Workspace::Shadow) => {
            return vec![Finding::ok("repository", "a private one, in the cache")];
        }
        Some(Workspace::Git) | None => {}
    }
    match Git::open(&place.project) {
        Ok(Some(git)) => vec![commits(&git), identity(&git)],
        Ok(None) if chosen == Some(Workspace::Git) => vec![Health::Missing.of(
            "repository",
            "none around this directory",
            "what is agreed says that attempts work in one: workspace = git",
            "git init && git add -A && git commit --allow-empty -m start",
        )],
        Ok(None) => vec![Finding::ok(
            "repository",
            "none around this directory: descent keeps a private one in the cache",
        )],
        // The finding on git's version reports it already.
        Err(git::GitError::Missing | git::GitError::TooOld { .. }) => Vec::new(),
        Err(error) => vec![without_copies("repository", error)],
    }
}

/// The workspace that the state names, if there is a state that can be read.
fn chosen(place: &StatePlace) -> Option<Workspace> {
    let loaded = Store::open(place.clone()).read().ok()?;
    Some(loaded.state.objective.constraints.workspace())
}

fn commits(git: &Git) -> Finding {
    let top = git.top().to_owned();
    match git.head() {
        Ok(head) if head.commit.is_some() => Finding::ok("repository", top.display().to_string()),
        Ok(_) => without_copies("repository", git::GitError::NoCommits { top }),
        Err(error) => without_copies("repository", error),
    }
}

fn identity(git: &Git) -> Finding {
    if git.identity_is_default() {
        let means = "commits of the result bear a made-up name";
        let mend = "git config --global user.name …; … user.email …";
        return Health::Degraded.of("identity", "git knows no name of yours", means, mend);
    }
    Finding::ok("identity", "git knows your name")
}

/// The fence that keeps attempts from writing the state.
pub(super) fn fence(place: &StatePlace) -> Finding {
    let cwd = workspace::cache_dir().unwrap_or_else(std::env::temp_dir);
    match ops::programs(place).gap(&cwd) {
        None => Finding::ok("fence", "attempts and checks cannot write .descent and .git"),
        Some(why) => Health::Degraded.of(
            "fence",
            format!("attempts can write the state file: {why}"),
            "a change of it while they work waits for `descent trust`",
            "",
        ),
    }
}

/// The ways to end all that an attempt started, each tried.
pub(super) fn ending() -> Finding {
    if let Err(refused) = process::methods::check_requested() {
        let means = "a run would not begin";
        return Health::Missing.of("ending", refused.message, means, refused.hint);
    }
    let tried = process::methods::methods();
    let found: Vec<String> = tried.iter().map(process::methods::MethodProbe::text).collect();
    let found = found.join("; ");
    if tried.iter().any(|one| one.why_not.is_none()) {
        return Finding::ok("ending", found);
    }
    let means = "a process that leaves the group of its attempt may outlive it";
    let mend = "mount -t proc proc /proc, and see docs/processes.md";
    Health::Degraded.of("ending", found, means, mend)
}
