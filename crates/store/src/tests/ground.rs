//! Another hand changes the ground under a store: links, moved directories, locks cleared away.

use std::os::unix::fs::symlink;

use super::edits::{edited, save_by_rename};
use super::*;
use crate::testing::faulty::Faulty;

/// A link in the place of the file, to the file's new place.
fn linked_away(world: &World) -> std::path::PathBuf {
    let target = world.path().join("kept-elsewhere.json");
    fs::rename(world.file(), &target).unwrap();
    symlink(&target, world.file()).unwrap();
    target
}

#[test]
fn a_link_in_the_place_of_the_file_is_refused_and_nothing_is_written_until_the_file_is_back() {
    let world = World::new();
    let mut store = world.store();
    store.read().unwrap();
    let target = linked_away(&world);
    let before = fs::read(&target).unwrap();
    let Err(CommitError::Store(error)) = bump(&mut store) else { panic!("committed") };
    assert_eq!((error.facts().0, error.facts().1), ("E-STATE-INVALID", 65));
    assert!(error.is_about_content(), "the loop waits for it");
    assert!(fs::symlink_metadata(world.file()).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), before);
    fs::rename(&target, world.file()).unwrap();
    assert_eq!(bump(&mut store).unwrap().state.serial, Serial(8));
}

#[test]
fn a_link_that_comes_in_the_instant_of_the_exchange_gets_the_name_again() {
    let world = World::new();
    let (file, beside) = (world.file(), world.path().join("kept-elsewhere.json"));
    let link = move |call: &str, n: usize| {
        if (call, n) == ("exchange", 0) {
            fs::rename(&file, &beside).unwrap();
            symlink(&beside, &file).unwrap();
        }
    };
    let Err(CommitError::Store(error)) = bump(&mut world.store_on(Faulty::with(link))) else {
        panic!("committed")
    };
    assert_eq!(error.facts().0, "E-STATE-INVALID");
    assert!(fs::symlink_metadata(world.file()).unwrap().is_symlink());
    assert_eq!(world.bytes(), sealed());
}

#[test]
fn another_directory_in_the_place_of_ours_is_not_written_to() {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    let (dir, moved) = (world.path().join(".descent"), world.path().join("moved"));
    fs::rename(&dir, &moved).unwrap();
    assert_eq!(code(store.read()), "E-STATE-PLACE");
    fs::create_dir(&dir).unwrap();
    world.write(sealed());
    let Err(CommitError::Store(error)) = bump(&mut store) else { panic!("committed") };
    assert_eq!((error.facts().0, error.facts().1), ("E-STATE-PLACE", 74));
    assert_eq!(world.bytes(), sealed());
    fs::remove_dir_all(&dir).unwrap();
    fs::rename(&moved, &dir).unwrap();
    assert_eq!(bump(&mut store).unwrap().state.serial, Serial(9));
}

#[test]
fn a_directory_swapped_in_the_instant_of_the_exchange_gets_nothing_of_the_commit() {
    let world = World::new();
    let (dir, moved) = (world.path().join(".descent"), world.path().join("moved"));
    let (from, to) = (dir.clone(), moved.clone());
    let swap = move |call: &str, n: usize| {
        if (call, n) == ("exchange", 0) {
            fs::rename(&from, &to).unwrap();
            fs::create_dir(&from).unwrap();
            fs::write(from.join("state.json"), sealed()).unwrap();
        }
    };
    let committed = bump(&mut world.store_on(Faulty::with(swap))).unwrap();
    assert_eq!(world.bytes(), sealed());
    assert_eq!(fs::read(moved.join("state.json")).unwrap(), committed.bytes());
}

#[test]
fn a_lease_outlives_its_lock_file_and_the_commit_lock_is_made_again() {
    let world = World::new();
    let store = world.store();
    let lease = store.lease("run").unwrap();
    for name in ["run.lock", "commit.lock"] {
        fs::remove_file(world.path().join(".descent/state.json.d").join(name)).unwrap();
    }
    assert!(store.is_live());
    assert_eq!(code(world.store().lease("run")), "E-LEASE-HELD");
    bump(&mut world.store()).unwrap();
    drop(lease);
    assert!(!store.is_live());
    store.lease("run").unwrap();
}

#[test]
fn a_commit_lock_cleared_away_while_a_save_was_met_is_taken_again_before_the_next_try() {
    let world = World::new();
    let mut store = world.store();
    bump(&mut store).unwrap();
    let (file, lock) = (world.file(), store.place().commit_lock());
    let mut tries = 0;
    let done = store.commit(|now| {
        tries += 1;
        if tries == 1 {
            fs::remove_file(&lock).unwrap();
            // Changed during this try, so that there is another try.
            save_by_rename(&file, &edited(&fs::read_to_string(&file).unwrap()));
        } else {
            assert_eq!(code(locks::lock_within(&lock, 0)), "E-BUSY");
        }
        let mut state = now.state.clone();
        state.serial = Serial(now.state.serial.0 + 1);
        let touched = ChangeSet::default();
        Ok::<_, Infallible>(Some(CommitContent {
            state,
            touched,
            at: String::new(),
            events: Vec::new(),
        }))
    });
    done.unwrap();
    assert!(tries > 1);
}

#[test]
fn a_commit_lock_cleared_away_in_mid_commit_does_not_let_one_commit_undo_another() {
    let world = World::new();
    let (root, lock) =
        (world.path().to_owned(), world.path().join(".descent/state.json.d/commit.lock"));
    let other = move |call: &str, n: usize| {
        if (call, n) == ("rename", 0) {
            fs::remove_file(&lock).unwrap();
            let place = StatePlace::find(&root, None).unwrap();
            bump(&mut Store::open(place)).unwrap();
        }
    };
    bump(&mut world.store_on(Faulty::with(other))).unwrap();
    let now = world.store().read().unwrap();
    assert_eq!((now.state.serial, now.state.run.iteration), (Serial(9), 2));
    assert!(world.store().rescued().is_empty());
}
