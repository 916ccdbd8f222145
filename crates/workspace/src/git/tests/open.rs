//! Finding the repository, its settings, and what it says.

use super::*;
use crate::git::call::{borrowed, failed, tell_of_room};
use descent_process::tool::ToolOutput;
use descent_system::{
    failure::{Lack, OutsideCause},
    space,
};
use rustix::process::Signal;
use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

#[test]
fn a_sub_directory_opens_the_project_around_it() {
    let world = World::new();
    let git = world.open_in(&world.top().join("dir")).unwrap().unwrap();
    assert_eq!(git.top(), world.top());
    assert_eq!(git.person().common_dir(), world.top().join(".git"));
}

#[test]
fn no_repository_opens_as_none_and_a_bare_one_is_refused() {
    let world = World::new();
    assert!(world.open_in(&world.home()).unwrap().is_none());
    let bare = world.tree("bare");
    world.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    assert!(matches!(world.open_in(&bare), Err(GitError::Bare { .. })));
    assert!(world.open_in(&world.top().join(".git")).unwrap().is_none());
}

#[test]
fn without_git_on_the_path_it_is_missing() {
    let world = World::new().with_env("PATH", "");
    assert!(matches!(world.open_in(&world.top()), Err(GitError::Missing)));
}

#[test]
fn an_old_git_is_refused_with_its_version() {
    let world = World::new();
    let bin = world.tree("bin");
    put(&bin, "git", "#!/bin/sh\necho git version 2.39.5 '(Apple Git-154)'\n");
    make_executable(&bin.join("git"));
    let world = world.with_env("PATH", &bin);
    let opened = world.open_in(&world.top());
    assert!(matches!(opened, Err(GitError::TooOld { found }) if found == "2.39.5"));
}

#[test]
fn a_variable_of_a_hook_around_us_does_not_lead_to_another_repository() {
    let world = World::new().with_env("GIT_DIR", "/nowhere").with_env("GIT_INDEX_FILE", "/x");
    assert_eq!(world.open().top(), world.top());
}

#[test]
fn without_a_name_commits_bear_ours_and_it_is_told() {
    let world = World::new();
    assert!(!world.open().identity_is_default());
    fs::remove_file(world.home().join(".gitconfig")).unwrap();
    assert!(world.open().identity_is_default());
    world.write("new.txt", "new\n");
    let commit = world.snapshot().commit;
    let who = world.git_of_ours(&["log", "-1", "--format=%an <%ae>", commit.as_str()]);
    assert_eq!(who, "descent <descent@localhost>");
}

#[test]
fn the_name_of_the_repository_goes_before_the_name_of_the_person() {
    let world = World::new();
    world.git(&["config", "user.name", "At Work"]);
    world.write("new.txt", "new\n");
    let commit = world.snapshot().commit;
    let who = world.git_of_ours(&["log", "-1", "--format=%an <%ae> %cn", commit.as_str()]);
    assert_eq!(who, "At Work <ada@example.org> At Work");
}

#[test]
fn the_head_is_told_unborn_on_a_branch_and_detached() {
    let world = World::empty();
    let unborn = world.open().head().unwrap();
    assert_eq!((unborn.commit, unborn.branch.as_deref()), (None, Some("main")));
    world.write("a", "a");
    let first = world.commit("first");
    assert_eq!(world.open().head().unwrap().commit, Some(first));
    world.git(&["checkout", "-q", "--detach"]);
    assert_eq!(world.open().head().unwrap().branch, None);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["update-ref", "refs/heads/HEAD", "HEAD"]);
    let named = world.open().head().unwrap();
    assert!(named.commit.is_some());
    assert_eq!(named.branch.as_deref(), Some("main"));
}

#[test]
fn what_names_no_commit_resolves_to_none_and_an_option_is_no_id() {
    let world = World::new();
    let git = world.open();
    assert_eq!(git.resolve("main").unwrap(), Some(world.at("HEAD")));
    assert_eq!(git.resolve("nothing").unwrap(), None);
    assert_eq!(git.resolve("--all").unwrap(), None);
    assert_eq!(git.resolve("HEAD:a.txt").unwrap(), None);
    let option = CommitId::from("--output=/tmp/x");
    assert!(matches!(git.tree_of(&option), Err(GitError::BadId { .. })));
    assert!(matches!(git.exists(&option), Err(GitError::BadId { .. })));
}

#[test]
fn a_commit_that_is_gone_is_told_apart() {
    let world = World::new();
    let git = world.open();
    let gone = CommitId::new("1".repeat(40));
    assert!(!git.exists(&gone).unwrap());
    assert!(git.exists(&world.at("HEAD")).unwrap());
    assert!(matches!(git.tree_of(&gone), Err(GitError::NoSuchCommit { .. })));
    assert_eq!(
        git.tree_of(&world.at("HEAD")).unwrap().as_str(),
        world.git(&["rev-parse", "HEAD^{tree}"])
    );
}

#[test]
fn references_of_ours_are_set_listed_and_deleted_and_others_refused() {
    let world = World::new();
    let mark = world.plant_hooks();
    let git = world.open();
    let head = world.at("HEAD");
    git.set_ref("refs/descent/l/a.1", &head).unwrap();
    git.set_ref("refs/descent/l/head", &head).unwrap();
    git.set_ref("refs/descent/lx/head", &head).unwrap();
    let names: Vec<String> =
        git.refs("refs/descent/l/").unwrap().into_iter().map(|r| r.0).collect();
    assert_eq!(names, ["refs/descent/l/a.1", "refs/descent/l/head"]);
    // Git itself reads them, and a person may pack them.
    let read = world.git_of_ours(&["rev-parse", "refs/descent/l/a.1"]);
    assert_eq!(read, head.as_str());
    world.git_of_ours(&["pack-refs", "--all"]);
    git.set_ref("refs/descent/l/b", &head).unwrap();
    assert_eq!(git.refs("refs/descent/l").unwrap().len(), 3);
    git.delete_refs("refs/descent/l").unwrap();
    git.delete_refs("refs/descent/l").unwrap();
    assert_eq!(
        git.refs("refs/descent/").unwrap(),
        [("refs/descent/lx/head".to_owned(), head.clone())]
    );
    assert!(matches!(git.set_ref("refs/heads/main", &head), Err(GitError::BadRef { .. })));
    assert!(matches!(git.delete_refs("refs/descent/../heads"), Err(GitError::BadRef { .. })));
    assert!(!mark.exists());
}

#[test]
fn a_young_lock_is_reported_and_one_that_a_crash_left_is_overcome() {
    let world = World::new();
    let ours = world.open();
    let git = ours.person();
    let head = world.at("HEAD");
    let lock = world.top().join(".git/refs/descent/x.lock");
    put(&world.top(), ".git/refs/descent/x.lock", "");
    assert!(matches!(git.set_ref("refs/descent/x", &head), Err(GitError::Locked { .. })));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    git.set_ref("refs/descent/x", &head).unwrap();
}

#[test]
fn a_git_that_died_of_its_map_on_a_full_disk_lacked_room() {
    // No byte can be written there.
    let (full, free) = (PathBuf::from("/proc"), std::env::temp_dir());
    for (place, cause) in [(full, OutsideCause::Lack(Lack::Space)), (free, OutsideCause::Killed)] {
        if !place.exists() || place.starts_with("/proc") && !space::is_used_up(&place) {
            continue;
        }
        let mut ran = ToolOutput {
            status: ExitStatus::from_raw(Signal::BUS.as_raw()),
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        tell_of_room(&mut ran, &[place]);
        let GitError::Failed { cause: found, .. } = failed("status", &ran) else {
            panic!("no failure: {ran:?}");
        };
        assert_eq!(found, Some(cause));
    }
}

#[test]
fn a_borrowed_directory_that_git_would_split_is_quoted() {
    let line = |path: &str| String::from_utf8(borrowed(Path::new(path))).unwrap();
    assert_eq!(line("/a b/ü"), "/a b/ü");
    assert_eq!(line("/a:b"), "\"/a:b\"");
    assert_eq!(line("/a\n\"b"), "\"/a\n\\\"b\"");
}
