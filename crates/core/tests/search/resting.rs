//! Rests: the same verdicts with them and without, and what they save and cost.

use std::collections::BTreeMap;

use descent_core::event::Event;

use super::{
    chance::{Chance, Nature},
    model::{Kind, Model},
    random::{ROOMY, STORMY, UNLIMITED, seeds},
    rng::Rng,
    sim::{Faults, Sim},
};

pub(super) const WITHOUT: &str = r#", "rest": false"#;

const TIGHT: &str = r#", "max_transient": 0"#;

fn is_calm(faults: Faults) -> bool {
    faults.crash == 0 && faults.stop == 0
}

fn count(sim: &Sim<'_>, is_one: fn(&Event) -> bool) -> usize {
    sim.events.iter().filter(|event| is_one(event)).count()
}

pub(super) fn rests(sim: &Sim<'_>) -> usize {
    count(sim, |event| matches!(event, Event::Rested { .. }))
}

/// Starts, and the most that the first line of the run told.
fn starts(sim: &Sim<'_>) -> (usize, usize) {
    let told = sim.events.iter().find_map(|event| match event {
        Event::RunStarted { starts_left, .. } => Some(starts_left.parse().unwrap_or(usize::MAX)),
        _ => None,
    });
    let made = count(sim, |event| matches!(event, Event::AttemptStarted { .. }));
    (made, told.expect("a bound"))
}

/// A graph by chance in which tasks fail more often than elsewhere, so that some of them rest.
pub(super) fn stubborn(seed: u64, plans: usize) -> Model {
    let mut rng = Rng::new(seed);
    let mut model = Model::random_with(&mut rng, plans);
    model.max_attempts = 3 + u32::from(rng.percent(40));
    for node in &mut model.nodes {
        if node.kind == Kind::Task && node.outcome == 1 && !node.is_silent && rng.percent(40) {
            node.outcome = 2 + u32::try_from(rng.below(4)).expect("small");
        }
    }
    model.constraints = ROOMY.to_owned() + if plans > 0 { UNLIMITED } else { "" };
    model
}

/// The verdict of each graph by brute force, with rests and without.
fn agree(seeds: std::ops::Range<u64>, plans: usize, faults: Faults) {
    let all = usize::try_from(seeds.end - seeds.start).expect("small");
    let (mut rested, mut woken, mut solved) = (0, 0, 0);
    for seed in seeds {
        let mut model = stubborn(seed, plans);
        // A person is asked about an effect outside that was cut off: here nothing is.
        let has_externals = is_calm(faults) && seed % 3 == 0;
        for node in model.nodes.iter_mut().filter(|_| has_externals) {
            node.is_external = node.kind == Kind::Task && !node.has_check && seed % 2 == 0;
        }
        let expected = if model.is_solvable() { "completed" } else { "exhausted" };
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        // Without retries and repairs to spare the bound on starts says more.
        if is_calm(faults) {
            model.constraints = model.constraints.replace(ROOMY, TIGHT);
        }
        let common = model.constraints.clone();
        for constraints in ["", WITHOUT] {
            model.constraints = common.clone() + constraints;
            let mut sim = Sim::new(&model, seed, slots, faults);
            let word = sim.run();
            assert_eq!(word, expected, "seed {seed}{constraints}\n{}", sim.story);
            sim.check_counts();
            let (made, most) = starts(&sim);
            let is_whole = sim.started == 1 && sim.moves == 0;
            assert!(made <= most || !is_whole, "{made} starts of {most}");
            let wakes = count(&sim, |event| matches!(event, Event::Woken { .. }));
            assert!(constraints.is_empty() || rests(&sim) == 0, "seed {seed}");
            rested += usize::from(rests(&sim) > 0);
            woken += usize::from(wakes > 0);
        }
        solved += usize::from(expected == "completed");
    }
    assert!(rested > all / 10, "{rested} of {all} rested: too few to tell");
    assert!(woken > all / 20, "{woken} of {all} woke: too few to tell");
    assert!(solved > all / 10 && solved < all, "{solved} of {all} are solvable");
}

#[test]
fn with_rests_a_run_completes_exactly_where_it_would_without() {
    agree(seeds(120_000, 200), 0, Faults::default());
}

#[test]
fn rests_come_through_errors_crashes_stops_and_merges_that_conflict() {
    agree(seeds(130_000, 60), 0, STORMY);
}

#[test]
fn all_that_a_run_knows_of_rests_is_in_the_file_at_every_commit() {
    let faults = Faults { crash: 3, stop: 2, reads_back: true, ..Faults::default() };
    agree(seeds(140_000, 20), 0, faults);
}

#[test]
fn with_planning_steps_rests_take_no_solution_away() {
    agree(seeds(150_000, 50), 40, Faults::default());
}

#[test]
fn a_failure_on_build_state_closes_no_choice() {
    let (mut completed, mut rested) = (0, 0);
    for seed in seeds(160_000, 120) {
        let mut model = stubborn(seed, if seed % 2 == 0 { 0 } else { 40 });
        (model.acts, model.max_attempts) = (true, 1 + u32::try_from(seed % 2).expect("small"));
        let expected = if model.is_solvable() { "completed" } else { "exhausted" };
        for (stale, faults) in [(60, Faults::default()), (30, STORMY)] {
            let faults = Faults { stale, ..faults };
            let mut sim =
                Sim::new(&model, seed, 1 + u32::try_from(seed % 3).expect("small"), faults);
            assert_eq!(sim.run(), expected, "seed {seed}, {stale}\n{}", sim.story);
            sim.check_counts();
            let (made, most) = starts(&sim);
            assert!(made <= most || sim.started > 1 || sim.moves > 0, "{made} starts of {most}");
            rested += usize::from(rests(&sim) > 0);
        }
        completed += usize::from(expected == "completed");
    }
    assert!(completed > 10 && rested > 40, "{completed} completed, {rested} rested");
}

/// Shares in a hundred of choices that are good, hard and doomed, and how often a failure of each repeats, in a thousand.
struct Family {
    name: &'static str,
    shares: [u64; 3],
    repeats: [u64; 3],
}

const TELLING: [u64; 3] = [300, 400, 900];
const FAMILIES: [Family; 7] = [
    Family { name: "mixed", shares: [50, 25, 25], repeats: TELLING },
    Family { name: "hostile", shares: [25, 25, 50], repeats: TELLING },
    Family { name: "friendly", shares: [80, 20, 0], repeats: TELLING },
    Family { name: "hard only", shares: [0, 100, 0], repeats: TELLING },
    Family { name: "fingerprints say nothing", shares: [50, 25, 25], repeats: [900; 3] },
    Family { name: "fingerprints never repeat", shares: [50, 25, 25], repeats: [0; 3] },
    Family { name: "mostly unsolvable", shares: [10, 10, 80], repeats: TELLING },
];

/// One to three groups of two or three choices. A group may wait for another.
fn choices(family: &Family, seed: u64, max_attempts: u32) -> (Model, Chance) {
    let mut rng = Rng::new(seed);
    let mut model = Model { max_attempts, ..Model::default() };
    let (mut atoms, mut before) = (BTreeMap::new(), Vec::new());
    for group in 0..1 + rng.below(3) {
        let mut kids = Vec::new();
        for choice in 0..2 + rng.below(2) {
            let id = format!("A{group}{choice}");
            let roll = rng.below(100) as u64;
            let [good, hard, _] = family.shares;
            let kind = usize::from(roll >= good) + usize::from(roll >= good + hard);
            let nature = Nature { succeeds: [800, 300, 0][kind], repeats: family.repeats[kind] };
            atoms.insert(id.clone(), nature);
            kids.push(model.task(&id, &[]));
        }
        let deps: Vec<usize> = before.iter().copied().filter(|_| rng.percent(50)).collect();
        before.push(model.add(&format!("G{group}"), Kind::Any, &kids, &deps));
    }
    (model, Chance { seed, atoms })
}

#[derive(Debug, Default)]
struct Figures {
    with: usize,
    without: usize,
    worse: usize,
    better: usize,
    completed: usize,
    differ: usize,
}

impl Figures {
    fn ratio(&self) -> f64 {
        self.with as f64 / self.without as f64
    }

    fn row(&self, name: &str, max_attempts: u32) -> String {
        let share = |count: usize| count as f64 / self.completed.max(1) as f64;
        format!(
            "| {name} | {max_attempts} | {:.3} | {:.2} / {:.2} | {} | {} |",
            self.ratio(),
            share(self.worse),
            share(self.better),
            self.completed,
            self.differ,
        )
    }
}

/// Attempts of the completed runs with rests against those without, by common random numbers.
fn measured(family: &Family, graphs: u64, max_attempts: u32) -> Figures {
    let mut figures = Figures::default();
    for seed in 0..graphs {
        let (mut model, chance) = choices(family, seed, max_attempts);
        let mut run = |constraints: &str| {
            model.constraints = ROOMY.to_owned() + constraints;
            let mut sim = Sim::new(&model, seed, 3, Faults::default());
            sim.chance = Some(chance.clone());
            let word = sim.run();
            (word, sim.ended.values().sum::<u32>() as usize)
        };
        let (with, without) = (run(""), run(WITHOUT));
        figures.differ += usize::from(with.0 != without.0);
        if without.0 != "completed" {
            continue;
        }
        figures.completed += 1;
        figures.with += with.1;
        figures.without += without.1;
        figures.worse += usize::from(with.1 > without.1);
        figures.better += usize::from(with.1 < without.1);
    }
    figures
}

/// The table, held to the limits at three attempts. Fewer graphs scatter more.
fn table(graphs: u64, slack: f64) -> String {
    let mut table = String::new();
    for family in &FAMILIES {
        let most = match family.name {
            "mixed" => 0.98,
            "hostile" => 0.95,
            "friendly" => 1.02,
            "hard only" => 1.08,
            _ => f64::INFINITY,
        };
        for max_attempts in [3, 5] {
            if max_attempts == 5 && slack > 0.0 {
                continue;
            }
            let figures = measured(family, graphs, max_attempts);
            table += &figures.row(family.name, max_attempts);
            table.push('\n');
            assert_eq!(figures.differ, 0, "verdicts differ: {}", family.name);
            let is_judged = max_attempts == 3;
            assert!(
                !is_judged || figures.ratio() <= most + slack,
                "{}: {:.3}",
                family.name,
                figures.ratio()
            );
        }
    }
    table
}

/// A part of the table in docs/law.md.
#[test]
fn rests_save_attempts_where_failures_tell_something() {
    println!("{}", table(60, 0.05));
}

const HEAD: &str =
    "| choices | attempts of an atom | attempts, with / without | worse / better | completed | verdicts that differ |
|---|---|---|---|---|---|
";

/// The table in docs/law.md: `cargo test --release -p descent-core --test all the_table_of_rests -- --ignored`, with
/// `DESCENT_UPDATE=1` to write it there.
#[test]
#[ignore = "half a minute"]
fn the_table_of_rests() {
    let table = table(1_000, 0.0);
    println!("{table}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/law.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (before, rest) = page.split_once(HEAD).expect("a table");
    let (known, after) = rest.split_once("\n\n").expect("its end");
    if std::env::var_os("DESCENT_UPDATE").is_some() {
        let page = format!("{before}{HEAD}{table}\n{after}");
        #[allow(clippy::disallowed_methods)] // door: a page of this repository
        std::fs::write(path, page).expect("the page is written");
        return;
    }
    assert_eq!(known, table.trim_end(), "docs/law.md has another table");
}
