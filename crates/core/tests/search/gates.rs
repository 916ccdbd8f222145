//! The order of a planner's plan: planned, then judged, then its first attempt, whatever the judge says and whenever the loop
//! dies. The order is read from what was announced, and not from what the program knows of its gates.

use std::collections::BTreeMap;

use descent_core::{event::Event, state::JudgedBy};

use super::{
    model::Model,
    random::{STORMY, UNLIMITED},
    rng::Rng,
    sim::{Faults, Sim},
};

const SEEDS: std::ops::Range<u64> = 120_000..120_300;

/// Counts of what was seen.
#[derive(Default)]
struct Seen {
    planned: usize,
    /// Judged by an agent, and by rules alone for want of its answer.
    by_agent: usize,
    by_nobody: usize,
    started: usize,
}

/// A plan of a step, as it was announced.
struct SeenPlan {
    /// The numbers of its atoms, in which their ids end.
    atoms: std::ops::RangeInclusive<usize>,
    /// The event that announced it.
    at: usize,
    has_begun: bool,
}

/// The plans and reports of one step.
#[derive(Default)]
struct SeenStep {
    plans: Vec<SeenPlan>,
    /// The events that opened a gate, and that no plan which began has taken for its own.
    reports: Vec<usize>,
    reports_total: usize,
}

impl SeenStep {
    /// Marks the plan of an atom as begun. An announced report names the step and not the plan, so each plan takes the first
    /// that came after it: if any assignment fits, this one does.
    fn begin(&mut self, number: usize) -> bool {
        let mut plans = self.plans.iter_mut();
        let plan = plans.find(|plan| !plan.has_begun && plan.atoms.contains(&number));
        let Some(plan) = plan else { return true };
        plan.has_begun = true;
        let own = self.reports.iter().position(|at| *at > plan.at);
        own.map(|own| self.reports.remove(own)).is_some()
    }
}

/// The steps around an atom, and the number that it or what it is inside of has there.
fn around(atom: &str) -> impl Iterator<Item = (&str, usize)> {
    atom.match_indices('-').filter_map(|(at, _)| {
        let number = atom[at + 1..].split('-').next()?.parse().ok()?;
        Some((&atom[..at], number))
    })
}

/// Follows the events. A gate is closed from the commit that planned to the one that opened it. It opens by an agent's report,
/// or the reason why there is none. A report of the rules opens nothing.
fn follow(sim: &Sim<'_>, seen: &mut Seen) -> Result<(), String> {
    let mut steps: BTreeMap<&str, SeenStep> = BTreeMap::new();
    for (at, event) in sim.events.iter().enumerate() {
        match event {
            Event::Planned { atom, parts, atoms, .. } => {
                let step = steps.entry(atom.as_str()).or_default();
                let known = step.plans.last().map_or(0, |plan| *plan.atoms.end());
                let atoms = known + 1..=known + atoms.unwrap_or(parts.len());
                let has_begun = false;
                step.plans.push(SeenPlan { atoms, at, has_begun });
                seen.planned += 1;
            }
            Event::Judged { atom, by, because, .. }
                if *by == JudgedBy::Model || !because.is_empty() =>
            {
                let step = steps.entry(atom.as_str()).or_default();
                step.reports.push(at);
                step.reports_total += 1;
                if step.reports_total > step.plans.len() {
                    return Err(format!("{atom} was judged, and had no plan"));
                }
                if because.is_empty() { seen.by_agent += 1 } else { seen.by_nobody += 1 }
            }
            Event::AttemptStarted { atom, .. } => {
                for (step, number) in around(atom.as_str()) {
                    let known = steps.get_mut(step);
                    if known.is_some_and(|known| !known.begin(number)) {
                        return Err(format!("{atom} began, and no plan of {step} was judged"));
                    }
                    seen.started += 1;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_plan_is_judged_between_its_planning_and_its_first_attempt_whatever_its_judge_does() {
    let mut seen = Seen::default();
    for seed in SEEDS {
        let mut model = Model::random_with(&mut Rng::new(seed), 40);
        model.constraints = format!(r#"{}{UNLIMITED}, "judging": "model""#, super::random::ROOMY);
        let faults = match seed % 2 {
            0 => Faults::default(),
            _ => STORMY,
        };
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let mut sim = Sim::new(&model, seed, slots, faults).with_judge();
        sim.run();
        if let Err(what) = follow(&sim, &mut seen) {
            panic!("seed {seed}: {what}\n{}", sim.story);
        }
    }
    let Seen { planned, by_agent, by_nobody, started } = seen;
    println!(
        "{planned} plans, {by_agent} judged by an agent, {by_nobody} by nobody, {started} attempts of them"
    );
    assert!(by_agent > 100 && by_nobody > 30 && started > 200, "too few to tell");
}
