//! Stamps that save the reading of a file: whatever a person does to it is seen all the same.

use std::sync::{Arc, Mutex};

use super::faulty::Faulty;
use super::*;

/// A person's edit that keeps the length of the file and the time of its last write, as a tool may.
fn edit_unseen(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let edited = text.replacen("\"objective\"", "\"Objective\"", 1);
    assert!(edited != text && edited.len() == text.len());
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    io::Write::write_all(&mut &file, edited.as_bytes()).unwrap();
    file.set_modified(modified).unwrap();
}

/// Whether stamps are proofs in this directory; where the system has them not, nothing can be looked at.
fn gives_proofs(world: &World) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap(), numbers.next().unwrap());
    let dir = world.path().join(".descent");
    let pin = fs::File::open(&dir).unwrap();
    let found = times::tell_every_change(&dir, std::os::fd::AsFd::as_fd(&pin));
    assert!(found || version < (6, 13), "Linux {release} has fine times");
    if !found {
        println!("not looked at: Linux {release} has no fine times");
    }
    found
}

#[test]
fn a_file_that_has_its_stamp_is_not_read_again() {
    let world = World::new();
    let disk = Faulty::default();
    let calls = disk.calls();
    let mut store = world.store_on(disk);
    store.waiting_max = 1;
    let reads = || calls.lock().unwrap().iter().filter(|call| **call == "read").count();
    (0..3).for_each(|_| drop(bump(&mut store).unwrap()));
    let before = reads();
    (0..20).for_each(|_| drop(bump(&mut store).unwrap()));
    let read = reads() - before;
    if gives_proofs(&world) { assert_eq!(read, 0) } else { assert!(read >= 20, "{read}") }
}

#[test]
fn an_edit_that_puts_the_time_back_is_seen() {
    let world = World::new();
    gives_proofs(&world);
    let mut store = world.store();
    bump(&mut store).unwrap();
    edit_unseen(&world.file());
    let bytes = world.bytes();
    let failed = bump(&mut store).unwrap_err();
    assert!(matches!(failed, CommitError::Store(StoreError::Invalid { .. })), "{failed:?}");
    assert_eq!(world.bytes(), bytes, "the edit stays");
}

#[test]
fn an_edit_in_the_instant_of_a_commit_is_seen() {
    let world = World::new();
    gives_proofs(&world);
    let file = world.file();
    let edits = Arc::new(Mutex::new(0));
    let made = Arc::clone(&edits);
    let edit = move |call: &str, _: usize| {
        // The commit has published; what proves its content is taken next.
        if call == "fsync_dir" && *made.lock().unwrap() == 1 {
            edit_unseen(&file);
        }
        if call == "fsync_dir" {
            *made.lock().unwrap() += 1;
        }
    };
    let mut store = world.store_on(Faulty::with(edit));
    bump(&mut store).unwrap();
    bump(&mut store).unwrap();
    let bytes = world.bytes();
    assert!(bump(&mut store).is_err());
    assert_eq!(world.bytes(), bytes, "the edit stays");
}

#[test]
fn a_late_save_that_puts_the_time_back_is_kept() {
    let world = World::new();
    gives_proofs(&world);
    let mut store = world.store();
    bump(&mut store).unwrap();
    let left = world.leftovers();
    assert_eq!(left.len(), 1, "{left:?}");
    edit_unseen(&world.path().join(".descent").join(&left[0]));
    store.tend(later()).unwrap();
    assert_eq!(store.rescued().len(), 1);
}

#[test]
fn a_lease_that_somebody_broke_proves_nothing() {
    use std::os::unix::fs::OpenOptionsExt;
    let world = World::new();
    if world.store().mode().unwrap() != Mode::Full {
        println!("not tried: this file system has no leases");
        return;
    }
    let dir = world.path().join(".descent");
    // Whoever opens a file for writing breaks its lease, and waits if it may.
    let open = move |call: &str, _: usize| {
        for entry in fs::read_dir(&dir).unwrap().filter(|_| call == "exchange") {
            let mut options = fs::OpenOptions::new();
            let writing = options.write(true).custom_flags(libc::O_NONBLOCK);
            let _ = writing.open(entry.unwrap().path());
        }
    };
    let mut store = world.store_on(Faulty::with(open));
    let loaded = bump(&mut store).unwrap();
    let left = world.leftovers();
    assert_eq!(left.len(), 1, "{left:?}");
    let old = world.path().join(".descent").join(&left[0]);
    assert_eq!((loaded.proof(), store.spares.proof_of(&old)), (None, None));
    let mut store = world.store();
    let loaded = bump(&mut store).unwrap();
    assert_eq!(loaded.proof().is_some(), gives_proofs(&world));
}
