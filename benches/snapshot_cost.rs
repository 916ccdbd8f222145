//! What it costs to record a working tree of 20,000 files, 200 of them changed, against `git add -A` and
//! `git write-tree` with a private index; and to make the repository of a lineage with the tree of its first attempt,
//! against `git worktree add`.
//!
//! Both take turns, so that a busy machine slows both alike; medians, and the median of the ratios. `scripts/bench`
//! runs it, with a directory as its argument. Not here: the rest of an `align`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used, clippy::panic)] // a measuring tool

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use descent_workspace::git::{Git, Leftovers};

const FILES: usize = 20_000;
const CHANGED: usize = 200;
const TURNS: usize = 9;

fn main() {
    // `cargo bench` adds `--bench`.
    let named = std::env::args().skip(1).find(|arg| arg != "--bench");
    let dir = PathBuf::from(named.unwrap_or_else(|| ".".to_owned()));
    let (tree, scratch) = (dir.join("tree"), dir.join("scratch"));
    plant(&tree);
    fs::create_dir_all(&scratch).unwrap();
    let person = Git::open(&tree).unwrap().unwrap();
    let git = person.lineage(&dir.join("own/1")).unwrap();
    let mut pairs = Vec::new();
    for turn in 0..=TURNS {
        let snapshot = || {
            git.snapshot(&scratch, "start\n", &scratch).unwrap();
        };
        let add = || add_and_write_tree(&tree, &scratch);
        // Each finds files that it has not seen; who is first changes.
        let (mine, other) = if turn % 2 == 0 {
            change(&tree, 2 * turn);
            let mine = timed(snapshot);
            change(&tree, 2 * turn + 1);
            (mine, timed(add))
        } else {
            change(&tree, 2 * turn);
            let other = timed(add);
            change(&tree, 2 * turn + 1);
            (timed(snapshot), other)
        };
        pairs.push((mine, other));
    }
    let what = format!("{FILES} files, {CHANGED} changed");
    report(&what, "git add -A and write-tree", &pairs, 1.3);
    first_attempts(&dir, &tree, &person);
}

/// A repository and a tree that were not there, beside a worktree that was not.
fn first_attempts(dir: &Path, tree: &Path, person: &Git) {
    let head = person.head().unwrap().commit.unwrap();
    let mut pairs = Vec::new();
    for turn in 0..=TURNS {
        let name = |what: &str| dir.join(format!("{what}-{turn}"));
        let attempt = || {
            let git = person.lineage(&name("own").join("1")).unwrap();
            let at = name("attempt");
            git.checkout(&at, &head, Leftovers::RemoveAll, None).unwrap();
        };
        let worktree = || {
            let at = name("worktree").display().to_string();
            run(tree, &["worktree", "add", "-q", "--detach", &at], None);
        };
        let (mine, other) = if turn % 2 == 0 {
            (timed(attempt), timed(worktree))
        } else {
            let other = timed(worktree);
            (timed(attempt), other)
        };
        for made in ["attempt", "worktree"] {
            fs::remove_dir_all(name(made)).unwrap();
        }
        pairs.push((mine, other));
    }
    let what = "a first attempt, its repository included";
    report(what, "git worktree add", &pairs, 2.0);
}

fn timed(work: impl Fn()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// The medians of ours, theirs and their ratio; the first pair only warmed the caches.
fn report(what: &str, other: &str, pairs: &[(Duration, Duration)], goal: f64) {
    let of = |value: &dyn Fn(Duration, Duration) -> f64| {
        let mut values: Vec<f64> = pairs[1..].iter().map(|(a, b)| value(*a, *b)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let ours = of(&|ours, _| ours.as_secs_f64() * 1000.0);
    let theirs = of(&|_, theirs| theirs.as_secs_f64() * 1000.0);
    let ratio = of(&|ours, theirs| ours.as_secs_f64() / theirs.as_secs_f64());
    println!("{what}: {ours:.0} ms; {other}: {theirs:.0} ms; ratio {ratio:.2}  (goal: {goal:.1})");
}

fn plant(tree: &Path) {
    for n in 0..FILES {
        let dir = tree.join(format!("d{}/e{}", n % 20, n / 20 % 50));
        if n < 1000 {
            fs::create_dir_all(&dir).unwrap();
        }
        fs::write(dir.join(format!("f{n}")), format!("file {n}\n").repeat(20)).unwrap();
    }
    run(tree, &["init", "-q"], None);
    run(tree, &["add", "-A"], None);
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    run(tree, &[&author[..], &["commit", "-qm", "start"]].concat(), None);
    // The index knows the files only once they are older than it.
    std::thread::sleep(Duration::from_millis(1_100));
    run(tree, &["status", "--porcelain"], None);
}

fn change(tree: &Path, turn: usize) {
    for k in 0..CHANGED {
        let n = k * (FILES / CHANGED);
        let path = tree.join(format!("d{}/e{}/f{n}", n % 20, n / 20 % 50));
        fs::write(path, format!("turn {turn} file {n}\n").repeat(20)).unwrap();
    }
}

fn add_and_write_tree(tree: &Path, scratch: &Path) {
    let index = scratch.join("private");
    let theirs = tree.join(".git/index");
    let changed = fs::metadata(&theirs).unwrap().modified().unwrap();
    fs::copy(&theirs, &index).unwrap();
    let file = fs::File::options().write(true).open(&index).unwrap();
    file.set_modified(changed).unwrap();
    run(tree, &["add", "-A"], Some(&index));
    run(tree, &["write-tree"], Some(&index));
}

fn run(tree: &Path, args: &[&str], index: Option<&Path>) {
    let mut command = Command::new("git");
    command.args(args).current_dir(tree);
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}");
}
