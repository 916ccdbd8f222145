//! Exports the result without touching the working tree: as line counts, as a patch, as a branch.

use super::{
    Git, GitError,
    call::{Call, fields, shown},
    disk,
    look::Change,
};
use descent_core::id::CommitId;
use std::path::Path;

/// Without counts where it is not text
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ChangedFile"))]
pub struct FileLines {
    pub path: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOutcome {
    /// It was made, or would be.
    New,
    /// It is at the result already.
    AlreadyThere,
    /// This branch occupies the name or a part of it.
    Taken(String),
    /// Git accepts no such branch name.
    BadName,
}

impl Git {
    /// The number of added and removed lines of each file.
    pub fn lines(&self, change: &Change) -> Result<Vec<FileLines>, GitError> {
        const ODD: GitError = GitError::Odd { verb: "diff-tree" };
        let output = self.two_trees(change, &["--numstat", "-z"]).ok()?;
        let records = fields(&output).map(|record| {
            let mut columns = record.splitn(3, |byte| *byte == b'\t');
            let mut next = || columns.next().ok_or(ODD);
            let (added, removed, path) = (next()?, next()?, next()?);
            Ok(FileLines { path: shown(path), added: number(added), removed: number(removed) })
        });
        records.collect()
    }

    /// The difference as `git apply` reads it, binary files included.
    pub fn patch(&self, change: &Change) -> Result<Vec<u8>, GitError> {
        self.patch_with(change, &["--binary", "--full-index"])
    }

    /// The difference for a person, who reads no binary file.
    pub fn readable_patch(&self, change: &Change) -> Result<Vec<u8>, GitError> {
        self.patch_with(change, &[])
    }

    /// The difference of these paths alone, for a reader.
    pub fn readable_patch_of(
        &self,
        change: &Change,
        paths: &[String],
    ) -> Result<Vec<u8>, GitError> {
        let call = self.patch_call(change, &[]).arg("--");
        paths.iter().fold(call, |call, path| call.arg(path)).ok()
    }

    fn patch_with(&self, change: &Change, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.patch_call(change, args).ok()
    }

    fn patch_call(&self, change: &Change, args: &[&str]) -> Call<'_> {
        let args = [&["-p", "--no-color", "-U3"], args].concat();
        self.two_trees(change, &args).args([
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--submodule=short",
        ])
    }

    fn two_trees(&self, change: &Change, args: &[&str]) -> Call<'_> {
        let mut call = change.of(self.call("diff-tree")).args([
            "-r",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-relative",
        ]);
        for arg in args {
            call = call.arg(arg);
        }
        call.id("", &change.from, "^{tree}").id("", &change.to, "^{tree}")
    }

    /// Makes a new branch of the person's at `head`, whose base is `base`; nothing that exists is
    /// moved.
    pub fn branch(
        &self,
        name: &str,
        base: &CommitId,
        head: &CommitId,
        is_dry: bool,
    ) -> Result<BranchOutcome, GitError> {
        let person = self.person();
        let full = format!("refs/heads/{name}");
        let check = person.call("check-ref-format").arg(&full).output()?;
        // A name that git reads as HEAD or as another reference could never be used.
        let is_misread = matches!(name, "HEAD" | "@") || name.starts_with("refs/");
        if !check.status.success() || name.starts_with('-') || is_misread {
            return Ok(BranchOutcome::BadName);
        }
        if let Some((taken, commit)) = person.branch_in_the_way(&full)? {
            let is_ours = taken == full && commit == head.as_str();
            if !is_ours {
                let taken = taken.trim_start_matches("refs/heads/").to_owned();
                return Ok(BranchOutcome::Taken(taken));
            }
            // An interrupted `apply` may have made it without syncing it.
            if !is_dry {
                person.make_durable(&full, head, head)?;
            }
            return Ok(BranchOutcome::AlreadyThere);
        }
        if !is_dry {
            // Git itself checks in the same instant that it is still absent.
            let absent = "0".repeat(head.as_str().len());
            self.bring_home(head, base)?;
            let call = person.call("update-ref").args(["-m", "descent: apply"]);
            let call = call.arg(&full).id("", head.as_str(), "");
            call.id("", &absent, "").ok()?;
            person.make_durable(&full, head, head)?;
        }
        Ok(BranchOutcome::New)
    }

    /// A reference cannot be where another has a directory, nor below one.
    fn branch_in_the_way(&self, full: &str) -> Result<Option<(String, String)>, GitError> {
        let mut call = self.call("for-each-ref").arg("--format=%(objectname) %(refname)");
        let above: Vec<&str> = full.match_indices('/').skip(2).map(|(at, _)| &full[..at]).collect();
        for name in above.iter().chain([&full]) {
            call = call.arg(name);
        }
        let output = String::from_utf8_lossy(&call.ok()?).into_owned();
        let mut refs = output.lines().filter_map(|line| line.split_once(' '));
        let below = format!("{full}/");
        let found = refs
            .find(|(_, name)| *name == full || above.contains(name) || name.starts_with(&below));
        Ok(found.map(|(id, name)| (name.to_owned(), id.to_owned())))
    }

    /// Returns `false` if the name is taken: that file stays as it is.
    pub fn write_new_file(&self, path: &Path, bytes: &[u8]) -> Result<bool, GitError> {
        disk::new_file(path, bytes)
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
