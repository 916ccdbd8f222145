//! The changes of earlier attempts: as patches to read, and laid on the tree of another attempt.
//!
//! Invariant: nothing depends on them. A change that is gone, or too large, is left out.

use std::path::Path;

use descent_core::id::{AttemptId, CommitId};
use descent_minds::prompt::{
    DIFFERENCE_BYTES_MAX, PATCH_BYTES_MAX, PATCHES_MAX, RatedDifference, TreeStart, UnusedChange,
};

use super::{Result, Warmth, Worktrees};
use crate::{
    git::{Change, LaySpec},
    globs::Globs,
};

/// Bytes at most of the paths whose difference is asked for by name.
const PATHS_BYTES_MAX: usize = 64 << 10;

/// Bytes and number at most of the files of a difference that a judge is shown whole.
const WHOLE_BYTES_MAX: usize = 60 << 10;
const WHOLE_FILES_MAX: usize = 50;

/// The change of an earlier attempt, as a patch that `git apply` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPatch {
    pub attempt: AttemptId,
    pub bytes: Vec<u8>,
}

impl Worktrees {
    /// The patches of these attempts, the newest first, as many as are told.
    pub fn patches(&self, attempts: &[AttemptId]) -> Vec<KeptPatch> {
        let patch = |attempt: &AttemptId| {
            self.patch_of(attempt).unwrap_or_else(|error| {
                tracing::warn!(%error, %attempt, "the change of an earlier attempt cannot be read");
                None
            })
        };
        attempts.iter().take(PATCHES_MAX).filter_map(patch).collect()
    }

    /// The difference between two commits for a judge, within a glob if there is one.
    pub fn difference(
        &self,
        from: &CommitId,
        to: &CommitId,
        scope: Option<&str>,
    ) -> Result<RatedDifference> {
        let change = Change::between(from, to);
        let (old, new) = (self.tree_of(from)?, self.tree_of(to)?);
        let mut files = self.paths_between(&old, &new)?;
        if let Some(glob) = scope {
            let globs = Globs::read("scope", &[glob.to_owned()])?;
            files.retain(|path| globs.is_match(Path::new(path), &self.prefix));
        }
        let bytes: usize = files.iter().map(String::len).sum();
        let patch = match scope {
            _ if files.is_empty() => Some(Vec::new()),
            None => self.git.readable_patch(&change, &[]).ok(),
            Some(_) if bytes > PATHS_BYTES_MAX => None,
            Some(_) => self.git.readable_patch(&change, &files).ok(),
        };
        // A difference that is too long for a pipe is too long for a judge too.
        let patch = patch.filter(|patch| patch.len() <= DIFFERENCE_BYTES_MAX);
        let patch = patch.map(|patch| String::from_utf8_lossy(&patch).into_owned());
        Ok(RatedDifference { patch, files, whole: Vec::new() })
    }

    /// The texts of files of a commit, in this order: those that have room.
    pub fn whole_texts(&self, of: &CommitId, paths: &[String]) -> Result<Vec<(String, String)>> {
        let (mut left, mut whole) = (WHOLE_BYTES_MAX, Vec::new());
        for path in paths.iter().take(WHOLE_FILES_MAX) {
            let bytes = self.git.file_of(of, Path::new(path), left as u64)?;
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            if let Some(text) = text.filter(|text| !text.contains('\0')) {
                left -= text.len();
                whole.push((path.clone(), text));
            }
        }
        Ok(whole)
    }

    fn patch_of(&self, attempt: &AttemptId) -> Result<Option<KeptPatch>> {
        let Some((made, base)) = self.made_on(attempt)? else { return Ok(None) };
        let bytes = self.git.patch(&Change::between(&base, &made))?;
        let is_useful = !bytes.is_empty() && bytes.len() <= PATCH_BYTES_MAX;
        let attempt = attempt.clone();
        Ok(is_useful.then_some(KeptPatch { attempt, bytes }))
    }

    /// Lays the change of an attempt on the tree of a slot that stands at `onto`. If it cannot be used, the tree stays
    /// as it is. Without a slot nothing is written, as for a person who looks.
    pub fn begin_with(
        &self,
        attempt: &AttemptId,
        slot: Option<(usize, Warmth)>,
        onto: &CommitId,
    ) -> Result<TreeStart> {
        let why = match self.lay(attempt, slot.map(|(slot, _)| slot), onto) {
            Ok(None) => return Ok(TreeStart::Laid(attempt.clone())),
            Ok(Some(why)) => why,
            // The repository is in order, and objects of the change are gone.
            Err(error) if error.cause().is_none() && self.is_there(onto).unwrap_or(false) => {
                UnusedChange::Gone
            }
            Err(error) => return Err(error),
        };
        if let Some((slot, warmth)) = slot {
            // An obstacle may have been met half-way.
            self.for_attempt(slot, Some(onto), warmth)?;
        }
        Ok(TreeStart::Unused { attempt: attempt.clone(), why })
    }

    /// Brings the tree of a slot that stands at `onto` to a candidate on it. Whether it could be done.
    pub fn bring_to_candidate(
        &self,
        slot: usize,
        candidate: &CommitId,
        onto: &CommitId,
    ) -> Result<bool> {
        let is_there = self.is_there(candidate)?;
        Ok(is_there && self.lay_change(candidate, onto, Some(slot), onto)?.is_none())
    }

    fn lay(
        &self,
        attempt: &AttemptId,
        slot: Option<usize>,
        onto: &CommitId,
    ) -> Result<Option<UnusedChange>> {
        match self.made_on(attempt)? {
            Some((made, base)) => self.lay_change(&made, &base, slot, onto),
            None => Ok(Some(UnusedChange::Gone)),
        }
    }

    /// Lays a change on the tree of a slot that stands at `onto`. Gives why it cannot be used.
    fn lay_change(
        &self,
        made: &CommitId,
        base: &CommitId,
        slot: Option<usize>,
        onto: &CommitId,
    ) -> Result<Option<UnusedChange>> {
        let spec = LaySpec { made, base, onto, scratch: self.scratch()? };
        let tree = self.git.tree_with(&spec, |path| self.is_protected(path))?;
        let in_the_way = match (tree, slot) {
            (Err(paths), _) => paths,
            (Ok(tree), Some(slot)) => self.git.lay(&self.slot(slot), &tree, &spec)?,
            (Ok(_), None) => Vec::new(),
        };
        Ok((!in_the_way.is_empty()).then_some(UnusedChange::Conflict(in_the_way)))
    }

    /// The commit with the change of an attempt, and the one that it was made on, if both are there.
    fn made_on(&self, attempt: &AttemptId) -> Result<Option<(CommitId, CommitId)>> {
        let Some(made) = self.made_by(attempt)? else { return Ok(None) };
        if !self.is_there(&made)? {
            return Ok(None);
        }
        let base = self.git.parent_of(&made)?;
        let base = base.filter(|base| self.is_there(base).unwrap_or(false));
        Ok(base.map(|base| (made, base)))
    }
}
