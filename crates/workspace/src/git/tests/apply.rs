//! Changes that come into the person's working tree, and those that are refused.

use super::*;
use std::os::unix::fs::symlink;

/// A commit on HEAD with everything that a change can be, the project itself back at its base.
fn result(world: &World) -> (CommitId, CommitId) {
    let base = world.at("HEAD");
    world.write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    fs::remove_dir_all(world.top().join("dir")).unwrap();
    world.write("run.sh", "#!/bin/sh\n");
    make_executable(&world.top().join("run.sh"));
    symlink("a.txt", world.top().join("link")).unwrap();
    world.write("new/deep/ü.txt", "new\n");
    let head = world.commit("result");
    world.git(&["reset", "-q", "--hard", base.as_str()]);
    (base, head)
}

fn apply(world: &World, (base, head): &(CommitId, CommitId)) -> ApplyOutcome {
    world.open().apply(base, head, &world.scratch(), false).unwrap()
}

fn assert_has_result(world: &World) {
    assert!(world.read("a.txt").starts_with("ONE"));
    assert!(!world.top().join("dir").exists());
    assert_eq!(world.top().join("run.sh").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_link(world.top().join("link")).unwrap(), Path::new("a.txt"));
    assert_eq!(world.read("new/deep/ü.txt"), "new\n");
    assert_eq!(fs::read_dir(world.scratch()).unwrap().count(), 0);
}

#[test]
fn on_a_clean_tree_it_is_a_fast_forward_of_the_branch() {
    let world = World::new();
    let mark = world.plant_hooks();
    let range = result(&world);
    let applied = apply(&world, &range);
    assert!(matches!(&applied, ApplyOutcome::FastForward { branch: Some(name), files }
        if name == "main" && files.len() == 5));
    assert!(!mark.exists());
    assert_has_result(&world);
    assert_eq!(world.at("main"), range.1);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(apply(&world, &range), ApplyOutcome::Nothing);
}

#[test]
fn a_detached_head_goes_forward_and_no_branch_with_it() {
    let world = World::new();
    let range = result(&world);
    world.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(apply(&world, &range), ApplyOutcome::FastForward { branch: None, .. }));
    assert_eq!((world.at("HEAD"), world.at("main")), (range.1, range.0));
}

#[test]
fn on_a_changed_tree_only_files_are_written_and_index_and_branch_stay() {
    let world = World::new();
    let range = result(&world);
    world.write("theirs.txt", "theirs\n");
    world.git(&["add", "theirs.txt"]);
    let index = fs::read(world.top().join(".git/index")).unwrap();
    let applied = apply(&world, &range);
    assert!(matches!(&applied, ApplyOutcome::Files { files, .. } if files.len() == 5));
    assert_has_result(&world);
    assert_eq!(fs::read(world.top().join(".git/index")).unwrap(), index);
    assert_eq!(world.at("main"), range.0);
    assert_eq!(apply(&world, &range), ApplyOutcome::Nothing);
}

#[test]
fn files_that_differ_from_the_base_are_named_and_nothing_changes() {
    let world = World::new();
    let range = result(&world);
    world.write("a.txt", "mine\n");
    world.write("run.sh", "mine, untracked\n");
    world.write("new/deep", "a file where a directory must be\n");
    let before = world.picture();
    let refused = ["a.txt", "new/deep", "run.sh"].map(str::to_owned);
    assert_eq!(apply(&world, &range), ApplyOutcome::Refused(refused.to_vec()));
    assert_eq!(world.picture(), before);
}

#[test]
fn an_ignored_file_and_a_linked_directory_are_never_overwritten() {
    let world = World::new();
    let base = world.at("HEAD");
    world.write("keep.log", "result\n");
    world.write("sub/x", "x\n");
    world.git(&["add", "-f", "keep.log"]);
    let head = world.commit("result");
    world.git(&["reset", "-q", "--hard", base.as_str()]);
    world.write("keep.log", "mine\n");
    let elsewhere = world.tree("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.top().join("sub")).unwrap();
    let applied = apply(&world, &(base, head));
    assert_eq!(applied, ApplyOutcome::Refused(vec!["keep.log".into(), "sub".into()]));
    assert_eq!(world.read("keep.log"), "mine\n");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn files_become_directories_and_back_but_not_over_what_lies_in_them() {
    let world = World::new();
    let base = world.at("HEAD");
    fs::remove_file(world.top().join("a.txt")).unwrap();
    world.write("a.txt/deep", "x\n");
    fs::remove_dir_all(world.top().join("dir")).unwrap();
    world.write("dir", "file\n");
    let head = world.commit("result");
    world.git(&["reset", "-q", "--hard", base.as_str()]);
    let range = (base, head);
    world.write("dir/x.log", "ignored, mine\n");
    assert_eq!(apply(&world, &range), ApplyOutcome::Refused(vec!["dir/x.log".into()]));
    fs::remove_file(world.top().join("dir/x.log")).unwrap();
    assert!(matches!(apply(&world, &range), ApplyOutcome::FastForward { .. }));
    assert_eq!((world.read("a.txt/deep"), world.read("dir")), ("x\n".into(), "file\n".into()));
}

#[test]
fn a_base_that_is_a_snapshot_of_a_changed_tree_is_written_as_files() {
    let world = World::new();
    world.write("a.txt", "mine\n");
    world.write("untracked.txt", "mine\n");
    let base = world.snapshot().commit;
    let (git, at) = (world.open(), world.tree("w"));
    git.checkout(&at, &base, Leftovers::RemoveAll, None).unwrap();
    put(&at, "a.txt", "mine, and more\n");
    put(&at, "untracked.txt", "more\n");
    let asked = Candidate { workspace: &at, base: &base, message: "m", at: AT, exclude: &[] };
    let commit = git.candidate(&asked).unwrap().commit.unwrap();
    let applied = git.apply(&base, &commit, &world.scratch(), false).unwrap();
    assert_eq!(
        applied,
        ApplyOutcome::Files {
            files: vec!["a.txt".into(), "untracked.txt".into()],
            why: "a.txt: the run started from changes of it that were not committed".into(),
        }
    );
    assert_eq!(world.read("a.txt"), "mine, and more\n");
}

#[test]
fn begun_and_killed_at_any_point_it_completes() {
    let world = World::new();
    let range = result(&world);
    let head = range.1.as_str();
    let stops: [&[&[&str]]; 5] = [
        &[&["checkout", head, "--", "a.txt", "link"], &["reset", "-q"]],
        &[&["rm", "-q", "-r", "--cached", "dir"], &["reset", "-q"]],
        &[&["read-tree", "--reset", "-u", head], &["read-tree", "--reset", "HEAD"]],
        &[&["read-tree", "--reset", "-u", head]],
        &[&["read-tree", "--reset", head]],
    ];
    for (n, stop) in stops.iter().enumerate() {
        world.git(&["reset", "-q", "--hard", range.0.as_str()]);
        world.git(&["clean", "-fdq"]);
        for step in *stop {
            world.git(step);
        }
        assert!(matches!(apply(&world, &range), ApplyOutcome::FastForward { .. }), "{n}");
        assert_has_result(&world);
        assert_eq!(
            (world.at("main"), world.git(&["status", "--porcelain"])),
            (range.1.clone(), String::new()),
            "{n}"
        );
    }
}

#[test]
fn line_endings_and_filters_are_the_persons_on_the_way_back() {
    let world = World::new();
    world.git(&["config", "--global", "filter.up.clean", "tr a-z A-Z"]);
    world.git(&["config", "--global", "filter.up.smudge", "tr A-Z a-z"]);
    world.write(".gitattributes", "*.up filter=up\n*.txt text eol=crlf\n");
    world.write("x.up", "one\n");
    world.write("c.txt", "one\r\n");
    let base = world.commit("base");
    world.write("x.up", "two\n");
    world.write("c.txt", "two\r\n");
    let head = world.commit("result");
    world.git(&["reset", "-q", "--hard", base.as_str()]);
    assert_eq!(world.blob(&head, "x.up"), "TWO");
    world.write("other", "makes it dirty");
    world.git(&["add", "other"]);
    assert!(matches!(apply(&world, &(base, head)), ApplyOutcome::Files { .. }));
    assert_eq!((world.read("x.up"), world.read("c.txt")), ("two\n".into(), "two\r\n".into()));
}
