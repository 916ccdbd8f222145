//! Side files: one a content, private, within their limits, and never a reason to fail.
#![allow(clippy::disallowed_methods)] // door: tests

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex as Cell};
use std::time::Duration;

use super::*;

struct World {
    dir: tempfile::TempDir,
    told: Arc<Cell<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        StatePlace::at(dir.path(), None).make().unwrap();
        Self { dir, told: Arc::default() }
    }

    fn place(&self) -> StatePlace {
        StatePlace::at(self.dir.path(), None)
    }

    fn store(&self, most: SizeLimit) -> EvidenceStore {
        let told = Arc::clone(&self.told);
        let tell = move |text: &str| told.lock().unwrap().push(text.to_owned());
        EvidenceStore { most, ..EvidenceStore::of(&self.place(), Box::new(tell)) }
    }

    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.place().evidence()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn nothing() -> BTreeSet<Digest> {
    BTreeSet::new()
}

/// Puts it as many seconds back.
fn age(path: &Path, secs: u64) {
    let file = File::options().append(true).open(path).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - Duration::from_secs(secs)).unwrap();
}

#[test]
fn the_same_content_is_one_private_file_of_its_digest() {
    let world = World::new();
    let store = world.store(MOST);
    let one = store.keep(b"printed", nothing).unwrap();
    assert_eq!(store.keep(b"printed", nothing), Some(one.clone()));
    let path = find(&world.place(), &one).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"printed");
    assert_eq!(path.file_name().unwrap().to_str(), side::hex_of(one.digest.as_str()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&world.place().evidence())), (0o600, 0o700));
    assert_eq!(world.names().len(), 1);
}

#[test]
fn a_file_that_is_not_what_was_printed_is_gone_and_written_again() {
    let world = World::new();
    let store = world.store(MOST);
    let one = store.keep(b"printed", nothing).unwrap();
    let path = find(&world.place(), &one).unwrap();
    fs::write(&path, b"painted").unwrap();
    assert_eq!(find(&world.place(), &one), None);
    store.keep(b"printed", nothing).unwrap();
    assert_eq!(find(&world.place(), &one), Some(path));
}

#[test]
fn what_cannot_be_written_is_told_once_and_no_reason_to_fail() {
    for plant in [
        |at: &Path| fs::write(at, "a file").unwrap(),
        |at: &Path| std::os::unix::fs::symlink("..", at).unwrap(),
    ] {
        let world = World::new();
        plant(&world.place().evidence());
        let store = world.store(MOST);
        assert_eq!(store.keep(b"one", nothing), None);
        assert_eq!(store.keep(b"two", nothing), None);
        let told = world.told.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
    }
}

#[test]
fn the_last_room_of_a_disk_is_left_to_the_state() {
    let world = World::new();
    let store = EvidenceStore { spare_bytes: u64::MAX, ..world.store(MOST) };
    assert_eq!(store.keep(b"printed", nothing), None);
    assert!(world.names().is_empty() && world.told.lock().unwrap().len() == 1);
}

#[test]
fn beyond_the_limit_what_no_state_names_goes_first_and_then_the_oldest() {
    let world = World::new();
    let store = world.store(SizeLimit { bytes: 40, files: 100 });
    let texts = ["oldest and named", "older, unnamed"];
    let kept: Vec<SideFile> =
        texts.iter().map(|text| store.keep(text.as_bytes(), nothing).unwrap()).collect();
    for (one, secs) in kept.iter().zip([200, 100]) {
        age(&find(&world.place(), one).unwrap(), secs);
    }
    let named = BTreeSet::from([kept[0].digest.clone()]);
    let newest = store.keep(b"the newest, 14", || named.clone()).unwrap();
    let is_there = |one: &SideFile| find(&world.place(), one).is_some();
    assert!(is_there(&kept[0]) && is_there(&newest) && !is_there(&kept[1]));
    // With all of them named, the oldest goes.
    let both = BTreeSet::from([kept[0].digest.clone(), newest.digest.clone()]);
    let last = store.keep(b"the last one", || both).unwrap();
    assert!(is_there(&last) && is_there(&newest) && !is_there(&kept[0]));
}

#[test]
fn a_tidy_removes_what_was_cut_off_and_leaves_what_is_a_persons() {
    let world = World::new();
    let store = world.store(SizeLimit { bytes: 1000, files: 3 });
    for n in 0..3 {
        store.keep(format!("text {n}").as_bytes(), nothing).unwrap();
    }
    let at = |name: &str| world.place().evidence().join(name);
    fs::write(at(".new-torn"), "half").unwrap();
    fs::write(at("notes.md"), "mine").unwrap();
    store.tidy(&nothing());
    assert_eq!(world.names().len(), 4);
    store.keep(b"one more", nothing).unwrap();
    assert!(world.names().contains("notes.md") && world.names().len() == 4);
}
