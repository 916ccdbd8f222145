//! Waits for a provider that takes no more for now, or is down: how long each is, and what is told of it.
//!
//! Invariant: the waits of an outage are bounded by their number and by their time. Not here: whose end is waited for
//! (`agent_end`, `question`).

use alloc::{format, string::String};

use super::{backoff::growing_ms, transaction::Transaction};
use crate::{
    event,
    id::{AgentName, UnixMillis},
    state::{AgentWait, Usage},
    world::{Outage, Session},
};

/// Waits at most of one attempt, or in one outage.
pub(super) const WAITS_MAX: u32 = 24;
/// The first wait of an attempt whose end is not told; each further one is twice as long.
const UNTOLD_MS: u64 = 300_000;
const UNTOLD_MAX_MS: u64 = 3_600_000;
/// The first wait for an end that has passed; each further one of the attempt is at least twice as long.
const PASSED_MS: u64 = 1_000;
const PASSED_MAX_MS: u64 = 300_000;
const WAIT_MAX_MS: u64 = 86_400_000;
/// The first pause before a provider that is down is asked again; each further one is twice as long.
const DOWN_MS: u64 = 2_000;
const DOWN_MAX_MS: u64 = 300_000;
/// How long a provider may be down.
const OUTAGE_MS: u64 = 3_600_000;

/// A wait for a provider.
pub(super) struct ProviderWait {
    pub(super) ms: u64,
    /// Its number.
    pub(super) n: u32,
}

/// The wait for a provider that is down; or how long it was waited for, where that was long enough.
pub(super) fn of_outage(
    transaction: &mut Transaction,
    agent: &AgentName,
    used: &Usage,
) -> Result<ProviderWait, String> {
    let now_ms = transaction.session.active_ms;
    let open_until_ms = open(&transaction.session, agent);
    let outages = &mut transaction.session.outages;
    let outage = outages.entry(agent.clone()).or_insert(Outage {
        since_ms: now_ms,
        waits: 0,
    });
    if used.calls > 0 {
        outage.since_ms = now_ms;
    }
    // It was asked side by side, and waits together.
    if let Some(until_ms) = open_until_ms {
        let (ms, n) = (until_ms - now_ms, outage.waits);
        return Ok(ProviderWait { ms, n });
    }
    let passed_ms = now_ms - outage.since_ms;
    let left_ms = OUTAGE_MS.saturating_sub(passed_ms);
    if left_ms == 0 || outage.waits >= WAITS_MAX {
        let (minutes, waits) = (passed_ms / 60_000, outage.waits);
        return Err(format!("down for {minutes} min, asked again {waits} times"));
    }
    outage.waits += 1;
    let n = outage.waits;
    let ms = growing_ms(DOWN_MS, DOWN_MAX_MS, n, agent.as_str()).min(left_ms);
    Ok(ProviderWait { ms, n })
}

/// The end of the wait for the provider of an agent, if one goes on.
pub(super) fn open(session: &Session, agent: &AgentName) -> Option<u64> {
    let until_ms = session.agents_wait_until_ms.get(agent).copied();
    until_ms.filter(|until_ms| *until_ms > session.active_ms)
}

/// A wait of an agent that has not begun.
pub(super) fn new(agent: &AgentName, because: &str) -> AgentWait {
    AgentWait {
        agent: agent.clone(),
        atom: None,
        role: None,
        until: String::new(),
        because: event::short(because),
        extra: Default::default(),
    }
}

/// The length of a wait. An agent that tells no time, or keeps telling a time in the past, is asked less and less often.
pub(super) fn of_limit_ms(now: UnixMillis, told: Option<UnixMillis>, wait: u32) -> u64 {
    let doubled = |first: u64| first << wait.saturating_sub(1).min(16);
    match told {
        None => doubled(UNTOLD_MS).min(UNTOLD_MAX_MS),
        Some(until) => {
            let least = doubled(PASSED_MS).min(PASSED_MAX_MS);
            let left = until.0.saturating_sub(now.0);
            left.clamp(least, WAIT_MAX_MS)
        }
    }
}

/// Notes a wait. The agent's latest end holds for all of its atoms, and is given.
pub(super) fn begin(transaction: &mut Transaction, wait: AgentWait, ms: u64) -> String {
    let agent = &wait.agent;
    let until_ms = transaction.active_in(ms);
    let ends = &mut transaction.session.agents_wait_until_ms;
    let before = ends.get(agent).copied().unwrap_or(0);
    let is_latest = until_ms >= before;
    ends.insert(agent.clone(), until_ms.max(before));
    let told = UnixMillis(transaction.now().0.saturating_add(ms)).rfc3339();
    let waits = &mut transaction.run().waits;
    let mut of_agent = waits.iter_mut().filter(|wait| wait.agent == *agent);
    let until = match is_latest {
        true => {
            of_agent.for_each(|wait| wait.until.clone_from(&told));
            told
        }
        false => of_agent.next().map_or(told, |wait| wait.until.clone()),
    };
    waits.push(AgentWait {
        until: until.clone(),
        ..wait
    });
    until
}
