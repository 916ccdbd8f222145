//! Why an agent could not do its work, read off the error that it told.
//!
//! Facts: agents tell the HTTP status of their server, its error type or its words, and no two tell
//! them alike. So words are looked for, after the status. The one table of these words is here, `|` between them.

use descent_core::event::{AgentEnd, AgentLack};

use super::{agent_lines::LINE_BYTES_MAX, reset_time};
use crate::{clock, secrets};

/// Characters of an error that are kept.
const WORDS_CHARS_MAX: usize = 500;
const DAY_MS: i128 = 86_400_000;

const LOGIN: &str = "not logged in|please run /login|login required|authentication required|authentication_error|\
    authentication_failed|unauthorized|missing environment variable";
const KEY: &str = "invalid api key|invalid x-api-key|incorrect api key|invalid_api_key|api key not valid|no api key|\
    missing api key";
const CREDIT: &str = "credit balance|insufficient credit|insufficient_quota|billing|payment required|spend limit|\
    enforced_spend_limit|quota exceeded for quota metric|exceeded your current quota|\
    check your plan and billing";
const LIMIT: &str = "usage limit|rate limit|hit your usage limit|rate_limit|too many requests|session limit|\
    weekly limit|limit reached|hit your limit";

const TOO_LONG: &str = "prompt is too long|context_length_exceeded|maximum context length|exceeds the context window|\
    ran out of room in the model's context window|request too large|input is too long";
/// No time makes it better.
const CERTIFICATE: &str = "certificate|cert_has_expired|unable_to_verify_leaf_signature";
const DOWN: &str = "overloaded|high demand|internal server error|server_error|api_error|bad gateway|\
    service unavailable|temporarily unavailable|gateway timeout|gateway time-out|connection error|connection failed|\
    connection refused|connection reset|connection closed|connection timed out|unable to connect|\
    could not connect|failed to connect|stream disconnected|error sending request|request timed out|\
    fetch failed|socket hang up|network error|network is unreachable|could not resolve|name resolution|\
    failed to lookup address|getaddrinfo|tls handshake|proxy error|econnrefused|econnreset|econnaborted|\
    enotfound|eai_again|etimedout|enetunreach|ehostunreach";
/// The words before a status that is told in words.
const STATUS: &str = "status |status code |api error: |http ";

/// The end of an agent that told this error.
pub(super) fn of_error(status: Option<u64>, words: &str) -> AgentEnd {
    let small = words.to_lowercase();
    let says = |any: &str| any.split('|').any(|part| small.contains(part));
    match status.or_else(|| status_in(&small)) {
        Some(402) => credit(words),
        Some(408 | 500..=599) => AgentEnd::Down(cut(words)),
        _ if says(CREDIT) => soon_over(words).unwrap_or_else(|| credit(words)),
        _ if says(KEY) => unavailable(AgentLack::Key, words),
        Some(401 | 403) => login(words),
        _ if says(LOGIN) => login(words),
        Some(413) => AgentEnd::TooLong(cut(words)),
        _ if says(TOO_LONG) => AgentEnd::TooLong(cut(words)),
        Some(429) => limited(words),
        _ if says(LIMIT) => limited(words),
        _ if says("output token maximum") => AgentEnd::CutShort(cut(words)),
        _ if says(CERTIFICATE) => unavailable(AgentLack::Provider, words),
        _ if says(DOWN) => AgentEnd::Down(cut(words)),
        _ => AgentEnd::Protocol(cut(words)),
    }
}

/// The status that is told in these words, which are small letters.
fn status_in(small: &str) -> Option<u64> {
    let after = |before| small.split_once(before).map(|(_, after)| after);
    let number = |after: &str| {
        let digits = after.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().ok()
    };
    STATUS.split('|').filter_map(after).find_map(number)
}

/// The same, if it is one that the agent may wait out by itself.
pub(super) fn outage(words: &str) -> Option<AgentEnd> {
    Some(of_error(None, words)).filter(|end| matches!(end, AgentEnd::Down(_)))
}

pub(super) fn login(words: &str) -> AgentEnd {
    unavailable(AgentLack::Login, words)
}

fn credit(words: &str) -> AgentEnd {
    unavailable(AgentLack::Credit, words)
}

fn unavailable(kind: AgentLack, words: &str) -> AgentEnd {
    AgentEnd::Unavailable { kind, words: cut(words), variable: None }
}

fn limited(words: &str) -> AgentEnd {
    AgentEnd::Limited { until: reset_time::told_in(words, &clock::local()) }
}

/// A quota that is there again within a day is a limit: Gemini tells both in the words of a lack of credit.
fn soon_over(words: &str) -> Option<AgentEnd> {
    let now = clock::local();
    let until = reset_time::told_in(words, &now)?;
    let left_ms = i128::from(until.0) - i128::from(now.timestamp().as_millisecond());
    (left_ms <= DAY_MS).then_some(AgentEnd::Limited { until: Some(until) })
}

fn cut(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    secrets::hide(&line).chars().take(WORDS_CHARS_MAX).collect()
}

pub(super) fn too_long() -> String {
    format!("it printed a line of more than {} MiB", LINE_BYTES_MAX >> 20)
}
