//! A control group for one job: all that its processes start is in it, and one write kills all of it.
//!
//! Only version 2 of control groups has that write. We can make directories only below our own
//! group. Nothing of this is taken for granted: `methods` tries it.
//!
//! Invariant: only a directory with our name and the job's tag is ever killed or removed.
#![allow(clippy::disallowed_methods)] // door: directories of the kernel, made and removed

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::tag::Tag;

const NAME: &str = "descent-";
const PROCESSES: &str = "cgroup.procs";
/// How long a killed group may take to become empty, so that it can be removed.
const REMOVE_MAX: Duration = Duration::from_secs(2);
const LOOK_MIN: Duration = Duration::from_micros(200);
const LOOK_MAX: Duration = Duration::from_millis(10);
/// Depth of the groups that a job may make inside its own.
const DEPTH_MAX: usize = 16;

/// The group of this process, as a directory.
pub fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    find(&mounts, &groups)
}

fn find(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let (root, point) = mounts.lines().find_map(mount)?;
    // A group outside the mounted hierarchy cannot be reached.
    let below = Path::new(path).strip_prefix(&root).ok()?;
    let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    is_plain.then(|| Path::new(&point).join(below))
}

/// Root and mount point, if the line describes a version 2 hierarchy.
fn mount(line: &str) -> Option<(String, String)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(3);
    kind.starts_with("cgroup2 ")
        .then(|| Some((unescaped(fields.next()?), unescaped(fields.next()?))))?
}

/// The kernel writes blanks and some other characters as three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3).unwrap_or((part, ""));
        match u8::from_str_radix(digits, 8) {
            Ok(byte) => plain.push(char::from(byte)),
            Err(_) => plain.push_str(digits),
        }
        plain.push_str(rest);
    }
    plain
}

/// Groups that jobs left below our own group, each with the tag of its job.
pub(crate) fn existing_leaves() -> Vec<(Tag, Leaf)> {
    let entries = own_group().and_then(|own| fs::read_dir(own).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let leaf = |path: PathBuf| {
        let tag = path.file_name()?.to_str()?.strip_prefix(NAME)?;
        let tag = Tag::from_raw(u64::from_str_radix(tag, 16).ok()?)?;
        Some((tag, Leaf::from_record(&path, tag)?))
    };
    paths.filter_map(leaf).collect()
}

/// The group of one job.
#[derive(Debug, Clone)]
pub struct Leaf(PathBuf);

impl Leaf {
    pub fn make(below: &Path, tag: Tag) -> io::Result<Leaf> {
        let leaf = Leaf(below.join(format!("{NAME}{tag}")));
        fs::create_dir(&leaf.0)?;
        if !leaf.0.join("cgroup.kill").exists() {
            leaf.remove();
            return Err(io::Error::other("the kernel has no `cgroup.kill` (Linux 5.14)"));
        }
        Ok(leaf)
    }

    /// The group at a recorded path; `None` unless its name is that of the job.
    pub(crate) fn from_record(path: &Path, tag: Tag) -> Option<Leaf> {
        let is_it = path.file_name().is_some_and(|name| *name == *format!("{NAME}{tag}"));
        let is_group = path.join("cgroup.kill").exists() && path.join(PROCESSES).exists();
        (is_it && is_group).then(|| Leaf(path.to_owned()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The directory by which a process joins the group.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.0)
    }

    /// Moves this process into the group of that directory.
    pub fn join(group: &File) -> Result<(), Errno> {
        let file = openat(group, PROCESSES, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(file, b"0").map(drop)
    }

    /// The ids of its processes, and of those in groups inside.
    pub fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        processes_below(&self.0, DEPTH_MAX, &mut found);
        found
    }

    /// Kills everything in the group at once; nothing can fork away meanwhile.
    pub fn kill(&self) {
        // This fails if the group is gone, which is the goal anyway.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Fails as long as something is left in the group.
    pub fn remove(&self) -> bool {
        match fs::remove_dir(&self.0) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(_) => {
                remove_below(&self.0, DEPTH_MAX);
                !self.0.exists()
            }
        }
    }

    /// Blocks until the whole group is gone, for at most [`REMOVE_MAX`].
    pub fn end(&self) {
        let (until, mut pause) = (Instant::now() + REMOVE_MAX, LOOK_MIN);
        loop {
            self.kill();
            if self.remove() || Instant::now() >= until {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_MAX);
        }
    }
}

fn processes_below(dir: &Path, depth: usize, found: &mut Vec<u32>) {
    let listed = fs::read_to_string(dir.join(PROCESSES)).unwrap_or_default();
    found.extend(listed.lines().filter_map(|line| line.parse::<u32>().ok()));
    if depth > 0 {
        groups_in(dir).for_each(|inner| processes_below(&inner, depth - 1, found));
    }
}

fn remove_below(dir: &Path, depth: usize) {
    if fs::remove_dir(dir).is_ok() || depth == 0 {
        return;
    }
    groups_in(dir).for_each(|inner| remove_below(&inner, depth - 1));
    // A group that is not empty stays: the caller tries again.
    let _ = fs::remove_dir(dir);
}

fn groups_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mounts: &str, groups: &str, expected: Option<&str>) {
        assert_eq!(find(mounts, groups), expected.map(PathBuf::from));
    }

    const ONLY: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const MIXED: &str = "36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                         41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn our_group_is_found_below_the_mount() {
        check(ONLY, "0::/user.slice/a.scope\n", Some("/sys/fs/cgroup/user.slice/a.scope"));
        check(MIXED, "8:pids:/x\n0::/\n", Some("/sys/fs/cgroup/unified"));
        let part = "30 23 0:26 /box /a\\040b rw - cgroup2 cgroup2 rw\n";
        check(part, "0::/box/inner\n", Some("/a b/inner"));
    }

    #[test]
    fn a_group_out_of_reach_is_none() {
        check(ONLY, "0::/../other\n", None);
        check("30 23 0:26 /box /a rw - cgroup2 c rw\n", "0::/else\n", None);
        check(MIXED, "8:pids:/x\n", None);
        check("", "0::/\n", None);
        check("nonsense\n - cgroup2 x\n", "0::/\n", None);
    }

    #[test]
    fn a_recorded_path_that_is_not_the_jobs_group_is_not_touched() {
        let tag = Tag::new("a/b");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("{NAME}{tag}"));
        std::fs::create_dir(&path).unwrap();
        assert!(Leaf::from_record(&path, tag).is_none(), "no group");
        for file in ["cgroup.kill", "cgroup.procs"] {
            std::fs::write(path.join(file), "").unwrap();
        }
        assert!(Leaf::from_record(&path, tag).is_some());
        assert!(Leaf::from_record(&path, Tag::new("a/b")).is_none(), "another job's");
        assert!(Leaf::from_record(dir.path(), tag).is_none());
    }
}
