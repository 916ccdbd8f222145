//! Commits the person's present working tree; their files and their index stay untouched.

use super::{
    Git, GitError,
    call::{as_path, shown},
    index::PrivateIndex,
    not_taken,
    status::{IndexUpdates, OWN_DIR, StatusKind, WorkTreeStatus, is_within},
    status::{Link, Listing},
};
use descent_core::{
    id::TreeId,
    state::{Extra, StartedFrom},
};
use std::path::{Path, PathBuf};

/// Beyond this size, files that are new to git are reported, and untracked ones are not taken.
pub(super) const TOLD_BYTES: u64 = 100 << 20;
const UNTRACKED_BYTES_MAX: u64 = 2 << 30;

/// The start of a run as it was taken, and messages for the person. Its commit is HEAD itself if nothing differs from it.
pub(crate) type Snapshot = (StartedFrom, Vec<String>);

/// The total of some files, and the largest of them.
#[derive(Debug, Default)]
pub(super) struct FileTotals {
    pub(super) bytes: u64,
    pub(super) largest: PathBuf,
}

/// The note on a path that is not taken.
pub(super) fn left_out(path: &str, why: &str) -> String {
    format!("left out: {path} ({why})")
}

pub(super) const NESTED: &str = "a repository of its own";
pub(super) const REFUSED: &str = "git takes no such name";

impl Git {
    /// Commits tracked changes, deletions and untracked files that are not ignored, on HEAD and
    /// with HEAD's time. The same files on the same HEAD give the same commit, so that a lost start
    /// can be made again. `scratch` is an existing directory, for a private index.
    ///
    /// No note names a repository in `cache`: ours are nested in a repository that is a home directory.
    pub fn snapshot(
        &self,
        scratch: &Path,
        message: &str,
        cache: &Path,
    ) -> Result<Snapshot, GitError> {
        let (mut start, notes) = self.take_files(scratch, UNTRACKED_BYTES_MAX, cache)?;
        if start.dirty {
            let (head, tree) = (&start.head, &start.tree);
            // Objects that the person had staged or once committed become ours too: their gc may remove theirs.
            self.own(&self.objects_between(head, tree)?)?;
            start.commit = self.commit_tree(tree, head, message, self.time_of(head)?)?;
            self.own(&[start.commit.to_string(), tree.to_string()])?;
        }
        Ok((start, notes))
    }

    /// The tree that a snapshot would have; `None` where too many bytes would be read for it. Nothing of it is durable.
    pub(crate) fn tree_of_files(&self, scratch: &Path) -> Result<Option<TreeId>, GitError> {
        match self.take_files(scratch, TOLD_BYTES, scratch) {
            Ok((start, _)) => Ok(Some(start.tree)),
            Err(GitError::UntrackedLarge { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn take_files(
        &self,
        scratch: &Path,
        untracked_max: u64,
        cache: &Path,
    ) -> Result<Snapshot, GitError> {
        not_taken::refuse_in(self.top(), Path::new(""))?;
        let index = PrivateIndex::new(scratch)?;
        self.fill_from_person(&index)?;
        // Every new object becomes ours.
        let call =
            |words| index.of(self.person().call(words).env("GIT_OBJECT_DIRECTORY", self.objects()));
        let (listing, status) = self.look_at_all(&index)?;
        let head = status.head.clone().ok_or_else(|| self.no_commits())?;
        let mut taking = IndexUpdates::of(&status.entries, self.top(), &[OWN_DIR.to_vec()]);
        // Files of the program's own that the person staged, and that HEAD does not have.
        let added = status.entries.iter().filter(|entry| entry.staged == b'A');
        let own = added.filter(|entry| is_within(&entry.path, OWN_DIR));
        taking.remove.extend(own.map(|entry| entry.path.clone()));
        let (modules, mut notes) = self.modules_of(&listing)?;
        taking.left_out.retain(|path| !self.top().join(path).starts_with(cache));
        notes.extend(notes_of(&listing, &status, &taking));
        notes.extend(self.weigh(&status, untracked_max)?);
        let staged = status.entries.iter().any(|entry| entry.staged != b'?');
        let head_tree = self.tree_of(&head)?;
        let tree = if taking.is_empty() && modules.is_empty() && !staged {
            head_tree.clone()
        } else {
            self.take_links(&modules, call)?;
            // All files that `update-index` reads go into one pack, which needs one sync; not those made by a filter.
            let refused = self.take(&taking, |words| {
                call(words).setting("core.bigFileThreshold=1").setting("pack.compression=1")
            })?;
            notes.extend(refused.iter().map(|path| left_out(path, REFUSED)));
            TreeId::new(call("write-tree").ok_id()?)
        };
        let start = StartedFrom {
            dirty: tree != head_tree,
            commit: head.clone(),
            tree,
            head,
            branch: status.branch,
            extra: Extra::default(),
        };
        Ok((start, notes))
    }

    /// The index's entries and their differences, including files that git was told to ignore.
    fn look_at_all(&self, index: &PrivateIndex) -> Result<(Listing, WorkTreeStatus), GitError> {
        let call = |verb| index.of(self.at_home(verb));
        let (listing, status) = std::thread::scope(|scope| {
            let listing = scope.spawn(|| self.listing(call("ls-files")));
            let status = self.status(call("status"), true);
            (listing.join().expect("BUG: no panic in a listing"), status)
        });
        let (listing, status) = (listing?, status?);
        if listing.marked.is_empty() {
            return Ok((listing, status));
        }
        for no_mark in ["--no-assume-unchanged", "--no-skip-worktree"] {
            call("update-index")
                .args([no_mark, "-z", "--stdin"])
                .stdin_paths(&listing.marked)
                .ok()?;
        }
        let status = self.status(call("status"), true)?;
        Ok((listing, status))
    }

    /// The submodules whose commit differs from the index, and links that are none.
    fn modules_of(&self, listing: &Listing) -> Result<(Vec<Link>, Vec<String>), GitError> {
        if listing.links.is_empty() {
            return Ok(Default::default());
        }
        if self.has_modules(self.top()) {
            return Ok((self.person().moved_modules(&listing.links)?, Vec::new()));
        }
        let nested = |link: &Link| left_out(&shown(&link.path), NESTED);
        Ok((Vec::new(), listing.links.iter().map(nested).collect()))
    }

    /// Untracked files may be data that nobody wants twice on the disk.
    fn weigh(&self, status: &WorkTreeStatus, bytes_max: u64) -> Result<Option<String>, GitError> {
        let untracked = status.entries.iter().filter(|entry| entry.kind == StatusKind::Untracked);
        let weight = self.weight(untracked.map(|entry| &entry.path[..]));
        let (megabytes, largest) = (weight.bytes >> 20, weight.largest);
        if weight.bytes > bytes_max {
            return Err(GitError::UntrackedLarge {
                megabytes,
                pattern: format!("/{}", largest.display()),
                largest: self.top().join(largest),
                exclude: self.person().common_dir().join("info/exclude"),
            });
        }
        let path = largest.display().to_string();
        Ok((weight.bytes > TOLD_BYTES).then(|| {
            format!(
                "{megabytes} MB of untracked files are copied into the repository, the largest is {path}; what is no part of the project goes into .gitignore"
            )
        }))
    }

    /// The total size of files of the working tree.
    pub(super) fn weight<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> FileTotals {
        let mut weight = FileTotals::default();
        let mut largest_bytes = 0;
        for path in paths.map(as_path) {
            let meta = self.top().join(path).symlink_metadata();
            let bytes = meta.map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 });
            weight.bytes = weight.bytes.saturating_add(bytes);
            if bytes > largest_bytes {
                (largest_bytes, weight.largest) = (bytes, path.to_owned());
            }
        }
        weight
    }

    fn fill_from_person(&self, index: &PrivateIndex) -> Result<(), GitError> {
        if index.fill_from(&self.person().git_dir().join("index"))? {
            return Ok(());
        }
        let head = self.resolve("HEAD")?.ok_or_else(|| self.no_commits())?;
        index.of(self.at_home("read-tree")).id(head).ok().map(drop)
    }

    fn no_commits(&self) -> GitError {
        let top = self.top().to_owned();
        GitError::NoCommits { top }
    }
}

fn notes_of(listing: &Listing, status: &WorkTreeStatus, taking: &IndexUpdates) -> Vec<String> {
    let nested = taking.left_out.iter().map(|path| left_out(path, NESTED));
    let closed = status.closed.iter().map(|path| left_out(path, "it cannot be read"));
    let no_file = taking.no_file.iter().map(|path| left_out(path, "no file any more"));
    let entries = status.entries.iter();
    let conflicts = entries.filter(|entry| entry.kind == StatusKind::Unmerged).map(|entry| {
        format!("taken with the marks of an unresolved conflict: {}", shown(&entry.path))
    });
    let entries = status.entries.iter();
    let marked =
        entries.filter(|entry| entry.worked != b'.' && listing.marked.contains(&entry.path));
    let marked = marked.map(|entry| {
        format!("taken as it is, though git is told to look away: {}", shown(&entry.path))
    });
    let own = listing.holds_own.then(|| {
        "warning: .descent is tracked by git, which it should not be; take it out: git rm -r -q --cached .descent"
            .to_owned()
    });
    nested.chain(closed).chain(no_file).chain(conflicts).chain(marked).chain(own).collect()
}
