//! `apply` where the start had files that no commit of the person's has: a commit an atom, or the reason why there is none.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, after, plan, task};

/// The start had untracked files, which a result leaves alone but for those that it names.
fn untracked(steps: Value) -> World {
    let world = World::new();
    world.write("a.log", "mine\n");
    fs::create_dir_all(world.repo().join("notes")).unwrap();
    world.write("notes/n.md", "mine too\n");
    world.align(&plan(&["grep -q world a.txt"], json!({}), steps));
    world.run().expect(0);
    world
}

#[test]
fn files_that_were_untracked_at_the_start_and_that_the_result_leaves_alone_do_not_keep_it_from_a_commit_an_atom()
 {
    let atoms = json!({"A1": task("echo new > new.txt"),
        "A2": after(&["A1"], "test -e notes/n.md && echo world >> a.txt")});
    let world = untracked(atoms);
    let home = world.git(&["rev-parse", "HEAD"]);
    let shown = world.descent(&["apply", "-n", "--json"]).expect(0).json();
    assert_eq!(shown["applied"], "fast_forward");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), home);
    world.write("a.log", "mine, and more\n");
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    let made = world.git(&["log", "--reverse", "--format=%P %s", "-2"]);
    assert!(made.starts_with(&format!("{} ", home.trim())), "{made}");
    assert_eq!(world.git(&["diff", "--name-only", home.trim(), "HEAD"]), "a.txt\nnew.txt\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? a.log\n?? notes/\n");
    assert_eq!(
        (world.read("a.log"), world.read("a.txt")),
        ("mine, and more\n".into(), "hello\nworld\n".into())
    );
    // Once and for all.
    let head = world.git(&["rev-parse", "HEAD"]);
    let again = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!((&again["applied"], world.git(&["rev-parse", "HEAD"])), (&json!("nothing"), head));
    world.git(&["fsck", "--strict"]);
}

#[test]
fn a_branch_names_what_was_not_committed_and_advises_to_look_at_that_commit_too() {
    let world = untracked(json!({"A1": task("echo world >> a.txt")}));
    let range = format!("next: git log --stat {}..feat", &world.git(&["rev-parse", "HEAD"])[..12]);
    let dry = world.descent(&["apply", "-n", "--branch", "feat"]).expect(0);
    dry.shows(
        "its first commit would hold what was not committed when the run began: a.log, notes/n.md",
    );
    let made = world.descent(&["apply", "--branch", "feat", "--json"]).expect(0).json();
    assert_eq!(made["uncommitted"], json!(["a.log", "notes/n.md"]));
    world
        .descent(&["apply", "--branch", "feat"])
        .expect(0)
        .shows("its first commit holds")
        .shows(&range);
    // HEAD has that commit now.
    world.git(&["checkout", "-qf", "feat"]);
    let there = world.descent(&["apply", "--branch", "feat"]).expect(0);
    assert!(!there.stdout.contains("its first commit"), "{}", there.stdout);
}

#[test]
fn killed_between_files_index_and_branch_an_apply_over_untracked_files_comes_to_the_same_commits() {
    let world = untracked(json!({"A1": task("echo new > new.txt; echo world >> a.txt")}));
    let home = world.git(&["rev-parse", "HEAD"]);
    world.descent(&["apply"]).expect(0);
    let made = world.git(&["rev-parse", "HEAD"]);
    let made = made.trim();
    for stop in [&["reset", "-q"][..], &["read-tree", "--reset", made]] {
        world.git(&["update-ref", "HEAD", home.trim()]);
        world.git(stop);
        let again = world.descent(&["apply", "--json"]).expect(0).json();
        assert_eq!(again["applied"], "fast_forward", "{stop:?} {again}");
        assert_eq!(world.git(&["rev-parse", "HEAD"]).trim(), made);
        assert_eq!(world.git(&["status", "--porcelain"]), "?? a.log\n?? notes/\n");
    }
}

#[test]
fn where_apply_makes_no_commit_its_line_says_why_and_names_the_branch_as_the_other_way() {
    let grow = |more: &str| json!({"A1": task(&format!("echo world >> a.txt; {more}"))});
    let said = |world: &World, why: &str| {
        for flags in [&["apply", "-n"][..], &["apply"]] {
            let ran = world.descent(flags).expect(0).shows(why).shows("--branch NAME");
            assert!(ran.stdout.contains("no commit"), "{}", ran.stdout);
        }
        assert_eq!(world.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
        world.descent(&["apply", "--branch", "whole"]).expect(0);
    };
    let world = untracked(grow("echo more >> a.log"));
    said(&world, "a.log: the result changes it, and it was not tracked at the start");
    let world = World::new();
    world.write("a.txt", "hello, changed\n");
    world.align(&plan(&["grep -q world a.txt"], json!({}), grow("true")));
    world.run().expect(0);
    said(&world, "a.txt: the run started from changes of it that were not committed");
    let world = untracked(grow("true"));
    fs::write(world.repo().join(".git/MERGE_HEAD"), world.git(&["rev-parse", "HEAD"])).unwrap();
    said(&world, "a merge, a rebase or a bisect is under way");
}

#[test]
fn more_of_a_run_comes_on_top_of_what_was_applied_beside_untracked_files() {
    let first = json!({"A1": task("echo one > one.txt")});
    let world = World::new();
    world.write("a.log", "mine\n");
    world.align(&plan(&["test -e one.txt"], json!({}), first));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    let home = world.git(&["rev-parse", "HEAD"]);
    let more = world.root().join("more.json");
    let atoms = json!({"work_graph": {"atoms": {"A2": task("echo more >> one.txt")}}});
    fs::write(&more, atoms.to_string()).unwrap();
    world
        .descent(&[
            "redirect",
            "--add",
            &more.display().to_string(),
            "--add-check",
            "grep -q more one.txt",
            "-y",
        ])
        .expect(0);
    world.run().expect(0);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    assert_eq!(applied["files"], json!(["one.txt"]));
    assert_eq!(world.git(&["rev-parse", "HEAD^"]), home);
    assert_eq!(world.read("one.txt"), "one\nmore\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? a.log\n");
}

#[test]
fn what_was_applied_as_files_and_is_in_no_commit_comes_with_what_a_later_run_adds() {
    let world = World::new();
    world.write("a.log", "mine\n");
    world.align(&plan(&["test -e one.txt"], json!({}), json!({"A1": task("echo one > one.txt")})));
    world.run().expect(0);
    world.write("a.txt", "hello, changed\n");
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["no_commit"], "a.txt has changes that are not committed");
    world.write("a.txt", "hello\n");
    let more = world.root().join("more.json");
    let atoms = json!({"work_graph": {"atoms": {"A2": task("echo two > two.txt")}}});
    fs::write(&more, atoms.to_string()).unwrap();
    let more = more.display().to_string();
    world.descent(&["redirect", "--add", &more, "--add-check", "test -e two.txt", "-y"]).expect(0);
    world.run().expect(0);
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "fast_forward", "{applied}");
    assert_eq!(world.git(&["ls-tree", "--name-only", "HEAD"]), "a.txt\none.txt\ntwo.txt\n");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? a.log\n");
}
