//! Who committed a file last, and whether a file is as a checkout would write it.

use super::*;
use descent_core::trust::History;

fn look(world: &World, path: &str) -> Option<History> {
    let path = world.top().join(path);
    let bytes = fs::read(&path).unwrap();
    world.open().person().history(&path, &bytes)
}

fn commit_as(world: &World, email: &str) {
    world.git(&["add", "-A"]);
    let mail = format!("user.email={email}");
    world.git(&["-c", &mail, "commit", "-q", "-m", "theirs"]);
}

#[test]
fn the_last_committer_of_that_file_is_told_with_the_persons_own_names() {
    let world = World::new().with_env("EMAIL", "ada@home.example");
    world.write("dir/b.txt", "theirs\n");
    commit_as(&world, "eve@example.org");
    world.write("a.txt", "mine\n");
    world.commit("mine");
    let found = look(&world, "dir/b.txt").unwrap();
    assert_eq!(found.last_committer.as_deref(), Some("eve@example.org"));
    assert!(found.as_committed);
    assert_eq!(found.mine, ["ada@example.org", "ada@home.example"]);
    let found = look(&world, "a.txt").unwrap();
    assert_eq!(found.last_committer.as_deref(), Some("ada@example.org"));
}

#[test]
fn a_merge_of_another_persons_branch_leaves_the_file_theirs() {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "theirs"]);
    world.write("dir/b.txt", "theirs\n");
    commit_as(&world, "eve@example.org");
    world.git(&["checkout", "-q", "main"]);
    world.write("a.txt", "mine\n");
    world.commit("mine");
    world.git(&["merge", "-q", "--no-edit", "theirs"]);
    let found = look(&world, "dir/b.txt").unwrap();
    assert_eq!(found.last_committer.as_deref(), Some("eve@example.org"));
}

#[test]
fn what_head_does_not_hold_has_no_history() {
    let world = World::new();
    world.write("new [x]*.txt", "x");
    assert_eq!(look(&world, "new [x]*.txt"), None);
    world.git(&["add", "-A"]);
    assert_eq!(look(&world, "new [x]*.txt"), None);
    world.commit("now");
    assert!(look(&world, "new [x]*.txt").unwrap().as_committed);
    let outside = world.scratch().canonicalize().unwrap().join("x");
    fs::write(&outside, "x").unwrap();
    assert_eq!(world.open().person().history(&outside, b"x"), None);
    assert_eq!(look(&World::empty().with_file(), "a.txt"), None);
}

impl World {
    fn with_file(self) -> Self {
        self.write("a.txt", "x");
        self
    }
}

#[test]
fn only_a_change_of_the_content_makes_a_file_changed() {
    let world = World::new();
    let top = world.top();
    let touched = fs::File::options().append(true).open(top.join("a.txt")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(look(&world, "a.txt").unwrap().as_committed);
    // A checkout that writes other line endings than the commit holds.
    world.write(".gitattributes", "a.txt text eol=crlf\n");
    world.write("a.txt", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    assert!(look(&world, "a.txt").unwrap().as_committed);
    world.write("a.txt", "one\r\ntwo\r\n");
    assert!(!look(&world, "a.txt").unwrap().as_committed);
    // A filter that fails cannot tell: nothing looks more familiar for it.
    world.git(&["config", "filter.broken.smudge", "false"]);
    world.git(&["config", "filter.broken.required", "true"]);
    world.write(".gitattributes", "a.txt filter=broken\n");
    assert!(look(&world, "a.txt").unwrap().as_committed);
}

#[test]
fn where_a_shallow_clone_ends_nobody_is_known_to_have_made_the_files() {
    let world = World::new();
    world.write("dir/b.txt", "theirs\n");
    commit_as(&world, "eve@example.org");
    world.write("a.txt", "mine\n");
    world.commit("mine");
    let head = world.git(&["rev-parse", "HEAD"]);
    fs::write(world.top().join(".git/shallow"), format!("{}\n", head.trim())).unwrap();
    assert_eq!(look(&world, "dir/b.txt").unwrap().last_committer, None);
}
