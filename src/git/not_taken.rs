//! Finds what an attempt left and no commit takes, and names it with the reason. A file that its own index tracks is taken,
//! ignored or not.
//!
//! Invariant: the repository of an attempt is read as files, as a copy of its index, and as borrowed objects. None of its
//! settings count. Git is started only where something odd lies there.

use super::{
    Git, GitError,
    alternates::for_variable,
    call::{as_id, as_path, fields, shown},
    diff, disk,
    index::PrivateIndex,
    lineage::SLOT_REFS,
    listing::is_file,
    status::{GITLINK, IndexUpdates, StatusEntry, is_within},
    trees::Tree,
};
use crate::{failure::OutsideCause, files, secrets};
use descent_core::{event::NotTaken, id::CommitId};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Names at most of one reason.
const NAMES_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 100;
/// Branches of an attempt that are compared at most.
const TIPS_MAX: usize = 8;
const REFS_MAX: usize = 1_000;
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// An odd repository may make git wait.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Commits that an attempt left, and where.
struct Tip {
    name: String,
    commit: CommitId,
}

impl Git {
    /// Takes what the attempt's own index tracks although it is ignored, and leaves what its sparse checkout removed.
    pub(super) fn heed_own_index(
        &self,
        tree: &Tree<'_>,
        taking: &mut IndexUpdates,
    ) -> Result<(), GitError> {
        let git = tree.at().join(".git");
        let is_sparse = git.join("info/sparse-checkout").is_file();
        let may_be_forced = !taking.ignored.is_empty() && tree.has_other_index();
        let own = git.join("index");
        let is_plain = files::plain_dir(&git).is_ok() && files::plain_file(&own).is_ok();
        if !is_plain || !(is_sparse || may_be_forced) {
            return Ok(());
        }
        let index = PrivateIndex::new(tree.admin())?;
        index.fill_from(&own)?;
        let call = |verb| index.of(tree.call(verb)).within(LOOK_MAX);
        let looked = call("ls-files").args(["-t", "-z"]).ok().and_then(|listed| {
            let status = self.status(call("status"), false)?;
            Ok((listed, status.entries))
        });
        let (listed, entries) = match looked {
            Err(GitError::Failed { cause, .. })
                if !matches!(cause, Some(OutsideCause::Lack(_))) =>
            {
                return Ok(());
            }
            looked => looked?,
        };
        let sparse: BTreeSet<&[u8]> =
            fields(&listed).filter_map(|entry| entry.strip_prefix(b"S ")).collect();
        let at = tree.at();
        let staged = entries.iter().filter(|entry| entry.staged != b'.');
        let staged = staged
            .filter(|entry| sparse.contains(&entry.path[..]) && !is_file(tree.at(), &entry.path));
        taking.sparse = staged.map(|entry| shown(&entry.path)).collect();
        taking.take.retain(|path| !sparse.contains(&path[..]) || is_file(at, path));
        taking.force(entries, at);
        Ok(())
    }

    /// Names all that the attempt left and `made`, its commit or its base, does not have.
    pub(super) fn not_taken(
        &self,
        tree: &Tree<'_>,
        base: &CommitId,
        made: &CommitId,
        taking: &IndexUpdates,
        refused: Vec<String>,
    ) -> NotTaken {
        let own = taking.has_own.then(|| ".descent".to_owned());
        let mut others = vec![
            some(taking.left_out.clone(), "a repository of its own"),
            some(refused, "git takes no such name"),
            some(own, "descent's own"),
            some(taking.no_file.clone(), "no file any more"),
            some(taking.closed.clone(), "it cannot be read"),
            some(taking.sparse.clone(), "outside of its sparse checkout"),
        ];
        if made == base {
            others.extend(self.no_files(tree, taking));
        }
        others.extend(self.left_in_repository(tree.at(), base, made));
        let others: Vec<String> = others.into_iter().flatten().collect();
        let ignored = taking.ignored.iter().map(|path| shown(path));
        NotTaken {
            ignored: some(ignored, "ignored by git").unwrap_or_default(),
            others: others.join(", "),
        }
    }

    /// Pipes and the like, and directories without files: git sees neither.
    fn no_files(&self, tree: &Tree<'_>, taking: &IndexUpdates) -> [Option<String>; 2] {
        let (mut special, mut empty) = (Vec::new(), Vec::new());
        let mut dirs = vec![PathBuf::new()];
        while let Some(dir) = dirs.pop() {
            let at = tree.at().join(&dir);
            let is_nested = dir != Path::new("") && at.join(".git").symlink_metadata().is_ok();
            if is_nested || taking.is_passed_over(dir.as_os_str().as_bytes()) {
                continue;
            }
            if fs::read_dir(&at).is_ok_and(|mut entries| entries.next().is_none()) {
                empty.push(dir.display().to_string());
            }
            let found = disk::other_than_files(&at);
            let paths = found.special.iter().map(|name| dir.join(name));
            special.extend(paths.map(|path| path.display().to_string()));
            let below = found.dirs.into_iter().filter(|name| name != ".git");
            dirs.extend(below.map(|name| dir.join(name)));
        }
        // A submodule that is not checked out is an empty directory.
        if self.has_modules(tree.at()) {
            empty.clear();
        }
        special.sort();
        empty.sort();
        [some(special, "no file"), some(empty, "empty")]
    }

    /// Branches, a stash and worktrees in the attempt's repository whose changes are not in the tree.
    fn left_in_repository(
        &self,
        at: &Path,
        base: &CommitId,
        made: &CommitId,
    ) -> Vec<Option<String>> {
        let git = at.join(".git");
        if files::plain_dir(&git).is_err() {
            return Vec::new();
        }
        let stash = git.join("refs/stash").is_file();
        let worktrees = files::entries(&git.join("worktrees")).into_iter();
        let worktrees = worktrees.filter_map(|dir| {
            let to = PathBuf::from(OsString::from_vec(read(&dir.join("gitdir"))));
            let to = to.parent()?;
            (to.is_dir() && !to.starts_with(at)).then(|| to.display().to_string())
        });
        let tips = self.tips(&git, base);
        let tips = tips.iter().filter_map(|tip| self.lacking(&git, base, made, tip));
        vec![
            some(stash.then(|| "its stash".to_owned()), "not in the workspace"),
            some(worktrees, "outside of the workspace"),
            some(tips, "not in the workspace"),
        ]
    }

    /// The branches that the attempt made or moved, and the detached commits that it went away from.
    fn tips(&self, git: &Path, base: &CommitId) -> Vec<Tip> {
        let given = read(&self.common_dir().join(SLOT_REFS));
        let heads = git.join("refs/heads");
        let mut found: Vec<(String, Vec<u8>)> = disk::files_below(&heads, REFS_MAX)
            .into_iter()
            .map(|path| {
                let name = path.strip_prefix(&heads).unwrap_or(&path).display();
                (format!("branch {name}"), read(&path))
            })
            .collect();
        let packed = read(&git.join("packed-refs"));
        if packed != given {
            let lines = packed.split(|byte| *byte == b'\n');
            found.extend(lines.filter_map(|line| {
                let text = std::str::from_utf8(line).ok()?;
                let (id, name) = text.split_once(" refs/heads/")?;
                Some((format!("branch {name}"), id.as_bytes().to_vec()))
            }));
        }
        const LEFT: &[u8] = b"\tcheckout: moving from ";
        let log = read(&git.join("logs/HEAD"));
        found.extend(log.split(|byte| *byte == b'\n').filter_map(|line| {
            let at = line.windows(LEFT.len()).position(|part| part == LEFT)?;
            let from = line[at + LEFT.len()..].split(|byte| *byte == b' ').next()?;
            Some(("a detached HEAD".to_owned(), from.to_vec()))
        }));
        let is_given = |id: &str| given.windows(id.len()).any(|part| part == id.as_bytes());
        let mut known = BTreeSet::from([base.to_string()]);
        found.retain(|(_, id)| {
            as_id(id.trim_ascii_end()).is_some_and(|id| !is_given(&id) && known.insert(id))
        });
        let tips = found.into_iter().take(TIPS_MAX);
        tips.map(|(name, id)| Tip { name, commit: CommitId::new(shown(id.trim_ascii_end())) })
            .collect()
    }

    /// The name of a tip that is not below HEAD, with the paths that the result has otherwise.
    fn lacking(&self, git: &Path, base: &CommitId, made: &CommitId, tip: &Tip) -> Option<String> {
        let objects = OsString::from_vec(for_variable(&git.join("objects")));
        let call = |verb| {
            let call = self.call(verb).within(LOOK_MAX);
            call.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects)
        };
        let unread = || Some(tip.name.clone());
        let mut list = call("rev-list").args(["--max-count=1"]);
        list = list.id("", tip.commit.as_str(), "").id("^", base.as_str(), "");
        if let Some(head) = head_of(git) {
            list = list.id("^", &head, "");
        }
        match list.ok() {
            Ok(others) if others.is_empty() => return None,
            Ok(_) => {}
            Err(_) => return unread(),
        }
        let changes = |from: &CommitId, to: &CommitId| {
            let changes = diff::of_trees(call("diff-tree"), from.as_str(), to.as_str())?;
            Ok::<_, GitError>(diff::names(&changes))
        };
        let (Ok(theirs), Ok(unlike)) = (changes(base, &tip.commit), changes(&tip.commit, made))
        else {
            return unread();
        };
        let lacks: Vec<String> = theirs.into_iter().filter(|one| unlike.contains(one)).collect();
        let paths = names(lacks)?;
        Some(format!("{} with {paths}", tip.name))
    }
}

impl IndexUpdates {
    /// Takes the ignored paths among these that an index has and HEAD lacks.
    fn force(&mut self, entries: Vec<StatusEntry>, at: &Path) {
        let is_new = |entry: &StatusEntry| entry.staged == b'A' || entry.worked == b'A';
        let forced = entries.into_iter().filter(|entry| {
            is_new(entry)
                && entry.index_mode != GITLINK
                && self.ignored.iter().any(|dir| is_in(&entry.path, dir))
                && is_file(at, &entry.path)
                && disk::special(at, as_path(&entry.path)).is_none()
        });
        let forced: Vec<Vec<u8>> = forced.map(|entry| entry.path).collect();
        self.ignored.retain(|dir| !forced.iter().any(|path| is_in(path, dir)));
        self.take.extend(forced);
    }

    fn is_passed_over(&self, dir: &[u8]) -> bool {
        self.passed_over.iter().any(|path| is_in(dir, path))
    }
}

/// Whether a path is that of a listing, or in it; a directory ends with a slash there.
pub(super) fn is_in(path: &[u8], listed: &[u8]) -> bool {
    is_within(path, listed.strip_suffix(b"/").unwrap_or(listed))
}

/// The commit at the HEAD of an attempt's repository.
fn head_of(git: &Path) -> Option<String> {
    let head = read(&git.join("HEAD"));
    let Some(name) = head.strip_prefix(b"ref: ") else {
        return as_id(head.trim_ascii_end());
    };
    let name = name.trim_ascii_end();
    let loose = as_id(read(&git.join(as_path(name))).trim_ascii_end());
    loose.or_else(|| {
        let packed = read(&git.join("packed-refs"));
        let mut lines = packed.split(|byte| *byte == b'\n');
        lines.find_map(|line| as_id(line.strip_suffix(name)?.strip_suffix(b" ")?))
    })
}

/// A file of an attempt's repository; empty if it cannot be read.
fn read(path: &Path) -> Vec<u8> {
    let mut text = files::read(path, TEXT_BYTES_MAX).unwrap_or_default();
    text.truncate(text.trim_ascii_end().len());
    text
}

fn some(all: impl IntoIterator<Item = String>, why: &str) -> Option<String> {
    Some(format!("{} ({why})", names(all)?))
}

/// Some names, and the number of the others.
fn names(all: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.into_iter().collect();
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let short = |name: &String| {
        let shown = secrets::hide(name);
        shown.chars().map(plain).take(NAME_CHARS_MAX).collect()
    };
    let named: Vec<String> = all.iter().take(NAMES_MAX).map(short).collect();
    let more = match all.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!all.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}
