//! Paths and patterns as a person writes them in the constraints, and the project by their measure: what no pattern
//! matches, and how large it is without what is linked.
//!
//! Invariant: only names and sizes are read, and no more of them than the limits; beyond the limit a pattern counts as one
//! that matches. Not here: the use of a pattern.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use descent_core::{
    doc::suggest,
    graph::overlap,
    judging::{Unmatched, UnmatchedPattern},
    state::{Constraints, Workspace},
};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Result, WorkspaceError};
use descent_system::files;

/// Reads the links as plain relative paths, for joining.
pub(super) fn read_links(links: &[String]) -> Result<Vec<PathBuf>> {
    links.iter().map(|link| plain(link)).collect()
}

fn plain(link: &str) -> Result<PathBuf> {
    let bad = || WorkspaceError::BadLink { path: link.to_owned() };
    let mut path = PathBuf::new();
    for component in Path::new(link).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(bad()),
        }
    }
    // An attempt that shares the repository or the state could change what judges it. A file system may not tell upper
    // from lower case.
    let is_ours = |part: Component<'_>| {
        let name = part.as_os_str();
        name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case(".descent")
    };
    if path.as_os_str().is_empty() || path.components().any(is_ours) {
        Err(bad())
    } else {
        Ok(path)
    }
}

/// Checks the paths and patterns of the constraints before anything is made.
pub(super) fn check(constraints: &Constraints) -> Result<()> {
    read_links(&constraints.link)?;
    for (key, globs) in [
        ("protected", &constraints.protected),
        ("setup.inputs", &constraints.setup.inputs),
        ("setup.keep", &constraints.setup.keep),
    ] {
        Globs::read(key, globs)?;
    }
    Ok(())
}

/// Those of some declared paths and patterns whose files no attempt may change. A pattern of the constraint that cannot
/// be read protects none here.
pub fn protected(
    constraints: &Constraints,
    touched: impl IntoIterator<Item = String>,
) -> BTreeSet<String> {
    let Ok(globs) = Globs::read("protected", &constraints.protected) else {
        return BTreeSet::new();
    };
    let is_match = |path: &str| globs.is_match(Path::new(path), Path::new(""));
    let is_protected = |touched: &String| {
        let path = touched.trim_start_matches("./").trim_end_matches('/');
        match path.find(['*', '?', '[', '{', '\\']) {
            // All that it matches lies in this directory.
            Some(wildcard) => path[..wildcard]
                .rfind('/')
                .is_some_and(|end| is_match(&format!("{}/x", &path[..end]))),
            None => is_match(path) || is_match(&format!("{path}/x")),
        }
    };
    touched.into_iter().filter(is_protected).collect()
}

/// A pattern without what says that it begins at the top: all of them do.
pub(super) fn below_top(pattern: &str) -> &str {
    overlap::plain(pattern).trim_start_matches('/')
}

/// The patterns of one constraint; each is relative to the project, or to the repository's top.
#[derive(Debug, Clone)]
pub(super) struct Globs(GlobSet);

impl Globs {
    /// `*` stops at a slash, `**` does not, `tests/` means all in it, and `/` before it is the top. `key` names the
    /// constraint in an error.
    pub(super) fn read(key: &'static str, patterns: &[String]) -> Result<Self> {
        let mut set = GlobSetBuilder::new();
        let bad = |glob: &str, error: &globset::Error| WorkspaceError::BadGlob {
            key,
            glob: glob.to_owned(),
            fault: error.kind().to_string(),
        };
        for pattern in patterns {
            let below = match below_top(pattern) {
                "" => [String::new(), "**".to_owned()],
                path => [path.to_owned(), format!("{path}/**")],
            };
            for text in &below {
                let glob = GlobBuilder::new(text).literal_separator(true).build();
                set.add(glob.map_err(|error| bad(pattern, &error))?);
            }
        }
        Ok(Self(set.build().map_err(|error| bad(&patterns.join(" "), &error))?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `path` is relative to the repository's top, in which the project lies at `prefix`.
    pub(super) fn is_match(&self, path: &Path, prefix: &Path) -> bool {
        self.0.is_match(path) || path.strip_prefix(prefix).is_ok_and(|path| self.0.is_match(path))
    }
}

/// A walk through so many names takes about a second.
const NAMES_MAX: usize = 200_000;

/// A pattern of a constraint, and its place in the objective.
struct PlacedPattern<'c> {
    key: &'static str,
    at: String,
    pattern: &'c String,
}

/// A pattern that cannot be read is a fault elsewhere.
pub fn unmatched(project: &Path, constraints: &Constraints) -> Vec<UnmatchedPattern> {
    let all = patterns(constraints);
    if constraints.workspace() == Workspace::Shared {
        let setup = constraints.setup.run.iter().map(|pattern| PlacedPattern {
            key: "setup",
            at: "/setup/run".to_owned(),
            pattern,
        });
        return all.into_iter().chain(setup).map(|one| one.with(Unmatched::InPlace)).collect();
    }
    let top = files::top_of(project).unwrap_or(project);
    let prefix = project.strip_prefix(top).unwrap_or(Path::new(""));
    let links = constraints.link.iter().map(|link| prefix.join(below_top(link)));
    let links: Vec<PathBuf> = links.collect();
    let is_of_link = |path: &Path| links.iter().any(|link| path.starts_with(link));
    let mut open = Vec::new();
    for one in all {
        let globs = Globs::read(one.key, std::slice::from_ref(one.pattern));
        let is_linked = one.key == "link" && project.join(one.pattern).symlink_metadata().is_ok();
        if let (Ok(globs), false) = (globs, is_linked) {
            open.push((globs, one));
        }
    }
    let (mut dirs, mut paths) = (VecDeque::from([PathBuf::new()]), Vec::new());
    while let Some(dir) = dirs.pop_front() {
        for entry in fs::read_dir(top.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            if path.ends_with(".git") || path.ends_with(".descent") {
                continue;
            }
            open.retain(|(globs, one)| {
                // Only a path of the project itself is linked, and what is linked is protected by nothing.
                let is_other = one.key == "link" || one.key == "protected" && is_of_link(&path);
                is_other || !globs.is_match(&path, prefix)
            });
            if open.is_empty() || paths.len() == NAMES_MAX {
                return Vec::new();
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push_back(path.clone());
            }
            paths.push(path.display().to_string());
        }
    }
    let absent = open.into_iter().filter_map(|(globs, one)| {
        let mut linked = paths.iter().filter(|path| is_of_link(Path::new(path)));
        if one.key == "protected" && linked.any(|path| globs.is_match(Path::new(path), prefix)) {
            return Some(one.with(Unmatched::Linked));
        }
        let known = paths.iter().map(String::as_str);
        let known: Vec<&str> = match (one.key, prefix.to_str()) {
            ("link", Some(prefix)) if !prefix.is_empty() => {
                known.filter_map(|path| path.strip_prefix(prefix)?.strip_prefix('/')).collect()
            }
            _ => known.collect(),
        };
        let nearest = nearest(one.pattern, &known);
        // A build may make it later.
        let is_to_come = one.key == "setup.keep" && nearest.is_none();
        (!is_to_come).then(|| one.with(Unmatched::NoPath { nearest }))
    });
    absent.collect()
}

fn patterns(constraints: &Constraints) -> Vec<PlacedPattern<'_>> {
    let lists = [
        ("protected", &constraints.protected),
        ("setup.inputs", &constraints.setup.inputs),
        ("setup.keep", &constraints.setup.keep),
        ("link", &constraints.link),
    ];
    let all = lists.into_iter().flat_map(|(key, patterns)| {
        let place = move |(nth, pattern)| PlacedPattern {
            key,
            at: format!("/{}/{nth}", key.replace('.', "/")),
            pattern,
        };
        patterns.iter().enumerate().map(place)
    });
    all.collect()
}

impl PlacedPattern<'_> {
    fn with(self, why: Unmatched) -> UnmatchedPattern {
        UnmatchedPattern { key: self.key, at: self.at, pattern: self.pattern.clone(), why }
    }
}

/// The path that a person may have meant: another spelling, the same name elsewhere, or the directory that is there.
fn nearest(pattern: &str, paths: &[&str]) -> Option<String> {
    let meant = pattern.split(',').map(|part| part.trim().trim_start_matches('!'));
    let meant = meant.map(below_top).find(|part| !part.is_empty())?;
    let fixed: Vec<&str> = meant.split('/').filter(|part| overlap::is_literal(part)).collect();
    let whole = fixed.join("/");
    let all = || paths.iter().copied();
    let of_name = || {
        let same = suggest(fixed.last()?, all().map(name_of))?;
        all().find(|path| name_of(path) == same)
    };
    let above = || {
        let above = Path::new(&whole).ancestors().skip(1).map(|dir| dir.display().to_string());
        above.filter(|dir| !dir.is_empty()).find_map(|dir| all().find(|path| *path == dir))
    };
    Some(suggest(&whole, all()).or_else(of_name).or_else(above)?.to_owned())
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Up to so many files and bytes nobody is asked (contract §4); beyond that it is said in words.
const MOST: [(u64, &str); 2] =
    [(50_000, "more than 50,000 files"), (2 << 30, "more than 2 GB of files")];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    Usual,
    /// Larger than that, and the part of the directory that holds most of it.
    Large {
        what: &'static str,
        largest: PathBuf,
    },
}

/// The size of all files but the linked ones. Repositories inside are left out, as the snapshot leaves them out, and so is
/// what it cannot read.
pub fn size_of(project: &Path, constraints: &Constraints) -> Result<Size> {
    let mut left_out = read_links(&constraints.link)?;
    left_out.extend([".descent", ".git"].map(PathBuf::from));
    fs::read_dir(project).map_err(WorkspaceError::io(project))?;
    // Files and bytes: in total, and by the first part of the path.
    let (mut all, mut parts) = ([0_u64; 2], BTreeMap::<OsString, [u64; 2]>::new());
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(project.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            let Ok(meta) = entry.metadata() else { continue };
            if left_out.contains(&path) {
                continue;
            }
            if meta.is_dir() && entry.path().join(".git").symlink_metadata().is_err() {
                dirs.push(path);
            } else if meta.is_file() {
                let first = path.iter().next().unwrap_or_default().to_owned();
                for sum in [&mut all, parts.entry(first).or_default()] {
                    *sum = [sum[0] + 1, sum[1].saturating_add(meta.len())];
                }
            }
            if let Some(n) = (0..MOST.len()).find(|n| all[*n] > MOST[*n].0) {
                let largest = parts.iter().max_by_key(|(_, part)| part[n]);
                let largest = largest.map(|(name, _)| name.into()).unwrap_or_default();
                return Ok(Size::Large { what: MOST[n].1, largest });
            }
        }
    }
    Ok(Size::Usual)
}
