//! The smallest graphs on which plausible rules are wrong. G is any of a, b; H is any of x, y.

use descent_core::event::Event;
use descent_core::state::limits::INTERRUPTIONS_MAX;

use super::{
    model::{Kind, Model},
    sim::{Faults, Sim},
};

/// G and H, with the dependencies of their choices.
fn groups(x_deps: &[&str]) -> Model {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.add("G", Kind::Any, &[a, b], &[]);
    let deps: Vec<usize> = x_deps.iter().map(|id| model.ix(id)).collect();
    let (x, y) = (model.task("x", &deps), model.task("y", &[]));
    model.add("H", Kind::Any, &[x, y], &[]);
    model
}

fn last_needs(model: &mut Model, id: &str, deps: &[&str], needs: &[&str]) {
    let deps: Vec<usize> = deps.iter().map(|id| model.ix(id)).collect();
    let x = model.task(id, &deps);
    model.nodes[x].needs = needs.iter().map(|id| model.ix(id)).collect();
}

/// Runs it in many orders; gives the stories.
fn check(model: &Model, expected: &str) -> Vec<String> {
    let run = |seed: u64| {
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let mut sim =
            Sim::new(model, seed, slots, Faults { reads_back: true, ..Faults::default() });
        assert_eq!(sim.run(), expected, "seed {seed}\n{}", sim.story);
        sim.check_counts();
        sim.story
    };
    (0..12).map(run).collect()
}

#[test]
fn why_a_choice_was_given_up_is_remembered_when_the_other_fails() {
    let mut model = groups(&["G"]);
    let (x, y, b) = (model.ix("x"), model.ix("y"), model.ix("b"));
    model.nodes[x].needs = vec![b];
    model.never(y);
    check(&model, "completed");
}

#[test]
fn choices_given_up_under_one_alternative_come_back_under_another() {
    let mut model = groups(&[]);
    last_needs(&mut model, "F", &["G", "H"], &["b", "x"]);
    let stories = check(&model, "completed");
    assert!(stories.iter().all(|story| !story.contains("revived") || story.contains("parked")));
    assert!(stories.iter().any(|story| story.contains("revived")), "what was parked comes back");
}

#[test]
fn the_most_relevant_group_first_does_not_skip_the_other() {
    let mut model = groups(&[]);
    last_needs(&mut model, "F", &["G", "H"], &["a", "y"]);
    check(&model, "completed");
}

#[test]
fn an_atom_that_never_succeeds_ends_the_search_after_each_selection_once() {
    let mut model = groups(&[]);
    last_needs(&mut model, "F", &["G", "H"], &[]);
    let f = model.ix("F");
    model.never(f);
    for story in check(&model, "exhausted") {
        assert_eq!(story.matches("\"attempt_failed\"").count(), 4, "{story}");
    }
}

#[test]
fn the_dependency_of_a_parent_is_upstream_too() {
    let mut model = groups(&[]);
    last_needs(&mut model, "F", &[], &["b"]);
    let (f, g) = (model.ix("F"), model.ix("G"));
    model.add("P", Kind::All, &[f], &[g]);
    check(&model, "completed");
}

#[test]
fn a_group_inside_a_dependency_is_upstream_too() {
    let mut model = groups(&[]);
    let g = model.ix("G");
    model.add("D", Kind::All, &[g], &[]);
    last_needs(&mut model, "F", &["D"], &["b"]);
    check(&model, "completed");
}

#[test]
fn a_base_case_that_fails_with_all_resolved_changes_the_selection() {
    let mut model = groups(&[]);
    model.wanted = vec![model.ix("b"), model.ix("y")];
    for story in check(&model, "completed") {
        assert!(story.contains("\"refuted\""), "{story}");
    }
}

#[test]
fn a_group_in_an_alternative_not_selected_is_no_part_of_a_context() {
    let mut model = groups(&[]);
    let (p, q) = (model.task("p", &[model.ix("G")]), model.task("q", &[]));
    model.add("K", Kind::Any, &[q, p], &[]);
    last_needs(&mut model, "F", &["K"], &["b"]);
    model.wanted = vec![model.ix("b")];
    for story in check(&model, "completed") {
        assert!(
            story.matches("\"attempt_failed\"").count() <= 2,
            "once under q, once under a and p: {story}"
        );
    }
}

#[test]
fn a_commit_that_no_longer_applies_is_made_again() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    model.add("G", Kind::Any, &[a, b], &[]);
    model.task("r", &[a + 2]);
    model.nodes[3].deps.clear();
    model.wanted = vec![b];
    let repaired = (0..20).filter(|seed| {
        let mut sim = Sim::new(
            &model,
            *seed,
            1,
            Faults { dropped: 100, reads_back: true, ..Faults::default() },
        );
        assert_eq!(sim.run(), "completed", "{}", sim.story);
        let repairs =
            sim.events.iter().filter(|event| matches!(event, Event::Repair { .. })).count();
        assert!(repairs <= 3);
        repairs > 0
    });
    assert!(repaired.count() > 0, "it was dropped in some order");
}

#[test]
fn what_never_merges_is_made_again_so_often_and_no_more() {
    let mut model = Model { max_attempts: 2, ..Model::default() };
    model.task("a", &[]);
    let mut sim =
        Sim::new(&model, 1, 1, Faults { conflict: 100, reads_back: true, ..Faults::default() });
    assert_eq!(sim.run(), "exhausted");
    assert_eq!(sim.story.matches("\"attempt_started\"").count(), 4, "{}", sim.story);
}

#[test]
fn what_stays_transient_fails_after_its_retries() {
    let mut model = Model {
        max_attempts: 2,
        constraints: ", \"max_transient\": 2".to_owned(),
        ..Model::default()
    };
    model.task("a", &[]);
    let mut sim =
        Sim::new(&model, 1, 1, Faults { transient: 100, reads_back: true, ..Faults::default() });
    assert_eq!(sim.run(), "exhausted");
    assert_eq!(sim.story.matches("\"attempt_started\"").count(), 6, "{}", sim.story);
}

#[test]
fn an_atom_that_is_there_at_every_crash_fails_in_the_end() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    model.task("a", &[]);
    let mut sim = Sim::new(&model, 1, 1, Faults { reads_back: true, ..Faults::default() });
    sim.begin();
    for _ in 0..INTERRUPTIONS_MAX {
        while sim.world.state.run.in_flight.is_empty() {
            assert!(sim.turn(), "{}", sim.story);
        }
        sim.crash();
    }
    while sim.turn() {}
    assert_eq!(sim.world.state.run.status.word(), "exhausted", "{}", sim.story);
}
