//! The working tree as it is, with nothing of the person's touched.

use super::*;
use crate::git::snapshot::{NESTED, left_out};
use std::os::unix::fs::symlink;

#[test]
fn a_clean_tree_is_head_itself() {
    let world = World::new();
    world.write("x.log", "ignored");
    let seen = world.snapshot();
    assert_eq!((&seen.commit, seen.dirty), (&world.at("HEAD"), false));
    assert_eq!(seen.branch.as_deref(), Some("main"));
    assert_eq!(seen.tree.as_str(), world.git(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn it_holds_the_tree_as_it_is_and_changes_no_byte_of_the_person() {
    let world = World::new();
    world.write("gone.txt", "gone\n");
    world.write("staged-gone.txt", "x\n");
    world.commit("more");
    let mark = world.plant_hooks();
    world.write("a.txt", "changed\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("staged.txt", "staged, then changed\n");
    world.git(&["rm", "-q", "staged-gone.txt"]);
    fs::remove_file(world.top().join("gone.txt")).unwrap();
    world.write("with space/ünï.txt", "new\n");
    world.write("run.sh", "#!/bin/sh\n");
    make_executable(&world.top().join("run.sh"));
    symlink("a.txt", world.top().join("link")).unwrap();
    world.write("x.log", "ignored");
    world.write(".descent/state.json", "{}");
    let before = world.picture();
    let seen = world.snapshot();
    assert_eq!(world.picture(), before);
    assert!(!mark.exists());
    assert!(seen.dirty);
    assert_eq!(
        world.files(&seen.commit),
        [".gitignore", "a.txt", "dir/b.txt", "link", "run.sh", "staged.txt", "with space/ünï.txt"]
    );
    assert_eq!(world.blob(&seen.commit, "a.txt"), "changed");
    assert_eq!(world.blob(&seen.commit, "staged.txt"), "staged, then changed");
    let modes = world.git_of_ours(&["ls-tree", seen.commit.as_str(), "run.sh", "link"]);
    assert!(modes.contains("100755 blob") && modes.contains("120000 blob"));
    assert_eq!(world.parent(&seen.commit), world.at("HEAD"));
    assert_eq!(world.snapshot().commit, seen.commit);
}

#[test]
fn without_an_index_it_is_the_same() {
    let world = World::new();
    world.write("a.txt", "changed\n");
    let with = world.snapshot();
    fs::remove_file(world.top().join(".git/index")).unwrap();
    assert_eq!(world.snapshot(), with);
    assert!(!world.top().join(".git/index").exists());
}

#[test]
fn a_copied_index_keeps_its_time_so_that_a_change_in_that_instant_is_seen() {
    let world = World::new();
    let (index, copy) = (world.top().join(".git/index"), world.scratch().join("copy"));
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_600_000_000_123_456_789);
    let file = fs::File::options().write(true).open(&index).unwrap();
    file.set_modified(old).unwrap();
    git_disk::copy_index(&index, &copy).unwrap();
    assert_eq!(copy.metadata().unwrap().modified().unwrap(), old);
}

#[test]
fn our_own_directory_never_goes_in_even_when_it_was_staged() {
    let world = World::new();
    world.write(".gitignore", "");
    world.write(".descent/state.json", "{}");
    assert_eq!(world.files(&world.snapshot().commit), [".gitignore", "a.txt", "dir/b.txt"]);
    world.git(&["add", ".descent"]);
    assert_eq!(world.files(&world.snapshot().commit), [".gitignore", "a.txt", "dir/b.txt"]);
}

#[test]
fn nested_repositories_are_left_out_and_named() {
    let world = World::new();
    world.git(&["init", "-q", "unborn"]);
    world.git(&["init", "-q", "deep/nested"]);
    world.write("deep/nested/x", "x");
    world.git_in(&world.top().join("deep/nested"), &["add", "x"]);
    world.git_in(&world.top().join("deep/nested"), &["commit", "-q", "-m", "x"]);
    world.write("new.txt", "new");
    let (seen, notes) = world.taken();
    let nested = ["deep/nested", "unborn"].map(|path| left_out(path, NESTED));
    assert_eq!(notes, nested);
    assert_eq!(world.files(&seen.commit), [".gitignore", "a.txt", "dir/b.txt", "new.txt"]);
}

#[test]
fn files_that_become_directories_and_links_are_taken_as_they_are() {
    let world = World::new();
    world.write("f", "file");
    world.write("d/x", "x");
    world.write("l/x", "x");
    world.commit("more");
    fs::remove_file(world.top().join("f")).unwrap();
    world.write("f/inside", "x");
    fs::remove_dir_all(world.top().join("d")).unwrap();
    world.write("d", "file");
    fs::rename(world.top().join("l"), world.top().join("real")).unwrap();
    symlink("real", world.top().join("l")).unwrap();
    let files = world.files(&world.snapshot().commit);
    assert_eq!(files, [".gitignore", "a.txt", "d", "dir/b.txt", "f/inside", "l", "real/x"]);
}

#[test]
fn names_that_are_not_utf_8_and_conflicts_are_taken() {
    let world = World::new();
    let name = OsStr::from_bytes(b"bad\xff\nname");
    fs::write(world.top().join(name), "x").unwrap();
    let seen = world.snapshot();
    assert_eq!(world.files(&seen.commit).len(), 4);
    assert_eq!(world.files(&seen.commit)[2], "bad\u{fffd}\nname");
    world.git(&["checkout", "-q", "-b", "other"]);
    world.write("a.txt", "other\n");
    world.commit("other");
    world.git(&["checkout", "-q", "main"]);
    world.write("a.txt", "main\n");
    world.commit("main");
    let mut git = Command::new("git");
    git.env_clear().envs(world.env.iter().cloned()).current_dir(world.top());
    assert!(!git.args(["merge", "-q", "other"]).output().unwrap().status.success());
    let before = world.picture();
    assert!(world.blob(&world.snapshot().commit, "a.txt").contains("<<<<<<<"));
    assert_eq!(world.picture(), before);
}

#[test]
fn filters_of_the_home_and_line_endings_are_the_persons() {
    let world = World::new();
    world.git(&["config", "--global", "filter.up.clean", "tr a-z A-Z"]);
    world.git(&["config", "--global", "filter.up.smudge", "tr A-Z a-z"]);
    world.git(&["config", "--global", "core.autocrlf", "input"]);
    world.git(&["config", "--global", "core.safecrlf", "true"]);
    world.write(".gitattributes", "*.up filter=up\n");
    world.write("x.up", "loud\n");
    world.write("crlf.txt", "one\r\ntwo\r\n");
    let seen = world.snapshot();
    assert_eq!(world.blob(&seen.commit, "x.up"), "LOUD");
    assert_eq!(world.blob(&seen.commit, "crlf.txt"), "one\ntwo");
    let at = world.tree("w");
    world.open().checkout(&at, &seen.commit, Leftovers::RemoveAll, None).unwrap();
    assert_eq!(fs::read_to_string(at.join("x.up")).unwrap(), "loud\n");
}

#[test]
fn a_setting_of_the_repository_goes_before_the_homes() {
    let world = World::new();
    world.git(&["config", "--global", "core.autocrlf", "input"]);
    world.git(&["config", "core.autocrlf", "false"]);
    world.write("crlf.txt", "one\r\n");
    let blob = world.blob(&world.snapshot().commit, "crlf.txt");
    assert_eq!(blob, "one\r");
}

#[test]
fn a_repository_without_commits_is_refused_with_the_mending_command() {
    let world = World::empty();
    let made = world.open().snapshot(&world.scratch(), "m", &world.scratch());
    assert!(made.unwrap_err().hint().contains("commit --allow-empty -m start"));
    world.write("a", "a");
    world.git(&["add", "a"]);
    let made = world.open().snapshot(&world.scratch(), "m", &world.scratch());
    assert!(matches!(made, Err(GitError::NoCommits { .. })));
}

#[test]
fn a_linked_worktree_of_the_persons_is_a_project_too() {
    let world = World::new();
    let own = world.tree("theirs");
    world.git(&["worktree", "add", "-q", "-b", "side", own.to_str().unwrap()]);
    put(&own, "side.txt", "side\n");
    let git = world.open_in(&own).unwrap().unwrap();
    let (seen, _) = git.snapshot(&world.scratch(), "m", &world.scratch()).unwrap();
    assert_eq!(seen.branch.as_deref(), Some("side"));
    assert_eq!(world.blob(&seen.commit, "side.txt"), "side");
    let at = world.tree("ours");
    git.checkout(&at, &seen.commit, Leftovers::RemoveAll, None).unwrap();
    assert!(at.join("side.txt").exists());
    let applied = git.apply(&world.at("main"), &seen.commit, &world.scratch(), false).unwrap();
    assert!(matches!(applied, ApplyOutcome::FastForward { .. }));
    assert_eq!(world.at("side"), seen.commit);
}
