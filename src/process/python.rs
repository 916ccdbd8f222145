//! Packages of Python that are installed in place: where they are named, and where they lie.
//!
//! Facts: a directory of installed packages names others in `.pth` and `.egg-link` files, a path a line, and in finders
//! (`__editable__….py`). PYTHONPATH comes before all of them. Not here: which of these places is the project's.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::files;

/// Bytes of a file that names packages.
const NAMES_BYTES_MAX: u64 = 1 << 20;

/// The lines of a file that names packages, each as if it were a path from there.
pub fn named_in(path: &Path) -> Vec<PathBuf> {
    let dir = path.parent().unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names_packages = match path.extension().and_then(OsStr::to_str) {
        Some("pth" | "egg-link") => true,
        Some("py") => name.contains("editable"),
        _ => false,
    };
    if !names_packages {
        return Vec::new();
    }
    let text = files::read(path, NAMES_BYTES_MAX).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.starts_with(b"#"));
    lines.map(|line| dir.join(OsStr::from_bytes(line))).collect()
}

/// The files in the directories of installed packages that a person's variables lead to.
pub(super) fn installed(vars: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for (name, value) in vars {
        match name.to_str() {
            Some("VIRTUAL_ENV" | "CONDA_PREFIX") => roots.push(value.into()),
            Some("HOME") => roots.push(Path::new(value).join(".local")),
            Some("PATH") => {
                let programs = std::env::split_paths(value);
                roots.extend(programs.filter_map(|dir| Some(dir.parent()?.to_owned())));
            }
            _ => {}
        }
    }
    roots.sort();
    roots.dedup();
    let libraries = roots.iter().flat_map(|root| entries(&root.join("lib")));
    let libraries = libraries.filter(|dir| {
        let name = dir.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"python")
    });
    let dirs = libraries.flat_map(|dir| ["site-packages", "dist-packages"].map(|it| dir.join(it)));
    dirs.flat_map(|dir| entries(&dir)).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
}
