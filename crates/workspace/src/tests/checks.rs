//! The trees that checks run in: their remaining files, and when `setup` has to be run.

use super::*;

fn setting_up(command: &str) -> Constraints {
    let mut constraints = Constraints::default();
    constraints.setup.run = Some(command.into());
    constraints
}

fn warm(w: &Worktrees, commit: &CommitId) -> WorkDir {
    w.for_checks(Checkout::Verify, Some(commit), Warmth::Cold).unwrap()
}

#[test]
fn the_tree_for_checks_keeps_ignored_files_and_nothing_else() {
    let world = World::new();
    let w = world.open(&Constraints::default());
    let base = start(&w);
    let made = w.for_checks(Checkout::Verify, Some(&base), Warmth::Cold).unwrap();
    put(made.path.join("build/cache"), "warm\n");
    put(made.path.join("left.txt"), "left\n");
    put(made.path.join("a.txt"), "spoiled\n");
    w.for_checks(Checkout::Verify, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(read(made.path.join("build/cache")), "warm\n");
    assert_eq!(read(made.path.join("a.txt")), "one\n");
    assert!(!made.path.join("left.txt").exists());
}

#[test]
fn a_kept_tree_is_new_until_it_is_set_up_and_again_when_made_anew() {
    let world = World::new();
    let w = world.open(&setting_up("make deps"));
    let base = start(&w);
    assert!(warm(&w, &base).is_new);
    let room = warm(&w, &base);
    assert!(room.is_new, "a setup that was not reported has failed");
    w.checks_are_set_up(Checkout::Verify, &room).unwrap();
    assert!(!warm(&w, &base).is_new);
    let other = world.open(&setting_up("make other"));
    let room = warm(&other, &base);
    assert!(room.is_new, "another command");
    other.checks_are_set_up(Checkout::Verify, &room).unwrap();
    fs::remove_dir_all(&room.path).unwrap();
    assert!(warm(&other, &base).is_new, "another directory");
}

/// The commit that an attempt makes on `base`.
fn with(w: &Worktrees, base: &CommitId, path: &str, text: &str) -> CommitId {
    clean(change(w, base, base, path, text)).0
}

#[test]
fn a_kept_tree_is_set_up_again_whenever_what_setup_reads_differs() {
    let world = World::new();
    let anything = setting_up("make deps");
    let mut narrow = anything.clone();
    narrow.setup.inputs = vec!["sub/**".into()];
    for (constraints, is_new_after_a) in [(anything, true), (narrow, false)] {
        let w = world.open(&constraints);
        let base = start(&w);
        let (a, s) = (with(&w, &base, "a.txt", "2"), with(&w, &base, "sub/s.txt", "2"));
        w.checks_are_set_up(Checkout::Verify, &warm(&w, &base)).unwrap();
        assert_eq!(warm(&w, &a).is_new, is_new_after_a);
        assert!(warm(&w, &s).is_new, "it reads all of sub");
        // A `setup` that was cut off may have left files that belong to no tree.
        assert!(warm(&w, &base).is_new);
    }
}

#[test]
fn a_pristine_tree_is_the_commit_alone_and_new_each_time() {
    let world = World::new();
    let w = world.open(&setting_up("make deps"));
    let base = start(&w);
    let pristine = || w.for_checks(Checkout::Pristine, Some(&base), Warmth::Cold).unwrap();
    let room = pristine();
    put(room.path.join("build/cache"), "old\n");
    put(room.path.join(".env"), "old\n");
    put(room.path.join("a.txt"), "spoiled\n");
    w.checks_are_set_up(Checkout::Pristine, &room).unwrap();
    let again = pristine();
    assert!(again.is_new && again.path == room.path);
    assert!(!room.path.join("build").exists() && !room.path.join(".env").exists());
    assert_eq!(read(room.path.join("a.txt")), "one\n");
}

#[test]
fn of_a_pristine_tree_stays_what_keep_names_and_git_ignores() {
    let world = World::new();
    put(world.top().join(".gitignore"), "build/\n*.log\n");
    put(world.top().join("sub/.gitignore"), "out/\n");
    world.commit();
    let mut constraints = Constraints::default();
    constraints.setup.keep =
        ["build/deep", "sub/out", "a.txt", "left", "link"].map(Into::into).into();
    let w = world.open(&constraints);
    let base = start(&w);
    let pristine =
        |commit| w.for_checks(Checkout::Pristine, Some(commit), Warmth::Cold).unwrap().path;
    let at = pristine(&base);
    for path in ["build/deep/1", "build/other/2", "sub/out/3", "left/4", "one.log"] {
        put(at.join(path), path);
    }
    put(at.join("a.txt"), "spoiled\n");
    pristine(&base);
    assert_eq!(read(at.join("sub/out/3")), "sub/out/3");
    assert_eq!(read(at.join("build/deep/1")), "build/deep/1");
    for gone in ["build/other", "left", "one.log"] {
        assert!(!at.join(gone).exists(), "{gone}");
    }
    assert_eq!(read(at.join("a.txt")), "one\n");
    let tracked = with(&w, &base, "sub/.gitignore", "none\n");
    pristine(&tracked);
    assert!(!at.join("sub/out").exists(), "it is ignored no more");
}

#[test]
fn in_shared_every_tree_for_checks_is_the_project_itself() {
    let world = World::new();
    let w = world.open_shared();
    let room = w.for_checks(Checkout::Pristine, None, Warmth::Cold).unwrap();
    assert_eq!((room.path, room.is_new), (world.top(), false));
}

#[test]
fn a_tree_for_checks_tells_what_it_shares() {
    let world = World::new();
    put(world.top().join(".env"), "x\n");
    let w = world.open(&linking(&[".env", "absent", "a.txt"]));
    let base = start(&w);
    w.for_checks(Checkout::Pristine, Some(&base), Warmth::Cold).unwrap();
    assert_eq!(w.linked(Checkout::Pristine), [".env"]);
}

#[test]
fn the_two_trees_for_checks_are_two_and_set_up_each_for_itself() {
    let world = World::new();
    let w = world.open(&setting_up("make deps"));
    let base = start(&w);
    let made = |which| w.for_checks(which, Some(&base), Warmth::Cold).unwrap();
    assert_ne!(made(Checkout::Verify).path, made(Checkout::Candidate).path);
    let room = made(Checkout::Candidate);
    w.checks_are_set_up(Checkout::Candidate, &room).unwrap();
    assert!(made(Checkout::Verify).is_new && !made(Checkout::Candidate).is_new);
}
