//! Reads from the repository, without changing anything.

use super::{
    Git, GitError,
    call::{as_id, as_path, fields},
    rebuild::StoredCommit,
};
use descent_core::id::{CommitId, Digest, TreeId, UnixMillis};
use std::path::{Path, PathBuf};

/// Maximum of trees remembered.
const TREES_MAX: usize = 1024;

/// The person's HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// `None`: no commit yet.
    pub commit: Option<CommitId>,
    /// `None`: detached.
    pub branch: Option<String>,
}

impl Git {
    pub fn head(&self) -> Result<Head, GitError> {
        let named = self.at_home("symbolic-ref").args(["-q", "HEAD"]).output()?;
        let full = String::from_utf8_lossy(named.stdout.trim_ascii_end()).into_owned();
        let branch = named.status.success().then(|| {
            let short = full.strip_prefix("refs/heads/").unwrap_or(&full);
            short.to_owned()
        });
        Ok(Head { commit: self.resolve("HEAD")?, branch })
    }

    /// The commit that `rev` names, in any of git's ways.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, GitError> {
        if rev.contains('\0') {
            return Ok(None);
        }
        let ran = self
            .at_home("rev-parse")
            .args(["--verify", "-q", "--end-of-options"])
            .arg(format!("{rev}^{{commit}}"))
            .output()?;
        let found = as_id(ran.stdout.trim_ascii_end()).filter(|_| ran.status.success());
        Ok(found.map(CommitId::new))
    }

    /// The commit date.
    pub(super) fn time_of(&self, commit: &CommitId) -> Result<UnixMillis, GitError> {
        let stored = self.read_commits(std::slice::from_ref(commit))?;
        let time = stored.first().and_then(StoredCommit::committed_s);
        Ok(UnixMillis(time.unwrap_or_default().saturating_mul(1000)))
    }

    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        if let Ok(trees) = self.0.trees.lock()
            && let Some(tree) = trees.get(commit)
        {
            return Ok(tree.clone());
        }
        let output = self
            .call("cat-file")
            .check_id(commit.as_str())
            .arg("--batch-check=%(objectname)")
            .stdin(format!("{commit}^{{tree}}\n"))
            .ok()?;
        let tree = as_id(output.trim_ascii_end())
            .ok_or_else(|| GitError::NoSuchCommit { id: commit.to_string() })?;
        let tree = TreeId::new(tree);
        self.remember(commit, &tree);
        Ok(tree)
    }

    pub(super) fn remember(&self, commit: &CommitId, tree: &TreeId) {
        if let Ok(mut trees) = self.0.trees.lock() {
            if trees.len() >= TREES_MAX {
                trees.clear();
            }
            trees.insert(commit.clone(), tree.clone());
        }
    }

    /// Whether the commit and its top tree can be read.
    pub fn exists(&self, commit: &CommitId) -> Result<bool, GitError> {
        let ran = self
            .call("cat-file")
            .check_id(commit.as_str())
            .arg("--batch")
            .stdin(format!("{commit}^{{commit}}\n{commit}^{{tree}}\n"))
            .output()?;
        let head = ran.stdout.split(|byte| *byte == b'\n').next();
        let is_there = head.is_some_and(|line| line.starts_with(commit.as_str().as_bytes()))
            && !ran.stdout.ends_with(b" missing\n");
        Ok(ran.status.success() && is_there)
    }

    /// The content of a file of a commit; `None` without one, of a link, and of one with more bytes than `most`.
    pub fn file_of(
        &self,
        commit: &CommitId,
        path: &Path,
        most: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let call = self.call("ls-tree").args(["-z", "-l", "--full-tree"]);
        let call = call.id("", commit.as_str(), "").arg("--").arg(path);
        let entry = String::from_utf8_lossy(&call.ok()?).into_owned();
        let fields: Vec<&str> = entry.split_whitespace().take(4).collect();
        let ["100644" | "100755", "blob", id, size] = fields[..] else {
            return Ok(None);
        };
        if size.parse::<u64>().is_ok_and(|size| size <= most) {
            Ok(Some(self.call("cat-file").arg("blob").id("", id, "").ok()?))
        } else {
            Ok(None)
        }
    }

    /// Those of some paths that a commit has a file or a directory at.
    pub fn entries_at(&self, commit: &CommitId, at: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
        if at.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.call("ls-tree").args(["--name-only", "-z", "--full-tree"]);
        let call = call.id("", commit.as_str(), "").arg("--");
        let found = at.iter().fold(call, |call, path| call.arg(path)).ok()?;
        Ok(fields(&found).map(|path| as_path(path).to_owned()).collect())
    }

    /// The symbolic links of a commit, each with what it says. One whose blob is not here leads nowhere.
    pub fn links_in(&self, commit: &CommitId) -> Result<Vec<(PathBuf, PathBuf)>, GitError> {
        let files = self.files_of(commit)?;
        let links = fields(&files).filter_map(|record| {
            let link = record.strip_prefix(b"120000 blob ")?;
            let id = as_id(link.split(|byte| *byte == b'\t').next()?)?;
            Some((as_path(&link[id.len() + 1..]).to_owned(), id))
        });
        let (paths, ids): (Vec<PathBuf>, Vec<String>) = links.unzip();
        let links = paths.into_iter().zip(self.read_objects("blob", &ids)?);
        let links = links.filter_map(|(path, said)| Some((path, as_path(&said?).to_owned())));
        Ok(links.collect())
    }

    /// A record of each file of a commit: mode, kind, id and path.
    fn files_of(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        let call = self.call("ls-tree").args(["-r", "-z", "--full-tree"]);
        call.id("", commit.as_str(), "").ok()
    }

    /// The digest of the selected files of a commit: modes, ids and paths.
    pub fn digest_of_files(
        &self,
        commit: &CommitId,
        is_meant: impl Fn(&Path) -> bool,
    ) -> Result<Digest, GitError> {
        let files = self.files_of(commit)?;
        let meant = files.split(|byte| *byte == 0).filter(|record| {
            let path = record.splitn(2, |byte| *byte == b'\t').nth(1);
            path.is_some_and(|path| is_meant(as_path(path)))
        });
        Ok(Digest::sha256(&meant.collect::<Vec<_>>().join(&0)))
    }
}
