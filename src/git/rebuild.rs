//! Rebuilds the line of kept commits from its start: by merging, never by reverting.

use super::{
    Git, GitError,
    call::{as_id, failed},
};
use descent_core::id::{CommitId, TreeId};

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
        let Some(parent) = &stored.parent else {
            return Ok(None);
        };
        if parent == head {
            return Ok(Some((kept.clone(), stored.tree.clone())));
        }
        let Ok(merged) = self.merge_trees(parent.as_str(), head, kept.as_str())? else {
            return Ok(None);
        };
        if merged == *tree {
            return Ok(Some((head.clone(), merged)));
        }
        let copy = self.write_copy(stored, &merged, head)?;
        Ok(Some((copy, merged)))
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
        let call = self.call("hash-object");
        let call = call.args(["-t", "commit", "-w", "--stdin"]).stdin(bytes);
        let commit = CommitId::new(call.ok_id()?);
        self.remember(&commit, tree);
        Ok(commit)
    }

    pub(super) fn read_commits(&self, ids: &[CommitId]) -> Result<Vec<StoredCommit>, GitError> {
        const VERB: &str = "cat-file";
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut call = self.call(VERB).arg("--batch");
        let mut asked = String::new();
        for id in ids {
            call = call.check_id(id.as_str());
            asked += id.as_str();
            asked.push('\n');
        }
        let ran = call.stdin(asked).output()?;
        if !ran.status.success() {
            return Err(failed(VERB, &ran));
        }
        let mut rest = &ran.stdout[..];
        ids.iter().map(|id| next_commit(&mut rest, id)).collect()
    }
}

/// Splits `<id> commit <size>\n<bytes>\n` off the front.
fn next_commit(rest: &mut &[u8], id: &CommitId) -> Result<StoredCommit, GitError> {
    let missing = || GitError::NoSuchCommit { id: id.to_string() };
    let cut = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let end = cut(rest).ok_or_else(missing)?;
    let header = String::from_utf8_lossy(&rest[..end]).into_owned();
    let mut words = header.split(' ').skip(1);
    let (Some("commit"), Some(Ok(size))) = (words.next(), words.next().map(str::parse::<usize>))
    else {
        return Err(missing());
    };
    let body = rest.get(end + 1..end + 1 + size).ok_or_else(missing)?;
    *rest = rest.get(end + 2 + size..).unwrap_or_default();
    parse_commit(body).ok_or_else(missing)
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
    Some(StoredCommit {
        tree: tree?,
        parent,
        headers: kept,
        message: message.to_vec(),
    })
}
