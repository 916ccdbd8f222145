//! The changes of earlier attempts: as patches to read, and laid on the tree of another attempt.
//!
//! Invariant: nothing depends on them. A change that is gone, or too large, is left out.

use descent_core::{
    id::{AttemptId, CommitId},
    prompt::{PATCH_BYTES_MAX, PATCHES_MAX},
};

use super::{Result, Worktrees};
use crate::git::Change;

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
            let patch = self.patch_of(attempt);
            patch.unwrap_or_else(|error| {
                tracing::warn!(%error, %attempt, "the change of an earlier attempt cannot be read");
                None
            })
        };
        attempts
            .iter()
            .take(PATCHES_MAX)
            .filter_map(patch)
            .collect()
    }

    fn patch_of(&self, attempt: &AttemptId) -> Result<Option<KeptPatch>> {
        let Some((made, base)) = self.made_on(attempt)? else {
            return Ok(None);
        };
        let bytes = self.git.patch(&Change::between(&base, &made))?;
        let is_useful = !bytes.is_empty() && bytes.len() <= PATCH_BYTES_MAX;
        let attempt = attempt.clone();
        Ok(is_useful.then_some(KeptPatch { attempt, bytes }))
    }

    /// The commit with the change of an attempt, and the one that it was made on, if both are there.
    fn made_on(&self, attempt: &AttemptId) -> Result<Option<(CommitId, CommitId)>> {
        let Some(made) = self.made_by(attempt)? else {
            return Ok(None);
        };
        if !self.is_there(&made)? {
            return Ok(None);
        }
        let base = self.git.parent_of(&made)?;
        let base = base.filter(|base| self.is_there(base).unwrap_or(false));
        Ok(base.map(|base| (made, base)))
    }
}
