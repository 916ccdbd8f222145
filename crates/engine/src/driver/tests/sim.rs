//! The whole loop under all faults at once, by seeds. The driver, the store and the core are real; the disk, the clock
//! and the executor are simulated.
//!
//! Each seed is one story: a small graph, loops that die, disks that fail and people who edit, then peace. In peace the
//! run comes to the end that brute force says. A seed that fails tells its story. `DESCENT_SOAK_SIM=<count>` tells so
//! many stories from `DESCENT_SOAK_SEED=<seed>` on; the seed alone tells that one, aloud.

mod executor;
#[path = "../../../../core/tests/search/grow.rs"]
#[allow(dead_code, reason = "the search has graphs by chance that nothing here plans")]
mod grow;
#[path = "../../../../core/tests/search/model.rs"]
#[allow(dead_code, reason = "the search has tests that build graphs by hand")]
mod model;
mod person;
mod repo;
#[path = "../../../../core/tests/search/rng.rs"]
mod rng;
mod scene;
mod story;
mod watchman;

use std::{
    collections::BTreeMap,
    env,
    ops::Range,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

const STORIES: u64 = 240;
/// With so many stories, rare events must happen too.
const MANY: u64 = 2_000;
/// Every kind of fault and of end: stories in which one never happens prove nothing about it.
const SEEN: &[&str] = &[
    "a call of the disk fails",
    "a loop fails",
    "a merge conflicts",
    "a process of a dead loop is ended",
    "a redirect by another process",
    "a result comes after its attempt was cancelled",
    "a result comes with an old epoch",
    "a result lies complete after a crash",
    "a signal",
    "a stop by another process",
    "a tree is made for what is tried beside",
    "an attempt fails for a while",
    "an attempt is cancelled",
    "an edit",
    "an edit from an old buffer",
    "an edit in the middle of a commit",
    "an effect happens outside",
    "completed",
    "completed in the end",
    "exhausted",
    "exhausted in the end",
    "half a file is left",
    "stopped",
    "the clock goes ten years back",
    "the clock goes ten years on",
    "the disk can be written again",
    "the disk is full",
    "the disk is read-only",
    "the file is mended",
    "the loop dies alone",
    "the machine sleeps",
    "the power is cut",
    "the tree is made anew",
];

/// A few in a thousand stories.
const RARE: &[&str] = &["an effect in doubt is resolved"];

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// In memory if possible: a power cut is only simulated.
fn dir() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { env::temp_dir() }
}

fn tell_all(seeds: Range<u64>) -> watchman::Counts {
    let (next, all) = (AtomicU64::new(seeds.start), Mutex::new(BTreeMap::new()));
    let failed = Mutex::new(None);
    let tell = || loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= seeds.end || failed.lock().unwrap().is_some() {
            return;
        }
        let (seen, wrong, story) = story::story_of(seed, &dir());
        let mut all = all.lock().unwrap();
        for (what, _) in seen {
            *all.entry(what).or_insert(0) += 1;
        }
        if let Some(wrong) = wrong {
            failed.lock().unwrap().get_or_insert((seed, wrong, story));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        (0..workers).for_each(|_| drop(scope.spawn(tell)));
    });
    if let Some((seed, wrong, story)) = failed.into_inner().unwrap() {
        panic!("{story}\nseed {seed}: {wrong}");
    }
    all.into_inner().unwrap()
}

#[test]
fn whatever_happens_nothing_is_lost_nothing_is_done_twice_and_it_ends_as_it_must() {
    let (count, seed) = (number("DESCENT_SOAK_SIM"), number("DESCENT_SOAK_SEED"));
    if let (None, Some(seed)) = (count, seed) {
        let (_, wrong, story) = story::story_of(seed, &dir());
        println!("{story}");
        return assert_eq!(wrong, None, "seed {seed}");
    }
    let first = seed.unwrap_or(0);
    let seeds = first..first.saturating_add(count.unwrap_or(STORIES));
    println!("stories of the seeds {seeds:?}");
    let seen = tell_all(seeds.clone());
    seen.iter().for_each(|(what, stories)| println!("{stories:>8} {what}"));
    if seeds.end - seeds.start >= STORIES {
        let rare = (seeds.end - seeds.start >= MANY).then_some(RARE);
        let never: Vec<_> = SEEN
            .iter()
            .chain(rare.unwrap_or_default())
            .filter(|what| !seen.contains_key(*what))
            .collect();
        assert!(never.is_empty(), "never happened: {never:?}");
    }
}

#[test]
fn a_story_is_the_same_every_time_it_is_told() {
    // The id of a request comes from the clock.
    let id = regex::Regex::new("\"request\":\"[^\"]*\"").unwrap();
    for seed in 0..8 {
        let told = || id.replace_all(&story::story_of(seed, &dir()).2, "").into_owned();
        let (one, other) = (told(), told());
        let differing = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert_eq!(differing, None, "seed {seed}");
        assert_eq!(one.len(), other.len(), "seed {seed}");
    }
}
