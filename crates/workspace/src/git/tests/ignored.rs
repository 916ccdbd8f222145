//! Ignored and changed files are listed without leaving a trace.

use super::*;

#[test]
fn ignored_paths_are_told_a_directory_as_one_and_our_own_not() {
    let world = World::new();
    world.write("x.log", "");
    world.write("build/deep/a", "");
    world.write("dir/y.log", "");
    world.write("new.txt", "");
    world.write(".descent/state.json", "");
    let git = world.open_in(&world.top()).unwrap().unwrap();
    let ignored = ["build", "dir/y.log", "x.log"].map(PathBuf::from);
    assert_eq!(git.ignored(None).unwrap(), ignored);
    for (path, is_ignored) in [
        ("build/none", true),
        ("gone.log", true),
        ("dir/*.log", true),
        ("a.txt", false),
        ("new.txt", false),
        ("", false),
        ("../out.log", false),
        ("/x.log", false),
    ] {
        assert_eq!(git.is_ignored(None, Path::new(path)).unwrap(), is_ignored, "{path}");
    }
}

#[test]
fn a_file_that_changed_twice_is_told_twice() {
    let world = World::new();
    let git = world.open_in(&world.top()).unwrap().unwrap();
    let clean = git.stamps(&[]).unwrap();
    assert_eq!(git.uncommitted().unwrap(), 0);
    world.write("a.txt", "other\n");
    world.write("new.txt", "");
    world.write(".descent/state.json", "");
    let dirty = git.stamps(&[]).unwrap();
    assert_eq!(git.uncommitted().unwrap(), 2);
    assert_eq!(dirty.changed_since(&clean), ["a.txt"]);
    assert_eq!(dirty.left_since(&clean), ["new.txt"]);
    world.write("a.txt", "another one\n");
    fs::remove_file(world.top().join("dir/b.txt")).unwrap();
    let more = git.stamps(&[]).unwrap();
    assert_eq!(more.changed_since(&dirty), ["a.txt", "dir/b.txt"]);
    assert!(more.changed_since(&more).is_empty());
    assert!(more.left_since(&dirty).is_empty());
    let without = git.stamps(&["new.txt".into()]).unwrap();
    assert!(without.left_since(&clean).is_empty());
}
