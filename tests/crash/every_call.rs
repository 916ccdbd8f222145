//! A whole session whose loops are killed at their N-th system call, for every N or a fair sample of them. It is killed
//! again while they resume. It ends as an undisturbed one does.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    chance::{self, Rng},
    notices::{self, run_killed_at},
    passed_over::{Lack, passed_over},
    quiet::runs_inside,
    session::{Ending, Session},
    undisturbed::side_by_side,
};

/// Sessions at once. They are more than small machines have cores, since each of them mostly waits.
const SIDE_BY_SIDE: u64 = 4;
/// Kills of one session after its first.
const RESUMES_KILLED: u64 = 3;

/// Kills the session's loops after each of `gaps`, counted from the last kill. Returns the calls.
fn play(session: &mut Session, gaps: &[u64]) -> u64 {
    let (mut gaps, mut left, mut calls) = (gaps.iter().copied(), None, 0);
    session.play(|world, command| {
        left = left.or_else(|| gaps.next());
        let Some(at) = left else {
            return Ending::Code(world.descent(&["run", "--json"]).code.expect("an exit code"));
        };
        let (status, seen) = run_killed_at(command, at);
        let ending = status.code().map_or(Ending::Killed, Ending::Code);
        calls += seen;
        left = (ending != Ending::Killed).then(|| at - seen);
        ending
    });
    calls
}

/// One of every so many calls, at a place that the seed chooses.
fn sample(calls: u64, times: u64) -> Vec<u64> {
    let mut rng = Rng::new(chance::seed());
    let stride = (calls / times).max(1);
    let place = |n: u64| 1 + n * calls / times + rng.below(stride);
    (0..times).map(place).collect()
}

/// Kills sessions as given, side by side; each ends like the calm one.
fn check_killed(
    name: &str,
    times: impl Fn(u64) -> u64,
    gaps: impl Fn(u64, u64) -> Vec<u64> + Sync,
) {
    if !notices::are_here() {
        let why = Lack::Machine("the kernel tells none (Linux 5.19, seccomp)");
        return passed_over("kills at system calls", why);
    }
    if runs_inside(name) {
        return;
    }
    let mut calm = Session::new();
    let calls = play(&mut calm, &[u64::MAX]);
    let wanted = calm.check(0);
    let times = times(calls);
    let points = sample(calls, times);
    let (kills, planned, next) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    side_by_side(SIDE_BY_SIDE, times, |_| {
        let n = next.fetch_add(1, Ordering::Relaxed);
        let gaps = gaps(points[usize::try_from(n).unwrap()], calls);
        planned.fetch_add(gaps.len() as u64, Ordering::Relaxed);
        let mut session = Session::new();
        let told = Told(format!("seed {}: killed at {gaps:?}", chance::seed()));
        play(&mut session, &gaps);
        assert_eq!(session.check(n), wanted, "{:?}", session.endings);
        std::mem::forget(told);
        let killed = session.endings.iter().filter(|one| **one == Ending::Killed);
        kills.fetch_add(killed.count() as u64, Ordering::Relaxed);
    });
    let (kills, planned) = (kills.into_inner(), planned.into_inner());
    println!(
        "{kills} kills in {times} sessions, each at another of its {calls} calls that can be told from outside; seed {}",
        chance::seed()
    );
    assert!(calls > 100 && 4 * kills >= 3 * planned, "too little was tried: {kills} of {planned}");
}

/// The fault of a failing session.
pub struct Told(pub String);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("failed: {}", self.0);
    }
}

#[test]
fn killed_at_any_system_call_the_session_ends_as_an_undisturbed_one() {
    let is_all = chance::count("KILLS_ALL", 0) != 0;
    let times = |calls| {
        if is_all { calls } else { chance::count("KILLS_EACH", 12).min(calls) }
    };
    check_killed(
        "calls::every_call::killed_at_any_system_call_the_session_ends_as_an_undisturbed_one",
        times,
        |point, _| vec![point],
    );
}

#[test]
fn killed_again_while_it_resumes_the_session_ends_as_an_undisturbed_one() {
    check_killed(
        "calls::every_call::killed_again_while_it_resumes_the_session_ends_as_an_undisturbed_one",
        |_| chance::count("KILLS_AGAIN", 12).div_ceil(RESUMES_KILLED),
        |point, calls| {
            let mut rng = Rng::new(chance::seed() ^ point);
            // A resume begins with repairs: half of these kills fall into it.
            let again = |_| match rng.below(2) {
                0 => 1 + rng.below(200),
                _ => 1 + rng.below(calls / 4),
            };
            // The rest of the session must be long enough for all of them.
            let first = 1 + point / 2;
            [first].into_iter().chain((0..RESUMES_KILLED).map(again)).collect()
        },
    );
}
