//! Whether HEAD has a file of the working tree as a checkout would write it.

use super::*;

fn is_as_is(world: &World, path: &str) -> bool {
    let path = world.top().join(path);
    let bytes = fs::read(&path).unwrap();
    world.open().person().has_as_is(&path, &bytes)
}

#[test]
fn what_head_does_not_hold_is_not_had() {
    let world = World::new();
    world.write("new [x]*.txt", "x");
    assert!(!is_as_is(&world, "new [x]*.txt"));
    world.git(&["add", "-A"]);
    assert!(!is_as_is(&world, "new [x]*.txt"));
    world.commit("now");
    assert!(is_as_is(&world, "new [x]*.txt"));
    let outside = world.scratch().canonicalize().unwrap().join("x");
    fs::write(&outside, "x").unwrap();
    assert!(!world.open().person().has_as_is(&outside, b"x"));
    let empty = World::empty();
    empty.write("a.txt", "x");
    assert!(!is_as_is(&empty, "a.txt"));
}

#[test]
fn only_a_change_of_the_content_makes_a_file_changed() {
    let world = World::new();
    let top = world.top();
    let touched = fs::File::options().append(true).open(top.join("a.txt")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(is_as_is(&world, "a.txt"));
    // A checkout that writes other line endings than the commit holds.
    world.write(".gitattributes", "a.txt text eol=crlf\n");
    world.write("a.txt", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    assert!(is_as_is(&world, "a.txt"));
    world.write("a.txt", "one\r\ntwo\r\n");
    assert!(!is_as_is(&world, "a.txt"));
    // A filter that fails cannot tell: nothing looks more familiar for it.
    world.git(&["config", "filter.broken.smudge", "false"]);
    world.git(&["config", "filter.broken.required", "true"]);
    world.write(".gitattributes", "a.txt filter=broken\n");
    assert!(is_as_is(&world, "a.txt"));
}
