//! A disk error, or a death, at every call of every way to write: old or new, never a third.

use super::faulty::Faulty;
use super::*;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EINVAL: i32 = 22;
const CALLS_MAX: usize = 60;

/// Runs `write` with the n-th call failing, for every n until none is left to fail.
fn at_every_call(prepare: fn() -> World, write: fn(&mut Store) -> Result<Arc<Loaded>, StoreError>) {
    for (errno, for_good) in [(EIO, false), (EIO, true), (ENOSPC, false), (ENOSPC, true)] {
        let mut n = 0;
        loop {
            let world = prepare();
            let old = fs::read(world.file()).ok();
            let disk = Faulty::failing(n, for_good, errno);
            let calls = disk.calls();
            let written = write(&mut world.store_on(disk));
            let case = format!(
                "call {n} of {:?}, for good: {for_good}",
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
    written: Result<Arc<Loaded>, StoreError>,
    case: &str,
) {
    let now = fs::read(world.file()).ok();
    match written {
        Ok(loaded) => assert_eq!(now.as_ref(), Some(&loaded.bytes), "{case}"),
        Err(error) => {
            assert_eq!(error.exit_code(), 74, "{case}: {error}");
            let is_old = now == old;
            let is_whole =
                || load(&world.file(), now.clone().unwrap()).is_ok_and(|l| !l.is_foreign);
            assert!(is_old || is_whole(), "{case}: {error}");
        }
    }
    if now.is_some() {
        bump(&mut world.store()).unwrap_or_else(|error| panic!("{case}: {error}"));
        world.store().tend(later()).unwrap();
        assert!(
            world.leftovers().is_empty(),
            "{case}: {:?}",
            world.leftovers()
        );
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
    at_every_call(World::new, |store| {
        bump(store).and_then(|_| bump(store)).map_err(plain)
    });
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
    let prepare = || {
        let world = World::bare();
        Place::create(world.path(), None).unwrap();
        world
    };
    at_every_call(prepare, |store| store.create(fixture()));
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
    let order: Vec<&str> = calls.iter().copied().take(8).collect();
    let expected = [
        "read",
        "create",
        "write",
        "fsync",
        "rename",
        "exchange",
        "read",
        "fsync_dir",
    ];
    assert_eq!(order, expected);
    assert_eq!(
        calls
            .iter()
            .filter(|call| call.starts_with("fsync"))
            .count(),
        2
    );
}

#[test]
fn where_there_is_no_exchange_a_rename_does_it() {
    let world = World::new();
    let exchange = 5;
    let mut store = world.store_on(Faulty::failing(exchange, false, EINVAL));
    bump(&mut store).unwrap();
    assert_eq!(world.store().read().unwrap().state.serial, Serial(8));
    assert!(world.leftovers().is_empty());
}

#[test]
fn a_full_disk_and_a_read_only_one_are_told_as_such() {
    let write = 2;
    for (errno, code) in [(ENOSPC, "E-DISK-FULL"), (EROFS, "E-READ-ONLY")] {
        let world = World::new();
        let mut store = world.store_on(Faulty::failing(write, false, errno));
        let error = plain(bump(&mut store).unwrap_err());
        assert_eq!((error.code(), error.exit_code()), (code, 74));
        assert!(!error.hint().is_empty(), "{code}");
    }
}
