//! The one door to git: a dozen verbs, each a few runs of the git program, with ids as input and
//! output.
//!
//! The person's repository (`Git::open`) is read; only `apply` writes to it. Everything we make
//! goes into a repository of our own. It borrows the person's objects (`Git::lineage`), or is the
//! only one (`Git::private`).
//!
//! Not here: where trees are and when they are made (`workspace`), what a candidate is worth
//! (`verify`). All functions block; nothing here knows an async runtime.
//!
//! Invariants: git's environment is built from nothing, and no hook and no prompt runs. The
//! person's files and repository change only in `apply`, except the one reference that keeps their
//! HEAD of the start. Every id returned exists in the object store. The same inputs give the same
//! ids.

mod apply;
mod call;
mod candidate_commit;
mod checkout;
mod diff;
mod durable;
mod git_disk;
mod git_error;
mod host;
mod index;
mod lineage;
mod not_taken;
mod private_repository;
mod put_files;
mod query;
mod refs;
mod settings;
mod snapshot;
mod source_times;
mod status;
#[cfg(test)]
mod tests;
mod trees;

pub use apply::ApplyOutcome;
pub use candidate_commit::{AttemptTree, Candidate, LandingSpec, LaySpec};
pub use checkout::Leftovers;
pub use diff::Change;
pub use diff::{BranchOutcome, FileLines};
pub use git_disk::write_new_file;
pub use git_error::GitError;
pub use query::WrittenText;
pub use source_times::SourceTimes;
pub(crate) use source_times::{FileTime, changed};
pub use status::Stamps;

use descent_core::id::{CommitId, TreeId};
use descent_process::{Programs, programs};
use descent_system::{
    clock::{self, Stopwatch},
    files,
};
use diff::KnownDiffs;
use host::{Env, GitHost};
use settings::KeptFiles;
use std::{
    collections::HashMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// How long a repository counts as it was opened: a command opens it several times within this time.
const OPENED_FOR_MS: u64 = 1_000;

/// Repositories that this process opened a moment ago.
static OPENED: Mutex<Vec<OpenedRepository>> = Mutex::new(Vec::new());

struct OpenedRepository {
    /// As it is found without git, from any directory below.
    top: PathBuf,
    git: Git,
    age: Stopwatch,
}

/// A repository with a working tree, and the git program for it.
#[derive(Debug, Clone)]
pub struct Git(Arc<Repository>);

#[derive(Debug, Clone)]
struct Repository {
    host: GitHost,
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// The repository whose objects ours borrows; `None` if it borrows from nobody.
    person: Option<Git>,
    /// The files that decide about bytes; `None` in the person's repository.
    kept: Option<Arc<KeptFiles>>,
    /// The person's environment, under which repositories inside this one are opened.
    theirs: Env,
    /// Trees of commits, which never change; cleared when there are too many.
    trees: Arc<Mutex<HashMap<CommitId, TreeId>>>,
    diffs: Arc<Mutex<KnownDiffs>>,
}

impl Git {
    /// The repository around `dir`; `None` outside of any working tree.
    pub fn open(dir: &Path) -> Result<Option<Self>, GitError> {
        Self::open_on(programs::real(), dir)
    }

    /// Like [`Git::open`], with the runner of git.
    pub(crate) fn open_on(
        programs: Arc<dyn Programs>,
        dir: &Path,
    ) -> Result<Option<Self>, GitError> {
        let theirs: Env = std::env::vars_os().collect();
        let dir = dir.canonicalize().map_err(GitError::io(dir))?;
        let Some(top) = files::top_of(&dir) else { return Ok(None) };
        let opened = || {
            let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            opened.retain(|known| known.age.passed_ms() < OPENED_FOR_MS);
            opened
        };
        let is_it = |known: &&OpenedRepository| known.top == top && known.git.0.theirs == theirs;
        if let Some(known) = opened().iter().find(is_it) {
            return Ok(Some(known.git.run_by(programs)));
        }
        let found = Self::open_with(programs, &dir, &theirs)?;
        let age = Stopwatch::start(clock::real());
        opened().extend(found.clone().map(|git| OpenedRepository {
            top: top.to_owned(),
            git,
            age,
        }));
        Ok(found)
    }

    /// The same repository, with another runner of git.
    fn run_by(&self, programs: Arc<dyn Programs>) -> Self {
        let host = self.host().run_by(programs);
        Self(Arc::new(Repository { host, ..Repository::clone(&self.0) }))
    }

    /// `theirs` is the person's whole environment.
    fn open_with(
        programs: Arc<dyn Programs>,
        dir: &Path,
        theirs: &Env,
    ) -> Result<Option<Self>, GitError> {
        let dir = dir.canonicalize().map_err(GitError::io(dir))?;
        // Then git need not be asked.
        if files::top_of(&dir).is_none() {
            return Ok(None);
        }
        let host = GitHost::read(programs, &dir, theirs)?;
        let Some([git_dir, common_dir, top]) = locate(&host, &dir)? else { return Ok(None) };
        let common_dir = common_dir.canonicalize().map_err(GitError::io(common_dir))?;
        Ok(Some(Self(Arc::new(Repository {
            host,
            top,
            git_dir,
            common_dir,
            person: None,
            kept: None,
            theirs: theirs.clone(),
            trees: Arc::default(),
            diffs: Arc::default(),
        }))))
    }

    /// The top of the person's working tree.
    pub fn top(&self) -> &Path {
        &self.0.top
    }

    /// The directory that all worktrees of the repository share.
    pub(crate) fn common_dir(&self) -> &Path {
        &self.0.common_dir
    }

    /// Whether commits have a default author, because the person configured none.
    pub fn identity_is_default(&self) -> bool {
        self.0.host.identity_is_default
    }

    /// Whether it may lack objects that a remote promised.
    pub fn is_partial(&self) -> bool {
        settings::is_partial(&self.0.host.settings)
    }

    /// Whether only this program writes to it.
    fn is_ours(&self) -> bool {
        self.0.kept.is_some()
    }

    fn host(&self) -> &GitHost {
        &self.0.host
    }

    /// The git directory of this working tree; in a linked worktree it differs from `common_dir`.
    fn git_dir(&self) -> &Path {
        &self.0.git_dir
    }
}

/// The version of the git that is used in `dir`, a repository or not.
pub fn version(dir: &Path) -> Result<(u32, u32), GitError> {
    let theirs: Env = std::env::vars_os().collect();
    GitHost::read(programs::real(), dir, &theirs).map(|host| host.version)
}

fn locate(host: &GitHost, dir: &Path) -> Result<Option<[PathBuf; 3]>, GitError> {
    let args = "rev-parse --path-format=absolute --is-bare-repository --is-inside-work-tree --git-dir \
                --git-common-dir --show-toplevel";
    let ran = host.run(dir, args.split(' ').map(Into::into).collect(), Vec::new(), None)?;
    if ran.stdout.starts_with(b"true\nfalse\n") {
        return Err(GitError::Bare { dir: dir.to_owned() });
    }
    if ran.stdout.starts_with(b"false\nfalse\n") {
        return Ok(None);
    }
    if !ran.status.success() {
        return if String::from_utf8_lossy(&ran.stderr).contains("not a git repository (or any") {
            Ok(None)
        } else {
            Err(call::failed("rev-parse", &ran))
        };
    }
    let lines: Vec<&[u8]> = ran.stdout.trim_ascii_end().split(|byte| *byte == b'\n').collect();
    match lines[..] {
        [_, _, git_dir, common_dir, top] => {
            Ok(Some([git_dir, common_dir, top].map(|path| PathBuf::from(OsStr::from_bytes(path)))))
        }
        _ => Err(GitError::Odd { verb: "rev-parse" }),
    }
}
