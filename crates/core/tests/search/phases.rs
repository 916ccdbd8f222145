//! The budget of a phase: N is a planning step, and F waits for its fragment.

use descent_core::event::Event;

use super::{
    model::{Kind, Model},
    planning::{check, count, once, place, step},
    sim::{Faults, Sim},
};

/// N plans these tasks, round after round, each within so many attempts or milliseconds; F, which is enough, waits.
fn phase(
    budget: (Option<u32>, Option<u64>),
    rounds: &[&[(&str, bool)]],
    takes_a_part: bool,
) -> Model {
    let mut model = once();
    let n = step(&mut model, "N", &[], rounds);
    let f = model.task("f", &[n]);
    model.nodes[n].budget = budget;
    model.nodes[n].target = Some(f);
    model.nodes[f].accepts_partial = takes_a_part;
    model.enough = vec![f];
    model
}

const THREE: &[(&str, bool)] = &[("a", true), ("b", true), ("c", true)];

#[test]
fn what_a_budget_leaves_open_is_dropped_and_the_target_begins_without_it() {
    for story in check(&phase((Some(2), None), &[THREE], true), "completed") {
        assert_eq!(count(&story, "phase_over"), 1, "{story}");
        assert!(story.contains(r#""missing":["N-3"]"#), "{story}");
        assert_eq!(place(&story, "attempt_started", "N-3"), usize::MAX, "{story}");
        assert_eq!(count(&story, "planned"), 1, "{story}");
    }
}

#[test]
fn a_plan_that_is_done_within_its_budget_is_whole() {
    for story in check(&phase((Some(3), None), &[THREE], true), "completed") {
        assert_eq!(count(&story, "phase_over"), 0, "{story}");
    }
}

#[test]
fn without_a_target_that_takes_a_part_the_plan_failed_and_another_is_asked_for() {
    let rounds: &[&[(&str, bool)]] = &[THREE, &[("d", true)]];
    for story in check(&phase((Some(2), None), rounds, false), "completed") {
        assert_eq!(count(&story, "phase_over"), 1, "{story}");
        assert_eq!(count(&story, "planned"), 2, "{story}");
        assert!(place(&story, "parked", "N-1") < usize::MAX, "{story}");
    }
    for story in check(&phase((Some(2), None), &[THREE], false), "exhausted") {
        assert_eq!(place(&story, "attempt_started", "f"), usize::MAX, "{story}");
    }
}

#[test]
fn a_plan_of_which_nothing_was_done_is_no_partial_result() {
    let all_fail: &[(&str, bool)] = &[("a", false), ("b", false)];
    let mut model = phase((Some(1), None), &[all_fail], true);
    model.max_attempts = 2;
    for story in check(&model, "exhausted") {
        assert_eq!(place(&story, "attempt_started", "f"), usize::MAX, "{story}");
    }
}

/// A failure inside of a dropped part says nothing any more.
#[test]
fn what_failed_before_it_was_dropped_keeps_nobody_from_going_on() {
    let mut model = phase((Some(2), None), &[&[("a", true), ("b", false)]], true);
    let (a, b) = (model.ix("a"), model.ix("b"));
    model.nodes[b].deps = vec![a];
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    model.never(x);
    let f = model.ix("f");
    model.add("H", Kind::Any, &[x, y], &[f]);
    model.enough = vec![f, y];
    for story in check(&model, "completed") {
        assert!(story.contains(r#""missing":["N-2"]"#), "{story}");
        assert_eq!(count(&story, "planned"), 1, "{story}");
    }
}

#[test]
fn when_its_time_is_over_what_is_under_way_ends_at_no_cost() {
    let model = phase((None, Some(7)), &[THREE], true);
    let (mut partial, mut cut_off) = (0, 0);
    for seed in 0..40 {
        let mut sim = Sim::new(&model, seed, 2, Faults::default());
        let word = sim.run();
        let over: Vec<bool> = sim
            .events
            .iter()
            .filter_map(|event| match event {
                Event::PhaseOver { limit, is_partial, .. } => {
                    assert_eq!(limit.word(), "time");
                    Some(*is_partial)
                }
                _ => None,
            })
            .collect();
        let is_done = over.iter().all(|is_partial| *is_partial);
        assert_eq!(word == "completed", is_done, "{}", sim.story);
        partial += usize::from(over == [true]);
        cut_off += usize::from(over == [true] && count(&sim.story, "interrupted") > 0);
        sim.check_counts();
    }
    assert!(partial > 5 && cut_off > 2, "{partial} in part, {cut_off} with attempts cut off");
}

#[test]
fn attempts_inside_a_plan_within_a_plan_count_for_both() {
    let mut model = once();
    let inner = step(&mut model, "M", &[], &[&[("a", true), ("b", true)]]);
    let c = model.task("c", &[]);
    let outer = model.add("outer", Kind::All, &[c, inner], &[]);
    let n = model.add("N", Kind::Plan, &[outer], &[]);
    let f = model.task("f", &[n]);
    // c, the attempt that plans M, and one of its tasks.
    model.nodes[n].budget = (Some(3), None);
    model.nodes[n].target = Some(f);
    model.nodes[f].accepts_partial = true;
    model.enough = vec![f];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "phase_over"), 1, "{story}");
        let solved = count(&story, "solved") + count(&story, "planned");
        assert_eq!(solved, 1 + 3 + 1, "N, three of its plan, and f: {story}");
    }
}

#[test]
fn a_step_inside_a_plan_is_given_no_more_than_is_left() {
    let mut model = once();
    let inner = step(&mut model, "M", &[], &[&[("a", true)]]);
    let outer = model.add("outer", Kind::All, &[inner], &[]);
    let n = model.add("N", Kind::Plan, &[outer], &[]);
    model.nodes[n].budget = (Some(3), None);
    model.nodes[inner].budget = (Some(4), None);
    for story in check(&model, "exhausted") {
        assert!(story.contains("its budget is 4 attempts, 3 are left"), "{story}");
    }
}

/// F accepts a part, but fails with it: then the plan failed like any other.
#[test]
fn a_target_that_fails_with_a_part_asks_for_another_plan() {
    let rounds: &[&[(&str, bool)]] = &[THREE, &[("d", true)]];
    let mut model = phase((Some(2), None), rounds, true);
    let (n, f) = (model.ix("N"), model.ix("f"));
    model.nodes[f].needs = vec![model.nodes[n].kids[1]];
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "phase_over"), 1, "{story}");
        assert_eq!(count(&story, "planned"), 2, "{story}");
    }
}

/// The first attempt of a fails: with b there is room for two of the three attempts that the whole would need.
#[test]
fn an_attempt_that_fails_takes_of_the_budget_too() {
    let mut model = phase((Some(2), None), &[&[("a", true), ("b", true)]], true);
    model.max_attempts = 2;
    let a = model.ix("a");
    model.nodes[a].outcome = 2;
    for story in check(&model, "completed") {
        assert_eq!(count(&story, "phase_over"), 1, "{story}");
        assert_eq!(story.matches(r#""event":"solved","#).count(), 2, "{story}");
    }
}

/// With b the plan was whole, and f failed under it; with c its budget is over. Without G it would count as a plan that
/// f was not tried with, again and again.
#[test]
fn what_was_whole_once_is_no_partial_result_later() {
    let mut model = once();
    let a = model.task("a", &[]);
    let (b, c) = (model.task("b", &[]), model.task("c", &[]));
    model.never(c);
    let g = model.add("G", Kind::Any, &[b, c], &[]);
    let fragment = model.add("round", Kind::All, &[a, g], &[]);
    let n = model.add("N", Kind::Plan, &[fragment], &[]);
    let f = model.task("f", &[n]);
    model.never(f);
    model.nodes[n].budget = (Some(3), None);
    model.nodes[n].target = Some(f);
    model.nodes[f].accepts_partial = true;
    for story in check(&model, "exhausted") {
        assert!(story.contains(r#""is_partial":false"#), "{story}");
        assert_eq!(story.matches(r#""atom":"f","n""#).count(), 1, "{story}");
    }
}
