//! Ways that lead from a checkout back into the project: links of the tree, and what lies in linked paths. And the paths that
//! a person's variables name there.
//!
//! A symbolic link of the tree counts by its absolute path. In linked paths it is every link, and the files by which Python
//! finds a package that is installed in place. Other files are not read. A way into a linked or ignored path is none back:
//! no commit holds what lies there.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsStr,
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use descent_core::id::CommitId;

use super::{Checkout, Result, WorkspaceError, Worktrees};
use crate::{files, process::environment::Environment};

/// Links of a commit, and entries of linked paths, that are looked at.
const LINKS_MAX: usize = 20_000;
const ENTRIES_MAX: usize = 500_000;
/// Bytes of a file that names packages.
const NAMES_BYTES_MAX: u64 = 1 << 20;

impl Worktrees {
    /// The person's variables for jobs in these trees.
    pub fn environment(&self, theirs: Environment) -> Environment {
        theirs.of_project(self.git.top(), &self.prefix)
    }

    /// The paths of the project that variables name and a checkout lacks, each with their names. Without a checkout it is what git
    /// ignores and nobody links.
    pub fn lacking(
        &self,
        environment: &Environment,
        which: Option<Checkout>,
    ) -> Result<BTreeMap<PathBuf, Vec<String>>> {
        let root = which.map(|which| self.checks(which)).transpose()?;
        let has = |path: &Path| match &root {
            Some((root, _)) => root.join(path).exists(),
            None => self.is_linked(path) || !self.git.is_ignored(path).unwrap_or(false),
        };
        let lacking = environment.lacking(has).into_iter();
        let inside = |path: PathBuf| match path.strip_prefix(&self.prefix) {
            Ok(inside) => inside.to_owned(),
            Err(_) => path,
        };
        Ok(lacking.map(|(path, names)| (inside(path), names)).collect())
    }

    /// Refuses what leads from a checkout of that commit back into the project.
    pub fn refuse_ways_back(&self, commit: Option<&CommitId>) -> Result<()> {
        if let Some(commit) = commit {
            self.refuse_links_back(commit)?;
        }
        for link in &self.links {
            if !self.refuse_in_linked(link)? {
                let link = link.display();
                self.note([format!(
                    "`{link}` is linked, and has more than {ENTRIES_MAX} entries: it is not known whether each stays out of the project"
                )]);
            }
        }
        Ok(())
    }

    /// Whether nothing in that path of the project would lead back, if it were linked.
    pub fn may_be_linked(&self, path: &Path) -> bool {
        !matches!(
            self.refuse_in_linked(path),
            Err(WorkspaceError::LeadsBack { .. })
        )
    }

    /// The same of its links alone.
    pub(super) fn refuse_links_back(&self, commit: &CommitId) -> Result<()> {
        let mut others = Vec::new();
        for (at, to) in self.git.links_in(commit, LINKS_MAX)? {
            if to.is_absolute()
                && let Some(to) = self.own_path(&to, &mut others)?
            {
                return Err(WorkspaceError::LeadsBack { at, to, link: None });
            }
        }
        Ok(())
    }

    /// False if there is too much to look at all of it.
    fn refuse_in_linked(&self, link: &Path) -> Result<bool> {
        let root = self.project.join(link);
        let (mut open, mut looked, mut others) = (VecDeque::from([root.clone()]), 0, Vec::new());
        while let Some(path) = open.pop_front() {
            let Ok(meta) = path.symlink_metadata() else {
                continue;
            };
            for to in leads_to(&path, &meta) {
                if let Some(to) = self.own_path(&to, &mut others)? {
                    let at = path.strip_prefix(&self.project).unwrap_or(&path).to_owned();
                    let link = Some(link.to_owned());
                    return Err(WorkspaceError::LeadsBack { at, to, link });
                }
            }
            looked += 1;
            if looked > ENTRIES_MAX {
                return Ok(false);
            }
            if meta.is_dir() || path == root {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()));
            }
        }
        Ok(true)
    }

    /// The place in the project that a path leads to, if a commit can hold what is there. `others` are paths that are known to be ignored.
    fn own_path(&self, path: &Path, others: &mut Vec<PathBuf>) -> Result<Option<PathBuf>> {
        let mut above = path.ancestors();
        let real = above.find_map(|dir| {
            let rest = path.strip_prefix(dir).ok()?;
            let real = dir.canonicalize().ok()?;
            Some(
                real.components()
                    .chain(rest.components())
                    .collect::<PathBuf>(),
            )
        });
        let Some(real) = real else { return Ok(None) };
        let Ok(below) = real.strip_prefix(self.git.top()) else {
            return Ok(None);
        };
        let is_other = self.is_linked(below)
            || [".git", ".descent"]
                .iter()
                .any(|own| below.starts_with(own))
            || others.iter().any(|other| below.starts_with(other));
        if is_other {
            return Ok(None);
        }
        let mut parts: Vec<&Path> = below.ancestors().collect();
        parts.reverse();
        for part in parts {
            if self.git.is_ignored(part)? {
                others.push(part.to_owned());
                return Ok(None);
            }
        }
        Ok(Some(real))
    }

    /// Whether a path below the top is linked into checkouts.
    fn is_linked(&self, path: &Path) -> bool {
        let mut links = self.links.iter();
        links.any(|link| path.starts_with(self.prefix.join(link)))
    }
}

/// The target of a link, or the paths in a file by which Python finds packages.
fn leads_to(path: &Path, meta: &Metadata) -> Vec<PathBuf> {
    let dir = path.parent().unwrap_or(path);
    if meta.is_symlink() {
        let to = fs::read_link(path);
        return to.into_iter().map(|to| dir.join(to)).collect();
    }
    let ending = path.extension().and_then(OsStr::to_str);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names_packages = match ending {
        Some("pth" | "egg-link") => true,
        Some("py") => name.contains("editable"),
        _ => false,
    };
    if !names_packages || !meta.is_file() {
        return Vec::new();
    }
    let bytes = files::read(path, NAMES_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let quoted = text
        .split(['\'', '"', '\n'])
        .filter(|part| part.starts_with('/'));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.filter(|_| ending != Some("py"));
    lines.chain(quoted).map(|to| dir.join(to)).collect()
}
