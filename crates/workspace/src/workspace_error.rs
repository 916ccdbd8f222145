//! Workspace errors: one sentence each, a stable code, and the next step.

use std::{io, path::PathBuf};

use crate::git::GitError;
use descent_process::tool::ToolError;
use descent_system::failure::{self, Failure, OutsideCause, exit, quoted};

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("{} is not in a git repository with a working tree", project.display())]
    NotARepository { project: PathBuf },
    #[error("the run did not begin in the repository of {}, which git finds from {}", top.display(), project.display())]
    OtherRepository { project: PathBuf, top: PathBuf },
    #[error("the cache {} cannot be written", path.display())]
    CacheUnwritable { path: PathBuf, source: io::Error },
    #[error("there is no place for workspaces, since neither XDG_CACHE_HOME nor HOME is set")]
    NoHome,
    #[error("the state names no commit to work on")]
    NoBase,
    #[error("{} is no directory in that commit, so that the project has no place there", path.display())]
    NoProject { path: PathBuf },
    #[error("`link` names '{path}', which is no path of the project that may be shared")]
    BadLink { path: String },
    #[error("`{}` leads back into the project, to {}: a check would judge your files there, not a result", at.display(), to.display())]
    LeadsBack {
        at: PathBuf,
        to: PathBuf,
        /// The linked path that it is in; a link of the tree is in none.
        link: Option<PathBuf>,
    },
    #[error("`{key}` names '{glob}', which is no pattern: {fault}")]
    BadGlob { key: &'static str, glob: String, fault: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{} cannot be read or written: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl WorkspaceError {
    /// The stable code, and the exit code by the contract's table.
    pub fn codes(&self) -> (&'static str, u8) {
        match self {
            Self::CacheUnwritable { .. } | Self::NoHome => ("E-CACHE", exit::UNAVAILABLE),
            Self::NotARepository { .. } | Self::OtherRepository { .. } | Self::NoProject { .. } => {
                ("E-REPOSITORY", exit::UNAVAILABLE)
            }
            Self::Io { .. } | Self::Git(GitError::Io { .. }) => ("E-IO", exit::IO),
            Self::Git(error) if error.is_of_repository() => ("E-REPOSITORY", exit::UNAVAILABLE),
            Self::Git(_) => ("E-GIT", exit::UNAVAILABLE),
            Self::NoBase => ("E-BUG", exit::BUG),
            Self::LeadsBack { .. } => ("E-LEADS-BACK", exit::INVALID),
            Self::BadLink { .. } | Self::BadGlob { .. } => ("E-INVALID", exit::INVALID),
        }
    }

    pub fn hint(&self) -> String {
        match self {
            Self::NotARepository { .. } => {
                "let descent keep one of its own: `--set workspace=shadow`; \
                 or make one: git init && git add -A && git commit --allow-empty -m start"
                    .into()
            }
            Self::OtherRepository { .. } => {
                "put the project's .git, or the project, back where it was; or begin anew: descent align --force".into()
            }
            Self::CacheUnwritable { .. } => {
                "mend its permissions or free space, or name another place in XDG_CACHE_HOME".into()
            }
            Self::NoHome => "set HOME, or an absolute path in XDG_CACHE_HOME".into(),
            Self::NoBase => "please report this".into(),
            Self::NoProject { .. } => {
                "the directory that checks start in must stay one: git log -1 PATH tells who changed it".into()
            }
            Self::BadLink { .. } => {
                "a relative path without `..`, .git and .descent, such as \"node_modules\"".into()
            }
            Self::LeadsBack { link: None, .. } => {
                "make it a relative link; a run that has begun then needs: descent redirect --from .".into()
            }
            Self::LeadsBack {
                link: Some(link), ..
            } => format!(
                "leave out `--link {}`, and make it in each checkout: --setup COMMAND; a run that was agreed: descent run --set link=null --set setup=COMMAND",
                quoted(link)
            ),
            Self::BadGlob { .. } => "a pattern like \"tests/**\"".into(),
            Self::Git(error) => error.hint(),
            Self::Io { .. } => "check its permissions and the space on its disk".into(),
        }
    }

    /// The cause, if something outside of the work failed.
    pub(super) fn cause(&self) -> Option<OutsideCause> {
        match self {
            Self::CacheUnwritable { source, .. }
            | Self::Io { source, .. }
            | Self::Git(
                GitError::Io { source, .. }
                | GitError::Unreadable { source, .. }
                | GitError::Tool(ToolError::Read { source, .. }),
            ) => OutsideCause::of(source),
            Self::Git(GitError::Tool(ToolError::Start { source, .. })) => {
                let lack = failure::lack_at_start(source).map(OutsideCause::Lack);
                lack.or_else(|| OutsideCause::of(source))
            }
            Self::Git(GitError::Tool(ToolError::TooLong { .. })) => Some(OutsideCause::Killed),
            Self::Git(GitError::Failed { cause, .. }) => *cause,
            _ => None,
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        WorkspaceError::from(error).into()
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let (code, exit) = error.codes();
        Failure::new(code, exit, &error, error.hint()).because(error.cause())
    }
}
