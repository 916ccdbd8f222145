//! A redirect that is requested of the loop: it waits for the change, until who asked is gone.

use descent_core::{
    change::{self, ChangeRefusal, Redirect},
    desired::desired_work,
    event::{Input, Observation},
    state::{EntryKind, RunStatus, State, record::RetireReason},
    step::{self, Transition},
    world::{Session, World},
};
use serde_json::{Value, json};

use super::{NOW, id, redirected, state};

fn requested(change: impl Fn(&mut Value)) -> State {
    state(|state| {
        state["control"]["redirect_requested"] = json!(true);
        state["control"]["request"] =
            json!({"id": "q", "run": "r", "by": "ada", "at": "then", "kind": "redirect"});
        change(state);
    })
}

fn observed(state: &State, input: Input) -> Transition {
    let seen = Observation { now: NOW, active_ms: 0, event: input };
    step::step(&World::new(state.clone()), &Session::new(8), seen).expect("a step")
}

#[test]
fn a_requested_redirect_ends_everything_and_starts_nothing_until_its_change_is_made() {
    let before = requested(|_| ());
    let waiting = observed(&before, Input::Tick);
    let state = &waiting.world.facts.state;
    assert_eq!(state.run.status, RunStatus::Redirecting);
    assert!(state.run.in_flight.is_empty() && change::is_redirect_open(state));
    let again = observed(state, Input::Tick);
    assert!(again.is_quiet && again.world.state.run.in_flight.is_empty());
    let idle = desired_work(&again.world, &again.session, 0);
    assert!(idle.effects.is_empty() && !idle.is_over);
    let redirect = Redirect { removed: vec![id("failed")], ..Redirect::default() };
    let made = redirected(state, &redirect).state;
    assert_eq!(made.run.status, RunStatus::Running);
    assert!(!made.control.redirect_requested && !change::is_redirect_open(&made));
}

#[test]
fn a_redirect_whose_asker_is_gone_or_takes_it_back_is_retired_with_a_record() {
    let waiting = observed(&requested(|_| ()), Input::Tick).world.facts.state;
    let gone = observed(&waiting, Input::AskerGone).world.facts.state;
    let back = change::abort_redirect(&waiting, NOW).expect("taken back").state;
    for (state, why) in [(gone, RetireReason::AskerGone), (back, RetireReason::TakenBack)] {
        assert_eq!(state.run.status, RunStatus::Running);
        assert!(!state.control.redirect_requested && state.control.request.is_none());
        let last = state.trail.last().map(|entry| &entry.kind);
        assert!(matches!(last, Some(EntryKind::RequestRetired(one)) if one.why == why), "{last:?}");
    }
    let none = change::abort_redirect(&state(|_| ()), NOW);
    assert!(matches!(none, Err(ChangeRefusal::NoDifference)));
}

#[test]
fn a_stop_is_obeyed_while_a_redirect_waits_for_its_change() {
    let waiting = observed(&requested(|_| ()), Input::Tick).world.facts.state;
    let stopped = state(|_| ()).control.clone();
    let mut asked = waiting.clone();
    let mut control = (*stopped).clone();
    control.stop_requested = true;
    control.redirect_requested = true;
    control.request.clone_from(&waiting.control.request);
    asked.control = control.into();
    let ended = observed(&asked, Input::Tick).world.facts.state;
    assert_eq!(ended.run.status, RunStatus::Stopped);
    let redirect = Redirect { goal: Some("another".to_owned()), ..Redirect::default() };
    assert_eq!(redirected(&ended, &redirect).state.run.status, RunStatus::Aligned);
}

#[test]
fn a_flag_that_a_person_sets_without_a_request_is_obeyed_once_and_cleared() {
    let before = state(|state| state["control"]["redirect_requested"] = json!(true));
    let ended = observed(&before, Input::Tick).world.facts.state;
    assert_eq!(ended.run.status, RunStatus::Running);
    assert!(!ended.control.redirect_requested);
    assert!(ended.run.epoch > before.run.epoch);
}
