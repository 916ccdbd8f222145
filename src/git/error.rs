//! What can go wrong at the door to git: one sentence each, and what to do next.

use crate::process::tool::ToolError;
use std::{io, path::PathBuf};

/// The oldest git with `merge-tree --write-tree --merge-base`.
pub(super) const OLDEST: (u32, u32) = (2, 40);

/// Bytes kept of what a failed git said.
const STDERR_TAIL_BYTES: usize = 2000;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed")]
    Missing,
    #[error("git {found} is too old, {}.{} or later is needed", OLDEST.0, OLDEST.1)]
    TooOld { found: String },
    #[error("the repository {} has no commits", top.display())]
    NoCommits { top: PathBuf },
    #[error("commit {id} is not in the repository, or not whole")]
    NoSuchCommit { id: String },
    #[error("'{text}' is no id of a commit")]
    BadId { text: String },
    #[error("'{name}' is no reference of this program's")]
    BadRef { name: String },
    #[error("{} is no place for a working tree", at.display())]
    BadPlace { at: PathBuf },
    #[error("git {verb} met a lock that another process holds: {stderr_tail}")]
    Locked {
        verb: &'static str,
        stderr_tail: String,
    },
    #[error("git does not trust the repository: {stderr_tail}")]
    NotOwned { stderr_tail: String },
    #[error("git {verb} failed ({status}): {stderr_tail}")]
    Failed {
        verb: &'static str,
        status: String,
        stderr_tail: String,
    },
    #[error("git {verb} gave an answer that cannot be understood")]
    Odd { verb: &'static str },
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{} cannot be read or written", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl GitError {
    pub fn hint(&self) -> String {
        match self {
            Self::Missing => "install git and see that it is on PATH".into(),
            Self::TooOld { .. } => "update git".into(),
            Self::NoCommits { top } => format!(
                "make a first one: git -C '{}' commit --allow-empty -m start",
                top.display()
            ),
            Self::NoSuchCommit { .. } => {
                "it may have been pruned: begin again from the working tree".into()
            }
            Self::BadId { .. } => "name a commit by its full hexadecimal id".into(),
            Self::BadRef { .. } => "references live under refs/descent/".into(),
            Self::BadPlace { .. } => {
                "choose a directory that does not hold the project or its repository".into()
            }
            Self::Locked { .. } => {
                "wait for the other git to end; if none runs, delete the named lock file".into()
            }
            Self::NotOwned { .. } => {
                "if you trust its owner: git config --global --add safe.directory DIR".into()
            }
            Self::Failed { .. } | Self::Odd { .. } => {
                "run 'git fsck' and 'git status' in the repository and mend what they name".into()
            }
            Self::Tool(error) => error.hint().into(),
            Self::Io { .. } => "check its permissions and the space on its disk".into(),
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Whether doing the same with a fresh directory may help.
    pub(super) fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::Locked { .. } | Self::Odd { .. } | Self::Io { .. }
        )
    }

    pub(super) fn failed(verb: &'static str, status: String, stderr: &[u8]) -> Self {
        let stderr_tail = tail(stderr);
        if stderr_tail.contains(".lock': File exists") {
            return Self::Locked { verb, stderr_tail };
        }
        if stderr_tail.contains("dubious ownership") {
            return Self::NotOwned { stderr_tail };
        }
        Self::Failed {
            verb,
            status,
            stderr_tail,
        }
    }
}

fn tail(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(STDERR_TAIL_BYTES);
    String::from_utf8_lossy(&stderr[from..]).trim().to_owned()
}
