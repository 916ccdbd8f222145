//! The start of a run: a snapshot of the person's working tree, or a commit that they name.
//!
//! Not here: how a private repository gets a lost start back (`shadow`).

use std::{collections::BTreeSet, path::Path};

use descent_core::{
    id::{CommitId, TreeId},
    state::{Extra, StartedFrom},
};

use super::{Result, Worktrees};
use crate::git::Leftovers;

/// Longer files of words are passed over.
const WORDS_BYTES_MAX: u64 = 1 << 20;
const SNAPSHOT_MESSAGE: &str = "descent: the working tree as it was\n";

impl Worktrees {
    /// The person's working tree as it is now.
    pub fn snapshot(&self) -> Result<StartedFrom> {
        let scratch = self.scratch()?;
        let (start, theirs) = if self.is_private {
            self.git.snapshot_all(scratch, &self.left_out())?
        } else {
            self.git.snapshot(scratch, SNAPSHOT_MESSAGE, self.whole_cache())?
        };
        let tracked = self.tracked_links(&start.commit)?;
        let tracked = tracked.iter().map(|link| {
            let link = link.display();
            format!("not linked: {link} (it is in the tree, and each attempt works on its own)")
        });
        if let Ok(mut notes) = self.notes.lock() {
            *notes = theirs.into_iter().chain(tracked).collect();
        }
        Ok(start)
    }

    /// The first of these files that a start has with words in it: in the project's directory, else at the top. Nothing
    /// fails by it.
    pub fn words_of_start(&self, start: &CommitId, names: &[&str]) -> Option<(String, String)> {
        let text = |path: &Path| match self.git.file_of(start, path, WORDS_BYTES_MAX) {
            Ok(bytes) => String::from_utf8(bytes?).ok(),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a file of the start cannot be read");
                None
            }
        };
        let places = BTreeSet::from([self.prefix.as_path(), Path::new("")]).into_iter().rev();
        let mut paths = places.flat_map(|dir| names.iter().map(move |name| (name, dir.join(name))));
        paths.find_map(|(name, path)| {
            Some(((*name).to_owned(), text(&path).filter(|text| !text.trim().is_empty())?))
        })
    }

    /// The same as the start of a run: kept, and durable.
    pub fn start(&self) -> Result<StartedFrom> {
        let start = self.snapshot()?;
        self.hold_here(&start)?;
        Ok(start)
    }

    /// Keeps the start of a run through gc and a power cut: in our own repository, and the person's part of it in
    /// theirs.
    pub fn hold(&self, start: &StartedFrom) -> Result<()> {
        if !self.is_private && self.git.person().is_partial() {
            // Objects may lack, and only a checkout tells which are needed.
            self.scratch()?;
            let at = self.cache.join("start");
            let made = self.git.checkout(&at, &start.commit, Leftovers::RemoveAll, None);
            self.git.remove_worktree(&at)?;
            made?;
        }
        self.hold_here(start)
    }

    /// The same for one that lies here as files.
    fn hold_here(&self, start: &StartedFrom) -> Result<()> {
        self.refuse_links_back(&start.commit)?;
        self.git.set_ref(&format!("{}/start", self.refs), &start.commit)?;
        if !self.is_private {
            self.git.person().hold_start(&self.refs, &start.head)?;
        }
        Ok(self.git.sync_all()?)
    }

    /// The commit that the person names instead of their working tree, kept; `None` if there is none.
    pub fn start_from(&self, rev: &str) -> Result<Option<StartedFrom>> {
        let start = self.named(rev)?;
        start.iter().try_for_each(|start| self.hold(start))?;
        Ok(start)
    }

    /// The same, and nothing is kept.
    pub fn named(&self, rev: &str) -> Result<Option<StartedFrom>> {
        let Some(commit) = self.git.resolve(rev)? else { return Ok(None) };
        Ok(Some(StartedFrom {
            tree: self.git.tree_of(&commit)?,
            head: commit.clone(),
            commit,
            branch: Some(rev.to_owned()),
            dirty: false,
            extra: Extra::default(),
        }))
    }

    /// The paths whose files are now neither as in the start nor as in any of `results`, which the person may have
    /// brought home. None where looking would cost too much.
    pub fn moved_since(&self, start: &StartedFrom, results: &[CommitId]) -> Result<Vec<String>> {
        let scratch = self.scratch()?;
        let now = if self.is_private {
            Some(self.git.tree_of_all(scratch, &self.left_out())?)
        } else {
            self.git.tree_of_files(scratch)?
        };
        let Some(now) = now.filter(|now| *now != start.tree) else { return Ok(Vec::new()) };
        let mut moved = self.paths_between(&start.tree, &now)?;
        let results: BTreeSet<&CommitId> = results.iter().collect();
        for result in results {
            if moved.is_empty() || *result == start.commit || !self.is_there(result)? {
                continue;
            }
            let others = self.paths_between(&self.git.tree_of(result)?, &now)?;
            let others: BTreeSet<String> = others.into_iter().collect();
            moved.retain(|path| others.contains(path));
        }
        Ok(moved)
    }

    /// The paths in which two trees differ, but for those in our own cache: a home directory may be a repository.
    pub fn paths_between(&self, old: &TreeId, new: &TreeId) -> Result<Vec<String>> {
        let mut paths = self.git.paths_between(old, new)?;
        paths.retain(|path| !self.git.top().join(path).starts_with(self.whole_cache()));
        Ok(paths)
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
        Ok(self.git.unsound(&start.head, &BTreeSet::from([start.commit.clone()]))?.is_empty())
    }
}
