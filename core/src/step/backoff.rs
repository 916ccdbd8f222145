//! The wait before another try.

use crate::id::Digest;

/// Exponential, from half a second to half a minute, with a jitter of a quarter drawn from `seed`: the same state
/// gives the same wait.
pub(super) fn backoff_ms(retry: u32, seed: &str) -> u64 {
    growing_ms(500, 30_000, retry, seed)
}

/// The same from one length to another.
pub(super) fn growing_ms(first_ms: u64, most_ms: u64, retry: u32, seed: &str) -> u64 {
    let full = first_ms
        .saturating_mul(1 << retry.saturating_sub(1).min(16))
        .min(most_ms);
    let digest = Digest::of(seed.as_bytes());
    let jitter: u64 = digest.as_str().bytes().map(u64::from).sum::<u64>() % (full / 4).max(1);
    full - jitter
}
