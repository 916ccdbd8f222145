//! Why an agent could not do its work, read off the error that it told.
//!
//! Facts: agents tell the HTTP status of their server, its error type or its words, and no two tell
//! them alike. So words are looked for, after the status.

use descent_core::{
    event::{AgentEnd, AgentLack},
    id::UnixMillis,
};

use super::talk::LINE_BYTES_MAX;

/// Characters of an error that are kept.
const WORDS_CHARS_MAX: usize = 500;

const LOGIN: &[&str] = &[
    "not logged in",
    "please run /login",
    "login required",
    "authentication required",
    "authentication_error",
    "authentication_failed",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "invalid_api_key",
    "unauthorized",
    "api key not valid",
    "no api key",
    "missing api key",
    "missing environment variable",
];
const CREDIT: &[&str] = &[
    "credit balance",
    "insufficient credit",
    "insufficient_quota",
    "billing",
    "payment required",
    "spend limit",
    "enforced_spend_limit",
    "quota exceeded for quota metric",
    "exceeded your current quota",
    "check your plan and billing",
];
const LIMIT: &[&str] = &[
    "usage limit",
    "rate limit",
    "hit your usage limit",
    "rate_limit",
    "too many requests",
    "session limit",
    "weekly limit",
    "limit reached",
    "hit your limit",
];

/// The end of an agent that told this error.
pub(super) fn of_error(status: Option<u64>, words: &str) -> AgentEnd {
    let small = words.to_lowercase();
    let says = |any: &[&str]| any.iter().any(|part| small.contains(part));
    match status {
        Some(402) => credit(words),
        _ if says(CREDIT) => credit(words),
        Some(401 | 403) => login(words),
        _ if says(LOGIN) => login(words),
        Some(429) => limited(words),
        _ if says(LIMIT) => limited(words),
        _ => AgentEnd::Protocol(cut(words)),
    }
}

pub(super) fn login(words: &str) -> AgentEnd {
    unavailable(AgentLack::Login, words)
}

fn credit(words: &str) -> AgentEnd {
    unavailable(AgentLack::Credit, words)
}

fn unavailable(kind: AgentLack, words: &str) -> AgentEnd {
    AgentEnd::Unavailable {
        kind,
        words: cut(words),
        variable: None,
    }
}

fn limited(words: &str) -> AgentEnd {
    AgentEnd::Limited {
        until: reset_time(words),
    }
}

/// A reset time in seconds since 1970, as `limit reached|1764000000`.
fn reset_time(words: &str) -> Option<UnixMillis> {
    let (_, after) = words.rsplit_once('|')?;
    let digits: String = after
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let seconds: u64 = digits
        .parse()
        .ok()
        .filter(|seconds| (1_000_000_000..10_000_000_000).contains(seconds))?;
    Some(UnixMillis(seconds * 1000))
}

fn cut(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(WORDS_CHARS_MAX).collect()
}

pub(super) fn too_long() -> String {
    format!(
        "it printed a line of more than {} MiB",
        LINE_BYTES_MAX >> 20
    )
}
