//! Trees and commits that are made in a private index: from found files, by a merge, and as a line of kept commits that is
//! rebuilt. Nobody else's index changes.
//!
//! Invariant: a line is rebuilt by merging, never by reverting.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use descent_core::id::{CommitId, TreeId, UnixMillis};
use tempfile::TempDir;

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, borrowed, failed, fields, shown},
    git_disk,
    status::IndexUpdates,
};

/// The index is in a directory of its own, and is removed with it.
#[derive(Debug)]
pub(super) struct PrivateIndex {
    dir: TempDir,
    pub(super) path: PathBuf,
}

pub(super) const PREFIX: &str = "descent-";

impl PrivateIndex {
    pub(super) fn new(scratch: &Path) -> Result<Self, GitError> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch);
        let dir = dir.map_err(GitError::io(scratch))?;
        Ok(Self { path: dir.path().join("index"), dir })
    }

    /// A run that uses this index. Nobody reads it later, so it needs no checksum.
    pub(super) fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        call.index(&self.path).setting("index.skipHash=true")
    }

    /// A run whose new objects lie beside the index.
    pub(super) fn with_objects<'a>(&self, call: Call<'a>) -> Call<'a> {
        let borrowed = OsString::from_vec(borrowed(&call.git.objects()));
        call.env("GIT_OBJECT_DIRECTORY", self.dir.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", borrowed)
    }

    /// Copies git's knowledge about files from another index, if there is one.
    pub(super) fn fill_from(&self, other: &Path) -> Result<bool, GitError> {
        if !other.is_file() {
            return Ok(false);
        }
        git_disk::copy_index(other, &self.path).map(|()| true)
    }
}

impl Git {
    /// Updates the index that `call` uses with what was found in a working tree. Gives the paths that git refuses by name.
    pub(super) fn take<'a>(
        &self,
        taking: &IndexUpdates,
        call: impl Fn(&'static str) -> Call<'a>,
    ) -> Result<Vec<String>, GitError> {
        if !taking.remove.is_empty() {
            call("update-index --force-remove -z --stdin").stdin_paths(&taking.remove).ok()?;
        }
        if taking.take.is_empty() {
            return Ok(Vec::new());
        }
        let call = call("update-index --add --remove --replace -z --stdin");
        let tree = call.cwd.clone();
        let taken = call.stdin_paths(&taking.take).ran().map_err(|error| {
            let paths = taking.take.iter().map(|path| as_path(path));
            git_disk::first_unreadable(&tree, paths).unwrap_or(error)
        })?;
        let lines = taken.stderr.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| line.strip_prefix(b"Ignoring path ")).map(shown).collect())
    }

    /// The same inputs give the same id: it depends neither on the clock nor on the tree around.
    pub(super) fn commit_tree(
        &self,
        tree: &TreeId,
        parent: &CommitId,
        message: &str,
        at: UnixMillis,
    ) -> Result<CommitId, GitError> {
        let call = self.call("commit-tree --no-gpg-sign -F - -p").id(parent).id(tree).dated(at);
        let commit = CommitId::new(call.stdin(message.replace('\0', "")).ok_id()?);
        self.remember(&commit, tree);
        Ok(commit)
    }

    /// Applies the change from `base` to `made` to `onto`: gives a tree, or the paths that
    /// conflict.
    pub(super) fn merge_trees(
        &self,
        base: &CommitId,
        onto: &CommitId,
        made: &CommitId,
    ) -> Result<Result<TreeId, Vec<String>>, GitError> {
        let call = self.call("merge-tree --write-tree -z --name-only --no-messages");
        let call = call.id_within("--merge-base=", base, "").id(onto).id(made);
        let ran = call.attributes_of(onto).output()?;
        let mut output = fields(&ran.stdout);
        let tree = output.next().and_then(as_id);
        match (ran.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Ok(TreeId::new(tree))),
            (Some(1), Some(_)) => {
                let mut paths: Vec<String> = output.map(shown).collect();
                paths.dedup();
                Ok(Err(paths))
            }
            _ => Err(failed("merge-tree", &ran)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuildOutcome {
    pub head: CommitId,
    /// The replacement of each kept commit: itself, its copy, or the commit before it if nothing of
    /// it was left to do. `None`: it no longer applies.
    pub line: Vec<Option<CommitId>>,
}

/// A commit as it is stored, without a signature, which would not fit its copy.
#[derive(Debug)]
pub(super) struct StoredCommit {
    pub(super) tree: TreeId,
    pub(super) parent: Option<CommitId>,
    /// Author, committer and encoding, each with its line's end.
    headers: Vec<u8>,
    message: Vec<u8>,
}

impl StoredCommit {
    /// Seconds since 1970; `None` for earlier dates and for an odd header.
    pub(super) fn committed_s(&self) -> Option<u64> {
        let headers = String::from_utf8_lossy(&self.headers);
        let mut lines = headers.lines();
        let line = lines.find(|line| line.starts_with("committer "))?;
        line.rsplit(' ').nth(1)?.parse().ok()
    }
}

impl Git {
    /// Applies the change of each kept commit against its first parent, in order. Copies keep
    /// message, people and dates, so that they always get the same ids.
    pub fn rebuild(&self, from: &CommitId, keep: &[CommitId]) -> Result<RebuildOutcome, GitError> {
        let mut tree = self.tree_of(from)?;
        let mut head = from.clone();
        let mut line = Vec::with_capacity(keep.len());
        for (kept, stored) in keep.iter().zip(self.read_commits(keep)?) {
            let next = self.reapply(&head, &tree, kept, &stored)?;
            if let Some((commit, its_tree)) = &next {
                head.clone_from(commit);
                tree.clone_from(its_tree);
            }
            line.push(next.map(|(commit, _)| commit));
        }
        Ok(RebuildOutcome { head, line })
    }

    fn reapply(
        &self,
        head: &CommitId,
        tree: &TreeId,
        kept: &CommitId,
        stored: &StoredCommit,
    ) -> Result<Option<(CommitId, TreeId)>, GitError> {
        if kept == head {
            return Ok(Some((head.clone(), tree.clone())));
        }
        let Some(parent) = &stored.parent else { return Ok(None) };
        if parent == head {
            return Ok(Some((kept.clone(), stored.tree.clone())));
        }
        let Ok(merged) = self.merge_trees(parent, head, kept)? else { return Ok(None) };
        if merged == *tree {
            return Ok(Some((head.clone(), merged)));
        }
        Ok(Some((self.write_copy(stored, &merged, head)?, merged)))
    }

    fn write_copy(
        &self,
        stored: &StoredCommit,
        tree: &TreeId,
        parent: &CommitId,
    ) -> Result<CommitId, GitError> {
        let mut bytes = format!("tree {tree}\nparent {parent}\n").into_bytes();
        bytes.extend_from_slice(&stored.headers);
        bytes.push(b'\n');
        bytes.extend_from_slice(&stored.message);
        let call = self.call("hash-object -t commit -w --stdin").stdin(bytes);
        let commit = CommitId::new(call.ok_id()?);
        self.remember(&commit, tree);
        Ok(commit)
    }

    pub(super) fn read_commits(&self, ids: &[CommitId]) -> Result<Vec<StoredCommit>, GitError> {
        let objects = self.read_objects("commit", ids)?.into_iter().zip(ids);
        let commit = |(body, id): (Option<Vec<u8>>, &CommitId)| {
            let missing = || GitError::NoSuchCommit { id: id.to_string() };
            body.and_then(|body| parse_commit(&body)).ok_or_else(missing)
        };
        objects.map(commit).collect()
    }

    /// The bytes of each object of that kind; `None` for one that is not here.
    pub(super) fn read_objects(
        &self,
        kind: &str,
        ids: &[impl ToString],
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut call = self.call("cat-file --batch --buffer");
        let mut asked = String::new();
        for id in ids {
            let id = id.to_string();
            asked += &format!("{id}\n");
            call = call.check_id(id);
        }
        let ran = call.stdin(asked).output()?;
        if !ran.status.success() {
            return Err(failed("cat-file", &ran));
        }
        let mut rest = &ran.stdout[..];
        Ok(ids.iter().map(|_| next_object(&mut rest, kind)).collect())
    }
}

/// Splits `<id> <kind> <size>\n<bytes>\n` off the front.
fn next_object(rest: &mut &[u8], kind: &str) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let header = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    let mut words = header.split(' ').skip(1);
    let (found, size) = (words.next()?, words.next()?.parse::<usize>().ok()?);
    let body = rest.get(..size)?.to_vec();
    *rest = rest.get(size + 1..).unwrap_or_default();
    (found == kind).then_some(body)
}

fn parse_commit(body: &[u8]) -> Option<StoredCommit> {
    let split = body.windows(2).position(|pair| pair == b"\n\n");
    let (headers, message) = match split {
        Some(at) => (&body[..=at], &body[at + 2..]),
        None => (body, &b""[..]),
    };
    let mut tree = None;
    let mut parent = None;
    let mut kept = Vec::new();
    for line in headers.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(id) = text.strip_prefix(b"tree ") {
            tree = as_id(id).map(TreeId::new);
        } else if let Some(id) = text.strip_prefix(b"parent ") {
            parent = parent.or_else(|| as_id(id).map(CommitId::new));
        } else if [&b"author "[..], b"committer ", b"encoding "]
            .iter()
            .any(|key| text.starts_with(key))
        {
            kept.extend_from_slice(line);
        }
    }
    Some(StoredCommit { tree: tree?, parent, headers: kept, message: message.to_vec() })
}
