//! The vendors' own rule of retries: when a request may be repeated, and after which wait. One throttle a server: how many
//! questions go side by side, and a pause for all of them.
//!
//! Invariant: at most [`TRIES_MAX`] tries and [`WAITS_MAX`] of waits in one question. A longer wait is handed on.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::{StatusCode, header::HeaderMap};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

use super::{ModelError, ModelFault};
use descent_process::Timer;
use descent_system::clock;

/// Tries of a question at most.
pub const TRIES_MAX: u32 = 10;
/// All waits of one question at most.
pub(super) const WAITS_MAX: Duration = Duration::from_secs(60);

/// How often a model is asked that repeats the key in its answer.
const KEY_TRIES_MAX: u32 = 3;

const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 8_000;

/// The words of a server's headers about another try.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RetryWords {
    pub(super) may: Option<bool>,
    pub(super) after: Option<Duration>,
}

impl RetryWords {
    /// `now_ms` is the time of day, for a date.
    pub(super) fn of(headers: &HeaderMap, now_ms: u64) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let may = text("x-should-retry").and_then(|text| text.parse().ok());
        let millis = text("retry-after-ms").and_then(positive);
        let millis = millis.map(|ms| Duration::from_secs_f64((ms / 1_000.0).min(FAR_SECONDS)));
        let after = millis.or_else(|| after(text("retry-after")?.trim(), now_ms));
        Self { may, after }
    }
}

/// More than any wait: ten years.
const FAR_SECONDS: f64 = 315_360_000.0;

fn after(text: &str, now_ms: u64) -> Option<Duration> {
    if let Some(seconds) = positive(text) {
        return Some(Duration::from_secs_f64(seconds.min(FAR_SECONDS)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let at = u64::try_from(date.timestamp().as_millisecond()).ok()?;
    Some(Duration::from_millis(at.checked_sub(now_ms).filter(|left| *left > 0)?))
}

fn positive(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// The time of day, to which a server's dates are compared.
pub(super) fn time_ms() -> u64 {
    u64::try_from(clock::local().timestamp().as_millisecond()).unwrap_or_default()
}

/// Whether a request with this status may be repeated.
pub(super) fn may_repeat(status: StatusCode, words: RetryWords) -> bool {
    let by_status = matches!(status.as_u16(), 408 | 409 | 429 | 500..);
    words.may.unwrap_or(by_status)
}

/// Tries at most of a question that ends so.
pub(super) fn tries_max(error: &ModelError) -> u32 {
    if error.kind == ModelFault::SecretInAnswer { KEY_TRIES_MAX } else { TRIES_MAX }
}

/// The wait before the try after `tries`, where the server names none.
pub(super) fn own_wait(tries: u32) -> Duration {
    let full = FIRST_MS.saturating_mul(1 << tries.saturating_sub(1).min(8));
    Duration::from_millis(full.min(LONGEST_MS))
}

#[derive(Debug)]
pub(super) struct Throttle {
    turns: Semaphore,
    /// The end of the pause, since the throttle was made.
    paused_until: Mutex<Duration>,
    since: Timer,
}

impl Throttle {
    pub(super) fn new(side_by_side: usize) -> Self {
        Self {
            turns: Semaphore::new(side_by_side.max(1)),
            paused_until: Mutex::default(),
            since: Timer::start(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        // Every change is one assignment.
        self.paused_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody asks for so long.
    pub(super) fn pause(&self, length: Duration) {
        let until = self.since.elapsed().saturating_add(length);
        let mut paused_until = self.lock();
        *paused_until = until.max(*paused_until);
    }

    /// Waits for a turn; dropping it lets the next question go. An error is a pause that is longer than the patience.
    pub(super) async fn enter(
        &self,
        patience: Duration,
    ) -> Result<Option<SemaphorePermit<'_>>, Duration> {
        loop {
            let left = self.lock().saturating_sub(self.since.elapsed());
            if left > patience {
                return Err(left);
            }
            sleep(left).await;
            // It is never closed.
            let turn = self.turns.acquire().await.ok();
            if *self.lock() <= self.since.elapsed() {
                return Ok(turn);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn words(pairs: &[(&'static str, &'static str)]) -> RetryWords {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        // Wed, 25 Nov 2026 12:00:00 GMT
        RetryWords::of(&headers, 1_795_608_000_000)
    }

    #[test]
    fn a_wait_is_read_in_all_its_forms() {
        let seconds = |text| words(&[("retry-after", text)]).after;
        assert_eq!(seconds("20"), Some(Duration::from_secs(20)));
        assert_eq!(seconds("0.5"), Some(Duration::from_millis(500)));
        let dated = seconds("Wed, 25 Nov 2026 12:01:00 GMT");
        assert_eq!(dated, Some(Duration::from_secs(60)));
        assert_eq!(seconds("31536000"), Some(Duration::from_secs(31_536_000)));
        for nothing in ["", "0", "-3", "soon", "NaN", "Wed, 25 Nov 2020 12:01:00 GMT"] {
            assert_eq!(seconds(nothing), None, "{nothing}");
        }
        assert!(seconds("1e300").is_some());
        let both = words(&[("retry-after-ms", "30"), ("retry-after", "20")]);
        assert_eq!(both.after, Some(Duration::from_millis(30)));
    }

    #[test]
    fn the_server_decides_about_another_try_and_else_its_status() {
        let status = |code| StatusCode::from_u16(code).unwrap();
        for (code, may) in
            [(400, false), (401, false), (402, false), (403, false), (404, false), (413, false)]
                .into_iter()
                .chain([408, 409, 429, 500, 502, 503, 529].map(|code| (code, true)))
        {
            assert_eq!(may_repeat(status(code), words(&[])), may, "{code}");
            assert!(may_repeat(status(code), words(&[("x-should-retry", "true")])));
            assert!(!may_repeat(status(code), words(&[("x-should-retry", "false")])));
        }
    }

    #[test]
    fn own_waits_grow_to_eight_seconds() {
        for (tries, ms) in [(1, 500), (2, 1_000), (3, 2_000), (5, 8_000), (9, 8_000)] {
            assert_eq!(own_wait(tries), Duration::from_millis(ms));
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn so_many_go_side_by_side_and_the_next_goes_when_one_is_dropped() {
        let throttle = Throttle::new(2);
        let first = throttle.enter(MINUTE).await.unwrap();
        let _second = throttle.enter(MINUTE).await.unwrap();
        let mut third = Box::pin(throttle.enter(MINUTE));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn a_pause_holds_for_all_and_a_long_one_is_told() {
        let throttle = Throttle::new(1);
        throttle.pause(Duration::from_millis(30));
        let since = Timer::start();
        assert!(throttle.enter(MINUTE).await.is_ok());
        assert!(since.elapsed() >= Duration::from_millis(30));
        throttle.pause(MINUTE * 5);
        assert!(throttle.enter(MINUTE).await.unwrap_err() > MINUTE * 4);
    }
}
