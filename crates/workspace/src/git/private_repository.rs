//! A repository of our own in the cache, for a directory that is in none; that directory is its
//! working tree.
//!
//! Invariants: it gets its name only when it is complete. The same files always give the same
//! commit, so that a lost start can be made again. Bytes go in and come out unchanged, whatever
//! settings and attributes say. Nothing is written to the directory itself.

use super::{
    Git, GitError,
    call::{as_path, fields, shown},
    checkout::as_pattern,
    git_disk,
    host::{Env, GitHost, NOBODY},
    index::PrivateIndex,
    lineage::{self, SLOT_CONFIG},
    settings,
    snapshot::{NESTED, REFUSED, Snapshot, TOLD_BYTES, left_out},
    status::{IndexUpdates, OWN_DIR, is_within},
};
use descent_core::{
    id::{CommitId, TreeId, UnixMillis},
    state::{Extra, StartedFrom},
};
use descent_process::Programs;
use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

const MESSAGE: &str = "descent: the directory as it was\n";

/// Above every `.gitattributes`: nothing is converted. (`-working-tree-encoding` would be an
/// error.)
const ATTRIBUTES: &str = "* -text -ident -filter !working-tree-encoding\n";

/// Maximum of object files that are shared with another repository.
const OBJECTS_MAX: usize = 10_000_000;

/// The paths of a snapshot.
struct SnapshotPaths {
    files: Vec<Vec<u8>>,
    nested: Vec<String>,
}

impl Git {
    /// Our repository at `repository`, made if missing, with `top` as its working tree.
    pub fn private(
        programs: Arc<dyn Programs>,
        repository: &Path,
        top: &Path,
    ) -> Result<Self, GitError> {
        Self::private_with(programs, repository, top, &std::env::vars_os().collect())
    }

    pub(super) fn private_with(
        programs: Arc<dyn Programs>,
        repository: &Path,
        top: &Path,
        theirs: &Env,
    ) -> Result<Self, GitError> {
        let host = GitHost::read(programs, top, theirs)?.private();
        if !lineage::is_whole(repository)? {
            lineage::make(repository)?;
        }
        // Another user may have written there.
        let slot = host.slot_config(&[]);
        for (name, bytes) in [
            ("info/attributes", ATTRIBUTES.as_bytes()),
            ("config", &settings::of_own(&[])),
            (SLOT_CONFIG, &slot),
        ] {
            git_disk::keep_bytes(&repository.join(name), bytes)?;
        }
        git_disk::remove_tree(&repository.join("objects/info/alternates"))?;
        let git_dir = repository.canonicalize().map_err(GitError::io(repository))?;
        Self::of_ours(&git_dir, host, top, theirs, None)
    }

    /// Commits all files of the directory, except `left_out` and those ignored by `.gitignore`; the
    /// commit has no parent. `scratch` is an existing directory. It is durable when this returns.
    pub(crate) fn snapshot_all(
        &self,
        scratch: &Path,
        left_out: &[PathBuf],
    ) -> Result<Snapshot, GitError> {
        let found = self.find(scratch, left_out)?;
        let (snapshot, index) = match self.take_all(&found, scratch, true) {
            Ok(taken) if self.holds_all_of(&taken.0.0.commit)? => taken,
            // The index may name objects that are gone.
            Ok(_) => self.take_all(&found, scratch, false)?,
            Err(error) if error.is_local() => self.take_all(&found, scratch, false)?,
            Err(error) => return Err(error),
        };
        // The objects must be durable before the index names them.
        self.sync_all()?;
        git_disk::keep_index(&index.path, &self.known_index())?;
        Ok(snapshot)
    }

    /// The tree that a snapshot would have. Nothing of it is durable.
    pub(crate) fn tree_of_all(
        &self,
        scratch: &Path,
        left_out: &[PathBuf],
    ) -> Result<TreeId, GitError> {
        let found = self.find(scratch, left_out)?;
        let taken = match self.take_all(&found, scratch, true) {
            // The index may name objects that are gone.
            Err(error) if error.is_local() => self.take_all(&found, scratch, false),
            taken => taken,
        };
        Ok(taken?.0.0.tree)
    }

    /// Whether everything in a commit is there.
    pub(crate) fn holds_all_of(&self, commit: &CommitId) -> Result<bool, GitError> {
        Ok(self.call("rev-list --objects --quiet").id(commit).arg("--").output()?.status.success())
    }

    /// Shares all objects of another repository of ours.
    pub(crate) fn share_objects_of(&self, other: &Git) -> Result<(), GitError> {
        let from = other.objects();
        for file in git_disk::files_below(&from, OBJECTS_MAX) {
            let name = file.strip_prefix(&from).unwrap_or(&file);
            git_disk::share_file(&file, &self.objects().join(name))?;
        }
        self.sync_all()
    }

    /// Git's index of the directory: unchanged files are not read again.
    fn known_index(&self) -> PathBuf {
        self.git_dir().join("index")
    }

    /// Uses an empty index, so that files known already do not influence what belongs to the
    /// snapshot.
    fn find(&self, scratch: &Path, left_out: &[PathBuf]) -> Result<SnapshotPaths, GitError> {
        let empty = PrivateIndex::new(scratch)?;
        let mut left_out: Vec<&Path> = left_out.iter().map(PathBuf::as_path).collect();
        left_out.push(as_path(OWN_DIR));
        let mut call = empty.of(self.call("ls-files --others --exclude-standard -z"));
        for path in &left_out {
            call = call.arg("-x").arg(as_pattern(path));
        }
        let output = call.ok()?;
        let is_left_out =
            |path: &[u8]| left_out.iter().any(|out| is_within(path, out.as_os_str().as_bytes()));
        let (mut files, mut nested) = (Vec::new(), Vec::new());
        for path in fields(&output).filter(|path| !is_left_out(path)) {
            match path.strip_suffix(b"/") {
                // Only a nested repository is listed as a directory.
                Some(path) => nested.push(shown(path)),
                None => files.push(path.to_vec()),
            }
        }
        Ok(SnapshotPaths { files, nested })
    }

    /// The commit of these files, with its index.
    fn take_all(
        &self,
        found: &SnapshotPaths,
        scratch: &Path,
        is_known: bool,
    ) -> Result<(Snapshot, PrivateIndex), GitError> {
        let index = PrivateIndex::new(scratch)?;
        if is_known {
            index.fill_from(&self.known_index())?;
        }
        let call = |verb| self.call(verb).index(&index.path);
        let output = call("ls-files -z").ok()?;
        let known: BTreeSet<&[u8]> = fields(&output).collect();
        let wanted: BTreeSet<&[u8]> = found.files.iter().map(Vec::as_slice).collect();
        let gone = known.difference(&wanted).map(|path| path.to_vec());
        let taking = IndexUpdates {
            take: found.files.clone(),
            remove: gone.collect(),
            ..IndexUpdates::default()
        };
        let refused = self.take(&taking, call)?;
        let tree = TreeId::new(call("write-tree").ok_id()?);
        let commit = self.commit_start(&tree)?;
        let nested = found.nested.iter().map(|path| left_out(path, NESTED));
        let refused = refused.iter().map(|path| left_out(path, REFUSED));
        let notes = nested.chain(refused).chain(self.weigh_new(wanted.difference(&known).copied()));
        let notes = notes.collect();
        let start = StartedFrom {
            head: commit.clone(),
            commit,
            tree,
            branch: None,
            dirty: false,
            extra: Extra::default(),
        };
        Ok(((start, notes), index))
    }

    fn weigh_new<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> Option<String> {
        let weight = self.weight(paths);
        let (megabytes, path) = (weight.bytes >> 20, weight.largest.display());
        (weight.bytes > TOLD_BYTES).then(|| {
            format!(
                "{megabytes} MB are copied into the cache, the largest file is {path}; what is no part of the project goes into .gitignore, or is linked: --link PATH"
            )
        })
    }

    /// Without author and time: its id depends only on the files.
    fn commit_start(&self, tree: &TreeId) -> Result<CommitId, GitError> {
        let mut call = self.call("commit-tree --no-gpg-sign -F -");
        for role in ["AUTHOR", "COMMITTER"] {
            call = call.env(&format!("GIT_{role}_NAME"), NOBODY.0);
            call = call.env(&format!("GIT_{role}_EMAIL"), NOBODY.1);
        }
        let commit = CommitId::new(call.id(tree).dated(UnixMillis(0)).stdin(MESSAGE).ok_id()?);
        self.remember(&commit, tree);
        Ok(commit)
    }
}
