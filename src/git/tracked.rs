//! Files of the working tree that git has, and whether they are as it has them.

use super::{Git, GitError, call::as_id};
use descent_core::id::CommitId;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A long history is not walked to its end: after this time the answer is unknown.
const TOOL_MAX: Duration = Duration::from_secs(10);

impl Git {
    /// Whether HEAD has this file of the working tree with these very bytes, or a checkout would write them. If git fails,
    /// it may.
    pub fn has_as_is(&self, path: &Path, bytes: &[u8]) -> bool {
        let Ok(top) = self.top().canonicalize() else {
            return true;
        };
        let Ok(inside) = path.strip_prefix(&top) else {
            return false;
        };
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

    fn at_head(&self, how: &str, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let mut name = b"HEAD:".to_vec();
        name.extend_from_slice(path.as_os_str().as_bytes());
        let call = self.call("cat-file").within(TOOL_MAX).arg(how);
        let ran = call.arg(OsStr::from_bytes(&name)).output()?;
        Ok(ran.status.success().then_some(ran.stdout))
    }
}
