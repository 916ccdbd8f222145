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
        Ok(Head {
            commit: self.resolve("HEAD")?,
            branch,
        })
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
        let tree = as_id(output.trim_ascii_end()).ok_or_else(|| GitError::NoSuchCommit {
            id: commit.to_string(),
        })?;
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
        let call =
            self.call("ls-tree")
                .args(["-z", "-l", "--full-tree"])
                .id("", commit.as_str(), "");
        let output = call.arg("--").arg(path).ok()?;
        let fields = output.split(|byte| *byte == b'\t').next();
        let fields = String::from_utf8_lossy(fields.unwrap_or_default()).into_owned();
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [mode, "blob", id, size] = fields[..] else {
            return Ok(None);
        };
        let fits = size.parse::<u64>().is_ok_and(|size| size <= most);
        match mode.starts_with("100") && fits {
            true => Ok(Some(self.call("cat-file").arg("blob").id("", id, "").ok()?)),
            false => Ok(None),
        }
    }

    /// The symbolic links of a commit, each with what it says; as many as `most`.
    pub fn links_in(
        &self,
        commit: &CommitId,
        most: usize,
    ) -> Result<Vec<(PathBuf, PathBuf)>, GitError> {
        let call = self.call("ls-tree").args(["-r", "-z", "--full-tree"]);
        let output = call.id("", commit.as_str(), "").ok()?;
        let links = fields(&output).filter_map(|record| {
            let tab = record.iter().position(|byte| *byte == b'\t')?;
            let id = record[..tab].strip_prefix(b"120000 blob ")?;
            Some((as_path(&record[tab + 1..]).to_owned(), id))
        });
        let links: Vec<(PathBuf, &[u8])> = links.take(most).collect();
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<&[u8]> = links.iter().map(|(_, id)| *id).collect();
        let call = self.call("cat-file").args(["--batch", "--buffer"]);
        let told = call
            .stdin([&asked.join(&b'\n')[..], b"\n"].concat())
            .output()?
            .stdout;
        let (mut rest, mut said) = (&told[..], Vec::new());
        for (path, _) in links {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (head, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            // A blob that is not here leads nowhere.
            let size = head.trim_ascii_end().rsplit(|byte| *byte == b' ').next();
            let size = size.and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
            let (text, after) = after.split_at(size.unwrap_or(0).min(after.len()));
            said.push((path, as_path(text).to_owned()));
            rest = match size {
                Some(_) => after.get(1..).unwrap_or_default(),
                None => after,
            };
        }
        Ok(said)
    }

    /// The digest of the selected files of a commit: modes, ids and paths.
    pub fn digest_of_files(
        &self,
        commit: &CommitId,
        is_meant: impl Fn(&Path) -> bool,
    ) -> Result<Digest, GitError> {
        let call = self.call("ls-tree").args(["-r", "-z", "--full-tree"]);
        let output = call.id("", commit.as_str(), "").ok()?;
        let meant = output.split(|byte| *byte == 0).filter(|record| {
            let path = record.splitn(2, |byte| *byte == b'\t').nth(1);
            path.is_some_and(|path| is_meant(as_path(path)))
        });
        Ok(Digest::of(&meant.collect::<Vec<_>>().join(&0)))
    }
}
