//! Repositories as people have them: each is aligned, run with a choice that fails, looked at and applied, and until
//! `apply` nothing of the person's is other than before.
//!
//! Not here: what `apply` does with flags (`apply`), where a run starts (`start`).

mod files;
mod guarded;
mod kinds;
mod modules;
mod refused;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use crate::world::{World, listing, plan, task};

/// A first choice that makes a mess and fails, a second one that does it.
fn work(right: &str) -> Value {
    let atoms = json!({
        "G": {"kind": "any", "choices": ["C1", "C2"]},
        "C1": task("echo mess > bad.txt; echo mess >> a.txt; exit 1"),
        "C2": task(right),
    });
    let base = ["grep -q world a.txt && test -f good.txt && test ! -e bad.txt"];
    plan(&base, json!({"max_attempts": 1}), atoms)
}

const RIGHT: &str = "echo world >> a.txt; echo good > good.txt";

/// Whatever of a person's a run must leave alone.
fn picture(world: &World) -> Vec<String> {
    let asked = [
        &["rev-parse", "HEAD"][..],
        &["branch", "-a", "--list", "-v"],
        &["for-each-ref", "--exclude=refs/descent"],
        &["stash", "list"],
        &["ls-files", "-s", "-v"],
        &["config", "--list", "--local"],
    ];
    let mut seen: Vec<String> = asked.iter().map(|args| world.git(args)).collect();
    let git_dir = world.git(&["rev-parse", "--absolute-git-dir"]);
    let index = fs::read(Path::new(git_dir.trim()).join("index")).unwrap_or_default();
    seen.push(format!("{index:?}"));
    let repo = world.repo();
    for (path, bytes) in listing(&repo) {
        let name = path.strip_prefix(&repo).unwrap().to_owned();
        let own = [".git", ".descent"];
        if own.iter().any(|own| name.iter().any(|part| part == *own)) {
            continue;
        }
        let mode = path.symlink_metadata().unwrap().permissions().mode();
        let link = fs::read_link(&path).unwrap_or_default();
        seen.push(format!("{} {mode:o} {} {bytes:?}", name.display(), link.display()));
    }
    seen
}

/// From `align` to `apply`; gives what `apply --json` said.
#[track_caller]
fn lives_through(world: &World) -> Value {
    lives_through_with(world, RIGHT)
}

#[track_caller]
fn lives_through_with(world: &World, right: &str) -> Value {
    lives_through_as(world, &work(right))
}

#[track_caller]
fn lives_through_as(world: &World, work: &Value) -> Value {
    let before = picture(world);
    world.align(work);
    let ran = world.run().expect(0);
    assert_eq!(ran.count("failed") + ran.count("attempt_failed"), 1, "{}", ran.stdout);
    assert_eq!(world.status()["status"], "completed");
    let after = picture(world);
    let other: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
    assert!(before == after, "{other:?}");
    let applied = world.descent(&["apply", "--json"]).expect(0).json();
    assert!(world.read("a.txt").contains("world") && world.repo().join("good.txt").exists());
    assert!(!world.repo().join("bad.txt").exists());
    applied
}

/// Another repository with one commit, beside the project.
fn upstream(world: &World, name: &str) -> String {
    let dir = world.root().join(name);
    fs::create_dir(&dir).unwrap();
    let at = dir.display().to_string();
    world.git(&["-C", &at, "init", "-q", "-b", "main"]);
    fs::write(dir.join("a.txt"), "hello\n").unwrap();
    commit_all(world, &at);
    at
}

fn commit_all(world: &World, at: &str) {
    let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    world.git(&["-C", at, "add", "-A"]);
    world.git(&[&["-C", at][..], &author, &["commit", "-qm", "more"]].concat());
}

/// The project is what `git ARGS` made of nothing.
fn made_by(args: &[&str]) -> World {
    let world = World::bare();
    world.git(args);
    identified(&world);
    world.write("a.txt", "hello\n");
    commit_all(&world, ".");
    world
}

fn identified(world: &World) {
    world.git(&["config", "user.name", "Ada"]);
    world.git(&["config", "user.email", "ada@example.org"]);
}

fn global(world: &World, key: &str, value: &str) {
    world.git(&["config", "--global", key, value]);
}
