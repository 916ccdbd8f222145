//! The settings that decide what a file means, selected from the person's, and those for an attempt's own git. The small
//! files of a repository of ours hold them.
//!
//! Invariants: of the settings that make git run a program, only clean and smudge filters are passed on, because the files
//! depend on them. The files are as this program wrote them before each run of git in that repository. An attempt runs as
//! the person, so that it can write there. With a filter of its own, other bytes would be delivered than were checked.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{Git, GitError, git_disk};
use descent_system::files::{self, CloseStamp};

/// Settings that decide what a file means; lower case, as git lists them.
const OF_FILES: &str =
    "core.autocrlf core.eol core.ignorecase core.precomposeunicode core.symlinks core.filemode";

/// The person's files that git finds by name if these are not set.
const NAMED_FILES: &[&str] = &["core.attributesfile", "core.excludesfile"];

/// One setting, as `git config --list --show-scope` prints it.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) scope: Vec<u8>,
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

impl Setting {
    fn is_of_repository(&self) -> bool {
        matches!(&self.scope[..], b"local" | b"worktree")
    }
}

/// The person's settings that are passed to git, which reads the repository's own file by itself.
pub(super) fn passing(settings: &[Setting]) -> Vec<(OsString, OsString)> {
    let passes = |key: &str| is_of_files(key) || NAMED_FILES.contains(&key);
    let mut pairs = Vec::new();
    for (at, setting) in settings.iter().enumerate() {
        let theirs = setting.scope != b"local" && passes(&setting.key) && is_last(settings, at);
        let trusted = setting.key == "safe.directory"
            && matches!(&setting.scope[..], b"system" | b"global" | b"command");
        if theirs || trusted {
            pairs.push(pair(setting));
        }
    }
    pairs
}

/// The settings that decide how the person's files become objects and back, wherever they are set.
pub(super) fn of_files(settings: &[Setting]) -> Vec<(OsString, OsString)> {
    let meant = settings.iter().enumerate();
    let meant = meant.filter(|(at, one)| is_of_files(&one.key) && is_last(settings, *at));
    meant.map(|(_, one)| pair(one)).collect()
}

/// The `config` of a repository of ours that borrows from the person's.
pub(super) fn of_own(settings: &[Setting]) -> Vec<u8> {
    let mut text = format_of(settings, "true");
    let meant = |one: &&Setting| is_of_format(&one.key) || is_of_promisor(&one.key);
    for one in settings.iter().filter(meant).filter(|one| one.is_of_repository()) {
        add(&mut text, one.key.as_bytes(), &one.value);
    }
    text
}

/// The `config` of an attempt's own repository.
pub(super) fn of_slot(settings: &[Setting], name: &OsStr, email: &OsStr) -> Vec<u8> {
    let mut text = format_of(settings, "false");
    for one in settings.iter().filter(|one| one.is_of_repository()) {
        let key = &one.key[..];
        let of_remote = key.starts_with("remote.")
            && [".url", ".pushurl", ".fetch"].iter().any(|end| key.ends_with(end));
        let of_branch = key.starts_with("branch.")
            && [".remote", ".merge"].iter().any(|end| key.ends_with(end));
        let of_file = is_of_files(key) || NAMED_FILES.contains(&key);
        if is_of_format(key) || is_of_promisor(key) || of_remote || of_branch || of_file {
            add(&mut text, one.key.as_bytes(), &one.value);
        }
    }
    for (key, value) in [
        ("user.name", name.as_bytes()),
        ("user.email", email.as_bytes()),
        ("core.logAllRefUpdates", b"true"),
        // No background work may outlive an attempt.
        ("gc.auto", b"0"),
        ("maintenance.auto", b"false"),
    ] {
        add(&mut text, key.as_bytes(), value);
    }
    text
}

fn format_of(settings: &[Setting], is_bare: &str) -> Vec<u8> {
    let has_extension = settings.iter().any(|one| one.is_of_repository() && is_of_format(&one.key));
    let version = if has_extension { "1" } else { "0" };
    let mut text = Vec::new();
    add(&mut text, b"core.repositoryFormatVersion", version.as_bytes());
    add(&mut text, b"core.bare", is_bare.as_bytes());
    text
}

fn is_of_files(key: &str) -> bool {
    OF_FILES.split(' ').any(|known| known == key) || key.starts_with("filter.")
}

fn is_of_format(key: &str) -> bool {
    matches!(key, "extensions.objectformat" | "extensions.partialclone")
}

fn is_of_promisor(key: &str) -> bool {
    let ends = [".promisor", ".partialclonefilter"];
    key.starts_with("remote.") && ends.iter().any(|end| key.ends_with(end))
}

/// Whether objects may be missing that a remote promised.
pub(super) fn is_partial(settings: &[Setting]) -> bool {
    let mut own = settings.iter().filter(|one| one.is_of_repository());
    own.any(|one| one.key == "extensions.partialclone" || is_of_promisor(&one.key))
}

fn is_last(settings: &[Setting], at: usize) -> bool {
    let mut later = settings.iter().skip(at + 1);
    !later.any(|later| later.key == settings[at].key)
}

fn pair(setting: &Setting) -> (OsString, OsString) {
    (setting.key.clone().into(), OsString::from_vec(setting.value.clone()))
}

/// Splits `section.sub.name` and writes it in git's own syntax.
fn add(text: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let dot = |byte: &u8| *byte == b'.';
    let (Some(first), Some(last)) = (key.iter().position(dot), key.iter().rposition(dot)) else {
        return;
    };
    text.push(b'[');
    text.extend_from_slice(&key[..first]);
    if first < last {
        text.push(b' ');
        quote(text, &key[first + 1..last]);
    }
    text.extend_from_slice(b"]\n\t");
    text.extend_from_slice(&key[last + 1..]);
    text.extend_from_slice(b" = ");
    quote(text, value);
    text.push(b'\n');
}

fn quote(text: &mut Vec<u8>, value: &[u8]) {
    text.push(b'"');
    for byte in value {
        match byte {
            b'\n' => text.extend_from_slice(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
}

/// All that git, or we, read settings from. Those that are missing stay so.
const NAMES: &str = "config config.worktree commondir descent-attributes descent-config descent-excludes \
                     descent-settings info/attributes info/exclude objects/info/alternates";

/// The directories of these files.
const DIRS: &[&str] = &["info", "objects/info"];

/// Other files that git opens in each run; it would wait for a pipe.
const OPENED: &[&str] = &["HEAD", "packed-refs"];

/// Maximum of bytes of each copied file of settings.
pub(super) const BYTES_MAX: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct KeptFiles(Mutex<BTreeMap<&'static str, KeptFile>>);

#[derive(Debug)]
struct KeptFile {
    bytes: Vec<u8>,
    /// That of the file when it had these bytes.
    stamp: Option<CloseStamp>,
}

impl KeptFile {
    fn of(bytes: Vec<u8>) -> Self {
        let stamp = None;
        Self { bytes, stamp }
    }

    fn put_back(&mut self, path: &Path) -> Result<(), GitError> {
        let stamp = git_disk::settled_stamp(path);
        if stamp.is_some() && stamp == self.stamp {
            return Ok(());
        }
        self.stamp = None;
        if git_disk::has_bytes(path, &self.bytes) {
            self.stamp = stamp;
            return Ok(());
        }
        git_disk::hold_bytes(path, &self.bytes)
    }
}

impl KeptFiles {
    /// As they are now: the caller has just written them, and nothing has run since.
    pub(super) fn read(repository: &Path) -> Result<Self, GitError> {
        let mut kept = BTreeMap::new();
        for name in NAMES.split(' ') {
            let path = repository.join(name);
            match files::read(&path, BYTES_MAX) {
                Ok(bytes) => drop(kept.insert(name, KeptFile::of(bytes))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::io(path)(error)),
            }
        }
        Ok(Self(Mutex::new(kept)))
    }

    /// From here on these bytes are the right ones.
    pub(super) fn replace(&self, name: &'static str, bytes: Vec<u8>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(name, KeptFile::of(bytes));
    }

    /// Writes again those that differ, and removes those that should not exist.
    fn put_back(&self, repository: &Path) -> Result<(), GitError> {
        for dir in [repository, &repository.join("objects")] {
            match dir.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => {
                    return Err(GitError::NoDirectory { path: dir.to_owned() });
                }
                // A missing repository is not replaced: git fails, and says so.
                Err(_) => return Ok(()),
            }
        }
        for dir in DIRS.iter().map(|name| repository.join(name)) {
            if files::plain_dir(&dir).is_err() {
                git_disk::remove_tree(&dir)?;
                git_disk::make_dir(&dir)?;
            }
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in NAMES.split(' ') {
            let path = repository.join(name);
            match kept.get_mut(name) {
                Some(file) => file.put_back(&path)?,
                None => git_disk::remove_tree(&path)?,
            }
        }
        for name in OPENED {
            if let Some(what) = git_disk::special(repository, Path::new(name)) {
                return Err(GitError::NotPlain { path: repository.join(name), what });
            }
        }
        Ok(())
    }
}

impl Git {
    /// Makes the files of a repository of ours that decide about bytes what they were. The person's
    /// repository is theirs.
    pub(super) fn put_back(&self) -> Result<(), GitError> {
        match &self.0.kept {
            Some(kept) => kept.put_back(self.common_dir()),
            None => Ok(()),
        }
    }
}
