//! Directories that are no repository: each is aligned, run and applied, and until `apply` nothing in it is other than
//! before.
//!
//! Not here: what a private repository takes and gives by itself (`git::tests`), what becomes of one that is lost
//! (`shadow_lost`).

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::world::{Ran, World, listing, plan, task};

/// A first choice that makes a mess and fails, a second one that does it.
pub fn work() -> Value {
    let atoms = json!({
        "G": {"kind": "any", "choices": ["C1", "C2"]},
        "C1": task("echo mess > bad.txt; echo mess >> a.txt; exit 1"),
        "C2": task("echo world >> a.txt; mkdir new; echo good > new/good.txt"),
    });
    let base = ["grep -q world a.txt && test -f new/good.txt && test ! -e bad.txt"];
    plan(&base, json!({"max_attempts": 1}), atoms)
}

/// A directory as a new user has it.
pub fn plain() -> World {
    let world = World::bare();
    world.write("a.txt", "hello\n");
    world
}

/// All of the directory but the program's own.
pub fn picture(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut seen = listing(&world.repo());
    let own = world.repo().join(".descent");
    seen.retain(|path, _| !path.starts_with(&own));
    seen
}

#[track_caller]
fn aligned_with(world: &World, set: &[&str]) -> Ran {
    let path = world.plan(&work());
    world.descent(&[&["align", "-y", "-f", &path], set].concat())
}

/// From `align` to `apply`.
#[track_caller]
fn lives_through(world: &World, set: &[&str]) {
    let before = picture(world);
    aligned_with(world, set).expect(0);
    world.run().expect(0);
    assert_eq!(picture(world), before);
    assert_eq!(world.status()["workspace"]["kind"], "shadow");
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(applied["applied"], "files");
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    assert_eq!(world.read("new/good.txt"), "good\n");
    assert!(!world.repo().join("bad.txt").exists());
    let again = world.descent(&["apply", "--json"]).expect(0).json();
    assert_eq!(again["applied"], "nothing");
}

#[test]
fn a_plain_directory_is_lived_through_and_is_no_repository_afterwards() {
    let world = plain();
    lives_through(&world, &[]);
    assert!(!world.repo().join(".git").exists());
}

#[test]
fn align_says_where_attempts_work_and_the_same_plan_again_is_unchanged() {
    let world = plain();
    aligned_with(&world, &[])
        .expect(0)
        .shows("workspace: shadow")
        .shows("starts from: the files as they are");
    aligned_with(&world, &[]).expect(0).says("unchanged");
    world.descent(&["status"]).expect(0);
    world.descent(&["run", "--from", "HEAD"]).expect(2).says("a run starts from the files here");
    world.descent(&["run", "--apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    world.descent(&["status"]).expect(0).shows("the files as they were");
}

#[test]
fn files_of_the_persons_that_changed_meanwhile_are_named_and_nothing_is_written() {
    let world = plain();
    aligned_with(&world, &[]).expect(0);
    world.run().expect(0);
    for (name, text) in [("a.txt", "mine\n"), ("new", "a file in the way\n")] {
        let was = fs::read(world.repo().join(name)).ok();
        world.write(name, text);
        let before = picture(&world);
        world.descent(&["apply"]).expect(1).says("E-APPLY").says(name).says("--patch FILE");
        world.descent(&["apply", "-n"]).expect(1).shows("overlaps");
        assert_eq!(picture(&world), before);
        match was {
            Some(bytes) => fs::write(world.repo().join(name), bytes).unwrap(),
            None => fs::remove_file(world.repo().join(name)).unwrap(),
        }
    }
    world.descent(&["apply", "-n"]).expect(0);
    world.descent(&["apply"]).expect(0);
}

#[test]
fn a_patch_is_the_difference_and_a_branch_has_no_place() {
    let world = plain();
    aligned_with(&world, &[]).expect(0);
    world.run().expect(0);
    for more in [&["--branch", "x"][..], &["--branch", "x", "-n"]] {
        let ran = world.descent(&[&["apply"], more].concat());
        ran.expect(2).says("E-USAGE").says("--patch FILE");
    }
    let patch = world.out("p.patch").display().to_string();
    world.descent(&["apply", "--patch", &patch]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\n");
    world.git(&["apply", &patch]);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    assert_eq!(world.read("new/good.txt"), "good\n");
}

#[test]
fn what_is_linked_is_there_in_attempts_and_stays_where_it_is() {
    let world = plain();
    fs::create_dir(world.repo().join("data")).unwrap();
    world.write("data/x", "big\n");
    let atoms = json!({"A1": task("cp data/x copied; test -L data")});
    let constraints = json!({"link": ["data"]});
    world.align(&plan(&["test -f copied"], constraints, atoms));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!((world.read("copied"), world.read("data/x")), ("big\n".into(), "big\n".into()));
    assert!(!world.repo().join("data").is_symlink());
    let tree = world.ours(&["ls-tree", "-r", "--name-only", &head(&world)]);
    assert_eq!(tree, "a.txt\ncopied\n");
}

pub fn head(world: &World) -> String {
    world.state()["run"]["head"].as_str().unwrap().to_owned()
}

#[test]
fn bytes_come_back_as_they_are_whatever_git_is_configured_to_do() {
    let world = plain();
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("filter.up.clean", "tr a-z A-Z"),
        ("core.hooksPath", "/hooks/of/the/person"),
        ("safe.bareRepository", "explicit"),
    ] {
        world.git(&["config", "--global", key, value]);
    }
    world.write(".gitattributes", "* text eol=lf filter=up working-tree-encoding=UTF-16\n");
    world.write("a.txt", "one\r\ntwo\n");
    world.write("run.sh", "#!/bin/sh\n");
    let script = world.repo().join("run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let made = "printf 'three\\r\\n' >> a.txt; ./run.sh; cp run.sh other.sh; ln -s a.txt link";
    let atoms = json!({"A1": task(made)});
    world.align(&plan(&["test -x other.sh"], json!({}), atoms));
    world.run().expect(0);
    world.descent(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "one\r\ntwo\nthree\r\n");
    let other = world.repo().join("other.sh").metadata().unwrap();
    assert_eq!(other.permissions().mode() & 0o111, 0o111);
    let link = fs::read_link(world.repo().join("link")).unwrap();
    assert_eq!(link, PathBuf::from("a.txt"));
}

#[test]
fn an_ignore_file_that_lies_there_counts_and_repositories_inside_are_left_alone() {
    let world = plain();
    world.write(".gitignore", "*.log\n");
    world.write("x.log", "x\n");
    fs::create_dir(world.repo().join("inside")).unwrap();
    world.git(&["init", "-q", "inside"]);
    world.write("inside/i", "i\n");
    aligned_with(&world, &[]).expect(0).shows("left out: inside (a repository of its own)");
    world.run().expect(0);
    let tree = world.ours(&["ls-tree", "-r", "--name-only", &head(&world)]);
    assert_eq!(tree, ".gitignore\na.txt\nnew/good.txt\n");
}

#[test]
fn asked_for_in_a_repository_it_leaves_that_alone_and_apply_writes_files() {
    let world = World::new();
    world.write("mine.txt", "not committed\n");
    let asked = ["rev-parse HEAD", "for-each-ref", "status --porcelain", "stash list"];
    let look = |world: &World| asked.map(|args| world.git(&args.split(' ').collect::<Vec<_>>()));
    let (before, files) = (look(&world), listing(&world.repo().join(".git")));
    lives_through(&world, &["--set", "workspace=shadow"]);
    let after = look(&world);
    assert_eq!(before[..2], after[..2]);
    assert!(after[2].contains(" M a.txt") && after[2].contains("?? mine.txt"));
    let changed = listing(&world.repo().join(".git"));
    let index = world.repo().join(".git/index");
    let others = |mut files: BTreeMap<PathBuf, Vec<u8>>| {
        // The look itself refreshes it.
        files.remove(&index);
        files
    };
    assert_eq!(others(changed), others(files));
}

#[test]
fn a_cache_that_lies_in_the_directory_is_no_part_of_it() {
    let world = plain();
    let here = |args: &[&str]| {
        let mut command = world.command(args);
        command.env("XDG_CACHE_HOME", world.repo().join(".cache"));
        crate::world::Running::of(command).wait()
    };
    let path = world.plan(&work());
    here(&["align", "-y", "-f", &path]).expect(0);
    here(&["run"]).expect(0);
    here(&["run"]).expect(0);
    here(&["apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    let tree = world.ours(&["ls-tree", "-r", "--name-only", &head(&world)]);
    assert_eq!(tree, "a.txt\nnew/good.txt\n");
}

/// More than 50,000 files, in a directory of their own.
fn crowded() -> World {
    let world = plain();
    let many = world.repo().join("many");
    for dir in 0..50 {
        let dir = many.join(dir.to_string());
        fs::create_dir_all(&dir).unwrap();
        for file in 0..1_000 {
            fs::File::create(dir.join(file.to_string())).unwrap();
        }
    }
    world
}

#[test]
fn a_directory_of_many_files_is_refused_until_it_is_said_where_attempts_work() {
    let world = crowded();
    aligned_with(&world, &[])
        .expect(4)
        .says("E-NOT-ALIGNED")
        .says("more than 50,000 files")
        .says("--link many")
        .says("--set workspace=shared");
    assert!(!world.repo().join(".descent").exists());
    assert_eq!(fs::read_dir(world.cache()).unwrap().count(), 0);
    aligned_with(&world, &["--link", "many"]).expect(0).shows("workspace: shadow");
}

#[test]
fn a_directory_of_large_files_is_refused_until_it_is_said_what_to_do() {
    let world = plain();
    let big = fs::File::create(world.repo().join("big.bin")).unwrap();
    big.set_len(3 << 30).unwrap();
    aligned_with(&world, &[])
        .expect(4)
        .says("E-NOT-ALIGNED")
        .says("more than 2 GB")
        .says("--link big.bin");
    aligned_with(&world, &["--link", "big.bin"]).expect(0);
    world.run().expect(0);
}

#[test]
fn a_state_that_says_nothing_of_it_asks_for_a_word_and_takes_it() {
    let world = plain();
    aligned_with(&world, &[]).expect(0);
    world.replace_in_state("\"workspace\": \"shadow\"", "\"workspace\": \"git\"");
    world.descent(&["run"]).expect(69).says("E-REPOSITORY").says("--set workspace=shadow");
    world.descent(&["run", "--set", "workspace=shadow", "--apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
}

#[test]
fn an_old_state_that_is_migrated_here_works_apart_too() {
    let world = plain();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upgrade");
    let old = fs::read_to_string(fixtures.join("aot-1.2.md")).unwrap();
    world.write("old.md", &old);
    world.descent(&["migrate", "old.md"]).expect(0);
    assert_eq!(world.state()["objective"]["constraints"]["workspace"], "shadow");
}

#[test]
fn a_directory_that_becomes_a_repository_goes_on_as_it_began() {
    let world = plain();
    aligned_with(&world, &[]).expect(0);
    world.run().expect(0);
    world.git(&["init", "-q", "-b", "main"]);
    fs::remove_dir_all(world.cache()).unwrap();
    world.descent(&["run", "--apply"]).expect(0);
    assert_eq!(world.read("a.txt"), "hello\nworld\n");
    assert_eq!(world.git(&["for-each-ref"]), "");
}
