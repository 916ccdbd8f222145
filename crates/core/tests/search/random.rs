//! Small graphs by chance, against brute force: some hundred of them, or with `DESCENT_SOAK_SEARCH=<count>` so many for each
//! test, from `DESCENT_SOAK_SEED=<seed>` on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    model::Model,
    rng::Rng,
    sim::{Faults, Sim},
};

pub(crate) const ROOMY: &str = r#", "max_transient": 1000"#;

/// A little of everything.
pub(crate) const STORMY: Faults = Faults {
    transient: 5,
    crash: 3,
    stop: 2,
    dropped: 10,
    conflict: 5,
    unknown: 5,
    left_over: 20,
    stale: 0,
    broken: 0,
    moved: 0,
    reads_back: false,
};

/// The seeds of a test: `small` from `first` on, unless more are asked for.
pub(crate) fn seeds(first: u64, small: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let first = first + number("DESCENT_SOAK_SEED").unwrap_or(0);
    first..first + number("DESCENT_SOAK_SEARCH").unwrap_or(small)
}

/// Runs the graph of each seed, each second one written in an order by chance; a failure tells its seed and its story.
fn agree(seeds: std::ops::Range<u64>, constraints: &str, faults: Faults) {
    agree_with(seeds, 0, constraints, faults);
}

/// The same, with so many planning steps in a hundred groups.
fn agree_with(seeds: std::ops::Range<u64>, plans: usize, constraints: &str, faults: Faults) {
    let (mut solved, mut backtracked, mut replanned) = (0, 0, 0);
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed);
        let mut model = Model::random_with(&mut rng, plans);
        model.constraints = ROOMY.to_owned() + constraints;
        if constraints.contains("shared") {
            model.nodes.iter_mut().for_each(|node| node.is_speculative = false);
        }
        let slots = 1 + u32::try_from(rng.below(3)).expect("small");
        let mut sim = Sim::new(&model, seed, slots, faults);
        if constraints.contains("judging") {
            sim = sim.with_judge();
        }
        if seed % 2 == 1 {
            sim.written_anyhow();
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            let word = sim.run();
            let expected = if model.is_solvable() { "completed" } else { "exhausted" };
            assert_eq!(word, expected);
            sim.check_counts();
        }));
        if let Err(panic) = result {
            let nodes: Vec<String> =
                model.nodes.iter().enumerate().map(|(x, node)| format!("{x}: {node:?}")).collect();
            println!("seed {seed}, wanted {:?}\n{}\n{}", model.wanted, nodes.join("\n"), sim.story);
            std::panic::resume_unwind(panic);
        }
        replanned += usize::from(sim.story.contains("planned_again"));
        solved += usize::from(sim.world.state.run.status.word() == "completed");
        backtracked += usize::from(sim.story.contains("backtracked"));
    }
    let all = usize::try_from(seeds.end - seeds.start).expect("small");
    assert!(
        solved > all / 10 && solved < all * 9 / 10,
        "{solved} of {all} are solvable: too uniform to tell"
    );
    assert!(
        backtracked > all / 10 || plans > 0,
        "{backtracked} of {all} backtracked: too easy to tell"
    );
    assert!(
        replanned > all / 10 || plans == 0,
        "{replanned} of {all} planned again: too easy to tell"
    );
}

#[test]
fn a_run_completes_exactly_where_some_selection_works() {
    agree(seeds(0, 1_000), "", Faults::default());
}

pub(crate) const UNLIMITED: &str =
    r#", "planning": {"depth": 20, "atoms": 10000, "changes": 10000, "phases": 100}"#;

#[test]
fn with_planning_steps_a_run_completes_exactly_where_some_selection_and_some_fragment_work() {
    agree_with(seeds(60_000, 400), 40, UNLIMITED, Faults::default());
}

#[test]
fn planning_comes_through_errors_crashes_stops_and_merges_that_conflict() {
    agree_with(seeds(70_000, 150), 40, UNLIMITED, STORMY);
}

#[test]
fn all_that_a_run_knows_of_what_was_planned_is_in_the_file_at_every_commit() {
    let faults = Faults { crash: 3, stop: 2, reads_back: true, ..Faults::default() };
    agree_with(seeds(80_000, 60), 40, UNLIMITED, faults);
}

/// Whatever a judging agent says, or does not say.
#[test]
fn plans_that_are_judged_come_to_the_same_and_nothing_of_them_starts_before() {
    let constraints = UNLIMITED.to_owned() + r#", "judging": "model""#;
    agree_with(seeds(100_000, 120), 40, &constraints, Faults::default());
    agree_with(seeds(110_000, 40), 40, &constraints, STORMY);
}

#[test]
fn what_is_left_over_in_warm_trees_changes_no_outcome() {
    let faults = Faults { left_over: 50, ..Faults::default() };
    agree(seeds(90_000, 250), "", faults);
}

#[test]
fn transient_errors_crashes_and_stops_change_no_outcome() {
    agree(
        seeds(10_000, 400),
        "",
        Faults { transient: 10, crash: 3, stop: 3, unknown: 10, ..Faults::default() },
    );
}

#[test]
fn commits_that_no_longer_apply_and_merges_that_conflict_change_no_outcome() {
    agree(seeds(20_000, 150), "", Faults { dropped: 20, conflict: 10, ..Faults::default() });
}

#[test]
fn a_start_that_moves_changes_no_outcome() {
    let faults = Faults { moved: 4, ..STORMY };
    agree(seeds(25_000, 300), "", faults);
}

#[test]
fn a_start_that_moves_leaves_plans_as_they_are() {
    let faults = Faults { moved: 4, reads_back: true, ..Faults::default() };
    agree_with(seeds(75_000, 60), 40, UNLIMITED, faults);
}

#[test]
fn all_that_a_run_knows_is_in_the_file_at_every_commit() {
    let faults = Faults { reads_back: true, ..STORMY };
    agree(seeds(30_000, 60), "", faults);
}

#[test]
fn without_isolation_the_search_is_the_same() {
    let faults = Faults { transient: 5, crash: 2, stop: 2, ..Faults::default() };
    agree(seeds(40_000, 120), r#", "workspace": "shared""#, faults);
}

/// Includes backoffs: a wait ends neither at once nor never.
#[test]
fn a_clock_that_is_set_by_ten_years_between_any_two_events_changes_nothing_of_what_happens() {
    let faults = Faults { transient: 20, unknown: 20, stop: 2, ..Faults::default() };
    let mut waited = 0;
    let seeds = seeds(50_000, 80);
    let all = usize::try_from(seeds.end - seeds.start).expect("small");
    for seed in seeds {
        let mut model = Model::random(&mut Rng::new(seed));
        model.constraints = ROOMY.to_owned();
        let story = |is_clock_set: bool| {
            let mut sim = Sim::new(&model, seed, 2, faults);
            sim.is_clock_set = is_clock_set;
            sim.run();
            sim.story
        };
        let steady = story(false);
        assert_eq!(steady, story(true), "seed {seed}");
        waited += usize::from(steady.contains("transient"));
    }
    assert!(waited > all / 4, "{waited} of {all} waited: too few to tell");
}
