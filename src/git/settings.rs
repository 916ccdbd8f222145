//! Selects the person's settings that decide what a file means, and those for an attempt's own git.
//!
//! Invariant: of the settings that make git run a program, only clean and smudge filters are passed
//! on, because the files depend on them.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// Settings that decide what a file means; lower case, as git lists them.
const OF_FILES: &[&str] = &[
    "core.autocrlf",
    "core.eol",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.filemode",
];

/// The person's files that git finds by name if these are not set.
const NAMED_FILES: &[&str] = &["core.attributesfile", "core.excludesfile"];

/// One setting, as `git config --list --show-scope` prints it.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) scope: Vec<u8>,
    pub(super) key: String,
    pub(super) raw_key: Vec<u8>,
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
    let is_meant = |key: &str| is_of_files(key) || is_sparse(settings) && is_of_sparse(key);
    let meant = meant.filter(|(at, one)| is_meant(&one.key) && is_last(settings, *at));
    meant.map(|(_, one)| pair(one)).collect()
}

/// The `config` of a repository of ours that borrows from the person's.
pub(super) fn of_own(settings: &[Setting]) -> Vec<u8> {
    let mut text = format_of(settings, "true");
    let meant = |one: &&Setting| is_of_format(&one.key) || is_of_promisor(&one.key);
    for one in settings.iter().filter(meant).filter(|one| one.is_of_repository()) {
        add(&mut text, &one.raw_key, &one.value);
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
        let of_sparse = is_sparse(settings) && is_of_sparse(key);
        if of_sparse
            || is_of_format(key)
            || is_of_promisor(key)
            || of_remote
            || of_branch
            || of_file
        {
            add(&mut text, &one.raw_key, &one.value);
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
    OF_FILES.contains(&key) || key.starts_with("filter.")
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

/// Whether only the files of a sparse checkout are sure to be there: then our trees are as sparse as the person's.
pub(super) fn is_sparse(settings: &[Setting]) -> bool {
    let is_on = |one: &Setting| one.key == "core.sparsecheckout" && one.value == b"true";
    is_partial(settings) && settings.iter().any(is_on)
}

fn is_of_sparse(key: &str) -> bool {
    matches!(key, "core.sparsecheckout" | "core.sparsecheckoutcone")
}

fn is_last(settings: &[Setting], at: usize) -> bool {
    let mut later = settings.iter().skip(at + 1);
    !later.any(|later| later.raw_key == settings[at].raw_key)
}

fn pair(setting: &Setting) -> (OsString, OsString) {
    (OsString::from_vec(setting.raw_key.clone()), OsString::from_vec(setting.value.clone()))
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
