//! Patterns and links of the constraints that have no effect, each with the nearest path that is there.
//!
//! Invariant: only names are read, and no more of them than the limit; beyond it a pattern counts as one that matches.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use descent_core::{
    doc::suggest,
    graph::overlap,
    judging::{Unmatched, UnmatchedPattern},
    state::{Constraints, Workspace},
};

use super::globs::{Globs, below_top};
use crate::files;

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
        let in_place = all.into_iter().chain(setup);
        return in_place.map(|one| one.with(Unmatched::InPlace)).collect();
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
        let name = fixed.last()?;
        let same = suggest(name, all().map(name_of))?;
        all().find(|path| name_of(path) == same)
    };
    let above = || {
        let above = Path::new(&whole).ancestors().skip(1);
        let above = above.map(|dir| dir.display().to_string());
        let mut above = above.filter(|dir| !dir.is_empty());
        above.find_map(|dir| all().find(|path| *path == dir))
    };
    let found = suggest(&whole, all()).or_else(of_name).or_else(above)?;
    Some(found.to_owned())
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
