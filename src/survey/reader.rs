//! The project as the survey sees it: small text files and short lists of names.
//!
//! Invariant: a symlink that leads out of the project counts as missing. So does a file that is too large, not UTF-8,
//! or not regular.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use crate::files;

const FILE_BYTES_MAX: u64 = 512 * 1024;
/// Names read in one directory, and in all.
const NAMES_MAX: usize = 500;
const WALK_NAMES_MAX: usize = 4_000;
const DEPTH_MAX: usize = 4;

/// Directories never entered: build output, and files that are not the project's own.
const NOT_WALKED: &[&str] =
    &["node_modules", "target", "vendor", "dist", "build", "venv", "__pycache__"];

#[derive(Debug)]
pub(super) struct Reader {
    root: PathBuf,
}

impl Reader {
    pub(super) fn open(project: &Path) -> Option<Self> {
        let root = project.canonicalize().ok()?;
        Some(Self { root })
    }

    /// The real place of a path, if that is in the project.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let real = self.root.join(path).canonicalize().ok()?;
        real.starts_with(&self.root).then_some(real)
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        let real = self.inside(path)?;
        String::from_utf8(files::read(&real, FILE_BYTES_MAX).ok()?).ok()
    }

    pub(super) fn is_file(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|path| path.is_file())
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.inside(path).is_some()
    }

    pub(super) fn is_dir(&self, path: &str) -> bool {
        self.inside(path).is_some_and(|path| path.is_dir())
    }

    /// The names in a directory, sorted.
    pub(super) fn names(&self, dir: &str) -> Vec<String> {
        let Some(real) = self.inside(dir) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(real).into_iter().flatten().flatten();
        let names =
            entries.take(NAMES_MAX).filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Whether a file of the project, not too deep, has such a name.
    pub(super) fn any_file(&self, fits: impl Fn(&str) -> bool) -> bool {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        let fits = |path: &str| name(path).is_some_and(|name| fits(&name));
        !self.walk(|path| !fits(path))
    }

    /// The paths of files that are not too deep, those at the top first.
    pub(super) fn files(&self, files_max: usize) -> Vec<String> {
        let mut files = Vec::new();
        self.walk(|path| {
            files.push(path.to_owned());
            files.len() < files_max
        });
        files
    }

    /// Visits files until one says no; false then.
    fn walk(&self, mut goes_on: impl FnMut(&str) -> bool) -> bool {
        let mut todo = VecDeque::from([(String::new(), 0)]);
        let mut seen = 0;
        while let Some((dir, depth)) = todo.pop_front() {
            for name in self.names(if dir.is_empty() { "." } else { &dir }) {
                seen += 1;
                if seen > WALK_NAMES_MAX {
                    return true;
                }
                let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
                let Ok(meta) = self.root.join(&path).symlink_metadata() else {
                    continue;
                };
                if meta.is_file() && !goes_on(&path) {
                    return false;
                }
                let is_walked = !name.starts_with('.') && !NOT_WALKED.contains(&name.as_str());
                if meta.is_dir() && depth < DEPTH_MAX && is_walked {
                    todo.push_back((path, depth + 1));
                }
            }
        }
        true
    }
}
