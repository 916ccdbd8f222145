//! Bringing the result into the working tree, and that nothing of the person's changes before that.

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

fn work() -> Value {
    let atoms =
        json!({"A1": task("echo new > new.txt"), "A2": after(&["A1"], "echo world >> a.txt")});
    plan(&["grep -q world a.txt"], json!({}), atoms)
}

/// What a run must not change: HEAD, index, branches, stash, files.
fn persons(world: &World) -> (Vec<u8>, String, Vec<(String, String)>) {
    let index = std::fs::read(world.repo().join(".git/index")).unwrap();
    let refs = world.git(&["for-each-ref", "--exclude=refs/descent"])
        + &world.git(&["stash", "list"])
        + &world.git(&["symbolic-ref", "HEAD"]);
    let names = world.git(&["ls-files", "-co", "--exclude-standard"]);
    (
        index,
        refs,
        names
            .lines()
            .map(|name| (name.to_owned(), world.read(name)))
            .collect(),
    )
}

#[test]
fn on_a_clean_tree_it_is_a_fast_forward_with_a_commit_an_atom() {
    let world = World::new();
    world.align(&work());
    let before = persons(&world);
    world.run().expect(0);
    assert_eq!(persons(&world), before);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "3");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(
        (world.read("a.txt").as_str(), world.read("new.txt").as_str()),
        ("hello\nworld\n", "new\n")
    );
    assert_eq!(
        world.git(&["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
}

#[test]
fn on_a_dirty_tree_the_changes_come_into_the_files_and_nothing_else_moves() {
    let world = World::new();
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("mine.txt", "uncommitted \u{fc}\r\n");
    world.align(&work());
    let before = persons(&world);
    world.run().expect(0);
    assert_eq!(persons(&world), before);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "files", "{applied}");
    assert_eq!(applied["files"], json!(["a.txt", "new.txt"]));
    let (_, refs, files) = persons(&world);
    assert_eq!(refs, before.1);
    assert_eq!(
        world.git(&["diff", "--cached", "--name-only"]),
        "staged.txt\n"
    );
    assert!(files.contains(&("a.txt".to_owned(), "hello\nworld\n".to_owned())));
    assert!(files.contains(&("mine.txt".to_owned(), "uncommitted \u{fc}\r\n".to_owned())));
}

#[test]
fn where_the_persons_file_differs_from_the_base_it_refuses_with_the_paths_and_changes_nothing() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.write("a.txt", "my own words\n");
    let before = persons(&world);
    world
        .descent(&["apply"])
        .expect(1)
        .says("E-APPLY-OVERLAP")
        .says("a.txt");
    assert_eq!(persons(&world), before);
    world.write("a.txt", "hello\n");
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn an_untracked_file_in_the_way_is_not_written_over() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.write("new.txt", "not yours\n");
    world.descent(&["apply"]).expect(1).says("new.txt");
    assert_eq!(
        (world.read("new.txt").as_str(), world.read("a.txt").as_str()),
        ("not yours\n", "hello\n")
    );
}

#[test]
fn twice_is_the_same_as_once() {
    let world = World::new();
    world.align(&work());
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    let before = persons(&world);
    let again = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(again["applied"], "nothing");
    assert_eq!(persons(&world), before);
}

#[test]
fn before_any_run_there_is_nothing_to_apply() {
    let world = World::new();
    world.align(&work());
    assert_eq!(
        world.descent(&["apply", "--json"]).expect(0).json()["applied"],
        "nothing"
    );
}

#[test]
fn run_with_apply_brings_the_result_at_its_end() {
    let world = World::new();
    world.align(&work());
    world.descent(&["run", "--apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn deleted_renamed_and_executable_files_arrive_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write("mine.txt", "dirty\n");
    let run = "git mv a.txt b.txt 2>/dev/null || mv a.txt b.txt; printf '#!/bin/sh\\n' > tool; chmod +x tool; ln -s tool link";
    world.align(&plan(
        &["test -x tool"],
        json!({}),
        json!({"A1": task(run)}),
    ));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert!(!world.repo().join("a.txt").exists() && world.read("b.txt") == "hello\n");
    assert_eq!(
        std::fs::metadata(world.repo().join("tool"))
            .unwrap()
            .permissions()
            .mode()
            & 0o111,
        0o111
    );
    assert_eq!(
        std::fs::read_link(world.repo().join("link"))
            .unwrap()
            .to_str(),
        Some("tool")
    );
}
