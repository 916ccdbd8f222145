//! The order of judgement, through `step`: redirect > stop > base case holds > hard budget > nothing left to try.

use std::collections::BTreeSet;

use descent_core::{
    desired::{self, Work, WorkKey},
    event::{Event, Input, Leftovers, Scope},
    state::{AgentTrouble, Reason, RunStatus, objective::RequestKind},
};

use super::{
    model::Model,
    sim::{Faults, Sim, outcome},
};

/// All facts at once: requests of people, a verdict on the base case, a budget that is over, and a dead end.
struct Case {
    asked: &'static [RequestKind],
    holds: bool,
    has_budget: bool,
}

fn check(case: &Case, expected: (&str, &str)) -> Vec<Event> {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    if case.has_budget {
        model.constraints = ", \"budget\": {\"iterations\": 2}".to_owned();
    }
    let (_, b) = (model.task("a", &[]), model.task("b", &[]));
    model.never(b);
    let mut sim = Sim::new(&model, 1, 2, Faults { reads_back: true, ..Faults::default() });
    let made = if case.holds { BTreeSet::from(["a".to_owned()]) } else { BTreeSet::new() };
    sim.good_trees = BTreeSet::from([made]);
    if !case.holds {
        sim.good_trees.clear();
    }
    sim.begin();
    until_only_the_base_case_is_owed(&mut sim);
    for kind in case.asked {
        sim.ask(*kind);
    }
    let before = sim.events.len();
    let (key, effect) = desired::desired_work(&sim.world, &sim.session, 0).effects.remove(0);
    assert!(matches!(key, WorkKey::Judge(Scope::BaseCase, _)), "{key:?}");
    let event = sim.answer(&key, effect);
    sim.observe(event);
    let ended = sim.events[before..].iter().find_map(|event| match event {
        Event::Ended { result, reason, .. } => Some((result.word(), reason.word())),
        _ => None,
    });
    assert_eq!(ended, Some(expected), "{}", sim.story);
    sim.events
}

/// `a` is solved, `b` failed for good, and the new tree is not judged yet.
fn until_only_the_base_case_is_owed(sim: &mut Sim<'_>) {
    loop {
        let desired = desired::desired_work(&sim.world, &sim.session, 0);
        let has_worked = sim.world.state.run.spent.attempts == 2;
        let is_base = |key: &WorkKey| matches!(key, WorkKey::Judge(Scope::BaseCase, _));
        // The first verdict comes first, since nothing starts without it; then everything but the last one.
        let skips_base = sim.world.state.run.attempts_started > 0;
        let next = desired.effects.into_iter().find(|(key, _)| !(skips_base && is_base(key)));
        let Some((key, effect)) = next else {
            assert!(has_worked);
            return;
        };
        let event = match effect {
            Work::Attempt(intent) => Input::Ended {
                outcome: Box::new(outcome(i32::from(intent.atom.as_str() == "b"))),
                attempt: intent.id,
                epoch: intent.epoch,
            },
            effect => sim.answer(&key, effect),
        };
        sim.observe(event);
    }
}

#[test]
fn a_stop_comes_before_all_that_the_loop_finds() {
    let case = Case { asked: &[RequestKind::Stop], holds: true, has_budget: true };
    check(&case, ("stopped", "stopped"));
}

#[test]
fn a_redirect_is_obeyed_first_and_the_stop_behind_it_then() {
    let case =
        Case { asked: &[RequestKind::Stop, RequestKind::Redirect], holds: true, has_budget: true };
    check(&case, ("stopped", "stopped"));
}

#[test]
fn a_base_case_that_holds_comes_before_a_budget_that_is_over() {
    check(&Case { asked: &[], holds: true, has_budget: true }, ("completed", "base_case"));
}

#[test]
fn a_budget_that_is_over_comes_before_a_dead_end() {
    check(&Case { asked: &[], holds: false, has_budget: true }, ("exhausted", "budget.iterations"));
}

#[test]
fn a_dead_end_is_the_last_of_the_reasons() {
    check(&Case { asked: &[], holds: false, has_budget: false }, ("exhausted", "no_choice"));
}

#[test]
fn a_result_of_an_older_epoch_is_thrown_away() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    model.task("a", &[]);
    let mut sim = Sim::new(&model, 1, 1, Faults { reads_back: true, ..Faults::default() });
    sim.begin();
    while sim.world.state.run.in_flight.is_empty() {
        assert!(sim.turn());
    }
    let intent = sim.world.state.run.in_flight[0].clone();
    sim.ask(RequestKind::Redirect);
    sim.observe(Input::Tick);
    let serial = sim.world.state.serial;
    sim.observe(Input::Ended {
        attempt: intent.id,
        epoch: intent.epoch,
        outcome: Box::new(outcome(0)),
    });
    assert!(matches!(sim.events.last(), Some(Event::Discarded { .. })), "{}", sim.story);
    assert_eq!(sim.world.state.serial, serial, "nothing was committed");
    // The loop waits for the change, until who asked is gone.
    assert_eq!(sim.world.state.run.status.word(), "redirecting");
    sim.observe(Input::AskerGone);
    // Made again it has the same number: only the epoch marks the late result.
    while sim.world.state.run.in_flight.is_empty() {
        assert!(sim.turn());
    }
    let again = sim.world.state.run.in_flight[0].clone();
    assert!(again.epoch > intent.epoch);
    sim.observe(Input::Ended {
        attempt: again.id.clone(),
        epoch: intent.epoch,
        outcome: Box::new(outcome(1)),
    });
    let known = &sim.world.state.run.in_flight;
    assert!(known.iter().any(|one| one.id == again.id), "{}", sim.story);
    while sim.turn() {}
    assert_eq!(sim.world.state.run.status.word(), "completed");
}

#[test]
fn a_redirect_leaves_an_effect_outside_in_doubt_and_does_not_make_it_again() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    let a = model.task("a", &[]);
    model.nodes[a].is_external = true;
    let faults = Faults { reads_back: true, ..Faults::default() };
    let mut sim = Sim::new(&model, 1, 1, faults);
    sim.begin();
    while sim.world.state.run.in_flight.is_empty() {
        assert!(sim.turn());
    }
    sim.ask(RequestKind::Redirect);
    sim.observe(Input::Tick);
    let doubts = sim.events.iter().filter(|event| matches!(event, Event::InDoubt { .. }));
    assert_eq!(doubts.count(), 1, "{}", sim.story);
    assert!(sim.world.state.run.in_flight.is_empty(), "{}", sim.story);
}

#[test]
fn what_has_no_room_ends_the_run_in_order_and_the_next_run_takes_it_in() {
    let mut model = Model { max_attempts: 1, ..Model::default() };
    model.task("a", &[]);
    model.task("b", &[]);
    let faults = Faults { reads_back: true, ..Faults::default() };
    let mut sim = Sim::new(&model, 1, 2, faults);
    sim.begin();
    while sim.world.state.run.in_flight.len() < 2 {
        assert!(sim.turn());
    }
    let mut desired = desired::desired_work(&sim.world, &sim.session, 0).effects;
    desired.retain(|(_, work)| matches!(work, Work::Attempt(_)));
    let (key, work) = desired.remove(0);
    let Input::Ended { attempt, outcome, .. } = sim.answer(&key, work) else {
        panic!("the end of an attempt");
    };
    sim.observe(Input::NoRoom { why: "it is full".to_owned() });
    let run = &sim.world.state.run;
    assert_eq!(run.in_flight.len(), 2, "{}", sim.story);
    let result = &run.ending;
    assert_eq!(run.status, RunStatus::Stopped);
    assert_eq!(result.reason, Some(Reason::Unavailable));
    assert_eq!(result.code, Some(AgentTrouble::NoRoom));
    assert!(result.summary.starts_with("it is full; "));
    // It is told once: nothing more can be done until somebody made room.
    let serial = sim.world.state.serial;
    sim.observe(Input::NoRoom { why: "it is full".to_owned() });
    assert_eq!(sim.world.state.serial, serial);
    sim.session = sim.new_session();
    sim.begin_with(Leftovers { finished: vec![(attempt, *outcome)], ..Leftovers::default() });
    while sim.turn() {}
    let state = &sim.world.state;
    assert_eq!(state.run.status.word(), "completed", "{}", sim.story);
    // The other one cost nothing, and was made again.
    assert_eq!((state.run.spent.attempts, state.run.attempts_started), (2, 3));
    let adopted = |event: &&Event| matches!(event, Event::Adopted { .. });
    assert_eq!(sim.events.iter().filter(adopted).count(), 1);
}
