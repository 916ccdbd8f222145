//! Marks that `setup` was run in a tree for checks, which is kept from one commit to the next.
//!
//! Invariant: a mark is valid for one directory, one command and the files that the command read. A tree that was made
//! anew, a changed command or changed files need `setup` again, however the process ended in between.
#![allow(clippy::disallowed_methods)] // door: holds a directory of the cache open

use std::{fs::File, io, os::unix::fs::MetadataExt, path::Path};

use descent_core::id::Digest;

use crate::files;

const MARK_BYTES_MAX: u64 = 4 << 10;

/// Keeps a directory's number from being given to another one.
#[derive(Debug)]
pub(super) struct DirectoryPin(Option<File>);

pub(super) fn hold(dir: &Path) -> DirectoryPin {
    DirectoryPin(files::open_dir(dir).ok())
}

/// Whether the directory is the same as the pinned one.
pub(super) fn is_same(held: &DirectoryPin, dir: &Path) -> bool {
    let before = held.0.as_ref().and_then(|file| file.metadata().ok());
    before.is_some_and(|before| {
        let now = dir.symlink_metadata();
        now.is_ok_and(|now| now.ino() == before.ino() && now.dev() == before.dev())
    })
}

/// Removes the mark if the directory was made anew since it was pinned.
pub(super) fn forget_if_remade(held: &DirectoryPin, dir: &Path, mark: &Path) -> io::Result<()> {
    if is_same(held, dir) {
        return Ok(());
    }
    forget(mark)
}

pub(super) fn forget(mark: &Path) -> io::Result<()> {
    files::remove(mark)
}

/// `inputs` is the digest of the files that the command reads.
pub(super) fn is_set_up(dir: &Path, mark: &Path, setup: &str, inputs: &Digest) -> bool {
    let wanted = text(dir, setup, inputs);
    wanted.is_ok_and(|wanted| {
        let found = files::read(mark, MARK_BYTES_MAX);
        found.is_ok_and(|found| found == wanted.as_bytes())
    })
}

pub(super) fn note(dir: &Path, mark: &Path, setup: &str, inputs: &Digest) -> io::Result<()> {
    files::write_anew(mark, text(dir, setup, inputs)?.as_bytes())
}

fn text(dir: &Path, setup: &str, inputs: &Digest) -> io::Result<String> {
    let meta = dir.symlink_metadata()?;
    let command = Digest::sha256(setup.as_bytes());
    Ok(format!("{command} {inputs} {}:{}\n", meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_mark_goes_with_the_directory_and_not_without() {
        let world = tempfile::tempdir().unwrap();
        let (dir, mark) = (world.path().join("dir"), world.path().join("mark"));
        let none = hold(&dir);
        fs::create_dir(&dir).unwrap();
        let (one, other) = (Digest::sha256(b"one"), Digest::sha256(b"other"));
        note(&dir, &mark, "make", &one).unwrap();
        assert!(is_set_up(&dir, &mark, "make", &one));
        assert!(!is_set_up(&dir, &mark, "other", &one));
        assert!(!is_set_up(&dir, &mark, "make", &other));
        forget_if_remade(&hold(&dir), &dir, &mark).unwrap();
        assert!(mark.exists());
        forget_if_remade(&none, &dir, &mark).unwrap();
        assert!(!mark.exists() && !is_set_up(&dir, &mark, "make", &one));
        forget_if_remade(&none, &dir, &mark).unwrap();
    }
}
