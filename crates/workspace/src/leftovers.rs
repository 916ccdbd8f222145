//! Leftovers of ended runs: workspaces in the cache, repositories beside the state, references in the person's
//! repository.
//!
//! Invariant: a lineage that a state in place names, or may name, is never offered for removal, but for its trees in the
//! cache. Those are offered if the run has ended and its result was applied. A result that was not applied is marked.
#![allow(clippy::disallowed_methods)] // door: removes directories of the cache and of ended lineages

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, Serializer};

use descent_core::state::RunStatus;

use super::{Result, kept, places};
use crate::git::Git;
use descent_store::{StatePlace, Store};

/// Files that are counted below one directory.
const FILES_MAX: usize = 1_000_000;

/// The place of a leftover.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "at", rename_all = "lowercase")]
pub enum LeftoverPlace {
    /// Trees of attempts and checks, in the cache.
    #[serde(rename = "workspaces")]
    Trees(#[serde(serialize_with = "lossy")] PathBuf),
    /// The repository of a lineage that no state here names.
    Repository(#[serde(serialize_with = "lossy")] PathBuf),
    /// References under this name, in the person's repository.
    References(String),
}

fn lossy<S: Serializer>(path: &Path, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// The leftovers of one lineage.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leftover {
    pub lineage: String,
    /// The project that it belonged to, if known.
    pub project: Option<PathBuf>,
    pub bytes: u64,
    pub left: BTreeSet<LeftoverPlace>,
    /// Whether its result was not applied, or this cannot be told.
    #[serde(skip)]
    pub is_unapplied: bool,
    /// The place of its state, if that is there: the trees are made anew when they are needed.
    #[serde(skip)]
    pub standing: Option<StatePlace>,
    /// A state that a loop saved here when its own place was gone: it is nowhere else.
    #[serde(skip)]
    pub saved_state: Option<PathBuf>,
}

/// The leftovers for a state at that place, in all of the cache.
pub fn leftovers(at: &StatePlace, cache: Option<&Path>) -> Result<Vec<Leftover>> {
    let mut look = LeftoverScan::new(at)?;
    look.at_cache(cache);
    look.beside_state();
    look.in_repository()?;
    let mut all: Vec<Leftover> = look.found.into_values().collect();
    all.retain(|one| !one.left.is_empty());
    for one in &mut all {
        let bytes = |left: &LeftoverPlace| match left {
            LeftoverPlace::Trees(dir) | LeftoverPlace::Repository(dir) => bytes_below(dir),
            LeftoverPlace::References(_) => 0,
        };
        one.bytes = one.left.iter().map(bytes).sum();
    }
    Ok(all)
}

impl Leftover {
    /// Removes all of it; the repository that holds the result goes last.
    pub fn remove(&self, at: &StatePlace) -> Result<()> {
        for left in &self.left {
            match left {
                LeftoverPlace::Trees(dir) | LeftoverPlace::Repository(dir) => {
                    kept::remove(dir)?;
                    // The parent holds one lineage, or all; it stays if anything else is in it.
                    let _ = dir.parent().map(fs::remove_dir);
                }
                LeftoverPlace::References(name) => {
                    if let Some(person) = Git::open(&at.project)? {
                        person.delete_refs(name)?;
                    }
                }
            }
        }
        Ok(())
    }
}

struct LeftoverScan<'a> {
    at: &'a StatePlace,
    person: Option<Git>,
    /// Directory names of the states that are there. `None` if a state cannot be read: it may name any.
    in_place: Option<BTreeSet<String>>,
    found: BTreeMap<String, Leftover>,
}

impl<'a> LeftoverScan<'a> {
    fn new(at: &'a StatePlace) -> Result<Self> {
        Ok(Self {
            person: Git::open(&at.project)?,
            in_place: lineages_of(&at.project, &[&at.state]),
            at,
            found: BTreeMap::new(),
        })
    }

    fn is_in_place(&self, name: &str) -> bool {
        let names = self.in_place.as_ref();
        names.is_none_or(|names| names.contains(name))
    }

    fn add(&mut self, name: &str, left: LeftoverPlace) -> &mut Leftover {
        let one = self.found.entry(name.to_owned()).or_default();
        name.clone_into(&mut one.lineage);
        one.left.insert(left);
        one
    }

    /// Finds the trees of lineages whose state has moved or gone.
    fn at_cache(&mut self, cache: Option<&Path>) {
        let Some(cache) = cache else { return };
        for (name, dir) in tree_places(cache) {
            let (project, state) = places::noted(&dir);
            let Some(project) = project else { continue };
            let states: Vec<&Path> = state.as_deref().into_iter().collect();
            let is_there = lineages_of(&project, &states).is_none_or(|names| names.contains(&name));
            let place = StatePlace::at(&project, state.as_deref());
            let repository = place.repositories().join(&name);
            let standing = (is_there || self.is_in_place(&name)).then_some(place);
            if let Some(standing) = &standing {
                // Wherever that state is, its references in this repository are in use.
                self.in_place.as_mut().map(|names| names.insert(name.clone()));
                if !has_ended_applied(standing, &name) {
                    continue;
                }
            }
            // Another project's files are not compared here: they need not be as its result was applied.
            let is_elsewhere = project != self.at.project && repository.is_dir();
            let saved_state = entries_of_files(&dir).find(|path| places::is_saved_state(path));
            let one = self.add(&name, LeftoverPlace::Trees(dir));
            one.is_unapplied |=
                is_elsewhere && standing.is_none() && !is_noted_applied(&repository, &name);
            one.saved_state = one.saved_state.take().or(saved_state);
            one.project = Some(project);
            one.standing = one.standing.take().or(standing);
        }
    }

    fn beside_state(&mut self) {
        for (name, dir) in entries(&self.at.repositories()) {
            if !self.is_in_place(&name) && !name.starts_with("new-") {
                let is_unapplied = !is_noted_applied(&dir, &name);
                let project = self.at.project.clone();
                let one = self.add(&name, LeftoverPlace::Repository(dir));
                one.project = Some(project);
                one.is_unapplied |= is_unapplied;
            }
        }
    }

    fn in_repository(&mut self) -> Result<()> {
        let Some(person) = self.person.clone() else { return Ok(()) };
        for (reference, _) in person.refs("refs/descent/")? {
            let name = reference.split('/').nth(2).unwrap_or_default().to_owned();
            if !name.is_empty() && !self.is_in_place(&name) {
                self.add(&name, LeftoverPlace::References(format!("refs/descent/{name}")));
            }
        }
        Ok(())
    }
}

/// Whether the run made nothing, or `apply` brought its result home, by the records beside its objects.
fn is_noted_applied(repository: &Path, name: &str) -> bool {
    let named = |file: String| places::noted_commit(&repository.join(file));
    let result = named(format!("refs/descent/{name}/result"));
    let brought = [named(places::APPLIED.to_owned()), named(format!("refs/descent/{name}/start"))];
    result.is_some() && brought.contains(&result)
}

/// Whether the run of the state has ended with its result applied, and no loop is at work.
fn has_ended_applied(place: &StatePlace, name: &str) -> bool {
    let mut store = Store::open(place.clone());
    let Ok(loaded) = store.read() else { return false };
    let (state, run) = (&loaded.state, &loaded.state.run);
    let has_ended = run.status != RunStatus::Aligned && !run.status.is_active();
    let applied = places::applied(place, &state.lineage);
    has_ended
        && run.in_flight.is_empty()
        && !store.is_live()
        && applied.is_some_and(|applied| Some(&applied) == run.result())
        && places::name(state.lineage.as_str()) == name
}

/// The lineages of the states in a project, and of those elsewhere; `None` if one cannot be read.
fn lineages_of(project: &Path, more: &[&Path]) -> Option<BTreeSet<String>> {
    let states = entries_of_files(&project.join(".descent")).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".schema.json")
    });
    let mut states: BTreeSet<PathBuf> = states.collect();
    states.extend(more.iter().map(|path| path.to_path_buf()));
    let mut names = BTreeSet::new();
    for state in states {
        match state.symlink_metadata() {
            Ok(_) => names.insert(lineage_in(&state)?),
            Err(_) => false,
        };
    }
    Some(names)
}

/// The lineage of a state, by the name of its directories.
fn lineage_in(state: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct LineageOnly {
        internal: InternalLineage,
    }
    #[derive(serde::Deserialize)]
    struct InternalLineage {
        lineage: String,
    }
    let named: LineageOnly =
        serde_json::from_slice(&descent_store::read_bytes(state).ok()?).ok()?;
    Some(places::name(&named.internal.lineage))
}

fn entries(dir: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    dirs.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
}

fn entries_of_files(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.map(|entry| entry.path())
}

/// The directories of all lineages that hold trees, with the names of these.
fn tree_places(cache: &Path) -> Vec<(String, PathBuf)> {
    let of_attempts = entries(cache).into_iter().filter(|(name, _)| name != "checks");
    let places = of_attempts.flat_map(|(name, dir)| {
        entries(&dir).into_iter().map(move |(_, place)| (name.clone(), place))
    });
    let of_checks = entries(&cache.join("checks")).into_iter();
    let of_checks = of_checks.filter_map(|(_, dir)| Some((places::lineage_of_checks(&dir)?, dir)));
    places.chain(of_checks).collect()
}

/// The bytes of all trees of a project in the cache, whatever became of their runs.
pub fn bytes_of_trees(project: &Path, cache: &Path) -> u64 {
    let is_its = |dir: &PathBuf| places::noted(dir).0.as_deref() == Some(project);
    let places = tree_places(cache).into_iter().map(|(_, dir)| dir).filter(is_its);
    places.map(|dir| bytes_below(&dir)).fold(0, u64::saturating_add)
}

/// The bytes on the disk, as far as they can be counted.
fn bytes_below(dir: &Path) -> u64 {
    let (mut open, mut bytes, mut files) = (vec![dir.to_owned()], 0_u64, 0);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            files += 1;
            bytes = bytes.saturating_add(meta.blocks().saturating_mul(512));
            if meta.is_dir() && files < FILES_MAX {
                open.push(entry.path());
            }
        }
    }
    bytes
}
