//! The wait before another try.

use crate::id::Digest;

/// From half a second to half a minute.
pub(super) fn backoff_ms(retry: u32, seed: &str) -> u64 {
    jittered_ms(growing_ms([500, 30_000], retry), seed)
}

/// The first length, twice as long each time up to the other.
pub(super) fn growing_ms([first_ms, most_ms]: [u64; 2], retry: u32) -> u64 {
    let doubled = first_ms.saturating_mul(1 << retry.saturating_sub(1).min(16));
    doubled.min(most_ms)
}

/// Less up to a quarter that is drawn from `seed`: the same state gives the same wait.
pub(super) fn jittered_ms(full_ms: u64, seed: &str) -> u64 {
    let digest = Digest::sha256(seed.as_bytes());
    let jitter: u64 = digest.as_str().bytes().map(u64::from).sum::<u64>() % (full_ms / 4).max(1);
    full_ms - jitter
}
