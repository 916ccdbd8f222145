//! Everything that can go wrong with git: one sentence each, and the next thing to do.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use descent_process::tool::ToolError;
use descent_system::{
    failure::{Lack, OutsideCause, quoted},
    files::PathKind,
};

/// The oldest git with `merge-tree --write-tree --merge-base`.
pub(super) const OLDEST: (u32, u32) = (2, 40);

fn oldest() -> String {
    format!("{}.{}", OLDEST.0, OLDEST.1)
}

/// Bytes kept of a failed git's standard error.
const STDERR_TAIL_BYTES: usize = 2000;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed")]
    Missing,
    #[error("git {found} is too old, {} or later is needed", oldest())]
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
    Locked { verb: &'static str, stderr_tail: String },
    #[error("{} is tracked by git, so that another may have written it", path.display())]
    Tracked { path: PathBuf, inside: PathBuf },
    #[error("{} is no directory, so that it cannot be the repository of a run", path.display())]
    NoDirectory { path: PathBuf },
    #[error("`{}` {what}, so that nothing is read from the repository of a run that it lies in", path.display())]
    NotPlain { path: PathBuf, what: PathKind },
    #[error("git does not trust the repository, which belongs to somebody else: {stderr_tail}")]
    NotOwned { stderr_tail: String },
    #[error("{} is a bare repository, without files to work on", dir.display())]
    Bare { dir: PathBuf },
    #[error("the filter '{filter}' of this repository fails on {path}: {message}")]
    Filter { filter: String, path: String, message: String },
    #[error("a filter of this repository ended at once: {message}")]
    FilterEnded { message: String },
    #[error("this partial clone lacks files that are needed, and nothing is fetched: {what}")]
    NotHere { what: String, bring: String },
    #[error("{} cannot be read, and git does not ignore it", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the submodule {} has changes that are not committed: {what}", path.display())]
    ModuleDirty { path: PathBuf, what: String },
    #[error("the submodule {} lacks the commit {commit} that the project names", path.display())]
    ModuleCommit { path: PathBuf, commit: String },
    #[error("changes in a submodule cannot be part of the result: {}", paths.join(", "))]
    ModuleChanged { paths: Vec<String> },
    #[error("`{path}` {what}, and git would wait for it")]
    WaitedFor { path: String, what: PathKind },
    #[error("untracked files of {megabytes} MB would be copied into the repository, the largest is {}", largest.display())]
    UntrackedLarge { megabytes: u64, largest: PathBuf, exclude: PathBuf, pattern: String },
    #[error("git {verb} failed ({status}): {stderr_tail}")]
    Failed {
        verb: &'static str,
        status: ExitStatus,
        stderr_tail: String,
        cause: Option<OutsideCause>,
    },
    #[error("git {verb} gave an answer that cannot be understood")]
    Odd { verb: &'static str },
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{} cannot be read or written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl GitError {
    /// Whether the repository, as a person left it, is the reason: not git itself.
    pub(crate) fn is_of_repository(&self) -> bool {
        matches!(
            self,
            Self::Bare { .. }
                | Self::NoCommits { .. }
                | Self::Tracked { .. }
                | Self::NoDirectory { .. }
                | Self::NotPlain { .. }
                | Self::NotOwned { .. }
                | Self::Filter { .. }
                | Self::FilterEnded { .. }
                | Self::NotHere { .. }
                | Self::Unreadable { .. }
                | Self::ModuleDirty { .. }
                | Self::ModuleCommit { .. }
                | Self::UntrackedLarge { .. }
        )
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Missing => {
                "install git and see that it is on PATH, or `--set workspace=shared`".into()
            }
            Self::TooOld { .. } => {
                format!("install git {} or later, or `--set workspace=shared`", oldest())
            }
            Self::NoCommits { top } => format!(
                "make the first one: git -C {} add -A && git -C {0} commit --allow-empty -m start",
                quoted(top)
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
            Self::Tracked { inside, .. } => format!(
                "take it out of git, and away, if it is not yours: git rm -r --cached {}",
                quoted(inside)
            ),
            Self::NoDirectory { path } | Self::NotPlain { path, .. } => {
                format!("look at it, and move it away: ls -l {}", quoted(path))
            }
            Self::NotOwned { stderr_tail } => format!(
                "if you trust its owner: git config --global --add safe.directory {}",
                quoted(Path::new(between_quotes(stderr_tail).unwrap_or("DIR")))
            ),
            Self::Bare { dir } => format!(
                "make a working tree of it, and go there: git -C {} worktree add ../work",
                quoted(dir)
            ),
            Self::Filter { filter, .. } => format!(
                "install what it runs, or fix it: git config --get-regexp '^filter\\.{filter}\\.'"
            ),
            Self::FilterEnded { .. } => {
                "install what it runs, or fix it: git config --get-regexp '^filter\\.'".into()
            }
            Self::NotHere { bring, .. } => format!("bring them here, then the same again: {bring}"),
            Self::Unreadable { path, .. } => {
                format!("chmod u+r {}, or let git ignore it", quoted(path))
            }
            Self::ModuleDirty { path, .. } => {
                let path = quoted(path);
                format!("commit or put them away there: git -C {path} stash -u")
            }
            Self::ModuleCommit { path, .. } => {
                let parent = quoted(path.parent().unwrap_or(path));
                let name = quoted(Path::new(path.file_name().unwrap_or_default()));
                format!("git -C {parent} submodule update --init {name}")
            }
            Self::ModuleChanged { .. } => "commit such work in the submodule yourself".into(),
            Self::WaitedFor { path, .. } => {
                format!("leave a file under that name, or nothing: {path}")
            }
            Self::UntrackedLarge {
                exclude, pattern, ..
            } => format!(
                "what is no part of the project is ignored: echo {} >> {}; what is one: git add it",
                quoted(pattern),
                quoted(exclude)
            ),
            Self::Failed {
                cause: Some(OutsideCause::Lack(Lack::Space)),
                ..
            } => "free some space, then the same again".into(),
            Self::Failed { .. } | Self::Odd { .. } => {
                "see that 'git status' and 'git fsck' find no fault in the repository; if so, report this with `git --version`".into()
            }
            Self::Tool(error) => error.hint().into(),
            Self::Io { .. } => "check its permissions and the space on its disk".into(),
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Whether a retry in a fresh directory may help.
    pub(super) fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::Locked { .. } | Self::Odd { .. } | Self::Io { .. }
        )
    }

    pub(super) fn failed(verb: &'static str, status: ExitStatus, stderr: &[u8]) -> Self {
        let stderr_tail = tail(stderr);
        if stderr_tail.contains(".lock': File exists") {
            return Self::Locked { verb, stderr_tail };
        }
        if stderr_tail.contains("dubious ownership") {
            let line = stderr_tail.lines().next().unwrap_or_default();
            let stderr_tail = line.trim_start_matches("fatal: ").to_owned();
            return Self::NotOwned { stderr_tail };
        }
        if let Some(error) = filter_of(&stderr_tail) {
            return error;
        }
        if stderr_tail.contains("the remote end hung up unexpectedly") {
            let message = stderr_tail.lines().next().unwrap_or_default().to_owned();
            return Self::FilterEnded { message };
        }
        if stderr_tail.contains("lazy fetching disabled") {
            let what = stderr_tail.lines().last().unwrap_or_default();
            return Self::NotHere {
                what: what.trim_start_matches("fatal: ").to_owned(),
                bring: "git fetch --refetch --no-filter".to_owned(),
            };
        }
        Self::Failed {
            cause: OutsideCause::of_tool(status, &stderr_tail),
            verb,
            status,
            stderr_tail,
        }
    }
}

fn between_quotes(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    Some(rest.rsplit_once('\'')?.0)
}

/// Reads `fatal: PATH: clean filter 'NAME' failed`, with the lines before it.
fn filter_of(stderr: &str) -> Option<GitError> {
    let at = stderr.rfind("fatal: ")?;
    let line = stderr[at..].strip_prefix("fatal: ")?.lines().next()?;
    let words = line.strip_suffix(" failed")?;
    let (path, filter) = [": clean filter ", ": smudge filter "]
        .iter()
        .find_map(|words_between| words.rsplit_once(words_between))?;
    let message = stderr[..at].lines().next().unwrap_or_default();
    Some(GitError::Filter {
        filter: filter.trim_matches('\'').to_owned(),
        path: path.to_owned(),
        message: message.trim_start_matches("error: ").to_owned(),
    })
}

fn tail(stderr: &[u8]) -> String {
    let from = stderr.len().saturating_sub(STDERR_TAIL_BYTES);
    String::from_utf8_lossy(&stderr[from..]).trim().to_owned()
}
