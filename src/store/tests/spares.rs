//! Swapped-out states that later commits write over.

use std::io::{Read, Seek};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::faulty::Faulty;
use super::*;

const COMMITS: usize = 60;

/// As after many commits in a moment.
fn busy(mut store: Store) -> Store {
    store.waiting_max = 1;
    store
}

fn bump_often(store: &mut Store) {
    (0..COMMITS).for_each(|_| drop(bump(store).unwrap()));
}

fn made(calls: &std::sync::Mutex<Vec<&'static str>>) -> usize {
    let calls = calls.lock().unwrap();
    calls.iter().filter(|call| **call == "create").count()
}

/// A world with a spare file, whose content is longer than a state.
pub(super) fn with_spare() -> World {
    let world = World::new();
    let old = [world.bytes(), vec![b'x'; 10_000]].concat();
    let spare = spare_of(&world.file());
    fs::write(&spare, old).unwrap();
    fs::set_permissions(spare, fs::Permissions::from_mode(0o600)).unwrap();
    world
}

fn spare_of(state: &Path) -> std::path::PathBuf {
    let name = state.file_name().unwrap().to_str().unwrap();
    state.with_file_name(format!(".{name}.new-1-1"))
}

pub(super) fn bump_over_spare(
    store: &mut Store,
) -> Result<Arc<LoadedState>, CommitError<Infallible>> {
    store.spares.put(spare_of(&store.place().state));
    store.spares.synced();
    bump(store)
}

#[test]
fn where_commits_are_many_few_files_are_made() {
    let world = World::new();
    let disk = Faulty::default();
    let calls = disk.calls();
    let mut store = busy(world.store_on(disk));
    bump_often(&mut store);
    assert!(made(&calls) < COMMITS / 3, "{} files made", made(&calls));
    assert_eq!(world.store().read().unwrap().bytes(), world.bytes());
    store.tend(later()).unwrap();
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}

#[test]
fn a_spare_is_written_over_whole() {
    let world = with_spare();
    let inode = fs::metadata(spare_of(&world.file())).unwrap().ino();
    let disk = Faulty::default();
    let calls = disk.calls();
    let loaded = bump_over_spare(&mut world.store_on(disk)).unwrap();
    assert_eq!(world.bytes(), loaded.bytes());
    assert_eq!(fs::metadata(world.file()).unwrap().ino(), inode);
    // It is durable before it has the name.
    let calls = calls.lock().unwrap();
    let place = |call: &str| calls.iter().position(|one| *one == call).unwrap();
    assert!(place("open_over") < place("fsync") && place("fsync") < place("exchange"));
}

#[test]
fn whoever_has_a_state_open_sees_it_as_it_was() {
    let world = World::new();
    let mut store = busy(world.store());
    let mut open: Vec<(fs::File, Vec<u8>)> = Vec::new();
    for _ in 0..COMMITS {
        bump(&mut store).unwrap();
        open.push((fs::File::open(world.file()).unwrap(), world.bytes()));
    }
    bump_often(&mut store);
    for (mut file, bytes) in open {
        let mut now = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut now).unwrap();
        assert_eq!(now, bytes);
    }
}

#[test]
fn a_copy_by_a_second_name_stays_as_it_was() {
    let world = World::new();
    let mut store = busy(world.store());
    let mut copies = Vec::new();
    for n in 0..COMMITS {
        bump(&mut store).unwrap();
        let copy = world.path().join(format!("copy-{n}"));
        fs::hard_link(world.file(), &copy).unwrap();
        copies.push((copy, world.bytes()));
    }
    bump_often(&mut store);
    for (copy, bytes) in copies {
        assert_eq!(fs::read(copy).unwrap(), bytes);
    }
}

#[test]
fn a_spare_that_is_not_ours_alone_is_not_written_over() {
    type Spoil = fn(&Path);
    let spoils: [Spoil; 4] = [
        |spare| fs::set_permissions(spare, fs::Permissions::from_mode(0o644)).unwrap(),
        |spare| fs::hard_link(spare, spare.with_file_name("second")).unwrap(),
        |spare| {
            let victim = spare.with_file_name("victim");
            fs::rename(spare, &victim).unwrap();
            std::os::unix::fs::symlink(victim, spare).unwrap();
        },
        |spare| {
            fs::remove_file(spare).unwrap();
            fs::create_dir(spare).unwrap();
        },
    ];
    for (n, spoil) in spoils.into_iter().enumerate() {
        let world = with_spare();
        let spare = spare_of(&world.file());
        let old = fs::read(&spare).unwrap();
        spoil(&spare);
        let loaded = bump_over_spare(&mut world.store()).unwrap();
        assert_eq!(world.bytes(), loaded.bytes(), "{n}");
        let mode = fs::symlink_metadata(world.file()).unwrap().permissions();
        assert_eq!(mode.mode() & 0o7777, 0o600, "{n}");
        for name in ["second", "victim"] {
            let kept = fs::read(spare.with_file_name(name));
            assert!(kept.is_err() || kept.unwrap() == old, "{n}: {name}");
        }
    }
}

#[test]
fn a_spare_that_another_process_swept_is_made_anew() {
    let world = World::new();
    let (mut one, mut other) = (busy(world.store()), busy(world.store()));
    for _ in 0..COMMITS {
        bump(&mut one).unwrap();
        bump(&mut other).unwrap();
    }
    assert!(!world.store().read().unwrap().is_foreign);
    one.tend(later()).unwrap();
    assert!(world.leftovers().is_empty(), "{:?}", world.leftovers());
}

#[test]
fn a_spare_is_used_after_its_name_is_durable() {
    let mut spares = super::super::spares::Spares::default();
    spares.put("a".into());
    assert_eq!(spares.take(), None);
    spares.synced();
    spares.put("b".into());
    assert_eq!(spares.take(), Some("a".into()));
    assert_eq!(spares.take(), None);
}
