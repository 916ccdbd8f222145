//! Small graphs by chance, in the workspaces `git` and `shadow` by turns. `DESCENT_SOAK_GRAPHS=<count>` tries so many from
//! `DESCENT_SOAK_SEED=<seed>` on.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    draw,
    model::Model,
    trial::{self, Outcome},
    world::Workspace,
};

/// More than there are processors: half of a run waits for the disk.
const THREADS: usize = 4;

/// Every outcome, or every seed that failed with its graph.
fn try_all(seeds: Range<u64>, one: fn(&Model, u64) -> Result<Outcome, String>) -> Vec<Outcome> {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let (mut outcomes, mut wrong) = (Vec::new(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return (outcomes, wrong);
            }
            let model = draw::graph(seed);
            match one(&model, seed) {
                Ok(outcome) => outcomes.push(outcome),
                Err(what) => wrong.push(format!("seed {seed}:\n{model}{what}\n")),
            }
        }
    };
    let (mut outcomes, mut wrong) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let (good, bad) = thread.join().expect("a thread");
            outcomes.extend(good);
            wrong.extend(bad);
        }
    });
    assert!(
        wrong.is_empty(),
        "{} of {} went wrong\n{}",
        wrong.len(),
        seeds.end - seeds.start,
        wrong.join("\n")
    );
    outcomes
}

/// The graphs of every test run, or those that a soak asks for.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    match number("DESCENT_SOAK_GRAPHS") {
        Some(count) => {
            let first: u64 = number("DESCENT_SOAK_SEED").unwrap_or(usual.start);
            first..first.saturating_add(count)
        }
        None => usual,
    }
}

/// The percentage of outcomes for which `is_so` holds.
fn share(outcomes: &[Outcome], is_so: fn(&Outcome) -> bool) -> usize {
    outcomes.iter().filter(|outcome| is_so(outcome)).count() * 100 / outcomes.len().max(1)
}

#[test]
fn a_run_completes_exactly_where_brute_force_finds_a_way() {
    let usual = 0..24;
    let seeds = seeds(usual.clone());
    let is_usual = seeds == usual;
    let outcomes = try_all(seeds, |model, seed| trial::run(model, Workspace::of(seed)));
    let (completed, backtracked) =
        (share(&outcomes, |o| o.is_completed), share(&outcomes, |o| o.backtracks > 0));
    println!("{completed} % completed, {backtracked} % backtracked");
    // In graphs other than the usual ones, chance decides how many are hard.
    if !is_usual {
        return;
    }
    assert!((20..=80).contains(&completed), "too uniform to tell: {completed} % completed");
    assert!(backtracked >= 20, "too easy to tell: {backtracked} % backtracked");
}

#[test]
fn kills_at_any_moment_change_no_result_and_do_nothing_twice() {
    let outcomes = try_all(seeds(1_000..1_012), trial::run_killed);
    let killed = share(&outcomes, |o| o.kills > 0);
    println!("{killed} % were killed");
    assert!(killed >= 50, "too few to tell: {killed} % were killed");
}

#[test]
fn a_graph_that_is_printed_can_be_tried_again() {
    for seed in 0..50 {
        let text = draw::graph(seed).to_string();
        assert_eq!(Model::of(&text).to_string(), text);
    }
    for seed in 0..4 {
        let model = draw::graph(seed);
        let again = Model::of(&model.to_string());
        assert_eq!(again.solutions(), model.solutions(), "{model}");
    }
}
