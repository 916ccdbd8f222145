//! The sidecars of a state file: its place, its locks, its journal.

use super::*;

#[test]
fn one_lease_a_state_and_it_ends_with_its_holder() {
    let world = World::new();
    let store = world.store();
    assert!(!store.is_live());
    assert!(!world.path().join(".descent/state.json.d/run.lock").exists(), "asking makes nothing");
    let lease = store.lease("since noon, descent run").unwrap();
    assert!(store.is_live());
    let error = world.store().lease("me too").unwrap_err();
    assert_eq!((error.facts().0, error.facts().1), ("E-LEASE-HELD", 75));
    let who = format!("pid {}, since noon, descent run", std::process::id());
    assert!(error.to_string().contains(&who), "{error}");
    assert_eq!(store.holder(), Some(who));
    bump(&mut world.store()).unwrap();
    drop(lease);
    assert!(!store.is_live());
    assert_eq!(store.holder(), None);
    store.lease("again").unwrap();
}

#[test]
fn a_pipe_in_the_place_of_the_lock_is_held_by_nobody_and_not_waited_for() {
    let world = World::new();
    let lock = world.path().join(".descent/state.json.d/run.lock");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &lock, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let store = world.store();
    assert!(!store.is_live());
    assert_eq!(store.holder(), None);
}

#[test]
fn the_lease_of_a_dead_loop_is_waited_for_until_what_it_was_starting_lets_go() {
    let world = World::new();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let lease = world.store().lease("killed").unwrap();
    let line = format!("pid {}, killed\n", dead.id());
    fs::write(world.path().join(".descent/state.json.d/run.lock"), line).unwrap();
    let lets_go = std::thread::spawn(move || {
        // Longer than the wait for a live one.
        std::thread::sleep(Duration::from_millis(300));
        drop(lease);
    });
    world.store().lease("the next").unwrap();
    lets_go.join().unwrap();
}

#[test]
fn whatever_a_person_wrote_into_the_lock_a_lease_that_is_held_is_told() {
    let world = World::new();
    let _lease = world.store().lease("one").unwrap();
    for line in ["pid -1, x", "pid 0, x", "pid 99999999999999, x", "pid , x", "pid 1", "\u{0}"] {
        fs::write(world.path().join(".descent/state.json.d/run.lock"), line).unwrap();
        assert_eq!(code(world.store().lease("two")), "E-LEASE-HELD", "{line:?}");
    }
}

#[test]
fn a_held_commit_lock_is_waited_for_only_so_long() {
    let world = World::new();
    let path = world.store().place().commit_lock();
    let held = locks::lock_within(&path, 0).unwrap();
    assert_eq!(code(locks::lock_within(&path, 5)), "E-BUSY");
    drop(held);
    locks::lock_within(&path, 0).unwrap();
}

#[test]
fn an_earlier_commit_is_found_in_memory_and_after_remembering_by_others() {
    let world = World::new();
    let mut store = world.store();
    store.read().unwrap();
    store.write_journal();
    bump(&mut store).unwrap();
    assert_eq!(store.base(&begun_at(7)).unwrap().run.iteration, 0);
    store.write_journal();
    let mut other = world.store();
    other.read().unwrap();
    assert_eq!(other.base(&begun_at(8)).unwrap().run.iteration, 1);
    assert_eq!(other.base(&begun_at(7)).unwrap().run.iteration, 0);
    assert!(other.base(&begun_at(9)).is_none());
}

#[test]
fn memory_keeps_the_last_sixty_four_commits_where_the_journal_is_gone() {
    let world = World::new();
    let mut store = world.store();
    (0..70).for_each(|_| drop(bump(&mut store).unwrap()));
    fs::remove_dir_all(store.place().journal()).unwrap();
    assert!(store.base(&begun_at(77)).is_some() && store.base(&begun_at(14)).is_some());
    assert!(store.base(&begun_at(13)).is_none());
}

#[test]
fn a_replaced_state_is_kept_in_the_journal() {
    let world = World::new();
    let old = world.bytes();
    let mut other = fixture();
    other.lineage = descent_core::id::Lineage::new("0298c0de-other");
    let mut store = world.store();
    let (loaded, archived) = store.replace(other, true).unwrap();
    assert_eq!(loaded.bytes(), world.bytes());
    assert_ne!(old, world.bytes());
    let path = store.place().journal().join("archive-7-0198c0de.json");
    assert_eq!(archived, Some(path.clone()));
    assert_eq!(fs::read(path).unwrap(), old);
}

#[test]
fn a_stricter_mode_of_the_file_is_kept_and_a_wider_one_is_not() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    for (mode, kept) in [(0o644, 0o600), (0o600, 0o600), (0o400, 0o400)] {
        fs::set_permissions(world.file(), fs::Permissions::from_mode(mode)).unwrap();
        bump(&mut world.store()).unwrap();
        assert_eq!(fs::metadata(world.file()).unwrap().permissions().mode() & 0o777, kept);
    }
    let dir = fs::metadata(world.path().join(".descent")).unwrap();
    assert_eq!(dir.permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_nearest_place_upwards_is_found() {
    let world = World::new();
    let deep = world.path().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let place = StatePlace::find(&deep, None).unwrap();
    let project = world.path().canonicalize().unwrap();
    assert_eq!(place.project, project);
    assert_eq!(place.state, project.join(".descent/state.json"));
    assert_eq!(fs::read_to_string(place.own().join(".gitignore")).unwrap(), "*\n");
    assert!(StatePlace::find(World::bare().path(), None).is_none());
}

#[test]
fn two_named_files_in_one_directory_share_nothing() {
    let world = World::bare();
    let names = [Path::new("one.json"), Path::new("two.json")];
    let [one, two] = names.map(|name| StatePlace::create(world.path(), Some(name)).unwrap());
    assert_ne!(one.dir, two.dir);
    assert_eq!(one.project, world.path().canonicalize().unwrap());
    assert_eq!(StatePlace::find(world.path(), Some(names[0])).unwrap(), one);
    let (mut one, mut two) = (Store::open(one), Store::open(two));
    one.create(fixture()).unwrap();
    two.create(fixture()).unwrap();
    let _lease = one.lease("one").unwrap();
    assert!(!two.is_live());
    bump(&mut one).unwrap();
    bump(&mut one).unwrap();
    two.tend(later()).unwrap();
    let swapped = fs::read_dir(world.path()).unwrap();
    let names = swapped.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with(".one.json.old-")).count(), 2);
}

#[test]
fn a_linked_state_file_stays_a_link_and_has_the_sidecars_of_its_target() {
    let world = World::new();
    let link = world.path().join("link.json");
    std::os::unix::fs::symlink(world.file(), &link).unwrap();
    let place = StatePlace::find(world.path(), Some(&link)).unwrap();
    let of_target = world.path().canonicalize().unwrap().join(".descent/state.json.d");
    assert_eq!(place.dir, of_target);
    bump(&mut Store::open(place)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(world.store().read().unwrap().state.serial, Serial(8));
}
