//! Worktrees that hold exactly a commit, whatever was done to them.

use super::*;
use std::os::unix::fs::symlink;

fn made(world: &World, name: &str) -> (Git, PathBuf, CommitId) {
    let (git, at) = (world.open(), world.tree(name));
    let head = world.at("HEAD");
    git.checkout(&at, &head, Leftovers::RemoveAll, None).unwrap();
    (git, at, head)
}

fn text(at: &Path, path: &str) -> String {
    fs::read_to_string(at.join(path)).unwrap()
}

#[test]
fn a_tree_is_detached_runs_no_hook_and_leaves_the_project_alone() {
    let world = World::new();
    let mark = world.plant_hooks();
    let (git, at, head) = made(&world, "w");
    assert_eq!(world.git_in(&at, &["rev-parse", "HEAD"]), head.as_str());
    assert_eq!(world.git_in(&at, &["status", "--porcelain"]), "");
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    git.remove_worktree(&at).unwrap();
    git.remove_worktree(&at).unwrap();
    assert!(!at.exists());
    assert_eq!(world.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert!(!mark.exists());
}

#[test]
fn whatever_somebody_did_to_it_the_files_are_the_commits_again() {
    let world = World::new();
    world.write("run.sh", "#!/bin/sh\n");
    make_executable(&world.top().join("run.sh"));
    world.write("d/x", "x\n");
    world.commit("more");
    let (git, at, head) = made(&world, "w");
    let times = at.join("a.txt").metadata().unwrap().modified().unwrap();
    let same_size = text(&at, "a.txt").replace("two", "TWO");
    put(&at, "a.txt", same_size);
    fs::File::options().write(true).open(at.join("a.txt")).unwrap().set_modified(times).unwrap();
    world.git_in(&at, &["update-index", "--assume-unchanged", "a.txt"]);
    world.git_in(&at, &["update-index", "--skip-worktree", "dir/b.txt"]);
    put(&at, "dir/b.txt", "hidden");
    fs::set_permissions(at.join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    let elsewhere = world.tree("elsewhere");
    put(&elsewhere, "x", "theirs\n");
    fs::remove_dir_all(at.join("d")).unwrap();
    symlink(&elsewhere, at.join("d")).unwrap();
    put(&at, "new/untracked.txt", "x");
    world.git_in(&at, &["checkout", "-q", "-b", "mine"]);
    world.git_in(&at, &["commit", "-q", "-am", "mine"]);
    let record = git.tree(&at).admin.clone();
    put(&record, "index.lock", "");
    put(&record, "MERGE_HEAD", "x");
    git.checkout(&at, &head, Leftovers::RemoveAll, None).unwrap();
    assert!(text(&at, "a.txt").contains("two"));
    assert_eq!(text(&at, "dir/b.txt"), "b\n");
    assert_eq!(at.join("run.sh").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!at.join("d").is_symlink());
    assert_eq!((text(&at, "d/x"), text(&elsewhere, "x")), ("x\n".into(), "theirs\n".into()));
    assert!(!at.join("new").exists());
    assert_eq!(world.git_in(&at, &["rev-parse", "HEAD"]), head.as_str());
    assert_eq!(world.git_in(&at, &["status", "--porcelain"]), "");
    assert!(!record.join("MERGE_HEAD").exists());
    let branches = ["branch", "--list", "mine"];
    assert_eq!(world.git_in(&at, &branches) + &world.git(&branches), "");
}

#[test]
fn directories_in_the_place_of_files_make_room() {
    let world = World::new();
    let (git, at, head) = made(&world, "w");
    fs::remove_file(at.join("a.txt")).unwrap();
    put(&at, "a.txt/inside", "x");
    world.git_in(&at, &["init", "-q", "nested"]);
    git.checkout(&at, &head, Leftovers::KeepIgnored, None).unwrap();
    assert!(at.join("a.txt").is_file());
    assert!(!at.join("nested").exists());
}

#[test]
fn ignored_files_stay_as_asked() {
    let world = World::new();
    let (git, at, head) = made(&world, "w");
    put(&at, "build/cache", "x");
    put(&at, "junk", "x");
    symlink("/usr", at.join("deps.log")).unwrap();
    git.checkout(&at, &head, Leftovers::KeepIgnored, None).unwrap();
    assert!(at.join("build/cache").exists() && !at.join("junk").exists());
    git.checkout(&at, &head, Leftovers::RemoveAll, None).unwrap();
    assert!(!at.join("build").exists() && !at.join("deps.log").is_symlink());
}

#[test]
fn broken_trees_are_made_anew() {
    let world = World::new();
    let (git, at, head) = made(&world, "w");
    let admin = git.tree(&at).admin.clone();
    let breaks: [&dyn Fn(); 6] = [
        &|| fs::remove_dir_all(at.join(".git")).unwrap(),
        &|| fs::remove_dir_all(&admin).unwrap(),
        &|| fs::write(admin.join("HEAD"), "rubbish").unwrap(),
        &|| fs::remove_dir_all(&at).unwrap(),
        &|| {
            fs::remove_dir_all(at.join(".git")).unwrap();
            fs::write(at.join(".git"), "gitdir: /elsewhere\n").unwrap();
        },
        &|| {
            for entry in fs::read_dir(&admin).unwrap().flatten() {
                if entry.file_name().as_bytes().starts_with(b"descent-index") {
                    fs::write(entry.path(), "rubbish").unwrap();
                }
            }
        },
    ];
    for (n, damage) in breaks.iter().enumerate() {
        damage();
        put(&at, "a.txt", "tampered");
        git.checkout(&at, &head, Leftovers::KeepIgnored, None).unwrap();
        assert!(text(&at, "a.txt").starts_with("one"), "{n}");
        assert_eq!(world.git_in(&at, &["rev-parse", "HEAD"]), head.as_str(), "{n}");
    }
    let records = fs::read_dir(admin.parent().unwrap());
    assert_eq!(records.unwrap().count(), 1);
}

#[test]
fn a_project_that_was_moved_gets_its_tree_back() {
    let world = World::new();
    let (_, at, head) = made(&world, "w");
    let moved = world.tree("moved");
    fs::rename(world.top(), &moved).unwrap();
    let git = world.open_in(&moved).unwrap().unwrap();
    git.checkout(&at, &head, Leftovers::KeepIgnored, None).unwrap();
    assert_eq!(world.git_in(&at, &["status", "--porcelain"]), "");
}

#[test]
fn it_moves_from_commit_to_commit_and_back() {
    let world = World::new();
    let (git, at, first) = made(&world, "w");
    fs::remove_file(world.top().join("a.txt")).unwrap();
    world.write("a.txt/deep", "x");
    let second = world.commit("second");
    git.checkout(&at, &second, Leftovers::KeepIgnored, None).unwrap();
    assert!(at.join("a.txt/deep").exists());
    git.checkout(&at, &first, Leftovers::KeepIgnored, None).unwrap();
    assert!(at.join("a.txt").is_file());
}

#[test]
fn places_that_hold_the_project_and_commits_that_are_gone_wipe_nothing() {
    let world = World::new();
    let (git, at, head) = made(&world, "w");
    let link = world.tree("link");
    symlink(world.top().join(".git"), &link).unwrap();
    let within = world.top().join(".git/x");
    for bad in [world.top(), world.home(), within, link.join("x"), PathBuf::from("w")] {
        let made = git.checkout(&bad, &head, Leftovers::RemoveAll, None);
        assert!(matches!(made, Err(GitError::BadPlace { .. })));
        assert!(matches!(git.remove_worktree(&bad), Err(GitError::BadPlace { .. })));
    }
    put(&at, "build/cache", "x");
    let gone = CommitId::new("1".repeat(40));
    let made = git.checkout(&at, &gone, Leftovers::RemoveAll, None);
    assert!(matches!(made, Err(GitError::NoSuchCommit { .. })));
    assert!(at.join("build/cache").exists());
}

#[test]
fn a_link_in_its_place_is_removed_and_not_followed() {
    let world = World::new();
    let (git, at, head) = made(&world, "w");
    for elsewhere in [PathBuf::from("/"), world.top(), world.top().join(".git")] {
        fs::remove_dir_all(&at).unwrap();
        symlink(&elsewhere, &at).unwrap();
        git.checkout(&at, &head, Leftovers::RemoveAll, None).unwrap();
        assert!(!at.is_symlink() && at.join("a.txt").is_file());
        assert_eq!(world.git_in(&at, &["status", "--porcelain"]), "");
    }
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_sparse_project_gives_a_full_tree() {
    let world = World::new();
    world.git(&["sparse-checkout", "set", "nothing"]);
    assert!(!world.top().join("dir").exists());
    let seen = world.snapshot();
    assert!(!seen.dirty);
    let (_, at, _) = made(&world, "w");
    assert_eq!(text(&at, "dir/b.txt"), "b\n");
}
