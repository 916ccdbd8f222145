//! The store as its callers meet it: real files, real locks, a disk that fails, a person who saves.
#![allow(clippy::disallowed_methods)] // door: plays the person's editor, and looks at the files

mod edits;
mod faults;
mod ground;
mod journal;
mod late;
mod lines;
mod power;
mod races;
mod room;
mod sidecars;

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::testing::faulty::Faulty;
use descent_core::id::{Serial, UnixMillis};
use descent_core::state::Atom;

/// Canonical but for the seal, as a person would leave it.
const FIXTURE: &str = r#"{
"version": "3.0",
"notes": "ask Ann",
"objective": {"raw_input": "make it", "goal": "It works", "background_intent": "We need it",
  "deliverables": "A program", "definition_of_done": "Its tests pass",
  "base_case": {"all": [{"command": "make test"}]}, "mood": [1.50, 12345678901234567890]},
"work_graph": {"atoms": {
  "build": {"description": "Build it", "notes": "the hard part"},
  "test": {"description": "Test it", "depends_on": ["build"]}}},
"control": {"stop_requested": false, "redirect_requested": false},
"bindings": {},
"trail": [],
"corrections": [],
"run": {"status": "aligned"},
"internal": {"lineage": "0198c0de-0000-7000-8000-000000000001", "serial": 7, "seal": "sha256:0",
"run": {},
"atoms": {},
"bindings": {},
"trail": {}}
}
"#;

/// An edit that says of itself only from which commit it began.
fn begun_at(serial: u64) -> State {
    let mut state = fixture();
    state.serial = Serial(serial);
    state.seal = None;
    state
}

struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn store_on(&self, disk: Faulty) -> Store {
        disk.store(StatePlace::find(self.path(), None).unwrap())
    }

    /// A project without a state.
    fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// With the directory of a state; in memory where that can be, for there are hundreds of these.
    fn empty() -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::with_dir(directory.unwrap())
    }

    /// On the disk, where `empty` may not be.
    fn on_disk() -> Self {
        let world = Self::with_dir(tempfile::tempdir().unwrap());
        world.write(sealed());
        world
    }

    fn with_dir(directory: tempfile::TempDir) -> Self {
        let world = Self { directory };
        StatePlace::at(world.path(), None).make().unwrap();
        world
    }

    /// With the fixture as its first state.
    fn new() -> Self {
        let world = Self::empty();
        world.write(sealed());
        world
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self) -> std::path::PathBuf {
        self.path().join(".descent/state.json")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.file()).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    fn write(&self, bytes: impl AsRef<[u8]>) {
        fs::write(self.file(), bytes).unwrap();
    }

    fn store(&self) -> Store {
        Store::open(StatePlace::find(self.path(), None).unwrap())
    }

    /// Everything beside the state and among its sidecars, but for locks, journal and the ignore file.
    fn leftovers(&self) -> Vec<String> {
        let dirs = [".descent", ".descent/state.json.d"].map(|dir| self.path().join(dir));
        let entries = dirs.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let usual = [
            "state.json",
            "state.json.d",
            "commit.lock",
            "run.lock",
            "journal",
            ".gitignore",
            "state.schema.json",
        ];
        names.filter(|name| !usual.contains(&name.as_str())).collect()
    }
}

fn load(path: &Path, bytes: Vec<u8>) -> Result<LoadedState, StoreError> {
    super::load::read(path, bytes).map(|(loaded, _)| loaded)
}

fn fixture() -> State {
    load(Path::new("fixture"), FIXTURE.into()).unwrap().state
}

/// The fixture as the store writes it.
fn sealed() -> &'static [u8] {
    static SEALED: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    SEALED.get_or_init(|| {
        let world = World::bare();
        let place = StatePlace::create(world.path(), None).unwrap();
        let loaded = Store::open(place).create(fixture()).unwrap();
        loaded.bytes().to_vec()
    })
}

/// A time at which whatever was swapped out has rested.
fn later() -> UnixMillis {
    UnixMillis(u64::MAX)
}

fn next(now: &LoadedState, change: impl FnOnce(&mut State, &mut ChangeSet)) -> CommitContent {
    let mut state = now.state.clone();
    let mut touched = ChangeSet::default();
    change(&mut state, &mut touched);
    state.serial = Serial(now.state.serial.0 + 1);
    CommitContent { state, touched, at: String::new(), events: Vec::new() }
}

fn count_one(now: &LoadedState) -> CommitContent {
    next(now, |state, touched| {
        Arc::make_mut(&mut state.run).iteration += 1;
        touched.run = true;
    })
}

fn bump(store: &mut Store) -> Result<Arc<LoadedState>, CommitError<Infallible>> {
    store.commit(|now| Ok(Some(count_one(now))))
}

fn describe(state: &mut State, touched: &mut ChangeSet, id: &str, words: &str) {
    let atom: &mut Arc<Atom> = state.atoms.get_mut(id).unwrap();
    Arc::make_mut(atom).description = words.to_owned();
    touched.atoms.insert(id.into());
}

fn code<T: std::fmt::Debug>(result: Result<T, StoreError>) -> &'static str {
    result.unwrap_err().facts().0
}

#[test]
fn a_state_is_written_as_it_was_read_unknown_keys_and_notes_included() {
    let world = World::new();
    let loaded = world.store().read().unwrap();
    let seal = loaded.state.seal.as_ref().unwrap();
    assert!(!loaded.is_foreign);
    let schema = "{\n\"$schema\": \"./state.schema.json\",\n";
    let written = FIXTURE.replacen("{\n", schema, 1);
    assert_eq!(world.text(), written.replace("sha256:0", seal.as_str()));
    assert_eq!(loaded.warnings().len(), 1, "{:?}", loaded.warnings());
    assert!(loaded.gate().is_empty());
}

#[test]
fn a_commit_of_one_atom_changes_its_lines_the_serial_and_the_seal() {
    let world = World::new();
    let before = world.text();
    let mut store = world.store();
    let change =
        |state: &mut State, touched: &mut ChangeSet| describe(state, touched, "test", "Try it");
    let committed = store.commit(|now| Ok::<_, Infallible>(Some(next(now, change)))).unwrap();
    let after = world.text();
    assert_eq!(before.lines().count(), after.lines().count());
    let pairs = before.lines().zip(after.lines()).filter(|(old, new)| old != new);
    let changed: Vec<&str> =
        pairs.map(|(_, new)| new.trim_start().split(':').next().unwrap()).collect();
    assert_eq!(changed, [r#""test""#, r#""internal""#]);
    let read_by_another = world.store().read().unwrap();
    assert!(!read_by_another.is_foreign);
    assert_eq!(read_by_another.bytes(), committed.bytes());
    assert_eq!(read_by_another.warnings(), committed.warnings());
    assert_eq!(read_by_another.state.seal, committed.state.seal);
}

#[test]
fn nothing_to_decide_writes_nothing() {
    let world = World::new();
    let before = world.bytes();
    let loaded = world.store().commit(|_| Ok::<_, Infallible>(None)).unwrap();
    assert_eq!((loaded.state.serial, world.bytes()), (Serial(7), before));
    assert!(world.leftovers().is_empty());
}

#[test]
fn a_refusal_of_the_decision_writes_nothing() {
    let world = World::new();
    let before = world.bytes();
    let refused = world.store().commit(|_| Err("no"));
    assert!(matches!(refused, Err(CommitError::Decide("no"))));
    assert_eq!(world.bytes(), before);
}

#[test]
fn a_serial_that_does_not_rise_is_refused() {
    let world = World::new();
    let stay = |now: &LoadedState| {
        let state = now.state.clone();
        let touched = ChangeSet::default();
        Ok::<_, Infallible>(Some(CommitContent {
            state,
            touched,
            at: String::new(),
            events: Vec::new(),
        }))
    };
    let Err(CommitError::Store(error)) = world.store().commit(stay) else { panic!("committed") };
    assert_eq!((error.facts().0, error.facts().1), ("E-BUG", 70));
}

#[test]
fn four_writers_lose_nothing() {
    let world = World::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut store = world.store();
                (0..50).for_each(|_| drop(bump(&mut store).unwrap()));
            });
        }
    });
    let last = world.store().read().unwrap();
    assert_eq!((last.state.run.iteration, last.state.serial), (200, Serial(207)));
    assert!(world.store().rescued().is_empty());
    world.store().tend(later()).unwrap();
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}

#[test]
fn what_cannot_be_read_is_never_written_over() {
    let newer = FIXTURE.replace("\"3.0\"", "\"4.0\"");
    let older = FIXTURE.replace("\"3.0\"", "\"2.4\"");
    let trailing = FIXTURE.replace("\"trail\": []", "\"trail\": [],,");
    let missing = FIXTURE.replace("[\"build\"]", "[\"biuld\"]");
    let cases: [(&[u8], &str, u8); 7] = [
        (b"", "E-STATE-INVALID", 65),
        (&[0; 300], "E-STATE-INVALID", 65),
        (&FIXTURE.as_bytes()[..400], "E-STATE-INVALID", 65),
        (newer.as_bytes(), "E-VERSION", 65),
        (older.as_bytes(), "E-VERSION", 65),
        (trailing.as_bytes(), "E-STATE-INVALID", 65),
        (missing.as_bytes(), "E-STATE-INVALID", 65),
    ];
    for (bytes, expected, exit) in cases {
        let world = World::new();
        let mut store = world.store();
        store.read().unwrap();
        world.write(bytes);
        let Err(CommitError::Store(error)) = bump(&mut store) else { panic!("{expected}") };
        assert_eq!((error.facts().0, error.facts().1), (expected, exit));
        assert_eq!(code(store.read()), expected);
        assert_eq!(code(store.replace(fixture(), true)), expected);
        assert_eq!(code(store.create(fixture())), "E-STATE-INVALID");
        assert_eq!(world.bytes(), bytes);
        assert!(world.leftovers().is_empty());
    }
}

#[test]
fn a_directory_in_the_place_of_the_file_is_named_as_such() {
    let world = World::bare();
    let place = StatePlace::create(world.path(), None).unwrap();
    fs::create_dir(&place.state).unwrap();
    let mut store = Store::open(place);
    assert_eq!(code(store.read()), "E-STATE-INVALID");
    assert_eq!(code(store.create(fixture())), "E-STATE-INVALID");
}

#[test]
fn no_file_is_no_state_and_one_that_was_there_has_vanished() {
    let world = World::new();
    let mut store = world.store();
    store.read().unwrap();
    fs::remove_file(world.file()).unwrap();
    assert_eq!(code(store.read()), "E-STATE-PLACE");
    assert_eq!(code(world.store().read()), "E-NO-STATE");
}

#[test]
fn every_fault_is_told_with_its_place() {
    let text = FIXTURE
        .replace("\"make test\"", "\"make test\", \"stdout_matches\": \"(\"")
        .replace("\"Test it\"", "\"Test it\", \"status\": \"pendign\"")
        .replace("\"goal\":", "\"gaol\":");
    let Err(StoreError::Invalid { faults, .. }) = load(Path::new("s"), text.clone().into()) else {
        panic!("loaded")
    };
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    // A demand of the start gate is a fault too, though it alone would leave the state usable.
    assert!(lines[0].contains("/objective/goal: the goal is missing"), "{lines:?}");
    assert!(lines[1].contains("/objective/gaol: unknown key"), "{lines:?}");
    assert!(lines[2].starts_with("6:"), "{lines:?}");
    assert!(lines[2].contains("/stdout_matches: not a regular expression: unclosed group"));
    assert!(lines[3].contains("/work_graph/atoms/test/status: "), "{lines:?}");
    let raw: Vec<_> = faults.into_iter().rev().map(|placed| placed.fault).collect();
    let shown = show_faults(Path::new("s"), text.as_bytes(), &raw);
    assert_eq!(shown, lines.iter().map(|line| format!("s:{line}")).collect::<Vec<_>>());
}

#[test]
fn a_number_pattern_needs_one_group_and_a_glob_must_be_one() {
    let number = "\"make test\", \"number\": \"a(b)(c)\", \"at_least\": 1";
    let protected = "\"constraints\": {\"protected\": [\"a[\"]}";
    let text = FIXTURE.replace("\"make test\"", number);
    let text = text.replace("\"mood\": [1.50, 12345678901234567890]", protected);
    let Err(StoreError::Invalid { faults, .. }) = load(Path::new("s"), text.into()) else {
        panic!("loaded")
    };
    let rules: Vec<&str> = faults.iter().map(|placed| placed.fault.rule).collect();
    assert_eq!(rules, ["bad-regex", "bad-glob"], "{faults:?}");
}

#[test]
fn a_read_of_unchanged_bytes_is_the_same_value() {
    let world = World::new();
    let mut store = world.store();
    let committed = bump(&mut store).unwrap();
    assert!(Arc::ptr_eq(&committed, &store.read().unwrap()));
    world.write(committed.bytes());
    assert!(Arc::ptr_eq(&committed, &store.read().unwrap()));
}
