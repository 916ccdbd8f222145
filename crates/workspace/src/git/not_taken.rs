//! Finds what an attempt left and no commit takes, and names it with the reason. A file that its own index tracks is taken,
//! ignored or not. Pipes, sockets and devices under the names that git opens in each directory would be waited for.
//!
//! Invariants: the repository of an attempt is read as files, as a copy of its index, and as borrowed objects. None of its
//! settings count. An attempt that leaves such a pipe has failed, and the path is named. The next attempt finds none. A link
//! is left alone: git does not follow it. Only a look that takes long is followed by a walk through all directories.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::Duration,
};

use descent_core::{event::NotTaken, id::CommitId};

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, borrowed, shown},
    diff, git_disk,
    index::PrivateIndex,
    lineage::SLOT_REFS,
    status::{GITLINK, IndexUpdates, StatusEntry, WorkTreeStatus, is_file, is_within},
    trees::Tree,
};
use descent_process::tool::ToolError;
use descent_system::{failure::OutsideCause, files, files::PathKind, secrets};

/// Names at most of one reason.
const NAMES_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 100;
/// Branches of an attempt that are compared at most.
const TIPS_MAX: usize = 8;
const REFS_MAX: usize = 1_000;
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// An odd repository may make git wait.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Commits that an attempt left, and where.
struct Tip {
    name: String,
    commit: CommitId,
}

impl Git {
    /// Takes what the attempt's own index tracks although it is ignored.
    pub(super) fn take_forced(
        &self,
        tree: &Tree<'_>,
        taking: &mut IndexUpdates,
    ) -> Result<(), GitError> {
        let git = tree.at.join(".git");
        let own = git.join("index");
        let is_plain = files::plain_dir(&git).is_ok() && files::plain_file(&own).is_ok();
        if !is_plain || taking.ignored.is_empty() || !tree.has_other_index() {
            return Ok(());
        }
        let index = PrivateIndex::new(&tree.admin)?;
        index.fill_from(&own)?;
        match self.status(index.of(tree.call("status")).within(LOOK_MAX), false) {
            Err(GitError::Failed { cause, .. })
                if !matches!(cause, Some(OutsideCause::Lack(_))) => {}
            status => taking.force(status?.entries, &tree.at),
        }
        Ok(())
    }

    /// Names all that the attempt left and `made`, its commit or its base, does not have.
    pub(super) fn not_taken(
        &self,
        tree: &Tree<'_>,
        base: &CommitId,
        made: &CommitId,
        taking: &IndexUpdates,
        refused: Vec<String>,
    ) -> NotTaken {
        let own = taking.has_own.then(|| ".descent".to_owned());
        let left = [
            some(taking.left_out.clone(), "a repository of its own"),
            some(refused, "git takes no such name"),
            some(own, "descent's own"),
            some(taking.no_file.clone(), "no file any more"),
            some(taking.closed.clone(), "it cannot be read"),
        ];
        let others = left.into_iter().chain(self.left_in_repository(&tree.at, base, made));
        let others: Vec<String> = others.flatten().collect();
        let ignored = taking.ignored.iter().map(|path| shown(path));
        NotTaken {
            ignored: some(ignored, "ignored by git").unwrap_or_default(),
            others: others.join(", "),
        }
    }

    /// Branches and a stash in the attempt's repository whose changes are not in the tree.
    fn left_in_repository(
        &self,
        at: &Path,
        base: &CommitId,
        made: &CommitId,
    ) -> Vec<Option<String>> {
        let git = at.join(".git");
        if files::plain_dir(&git).is_err() {
            return Vec::new();
        }
        let stash = git.join("refs/stash").is_file();
        let tips = self.tips(&git, base);
        let tips = tips.iter().filter_map(|tip| self.lacking(&git, base, made, tip));
        vec![
            some(stash.then(|| "its stash".to_owned()), "not in the workspace"),
            some(tips, "not in the workspace"),
        ]
    }

    /// The branches that the attempt made or moved, and the detached commits that it went away from.
    fn tips(&self, git: &Path, base: &CommitId) -> Vec<Tip> {
        let given = read(&self.common_dir().join(SLOT_REFS));
        let heads = git.join("refs/heads");
        let mut found: Vec<(String, Vec<u8>)> = git_disk::files_below(&heads, REFS_MAX)
            .into_iter()
            .map(|path| {
                let name = path.strip_prefix(&heads).unwrap_or(&path).display();
                (format!("branch {name}"), read(&path))
            })
            .collect();
        const LEFT: &[u8] = b"\tcheckout: moving from ";
        let log = read(&git.join("logs/HEAD"));
        found.extend(log.split(|byte| *byte == b'\n').filter_map(|line| {
            let at = line.windows(LEFT.len()).position(|part| part == LEFT)?;
            let from = line[at + LEFT.len()..].split(|byte| *byte == b' ').next()?;
            Some(("a detached HEAD".to_owned(), from.to_vec()))
        }));
        let is_given = |id: &str| given.windows(id.len()).any(|part| part == id.as_bytes());
        let mut known = BTreeSet::from([base.to_string()]);
        found.retain(|(_, id)| {
            as_id(id.trim_ascii_end()).is_some_and(|id| !is_given(&id) && known.insert(id))
        });
        let tips = found.into_iter().take(TIPS_MAX);
        tips.map(|(name, id)| Tip { name, commit: CommitId::new(shown(id.trim_ascii_end())) })
            .collect()
    }

    /// The name of a tip that is not below HEAD, with the paths that the result has otherwise.
    fn lacking(&self, git: &Path, base: &CommitId, made: &CommitId, tip: &Tip) -> Option<String> {
        let objects = OsString::from_vec(borrowed(&git.join("objects")));
        let call = |verb| {
            self.call(verb).within(LOOK_MAX).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects)
        };
        let unread = || Some(tip.name.clone());
        let mut list = call("rev-list --max-count=1").id(&tip.commit).but(base);
        if let Some(head) = head_of(git) {
            list = list.but(&head);
        }
        match list.ok() {
            Ok(others) if others.is_empty() => return None,
            Ok(_) => {}
            Err(_) => return unread(),
        }
        let changes = |from: &CommitId, to: &CommitId| {
            let changes = diff::of_trees(call("diff-tree"), from.as_str(), to.as_str())?;
            Ok::<_, GitError>(diff::names(&changes))
        };
        let (Ok(theirs), Ok(unlike)) = (changes(base, &tip.commit), changes(&tip.commit, made))
        else {
            return unread();
        };
        let lacks: Vec<String> = theirs.into_iter().filter(|one| unlike.contains(one)).collect();
        let paths = names(lacks)?;
        Some(format!("{} with {paths}", tip.name))
    }
}

impl IndexUpdates {
    /// Takes the ignored paths among these that an index has and HEAD lacks.
    fn force(&mut self, entries: Vec<StatusEntry>, at: &Path) {
        let is_new = |entry: &StatusEntry| entry.staged == b'A' || entry.worked == b'A';
        let forced = entries.into_iter().filter(|entry| {
            is_new(entry)
                && entry.index_mode != GITLINK
                && self.ignored.iter().any(|dir| is_in(&entry.path, dir))
                && is_file(at, &entry.path)
                && git_disk::special(at, as_path(&entry.path)).is_none()
        });
        let forced: Vec<Vec<u8>> = forced.map(|entry| entry.path).collect();
        self.ignored.retain(|dir| !forced.iter().any(|path| is_in(path, dir)));
        self.take.extend(forced);
    }
}

/// Whether a path is that of a listing, or in it; a directory ends with a slash there.
pub(super) fn is_in(path: &[u8], listed: &[u8]) -> bool {
    is_within(path, listed.strip_suffix(b"/").unwrap_or(listed))
}

/// The commit at the HEAD of an attempt's repository.
fn head_of(git: &Path) -> Option<String> {
    let head = read(&git.join("HEAD"));
    let Some(name) = head.strip_prefix(b"ref: ") else { return as_id(&head) };
    as_id(&read(&git.join(as_path(name.trim_ascii_end()))))
}

/// A file of an attempt's repository; empty if it cannot be read.
fn read(path: &Path) -> Vec<u8> {
    let mut text = files::read(path, TEXT_BYTES_MAX).unwrap_or_default();
    text.truncate(text.trim_ascii_end().len());
    text
}

fn some(all: impl IntoIterator<Item = String>, why: &str) -> Option<String> {
    Some(format!("{} ({why})", names(all)?))
}

/// Some names, and the number of the others.
fn names(all: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.into_iter().collect();
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let short =
        |name: &String| secrets::hide(name).chars().map(plain).take(NAME_CHARS_MAX).collect();
    let named: Vec<String> = all.iter().take(NAMES_MAX).map(short).collect();
    let more = match all.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!all.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

/// The names that git opens in a directory of files.
const OPENED: &[&str] = &[".gitignore", ".gitattributes", ".gitmodules"];

/// A look that takes longer may be one that waits.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(5);

impl Git {
    /// The status of a tree that an attempt left; `call` makes a run on it. When it returns, git can
    /// read the files that it names without waiting.
    pub(super) fn status_of_left<'c>(
        &self,
        tree: &Path,
        call: impl Fn() -> Call<'c>,
        untracked: bool,
    ) -> Result<WorkTreeStatus, GitError> {
        refuse_in(tree, Path::new(""))?;
        let status = match self.status(call().within(FIRST_LOOK_MAX), untracked) {
            Err(GitError::Tool(ToolError::TooLong { .. })) => {
                refuse_below(tree)?;
                self.status(call(), untracked)?
            }
            status => status?,
        };
        let paths = status.entries.iter().map(|entry| as_path(&entry.path));
        let dirs: BTreeSet<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
        for dir in dirs {
            refuse_in(tree, dir)?;
        }
        Ok(status)
    }
}

pub(super) fn refuse_in(tree: &Path, dir: &Path) -> Result<(), GitError> {
    let mut paths = OPENED.iter().map(|name| dir.join(name));
    match paths.find_map(|path| git_disk::special(tree, &path).map(|what| (path, what))) {
        Some((path, what)) => Err(GitError::WaitedFor { path: path.display().to_string(), what }),
        None => Ok(()),
    }
}

fn refuse_below(tree: &Path) -> Result<(), GitError> {
    let is_opened = |name: &OsString| OPENED.iter().any(|opened| name == opened);
    in_each_dir(tree, |dir, special| match special.iter().any(is_opened) {
        true => refuse_in(tree, dir),
        false => Ok(()),
    })
}

/// Removes pipes, sockets and devices, which no clean of git's touches: it does not see them.
pub(super) fn remove_below(tree: &Path) -> Result<(), GitError> {
    in_each_dir(tree, |dir, special| {
        special.iter().try_for_each(|name| git_disk::remove_tree(&tree.join(dir).join(name)))
    })
}

/// Calls `act` with each directory, and the names of the pipes, sockets and devices in it.
fn in_each_dir(
    tree: &Path,
    mut act: impl FnMut(&Path, &[OsString]) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        let mut special = Vec::new();
        for entry in fs::read_dir(tree.join(&dir)).into_iter().flatten().flatten() {
            match entry.file_type().ok().and_then(PathKind::of) {
                None | Some(PathKind::Link) => {}
                Some(PathKind::Directory) if entry.file_name() == ".git" => {}
                Some(PathKind::Directory) => dirs.push(dir.join(entry.file_name())),
                Some(_) => special.push(entry.file_name()),
            }
        }
        act(&dir, &special)?;
    }
    Ok(())
}
