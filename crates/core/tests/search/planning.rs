//! Planning steps on the smallest graphs: N is a step, and its planner prints a fragment in each round.

use super::{
    model::{Kind, Model},
    sim::{Faults, Sim},
};

/// A step whose planner prints these tasks, a list a round; `false` never succeeds.
pub(crate) fn step(
    model: &mut Model,
    id: &str,
    deps: &[usize],
    rounds: &[&[(&str, bool)]],
) -> usize {
    let mut fragments = Vec::new();
    for (n, tasks) in rounds.iter().enumerate() {
        let mut parts = Vec::new();
        for (name, succeeds) in *tasks {
            let x = model.task(name, &[]);
            model.nodes[x].outcome = if *succeeds { 1 } else { u32::MAX };
            parts.push(x);
        }
        fragments.push(model.add(&format!("{id}round{n}"), Kind::All, &parts, &[]));
    }
    model.add(id, Kind::Plan, &fragments, deps)
}

pub(crate) fn once() -> Model {
    Model { max_attempts: 1, ..Model::default() }
}

/// Runs it in many orders, with everything read back at every commit; gives the stories.
pub(crate) fn check(model: &Model, expected: &str) -> Vec<String> {
    let run = |seed: u64| {
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let faults = Faults { reads_back: true, ..Faults::default() };
        let mut sim = Sim::new(model, seed, slots, faults);
        assert_eq!(sim.run(), expected, "seed {seed}\n{}", sim.story);
        sim.check_counts();
        sim.story
    };
    (0..12).map(run).collect()
}

pub(crate) fn place(story: &str, event: &str, atom: &str) -> usize {
    let line = |line: &str| line.contains(event) && line.contains(&format!(r#""atom":"{atom}""#));
    story.lines().position(line).unwrap_or(usize::MAX)
}

pub(crate) fn count(story: &str, event: &str) -> usize {
    story.matches(&format!(r#""event":"{event}""#)).count()
}

#[test]
fn whoever_waits_for_a_step_waits_for_its_whole_fragment() {
    let mut model = once();
    let n = step(&mut model, "N", &[], &[&[("a", true), ("b", true)]]);
    model.task("f", &[n]);
    for story in check(&model, "completed") {
        let started = place(&story, "attempt_started", "f");
        for part in ["N-1", "N-2"] {
            assert!(place(&story, "solved", part) < started, "{story}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_fragment_costs_an_attempt_and_the_next_may_be_right() {
    let mut model = Model { max_attempts: 2, ..Model::default() };
    let n = step(&mut model, "N", &[], &[&[("a", true)]]);
    let fragment = model.nodes[n].kids[0];
    model.nodes[fragment].fails_before = 1;
    model.nodes[fragment].fails_by_faults = true;
    for story in check(&model, "completed") {
        assert!(story.contains("there is no atom `nowhere`"), "{story}");
        assert_eq!(count(&story, "planned"), 1, "{story}");
    }
}

#[test]
fn a_fragment_that_failed_whole_is_planned_again_and_no_more_than_it_may() {
    let mut model = once();
    step(&mut model, "N", &[], &[&[("a", false)], &[("b", true)]]);
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned_again"), 1, "{story}");
        assert_eq!(count(&story, "planned"), 2, "{story}");
    }
    model.constraints = r#", "planning": {"changes": 0}"#.to_owned();
    for story in check(&model, "exhausted") {
        assert_eq!(count(&story, "planned"), 1, "{story}");
    }
}

#[test]
fn the_rounds_of_a_step_have_an_end() {
    let mut model = once();
    let never: Vec<[(&str, bool); 1]> =
        ["a", "b", "c", "d", "e", "f"].map(|name| [(name, false)]).to_vec();
    let rounds: Vec<&[(&str, bool)]> = never.iter().map(|round| &round[..]).collect();
    step(&mut model, "N", &[], &rounds);
    for story in check(&model, "exhausted") {
        assert_eq!(count(&story, "planned"), 4, "one and three more: {story}");
    }
}

#[test]
fn the_same_plan_again_is_refused() {
    let mut model = once();
    step(&mut model, "N", &[], &[&[("a", false)]]);
    for story in check(&model, "exhausted") {
        assert_eq!(count(&story, "planned"), 1, "{story}");
        assert!(story.contains("it is the plan of N.1, which failed"), "{story}");
    }
}

#[test]
fn the_choices_of_a_fragment_are_tried_before_another_is_asked_for() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.never(a);
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let fragment = model.add("round", Kind::All, &[g], &[]);
    model.add("N", Kind::Plan, &[fragment], &[]);
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned"), 1, "{story}");
        assert_eq!(count(&story, "backtracked"), 1, "{story}");
    }
}

#[test]
fn what_waits_for_a_step_and_fails_for_good_asks_for_another_fragment() {
    let mut model = once();
    let n = step(&mut model, "N", &[], &[&[("a", true)], &[("b", true)]]);
    let f = model.task("f", &[n]);
    model.nodes[f].needs = vec![model.nodes[n].kids[1]];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned_again"), 1, "{story}");
        assert!(place(&story, "parked", "N-1") < usize::MAX, "{story}");
    }
}

#[test]
fn a_base_case_that_fails_with_all_resolved_asks_for_another_fragment() {
    let mut model = once();
    let n = step(&mut model, "N", &[], &[&[("a", true)], &[("b", true)]]);
    model.wanted = vec![model.nodes[n].kids[1]];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "refuted"), 1, "{story}");
    }
}

/// N waits for G: each of its choices has a plan of its own.
#[test]
fn a_plan_belongs_to_the_choices_that_it_was_made_under() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let n = step(&mut model, "N", &[g], &[&[("p", true)]]);
    let f = model.task("f", &[n]);
    model.nodes[f].needs = vec![b];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned"), 2, "once under each: {story}");
        assert!(place(&story, "parked", "N-1") < usize::MAX, "{story}");
    }
}

/// F works with the first fragment and y: that costs less than another plan.
#[test]
fn choices_beside_a_step_change_before_it_is_planned_again() {
    let mut model = once();
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    let h = model.add("A", Kind::Any, &[x, y], &[]);
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let n = step(&mut model, "N", &[g], &[&[("p", true)], &[("q", true)]]);
    let f = model.task("f", &[n, h]);
    model.nodes[f].needs = vec![y];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned"), 1, "{story}");
    }
}

#[test]
fn a_plan_belongs_to_the_choices_that_it_was_made_under_and_comes_back_with_them() {
    let mut model = once();
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    let h = model.add("H", Kind::Any, &[x, y], &[]);
    let n = step(&mut model, "N", &[g], &[&[("p", true)]]);
    model.wanted = vec![a, y];
    let f = model.task("f", &[n, h]);
    model.nodes[f].needs = vec![a, y];
    for story in check(&model, "completed") {
        assert!(count(&story, "planned") <= 2, "once under each choice: {story}");
    }
}

#[test]
fn a_step_inside_a_fragment_plans_its_own() {
    let mut model = once();
    let inner = step(&mut model, "M", &[], &[&[("a", false)], &[("b", true)]]);
    let c = model.task("c", &[inner]);
    let fragment = model.add("outer", Kind::All, &[inner, c], &[]);
    let n = model.add("N", Kind::Plan, &[fragment], &[]);
    model.task("f", &[n]);
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "planned"), 3, "{story}");
        assert!(story.contains(r#""parts":["N-1-2"]"#), "{story}");
    }
}

#[test]
fn what_is_planned_again_leaves_what_has_nothing_to_do_with_it_alone() {
    let mut model = once();
    step(&mut model, "N", &[], &[&[("a", false)], &[("b", true)]]);
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    model.add("H", Kind::Any, &[x, y], &[]);
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "backtracked"), 0, "{story}");
        assert!(place(&story, "attempt_started", "y") == usize::MAX, "{story}");
    }
}
