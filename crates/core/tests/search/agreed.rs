//! A run does all that was agreed: it completes when the base case holds and every agreed root is resolved. At a dead
//! end it completes with open atoms too, if the base case holds on the tree that it delivers.

use std::collections::BTreeSet;

use descent_core::{doc::Node, step::run_end};

use super::{
    model::{Kind, Model},
    random::ROOMY,
    rng::Rng,
    sim::{Faults, Sim},
};

/// One root that is enough for the base case, and two more.
fn three() -> Model {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let enough = model.task("enough", &[]);
    model.task("other", &[]);
    model.task("third", &[]);
    model.enough = vec![enough];
    model
}

/// Runs it in many orders; gives the solved atoms of each, and those that the result names as open.
fn check(model: &Model, expected: &str) -> Vec<(BTreeSet<String>, BTreeSet<String>)> {
    let run = |seed: u64| {
        let slots = 1 + u32::try_from(seed % 3).expect("small");
        let faults = Faults { left_over: 20, reads_back: true, ..Faults::default() };
        let mut sim = Sim::new(model, seed, slots, faults);
        assert_eq!(sim.run(), expected, "seed {seed}\n{}", sim.story);
        sim.check_counts();
        let state = &sim.world.state;
        let result = run_end::last_result(&sim.world).expect("a result").node();
        let open = result.get("open").and_then(Node::as_array);
        let names = open.unwrap_or_default().iter();
        let names = names.filter_map(|one| Some(one.get("atom")?.as_str()?.to_owned()));
        let solved = state.bindings.keys().map(ToString::to_string);
        (solved.collect(), names.collect())
    };
    (0..24).map(run).collect()
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn every_agreed_root_is_resolved_although_the_base_case_holds_before() {
    for (solved, open) in check(&three(), "completed") {
        assert_eq!(solved, names(&["enough", "other", "third"]));
        assert_eq!(open, names(&[]));
    }
}

#[test]
fn a_run_that_may_finish_early_ends_at_the_first_verdict_that_holds() {
    let mut model = three();
    model.constraints = ", \"finish_early\": true".to_owned();
    let ends = check(&model, "completed");
    assert!(ends.iter().any(|(_, open)| !open.is_empty()), "some end with open atoms: {ends:?}");
    for (solved, open) in ends {
        assert!(solved.contains("enough"));
        assert!(solved.is_disjoint(&open), "{solved:?} {open:?}");
    }
}

#[test]
fn at_a_dead_end_what_is_ready_comes_to_its_end_and_the_base_case_decides() {
    let mut model = three();
    let other = model.ix("other");
    model.never(other);
    for (solved, open) in check(&model, "completed") {
        assert_eq!(solved, names(&["enough", "third"]));
        assert_eq!(open, names(&["other"]));
    }
}

#[test]
fn at_a_dead_end_where_the_base_case_does_not_hold_the_run_is_exhausted() {
    let mut model = three();
    let enough = model.ix("enough");
    model.never(enough);
    for (solved, _) in check(&model, "exhausted") {
        assert_eq!(solved, names(&["other", "third"]));
    }
}

#[test]
fn a_hard_budget_completes_where_the_base_case_holds_on_the_delivered_tree() {
    let mut model = three();
    model.constraints = ", \"budget\": {\"iterations\": 2}, \"max_parallel_agents\": 1".to_owned();
    let ends = check(&model, "completed");
    for (solved, open) in ends {
        assert_eq!(solved, names(&["enough", "other"]));
        assert_eq!(open, names(&["third"]));
    }
}

/// A random graph whose base case needs only some of its tasks.
fn some_are_enough(seed: u64) -> Model {
    let mut rng = Rng::new(seed);
    let mut model = Model::random_with(&mut rng, 0);
    model.constraints = ROOMY.to_owned();
    model.wanted.clear();
    let is_seen = |x: &usize| model.nodes[*x].kind == Kind::Task && !model.nodes[*x].is_silent;
    let tasks: Vec<usize> = (0..model.nodes.len()).filter(is_seen).collect();
    model.enough = tasks.into_iter().filter(|_| rng.percent(20)).collect();
    model.wanted.clone_from(&model.enough);
    model
}

#[test]
fn a_run_completes_with_open_atoms_only_where_no_selection_solves_all_and_the_delivered_tree_holds()
{
    let (mut whole, mut partial, mut exhausted) = (0, 0, 0);
    for seed in 0..1_500 {
        let model = some_are_enough(seed);
        if model.enough.is_empty() {
            continue;
        }
        let faults = Faults { left_over: 10, ..Faults::default() };
        let mut sim = Sim::new(&model, seed, 1 + u32::try_from(seed % 3).expect("small"), faults);
        let word = sim.run();
        let state = &sim.world.state;
        let result = run_end::last_result(&sim.world).expect("a result").node();
        let is_open = result.get("open").is_some();
        match (word, model.is_solvable()) {
            ("completed", true) => whole += 1,
            ("completed", false) => partial += 1,
            ("exhausted", false) => exhausted += 1,
            other => panic!("seed {seed}: {other:?}\n{}", sim.story),
        }
        assert!(!(is_open && model.is_solvable()), "seed {seed}\n{}", sim.story);
        if word == "completed" {
            let tree = &sim.commits[state.run.result().expect("a commit").as_str()];
            let is_there = |x: &usize| {
                let mut pieces = tree.iter();
                pieces.any(|piece| piece.atom == model.nodes[*x].id && piece.is_good)
            };
            assert!(model.enough.iter().all(is_there), "seed {seed}\n{}", sim.story);
        }
    }
    assert!(
        whole > 100 && partial > 20 && exhausted > 100,
        "{whole} whole, {partial} partial, {exhausted} exhausted: too few to tell"
    );
}
