//! Runs whose clock, disk, programs or person fail.

use std::{fs, process::Command, sync::Arc, time::Duration};

use descent_core::{id::RunId, state::RunStatus};

use super::{
    Project, bell,
    failing::{FailingPrograms, Fate},
    is_there, no_signals,
    played::{PlayedHands, Trees},
    simulated::SetClock,
    solved,
};
use crate::driver::{Agents, RealExecutor, RunEnding};
use descent_process::{Programs, programs};
use descent_store::{Store, testing::faulty::Faulty};
use descent_system::{clock, failure::Failure, signal::Signal};
use descent_workspace::Workspaces;

/// The loop reads its file every second, so longer attempts only repeat that.
const ATTEMPT: Duration = Duration::from_secs(4);
const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;
const EIO: i32 = 5;
const CALLS_MAX: usize = 2_000;

fn executor(
    project: &Project,
    clock: &Arc<SetClock>,
    trees: &Arc<Trees>,
    codes: &[i32],
) -> Arc<PlayedHands> {
    Arc::new(PlayedHands {
        place: project.place(),
        clock: clock.clone(),
        trees: trees.clone(),
        attempt: ATTEMPT,
        codes: codes.to_vec(),
        at_end: |_, _| (),
        recording: Duration::ZERO,
    })
}

#[tokio::test(start_paused = true)]
async fn attempts_and_backoffs_take_their_time_on_a_set_clock_alone() {
    let (project, clock, trees) = (Project::new(""), SetClock::new(), Arc::default());
    let store = Store::open(project.place());
    let executor = executor(&project, &clock, &trees, &[75, 75]);
    let ending = project.run(store, clock.clone(), executor, no_signals(), 1).await.unwrap();
    let run = &ending.world.state.run;
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!(*trees.begun.lock().unwrap(), ["a", "a", "a", "b", "c"]);
    assert_eq!(*trees.delivered.lock().unwrap(), run.head);
    assert!(run.spent.active.ms >= 5 * 4_000, "{:?}", run.spent);
}

#[tokio::test(start_paused = true)]
async fn a_clock_put_ten_years_on_or_back_takes_nothing_of_the_budget() {
    for by_ms in [TEN_YEARS_MS, -TEN_YEARS_MS] {
        let project = Project::new(r#", "budget": {"time": "10m"}"#);
        let (clock, trees) = (SetClock::new(), Arc::default());
        let store = Store::open(project.place());
        let executor = executor(&project, &clock, &trees, &[75]);
        let run = project.run(store, clock.clone(), executor, no_signals(), 1);
        let jump = async {
            tokio::time::sleep(ATTEMPT / 2).await;
            clock.put_forward(by_ms);
        };
        let (ending, ()) = tokio::join!(run, jump);
        let run = &ending.unwrap().world.state.run;
        assert_eq!(run.status, RunStatus::Completed, "{by_ms}");
        assert!(run.spent.active.ms < 600_000, "{:?}", run.spent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_file_that_is_corrected_an_hour_later_takes_nothing_of_the_budget() {
    let project = Project::new(r#", "budget": {"time": "10m"}"#);
    let (clock, trees) = (SetClock::new(), Arc::default());
    let store = Store::open(project.place());
    let executor = executor(&project, &clock, &trees, &[75]);
    let state = project.place().state;
    let run = project.run(store, clock.clone(), executor, no_signals(), 1);
    let edit = async {
        tokio::time::sleep(ATTEMPT / 2).await;
        let whole = fs::read(&state).unwrap();
        fs::write(&state, &whole[..whole.len() / 2]).unwrap();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        fs::write(&state, &whole).unwrap();
    };
    let (ending, ()) = tokio::join!(run, edit);
    let run = &ending.unwrap().world.state.run;
    assert_eq!(run.status, RunStatus::Completed);
    let attempts_ms = 4 * u64::try_from(ATTEMPT.as_millis()).unwrap();
    assert!((attempts_ms..600_000).contains(&run.spent.active.ms), "{:?}", run.spent);
}

#[tokio::test(start_paused = true)]
async fn a_signal_stops_a_run_and_the_next_goes_on_from_there() {
    let (project, clock, trees) = (Project::new(""), SetClock::new(), Arc::default());
    let (bell, signals) = bell();
    let executor = executor(&project, &clock, &trees, &[]);
    let store = Store::open(project.place());
    let run = project.run(store, clock.clone(), executor.clone(), signals, 1);
    let ring = async {
        tokio::time::sleep(ATTEMPT * 3 / 2).await;
        bell.send(Signal::Terminate).await.unwrap();
    };
    let (ending, ()) = tokio::join!(run, ring);
    let ending = ending.unwrap();
    assert_eq!(ending.signal, Some(Signal::Terminate));
    assert_eq!(ending.world.state.run.status, RunStatus::Stopped);
    assert_eq!(solved(&project.state()), ["a"]);
    let store = Store::open(project.place());
    let ending = project.run(store, clock, executor, no_signals(), 2).await;
    assert_eq!(ending.unwrap().world.state.run.status, RunStatus::Completed);
    assert_eq!(*trees.begun.lock().unwrap(), ["a", "b", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_ends_the_run_as_a_bug_and_the_next_one_goes_on() {
    let (project, clock, trees) = (Project::new(""), SetClock::new(), Arc::default());
    let good = || Arc::into_inner(executor(&project, &clock, &trees, &[])).unwrap();
    let broken = PlayedHands { at_end: |_, _| panic!("as planted"), ..good() };
    let store = Store::open(project.place());
    let run = project.run(store, clock.clone(), Arc::new(broken), no_signals(), 1);
    let ended = tokio::time::timeout(Duration::from_secs(3_600), run).await;
    let failure = ended.expect("it goes on for ever").unwrap_err();
    assert_eq!(failure.code, "E-BUG");
    assert!(failure.message.contains("as planted"), "{failure}");
    let store = Store::open(project.place());
    let ending = project.run(store, clock.clone(), Arc::new(good()), no_signals(), 2).await;
    assert_eq!(ending.unwrap().world.state.run.status, RunStatus::Completed);
    assert_eq!(*trees.begun.lock().unwrap(), ["a", "a", "b", "c"]);
}

/// Samples the calls in steps, since every run here makes the same few calls again and again.
#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_ends_the_run_and_the_next_one_loses_nothing() {
    const STEP: usize = 7;
    for for_good in [false, true] {
        for n in (0..CALLS_MAX).step_by(STEP) {
            let (project, clock, trees) = (Project::new(""), SetClock::new(), Arc::default());
            let disk = Faulty::failing(n, for_good, EIO);
            let calls = disk.calls();
            let executor = executor(&project, &clock, &trees, &[]);
            let store = disk.store(project.place());
            let first = project.run(store, clock.clone(), executor.clone(), no_signals(), 1);
            let case = match first.await {
                Ok(ending) => {
                    assert_eq!(ending.world.state.run.status, RunStatus::Completed, "{n}");
                    "it went well".to_owned()
                }
                Err(failure) => {
                    assert_eq!(failure.exit, 74, "call {n}: {failure:?}");
                    failure.message
                }
            };
            let store = Store::open(project.place());
            let next = project.run(store, clock, executor, no_signals(), 2).await;
            let state =
                next.unwrap_or_else(|e| panic!("call {n}: {case}: {e:?}")).world.facts.state;
            assert_eq!(state.run.status, RunStatus::Completed, "call {n}: {case}");
            assert_eq!(solved(&state), ["a", "b", "c"], "call {n}: {case}");
            if calls.lock().unwrap().len() <= n {
                assert!(n > 20, "only {n} calls: the disk under test was not used");
                break;
            }
        }
    }
}

/// Each sampled call fails once: there is room again at the next try.
#[tokio::test(start_paused = true)]
async fn a_disk_that_was_full_for_a_while_ends_no_run_that_has_begun_and_nothing_is_made_twice() {
    const STEP: usize = 5;
    const ENOSPC: i32 = 28;
    let mut waited = 0;
    for n in (0..CALLS_MAX).step_by(STEP) {
        let (project, clock, trees) = (Project::new(""), SetClock::new(), Arc::default());
        let disk = Faulty::failing(n, false, ENOSPC);
        let calls = disk.calls();
        let executor = executor(&project, &clock, &trees, &[]);
        let store = disk.store(project.place());
        let ran = project.run(store, clock, executor, no_signals(), 1).await;
        let begun = trees.begun.lock().unwrap().clone();
        match ran {
            Ok(ending) => {
                let status = ending.world.state.run.status;
                assert_eq!(status, RunStatus::Completed, "call {n}");
                assert_eq!(begun, ["a", "b", "c"], "call {n}");
                waited += 1;
            }
            // The first commit: nothing has begun, and a person is there.
            Err(failure) => {
                assert_eq!(failure.code, "E-MACHINE", "call {n}: {failure:?}");
                assert!(begun.is_empty(), "call {n}: {begun:?}");
            }
        }
        if calls.lock().unwrap().len() <= n {
            assert!(waited > 10, "only {waited} runs went on");
            break;
        }
    }
}

fn git(project: &Project, args: &[&str]) {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut git = Command::new("git");
    let ran = git.current_dir(project.path()).args(who).args(args).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "git {args:?}: {ran:?}");
}

/// A run in a repository of the project, with these programs.
async fn real_run(
    project: &Project,
    programs: Arc<dyn Programs>,
    n: u32,
) -> Result<(RunEnding, Workspaces), Failure> {
    let place = project.place();
    let state = project.state();
    let cache = project.path().with_file_name("cache");
    let constraints = &state.objective.constraints;
    let workspaces = Workspaces::open_in(
        Arc::clone(&programs),
        Some(cache),
        &place,
        &state.lineage,
        constraints,
    )?;
    let path = std::env::var_os("PATH").unwrap();
    let clock = clock::real();
    let executor = RealExecutor {
        place: place.clone(),
        run: RunId::new(format!("run{n}")),
        workspaces: workspaces.clone(),
        agents: Agents::default(),
        environment: vec![("PATH".into(), path)].into(),
        programs,
        clock: Arc::clone(&clock),
        measuring: Arc::new(|_, _| ()),
        usage: Default::default(),
        held: crate::driver::PendingOutcomes::default(),
        sessions: crate::driver::Sessions::default(),
        ports: Default::default(),
        evidence: Arc::new(descent_store::evidence::EvidenceStore::of(&place, Box::new(|_| ()))),
    };
    let store = Store::open(place);
    let ending = project.run(store, clock, Arc::new(executor), no_signals(), n);
    Ok((ending.await?, workspaces))
}

async fn fails_and_goes_on(at: usize, fate: Fate) -> usize {
    let project = Project::new("");
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "start"]);
    let programs = Arc::new(FailingPrograms::new(at, fate));
    let first = real_run(&project, programs.clone(), 1).await;
    if let Err(failure) = &first {
        assert_ne!(failure.exit, descent_system::failure::exit::BUG, "{failure:?}");
        assert!(!failure.hint.is_empty(), "{failure:?}");
    }
    let next = real_run(&project, programs::real(), 2).await;
    let (ending, workspaces) = next.unwrap_or_else(|e| panic!("{fate:?} {at}: {first:?}: {e:?}"));
    let state = &ending.world.facts.state;
    assert_eq!(state.run.status, RunStatus::Completed, "{fate:?} {at}: {first:?}");
    assert_eq!(solved(state), ["a", "b", "c"], "{fate:?} {at}");
    if fate == Fate::Refused {
        assert_eq!(state.run.spent.attempts, 3, "what did not start has cost");
    }
    let result = workspaces.path_of_result();
    assert!(is_there(&result, &["a", "b", "c"]), "{fate:?} {at}: {first:?}");
    programs.begun()
}

/// Sampled, since each takes a run in a repository.
#[tokio::test]
async fn a_program_that_fails_ends_the_run_told_and_the_next_one_goes_on() {
    const STEP: usize = 31;
    for fate in [Fate::Refused, Fate::Killed] {
        let mut at = if fate == Fate::Refused { 0 } else { STEP / 2 };
        while fails_and_goes_on(at, fate).await > at {
            at += STEP;
            assert!(at < CALLS_MAX, "no end of programs");
        }
        assert!(at > 20, "only {at}: the programs under test were not used");
    }
}
