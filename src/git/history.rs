//! Who committed a file last, and whether it is unchanged since.

use super::{Git, GitError, call::as_id};
use crate::files;
use descent_core::{id::CommitId, trust::History};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A long history is not walked to its end: after this time the answer is unknown.
const TOOL_MAX: Duration = Duration::from_secs(10);

/// Bytes of the list of commits at which a shallow clone ends.
const SHALLOW_BYTES_MAX: u64 = 16 << 20;

impl Git {
    /// The history of a file of the working tree, whose bytes are given; `None` if HEAD has no such
    /// file. If git fails, the committer is unknown.
    pub fn history(&self, path: &Path, bytes: &[u8]) -> Option<History> {
        let top = self.top().canonicalize().ok()?;
        let inside = path.strip_prefix(&top).ok()?;
        // Line endings and filters make a fresh checkout differ from the blob, which is no change.
        let as_committed = match self.at_head("blob", inside) {
            Err(_) => true,
            Ok(blob) => blob? == bytes || self.is_written_so(inside, bytes),
        };
        Some(History {
            as_committed,
            last_committer: self.last_committer(inside),
            mine: self.host().emails.clone(),
        })
    }

    /// The first commit of HEAD's own line; `None` without one, and in a shallow clone, which cuts it off.
    pub fn first_commit(&self) -> Option<CommitId> {
        let told = self.call("rev-parse").args(["--is-shallow-repository"]).ok();
        if told.ok()?.trim_ascii() != b"false" {
            return None;
        }
        let roots = self
            .call("rev-list")
            .within(TOOL_MAX)
            .args(["--first-parent", "--max-parents=0", "HEAD"])
            .ok();
        let roots = roots.ok()?;
        let last = roots.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        as_id(last?).map(CommitId::new)
    }

    /// Those of these files and directories of the working tree that HEAD has something of.
    pub fn committed(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let Ok(top) = self.top().canonicalize() else {
            return Vec::new();
        };
        let inside: Vec<&Path> =
            paths.iter().filter_map(|path| path.strip_prefix(&top).ok()).collect();
        if inside.is_empty() {
            return Vec::new();
        }
        let mut call = self.call("ls-tree").within(TOOL_MAX);
        call = call.args(["-z", "--full-tree", "--name-only", "HEAD", "--"]);
        for path in &inside {
            call = call.arg(path);
        }
        // Without a commit there is nothing.
        let output = call.ok().unwrap_or_default();
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        names.map(|name| top.join(OsStr::from_bytes(name))).collect()
    }

    /// Whether HEAD or the index has one of these paths of the working tree as a symbolic link. If git cannot tell, it may.
    pub fn tracks_link(&self, paths: &[PathBuf]) -> bool {
        const LINK: &[u8] = b"120000 ";
        let Ok(top) = self.top().canonicalize() else {
            return true;
        };
        let inside: Vec<&Path> =
            paths.iter().filter_map(|path| path.strip_prefix(&top).ok()).collect();
        if inside.is_empty() {
            return false;
        }
        let listed = |verb, args: &[&str]| {
            let mut call = self.call(verb).within(TOOL_MAX);
            call = call.env("GIT_LITERAL_PATHSPECS", "1");
            for arg in args {
                call = call.arg(arg);
            }
            for path in &inside {
                call = call.arg(path);
            }
            call.ok()
        };
        let has_link = |output: Vec<u8>| {
            let mut records = output.split(|byte| *byte == 0);
            records.any(|record| record.starts_with(LINK))
        };
        let in_index = listed("ls-files", &["-s", "-z", "--"]).map_or(true, has_link);
        // Without a commit HEAD has nothing.
        let in_head = listed("ls-tree", &["-z", "--full-tree", "HEAD", "--"]);
        in_index || in_head.is_ok_and(has_link)
    }

    /// Who committed a file or a directory last; whether it changed since is not checked.
    pub fn history_of(&self, path: &Path) -> History {
        let top = self.top().canonicalize().ok();
        let inside = top.and_then(|top| path.strip_prefix(top).ok());
        History {
            as_committed: true,
            last_committer: inside.and_then(|inside| self.last_committer(inside)),
            mine: self.host().emails.clone(),
        }
    }

    fn is_written_so(&self, path: &Path, bytes: &[u8]) -> bool {
        match self.at_head("--filters", path) {
            Ok(Some(written)) => written == bytes,
            Ok(None) | Err(_) => true,
        }
    }

    fn at_head(&self, how: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let mut name = b"HEAD:".to_vec();
        name.extend_from_slice(path.as_os_str().as_bytes());
        let call = self.call("cat-file").within(TOOL_MAX).arg(how);
        let ran = call.arg(OsStr::from_bytes(&name)).output()?;
        Ok(ran.status.success().then_some(ran.stdout))
    }

    fn last_committer(&self, path: &Path) -> Option<String> {
        let output = self
            .call("log")
            .within(TOOL_MAX)
            .args(["-1", "--format=%H %ce", "--no-show-signature", "--no-color", "HEAD", "--"])
            .arg(path)
            .ok();
        let output = String::from_utf8_lossy(&output.ok()?).trim().to_owned();
        let (commit, email) = output.split_once(' ')?;
        (!self.is_cut_off(commit)).then(|| email.to_owned())
    }

    /// Whether a shallow clone ends at this commit: then it appears to have made all its files.
    fn is_cut_off(&self, commit: &str) -> bool {
        let named = self.call("rev-parse").args(["--git-path", "shallow"]).ok();
        let Ok(named) = named else { return true };
        let path = self.top().join(OsStr::from_bytes(named.trim_ascii_end()));
        match files::read_linked(&path, SHALLOW_BYTES_MAX) {
            Ok(ends) => ends.split(|byte| *byte == b'\n').any(|end| end == commit.as_bytes()),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }
}
