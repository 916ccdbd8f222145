//! The difference of two trees: as data, byte for byte, as line counts, as a patch and as a branch. One side may be a
//! workspace as it is now.
//!
//! Invariant: a look writes nothing that stays. The objects of a workspace's files go into a directory that is removed with
//! the change. The person's working tree is not touched.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use descent_core::id::{CommitId, Digest, TreeId};

use super::{
    Git, GitError,
    call::{Call, as_id, fields, shown},
    index::PrivateIndex,
    status::GITLINK,
};

/// Differences that are remembered: those of the attempts that end together.
const DIFFS_MAX: usize = 8;
/// The number of paths above which a difference is not remembered.
const DIFF_KEPT_MAX: usize = 10_000;
const TREE: &[u8] = b"040000";

/// Differences of trees, the last first; they never change.
pub(super) type KnownDiffs = Vec<([String; 2], Arc<Vec<PathChange>>)>;

/// One path that differs. A mode of zeros means that the path does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathChange {
    pub(super) old: Side,
    pub(super) new: Side,
    pub(super) path: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) mode: Vec<u8>,
    pub(super) id: Vec<u8>,
}

impl Side {
    pub(super) fn is_absent(&self) -> bool {
        self.mode == b"000000"
    }

    /// A line for `update-index --index-info`; that of an absent file removes it.
    pub(super) fn index_line(&self, path: &[u8]) -> Vec<u8> {
        [&self.mode, &b" "[..], &self.id, b"\t", path, b"\0"].concat()
    }
}

impl PathChange {
    pub(super) fn has_gitlink(&self) -> bool {
        self.old.mode == GITLINK || self.new.mode == GITLINK
    }

    fn has_tree(&self) -> bool {
        self.old.mode == TREE || self.new.mode == TREE
    }
}

/// From one commit or tree to another; `call` is a `diff-tree`.
pub(super) fn of_trees(call: Call<'_>, from: &str, to: &str) -> Result<Vec<PathChange>, GitError> {
    let call = call
        .args(["-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff"])
        .args(["--no-textconv", "--ignore-submodules=none"]);
    let output = call.trees(from, to).arg("--").ok()?;
    let odd = || GitError::Odd { verb: "diff-tree" };
    let mut output = fields(&output);
    let mut changes = Vec::new();
    while let Some(columns) = output.next() {
        let columns = columns.strip_prefix(b":").ok_or_else(odd)?;
        let columns: Vec<&[u8]> = columns.split(|byte| *byte == b' ').collect();
        let [old_mode, new_mode, old_id, new_id, _] = columns[..] else { return Err(odd()) };
        let side = |mode: &[u8], id: &[u8]| Side { mode: mode.to_vec(), id: id.to_vec() };
        changes.push(PathChange {
            old: side(old_mode, old_id),
            new: side(new_mode, new_id),
            path: output.next().ok_or_else(odd)?.to_vec(),
        });
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// The digest of a change, whatever it starts from: mode, path and new id of each path.
pub(super) fn digest(changes: &[PathChange]) -> Digest {
    let mut bytes = Vec::new();
    for change in changes {
        for (part, end) in [(&change.new.mode, b' '), (&change.new.id, b' '), (&change.path, 0)] {
            bytes.extend_from_slice(part);
            bytes.push(end);
        }
    }
    Digest::of(&bytes)
}

impl Git {
    /// The files and directories of a tree, or of the tree of a commit, that another lacks.
    pub(super) fn objects_between(
        &self,
        old: impl ToString,
        new: impl ToString,
    ) -> Result<Vec<String>, GitError> {
        let changes = self.all_changes([old.to_string(), new.to_string()])?;
        let old: HashSet<&[u8]> = changes.iter().map(|change| &*change.old.id).collect();
        let new = changes.iter().map(|change| &change.new);
        let new = new.filter(|new| !new.is_absent() && new.mode != GITLINK);
        Ok(new.filter(|new| !old.contains(&*new.id)).filter_map(|new| as_id(&new.id)).collect())
    }

    /// The paths in which two trees differ, in order.
    pub fn paths_between(&self, old: &TreeId, new: &TreeId) -> Result<Vec<String>, GitError> {
        Ok(names(&self.changes(old, new)?))
    }

    /// The paths in which two trees, or the trees of two commits, differ.
    pub(super) fn changes(
        &self,
        from: impl ToString,
        to: impl ToString,
    ) -> Result<Vec<PathChange>, GitError> {
        let all = self.all_changes([from.to_string(), to.to_string()])?;
        Ok(all.iter().filter(|change| !change.has_tree()).cloned().collect())
    }

    /// The same with the directories that differ. Git is not asked again for one of the last.
    fn all_changes(&self, asked: [String; 2]) -> Result<Arc<Vec<PathChange>>, GitError> {
        let diffs = || self.0.diffs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = diffs().iter().find(|(between, _)| *between == asked) {
            return Ok(Arc::clone(known));
        }
        let changes = Arc::new(of_trees(self.call("diff-tree -t"), &asked[0], &asked[1])?);
        let mut diffs = diffs();
        if changes.len() <= DIFF_KEPT_MAX {
            diffs.truncate(DIFFS_MAX - 1);
            diffs.insert(0, (asked, Arc::clone(&changes)));
        }
        Ok(changes)
    }
}

pub(super) fn names(changes: &[PathChange]) -> Vec<String> {
    changes.iter().map(|change| shown(&change.path)).collect()
}

/// Without counts where it is not text
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChangedFile"))]
pub struct FileLines {
    pub path: String,
    pub added: Option<u64>,
    pub removed: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOutcome {
    /// It was made, or would be.
    New,
    /// It is at the result already.
    AlreadyThere,
    /// This branch occupies the name or a part of it.
    Taken(String),
    /// Git accepts no such branch name.
    BadName,
}

impl Git {
    /// The number of added and removed lines of each file.
    pub fn lines(&self, change: &Change) -> Result<Vec<FileLines>, GitError> {
        const ODD: GitError = GitError::Odd { verb: "diff-tree" };
        let output = self.two_trees(change, &["--numstat", "-z"]).ok()?;
        let records = fields(&output).map(|record| {
            let mut columns = record.splitn(3, |byte| *byte == b'\t');
            let mut next = || columns.next().ok_or(ODD);
            let (added, removed, path) = (next()?, next()?, next()?);
            Ok(FileLines { path: shown(path), added: number(added), removed: number(removed) })
        });
        records.collect()
    }

    /// The difference as `git apply` reads it, binary files included.
    pub fn patch(&self, change: &Change) -> Result<Vec<u8>, GitError> {
        self.patch_call(change, &["--binary", "--full-index"]).ok()
    }

    /// The difference for a reader, without the bytes of binary files: of these paths, of all without any.
    pub fn readable_patch(&self, change: &Change, paths: &[String]) -> Result<Vec<u8>, GitError> {
        let call = self.patch_call(change, &[]).arg("--");
        paths.iter().fold(call, |call, path| call.arg(path)).ok()
    }

    fn patch_call(&self, change: &Change, args: &[&str]) -> Call<'_> {
        let args = [&["-p", "--no-color", "-U3"], args].concat();
        let call = self.two_trees(change, &args);
        call.args(["--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"])
    }

    fn two_trees(&self, change: &Change, args: &[&str]) -> Call<'_> {
        const WORDS: &str = "diff-tree -r --no-renames --no-ext-diff --no-textconv --no-relative";
        let call = change.of(self.call(WORDS));
        args.iter().fold(call, |call, arg| call.arg(arg)).trees(&change.from, &change.to)
    }

    /// Makes a new branch of the person's at `head`, whose base is `base`; nothing that exists is
    /// moved.
    pub fn branch(
        &self,
        name: &str,
        base: &CommitId,
        head: &CommitId,
        is_dry: bool,
    ) -> Result<BranchOutcome, GitError> {
        let person = self.person();
        let full = format!("refs/heads/{name}");
        let check = person.call("check-ref-format").arg(&full).output()?;
        // A name that git reads as HEAD or as another reference could never be used.
        let is_misread = matches!(name, "HEAD" | "@") || name.starts_with("refs/");
        if !check.status.success() || name.starts_with('-') || is_misread {
            return Ok(BranchOutcome::BadName);
        }
        if let Some((taken, commit)) = person.branch_in_the_way(&full)? {
            let is_ours = taken == full && commit == head.as_str();
            if !is_ours {
                return Ok(BranchOutcome::Taken(
                    taken.trim_start_matches("refs/heads/").to_owned(),
                ));
            }
            // An interrupted `apply` may have made it without syncing it.
            if !is_dry {
                person.make_durable(&full, head, head)?;
            }
            return Ok(BranchOutcome::AlreadyThere);
        }
        if !is_dry {
            // Git itself checks in the same instant that it is still absent.
            let absent = "0".repeat(head.as_str().len());
            self.bring_home(head, base)?;
            let call = person.call("update-ref").args(["-m", "descent: apply"]);
            call.arg(&full).id(head).id(&absent).ok()?;
            person.make_durable(&full, head, head)?;
        }
        Ok(BranchOutcome::New)
    }

    /// A reference cannot be where another has a directory, nor below one.
    fn branch_in_the_way(&self, full: &str) -> Result<Option<(String, String)>, GitError> {
        let call = self.call("for-each-ref").arg("--format=%(objectname) %(refname)");
        let above: Vec<&str> = full.match_indices('/').skip(2).map(|(at, _)| &full[..at]).collect();
        let call = above.iter().chain([&full]).fold(call, |call, name| call.arg(name));
        let output = String::from_utf8_lossy(&call.ok()?).into_owned();
        let mut refs = output.lines().filter_map(|line| line.split_once(' '));
        let below = format!("{full}/");
        let found = refs
            .find(|(_, name)| *name == full || above.contains(name) || name.starts_with(&below));
        Ok(found.map(|(id, name)| (name.to_owned(), id.to_owned())))
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The difference of two trees.
#[derive(Debug)]
pub struct Change {
    pub(super) from: String,
    pub(super) to: String,
    /// The objects that only this change has lie beside an index, and are removed with it.
    own: Option<PrivateIndex>,
}

impl Change {
    pub fn between(base: &CommitId, head: &CommitId) -> Self {
        Self { from: base.to_string(), to: head.to_string(), own: None }
    }

    /// A run that sees the objects of the change.
    pub(super) fn of<'a>(&self, call: Call<'a>) -> Call<'a> {
        match &self.own {
            Some(own) => own.with_objects(call),
            None => call,
        }
    }
}

impl Git {
    /// The commit that a commit was made on; `None` if it has no parent.
    pub fn parent_of(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let stored = self.read_commits(std::slice::from_ref(commit))?;
        Ok(stored.into_iter().find_map(|stored| stored.parent))
    }

    /// The change of a workspace against `base`, as its files are now. `None` while the workspace is being made.
    /// `exclude` are paths that are no part of the work, and `scratch` is an existing directory.
    pub fn change_in(
        &self,
        workspace: &Path,
        base: &CommitId,
        exclude: &[PathBuf],
        scratch: &Path,
    ) -> Result<Option<Change>, GitError> {
        let tree = &self.tree(workspace);
        if !tree.is_whole() {
            return Ok(None);
        }
        let index = PrivateIndex::new(scratch)?;
        let call = |verb| index.with_objects(tree.call(verb).index(&index.path));
        let taking = self.changes_in(tree, &index, base, exclude, &call)?;
        self.take(&taking, call)?;
        let now = TreeId::new(call("write-tree").ok_id()?);
        Ok(Some(Change { from: base.to_string(), to: now.to_string(), own: Some(index) }))
    }
}
