//! Jobs that a signal has stopped.

use super::*;

/// The time of the runtime goes on whenever nothing else does.
#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_continues_is_ended_long_before_its_time() {
    let world = World::new();
    for command in [
        "kill -STOP $$",
        "sh -c 'kill -STOP $$'; true",
        "sleep 60 & kill -STOP $$",
        "(setsid sleep 60 &); while ! kill -STOP $$; do :; done",
    ] {
        let job = Job { timeout: LONG * 100_000, ..world.job(command) };
        assert_eq!(run_it(&job).await.how, JobEnd::Signal(19), "{command}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_of_which_a_part_goes_on_keeps_its_time() {
    let world = World::new();
    let job = Job { timeout: LONG * 100, ..world.job("sleep 60 & sh -c 'kill -STOP $$'") };
    assert_eq!(run_it(&job).await.how, JobEnd::TimedOut);
}
