//! Files of two commits as an apply would write them, with the filters and line endings of each.

use super::{
    Git, GitError,
    call::as_path,
    diff::{PathChange, Side},
};
use descent_core::id::CommitId;
use std::path::{Path, PathBuf};

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
        let changes = self.between(from, to)?;
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
        let size = self.call("cat-file").arg("-s").id("", &id, "").ok()?;
        let size = String::from_utf8_lossy(&size).trim().parse::<u64>();
        if size.is_ok_and(|size| size > most) {
            return Ok(WrittenText::Absent);
        }
        if side.mode == LINK {
            let call = self.call("cat-file").arg("blob").id("", &id, "");
            return Ok(WrittenText::Link(call.ok()?));
        }
        let mut path = std::ffi::OsString::from("--path=");
        path.push(as_path(&change.path));
        let call = self.at_home("cat-file").attributes_of(commit.as_str());
        let call = call.arg("--filters").arg(path).id("", &id, "");
        Ok(WrittenText::File(call.ok()?))
    }
}
