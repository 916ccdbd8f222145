//! A killed loop whose attempt lacks something when the next loop begins: it goes on or is made again, and costs nothing.
//!
//! Not here: kills at random moments (`killed`), what a running loop lacks (`crashes::away`).

use crate::whole_records;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::{
    agents::{
        conduct::configured,
        talked::{Acp, Claude, Protocol, by_worker},
    },
    processes::processes_in,
    undisturbed::side_by_side,
    world::{Running, World, listing, long_nap, plan, processes, wait_for, with},
};

/// The file of a person that links lead to.
const THEIRS: &str = "nobody writes here\n";

/// A run whose agents hang in their first turn; a later turn of the same task is done at once.
fn hanging(protocol: Protocol, nap: &str, atoms: &[&str]) -> (World, Running) {
    let world = World::new();
    let out = world.out("").display().to_string();
    let tool = format!(
        "echo made >> $DESCENT_ATOM; \
         if mkdir {out}/$DESCENT_ATOM 2>/dev/null; then sleep {nap}; fi"
    );
    let agent = protocol.agent(&world, "works", &[("FIXTURE_DO", &tool)]);
    configured(&world, &[("fixture", &agent)], "worker = \"fixture\"");
    fs::create_dir(world.out("theirs")).unwrap();
    fs::write(world.out("theirs/a"), THEIRS).unwrap();
    let checks: Vec<String> = atoms.iter().map(|id| format!("test -f {id}")).collect();
    let checks: Vec<&str> = checks.iter().map(String::as_str).collect();
    let tasks = atoms.iter().map(|id| {
        let own = json!({"checks": {"all": [{"command": format!("test -f {id}")}]}});
        ((*id).to_owned(), with(by_worker(id), own))
    });
    let tasks: Value = tasks.collect::<serde_json::Map<_, _>>().into();
    let limits = json!({"max_attempts": 1, "max_transient": 0, "max_parallel_agents": 3});
    world.align(&plan(&checks, limits, tasks));
    let run = world.start(&["run"]);
    wait_for("the tools hang", || atoms.iter().all(|id| world.out(id).exists()));
    let attempts = world.repo().join(".descent/state.json.d/attempts");
    let is_kept = |path: &&PathBuf| path.ends_with("session.json");
    wait_for("the sessions are kept", || {
        listing(&attempts).keys().filter(is_kept).count() == atoms.len()
    });
    (world, run)
}

/// The directory of the one attempt.
fn attempt(world: &World) -> PathBuf {
    world.repo().join(".descent/state.json.d/attempts/A1.1")
}

/// The workspace of the one attempt.
fn slot(world: &World) -> PathBuf {
    let is_slot = |path: &PathBuf| path.ends_with("attempt-0");
    let found = listing(&world.cache()).into_keys().find(is_slot);
    found.expect("a workspace")
}

type TakeAway = fn(&World, &Path);
type PlaceOf = fn(&World) -> PathBuf;

/// The ways in which a path can be gone.
pub(crate) const GONE: [(&str, TakeAway); 4] = [
    ("removed", |_, path| remove(path)),
    ("a file", |_, path| {
        remove(path);
        fs::write(path, "").unwrap();
    }),
    ("a link", |world, path| {
        remove(path);
        symlink(world.out("theirs"), path).unwrap();
    }),
    ("an empty directory", |_, path| {
        remove(path);
        fs::create_dir(path).unwrap();
    }),
];

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        _ => drop(fs::remove_file(path)),
    }
}

/// A change between the kill and the next `descent run`, which it may change too.
type Displacement = Box<dyn Fn(&World, &mut Command) + Sync>;

/// Kills the loop, does that, and runs again: the run completes and nothing was charged. Gives whether the agent went on.
fn goes_on(what: &str, protocol: Protocol, atoms: &[&str], displace: &Displacement) -> bool {
    let nap = long_nap();
    let (world, run) = hanging(protocol, &nap, atoms);
    run.kill();
    let mut next = world.command(&["run"]);
    displace(&world, &mut next);
    let project = next.get_current_dir().unwrap().to_owned();
    let ran = Running::of(next).wait();
    let text = format!("{what}, {protocol:?}\n{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(0), "{text}");
    let state = fs::read(project.join(".descent/state.json")).unwrap();
    let state = whole_records::whole(&serde_json::from_slice(&state).unwrap());
    assert_eq!(state["run"]["spent"]["attempts"], atoms.len(), "{text}");
    for id in atoms {
        assert_eq!(state["bindings"][*id]["attempts"], 1, "{text}");
    }
    let theirs = listing(&world.out("theirs"));
    let whole: Vec<&[u8]> = theirs.values().map(Vec::as_slice).collect();
    assert_eq!(whole, [THEIRS.as_bytes()], "{text}: {:?}", theirs.keys());
    let left = [processes(&nap), processes_in(&world.root())].concat();
    assert_eq!(left, Vec::<String>::new(), "{text}");
    ran.stdout.contains("its agent goes on")
}

/// One of these paths, gone in each way.
fn each_way(
    name: &str,
    at: fn(&World) -> PathBuf,
    goes_on: bool,
) -> Vec<(String, bool, Displacement)> {
    let ways = GONE.iter().map(|(how, gone)| {
        let displace = move |world: &World, _: &mut Command| gone(world, &at(world));
        (format!("{name}: {how}"), goes_on, Box::new(displace) as Displacement)
    });
    ways.collect()
}

fn one(
    name: &str,
    goes_on: bool,
    displace: fn(&World, &mut Command),
) -> (String, bool, Displacement) {
    (name.to_owned(), goes_on, Box::new(displace))
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn move_project(world: &World, next: &mut Command) {
    let there = world.root().join("there");
    fs::rename(world.repo(), &there).unwrap();
    next.current_dir(there);
}

#[test]
fn an_attempt_that_lacks_anything_after_a_kill_goes_on_or_is_made_again_and_costs_nothing() {
    let own: [(&str, PlaceOf, bool); 9] = [
        ("its workspace", slot, false),
        ("the repository of its workspace", |world| slot(world).join(".git"), false),
        ("the objects there", |world| slot(world).join(".git/objects"), false),
        ("the head there", |world| slot(world).join(".git/HEAD"), false),
        ("its directory", attempt, false),
        ("its session", |world| attempt(world).join("session.json"), false),
        ("its prompt", |world| attempt(world).join("prompt.md"), true),
        ("its log", |world| attempt(world).join("output.log"), true),
        ("its errors", |world| attempt(world).join("errors.log"), true),
    ];
    let mut cases: Vec<_> =
        own.into_iter().flat_map(|(name, at, on)| each_way(name, at, on)).collect();
    cases.extend([
        one("nothing", true, |_, _| {}),
        one("the project", false, move_project),
        one("the cache", false, |world, _| remove(&world.cache())),
        one("another cache", false, |world, next| {
            next.env("XDG_CACHE_HOME", world.root().join("cache-2"));
        }),
        one("another home", false, |world, next| {
            // The consent is known there too.
            let (home, there) = (world.root().join("home"), world.root().join("home-2"));
            copy(&home, &there);
            next.env_remove("XDG_CACHE_HOME").env("HOME", there);
        }),
        one("the records of workspaces", false, |world, _| {
            remove(&world.repository().join("trees"));
        }),
        one("a copy of its workspace", false, |world, _| {
            let (slot, there) = (slot(world), world.root().join("copy"));
            copy(&slot, &there);
            remove(&slot);
            fs::rename(there, slot).unwrap();
        }),
        one("all attempts", false, |world, _| {
            remove(&world.repo().join(".descent/state.json.d/attempts"))
        }),
        one("all of its sidecars", false, |world, _| world.run_away_with_sidecars()),
        one("the lineage's repository", false, |world, _| remove(&world.repository())),
    ]);
    let (next, of) = (AtomicUsize::new(0), cases.len() as u64);
    side_by_side(2, of, |_| {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let (what, on, displace) = &cases[at];
        let protocol = if at % 2 == 0 { Claude } else { Acp };
        assert_eq!(goes_on(what, protocol, &["A1"], displace), *on, "{what}, {protocol:?}");
    });
}

#[test]
fn three_agents_of_a_project_that_is_moved_after_a_kill_are_no_agent_that_fails_alike() {
    for protocol in [Claude, Acp] {
        let moved: Displacement = Box::new(move_project);
        assert!(!goes_on("the project", protocol, &["A1", "A2", "A3"], &moved));
    }
}
