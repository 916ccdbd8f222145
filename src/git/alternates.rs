//! The repositories whose objects a repository borrows, and how git is told.
//!
//! Invariant: every directory is named directly and by an absolute path, since git follows only a
//! few relative ones in a row.

use super::GitError;
use crate::files;
use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Maximum of repositories that one borrows from, directly or through others.
const DIRS_MAX: usize = 64;
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Alternates(Vec<PathBuf>);

/// `objects`, and every directory that it borrows from itself.
pub(super) fn borrowed(objects: &Path) -> Result<Alternates, GitError> {
    let objects = objects.canonicalize().map_err(GitError::io(objects))?;
    let (mut all, mut at) = (vec![objects], 0);
    while let Some(dir) = all.get(at).cloned() {
        at += 1;
        let text = files::read(&dir.join("info/alternates"), BYTES_MAX).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let paths = lines.filter(|line| !line.is_empty() && line[0] != b'#' && line[0] != b'"');
        for path in paths {
            let path = dir.join(super::call::as_path(path));
            if let Ok(real) = path.canonicalize()
                && !all.contains(&real)
                && all.len() < DIRS_MAX
            {
                all.push(real);
            }
        }
    }
    Ok(Alternates(all))
}

impl Alternates {
    /// The content of `objects/info/alternates`.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for dir in &self.0 {
            text.extend(quoted(dir, b'\n'));
            text.push(b'\n');
        }
        text
    }
}

/// The value of `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
pub(super) fn for_variable(dir: &Path) -> Vec<u8> {
    quoted(dir, b':')
}

/// Quoted if git would read it differently otherwise.
fn quoted(dir: &Path, separator: u8) -> Vec<u8> {
    let bytes = dir.as_os_str().as_bytes();
    let is_odd = |byte: &u8| *byte == separator || *byte < b' ';
    let is_plain =
        !bytes.iter().any(is_odd) && !bytes.starts_with(b"\"") && !bytes.starts_with(b"#");
    if is_plain {
        return bytes.to_vec();
    }
    let mut text = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte if *byte < b' ' => text.extend(format!("\\{byte:03o}").bytes()),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_git_would_read_as_another_is_quoted() {
        let line =
            |path: &str, separator| String::from_utf8(quoted(Path::new(path), separator)).unwrap();
        assert_eq!(line("/a b/ü", b':'), "/a b/ü");
        assert_eq!(line("/a:b", b':'), "\"/a:b\"");
        assert_eq!(line("/a:b", b'\n'), "/a:b");
        assert_eq!(line("/a\n\"b", b'\n'), "\"/a\\012\\\"b\"");
    }
}
