//! The line of commits made again of what stays.

use super::*;

fn change(world: &World, path: &str, text: &str) -> CommitId {
    world.write(path, text);
    world.commit(path)
}

#[test]
fn a_line_that_stands_already_is_reused_as_it_is() {
    let world = World::new();
    let from = world.at("HEAD");
    let line = [change(&world, "x", "x"), change(&world, "y", "y")];
    let made = world.open().rebuild(&from, &line).unwrap();
    assert_eq!(made.head, line[1]);
    assert_eq!(made.line, line.map(Some));
}

#[test]
fn without_one_commit_the_rest_is_applied_with_its_people_dates_and_message() {
    let world = World::new();
    let from = world.at("HEAD");
    let (x, y, z) = (change(&world, "x", "x"), change(&world, "y", "y"), change(&world, "z", "z"));
    world.git(&["commit", "-q", "--amend", "--author=Bo <bo@example.org>", "-m", "ä z\n\nKey: v"]);
    let amended = world.at("HEAD");
    assert_ne!(amended, z);
    let git = world.open();
    let made = git.rebuild(&from, &[y.clone(), amended.clone()]).unwrap();
    assert_eq!(git.rebuild(&from, &[y, amended.clone()]).unwrap(), made);
    assert_eq!(world.files(&made.head), [".gitignore", "a.txt", "dir/b.txt", "y", "z"]);
    let said = |commit: &CommitId| {
        world.git_of_ours(&["log", "-1", "--format=%an %ae %at %cn %ct %B", commit.as_str()])
    };
    assert_eq!(said(&made.head), said(&amended));
    let range = format!("{from}..{}", made.head);
    assert_eq!(world.git_of_ours(&["rev-list", "--count", &range]), "2");
    assert_eq!(git.rebuild(&from, std::slice::from_ref(&x)).unwrap().head, x);
    world.git(&["fsck", "--strict"]);
}

#[test]
fn what_no_longer_applies_is_none_and_the_rest_goes_on() {
    let world = World::new();
    let from = world.at("HEAD");
    let _one = change(&world, "a.txt", "first\n");
    let two = change(&world, "a.txt", "second\n");
    let three = change(&world, "z", "z");
    let made = world.open().rebuild(&from, &[two, three]).unwrap();
    assert_eq!(made.line[0], None);
    assert_eq!(made.line[1], Some(made.head.clone()));
    assert_eq!(world.blob(&made.head, "z"), "z");
}

#[test]
fn a_commit_that_became_empty_stands_for_the_one_before_it() {
    let world = World::new();
    let from = world.at("HEAD");
    let one = change(&world, "x", "x");
    world.git(&["checkout", "-q", "--detach", from.as_str()]);
    world.write("x", "x");
    let same = world.commit("the same, otherwise");
    let made = world.open().rebuild(&from, &[one.clone(), same]).unwrap();
    assert_eq!(made.line, [Some(one.clone()), Some(one)]);
}

#[test]
fn a_commit_that_is_gone_is_an_error_and_an_empty_line_is_its_start() {
    let world = World::new();
    let from = world.at("HEAD");
    let gone = CommitId::new("1".repeat(40));
    let made = world.open().rebuild(&from, &[gone]);
    assert!(matches!(made, Err(GitError::NoSuchCommit { .. })));
    assert_eq!(world.open().rebuild(&from, &[]).unwrap().head, from);
}
