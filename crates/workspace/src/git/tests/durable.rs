//! The objects that are synced with a commit.

use super::*;
use std::collections::BTreeSet;

/// Nested files with a directory that was moved, and one that became a file.
fn changed() -> (World, CommitId, CommitId) {
    let world = World::new();
    for (path, text) in
        [("kept/a", "a"), ("moved/deep/b", "b"), ("turned/c", "c"), ("plain", "d"), ("gone", "e")]
    {
        world.write(path, text);
    }
    let base = world.commit("base");
    let top = world.top();
    fs::create_dir(top.join("to")).unwrap();
    fs::rename(top.join("moved"), top.join("to/moved")).unwrap();
    fs::remove_dir_all(top.join("turned")).unwrap();
    fs::remove_file(top.join("plain")).unwrap();
    fs::remove_file(top.join("gone")).unwrap();
    for (path, text) in [("turned", "a file"), ("plain/deep/f", "a directory"), ("kept/new", "new")]
    {
        world.write(path, text);
    }
    let made = world.commit("made");
    (world, base, made)
}

#[test]
fn all_that_a_commit_has_and_its_base_lacks_is_synced() {
    let (world, base, made) = changed();
    let git = world.open();
    let known = format!("^{base}");
    let expected =
        world.git(&["rev-list", "--objects", "--no-object-names", made.as_str(), &known]);
    let expected: BTreeSet<String> = expected.lines().map(str::to_owned).collect();
    assert_eq!(expected.len(), 9, "{expected:?}");
    let mut found: BTreeSet<String> =
        git.objects_between(base.as_str(), made.as_str()).unwrap().into_iter().collect();
    found.extend([made.to_string(), git.tree_of(&made).unwrap().to_string()]);
    assert_eq!(found, expected);
}

#[test]
fn a_reference_and_its_objects_are_set_together() {
    let (world, base, made) = changed();
    let git = world.open();
    git.set_ref_durably("refs/descent/x/made", &made, &base).unwrap();
    let set = world.git_of_ours(&["rev-parse", "refs/descent/x/made"]);
    assert_eq!(set, made.as_str());
    let elsewhere = git.set_ref_durably("refs/heads/x", &made, &base);
    assert!(elsewhere.is_err(), "{elsewhere:?}");
}
