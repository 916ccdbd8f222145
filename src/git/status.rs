//! Reads git's porcelain v2 listing of a working tree against an index.

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, fields, shown},
    disk,
};
use descent_core::id::CommitId;
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) const GITLINK: &[u8] = b"160000";

/// The directory of the program's own files: never part of a commit.
pub(super) const OWN_DIR: &[u8] = b".descent";

#[derive(Debug, Default)]
pub(super) struct WorkTreeStatus {
    pub(super) head: Option<CommitId>,
    pub(super) branch: Option<String>,
    pub(super) entries: Vec<StatusEntry>,
    /// Paths that git ignores, if untracked ones were asked for; a directory ends with a slash.
    pub(super) ignored: Vec<Vec<u8>>,
    /// Directories that could not be looked into.
    pub(super) closed: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusKind {
    Tracked,
    Unmerged,
    Untracked,
}

/// One path that differs; the columns as git prints them, `.` for "the same".
#[derive(Debug)]
pub(super) struct StatusEntry {
    pub(super) kind: StatusKind,
    /// The index against HEAD.
    pub(super) staged: u8,
    /// The working tree against the index.
    pub(super) worked: u8,
    pub(super) index_mode: Vec<u8>,
    pub(super) tree_mode: Vec<u8>,
    pub(super) index_id: Vec<u8>,
    pub(super) path: Vec<u8>,
}

/// The updates that make a private index equal to the working tree.
#[derive(Debug, Default)]
pub(super) struct IndexUpdates {
    pub(super) take: Vec<Vec<u8>>,
    pub(super) remove: Vec<Vec<u8>>,
    /// Nested repositories.
    pub(super) left_out: Vec<String>,
    /// Tracked names that are no longer a file, but something else.
    pub(super) no_file: Vec<String>,
    /// Directories that could not be looked into.
    pub(super) closed: Vec<String>,
    /// Changes in the index of the attempt that its own sparse checkout keeps out of the tree.
    pub(super) sparse: Vec<String>,
    /// New paths that git ignores.
    pub(super) ignored: Vec<Vec<u8>>,
    /// Places where nothing is looked for: ignored and linked ones.
    pub(super) passed_over: Vec<Vec<u8>>,
    /// Whether it has files of the program's own.
    pub(super) has_own: bool,
}

impl Git {
    /// `call` says which tree and which index.
    pub(super) fn status(
        &self,
        call: Call<'_>,
        untracked: bool,
    ) -> Result<WorkTreeStatus, GitError> {
        let (files, ignored) =
            if untracked { ("-uall", "--ignored=matching") } else { ("-uno", "--ignored=no") };
        let ran = call
            .args(["--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"])
            .args([ignored, "--ignore-submodules=all", files])
            .ran()?;
        let mut status = parse(&ran.stdout).ok_or(GitError::Odd { verb: "status" })?;
        status.closed = closed(&ran.stderr);
        Ok(status)
    }
}

fn parse(output: &[u8]) -> Option<WorkTreeStatus> {
    let mut status = WorkTreeStatus::default();
    let mut records = fields(output);
    while let Some(record) = records.next() {
        match record.get(..2)? {
            b"# " => status.read_header(&record[2..]),
            b"1 " => status.entries.push(tracked(record, 9)?),
            b"2 " => {
                status.entries.push(tracked(record, 10)?);
                records.next();
            }
            b"u " => status.entries.push(unmerged(record)?),
            b"? " => status.entries.push(untracked(&record[2..])),
            b"! " => status.ignored.push(record[2..].to_vec()),
            _ => {}
        }
    }
    Some(status)
}

/// Git passes over such a directory, and says so beside its output.
fn closed(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let dirs = said.lines().filter_map(|line| {
        let dir = line.strip_prefix("warning: could not open directory '")?;
        Some(dir.rsplit_once("': ")?.0.trim_end_matches('/').to_owned())
    });
    dirs.collect()
}

impl WorkTreeStatus {
    fn read_header(&mut self, header: &[u8]) {
        if let Some(oid) = header.strip_prefix(b"branch.oid ") {
            self.head = as_id(oid).map(CommitId::new);
        } else if let Some(name) = header.strip_prefix(b"branch.head ") {
            self.branch = (name != b"(detached)").then(|| shown(name));
        }
    }
}

/// `columns` counts the fields up to and including the path, which alone may contain spaces.
fn split(record: &[u8], columns: usize) -> Option<Vec<&[u8]>> {
    let parts: Vec<&[u8]> = record.splitn(columns, |byte| *byte == b' ').collect();
    (parts.len() == columns && parts[1].len() == 2).then_some(parts)
}

fn tracked(record: &[u8], columns: usize) -> Option<StatusEntry> {
    let parts = split(record, columns)?;
    Some(StatusEntry {
        kind: StatusKind::Tracked,
        staged: parts[1][0],
        worked: parts[1][1],
        index_mode: parts[4].to_vec(),
        tree_mode: parts[5].to_vec(),
        index_id: parts[7].to_vec(),
        path: parts[columns - 1].to_vec(),
    })
}

fn unmerged(record: &[u8]) -> Option<StatusEntry> {
    let parts = split(record, 11)?;
    Some(StatusEntry {
        kind: StatusKind::Unmerged,
        staged: parts[1][0],
        worked: parts[1][1],
        index_mode: Vec::new(),
        tree_mode: parts[6].to_vec(),
        index_id: Vec::new(),
        path: parts[10].to_vec(),
    })
}

fn untracked(path: &[u8]) -> StatusEntry {
    StatusEntry {
        kind: StatusKind::Untracked,
        staged: b'?',
        worked: b'?',
        index_mode: Vec::new(),
        tree_mode: Vec::new(),
        index_id: Vec::new(),
        path: path.to_vec(),
    }
}

impl IndexUpdates {
    /// `spared` are paths, relative to `tree`, that stay as the index has them.
    pub(super) fn of(entries: &[StatusEntry], tree: &Path, spared: &[Vec<u8>]) -> Self {
        let mut taking = Self::default();
        for entry in entries {
            if !spared.iter().any(|spared| is_within(&entry.path, spared)) {
                taking.add(entry, tree);
            }
        }
        taking
    }

    fn add(&mut self, entry: &StatusEntry, tree: &Path) {
        let path = entry.path.clone();
        match entry.kind {
            // Only a nested repository is listed as a directory.
            StatusKind::Untracked if path.ends_with(b"/") => {
                self.left_out.push(shown(&path[..path.len() - 1]));
            }
            StatusKind::Untracked => self.take.push(path),
            StatusKind::Tracked | StatusKind::Unmerged => self.add_tracked(entry, tree, path),
        }
    }

    fn add_tracked(&mut self, entry: &StatusEntry, tree: &Path, path: Vec<u8>) {
        if entry.worked == b'.' || entry.index_mode == GITLINK {
            return;
        }
        if entry.tree_mode == GITLINK {
            self.left_out.push(shown(&path));
            self.remove.push(path);
        } else if disk::is_beyond_symlink(tree, as_path(&path)) {
            self.remove.push(path);
        } else if disk::special(tree, as_path(&path)).is_some() {
            self.no_file.push(shown(&path));
            self.remove.push(path);
        } else {
            self.take.push(path);
        }
    }

    /// The paths, by name and `most` at most.
    pub(super) fn named(&self, most: usize) -> Vec<String> {
        let mut paths: Vec<&Vec<u8>> = self.take.iter().chain(&self.remove).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().take(most).map(|path| shown(path)).collect()
    }

    /// The paths that are symbolic links, each with what it says.
    pub(super) fn links(&self, root: &Path) -> Vec<(PathBuf, PathBuf)> {
        let paths = self.take.iter().map(|path| as_path(path));
        let links =
            paths.filter_map(|path| Some((path.to_owned(), fs::read_link(root.join(path)).ok()?)));
        links.collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.take.is_empty() && self.remove.is_empty()
    }
}

/// Whether `path` is `dir` or inside it.
pub(super) fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}
