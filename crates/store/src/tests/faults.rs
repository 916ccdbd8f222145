//! A disk error, or a death, at every call of every way to write: the old file or the new one, never a third.

use super::*;
use crate::testing::faulty::Faulty;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EMFILE: i32 = 24;
const EINTR: i32 = 4;
const ERRORS: [i32; 5] = [EIO, ENOSPC, EROFS, EMFILE, EINTR];
const CALLS_MAX: usize = 90;

/// Runs `write` with the n-th call failing, for every n until none is left to fail.
fn at_every_call(
    prepare: fn() -> World,
    write: fn(&mut Store) -> Result<Arc<LoadedState>, StoreError>,
) {
    for (errno, for_good) in ERRORS.into_iter().flat_map(|errno| [(errno, false), (errno, true)]) {
        let mut n = 0;
        loop {
            let world = prepare();
            let old = fs::read(world.file()).ok();
            let disk = Faulty::failing(n, for_good, errno);
            let calls = disk.calls();
            let written = write(&mut world.store_on(disk));
            let case = format!(
                "errno {errno}, call {n} of {:?}, for good: {for_good}",
                calls.lock().unwrap()
            );
            old_or_new(&world, old, written, &case);
            if calls.lock().unwrap().len() <= n {
                break;
            }
            n += 1;
            assert!(n < CALLS_MAX, "no end of calls");
        }
        assert!(n > 4, "only {n} calls: the disk under test was not used");
    }
}

fn old_or_new(
    world: &World,
    old: Option<Vec<u8>>,
    written: Result<Arc<LoadedState>, StoreError>,
    case: &str,
) {
    let now = fs::read(world.file()).ok();
    match written {
        Ok(loaded) => assert_eq!(now.as_ref(), Some(&loaded.bytes().to_vec()), "{case}"),
        Err(error) => {
            assert_eq!(error.facts().1, 74, "{case}: {error}");
            let is_old = now == old;
            let is_whole =
                || load(&world.file(), now.clone().unwrap()).is_ok_and(|l| !l.is_foreign);
            assert!(is_old || is_whole(), "{case}: {error}");
        }
    }
    if now.is_some() {
        bump(&mut world.store()).unwrap_or_else(|error| panic!("{case}: {error}"));
        world.store().tend(later()).unwrap();
        assert!(world.leftovers().is_empty(), "{case}: {:?}", world.leftovers());
    }
}

fn plain(error: CommitError<Infallible>) -> StoreError {
    match error {
        CommitError::Store(error) => error,
        CommitError::Decide(never) => match never {},
    }
}

#[test]
fn a_commit_is_old_or_new_whatever_call_fails() {
    at_every_call(World::new, |store| bump(store).map_err(plain));
}

#[test]
fn a_second_commit_is_old_or_new_whatever_call_fails() {
    at_every_call(World::new, |store| bump(store).and_then(|_| bump(store)).map_err(plain));
}

#[test]
fn a_replacement_is_old_or_new_whatever_call_fails() {
    at_every_call(World::new, |store| {
        let replaced = store.replace(fixture(), true);
        replaced.map(|(loaded, _)| loaded)
    });
}

#[test]
fn a_first_state_is_whole_or_absent_whatever_call_fails() {
    at_every_call(World::empty, |store| store.create(fixture()));
}

#[test]
fn after_a_failed_commit_the_next_one_holds_what_was_decided_once() {
    for n in 0..8 {
        let world = World::new();
        let mut store = world.store_on(Faulty::failing(n, false, EIO));
        let first = bump(&mut store).is_ok();
        let serial_seen = world.store().read().unwrap().state.serial;
        let second = bump(&mut store).unwrap();
        assert_eq!(second.state.serial.0, serial_seen.0 + 1, "call {n}");
        assert!(!first || serial_seen == Serial(8), "call {n}");
        assert!(!world.store().read().unwrap().is_foreign);
    }
}

#[test]
fn a_commit_costs_one_fsync_of_the_file_and_one_of_the_directory() {
    let world = World::new();
    let disk = Faulty::default();
    let calls = disk.calls();
    bump(&mut world.store_on(disk)).unwrap();
    let calls = calls.lock().unwrap();
    let writes = |call: &&&str| !["ground", "open", "read", "identify", "lease"].contains(*call);
    let order: Vec<&str> = calls.iter().filter(writes).copied().take(5).collect();
    let expected = ["create", "write", "fsync", "rename", "exchange"];
    assert_eq!(order, expected);
    assert_eq!(calls.iter().filter(|call| call.starts_with("fsync")).count(), 2);
}

/// A late save beside the state, in a file that lost the name.
fn with_late_save() -> World {
    let world = World::new();
    let mut open = fs::OpenOptions::new().write(true).open(world.file()).unwrap();
    let text = world.text().replace("It works", "It works well");
    bump(&mut world.store_on(Faulty::default().lacking(&["lease"]))).unwrap();
    open.set_len(0).unwrap();
    std::io::Write::write_all(&mut open, text.as_bytes()).unwrap();
    world
}

#[test]
fn a_late_save_is_taken_up_at_last_whatever_call_fails() {
    for (errno, for_good) in ERRORS.into_iter().flat_map(|errno| [(errno, false), (errno, true)]) {
        for n in 0..CALLS_MAX {
            let world = with_late_save();
            let disk = Faulty::failing(n, for_good, errno);
            let calls = disk.calls();
            let tended = world.store_on(disk).tend(later());
            let case = format!("errno {errno}, call {n} of {:?}", calls.lock().unwrap());
            assert!(tended.is_ok() || n < 3, "{case}: {tended:?}");
            world.store().tend(later()).unwrap();
            let now = world.store().read().unwrap();
            assert_eq!(now.state.objective.goal, "It works well", "{case}");
            let mut store = world.store();
            store.read().unwrap();
            assert_eq!(store.newest().unwrap().serial, Serial(8), "{case}");
            if calls.lock().unwrap().len() <= n {
                assert!(n > 8, "only {n} calls");
                break;
            }
        }
    }
}

/// A commit and a late save on a file system without these calls, and the reported name of its mode.
fn commits_without(lacks: &'static [&'static str], name: &str) {
    let world = World::new();
    let mut store = world.store_on(Faulty::default().lacking(lacks));
    assert_eq!(store.mode().unwrap().words()[0], name);
    assert_eq!(store.mode().unwrap().is_degraded(), !lacks.is_empty());
    assert!(world.leftovers().is_empty(), "the trial leaves nothing");
    bump(&mut store).unwrap();
    bump(&mut store).unwrap();
    assert_eq!(world.store().read().unwrap().state.serial, Serial(9));
    store.tend(later()).unwrap();
    assert!(world.leftovers().is_empty(), "{name}: {:?}", world.leftovers());
}

#[test]
fn what_the_file_system_lacks_has_a_name_and_a_commit_does_without_it() {
    commits_without(&[], "full");
    commits_without(&["lease"], "no-lease");
    commits_without(&["exchange"], "no-exchange");
    commits_without(&["exchange", "lease"], "no-exchange");
    commits_without(&["exchange", "link"], "rename-only");
}

#[test]
fn without_an_exchange_a_late_save_in_place_is_kept_where_a_person_sees_it() {
    let world = World::new();
    let text = world.text().replace("It works", "It works well");
    let mut store = world.store_on(Faulty::default().lacking(&["exchange", "lease"]));
    let mut open = fs::OpenOptions::new().write(true).open(world.file()).unwrap();
    bump(&mut store).unwrap();
    open.set_len(0).unwrap();
    std::io::Write::write_all(&mut open, text.as_bytes()).unwrap();
    drop(open);
    store.tend(later()).unwrap();
    let rescued = store.rescued();
    assert_eq!(rescued.len(), 1);
    assert_eq!(fs::read_to_string(&rescued[0]).unwrap(), text);
}

#[test]
fn an_fsync_that_failed_is_followed_by_a_new_file() {
    let world = World::new();
    let mut store = world.store_on(Faulty::refusing("fsync", EIO));
    for _ in 0..2 {
        let error = plain(bump(&mut store).unwrap_err());
        assert_eq!(error.facts().0, "E-IO");
        assert!(world.leftovers().is_empty());
    }
}

#[test]
fn what_refuses_a_write_is_told_as_such() {
    const EFBIG: i32 = 27;
    let cases =
        [(ENOSPC, "E-MACHINE"), (EROFS, "E-MACHINE"), (EFBIG, "E-MACHINE"), (EMFILE, "E-IO")];
    for (errno, code) in cases {
        let world = World::new();
        let mut store = world.store_on(Faulty::refusing("write", errno));
        let error = plain(bump(&mut store).unwrap_err());
        assert_eq!((error.facts().0, error.facts().1), (code, 74));
        assert!(!error.facts().2.is_empty(), "{code}");
    }
}

/// The disk is full at the first write of a commit, and has room as soon as a file is removed.
#[test]
fn a_full_disk_gets_its_room_from_what_earlier_commits_left() {
    const ENOSPC: i32 = 28;
    let worn = || {
        let world = World::new();
        (0..3).for_each(|_| drop(bump(&mut world.store()).unwrap()));
        assert_eq!(world.leftovers().len(), 3);
        world
    };
    let disk = Faulty::default();
    let calls = disk.calls();
    bump(&mut worn().store_on(disk)).unwrap();
    let write = calls.lock().unwrap().iter().position(|call| *call == "write").unwrap();
    let world = worn();
    if world.store().mode().unwrap() != Mode::Full {
        println!("not tried: this file system has no leases");
        return;
    }
    bump(&mut world.store_on(Faulty::failing(write, false, ENOSPC))).unwrap();
    assert_eq!(world.store().read().unwrap().state.serial, Serial(11));
    assert_eq!(world.leftovers().len(), 1, "{:?}", world.leftovers());
    // If nothing can be removed, the full disk is told.
    let world = World::new();
    let refused = bump(&mut world.store_on(Faulty::refusing("write", ENOSPC)));
    assert_eq!(plain(refused.unwrap_err()).facts().0, "E-MACHINE");
}
