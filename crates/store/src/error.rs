//! Everything that can go wrong with the state file, each with a stable code, an exit code and the
//! next thing to do. A fault of the file has its place.
//!
//! Not here: printing it, or what a caller does about it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use descent_core::{
    doc::Fault,
    state::{VERSION, Version, decode::BEGIN_ANEW},
};

use descent_system::{
    failure::{Failure, Lack, exit, lack_of},
    files::Odd,
};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no state at `{}` or above{}", looked_from.display(), if *has_journal { ", though a journal of one is kept" } else { "" })]
    NoState {
        looked_from: PathBuf,
        /// A journal lies beside: there was a state.
        has_journal: bool,
    },
    #[error("`{}` is not agreed yet", path.display())]
    NotAgreed { path: PathBuf },
    #[error("the state file `{}` was there and is gone", path.display())]
    Vanished { path: PathBuf },
    #[error("`{}` is a directory, not a state file", path.display())]
    IsDirectory { path: PathBuf },
    #[error("`{}` is a symbolic link now", path.display())]
    Link { path: PathBuf },
    #[error("`{}` is a symbolic link to `{}`, and nothing is there", path.display(), to.display())]
    LinkToNothing { path: PathBuf, to: PathBuf },
    #[error("the directory `{}` is another one now", path.display())]
    Moved { path: PathBuf },
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the state file `{}` is empty", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` has version {found}: to write it, a descent is needed that reads {found}, and this one reads {}.x", path.display(), VERSION.major)]
    Newer { path: PathBuf, found: Version },
    #[error("`{}` has version {found}, which cannot be read any more", path.display())]
    Older { path: PathBuf, found: Version },
    #[error("the state file `{}` is not valid ({})", path.display(), count(faults.len()))]
    Invalid { path: PathBuf, faults: Vec<PlacedFault> },
    #[error("there is a file at `{}` already", path.display())]
    Exists { path: PathBuf },
    #[error("the state would have {size} {unit}, and {most} is the most: {large}")]
    TooLarge {
        size: usize,
        most: usize,
        unit: &'static str,
        /// The records that take the room, in words.
        large: String,
    },
    #[error("another loop works on this state ({holder})")]
    LeaseHeld { holder: String },
    #[error("another process did not release `{}` in time", path.display())]
    LockTimeout { path: PathBuf },
    #[error("`{}` was changed by somebody else again and again", path.display())]
    Restless { path: PathBuf },
    #[error("`{}` may not be written: {source}", path.display())]
    ReadOnly { path: PathBuf, source: io::Error },
    #[error("no space is left for `{}`: {source}", path.display())]
    DiskFull { path: PathBuf, source: io::Error },
    #[error("`{}` is larger than this process may write: {source}", path.display())]
    FileLimit { path: PathBuf, source: io::Error },
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A file beside the state is not what descent makes there.
    #[error("{odd}, where a file or directory of descent's own should be")]
    Sidecar { odd: Odd },
    #[error("a commit went from serial {from} to {to}")]
    NotNext { from: u64, to: u64 },
}

/// Why a commit did not happen: because of the file, or by the caller's decision.
#[derive(Debug, thiserror::Error)]
pub enum CommitError<E> {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Decide(E),
}

impl StoreError {
    /// A failed write, sorted by what the system reports.
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        if let Some(odd) = Odd::of(&source) {
            return Self::Sidecar { odd: odd.clone() };
        }
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, source }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, source }
            }
            io::ErrorKind::FileTooLarge => Self::FileLimit { path, source },
            _ => Self::Io { doing, path, source },
        }
    }

    /// The refusal of a state of that version; `None` if it is read.
    pub fn of_version(path: &Path, found: Version) -> Option<Self> {
        let path = path.to_owned();
        if found.major > VERSION.major {
            Some(Self::Newer { path, found })
        } else {
            (found < VERSION).then_some(Self::Older { path, found })
        }
    }

    /// Whether a person solves it by correcting the file's content.
    pub fn is_about_content(&self) -> bool {
        matches!(
            self,
            Self::Empty { .. }
                | Self::NotAgreed { .. }
                | Self::Invalid { .. }
                | Self::Newer { .. }
                | Self::Older { .. }
                | Self::IsDirectory { .. }
                | Self::Link { .. }
                | Self::LinkToNothing { .. }
        )
    }

    /// Whether there is no file under the state's name.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::NoState { .. } | Self::Vanished { .. })
    }

    /// The missing resource, if that is the cause.
    pub(super) fn lack(&self) -> Option<Lack> {
        match self {
            Self::Unreadable { source, .. }
            | Self::ReadOnly { source, .. }
            | Self::DiskFull { source, .. }
            | Self::Io { source, .. } => lack_of(source),
            _ => None,
        }
    }

    /// One line for each fault, with its place.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Invalid { path, faults } => lines(path, faults),
            _ => Vec::new(),
        }
    }

    /// The stable code, the exit code by the contract (§12), and the next thing for a person to do.
    pub fn facts(&self) -> (&'static str, u8, &'static str) {
        let (code, exit) = match self {
            Self::NoState { .. } | Self::NotAgreed { .. } => ("E-NO-STATE", exit::NOT_ALIGNED),
            Self::IsDirectory { .. }
            | Self::Link { .. }
            | Self::LinkToNothing { .. }
            | Self::Empty { .. }
            | Self::Invalid { .. }
            | Self::Exists { .. } => ("E-STATE-INVALID", exit::INVALID),
            Self::TooLarge { .. } => ("E-STATE-TOO-LARGE", exit::INVALID),
            Self::Newer { .. } | Self::Older { .. } => ("E-VERSION", exit::INVALID),
            Self::NotNext { .. } => ("E-BUG", exit::BUG),
            Self::Vanished { .. }
            | Self::Moved { .. }
            | Self::Unreadable { .. }
            | Self::Sidecar { .. } => ("E-STATE-PLACE", exit::IO),
            Self::ReadOnly { .. } | Self::DiskFull { .. } | Self::FileLimit { .. } => {
                ("E-MACHINE", exit::IO)
            }
            Self::Io { .. } => ("E-IO", exit::IO),
            Self::LeaseHeld { .. } => ("E-LEASE-HELD", exit::LEASE),
            Self::LockTimeout { .. } | Self::Restless { .. } => ("E-BUSY", exit::LEASE),
        };
        (code, exit, self.hint())
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::NoState { has_journal: true, .. } => {
                "`descent log --bytes` prints the newest commit that is kept: put that back, or begin anew with `descent align`"
            }
            Self::NoState { .. } => "make one with `descent align`",
            Self::NotAgreed { .. } => "descent run",
            Self::IsDirectory { .. } => "name a file with `--state`",
            Self::Link { .. } => {
                "put the file itself back; or end the loop first: the next start follows the link"
            }
            Self::LinkToNothing { .. } => {
                "put back what it leads to, or mount its disk; or remove the link, and align anew"
            }
            Self::Empty { .. } => {
                "`descent log --bytes` prints the newest commit that is kept: put that back, or remove the file"
            }
            Self::Invalid { .. } => "fix the places named; nothing is written until then",
            Self::Exists { .. } => {
                "look at it with `descent status`; `descent align --force` archives it, `--state` names another"
            }
            Self::TooLarge { .. } => {
                "nothing was written; make room with `descent edit`: shorten or remove what is large"
            }
            Self::Newer { .. } => {
                "use a newer descent; `descent status` shows what this one understands"
            }
            Self::Older { .. } => BEGIN_ANEW,
            Self::NotNext { .. } => "this is a bug of descent: please report it",
            Self::Vanished { .. } => "put the file back, or start anew with `descent align`",
            Self::Moved { .. } => {
                "put the directory back, or start again: what was committed lies in the one that was moved"
            }
            Self::Unreadable { .. } => "look at the file's owner, its mode and the disk",
            Self::Sidecar { .. } => "nothing was written through it; remove or move it, then retry",
            Self::ReadOnly { .. } => "make the directory of the state file writable",
            Self::DiskFull { .. } => "free some space; the state is as it was",
            Self::FileLimit { .. } => {
                "raise the limit of this shell (`ulimit -f unlimited`); the state is as it was"
            }
            Self::Io { .. } => "look at the disk; the state is whole, old or new",
            Self::LeaseHeld { .. } => "look with `descent status`, end it with `descent stop`",
            Self::LockTimeout { .. } => "try again; a process that holds it may be suspended",
            Self::Restless { .. } => "let the other program that writes the file come to rest",
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (details, lack) = (error.details(), error.lack());
        let (code, exit, hint) = error.facts();
        let failure = Failure::new(code, exit, &error, hint);
        failure.with(details).lacking(lack)
    }
}

/// One line for each of these faults of that file.
pub(super) fn lines(path: &Path, faults: &[PlacedFault]) -> Vec<String> {
    faults.iter().map(|at| format!("{}:{at}", path.display())).collect()
}

/// A number of faults, in words.
pub fn count(faults: usize) -> String {
    match faults {
        1 => "1 fault".to_owned(),
        more => format!("{more} faults"),
    }
}

// A fault in a state file, with the place where a person finds it.

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacedFault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    #[serde(flatten)]
    pub fault: Fault,
}

impl fmt::Display for PlacedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column, fault) = (self.line, self.column, &self.fault);
        let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
        let (pointer, message) = (on_one_line(pointer), on_one_line(&fault.message));
        write!(f, "{line}:{column}: {pointer}: {message}")?;
        match &fault.hint {
            Some(hint) => write!(f, " ({})", on_one_line(hint)),
            None => Ok(()),
        }
    }
}

/// A key of the file may hold a line break, and what follows must not look like a line of ours.
fn on_one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}
