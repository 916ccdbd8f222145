//! The tree that the rules read: its files, and the code of each without ignored parts.

use std::fs;
use std::path::Path;

use super::PACKAGES;
use super::text::{without_tests, without_words};

/// One `.rs` file: as written, and with comments, literals and test code blanked, line by line.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) code: String,
}

pub(crate) fn production(root: &Path) -> Vec<Source> {
    PACKAGES.iter().flat_map(|package| sources(root, &package.sources())).collect()
}

pub(crate) fn everything(root: &Path) -> Vec<Source> {
    let folders = ["crates", "fixtures/agents", "src", "tests"].iter();
    folders.flat_map(|folder| sources(root, folder)).collect()
}

pub(crate) fn sources(root: &Path, folder: &str) -> Vec<Source> {
    let files = files_below(root, folder, "rs").into_iter();
    let load = |path: String| {
        let text = read(&root.join(&path));
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        let code = if is_test { String::new() } else { without_tests(&without_words(&text)) };
        Source { path, text, code }
    };
    files.map(load).collect()
}

pub(crate) fn is_listed(path: &str, list: &[&str]) -> bool {
    list.iter().any(|entry| path == *entry || entry.ends_with('/') && path.starts_with(entry))
}

/// The text of a file; empty if there is none, so that the rules report their subject as missing.
pub(crate) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Paths from `root`, with `/` between, of the files with this extension, in order.
pub(crate) fn files_below(root: &Path, folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in files_in(&root.join(folder)) {
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            found.extend(files_below(root, &path, extension));
        } else if Path::new(&name).extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}
