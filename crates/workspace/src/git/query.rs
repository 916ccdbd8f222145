//! Reads from the repository, without changing anything: commits, their files, and how those compare with the working tree
//! or are written by an apply.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use descent_core::id::{CommitId, Digest, TreeId, UnixMillis};

use super::{
    Git, GitError,
    call::{as_id, as_path, fields},
    diff::{PathChange, Side},
    index::StoredCommit,
};

/// Maximum of trees remembered.
const TREES_MAX: usize = 1024;

fn branch_of(full: &str) -> String {
    full.strip_prefix("refs/heads/").unwrap_or(full).to_owned()
}

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
        let ran = self.at_home("rev-parse HEAD^{commit} --symbolic-full-name HEAD").output()?;
        if let [commit, full] = String::from_utf8_lossy(&ran.stdout).lines().collect::<Vec<_>>()[..]
            && ran.status.success()
        {
            let commit = as_id(commit.as_bytes()).map(CommitId::new);
            return Ok(Head { commit, branch: (full != "HEAD").then(|| branch_of(full)) });
        }
        // There is no commit yet, or a branch is called HEAD.
        let named = self.at_home("symbolic-ref -q HEAD").output()?;
        let full = String::from_utf8_lossy(named.stdout.trim_ascii_end());
        let branch = named.status.success().then(|| branch_of(&full));
        Ok(Head { commit: self.resolve("HEAD")?, branch })
    }

    /// The commit that `rev` names, in any of git's ways.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, GitError> {
        if rev.contains('\0') {
            return Ok(None);
        }
        let call = self.at_home("rev-parse --verify -q --end-of-options");
        let ran = call.arg(format!("{rev}^{{commit}}")).output()?;
        Ok(as_id(ran.stdout.trim_ascii_end()).filter(|_| ran.status.success()).map(CommitId::new))
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
        let call = self.call("cat-file --batch-check=%(objectname)").check_id(commit);
        let output = call.stdin(format!("{commit}^{{tree}}\n")).ok()?;
        let tree = as_id(output.trim_ascii_end()).map(TreeId::new);
        let tree = tree.ok_or_else(|| GitError::NoSuchCommit { id: commit.to_string() })?;
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
        let call = self.call("cat-file --batch").check_id(commit);
        let ran = call.stdin(format!("{commit}^{{commit}}\n{commit}^{{tree}}\n")).output()?;
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
        let call = self.call("ls-tree -z -l --full-tree").id(commit).arg("--").arg(path);
        let entry = String::from_utf8_lossy(&call.ok()?).into_owned();
        let fields: Vec<&str> = entry.split_whitespace().take(4).collect();
        let ["100644" | "100755", "blob", id, size] = fields[..] else { return Ok(None) };
        if size.parse::<u64>().is_ok_and(|size| size <= most) {
            Ok(Some(self.call("cat-file blob").id(id).ok()?))
        } else {
            Ok(None)
        }
    }

    /// Those of some paths that a commit has a file or a directory at.
    pub(crate) fn entries_at(
        &self,
        commit: &CommitId,
        at: &[PathBuf],
    ) -> Result<Vec<PathBuf>, GitError> {
        if at.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.call("ls-tree --name-only -z --full-tree").id(commit).arg("--");
        let found = at.iter().fold(call, |call, path| call.arg(path)).ok()?;
        Ok(fields(&found).map(|path| as_path(path).to_owned()).collect())
    }

    /// The symbolic links of a commit, each with what it says. One whose blob is not here leads nowhere.
    pub(crate) fn links_in(&self, commit: &CommitId) -> Result<Vec<(PathBuf, PathBuf)>, GitError> {
        let files = self.files_of(commit)?;
        let links = fields(&files).filter_map(|record| {
            let link = record.strip_prefix(b"120000 blob ")?;
            let id = as_id(link.split(|byte| *byte == b'\t').next()?)?;
            Some((as_path(&link[id.len() + 1..]).to_owned(), id))
        });
        let (paths, ids): (Vec<PathBuf>, Vec<String>) = links.unzip();
        let links = paths.into_iter().zip(self.read_objects("blob", &ids)?);
        Ok(links.filter_map(|(path, said)| Some((path, as_path(&said?).to_owned()))).collect())
    }

    /// A record of each file of a commit: mode, kind, id and path.
    pub(super) fn files_of(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        self.call("ls-tree -r -z --full-tree").id(commit).ok()
    }

    /// The digest of the selected files of a commit: modes, ids and paths.
    pub(crate) fn digest_of_files(
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

/// A long history is not walked to its end: after this time the answer is unknown.
const TOOL_MAX: Duration = Duration::from_secs(10);

impl Git {
    /// Whether HEAD has this file of the working tree with these very bytes, or a checkout would write them. If git fails,
    /// it may.
    pub fn has_as_is(&self, path: &Path, bytes: &[u8]) -> bool {
        let Ok(top) = self.top().canonicalize() else { return true };
        let Ok(inside) = path.strip_prefix(&top) else { return false };
        match self.at_head("blob", inside) {
            Ok(None) => false,
            Ok(Some(blob)) if blob == bytes => true,
            // Line endings and filters make a fresh checkout differ from the blob, which is no change.
            Ok(Some(_)) => {
                let written = self.at_head("--filters", inside);
                !matches!(written, Ok(Some(written)) if written != bytes)
            }
            Err(_) => true,
        }
    }

    /// The first commit of HEAD's own line; `None` without one, and in a shallow clone, which cuts it off.
    pub fn first_commit(&self) -> Option<CommitId> {
        // As git knows a shallow one.
        if self.common_dir().join("shallow").exists() {
            return None;
        }
        let call = self.call("rev-list --first-parent --max-parents=0 HEAD");
        let roots = call.within(TOOL_MAX).ok().ok()?;
        as_id(roots.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?).map(CommitId::new)
    }

    /// Those of these files and directories of the working tree that HEAD has something of.
    pub fn committed(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let (Some((top, inside)), Ok(Some(head))) = (self.inside(paths), self.resolve("HEAD"))
        else {
            return Vec::new();
        };
        let found = self.entries_at(&head, &inside).unwrap_or_default();
        found.into_iter().map(|path| top.join(path)).collect()
    }

    /// Whether HEAD or the index has one of these paths of the working tree as a symbolic link. If git cannot tell, it may.
    pub fn tracks_link(&self, paths: &[PathBuf]) -> bool {
        let Some((_, inside)) = self.inside(paths) else { return true };
        if inside.is_empty() {
            return false;
        }
        let has_link = |words| {
            let listed = inside.iter().fold(self.call(words), |call, path| call.arg(path)).ok()?;
            Ok::<_, GitError>(fields(&listed).any(|record| record.starts_with(b"120000 ")))
        };
        // Without a commit HEAD has nothing.
        has_link("ls-files -s -z --").unwrap_or(true)
            || has_link("ls-tree -z --full-tree HEAD --").unwrap_or(false)
    }

    /// The top of the working tree, and those of some paths that are in it, relative to it.
    fn inside(&self, paths: &[PathBuf]) -> Option<(PathBuf, Vec<PathBuf>)> {
        let top = self.top().canonicalize().ok()?;
        let inside = paths.iter().filter_map(|path| path.strip_prefix(&top).ok());
        let inside = inside.map(Path::to_owned).collect();
        Some((top, inside))
    }

    fn at_head(&self, how: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let mut name = b"HEAD:".to_vec();
        name.extend_from_slice(path.as_os_str().as_bytes());
        let call = self.call("cat-file").within(TOOL_MAX).arg(how);
        let ran = call.arg(OsStr::from_bytes(&name)).output()?;
        Ok(ran.status.success().then_some(ran.stdout))
    }
}

const LINK: &[u8] = b"120000";

/// A file that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Relative to the top of the tree.
    pub path: PathBuf,
    pub old: WrittenText,
    pub new: WrittenText,
}

/// A path as it stands in a written tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenText {
    /// Nothing, or what is no file.
    Absent,
    File(Vec<u8>),
    /// The target of a symbolic link.
    Link(Vec<u8>),
}

impl Git {
    /// The meant files in which two commits differ, in order; a file of more bytes than `most` counts as absent.
    pub fn written(
        &self,
        from: &CommitId,
        to: &CommitId,
        most: u64,
        is_meant: impl Fn(&Path) -> bool,
    ) -> Result<Vec<WrittenFile>, GitError> {
        let changes = self.changes(from, to)?;
        let meant = changes.iter().filter(|change| is_meant(as_path(&change.path)));
        meant
            .map(|change| {
                Ok(WrittenFile {
                    path: as_path(&change.path).to_owned(),
                    old: self.side(from, change, &change.old, most)?,
                    new: self.side(to, change, &change.new, most)?,
                })
            })
            .collect()
    }

    fn side(
        &self,
        commit: &CommitId,
        change: &PathChange,
        side: &Side,
        most: u64,
    ) -> Result<WrittenText, GitError> {
        if side.is_absent() || change.has_gitlink() {
            return Ok(WrittenText::Absent);
        }
        let id = String::from_utf8_lossy(&side.id).into_owned();
        let size = self.call("cat-file -s").id(&id).ok()?;
        let size = String::from_utf8_lossy(&size).trim().parse::<u64>();
        if size.is_ok_and(|size| size > most) {
            return Ok(WrittenText::Absent);
        }
        if side.mode == LINK {
            return Ok(WrittenText::Link(self.call("cat-file blob").id(&id).ok()?));
        }
        let mut path = std::ffi::OsString::from("--path=");
        path.push(as_path(&change.path));
        let call = self.at_home("cat-file --filters").attributes_of(commit).arg(path);
        Ok(WrittenText::File(call.id(&id).ok()?))
    }
}
