//! Adversaries: whatever attempts, merges and crashes do, no run starts more than its bound said, and each ends. The
//! measure falls at every end of an attempt and every refuted base case.

use descent_core::{event::Event, state::RunStatus};

use super::{
    model::{Kind, Model},
    random::seeds,
    rng::Rng,
    sim::{CALM, Faults, Sim},
};

/// An adversary uses up all that it can. It names faults and limits, so that nothing else makes its bound wide.
#[derive(Clone, Copy)]
struct Adversary {
    name: &'static str,
    faults: Faults,
    limits: &'static str,
    slots_max: usize,
    /// How many of a hundred groups are planning steps.
    plans: usize,
}

const ALL: [Adversary; 10] = [
    Adversary {
        name: "fails or succeeds as it likes",
        faults: CALM,
        limits: r#", "max_transient": 0"#,
        slots_max: 3,
        plans: 0,
    },
    Adversary {
        name: "is transient for ever",
        faults: Faults { transient: 100, ..CALM },
        limits: "",
        slots_max: 1,
        plans: 0,
    },
    Adversary {
        name: "is transient now and then",
        faults: Faults { transient: 60, ..CALM },
        limits: "",
        slots_max: 3,
        plans: 0,
    },
    Adversary {
        name: "makes what never merges",
        faults: Faults { conflict: 100, ..CALM },
        limits: r#", "max_transient": 0"#,
        slots_max: 1,
        plans: 0,
    },
    Adversary {
        name: "breaks what others made",
        faults: Faults { dropped: 60, conflict: 40, ..CALM },
        limits: "",
        slots_max: 3,
        plans: 0,
    },
    Adversary {
        name: "leaves what cannot be checked out",
        faults: Faults { broken: 100, ..CALM },
        limits: r#", "max_transient": 0"#,
        slots_max: 3,
        plans: 0,
    },
    Adversary {
        name: "dies",
        faults: Faults { crash: 25, ..CALM },
        limits: r#", "max_transient": 0"#,
        slots_max: 1,
        plans: 0,
    },
    Adversary {
        name: "does all of that",
        faults: Faults { transient: 30, dropped: 30, conflict: 20, crash: 5, unknown: 30, ..CALM },
        limits: "",
        slots_max: 3,
        plans: 0,
    },
    Adversary {
        name: "plans something new for ever",
        faults: CALM,
        limits: ROOMY,
        slots_max: 3,
        plans: 50,
    },
    Adversary {
        name: "plans, breaks what others made and dies",
        faults: Faults { transient: 10, dropped: 30, conflict: 20, crash: 5, ..CALM },
        limits: ROOMY,
        slots_max: 3,
        plans: 50,
    },
];

const ROOMY: &str = r#", "planning": {"depth": 20, "atoms": 10000, "phases": 100}"#;

/// A graph in which nothing has to be solvable: every task fails always, at once, or at every other attempt. Fragments
/// have budgets, some of them for a target that accepts a partial result.
fn graph(rng: &mut Rng, plans: usize) -> Model {
    let mut model = Model::random_with(rng, plans);
    model.budgets(rng);
    model.plans_for_ever = plans > 0;
    for x in 0..model.nodes.len() {
        if model.nodes[x].kind == Kind::Task {
            model.nodes[x].outcome = [1, 2, 3, u32::MAX][rng.below(4)];
        }
    }
    if rng.percent(30) {
        model.wanted = (0..model.nodes.len()).filter(|_| rng.percent(20)).collect();
    }
    model
}

/// The number of started attempts, and their share of the bound at the start of the run, in percent. A run after a
/// crash goes on under the first bound: it forgets no failure of a program itself.
fn spent(events: &[Event]) -> Result<(u64, u64), String> {
    let bound = events.iter().find_map(|event| match event {
        Event::RunStarted { starts_left, .. } => starts_left.parse::<u64>().ok(),
        _ => None,
    });
    let bound = bound.ok_or("no bound was told")?;
    let is_start = |event: &&Event| matches!(event, Event::AttemptStarted { .. });
    let starts = events.iter().filter(is_start).count();
    let starts = u64::try_from(starts).map_err(|error| error.to_string())?;
    if starts > bound {
        return Err(format!("{starts} starts, the bound was {bound}"));
    }
    Ok((starts, (starts * 100).checked_div(bound).unwrap_or(0)))
}

/// The highest share of a bound that was reached, in percent.
#[track_caller]
fn check(seeds: std::ops::Range<u64>, adversary: Adversary) -> u64 {
    let (mut started, mut nearest) = (0, 0);
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let mut model = graph(&mut rng, adversary.plans);
        let slots = 1 + rng.below(adversary.slots_max);
        model.constraints = format!(r#"{}, "max_parallel_agents": {slots}"#, adversary.limits);
        let slots = u32::try_from(slots).expect("small");
        let mut sim = Sim::new(&model, seed, slots, adversary.faults);
        // It panics if it does not end, or if the measure does not fall.
        sim.run();
        assert_ne!(sim.world.state.run.status, RunStatus::Running);
        match spent(&sim.events) {
            Ok((starts, percent)) => {
                started += starts;
                nearest = nearest.max(percent);
            }
            Err(what) => panic!("seed {seed}, one that {}: {what}\n{}", adversary.name, sim.story),
        }
    }
    assert!(started > 100, "{started} attempts: too few to tell");
    nearest
}

#[test]
fn no_adversary_makes_a_run_start_more_than_its_bound() {
    for (n, adversary) in (0_u64..).zip(ALL) {
        let nearest = check(seeds(n * 10_000, 60), adversary);
        println!("{nearest} % of the bound at most: {}", adversary.name);
        // It uses one kind of limit up, and the bound counts attempts, repairs and interruptions.
        let is_tight = adversary.slots_max == 1;
        assert!(
            !is_tight || nearest >= 20,
            "{nearest} %: the bound of one that {} says nothing",
            adversary.name
        );
    }
}
