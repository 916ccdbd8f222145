//! Checks that the commits named in the state are still complete in the repository: a power cut may
//! have undone them.
//!
//! Invariant: an object is removed only if git cannot read it. It must be removed, because git
//! would take the broken file for the object and never write it again.

use super::{Git, GitError, call::as_id, disk};
use descent_core::id::CommitId;
use std::collections::{BTreeMap, BTreeSet};

/// Larger objects are not read, only checked for existence.
const READ_BYTES_MAX: u64 = 32 << 20;
/// Bytes read at once.
const CHUNK_BYTES_MAX: u64 = 64 << 20;
/// Maximum of commits visited below one; a loop makes far fewer on a start.
const LINE_MAX: usize = 10_000;
/// Maximum of trees visited for one commit.
const TREES_MAX: usize = 100_000;

impl Git {
    /// Those of `commits` that are broken, or that are based on a broken one, down to `start`. A
    /// commit is broken if an object is missing that `start` does not have.
    ///
    /// Broken objects are removed.
    pub fn unsound(
        &self,
        start: &CommitId,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>, GitError> {
        if commits.is_empty() || self.are_sound(start, commits)? {
            return Ok(BTreeSet::new());
        }
        let known = self.trees_and_files(start)?;
        let mut found = BTreeMap::new();
        for commit in commits {
            self.look_down_to(start, &known, commit, &mut found)?;
        }
        found.retain(|commit, is_sound| !*is_sound && commits.contains(commit));
        Ok(found.into_keys().collect())
    }

    /// Whether a commit and everything below it is complete; the answers go into `found`. Each is
    /// visited once, even below a broken one, because each broken object must be removed.
    fn look_down_to(
        &self,
        start: &CommitId,
        known: &BTreeSet<String>,
        commit: &CommitId,
        found: &mut BTreeMap<CommitId, bool>,
    ) -> Result<(), GitError> {
        let (mut line, mut next) = (Vec::new(), Some(commit.clone()));
        let mut is_sound = true;
        while let Some(at) = next.take().filter(|at| at != start) {
            if let Some(was_sound) = found.get(&at) {
                is_sound = *was_sound;
                break;
            }
            if line.len() == LINE_MAX {
                break;
            }
            let Some((tree, parent)) = self.tree_and_parent(&at)? else {
                line.push((at, false));
                break;
            };
            line.push((at, self.is_tree_whole(known, tree)?));
            next = parent;
        }
        for (commit, is_whole) in line.into_iter().rev() {
            is_sound &= is_whole;
            found.insert(commit, is_sound);
        }
        Ok(())
    }

    /// Checks all of them at once: the usual case.
    fn are_sound(&self, start: &CommitId, commits: &BTreeSet<CommitId>) -> Result<bool, GitError> {
        let mut call = self.call("rev-list").check_id(start.as_str());
        let mut asked = String::new();
        for commit in commits {
            call = call.check_id(commit.as_str());
            asked.push_str(&format!("{commit}\n"));
        }
        asked.push_str(&format!("^{start}\n"));
        let call = call.args(["--objects", "--no-object-names", "--stdin"]);
        let ran = call.stdin(asked).output()?;
        if !ran.status.success() {
            return Ok(false);
        }
        let lines = ran.stdout.split(|byte| *byte == b'\n');
        let ids: Vec<String> = lines.filter_map(as_id).collect();
        self.are_readable(&ids)
    }

    /// Whether git has all these objects, and can read each from the first byte to the last.
    fn are_readable(&self, ids: &[String]) -> Result<bool, GitError> {
        let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let call = self.call("cat-file");
        let call = call.arg("--batch-check=%(objectname) %(objectsize)");
        let ran = call.stdin(list).output()?;
        let output = String::from_utf8_lossy(&ran.stdout).into_owned();
        let sizes = output.lines().map(|line| line.rsplit(' ').next()?.parse().ok());
        let sizes: Option<Vec<u64>> = sizes.collect();
        let Some(sizes) = sizes.filter(|sizes| ran.status.success() && sizes.len() == ids.len())
        else {
            return Ok(false);
        };
        let (mut chunk, mut chunk_bytes) = (String::new(), 0);
        for (id, size) in ids.iter().zip(sizes).filter(|(_, size)| *size <= READ_BYTES_MAX) {
            if chunk_bytes + size > CHUNK_BYTES_MAX && !self.gives(&std::mem::take(&mut chunk))? {
                return Ok(false);
            }
            chunk_bytes = if chunk.is_empty() { size } else { chunk_bytes + size };
            chunk.push_str(&format!("{id}\n"));
        }
        self.gives(&chunk)
    }

    fn gives(&self, ids: &str) -> Result<bool, GitError> {
        if ids.is_empty() {
            return Ok(true);
        }
        let call = self.call("cat-file").args(["--batch", "--buffer"]);
        Ok(call.stdin(ids).output()?.status.success())
    }

    /// The trees and files of a commit.
    fn trees_and_files(&self, commit: &CommitId) -> Result<BTreeSet<String>, GitError> {
        let call = self.call("ls-tree");
        let call = call.args(["-r", "-t", "-z", "--format=%(objectname)"]);
        let output = call.id("", commit.as_str(), "").ok()?;
        let mut known: BTreeSet<String> = super::call::fields(&output).filter_map(as_id).collect();
        known.insert(self.tree_of(commit)?.to_string());
        Ok(known)
    }

    fn tree_and_parent(
        &self,
        commit: &CommitId,
    ) -> Result<Option<(String, Option<CommitId>)>, GitError> {
        if !self.is_object_whole(commit.as_str())? {
            return Ok(None);
        }
        match self.read_commits(std::slice::from_ref(commit)) {
            Ok(stored) => {
                Ok(stored.into_iter().next().map(|stored| (stored.tree.to_string(), stored.parent)))
            }
            Err(GitError::NoSuchCommit { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Visits all levels, even below a broken one, because each broken object must be removed.
    fn is_tree_whole(&self, known: &BTreeSet<String>, tree: String) -> Result<bool, GitError> {
        let (mut trees, mut files, mut is_whole) = (vec![tree], Vec::new(), true);
        let mut looked = 0;
        while let Some(tree) = trees.pop() {
            looked += 1;
            if known.contains(&tree) || looked > TREES_MAX {
                continue;
            }
            if !self.is_object_whole(&tree)? {
                is_whole = false;
                continue;
            }
            let call = self.call("ls-tree").args(["-z", "--format=%(objecttype) %(objectname)"]);
            let output = call.id("", &tree, "").ok()?;
            for entry in super::call::fields(&output) {
                let text = String::from_utf8_lossy(entry);
                match text.split_once(' ') {
                    Some(("tree", id)) => trees.push(id.to_owned()),
                    Some(("blob", id)) if !known.contains(id) => files.push(id.to_owned()),
                    _ => {}
                }
            }
        }
        if !self.are_readable(&files)? {
            is_whole = false;
            for id in &files {
                self.is_object_whole(id)?;
            }
        }
        Ok(is_whole)
    }

    /// Removes the file if it has the name of an object and is none.
    fn is_object_whole(&self, id: &str) -> Result<bool, GitError> {
        if self.are_readable(&[id.to_owned()])? {
            return Ok(true);
        }
        let loose = self.loose(id);
        if loose.is_file() {
            tracing::warn!(object = id, "removed an object that git cannot read");
            disk::remove_tree(&loose)?;
        }
        Ok(false)
    }
}
