//! Changes of the plan: planners that are silent, repeat themselves, go in circles or take the most that is admitted. No
//! run starts more than its bound said, each ends, and without a planner nothing is other than it was.

use descent_core::{
    event::Event,
    state::{Reason, Try},
};

use super::{
    model::{Kind, Model},
    planners::{ADVERSARIES, Planner},
    planning::{count, once},
    random::seeds,
    rng::Rng,
    sim::{Faults, Sim},
};

/// The number of attempts, and the most that was told.
pub(crate) fn told(events: &[Event]) -> (u64, u64, u64, u64) {
    let mut told = None;
    for event in events {
        if let Event::RunStarted {
            attempts_left,
            starts_left,
            changes_left,
            attempts_a_change,
            ..
        } = event
        {
            // More than fits is more than is ever reached.
            let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
            let each = attempts_a_change.as_deref().map_or(0, number);
            let changes = u64::from(changes_left.unwrap_or(0)).saturating_mul(each);
            let all = number(attempts_left).saturating_add(changes);
            told = told.or(Some((all, number(starts_left))));
        }
    }
    let (attempts, starts) = told.expect("a bound was told");
    let ended = events.iter().filter(|event| {
        let failed = matches!(event, Event::AttemptFailed { .. });
        failed || matches!(event, Event::Solved { .. } | Event::Planned { .. })
    });
    let begun = events.iter().filter(|event| matches!(event, Event::AttemptStarted { .. }));
    (ended.count() as u64, attempts, begun.count() as u64, starts)
}

/// No faults, faults that are only read back, or a bit of everything.
pub(crate) fn faults(rng: &mut Rng) -> Faults {
    match rng.below(3) {
        0 => Faults::default(),
        1 => Faults { reads_back: true, ..Faults::default() },
        _ => Faults { transient: 10, crash: 3, dropped: 10, conflict: 10, ..Faults::default() },
    }
}

pub(crate) fn reason(sim: &Sim<'_>) -> Option<Reason> {
    sim.world.state.run.ending.reason
}

/// Two halves, side by side.
#[test]
fn no_planner_makes_a_run_start_more_than_its_bound() {
    plan_adversely(seeds(0, 80));
}

#[test]
fn no_other_planner_makes_a_run_start_more_than_its_bound() {
    plan_adversely(seeds(250, 80));
}

fn plan_adversely(seeds: std::ops::Range<u64>) {
    let (mut changed, mut refused) = (0, 0);
    for seed in seeds.clone() {
        let mut rng = Rng::new(seed);
        let plans = if rng.percent(30) { 40 } else { 0 };
        let mut model = Model::random_with(&mut rng, plans);
        for x in 0..model.nodes.len() {
            if model.nodes[x].kind == Kind::Task {
                model.nodes[x].outcome = [1, 2, u32::MAX][rng.below(3)];
            }
        }
        if rng.percent(30) {
            model.wanted = (0..model.nodes.len()).filter(|_| rng.percent(20)).collect();
        }
        let changes = 1 + rng.below(10);
        model.constraints = format!(
            r#", "planning": {{"depth": 20, "atoms": 10000, "phases": 100, "changes": {changes}}}, "judging": "model""#
        );
        // Planning that is given up leaves changes over: with half of the planners none are.
        let acts = seed % 2 == 1;
        let law = format!(r#", "law": "{}""#, if acts { "act" } else { "show" });
        model.constraints.push_str(&law);
        let faults = faults(&mut rng);
        let planner = ADVERSARIES[rng.below(ADVERSARIES.len())];
        let mut sim = Sim::new(&model, seed, 1 + u32::try_from(seed % 3).expect("small"), faults)
            .with_planner(planner);
        if seed % 16 == 0 {
            sim = sim.with_judge();
        }
        let ending = sim.run();
        let (ended, attempts, begun, starts) = told(&sim.events);
        assert!(
            begun <= starts && (sim.repairs > 0 || ended <= attempts),
            "seed {seed}, {planner:?}: {ended} of {attempts} attempts, {begun} of {starts} starts\n{}",
            sim.story
        );
        let reason = reason(&sim);
        assert!(
            ending == "completed" || is_end(reason, acts),
            "seed {seed}, {planner:?}: {ending}, {reason:?}"
        );
        let grant = sim.world.state.run.grant.as_ref().expect("a grant");
        // A change stays where no place is left: each step that was placed came to nothing, and is not put again.
        assert!(
            acts || ending == "completed" || grant.left == 0 || a_step_came_to_nothing(&sim),
            "seed {seed}, {planner:?}: {} changes are left\n{}",
            grant.left,
            sim.story
        );
        changed += count(&sim.story, "replanned");
        refused += sim.story.matches("\"place\":\"nowhere\"").count();
    }
    println!("{changed} changes, {refused} of them not admitted");
    assert!(changed > seeds.count(), "{changed} changes: too few to tell");
}

/// Whether a planning step has failed for good: it is not put to its planner again.
fn a_step_came_to_nothing(sim: &Sim) -> bool {
    let atoms = sim.world.state.atoms.values();
    let mut steps = atoms.filter_map(|atom| atom.plan());
    steps.any(|step| step.task.tries.iter().any(Try::has_failed))
}

/// Without a planner the result is that of brute force, and nothing in the state is other than it was.
#[test]
fn without_a_planner_nothing_is_granted_and_brute_force_agrees() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let model = Model::random(&mut rng);
        let mut sim = Sim::new(&model, seed, 2, Faults::default());
        let ending = sim.run();
        let expected = if model.is_solvable() { "completed" } else { "exhausted" };
        // A dead end at which the base case holds completes too.
        assert!(ending == expected || ending == "completed", "seed {seed}\n{}", sim.story);
        assert!(sim.world.state.run.grant.is_none());
        assert_eq!(count(&sim.story, "replanned"), 0);
    }
}

/// A plan that is solvable is solved without a change, whoever the planner is.
#[test]
fn no_change_of_the_plan_takes_a_solution_away() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let model = Model::random(&mut rng);
        if !model.is_solvable() {
            continue;
        }
        let planner = ADVERSARIES[rng.below(ADVERSARIES.len())];
        let mut sim =
            Sim::new(&model, seed, 1 + u32::try_from(seed % 3).expect("small"), Faults::default())
                .with_planner(planner);
        assert_eq!(sim.run(), "completed", "seed {seed}, {planner:?}\n{}", sim.story);
        assert_eq!(count(&sim.story, "replanned"), 0, "seed {seed}\n{}", sim.story);
    }
}

fn check(model: &Model, planner: Planner, expected: &str) -> Vec<String> {
    let run = |seed: u64| {
        let faults = Faults {
            reads_back: true,
            crash: if seed % 4 == 3 { 10 } else { 0 },
            ..Faults::default()
        };
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let mut sim = Sim::new(model, seed, slots, faults).with_planner(planner);
        assert_eq!(sim.run(), expected, "seed {seed}\n{}", sim.story);
        sim.story
    };
    (0..12).map(run).collect()
}

#[test]
fn a_task_that_failed_becomes_a_step_that_plans_under_its_id() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.task("f", &[a]);
    for story in check(&model, Planner::Instead, "completed") {
        assert!(story.contains(r#""event":"replanned","atom":"a","place":"atom""#), "{story}");
        assert_eq!(count(&story, "replanned"), 1, "{story}");
    }
}

#[test]
fn the_checks_of_a_task_that_failed_are_kept_by_a_closing_atom() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.nodes[a].has_check = true;
    for story in check(&model, Planner::Instead, "completed") {
        assert!(story.contains(r#""event":"solved","attempt":"a-2."#), "{story}");
    }
    // A plan that does something else fails at the closing atom.
    for story in check(&model, Planner::Deep, "exhausted") {
        assert!(!story.contains(r#""event":"solved","attempt":"a."#), "{story}");
    }
}

/// The reasons for which a run with planners ends without success.
pub(super) fn is_end(reason: Option<Reason>, acts: bool) -> bool {
    match reason {
        Some(Reason::NoChoice) => true,
        Some(Reason::Abandoned) => acts,
        _ => false,
    }
}

#[test]
fn a_group_that_failed_gets_one_more_choice_that_plans() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.never(a);
    model.never(b);
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let f = model.task("f", &[g]);
    model.enough = vec![f];
    for story in check(&model, Planner::Endless, "exhausted") {
        assert_eq!(count(&story, "replanned"), 10, "{story}");
    }
    for story in check(&model, Planner::Instead, "completed") {
        assert!(story.contains(r#""event":"replanned","atom":"G-1","place":"choice""#), "{story}");
        assert_eq!(count(&story, "replanned"), 1, "{story}");
    }
}

#[test]
fn a_refuted_base_case_gets_a_root_that_waits_for_all_others() {
    let mut model = once();
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    model.add("H", Kind::Any, &[x, y], &[]);
    model.task("z", &[]);
    model.wanted = vec![x, y];
    for story in check(&model, Planner::Mends, "completed") {
        assert_eq!(count(&story, "refuted"), 2, "{story}");
        let root = r#""event":"replanned","atom":"plan-1","place":"root""#;
        assert!(story.contains(root), "{story}");
    }
    // The same atoms again, under another root, are refused.
    model.constraints = r#", "planning": {"changes": 3}"#.to_owned();
    for story in check(&model, Planner::Nothing, "exhausted") {
        assert_eq!(count(&story, "planned"), 2, "once under each choice: {story}");
        assert!(story.contains("which failed"), "{story}");
    }
}

#[test]
fn a_planner_that_is_silent_is_asked_once_for_each_place() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.constraints = r#", "planning": {"changes": 3}"#.to_owned();
    for story in check(&model, Planner::Silent, "exhausted") {
        assert_eq!(count(&story, "replanned"), 1, "{story}");
    }
}

#[test]
fn the_same_atoms_again_are_refused_wherever_the_step_stands() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.never(a);
    model.never(b);
    model.add("G", Kind::Any, &[a, b], &[]);
    model.constraints = r#", "planning": {"changes": 3}"#.to_owned();
    for story in check(&model, Planner::Same, "exhausted") {
        assert_eq!(count(&story, "planned"), 1, "{story}");
        assert!(story.contains("which failed"), "{story}");
    }
}

#[test]
fn with_no_change_left_a_run_ends_as_without_a_planner() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.constraints = r#", "planning": {"changes": 0}"#.to_owned();
    for story in check(&model, Planner::Instead, "exhausted") {
        assert_eq!(count(&story, "replanned"), 0, "{story}");
        assert!(!story.contains("changes_left"), "{story}");
    }
}

#[test]
fn an_effect_outside_is_never_planned_anew_in_its_place() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.nodes[a].is_external = true;
    model.constraints = r#", "planning": {"changes": 2}"#.to_owned();
    for story in check(&model, Planner::Instead, "exhausted") {
        assert_eq!(count(&story, "replanned"), 0, "{story}");
    }
}

/// The grant of a change is no less than what the plan itself takes: so the first change that is asked for fits.
#[test]
fn the_first_ordinary_change_is_always_admitted() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut model = Model::random_with(&mut rng, 0);
        // Nothing fails but one task, so that nearly all is done under many choices.
        let tasks: Vec<usize> =
            (0..model.nodes.len()).filter(|x| model.nodes[*x].kind == Kind::Task).collect();
        let never = tasks[rng.below(tasks.len())];
        model.nodes[never].outcome = u32::MAX;
        let mut sim = Sim::new(&model, seed, 1, Faults::default()).with_planner(Planner::Silent);
        sim.run();
        let first = sim.events.iter().find_map(|event| match event {
            Event::Replanned { refused, .. } => Some(refused.clone()),
            _ => None,
        });
        assert!(first.is_none_or(|refused| refused.is_empty()), "seed {seed}\n{}", sim.story);
    }
}

#[test]
fn where_no_step_fits_deeper_the_one_around_plans_another_round() {
    let mut model = once();
    let a = model.task("a", &[]);
    model.never(a);
    model.constraints = r#", "planning": {"depth": 1, "changes": 3}"#.to_owned();
    for story in check(&model, Planner::Endless, "exhausted") {
        assert_eq!(story.matches(r#""place":"round""#).count(), 2, "{story}");
        assert_eq!(count(&story, "planned"), 3, "{story}");
    }
}

/// A step with four alternatives in the place of the first of ten would open all that waits for it four times.
#[test]
fn a_step_in_the_place_of_the_first_of_ten_in_a_row_is_admitted() {
    let mut model = once();
    let first = model.task("t0", &[]);
    model.never(first);
    let mut last = first;
    for n in 1..10 {
        last = model.task(&format!("t{n}"), &[last]);
    }
    for story in check(&model, Planner::Instead, "completed") {
        assert!(story.contains(r#""event":"replanned","atom":"t0","place":"atom""#), "{story}");
    }
}

/// Two tasks failed without a choice: each is planned anew in its own place, one after the other.
#[test]
fn of_several_that_failed_each_is_planned_anew() {
    let mut model = once();
    for name in ["a", "b"] {
        let x = model.task(name, &[]);
        model.never(x);
    }
    for story in check(&model, Planner::Instead, "completed") {
        assert_eq!(count(&story, "replanned"), 2, "{story}");
        assert_eq!(story.matches(r#""place":"atom""#).count(), 2, "{story}");
    }
}

/// A solution is tried before the plan is changed: x needs b, and y never succeeds.
#[test]
fn every_selection_is_tried_before_the_plan_is_changed() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let (x, y) = (model.task("x", &[g]), model.task("y", &[g]));
    model.nodes[x].needs = vec![b];
    model.never(y);
    model.add("H", Kind::Any, &[x, y], &[]);
    for story in check(&model, Planner::Silent, "completed") {
        assert_eq!(count(&story, "replanned"), 0, "{story}");
    }
}
