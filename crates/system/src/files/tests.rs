//! Whatever lies at the name of a file of ours, a call ends, says what it is, and writes through nothing.
#![allow(clippy::disallowed_methods)] // door: tests

use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::write(world.at("elsewhere"), "theirs").unwrap();
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn odd<T: fmt::Debug>(done: io::Result<T>) -> PathKind {
    Odd::of(&done.unwrap_err()).unwrap().what
}

/// Each way to open what lies there is refused for it, and what it leads to is as it was.
#[track_caller]
fn check(plant: impl Fn(&World, &Path), to_read: Option<PathKind>, to_write: PathKind) {
    let world = World::new();
    let path = world.at("ours");
    plant(&world, &path);
    match to_read {
        Some(what) => assert_eq!(odd(open(&path)), what),
        None => drop(open(&path).unwrap()),
    }
    assert_eq!(odd(open_or_make(&path)), to_write);
    assert_eq!(odd(append(&path)), to_write);
    assert_eq!(odd(plain_file(&path)), to_write);
    assert_eq!(make_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    write_anew(&path, b"ours").unwrap();
    assert_eq!(read(&path, 4).unwrap(), b"ours");
    assert_eq!(fs::read(world.at("elsewhere")).unwrap(), b"theirs");
}

#[test]
fn a_link_a_pipe_a_directory_and_a_socket_are_refused_by_what_they_are() {
    let link = |world: &World, path: &Path| symlink(world.at("elsewhere"), path).unwrap();
    check(link, Some(PathKind::Link), PathKind::Link);
    let nowhere = |world: &World, path: &Path| symlink(world.at("nowhere"), path).unwrap();
    check(nowhere, Some(PathKind::Link), PathKind::Link);
    check(|_, path| pipe(path), Some(PathKind::Pipe), PathKind::Pipe);
    let directory = |_: &World, path: &Path| fs::create_dir(path).unwrap();
    check(directory, Some(PathKind::Directory), PathKind::Directory);
    let socket = |_: &World, path: &Path| {
        std::os::unix::net::UnixListener::bind(path).unwrap();
    };
    check(socket, Some(PathKind::Socket), PathKind::Socket);
}

#[test]
fn a_file_with_a_second_name_is_read_and_not_written() {
    let second = |world: &World, path: &Path| fs::hard_link(world.at("elsewhere"), path).unwrap();
    check(second, None, PathKind::SecondName);
}

#[test]
fn what_is_more_than_the_maximum_is_refused_or_cut() {
    let world = World::new();
    let path = world.at("elsewhere");
    assert_eq!(read(&path, 6).unwrap(), b"theirs");
    assert_eq!(odd(read(&path, 5)), PathKind::Larger(5));
    assert_eq!(read_some(&path, 5).unwrap(), b"their");
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let world = World::new();
    for (name, make) in
        [("a", open_or_make as fn(&Path) -> io::Result<File>), ("b", append), ("c", make_new)]
    {
        let meta = make(&world.at(name)).unwrap().metadata().unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    }
    write_durably(&world.at("d"), b"d").unwrap();
    let mode = |name: &str| fs::metadata(world.at(name)).unwrap().mode() & 0o777;
    assert_eq!(mode("d"), 0o600);
    assert!(make_dir(&world.at("e")).unwrap() && !make_dir(&world.at("e")).unwrap());
    assert_eq!(mode("e"), 0o700);
}

#[test]
fn a_half_file_of_a_killed_writer_is_replaced_by_the_next() {
    let world = World::new();
    let path = world.at("work");
    fs::write(half_of(&path), "torn").unwrap();
    write_whole_alone(&path, b"whole").unwrap();
    assert_eq!(read(&path, 9).unwrap(), b"whole");
    assert!(!half_of(&path).exists());
}

#[test]
fn a_link_to_a_directory_is_none_and_nothing_is_found_in_it() {
    let world = World::new();
    symlink(world.0.path(), world.at("linked")).unwrap();
    assert_eq!(odd(make_dir(&world.at("linked"))), PathKind::Link);
    let file = plain_dir(&world.at("elsewhere")).unwrap_err();
    assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
    assert!(entries(&world.at("linked")).is_empty());
    assert_eq!(entries(world.0.path()).len(), 2);
    remove(&world.at("linked")).unwrap();
    assert!(world.at("elsewhere").exists());
}

#[test]
fn nothing_is_moved_over_what_is_there() {
    let world = World::new();
    fs::write(world.at("ours"), "ours").unwrap();
    let moved = move_to(&world.at("ours"), &world.at("elsewhere"));
    assert_eq!(moved.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    move_to(&world.at("ours"), &world.at("other")).unwrap();
    assert!(!world.at("ours").exists() && world.at("other").exists());
}
