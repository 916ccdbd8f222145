//! The repository of a lineage, beside its state: it holds everything made, and borrows the
//! person's objects. It has the settings of the start, so later changes in the person's or an
//! attempt's repository do not affect it.
//!
//! Invariants: it gets its name only when it is complete. Its own files alone decide how files
//! become objects and back. Nothing is written to the person's repository here.

use super::{
    Git, GitError, Repository,
    call::{Call, as_id, borrowed, fields},
    durable::sync_all_at,
    git_disk,
    host::{Env, GitHost},
    settings,
    settings::{BYTES_MAX, KeptFiles},
};
use descent_core::id::CommitId;
use descent_system::files::{self, PathKind};
use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    sync::Arc,
};

/// The parts of a complete repository (gitrepository-layout).
const PARTS: &[&str] = &["HEAD", "config", "objects", "refs"];

/// The person's settings at the start: `key\0value\0`, repeated.
const SETTINGS: &str = "descent-settings";
/// The settings of an attempt's own git.
pub(super) const SLOT_CONFIG: &str = "descent-config";
/// The person's branches and tags, as a `packed-refs` file.
pub(super) const SLOT_REFS: &str = "descent-refs";
const ATTRIBUTES: &str = "descent-attributes";
const EXCLUDES: &str = "descent-excludes";
/// `.descent/state.json.d/repository/<lineage>`: each of these may be a submodule.
const MODULE_DEPTH: usize = 4;

impl Git {
    /// Our repository at `repository`, made if missing. It borrows from this one, the person's.
    pub fn lineage(&self, repository: &Path) -> Result<Self, GitError> {
        let is_new = !is_whole(repository)?;
        if is_new {
            make(repository)?;
        } else {
            self.refuse_tracked(repository)?;
        }
        let pairs = match read_pairs(&repository.join(SETTINGS)) {
            Some(pairs) if !is_new => pairs,
            _ => self.freeze(repository)?,
        };
        self.refresh(repository)?;
        self.open_at(repository, &pairs)
    }

    /// Like [`Git::lineage`], with the person's present settings instead of those of an earlier
    /// start.
    pub fn begin(&self) -> Result<Self, GitError> {
        let Some(person) = &self.0.person else { return Ok(self.clone()) };
        person.open_at(self.common_dir(), &person.freeze(self.common_dir())?)
    }

    /// Fails if git tracks anything there: then another user may have written it.
    fn refuse_tracked(&self, repository: &Path) -> Result<(), GitError> {
        let Ok(inside) = repository.strip_prefix(self.top()) else { return Ok(()) };
        let above = inside.ancestors().take(MODULE_DEPTH);
        for inside in above.filter(|dir| !dir.as_os_str().is_empty()) {
            let path = self.top().join(inside);
            // A submodule, which this repository's own index does not look into.
            if path.join(".git").symlink_metadata().is_ok() {
                return Err(GitError::Tracked { path, inside: inside.to_owned() });
            }
        }
        if self.call("ls-files -z --").arg(inside).ok()?.is_empty() {
            Ok(())
        } else {
            Err(GitError::Tracked { path: repository.to_owned(), inside: inside.to_owned() })
        }
    }

    fn open_at(&self, repository: &Path, pairs: &[(OsString, OsString)]) -> Result<Self, GitError> {
        let git_dir = repository.canonicalize().map_err(GitError::io(repository))?;
        let own = [("core.attributesFile", ATTRIBUTES), ("core.excludesFile", EXCLUDES)];
        let own = own.map(|(key, file)| (key.into(), git_dir.join(file).into()));
        let host = self.host().under(pairs.iter().cloned().chain(own));
        Self::of_ours(&git_dir, host, self.top(), &self.0.theirs, Some(self.clone()))
    }

    /// A repository of ours whose files have just been written.
    pub(super) fn of_ours(
        git_dir: &Path,
        host: GitHost,
        top: &Path,
        theirs: &Env,
        person: Option<Self>,
    ) -> Result<Self, GitError> {
        Ok(Self(Arc::new(Repository {
            host,
            top: top.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: git_dir.to_owned(),
            person,
            kept: Some(Arc::new(KeptFiles::read(git_dir)?)),
            theirs: theirs.clone(),
            trees: Arc::default(),
            diffs: Arc::default(),
        })))
    }

    /// Copies what decides how the person's files become objects and back.
    fn freeze(&self, repository: &Path) -> Result<Vec<(OsString, OsString)>, GitError> {
        let host = self.host();
        let mut text = Vec::new();
        let pairs = settings::of_files(&host.settings);
        for (key, value) in &pairs {
            for part in [key, value] {
                text.extend_from_slice(part.as_bytes());
                text.push(0);
            }
        }
        for (name, bytes) in [
            (ATTRIBUTES, self.personal("core.attributesFile", "attributes")?),
            (EXCLUDES, self.personal("core.excludesFile", "ignore")?),
            ("info/attributes", self.of_repository("info/attributes")?),
            ("info/exclude", self.of_repository("info/exclude")?),
            (SLOT_CONFIG, host.slot_config(&host.settings)),
            (SLOT_REFS, self.refs_for_slots()?),
            // The last file: it is there only if all others are.
            (SETTINGS, text),
        ] {
            git_disk::keep_bytes(&repository.join(name), &bytes)?;
        }
        Ok(pairs)
    }

    /// Updates what depends on the person's repository and on the places of both.
    fn refresh(&self, repository: &Path) -> Result<(), GitError> {
        let host = self.host();
        let config = settings::of_own(&host.settings);
        git_disk::keep_bytes(&repository.join("config"), &config)?;
        git_disk::keep_bytes(&repository.join("objects/info/alternates"), &self.borrowing_line()?)?;
        // The ends of history in a shallow clone.
        let path = repository.join("shallow");
        match self.of_repository("shallow")? {
            ends if ends.is_empty() => git_disk::remove_tree(&path),
            ends => git_disk::keep_bytes(&path, &ends),
        }
    }

    /// Copies the present branches and tags; those that the person removed disappear from our trees
    /// too.
    pub(crate) fn renew_refs(&self) -> Result<(), GitError> {
        match &self.0.person {
            Some(person) => {
                git_disk::keep_bytes(&self.common_dir().join(SLOT_REFS), &person.refs_for_slots()?)
            }
            None => Ok(()),
        }
    }

    fn refs_for_slots(&self) -> Result<Vec<u8>, GitError> {
        let mut text = b"# pack-refs with: sorted \n".to_vec();
        let call = self.call("for-each-ref refs/heads refs/remotes refs/tags --sort=refname");
        text.extend(call.arg("--format=%(objectname) %(refname)").ok()?);
        Ok(text)
    }

    /// A file of the person's, named by a setting or found by git under its usual name; empty if
    /// missing.
    fn personal(&self, key: &'static str, usual: &str) -> Result<Vec<u8>, GitError> {
        let path = self.host().path_of(key, usual);
        path.map_or(Ok(Vec::new()), |path| read_theirs(&self.top().join(path)))
    }

    /// The content of `objects/info/alternates` in a repository that borrows from this one.
    pub(super) fn borrowing_line(&self) -> Result<Vec<u8>, GitError> {
        let objects = self.objects();
        let objects = objects.canonicalize().map_err(GitError::io(&objects))?;
        Ok([borrowed(&objects), vec![b'\n']].concat())
    }

    fn of_repository(&self, name: &str) -> Result<Vec<u8>, GitError> {
        read_theirs(&self.common_dir().join(name))
    }

    /// Takes over objects and the settings of the start from another lineage of this project.
    pub fn take_over(&self, other: &Git) -> Result<(), GitError> {
        for name in [SETTINGS, SLOT_CONFIG, SLOT_REFS, ATTRIBUTES, EXCLUDES] {
            if let Ok(bytes) = files::read(&other.common_dir().join(name), BYTES_MAX) {
                self.write_own(name, bytes)?;
            }
        }
        for name in ["info/attributes", "info/exclude"] {
            let bytes = files::read(&other.common_dir().join(name), BYTES_MAX);
            self.write_own(name, bytes.unwrap_or_default())?;
        }
        self.share_objects_of(other)
    }

    fn write_own(&self, name: &'static str, bytes: Vec<u8>) -> Result<(), GitError> {
        git_disk::keep_bytes(&self.common_dir().join(name), &bytes)?;
        if let Some(kept) = &self.0.kept {
            kept.replace(name, bytes);
        }
        Ok(())
    }

    /// The person's repository, which may be this one.
    pub fn person(&self) -> &Git {
        self.0.person.as_ref().unwrap_or(self)
    }

    /// A run in the person's working tree and repository that also sees our objects.
    pub(super) fn at_home(&self, verb: &'static str) -> Call<'_> {
        match &self.0.person {
            None => self.call(verb),
            Some(person) => {
                let ours = borrowed(&self.objects());
                person.call(verb).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", OsString::from_vec(ours))
            }
        }
    }

    /// Copies into the person's repository what `head` has and it lacks. `base` is the base of the
    /// work.
    pub(super) fn bring_home(&self, head: &CommitId, base: &CommitId) -> Result<(), GitError> {
        let Some(person) = &self.0.person else { return Ok(()) };
        let stored = self.read_commits(std::slice::from_ref(base))?;
        let parents = stored.into_iter().filter_map(|stored| stored.parent);
        let mut orders = format!("{head}\n");
        for known in std::iter::once(base.clone()).chain(parents) {
            if person.exists(&known)? {
                orders.push_str(&format!("^{known}\n"));
                break;
            }
        }
        pack(self.at_home("pack-objects"), &person.objects(), orders.clone())?;
        sync_all_at(&person.objects())?;
        // Nothing that names it is written before all of it is there.
        person.call("rev-list --objects --quiet --stdin").stdin(orders).ok().map(drop)
    }

    /// Copies those of `ids` into our repository that are only borrowed, because nothing of ours
    /// keeps them there.
    pub(super) fn own(&self, ids: &[String]) -> Result<(), GitError> {
        let Some(person) = &self.0.person else { return Ok(()) };
        let is_loose = |id: &&String| self.loose(id).symlink_metadata().is_ok();
        let others: Vec<String> = ids.iter().filter(|id| !is_loose(id)).cloned().collect();
        if others.is_empty() {
            return Ok(());
        }
        let call = person.call("cat-file --batch-check=%(objectname)");
        let output = call.stdin(others.join("\n") + "\n").ok()?;
        let theirs: Vec<String> = output.split(|byte| *byte == b'\n').filter_map(as_id).collect();
        if theirs.is_empty() {
            return Ok(());
        }
        let pack = self.objects().join("pack/pack");
        let call = self.call("pack-objects -q").setting(SYNCED).arg(pack);
        call.stdin(theirs.join("\n") + "\n").ok().map(drop)
    }
}

/// Writes everything that `orders` (lines of `rev-list --stdin`) reach into one synced pack in
/// `objects`, if there is anything.
pub(super) fn pack(call: Call<'_>, objects: &Path, orders: String) -> Result<(), GitError> {
    let dir = objects.join("pack");
    git_disk::make_dirs(&dir)?;
    let call = call.setting(SYNCED).args(["-q", "--revs", "--non-empty"]).arg(dir.join("pack"));
    call.stdin(orders).ok().map(drop)
}

const SYNCED: &str = "core.fsync=objects,derived-metadata,reference";

/// Whether the repository is complete; fails if something else is there.
pub(super) fn is_whole(repository: &Path) -> Result<bool, GitError> {
    let above = repository.parent().unwrap_or(repository);
    for dir in [above, repository] {
        match dir.symlink_metadata() {
            Ok(meta) if !meta.is_dir() => {
                return Err(GitError::NoDirectory { path: dir.to_owned() });
            }
            _ => {}
        }
    }
    refuse_odd_files(repository)?;
    Ok(PARTS.iter().all(|part| repository.join(part).symlink_metadata().is_ok()))
}

/// Refuses pipes and devices, on which git would hang. Another user may have put them there.
fn refuse_odd_files(repository: &Path) -> Result<(), GitError> {
    let mut open = vec![repository.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let Ok(kind) = kind else { continue };
            if kind.is_dir() {
                open.push(path);
            } else if !kind.is_file() {
                let what = PathKind::of(kind).unwrap_or(PathKind::Device);
                return Err(GitError::NotPlain { path, what });
            }
        }
    }
    Ok(())
}

/// Restores the missing part of an existing repository. A new one is made beside, and then renamed.
pub(super) fn make(repository: &Path) -> Result<(), GitError> {
    if repository.is_dir() {
        return fill(repository);
    }
    let parent = repository.parent().unwrap_or(repository);
    files::make_dirs(parent).map_err(GitError::io(parent))?;
    let half_made = tempfile::Builder::new().prefix("new-").tempdir_in(parent);
    let half_made = half_made.map_err(GitError::io(parent))?.keep();
    let made = fill(&half_made).and_then(|()| sync_all_at(&half_made));
    if let Err(error) = made {
        git_disk::remove_tree(&half_made)?;
        return Err(error);
    }
    git_disk::name_dir(&half_made, repository)?;
    sync_all_at(parent)
}

fn fill(at: &Path) -> Result<(), GitError> {
    for dir in ["objects/info", "objects/pack", "refs/heads", "info"] {
        git_disk::make_dirs(&at.join(dir))?;
    }
    for (name, text) in [("HEAD", "ref: refs/heads/descent\n"), ("config", "")] {
        if at.join(name).symlink_metadata().is_err() {
            git_disk::keep_bytes(&at.join(name), text.as_bytes())?;
        }
    }
    Ok(())
}

fn read_pairs(path: &Path) -> Option<Vec<(OsString, OsString)>> {
    let bytes = files::read(path, BYTES_MAX).ok()?;
    let mut parts = fields(&bytes).map(|part| OsString::from_vec(part.to_vec()));
    let mut pairs = Vec::new();
    while let Some(key) = parts.next() {
        pairs.push((key, parts.next()?));
    }
    Some(pairs)
}

/// Reads a file that need not exist. Its links are followed, since the person made them.
fn read_theirs(path: &Path) -> Result<Vec<u8>, GitError> {
    let Ok(real) = path.canonicalize() else { return Ok(Vec::new()) };
    files::read(&real, BYTES_MAX).map_err(GitError::io(real))
}
