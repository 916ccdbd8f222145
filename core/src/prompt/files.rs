//! The files around an attempt that its prompt names, and the tree that it begins from: facts of the shell.

use alloc::{string::String, vec::Vec};

use crate::{id::AttemptId, state::side::LiesAt};

/// Earlier changes that lie beside a prompt as patches, the newest.
pub const PATCHES_MAX: usize = 2;
/// A larger change is no patch to read.
pub const PATCH_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Copy)]
pub struct PromptFiles<'a> {
    pub lies_at: LiesAt<'a>,
    pub patches: &'a [EarlierPatch],
    pub start: &'a TreeStart,
}

/// The change of an earlier attempt, as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierPatch {
    pub attempt: AttemptId,
    pub path: String,
}

/// The files that an attempt begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeStart {
    /// Those of the commit that it starts from.
    Clean,
    /// The change of this attempt is laid on them.
    Laid(AttemptId),
    /// That was wanted, and the change could not be used.
    Unused { attempt: AttemptId, why: UnusedChange },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnusedChange {
    /// It does not apply to these paths.
    Conflict(Vec<String>),
    /// It is not kept any more.
    Gone,
}

impl core::fmt::Debug for PromptFiles<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PromptFiles")
            .field("patches", &self.patches)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
