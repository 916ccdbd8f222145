//! Waits for a provider that takes no more for now, or is down: how long each is, and how many there are.
//!
//! Invariant: an agent waits only so often before its provider answers. Not here: whose end is waited for
//! (`turn_end`, `question`).

use super::transaction::Transaction;
use crate::doc::prelude::*;
use crate::{
    event::{self, AgentEnd, AgentLack},
    id::{AgentName, AtomId, Digest, UnixMillis},
    state::{AgentWait, Question, Usage},
};

/// Waits at most, one after another.
pub(super) const WAITS_MAX: u32 = 24;
/// The first and the longest wait for a limit whose end is not told.
const UNTOLD_MS: [u64; 2] = [300_000, 3_600_000];
/// The same for an end that has passed. No wait for an end that is told is shorter.
const PASSED_MS: [u64; 2] = [1_000, 300_000];
const WAIT_MAX_MS: u64 = 86_400_000;
/// The same for a provider that is down.
const DOWN_MS: [u64; 2] = [2_000, 300_000];
/// How long a provider may be down.
const OUTAGE_MS: u64 = 3_600_000;

/// Begins the wait of an atom, or of a question, for the provider of its agent. Agents that were asked side by
/// side wait together.
///
/// # Errors
/// The end that follows where the provider was waited for long enough.
pub(super) fn begin(
    transaction: &mut Transaction,
    agent: AgentName,
    atom: Option<AtomId>,
    question: Option<Question>,
    end: &AgentEnd,
    used: &Usage,
) -> Result<(AgentWait, u32), AgentEnd> {
    let (now, now_ms) = (transaction.now, transaction.session.active_ms);
    let waits = &mut transaction.session.provider_waits;
    let wait = waits.entry(agent.clone()).or_default();
    if wait.n == 0 || used.calls > 0 || !matches!(end, AgentEnd::Down(_)) {
        wait.up_ms = now_ms;
    }
    let open_ms = wait.until_ms.saturating_sub(now_ms);
    let down_ms = now_ms - wait.up_ms;
    if open_ms == 0 {
        if down_ms >= OUTAGE_MS || wait.n >= WAITS_MAX {
            return Err(outlasted(end, down_ms, wait.n));
        }
        wait.n += 1;
    }
    let (n, seed) = (wait.n, agent.as_str());
    let ms = match end {
        AgentEnd::Limited { until } => limit_ms(now, *until, n).max(open_ms),
        _ if open_ms > 0 => open_ms,
        _ => jittered_ms(growing_ms(DOWN_MS, n), seed).min(OUTAGE_MS - down_ms),
    };
    wait.until_ms = now_ms.saturating_add(ms);
    let until = UnixMillis(now.0.saturating_add(ms)).rfc3339();
    let waits = &mut transaction.run().waits;
    let of_agent = waits.iter_mut().filter(|wait| wait.agent == agent);
    of_agent.for_each(|wait| wait.until.clone_from(&until));
    let wait = AgentWait {
        agent,
        atom,
        question,
        until,
        because: event::short(&end.text()),
        extra: Default::default(),
    };
    waits.push(wait.clone());
    Ok((wait, n))
}

/// The provider of an agent answered: its waits are counted anew.
pub(super) fn answered(transaction: &mut Transaction, agent: &AgentName) {
    if let Some(wait) = transaction.session.provider_waits.get_mut(agent) {
        wait.n = 0;
    }
}

fn outlasted(end: &AgentEnd, down_ms: u64, n: u32) -> AgentEnd {
    let words = match end {
        AgentEnd::Down(words) => {
            let minutes = down_ms / 60_000;
            format!("down for {minutes} min, asked again {n} times: {words}")
        }
        end => format!("{}, asked again {n} times", end.text()),
    };
    AgentEnd::Unavailable { kind: AgentLack::Down, words, variable: None }
}

/// An agent that tells no time, or keeps telling a time in the past, is asked less and less often.
fn limit_ms(now: UnixMillis, told: Option<UnixMillis>, n: u32) -> u64 {
    let Some(until) = told else {
        return growing_ms(UNTOLD_MS, n);
    };
    let left_ms = until.0.saturating_sub(now.0);
    left_ms.clamp(growing_ms(PASSED_MS, n), WAIT_MAX_MS)
}

// The wait before another try.

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
