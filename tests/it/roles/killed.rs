//! kill -9 at random moments, from a seed, of the story with every role: no answer that was on the disk is asked for again.
//!
//! Not here: one kill in the middle of each question (`judged`, `probed`, `agents::models::kept`).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::Value;

use crate::{
    agents::models::{Model, WIRES},
    chance::{self, Rng},
    crashes::killed::kill,
    processes::processes_in,
    roles::story::{self, Thinker},
    support::world::{World, wait_for},
    undisturbed::side_by_side,
};

/// Runs at once: as many as small machines have cores.
const SIDE_BY_SIDE: u64 = 2;
/// Kills of one run at most; the next start then runs to its end.
const KILLS_MAX: u64 = 6;
/// The longest time from what a kill waits for to the kill.
const AFTER_US_MAX: u64 = 60_000;

/// A rule of the scripted model that is asked in the loop: its words, and words of its answer.
struct Asked {
    when: Vec<String>,
    said: &'static str,
}

fn all_asked() -> Vec<Asked> {
    let rules = story::answers();
    let rules = rules.as_array().unwrap().iter();
    let of_loop = rules.skip(2).zip([
        "short chapters",
        "there is no printer",
        "there is a pencil",
        "a thread holds too",
        "chapters need no order",
    ]);
    let asked = |(rule, said): (&Value, &'static str)| Asked {
        when: serde_json::from_value(rule["when"].clone()).unwrap(),
        said,
    };
    of_loop.map(asked).collect()
}

/// How often the model was asked for each, by the first rule whose words all stand in the question.
fn counted(model: &Model, all: &[Asked]) -> Vec<usize> {
    let mut counts = vec![0; all.len()];
    for question in model.questions() {
        let body = question["body"].to_string();
        let fits = |one: &Asked| one.when.iter().all(|words| body.contains(words));
        if let Some(at) = all.iter().position(fits) {
            counts[at] += 1;
        }
    }
    counts
}

/// The answers that are on the disk, beside the state or in it.
fn kept(world: &World, all: &[Asked]) -> Vec<bool> {
    let files = crate::world::listing(&world.repo().join(".descent"));
    let holds = |said: &str| {
        let mut files = files.values();
        files.any(|bytes| String::from_utf8_lossy(bytes).contains(said))
    };
    all.iter().map(|one| holds(one.said)).collect()
}

/// Waits for a further question or commit, and a short time more. False if the run is over.
fn comes_to_its_moment(world: &World, model: &Model, before: &[u8], rng: &mut Rng) -> bool {
    let by_commit = rng.below(2) == 0;
    let enough = model.questions().len() + 1 + usize::try_from(rng.below(2)).unwrap();
    let mut is_over = false;
    wait_for("a moment for the kill", || {
        let now = world.state_bytes();
        is_over = world.state()["run"]["status"] == "completed";
        is_over || (by_commit && now != before) || model.questions().len() >= enough
    });
    std::thread::sleep(Duration::from_micros(rng.below(AFTER_US_MAX)));
    !is_over
}

#[test]
fn killed_at_random_moments_the_story_ends_and_no_answer_that_was_kept_is_asked_for_again() {
    let (times, kills) = (chance::count("ROLE_KILLS", 6), AtomicU64::new(0));
    let (questions, twice) = (AtomicU64::new(0), AtomicU64::new(0));
    let all = all_asked();
    side_by_side(SIDE_BY_SIDE, times.div_ceil(KILLS_MAX), |seed| {
        let mut rng = Rng::new(seed ^ 0x0a5c);
        let (wire, base) = WIRES[usize::try_from(rng.below(3)).unwrap()];
        let world = World::new();
        let pieces = rng.below(1_000_000).to_string();
        let more = ["--pause", "25", "--pieces", &pieces];
        let model = story::configure(&world, Thinker::Model(wire, base), &more).unwrap();
        story::align(&world);
        let mut settled: Vec<Option<usize>> = vec![None; all.len()];
        for _ in 0..KILLS_MAX {
            let before = world.state_bytes();
            let run = world.start(&["run"]);
            if !comes_to_its_moment(&world, &model, &before, &mut rng) {
                drop(run);
                break;
            }
            kill(run, rng.below(2) == 0);
            kills.fetch_add(1, Ordering::Relaxed);
            let (count, kept) = (counted(&model, &all), kept(&world, &all));
            for ((settled, count), kept) in settled.iter_mut().zip(count).zip(kept) {
                *settled = settled.or(kept.then_some(count));
            }
        }
        let ran = world.run();
        assert_eq!(ran.code, Some(0), "seed {seed}\n{}\n{}", ran.stdout, ran.stderr);
        let count = counted(&model, &all);
        for ((settled, count), one) in settled.iter().zip(&count).zip(&all) {
            let is_again = settled.is_some_and(|settled| settled != *count);
            assert!(
                !is_again,
                "seed {seed}: `{}` was kept and asked for again: {settled:?}, {count}",
                one.said
            );
        }
        let asked: usize = count.iter().sum();
        questions.fetch_add(asked as u64, Ordering::Relaxed);
        twice.fetch_add((asked - all.len()) as u64, Ordering::Relaxed);
        // The aligner was asked twice before.
        let calls = world.state()["run"]["spent"]["calls"].as_u64().unwrap() - 2;
        assert!(
            calls >= all.len() as u64 && calls <= asked as u64,
            "seed {seed}: {calls} calls of {asked}"
        );
        story::check_end(&world, seed);
        assert_eq!(processes_in(&world.root()), Vec::<String>::new(), "seed {seed}");
    });
    let [kills, questions, twice] = [kills, questions, twice].map(AtomicU64::into_inner);
    println!(
        "{kills} kills, {questions} questions, {twice} of them again after a kill in their middle, seed {}: no kept \
         answer was asked for again",
        chance::seed()
    );
}
