//! Attempts that end at the same instant: what they did is one commit, whatever comes between.

use std::{collections::BTreeSet, convert::Infallible, fs, sync::Arc, time::Duration};

use descent_core::{
    event::{Event, Input, Observation},
    id::{RequestId, UnixMillis},
    state::{Extra, Intent, Request, RunStatus, State, objective::RequestKind},
    step,
    world::{Session, World},
};

use super::{
    Project, no_signals,
    played::{PlayedHands, Trees},
    simulated::SetClock,
    solved,
};
use crate::driver::RunEnding;
use descent_store::{Commit, CommitContent, StatePlace, Store, testing::faulty::Faulty};
use descent_system::failure::Failure;

const ATTEMPT: Duration = Duration::from_secs(4);
const EIO: i32 = 5;
const CALLS_MAX: usize = 2_000;

/// Three steps that wait for nothing, in one tree.
fn project() -> Project {
    Project::of(
        r#"{"objective": {"goal": "g", "background_intent": "w", "base_case": {"command": "test -e d"},
            "constraints": {"workspace": "shared", "max_parallel_agents": 3}}, "work_graph": {"atoms": {
              "a": {"kind": "task", "action": {"run": "touch a"}, "depends_on": []},
              "b": {"kind": "task", "action": {"run": "touch b"}, "depends_on": []},
              "c": {"kind": "task", "action": {"run": "touch c"}, "depends_on": []}}}}"#,
    )
}

async fn run(
    project: &Project,
    store: Store,
    at_end: fn(&StatePlace, &Intent),
    n: u32,
) -> Result<RunEnding, Failure> {
    run_recording(project, store, at_end, Duration::ZERO, n).await
}

async fn run_recording(
    project: &Project,
    store: Store,
    at_end: fn(&StatePlace, &Intent),
    recording: Duration,
    n: u32,
) -> Result<RunEnding, Failure> {
    let (clock, trees) = (SetClock::new(), Arc::<Trees>::default());
    let executor = PlayedHands {
        place: project.place(),
        clock: clock.clone(),
        trees,
        attempt: ATTEMPT,
        codes: Vec::new(),
        at_end,
        recording,
    };
    project.run(store, clock, Arc::new(executor), no_signals(), n).await
}

/// The commits that tell a result, each with its number of results.
fn landings(project: &Project, state: &State) -> Vec<usize> {
    let store = Store::open(project.place());
    let is_solved = |event: &&Event| matches!(event, Event::Solved { .. });
    let count = |commit: &Commit| commit.events.iter().filter(is_solved).count();
    let mut commits = store.history().commits(&state.lineage);
    commits.retain(|commit| !commit.is_edit());
    let serials: Vec<u64> = commits.iter().map(|commit| commit.serial.0).collect();
    let all = 1..=state.serial.0;
    assert!(serials.iter().copied().eq(all), "a gap: {serials:?}");
    let counts = commits.iter().map(count);
    counts.filter(|count| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn outcomes_that_arrive_together_are_one_commit() {
    let project = project();
    let store = Store::open(project.place());
    let ending = run(&project, store, |_, _| (), 1).await.unwrap();
    let state = ending.world.facts.state;
    assert_eq!(solved(&state), ["a", "b", "c"]);
    assert_eq!(landings(&project, &state), [3]);
    assert_eq!(state.run.attempts_started, 3);
    assert_eq!(project.state().serial, state.serial);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_comes_between_is_kept_and_so_are_the_outcomes() {
    let project = project();
    let edit = |place: &StatePlace, intent: &Intent| {
        if intent.atom.as_str() == "c" {
            let text = fs::read_to_string(&place.state).unwrap();
            let edited = text.replace("\"goal\": \"g\"", "\"goal\": \"another\"");
            assert_ne!(edited, text);
            fs::write(&place.state, edited).unwrap();
        }
    };
    let store = Store::open(project.place());
    let ending = run(&project, store, edit, 1).await.unwrap();
    let state = ending.world.facts.state;
    assert_eq!(state.objective.goal.as_str(), "another");
    assert_eq!(solved(&state), ["a", "b", "c"]);
    assert_eq!(landings(&project, &state), [3]);
    assert_eq!(state.run.attempts_started, 3);
}

/// The disk fails for good at each of its calls, as if the loop were killed there.
#[tokio::test(start_paused = true)]
async fn a_loop_that_dies_at_any_call_loses_no_outcome_that_was_committed() {
    for n in 0..CALLS_MAX {
        let project = project();
        let disk = Faulty::failing(n, true, EIO);
        let calls = disk.calls();
        let first = run(&project, disk.store(project.place()), |_, _| (), 1).await;
        let kept = Store::open(project.place()).read().unwrap();
        let kept: BTreeSet<String> = solved(&kept.state).into_iter().collect();
        // All three or none: a commit is whole.
        assert!([0, 3].contains(&kept.len()), "call {n}: {kept:?}");
        let store = Store::open(project.place());
        let next = run(&project, store, |_, _| (), 2).await;
        let state = next.unwrap_or_else(|e| panic!("call {n}: {e:?}")).world.facts.state;
        assert_eq!(solved(&state), ["a", "b", "c"], "call {n}");
        assert_ne!(state.run.status, RunStatus::Running, "call {n}");
        if calls.lock().unwrap().len() <= n {
            assert!(first.is_ok() && n > 20, "call {n}: {first:?}");
            return;
        }
    }
    panic!("no end of calls");
}

/// Asks for a stop as another process does.
fn stop(place: &StatePlace) {
    let mut store = Store::open(place.clone());
    let asked = store.commit(|loaded| {
        let request = Request {
            id: RequestId::new("r"),
            run: None,
            by: "a person".to_owned(),
            at: String::new(),
            kind: RequestKind::Stop,
            extra: Extra::default(),
        };
        let seen = Observation {
            now: UnixMillis(1_700_000_000_000),
            active_ms: 0,
            event: Input::Asked { request, reason: None },
        };
        let next = step::step(&World::new(loaded.state.clone()), &Session::default(), seen);
        Ok::<_, Infallible>(next.ok().map(|next| CommitContent {
            state: next.world.facts.state,
            touched: next.touched,
            at: next.at,
            events: next.events,
        }))
    });
    asked.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_takes_back_no_attempt_that_has_ended() {
    for last in ["a", "b", "c"] {
        let project = project();
        let at_end: fn(&StatePlace, &Intent) = match last {
            "a" => |place, intent| stop_at("a", place, intent),
            "b" => |place, intent| stop_at("b", place, intent),
            _ => |place, intent| stop_at("c", place, intent),
        };
        let store = Store::open(project.place());
        let ending = run(&project, store, at_end, 1).await.unwrap();
        let state = ending.world.facts.state;
        assert_eq!(state.run.status, RunStatus::Stopped, "{last}");
        assert_eq!(solved(&state), ["a", "b", "c"], "{last}");
        assert_eq!(state.run.attempts_started, 3, "{last}");
    }
}

/// The state after a stop that comes while three attempts are being recorded.
async fn stopped(recording: Duration) -> State {
    let project = project();
    let store = Store::open(project.place());
    let at_end = |place: &StatePlace, intent: &Intent| stop_at("c", place, intent);
    let ending = run_recording(&project, store, at_end, recording, 1).await;
    let state = ending.unwrap().world.facts.state;
    assert_eq!(state.run.status, RunStatus::Stopped);
    state
}

#[tokio::test(start_paused = true)]
async fn a_stop_takes_back_no_attempt_that_is_being_recorded() {
    let state = stopped(Duration::from_millis(1_500)).await;
    assert_eq!(solved(&state), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_recording_that_hangs() {
    let state = stopped(Duration::from_secs(3_600)).await;
    assert!(solved(&state).is_empty());
    let waited_ms = state.run.spent.active.ms - ATTEMPT.as_millis() as u64;
    assert!((1_900..2_100).contains(&waited_ms), "{waited_ms}");
}

fn stop_at(atom: &str, place: &StatePlace, intent: &Intent) {
    if intent.atom.as_str() == atom {
        stop(place);
    }
}
