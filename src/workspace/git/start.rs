//! The start of a run: a snapshot of the person's working tree, or a commit that they name.
//!
//! Not here: how a private repository gets a lost start back (`shadow`).

use std::collections::BTreeSet;

use descent_core::state::{Extra, StartedFrom};

use super::{Result, Worktrees};
use crate::git::SnapshotNote;

const SNAPSHOT_MESSAGE: &str = "descent: the working tree as it was\n";

impl Worktrees {
    /// The person's working tree as it is now.
    pub fn snapshot(&self) -> Result<StartedFrom> {
        let scratch = self.scratch()?;
        let seen = match self.is_private {
            true => self.git.snapshot_all(scratch, &self.left_out())?,
            false => self.git.snapshot(scratch, SNAPSHOT_MESSAGE)?,
        };
        if let Ok(mut notes) = self.notes.lock() {
            let theirs = seen.notes.iter().filter(|note| !self.is_about_us(note));
            *notes = theirs.map(SnapshotNote::text).collect();
        }
        Ok(StartedFrom {
            commit: seen.commit,
            tree: seen.tree,
            head: seen.head,
            branch: seen.branch,
            dirty: seen.dirty,
            extra: Extra::default(),
        })
    }

    /// In a repository that is a home directory, our own worktrees are nested repositories: no news for a person.
    fn is_about_us(&self, note: &SnapshotNote) -> bool {
        let SnapshotNote::Nested(path) = note else {
            return false;
        };
        self.git.top().join(path).starts_with(self.whole_cache())
    }

    /// The same as the start of a run: kept, and durable.
    pub fn start(&self) -> Result<StartedFrom> {
        let start = self.snapshot()?;
        self.hold(&start)?;
        Ok(start)
    }

    /// Keeps the start of a run through gc and a power cut: in our own repository, and the person's part of it in
    /// theirs.
    pub(super) fn hold(&self, start: &StartedFrom) -> Result<()> {
        let reference = format!("{}/start", self.refs);
        self.git.set_ref(&reference, &start.commit)?;
        if !self.is_private {
            self.git.person().hold_start(&self.refs, &start.head)?;
        }
        Ok(self.git.sync_all()?)
    }

    /// The commit that the person names instead of their working tree; `None` if there is none.
    pub fn start_from(&self, rev: &str) -> Result<Option<StartedFrom>> {
        let Some(commit) = self.git.resolve(rev)? else {
            return Ok(None);
        };
        let start = StartedFrom {
            tree: self.git.tree_of(&commit)?,
            head: commit.clone(),
            commit,
            branch: Some(rev.to_owned()),
            dirty: false,
            extra: Extra::default(),
        };
        self.hold(&start)?;
        Ok(Some(start))
    }

    /// Whether the start commit of the run is there, with all that it has beside the person's own.
    pub fn start_is_there(&self, start: &StartedFrom) -> Result<bool> {
        if self.is_private {
            return Ok(self.git.holds_all_of(&start.commit)?);
        }
        if !self.git.exists(&start.commit)? {
            return Ok(false);
        }
        if start.commit == start.head || !self.git.exists(&start.head)? {
            return Ok(true);
        }
        let commit = BTreeSet::from([start.commit.clone()]);
        Ok(self.git.unsound(&start.head, &commit)?.is_empty())
    }

    /// Takes in the references that versions before 2.1 kept in the person's repository; tells which moved.
    pub fn move_in(&self, start: &StartedFrom) -> Result<Option<String>> {
        let is_moved = match self.is_private {
            true => self.is_moved,
            false if self.git.has_old_layout(&self.refs)? => {
                self.git.move_in(&self.refs, &start.head, &self.cache)?;
                true
            }
            false => false,
        };
        let to = self.git.common_dir().display();
        Ok(is_moved.then(|| format!("what earlier versions made of this run was moved to {to}")))
    }
}
