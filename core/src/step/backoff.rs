//! The wait before another try.

use crate::id::Digest;

/// Exponential, from half a second to half a minute, with a jitter of a quarter drawn from `seed`: the same state
/// gives the same wait.
pub(super) fn backoff_ms(retry: u32, seed: &str) -> u64 {
    let full = 500u64
        .saturating_mul(1 << retry.saturating_sub(1).min(6))
        .min(30_000);
    let digest = Digest::of(seed.as_bytes());
    let jitter: u64 = digest.as_str().bytes().map(u64::from).sum::<u64>() % (full / 4).max(1);
    full - jitter
}
