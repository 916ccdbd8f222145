//! Facts that must be the same, or must hold, at the end of a run, whatever was done to its loops.
//!
//! Not here: the faults.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::Value;

use crate::{chance, world::World};

/// The facts that must be the same whatever was killed.
#[derive(Debug, PartialEq)]
pub struct End {
    tree: String,
    attempts: BTreeMap<String, Value>,
    spent: Value,
    tries: BTreeMap<String, u64>,
}

pub fn end_of(world: &World) -> End {
    let state = world.state();
    let head = state["run"]["head"].as_str().unwrap().to_owned();
    let bindings = state["bindings"].as_object().unwrap();
    let bound = bindings.iter();
    End {
        tree: world.ours(&["rev-parse", &format!("{head}^{{tree}}")]),
        attempts: bound
            .clone()
            .map(|(id, binding)| (id.clone(), binding["attempts"].clone()))
            .collect(),
        spent: state["run"]["spent"]["attempts"].clone(),
        tries: bound.map(|(id, binding)| (id.clone(), attempts_of(&binding["of"]))).collect(),
    }
}

fn attempts_of(atom: &Value) -> u64 {
    counted(atom, "attempts")
}

fn counted(atom: &Value, what: &str) -> u64 {
    let tries = atom["tries"].as_array().into_iter().flatten();
    tries.map(|tried| tried[what].as_u64().unwrap_or(0)).sum()
}

/// The person's own things: a branch, an index with something staged, a file of no commit, a stash.
pub fn person(world: &World) -> Vec<String> {
    [
        &["rev-parse", "HEAD", "stash@{0}"][..],
        &["branch", "--list"],
        &["status", "--porcelain=v2", "--branch"],
        &["ls-files", "-s"],
    ]
    .map(|args| world.git(args))
    .to_vec()
}

pub fn world_of_a_person() -> World {
    let world = World::new();
    world.write("a.txt", "put away\n");
    world.git(&["stash", "-q"]);
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("untracked.txt", "untracked\n");
    world
}

/// Runs `one` so many times in parallel lanes, each with a seed of its own.
pub fn side_by_side(lanes: u64, times: u64, one: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= times {
                        return;
                    }
                    one(chance::seed().wrapping_mul(1_000_003).wrapping_add(n));
                }
            });
        }
    });
}

/// Checks that no bound atom began more often than its attempts, transient ones and interruptions say. `cut_off` tells
/// how often something else may have cut it off, which is not counted there.
pub fn check_counts(world: &World, seed: u64, cut_off: impl Fn(&str) -> u64) {
    let (state, began) = (world.state(), world.left("began"));
    for (id, binding) in state["bindings"].as_object().unwrap() {
        let times = began.lines().filter(|line| line == id).count() as u64;
        let again = counted(&binding["of"], "transient");
        let interruptions = binding["of"]["interruptions"].as_u64().unwrap_or(0);
        let most = attempts_of(&binding["of"]) + again + interruptions + cut_off(id);
        assert!(times <= most, "seed {seed}: {id} began {times} times, not {most}");
    }
}

pub fn check_repository(world: &World, before: &[String], seed: u64) {
    assert_eq!(person(world), before, "seed {seed}: the person's own");
    let state = world.state();
    let head = state["run"]["head"].as_str().unwrap().to_owned();
    let start = state["run"]["started_from"]["commit"].as_str().unwrap().to_owned();
    let line = world.ours(&[
        "log",
        "--format=%(trailers:key=Descent-Atom,valueonly)",
        &format!("{start}..{head}"),
    ]);
    let mut atoms: Vec<&str> = line.split_whitespace().collect();
    atoms.sort_unstable();
    let mut once = atoms.clone();
    once.dedup();
    assert_eq!(atoms, once, "seed {seed}: each is in once");
    for (id, binding) in state["bindings"].as_object().unwrap() {
        if let Some(commit) = binding["commit"].as_str() {
            assert!(atoms.contains(&id.as_str()), "seed {seed}: {id} is in");
            world.ours(&["merge-base", "--is-ancestor", commit, &head]);
        }
    }
    let fsck = ["fsck", "--no-dangling", "--no-progress"];
    assert_eq!(world.git(&fsck) + &world.ours(&fsck), "", "seed {seed}");
    let locks = processes_free_locks(world);
    assert!(locks.is_empty(), "seed {seed}: {locks:?}");
}

fn processes_free_locks(world: &World) -> Vec<std::path::PathBuf> {
    let files = crate::world::listing(&world.repo().join(".git"));
    let is_lock = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "lock");
    files.into_keys().filter(is_lock).collect()
}
