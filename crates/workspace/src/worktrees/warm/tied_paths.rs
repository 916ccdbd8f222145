//! The path of the tree that build state was made in, where that state holds it.
//!
//! A unit of cargo that was made with such a path (`env!("CARGO_MANIFEST_DIR")`) is left out, and made again: a test
//! would read and write the files of another tree. In text of a virtual environment and of packages the path becomes
//! that of the new tree. Anything else that is known to hold it is not carried.
#![allow(clippy::disallowed_methods)] // door: directories of the cache

use std::{
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use descent_system::files;
use memchr::memmem;

/// A longer file is not looked at as text.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The file that says that cargo made a directory.
const OF_CARGO: &str = ".rustc_info.json";
/// Names beside text that holds the path of the tree, and that may become another.
const MOVABLE: [&str; 2] = ["pyvenv.cfg", ".pnpm"];
/// Names beside what cannot serve in another tree.
const TIED: [&str; 2] = [".git", "CMakeCache.txt"];

/// The tree that something was made in, and the one that it is to serve in.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeMove<'p> {
    pub(super) from: &'p Path,
    pub(super) to: &'p Path,
}

/// Names that were met in a directory of build state, by paths relative to it.
#[derive(Debug, Default)]
pub(super) struct TieSearch {
    pub(super) is_of_cargo: bool,
    pub(super) is_movable: bool,
    /// Lists of what a file was made from, and outputs of build scripts.
    depends: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    /// Directories in which cargo notes that something is made.
    made: Vec<PathBuf>,
}

impl TieSearch {
    /// Whether the directory may still be carried.
    pub(super) fn meet(&mut self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.is_of_cargo |= path == Path::new(OF_CARGO);
        self.is_movable |= MOVABLE.contains(&name);
        if path.extension().is_some_and(|end| end == "d") {
            self.depends.push(path.to_owned());
        } else if name == "output"
            && path.ancestors().nth(2).is_some_and(|dir| dir.ends_with("build"))
        {
            self.outputs.push(path.to_owned());
        } else if path.parent().is_some_and(|dir| dir.ends_with(".fingerprint")) {
            self.made.push(path.to_owned());
        }
        !TIED.contains(&name)
    }

    /// The notes of units that are made again; `None` if all stays behind. The directory is `dir` of the tree `made_in`, and
    /// lies at `at` now.
    pub(super) fn left_out(
        &self,
        at: &Path,
        made_in: TreeOrigin<'_>,
        dir: &Path,
    ) -> Option<Vec<PathBuf>> {
        let text = |path: &PathBuf| files::read(&at.join(path), TEXT_BYTES_MAX).ok();
        if !self.is_of_cargo {
            let is_free = |path| text(path).is_some_and(|text| !holds(&text, made_in.path));
            return self.depends.iter().all(is_free).then(Vec::new);
        }
        let own = made_in.path.join(dir);
        let mut units = Vec::new();
        for path in &self.depends {
            let text = text(path)?;
            // A macro may have put the path into a crate of the tree, and nothing says so.
            let is_of_tree = made_in.is_persons && has_source_in_tree(&text);
            if is_of_tree || has_tied_variable(&text, made_in.path) {
                units.push((path, hash_of(path.file_stem()?.to_str()?)));
            }
        }
        for path in &self.outputs {
            // Cargo itself moves what a build script made below its own directory.
            let text = text(path)?;
            if places_of(&text, made_in.path).any(|n| !begins_with(&text[n..], &own)) {
                units.push((path, hash_of(path.parent()?.file_name()?.to_str()?)));
            }
        }
        // Cargo makes a unit without a note again. Without any note its directories are of another kind.
        if !units.is_empty() && self.made.is_empty() {
            return None;
        }
        let mut left_out = Vec::new();
        for (path, unit) in units {
            let is_its = |dir: &&PathBuf| dir.to_str().and_then(hash_of) == unit;
            left_out.extend(self.made.iter().filter(is_its).cloned());
            left_out.push(path.clone());
        }
        Some(left_out)
    }
}

fn hash_of(name: &str) -> Option<&str> {
    name.rsplit_once('-').map(|(_, hash)| hash)
}

/// Whether a list of dependencies names a source by a path relative to the tree.
fn has_source_in_tree(depends: &[u8]) -> bool {
    let lines = depends.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#"));
    let sources = lines.filter_map(|line| line.splitn(2, |byte| *byte == b':').nth(1));
    let mut sources = sources.flat_map(|line| line.split(|byte| *byte == b' '));
    sources.any(|source| !source.is_empty() && !source.starts_with(b"/"))
}

/// Whether rustc read a variable with such a path. Files below `OUT_DIR` were generated by the build itself.
fn has_tied_variable(depends: &[u8], tree: &Path) -> bool {
    let variables =
        depends.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"# env-dep:"));
    let mut variables = variables.filter(|variable| !variable.starts_with(b"OUT_DIR="));
    variables.any(|variable| holds(variable, tree))
}

pub(super) fn holds(text: &[u8], tree: &Path) -> bool {
    places_of(text, tree).next().is_some()
}

/// The places in a text that spell the path of a tree, or a path below it.
fn places_of<'t>(text: &'t [u8], tree: &'t Path) -> impl Iterator<Item = usize> + 't {
    let tree = tree.as_os_str().as_bytes();
    memmem::find_iter(text, tree).filter(move |n| is_end(text.get(n + tree.len())))
}

fn begins_with(text: &[u8], path: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    text.starts_with(path) && is_end(text.get(path.len()))
}

/// Whether the name of a file cannot go on with this byte.
fn is_end(byte: Option<&u8>) -> bool {
    byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(byte))
}

/// A text in which the path of one tree becomes that of another; `None` if it does not hold it, or is no text.
pub(super) fn moved(text: &[u8], trees: &TreeMove<'_>) -> Option<Vec<u8>> {
    let TreeMove { from, to } = *trees;
    let (mut moved, mut at) = (Vec::new(), 0);
    for n in places_of(text, from) {
        moved.extend_from_slice(&text[at..n]);
        moved.extend_from_slice(to.as_os_str().as_bytes());
        at = n + from.as_os_str().len();
    }
    moved.extend_from_slice(&text[at..]);
    (at > 0 && !text.contains(&0)).then_some(moved)
}

/// Whether a file of any kind holds the path: a program would read and write there.
pub(super) fn is_tied_file(file: &Path, tree: &Path) -> bool {
    let find = || -> io::Result<bool> {
        let (mut file, mut bytes) = (File::open(file)?, Vec::new());
        loop {
            // The path may begin in one part and end in the next.
            bytes.drain(..bytes.len().saturating_sub(tree.as_os_str().len()));
            let is_last = Read::take(&mut file, TEXT_BYTES_MAX).read_to_end(&mut bytes)? == 0;
            if is_last || holds(&bytes, tree) {
                return Ok(holds(&bytes, tree));
            }
        }
    };
    find().unwrap_or(true)
}

/// The tree that build state was made in, and who made it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeOrigin<'p> {
    pub(super) path: &'p Path,
    pub(super) is_persons: bool,
}
