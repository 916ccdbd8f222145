//! Places that a run needs and that were there when it began. While one is missing, no failure tells anything of the work.

use std::path::PathBuf;

use super::{git::Worktrees, places};
use crate::failure::{Failure, Lack, exit};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingPlace {
    /// The person's repository: it can be put back, and is waited for.
    Repository(PathBuf),
    /// The cache with the workspaces: what was in it is lost, and the next run makes it anew.
    Cache(PathBuf),
}

impl Worktrees {
    pub(super) fn missing(&self) -> Option<MissingPlace> {
        if !places::is_noted(self.cache()) {
            return Some(MissingPlace::Cache(self.cache().to_owned()));
        }
        let git_dir = self.repository()?.common_dir();
        let is_there = git_dir.join("objects").is_dir();
        (!is_there).then(|| MissingPlace::Repository(git_dir.to_owned()))
    }
}

impl From<MissingPlace> for Failure {
    fn from(missing: MissingPlace) -> Self {
        match missing {
            MissingPlace::Repository(path) => {
                let message = format!("the repository {} is not there", path.display());
                Self::new("E-REPOSITORY-AWAY", exit::UNAVAILABLE, message, "")
                    .lacking(Some(Lack::Repository))
            }
            MissingPlace::Cache(path) => {
                let message =
                    format!("the cache {} was removed while it was in use", path.display());
                let hint =
                    "`descent run` makes it anew, and makes again the attempts that worked in it";
                Self::new("E-CACHE", exit::UNAVAILABLE, message, hint)
            }
        }
    }
}
