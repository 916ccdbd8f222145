//! Speculation: choices tried side by side. G is any of a and P, P is all of b and c, and c waits for b.

use descent_core::event::Event;

use super::{
    model::{Kind, Model},
    sim::{Faults, Sim},
};

fn side_by_side() -> Model {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let a = model.task("a", &[]);
    let b = model.task("b", &[]);
    let c = model.task("c", &[b]);
    let p = model.add("P", Kind::All, &[b, c], &[]);
    let g = model.add("G", Kind::Any, &[a, p], &[]);
    model.nodes[g].is_speculative = true;
    model
}

/// Runs it in many orders, with everything read back at every commit; gives the stories.
fn check(model: &Model, slots: u32, expected: &str) -> Vec<String> {
    let run = |seed: u64| {
        let faults = Faults { reads_back: true, ..Faults::default() };
        let mut sim = Sim::new(model, seed, slots, faults);
        assert_eq!(sim.run(), expected, "seed {seed}\n{}", sim.story);
        sim.check_counts();
        sim.story
    };
    (0..40).map(run).collect()
}

fn place(story: &str, event: &str, atom: &str) -> Option<usize> {
    story
        .lines()
        .position(|line| line.contains(event) && line.contains(&format!(r#""atom":"{atom}""#)))
}

fn or_never(place: Option<usize>) -> usize {
    place.unwrap_or(usize::MAX)
}

#[test]
fn choices_are_tried_side_by_side_while_slots_are_free() {
    let mut model = side_by_side();
    let a = model.ix("a");
    model.never(a);
    for story in check(&model, 3, "completed") {
        let b = place(&story, "attempt_started", "b");
        let failed = or_never(place(&story, "attempt_failed", "a"));
        assert!(or_never(b) < failed, "{story}");
    }
}

#[test]
fn the_other_choices_wait_while_the_slots_are_taken() {
    let mut model = side_by_side();
    let a = model.ix("a");
    model.never(a);
    for story in check(&model, 1, "completed") {
        let b = place(&story, "attempt_started", "b");
        assert!(b > place(&story, "attempt_failed", "a"), "{story}");
    }
}

#[test]
fn what_must_be_done_anyway_comes_before_the_other_choices() {
    let mut model = side_by_side();
    model.task("x", &[]);
    for story in check(&model, 2, "completed") {
        let x = place(&story, "attempt_started", "x").expect("x is started");
        let b = place(&story, "attempt_started", "b");
        assert!(b.is_none_or(|b| b > x), "{story}");
    }
}

#[test]
fn the_first_choice_to_be_solved_is_adopted_and_the_others_end_at_no_cost() {
    let mut adopted = 0;
    let mut model = side_by_side();
    let a = model.ix("a");
    model.nodes[a].has_check = true;
    for seed in 0..40 {
        let mut sim = Sim::new(&model, seed, 3, Faults::default());
        assert_eq!(sim.run(), "completed", "{}", sim.story);
        let story = sim.story.clone();
        let solved = |atom| place(&story, r#""solved""#, atom);
        assert!(solved("a").is_none() || solved("c").is_none(), "one of them is enough: {story}");
        if solved("a").is_none() {
            adopted += 1;
            assert!(story.contains("P was solved first"), "{story}");
            assert!(place(&story, "attempt_failed", "a").is_none(), "{story}");
            assert!(place(&story, "interrupted", "a").is_some(), "{story}");
            let a = sim.world.state.atoms.get("a").and_then(|atom| atom.task());
            let counted = a.map(|task| task.tries.iter().map(|tried| tried.attempts).sum());
            assert_eq!(counted, Some(0), "it costs no attempt: {story}");
        }
    }
    assert!(adopted > 0, "none of 40: too few to tell");
}

#[test]
fn where_all_choices_fail_each_was_tried_once_and_the_run_ends() {
    let mut model = side_by_side();
    let (a, c) = (model.ix("a"), model.ix("c"));
    model.never(a);
    model.never(c);
    for story in check(&model, 3, "exhausted") {
        assert_eq!(story.matches("\"attempt_failed\"").count(), 2, "{story}");
        assert_eq!(story.matches("\"solved\"").count(), 1, "b once: {story}");
    }
}

#[test]
fn what_reaches_outside_is_not_tried_on_speculation() {
    let mut model = side_by_side();
    let (a, b) = (model.ix("a"), model.ix("b"));
    model.never(a);
    model.nodes[b].is_external = true;
    for story in check(&model, 3, "completed") {
        let b = place(&story, "attempt_started", "b");
        assert!(b > place(&story, "attempt_failed", "a"), "{story}");
    }
}

#[test]
fn a_crash_in_the_middle_of_speculation_costs_nothing() {
    let mut model = side_by_side();
    let a = model.ix("a");
    model.never(a);
    for seed in 0..60 {
        let faults = Faults { crash: 20, reads_back: true, ..Faults::default() };
        let mut sim = Sim::new(&model, seed, 3, faults);
        assert_eq!(sim.run(), "completed", "seed {seed}\n{}", sim.story);
        sim.check_counts();
    }
}

#[test]
fn two_groups_that_conflicts_tie_together_do_not_undo_each_other() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let (a, b) = (model.task("a", &[]), model.task("b", &[]));
    let g = model.add("G", Kind::Any, &[a, b], &[]);
    let (x, y) = (model.task("x", &[]), model.task("y", &[]));
    let h = model.add("H", Kind::Any, &[x, y], &[]);
    model.nodes[g].is_speculative = true;
    model.nodes[h].is_speculative = true;
    // Refutes (a, x) and (b, y), then (a, y), whichever comes first.
    model.wanted = vec![b, x];
    for story in check(&model, 3, "completed") {
        let adoptions = story.matches("was solved first").count();
        let refuted = story.matches("\"refuted\"").count();
        assert!(adoptions <= 2 * (refuted + 1), "{story}");
    }
}

#[test]
fn the_tree_of_what_is_tried_beside_holds_what_the_rest_has_made() {
    let mut model = side_by_side();
    let (a, x) = (model.ix("a"), model.task("x", &[]));
    model.never(a);
    let p = model.ix("P");
    model.nodes[p].deps.push(x);
    let mut sim = Sim::new(&model, 7, 3, Faults::default());
    assert_eq!(sim.run(), "completed", "{}", sim.story);
    let solved = sim.events.iter().filter_map(|event| match event {
        Event::Solved { atom, commit, .. } => Some((atom.as_str(), commit.clone()?)),
        _ => None,
    });
    for (atom, commit) in solved.filter(|(atom, _)| ["b", "c"].contains(atom)) {
        let tree = &sim.commits[commit.as_str()];
        assert!(tree.iter().any(|piece| piece.atom == "x"), "{atom} stands on x");
    }
}

/// The result has moved on with a part of the selected choice, and the tree beside it has not.
#[test]
fn what_is_tried_beside_and_cannot_be_checked_out_fails_at_once() {
    let mut model = side_by_side();
    let (a, g) = (model.ix("a"), model.ix("G"));
    model.nodes[g].kids.reverse();
    model.nodes[a].has_check = true;
    for seed in 0..40 {
        let faults = Faults { broken: 100, ..Faults::default() };
        let mut sim = Sim::new(&model, seed, 3, faults);
        assert_eq!(sim.run(), "completed", "seed {seed}\n{}", sim.story);
    }
}
