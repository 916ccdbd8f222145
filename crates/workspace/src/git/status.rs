//! Reads git's listings of a working tree: the porcelain v2 status against an index, the marks of index entries, and
//! ignored or changed files. Nothing is changed here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use descent_core::id::CommitId;

use super::{
    Git, GitError,
    call::{Call, as_id, as_path, fields, shown},
    git_disk,
};

pub(super) const GITLINK: &[u8] = b"160000";

/// The directory of the program's own files: never part of a commit.
pub(super) const OWN_DIR: &[u8] = b".descent";

#[derive(Debug, Default)]
pub(super) struct WorkTreeStatus {
    pub(super) head: Option<CommitId>,
    pub(super) branch: Option<String>,
    pub(super) entries: Vec<StatusEntry>,
    /// Paths that git ignores, if untracked ones were asked for; a directory ends with a slash.
    pub(super) ignored: Vec<Vec<u8>>,
    /// Directories that could not be looked into.
    pub(super) closed: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum StatusKind {
    #[default]
    Tracked,
    Unmerged,
    Untracked,
}

/// One path that differs; the columns as git prints them, `.` for "the same".
#[derive(Debug, Default)]
pub(super) struct StatusEntry {
    pub(super) kind: StatusKind,
    /// The index against HEAD.
    pub(super) staged: u8,
    /// The working tree against the index.
    pub(super) worked: u8,
    pub(super) index_mode: Vec<u8>,
    pub(super) tree_mode: Vec<u8>,
    pub(super) index_id: Vec<u8>,
    pub(super) path: Vec<u8>,
}

/// The updates that make a private index equal to the working tree.
#[derive(Debug, Default)]
pub(super) struct IndexUpdates {
    pub(super) take: Vec<Vec<u8>>,
    pub(super) remove: Vec<Vec<u8>>,
    /// Nested repositories.
    pub(super) left_out: Vec<String>,
    /// Tracked names that are no longer a file, but something else.
    pub(super) no_file: Vec<String>,
    /// Directories that could not be looked into.
    pub(super) closed: Vec<String>,
    /// New paths that git ignores.
    pub(super) ignored: Vec<Vec<u8>>,
    /// Whether it has files of the program's own.
    pub(super) has_own: bool,
}

impl Git {
    /// `call` says which tree and which index.
    pub(super) fn status(
        &self,
        call: Call<'_>,
        untracked: bool,
    ) -> Result<WorkTreeStatus, GitError> {
        let (files, ignored) =
            if untracked { ("-uall", "--ignored=matching") } else { ("-uno", "--ignored=no") };
        let call =
            call.args(["--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"]);
        let ran = call.args([ignored, "--ignore-submodules=all", files]).ran()?;
        let mut status = parse(&ran.stdout).ok_or(GitError::Odd { verb: "status" })?;
        status.closed = closed(&ran.stderr);
        Ok(status)
    }
}

fn parse(output: &[u8]) -> Option<WorkTreeStatus> {
    let mut status = WorkTreeStatus::default();
    for record in fields(output) {
        match record.get(..2)? {
            b"# " => match record.strip_prefix(b"# branch.oid ") {
                Some(id) => status.head = as_id(id).map(CommitId::new),
                None => {
                    let name = record.strip_prefix(b"# branch.head ");
                    let name = name.filter(|name| *name != b"(detached)").map(shown);
                    status.branch = name.or(status.branch);
                }
            },
            b"1 " => status.entries.push(changed(StatusKind::Tracked, record, 9, 5)?),
            b"u " => status.entries.push(changed(StatusKind::Unmerged, record, 11, 6)?),
            b"? " => status.entries.push(StatusEntry {
                kind: StatusKind::Untracked,
                staged: b'?',
                worked: b'?',
                path: record[2..].to_vec(),
                ..StatusEntry::default()
            }),
            b"! " => status.ignored.push(record[2..].to_vec()),
            _ => {}
        }
    }
    Some(status)
}

/// Git passes over such a directory, and says so beside its output.
fn closed(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let dirs = said.lines().filter_map(|line| {
        let dir = line.strip_prefix("warning: could not open directory '")?;
        Some(dir.rsplit_once("': ")?.0.trim_end_matches('/').to_owned())
    });
    dirs.collect()
}

/// `columns` counts the fields up to and including the path, which alone may contain spaces.
fn changed(
    kind: StatusKind,
    record: &[u8],
    columns: usize,
    tree_mode: usize,
) -> Option<StatusEntry> {
    let parts: Vec<&[u8]> = record.splitn(columns, |byte| *byte == b' ').collect();
    if parts.len() != columns || parts[1].len() != 2 {
        return None;
    }
    let of_index = |n: usize| if kind == StatusKind::Tracked { parts[n] } else { b"" }.to_vec();
    Some(StatusEntry {
        kind,
        staged: parts[1][0],
        worked: parts[1][1],
        index_mode: of_index(4),
        tree_mode: parts[tree_mode].to_vec(),
        index_id: of_index(7),
        path: parts[columns - 1].to_vec(),
    })
}

impl IndexUpdates {
    /// `spared` are paths, relative to `tree`, that stay as the index has them.
    pub(super) fn of(entries: &[StatusEntry], tree: &Path, spared: &[Vec<u8>]) -> Self {
        let mut taking = Self::default();
        let is_spared = |path: &[u8]| spared.iter().any(|spared| is_within(path, spared));
        for entry in entries.iter().filter(|entry| !is_spared(&entry.path)) {
            let (path, at) = (entry.path.clone(), as_path(&entry.path));
            match entry.kind {
                // Only a nested repository is listed as a directory.
                StatusKind::Untracked if path.ends_with(b"/") => {
                    taking.left_out.push(shown(&path[..path.len() - 1]));
                }
                StatusKind::Untracked => taking.take.push(path),
                _ if entry.worked == b'.' || entry.index_mode == GITLINK => {}
                _ if entry.tree_mode == GITLINK => {
                    taking.left_out.push(shown(&path));
                    taking.remove.push(path);
                }
                _ if git_disk::is_beyond_symlink(tree, at) => taking.remove.push(path),
                _ if git_disk::special(tree, at).is_some() => {
                    taking.no_file.push(shown(&path));
                    taking.remove.push(path);
                }
                _ => taking.take.push(path),
            }
        }
        taking
    }

    /// The paths, by name and `most` at most.
    pub(super) fn named(&self, most: usize) -> Vec<String> {
        let mut paths: Vec<&Vec<u8>> = self.take.iter().chain(&self.remove).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().take(most).map(|path| shown(path)).collect()
    }

    /// The paths that are symbolic links, each with what it says.
    pub(super) fn links(&self, root: &Path) -> Vec<(PathBuf, PathBuf)> {
        let paths = self.take.iter().map(|path| as_path(path));
        let links =
            paths.filter_map(|path| Some((path.to_owned(), fs::read_link(root.join(path)).ok()?)));
        links.collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.take.is_empty() && self.remove.is_empty()
    }
}

/// Whether `path` is `dir` or inside it.
pub(super) fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) links: Vec<Link>,
    /// Existing files that git was told to take for unchanged.
    pub(super) marked: Vec<Vec<u8>>,
    /// Whether files of this program's own are tracked.
    pub(super) holds_own: bool,
}

/// A commit of another repository, at a path of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) path: Vec<u8>,
    pub(super) commit: CommitId,
}

impl Git {
    /// `call` says which tree and which index. A collapsed directory of a sparse index stays
    /// collapsed.
    pub(super) fn listing(&self, call: Call<'_>) -> Result<Listing, GitError> {
        let tree = call.cwd.clone();
        let output = call.args(["-s", "-v", "-z", "--sparse"]).ok()?;
        let mut listing = Listing::default();
        for record in fields(&output) {
            let entry = read(record).ok_or(GitError::Odd { verb: "ls-files" })?;
            if entry.mode == GITLINK
                && let Some(id) = as_id(entry.id)
            {
                listing.links.push(Link { path: entry.path.to_vec(), commit: CommitId::new(id) });
            }
            // `h`: assumed to be unchanged; `S`: not looked for.
            let is_marked = entry.tag.is_ascii_lowercase() || entry.tag == b'S';
            if is_marked && is_file(&tree, entry.path) {
                listing.marked.push(entry.path.to_vec());
            }
            listing.holds_own |= is_within(entry.path, OWN_DIR);
        }
        Ok(listing)
    }
}

struct IndexEntry<'a> {
    tag: u8,
    mode: &'a [u8],
    id: &'a [u8],
    path: &'a [u8],
}

/// `H 100644 <id> 0\t<path>`
fn read(record: &[u8]) -> Option<IndexEntry<'_>> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let mut words = record[..tab].split(|byte| *byte == b' ');
    let (tag, mode, id) = (words.next()?, words.next()?, words.next()?);
    Some(IndexEntry { tag: *tag.first()?, mode, id, path: &record[tab + 1..] })
}

/// Whether something other than a directory is there, in the tree itself.
pub(super) fn is_file(tree: &std::path::Path, path: &[u8]) -> bool {
    let path = as_path(path);
    let meta = tree.join(path).symlink_metadata();
    meta.is_ok_and(|meta| !meta.is_dir()) && !git_disk::is_beyond_symlink(tree, path)
}

/// Untracked files that are looked at; where there are more, none of them is.
const UNTRACKED_MAX: usize = 10_000;

/// Files by their names, each with a stamp of its present content.
type FileStamps = BTreeMap<String, (i64, i64, u64)>;

/// Tracked files that differ from the index, and untracked ones that are not ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps {
    tracked: FileStamps,
    /// `None` where there are too many.
    untracked: Option<FileStamps>,
}

impl Stamps {
    /// The tracked files that changed since `before`.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let names = self.tracked.keys().chain(before.tracked.keys());
        let other = names.filter(|name| self.tracked.get(*name) != before.tracked.get(*name));
        other.collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// The untracked files that appeared or changed since `before`.
    pub fn left_since(&self, before: &Self) -> Vec<String> {
        let both = self.untracked.as_ref().zip(before.untracked.as_ref());
        let left = both.into_iter().flat_map(|(now, before)| {
            let is_other = |(name, stamp): &(&String, _)| before.get(*name) != Some(*stamp);
            now.iter().filter(is_other)
        });
        left.map(|(name, _)| name.clone()).collect()
    }
}

impl Git {
    /// Ignored paths, relative to the top; a wholly ignored directory is one path. They are of the
    /// person's tree, or of our tree at `at`.
    pub fn ignored(&self, at: Option<&Path>) -> Result<Vec<PathBuf>, GitError> {
        const IGNORED: &str = "ls-files --others --ignored --exclude-standard --directory -z";
        let call = match at {
            None => self.at_home(IGNORED),
            Some(at) if self.tree(at).is_whole() => self.tree(at).call(IGNORED),
            Some(_) => return Ok(Vec::new()),
        };
        let output = call.ok()?;
        let paths = fields(&output).map(|path| path.strip_suffix(b"/").unwrap_or(path));
        let others = paths.filter(|path| !is_within(path, OWN_DIR));
        Ok(others.map(|path| as_path(path).to_owned()).collect())
    }

    /// Whether a path, relative to the top, is left out of commits, in our tree at `at` or the person's; a tracked path is
    /// not.
    pub fn is_ignored(&self, at: Option<&Path>, path: &Path) -> Result<bool, GitError> {
        let mut name = path.as_os_str().as_bytes().to_vec();
        if name.is_empty() || name.contains(&0) || path.is_absolute() {
            return Ok(false);
        }
        name.push(0);
        // Git exits with 1 if nothing is ignored, and with 128 for a path outside the tree; both
        // mean no.
        const WORDS: &str = "check-ignore -z --stdin";
        let call = at.map_or_else(|| self.at_home(WORDS), |at| self.tree(at).call(WORDS));
        // This command knows no other paths, and rejects the variable.
        let ran = call.env("GIT_LITERAL_PATHSPECS", "0").stdin(name).output()?;
        Ok(ran.status.success() && !ran.stdout.is_empty())
    }

    /// The files of the person's tree that are in no commit, without those in `left_out`.
    pub fn stamps(&self, left_out: &[PathBuf]) -> Result<Stamps, GitError> {
        let status = self.status(self.at_home("status"), true)?;
        let stamp = |entry: &&StatusEntry| {
            let meta = self.top().join(as_path(&entry.path)).symlink_metadata();
            let stamp =
                meta.map_or((0, 0, 0), |meta| (meta.mtime(), meta.mtime_nsec(), meta.size()));
            (shown(&entry.path), stamp)
        };
        let is_untracked = |entry: &&StatusEntry| entry.kind == StatusKind::Untracked;
        let is_taken = |entry: &&StatusEntry| {
            is_start_file(entry)
                && !left_out.iter().any(|out| as_path(&entry.path).starts_with(out))
        };
        let (untracked, tracked): (Vec<_>, Vec<_>) = status.entries.iter().partition(is_untracked);
        let worked = tracked.iter().copied().filter(|entry| entry.worked != b'.');
        let taken: Vec<&StatusEntry> = untracked.into_iter().filter(is_taken).collect();
        let is_few = taken.len() <= UNTRACKED_MAX;
        Ok(Stamps {
            tracked: worked.map(|entry| stamp(&entry)).collect(),
            untracked: is_few.then(|| taken.iter().map(stamp).collect()),
        })
    }

    /// The number of paths that differ from HEAD or are not tracked yet.
    pub fn uncommitted(&self) -> Result<usize, GitError> {
        let status = self.status(self.at_home("status"), true)?;
        Ok(status.entries.iter().filter(|entry| is_start_file(entry)).count())
    }
}

/// Whether a start of a run takes it. A nested repository is left out.
fn is_start_file(entry: &StatusEntry) -> bool {
    let is_own = is_within(&entry.path, OWN_DIR);
    let is_nested = entry.kind == StatusKind::Untracked && entry.path.ends_with(b"/");
    !is_own && !is_nested
}
