//! kill -9 at random moments, from a seed, of a run with agents of each protocol side by side. After some the project is
//! moved, or the cache or a workspace goes.
//!
//! Not here: one kill in mid-turn, by protocol (`talked`), and kills of runs of commands (`crashes::killed`).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    agents::{
        conduct::{by, configured},
        displaced::GONE,
        talked::{ALL, Protocol},
    },
    chance::{self, Rng},
    crashes::killed::kill,
    processes::processes_in,
    undisturbed::side_by_side,
    world::{World, listing, long_nap, plan, processes, wait_for, with},
};

/// Runs at once: as many as small machines have cores.
const SIDE_BY_SIDE: u64 = 2;
/// Kills of one run at most; the next start then runs to its end.
const KILLS_MAX: u64 = 6;
/// Lines that the tool of an agent writes, one after the other.
const STEPS: usize = 8;
/// The longest time from what a kill waits for to the kill.
const AFTER_US_MAX: u64 = 120_000;

/// Two rows of three atoms: each agent has one of each row.
const ATOMS: [(&str, Protocol, &[&str]); 6] = [
    ("A1", Protocol::Claude, &[]),
    ("A2", Protocol::Codex, &[]),
    ("A3", Protocol::Acp, &[]),
    ("B1", Protocol::Claude, &["A1"]),
    ("B2", Protocol::Codex, &["A2"]),
    ("B3", Protocol::Acp, &["A3"]),
];

/// Facts of the runs that were killed.
#[derive(Default)]
struct Tally {
    kills: AtomicU64,
    /// Prompts that told an agent to go on in its session.
    continued: AtomicU64,
    /// Attempts that a new session was begun for.
    made_again: AtomicU64,
    /// Kills after which something was moved or removed.
    displaced: AtomicU64,
}

/// A run of three agents. The tool goes on after the last line that is there, so only two of them at once write a line
/// twice. `mark` stands in the command line of each tool.
fn world(mark: &str) -> World {
    let world = World::new();
    let steps = world.out("steps").display().to_string();
    let tool = format!(
        ": {mark}; n=$(cat $DESCENT_ATOM 2>/dev/null | wc -l); while [ $n -lt {STEPS} ]; do sleep 0.04; n=$((n + 1)); \
         echo $n >> $DESCENT_ATOM; echo $DESCENT_ATOM $n >> {steps}; done"
    );
    let settings = [("FIXTURE_DO", tool.as_str())];
    let agents = ALL.map(|protocol| (name(protocol), protocol.agent(&world, "works", &settings)));
    let named = agents.each_ref().map(|(name, agent)| (*name, &**agent));
    configured(&world, &named, "worker = \"acp\"");
    let atoms = ATOMS.iter().map(|(id, protocol, deps)| {
        let words = json!({"description": words(id)});
        ((*id).to_owned(), with(by(name(*protocol), deps), words))
    });
    let limits = json!({
        "max_parallel_agents": 3, "max_attempts": 1, "max_transient": 0,
    });
    let wanted = "test -f B1 && test -f B2 && test -f B3";
    world.align(&plan(&[wanted], limits, Value::Object(atoms.collect())));
    world
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Claude => "claude",
        Protocol::Codex => "codex",
        Protocol::Acp => "acp",
    }
}

/// Tells the first prompt of an atom from those of others.
fn words(atom: &str) -> String {
    format!("write the lines of the file {atom} and no other")
}

/// Waits for a commit of this loop, or for further lines of the tools, and a short time more. False if the run is over.
fn comes_to_its_moment(world: &World, before: &[u8], rng: &mut Rng) -> bool {
    let lines = || world.left("steps").lines().count();
    let by_commit = rng.below(3) == 0;
    let enough = lines() + 1 + usize::try_from(rng.below(4)).unwrap();
    let mut is_over = false;
    wait_for("a moment for the kill", || {
        let now = world.state_bytes();
        is_over = world.state()["run"]["status"] == "completed";
        is_over || (by_commit && now != before) || lines() >= enough
    });
    std::thread::sleep(Duration::from_micros(rng.below(AFTER_US_MAX)));
    !is_over
}

/// Moves the project, or removes or replaces the cache, workspaces or their repositories, after half of the kills; whether it did.
fn displace(world: &World, rng: &mut Rng) -> bool {
    match rng.below(8) {
        0 => {
            let (real, there) = (fs::canonicalize(world.repo()).unwrap(), long_nap());
            let there = world.root().join(format!("moved-{there}"));
            fs::rename(real, &there).unwrap();
            let _ = fs::remove_file(world.repo());
            symlink(there, world.repo()).unwrap();
        }
        1 => drop(fs::remove_dir_all(world.cache())),
        way @ 2..4 => {
            for slot in listing(&world.cache()).into_keys().filter(|path| is_slot(path)) {
                let part = if way == 2 { slot.clone() } else { slot.join(".git") };
                let (_, gone) = GONE[usize::try_from(rng.below(GONE.len() as u64)).unwrap()];
                if slot.is_dir() && !slot.is_symlink() {
                    gone(world, &part);
                }
            }
        }
        _ => return false,
    }
    true
}

fn is_slot(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("attempt-")
}

/// The number of prompts that each session of each atom was told.
fn prompts(world: &World) -> BTreeMap<&'static str, Vec<u64>> {
    let mut found: BTreeMap<_, Vec<u64>> = ATOMS.map(|(id, ..)| (id, Vec::new())).into();
    for file in fs::read_dir(world.out("sessions")).unwrap().flatten() {
        let text = fs::read_to_string(file.path()).unwrap();
        let first = text.lines().next().unwrap();
        // The prompt names others too, after its own task.
        let own = ATOMS.iter().filter_map(|(id, ..)| Some((first.find(&words(id))?, id)));
        let (_, id) = own.min().expect("a session begins with a whole prompt");
        let sessions = found.get_mut(id).unwrap();
        sessions.push(text.lines().count() as u64);
    }
    found
}

/// The names beside the state. Commits of before stay there for a while, for editors that have them open.
fn beside(world: &World) -> BTreeSet<String> {
    let entries = fs::read_dir(world.repo().join(".descent/state.json.d")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_old = |name: &String| name.starts_with(".state.json.old-");
    names.filter(|name| !is_old(name)).collect()
}

/// Checks that each atom has its lines once, from its one attempt, and that no more files than these are there.
fn check_result(world: &World, seed: u64) {
    let state = world.state();
    assert_eq!(state["run"]["spent"]["attempts"], ATOMS.len(), "seed {seed}");
    let head = state["run"]["head"].as_str().unwrap();
    let lines: String = (1..=STEPS).map(|n| format!("{n}\n")).collect();
    for (id, ..) in ATOMS {
        assert_eq!(state["bindings"][id]["attempts"], 1, "seed {seed}: {id}");
        let file = world.ours(&["show", &format!("{head}:{id}")]);
        assert_eq!(file, lines, "seed {seed}: {id}");
    }
    let files = world.ours(&["ls-tree", "-r", "--name-only", head]);
    let made = files.lines().filter(|name| !["a.txt", "descent.toml"].contains(name));
    assert_eq!(made.collect::<Vec<_>>(), ATOMS.map(|(id, ..)| id), "seed {seed}");
}

/// Checks that no prompt was paid for in two sessions where the session is known before it, unless something was displaced
/// between them, and counts the rest.
fn check_sessions(world: &World, seed: u64, displaced: usize, tally: &Tally) {
    let prompts = prompts(world);
    for (id, protocol, _) in ATOMS {
        let sessions = &prompts[id];
        // Codex tells its session after the prompt; a kill in between makes the attempt again.
        let is_known_before = protocol != Protocol::Codex;
        assert!(
            (1..=1 + displaced).contains(&sessions.len())
                || !is_known_before && !sessions.is_empty(),
            "seed {seed}: {id} was prompted in sessions of its own: {sessions:?}"
        );
        let on = sessions.iter().map(|prompts| prompts - 1).sum();
        tally.continued.fetch_add(on, Ordering::Relaxed);
    }
    let state = world.state();
    let started = state["run"]["attempts_started"].as_u64().unwrap();
    let made_again = started - ATOMS.len() as u64;
    let bindings = state["bindings"].as_object().unwrap().values();
    let interruptions: u64 =
        bindings.map(|bound| bound["of"]["interruptions"].as_u64().unwrap_or(0)).sum();
    assert!(
        made_again <= interruptions,
        "seed {seed}: {made_again} made again in {interruptions} interruptions"
    );
    tally.made_again.fetch_add(made_again, Ordering::Relaxed);
}

#[test]
fn agents_that_are_killed_at_random_moments_go_on_and_nothing_is_done_twice() {
    let calm = world(&long_nap());
    calm.run().expect(0);
    check_result(&calm, 0);
    let names = beside(&calm);
    let (times, tally) = (chance::count("AGENT_KILLS", 6), Tally::default());
    side_by_side(SIDE_BY_SIDE, times.div_ceil(KILLS_MAX), |seed| {
        let mut rng = Rng::new(seed ^ 0xA6E7);
        let mark = long_nap();
        let world = world(&mark);
        fs::create_dir(world.out("theirs")).unwrap();
        let mut displaced = 0;
        for _ in 0..KILLS_MAX {
            let before = world.state_bytes();
            let run = world.start(&["run"]);
            if !comes_to_its_moment(&world, &before, &mut rng) {
                drop(run);
                break;
            }
            kill(run, rng.below(2) == 0);
            tally.kills.fetch_add(1, Ordering::Relaxed);
            displaced += usize::from(displace(&world, &mut rng));
        }
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "seed {seed}\n{}", ran.stderr);
        check_result(&world, seed);
        check_sessions(&world, seed, displaced, &tally);
        tally.displaced.fetch_add(displaced as u64, Ordering::Relaxed);
        assert!(listing(&world.out("theirs")).is_empty(), "seed {seed}: written through a link");
        assert_eq!(beside(&world), names, "seed {seed}: beside the state");
        let left = [processes(&mark), processes_in(&world.root())].concat();
        assert_eq!(left, Vec::<String>::new(), "seed {seed}: left running");
    });
    let counts = [tally.kills, tally.continued, tally.made_again, tally.displaced];
    let [kills, continued, made_again, displaced] = counts.map(AtomicU64::into_inner);
    println!(
        "{kills} kills, {displaced} of them with something moved or removed, {continued} times on in a session, \
         {made_again} attempts made again, seed {}: nothing twice",
        chance::seed()
    );
    assert!(continued > 0, "no session went on in {kills} kills");
}
