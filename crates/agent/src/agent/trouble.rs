//! Why an agent could not do its work, and until when, read off the error that it told.
//!
//! Facts: agents tell the HTTP status of their server, its error type or its words, and no two tell them alike. So words are
//! looked for, after the status. The one table of these words is here, `|` between them.
//!
//! Facts of limits: Claude Code says `resets 4:12am (UTC)` or `resets Sep 15 at 7pm`. Codex says `try again at 3:48 AM` or
//! `try again at Dec 3rd, 2026 3:48 AM`. Gemini says `reset after 5h59m59s`, opencode `try again in 20s`. Servers tell JSON
//! such as `"resets_at":1777936568`. A clock time is of the zone that is named, else of this machine.

use std::sync::LazyLock;

use descent_core::{
    event::{AgentEnd, AgentLack},
    id::UnixMillis,
};
use jiff::{Span, Timestamp, Zoned, civil, tz::TimeZone};
use regex::{Captures, Regex};

use super::{heard::one_line, talk::LINE_BYTES_MAX};
use descent_system::clock;

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
        after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
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
    AgentEnd::Limited { until: told_in(words, &clock::local()) }
}

/// A quota that is there again within a day is a limit: Gemini tells both in the words of a lack of credit.
fn soon_over(words: &str) -> Option<AgentEnd> {
    let now = clock::local();
    let until = told_in(words, &now)?;
    let left_ms = i128::from(until.0) - i128::from(now.timestamp().as_millisecond());
    (left_ms <= DAY_MS).then_some(AgentEnd::Limited { until: Some(until) })
}

fn cut(words: &str) -> String {
    one_line(words, WORDS_CHARS_MAX)
}

pub(super) fn too_long() -> String {
    format!("it printed a line of more than {} MiB", LINE_BYTES_MAX >> 20)
}

/// Hours for which a clock time without a day counts as passed; before that it is of the next day.
const PASSED_HOURS: i64 = 1;
/// Days for which a day without a year counts as passed; before that it is of the next year.
const PASSED_DAYS: i64 = 7;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Seconds or milliseconds since 1970.
static EPOCH: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?:\||\breset\w*at\W{1,4})(\d{10})(\d{3})?\b"));
static SECONDS: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\breset\w*in_?seconds\W{1,4}(\d{1,7})\b"));
static INSTANT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"reset[\w ]*\W{1,4}(\d{4}-\d\d-\d\dT[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d))")
});
static LENGTH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(?:try again|retry|resets?) (?:in|after) ((?:\d{1,9}(?:\.\d{1,9})? ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)[, ]{0,2})+)",
    )
});
static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"\b(?:resets?|try again)(?: at| on)? ",
        r"(?:(?<month>[a-z]{3})[a-z]*\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?(?:,| at)* )?",
        r"(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?: ?(?<half>[ap])\.?m\b)?",
        r"(?: \((?<zone>[\w+/-]{1,40})\))?",
    ))
});

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){text}")).ok()
}

/// The moment that the words tell, if they tell one.
pub(super) fn told_in(words: &str, now: &Zoned) -> Option<UnixMillis> {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let instant = || find(&INSTANT, &words)?.get(1)?.as_str().parse().ok();
    let moment = epoch(&words)
        .or_else(instant)
        .or_else(|| length(&words, now))
        .or_else(|| clock(&words, now))?;
    u64::try_from(moment.as_millisecond()).ok().map(UnixMillis)
}

fn find<'a>(pattern: &LazyLock<Option<Regex>>, words: &'a str) -> Option<Captures<'a>> {
    pattern.as_ref()?.captures(words)
}

fn epoch(words: &str) -> Option<Timestamp> {
    let seconds: i64 = find(&EPOCH, words)?.get(1)?.as_str().parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

fn length(words: &str, now: &Zoned) -> Option<Timestamp> {
    let span = match find(&SECONDS, words) {
        Some(found) => Span::new().try_seconds(found[1].parse::<i64>().ok()?).ok()?,
        None => find(&LENGTH, words)?.get(1)?.as_str().trim_end_matches([' ', ',']).parse().ok()?,
    };
    now.checked_add(span).ok().map(|then| then.timestamp())
}

fn clock(words: &str, now: &Zoned) -> Option<Timestamp> {
    let found = find(&CLOCK, words)?;
    let zone = match found.name("zone") {
        Some(name) => TimeZone::get(name.as_str()).ok()?,
        None => now.time_zone().clone(),
    };
    let now = now.with_time_zone(zone);
    let time = time_of_day(&found)?;
    if found.name("month").is_none() {
        let today = now.with().time(time).build().ok()?;
        let passed = now.checked_sub(Span::new().hours(PASSED_HOURS)).ok()?;
        return if today >= passed {
            Some(today.timestamp())
        } else {
            Some(today.tomorrow().ok()?.with().time(time).build().ok()?.timestamp())
        };
    }
    let on_day = |year: i16| {
        let then = civil::Date::new(year, month(&found)?, number(&found, "day")?).ok()?;
        then.to_datetime(time).to_zoned(now.time_zone().clone()).ok()
    };
    match number(&found, "year") {
        Some(year) => on_day(year),
        None => {
            let passed = now.checked_sub(Span::new().days(PASSED_DAYS)).ok()?;
            on_day(now.year()).filter(|then| *then >= passed).or_else(|| on_day(now.year() + 1))
        }
    }
    .map(|then| then.timestamp())
}

/// A bare hour such as `5` is none.
fn time_of_day(found: &Captures<'_>) -> Option<civil::Time> {
    let hour: i8 = number(found, "hour")?;
    let minute: Option<i8> = number(found, "minute");
    let half = found.name("half").map(|half| half.as_str().to_lowercase());
    let hour = match (half.as_deref(), hour) {
        (None, _) => minute.map(|_| hour)?,
        (Some("a"), 12) => 0,
        (Some("p"), 1..=11) => hour + 12,
        (Some(_), 1..=12) => hour,
        (Some(_), _) => return None,
    };
    civil::Time::new(hour, minute.unwrap_or(0), 0, 0).ok()
}

fn month(found: &Captures<'_>) -> Option<i8> {
    let name = found.name("month")?.as_str().to_lowercase();
    let index = MONTHS.iter().position(|month| *month == name)?;
    i8::try_from(index + 1).ok()
}

fn number<T: std::str::FromStr>(found: &Captures<'_>, group: &str) -> Option<T> {
    found.name(group)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_tell_the_end_of_a_limit_is_read() {
        let table = [
            // Claude Code
            ("You've hit your 5-hour limit · resets 4:12am (UTC)", "2026-11-26T04:12:00Z"),
            ("You've hit your session limit · resets 3pm (America/Bogota)", "2026-11-25T20:00:00Z"),
            ("You've hit your session limit · resets 8:30pm (Asia/Tokyo)", "2026-11-26T11:30:00Z"),
            ("You've hit your limit · resets 10pm", "2026-11-25T21:00:00Z"),
            ("You've hit your weekly limit · resets Dec 2 at 7pm", "2026-12-02T18:00:00Z"),
            ("resets Jan 12, 10:59am (America/New_York)", "2027-01-12T15:59:00Z"),
            ("Claude AI usage limit reached|1795579907", "2026-11-25T04:11:47Z"),
            // Codex
            ("purchase more credits or try again at 3:48 AM.", "2026-11-26T02:48:00Z"),
            ("or try again at Dec 3rd, 2026 3:48 AM.", "2026-12-03T02:48:00Z"),
            ("try again at Nov 30, 2026, 7:38 AM", "2026-11-30T06:38:00Z"),
            ("or try again in 5 days 22 hours 11 minutes.", "2026-12-01T16:11:00Z"),
            (r#"{"resets_at":1795579907,"resets_in_seconds":13872}"#, "2026-11-25T04:11:47Z"),
            (r#"{"resets_in_seconds":3600}"#, "2026-11-25T19:00:00Z"),
            // Gemini and opencode
            ("Your quota will reset after 5h59m59s.", "2026-11-25T23:59:59Z"),
            ("Please retry in 34.5s.", "2026-11-25T18:00:34.5Z"),
            ("Please try again in 20s.", "2026-11-25T18:00:20Z"),
            (r#""quotaResetTimeStamp":"2026-11-26T07:45:40Z""#, "2026-11-26T07:45:40Z"),
            // It passed just now.
            ("resets 5:59pm (UTC)", "2026-11-25T17:59:00Z"),
            ("resets 12am (UTC)", "2026-11-26T00:00:00Z"),
            ("resets 12:30pm (UTC)", "2026-11-26T12:30:00Z"),
            ("try again at 23:04", "2026-11-25T22:04:00Z"),
        ];
        let now: Zoned = "2026-11-25T19:00:00+01:00[Europe/Berlin]".parse().unwrap();
        for (words, wanted) in table {
            let wanted: Timestamp = wanted.parse().unwrap();
            let told = told_in(words, &now).map(|at| at.0);
            assert_eq!(told, Some(wanted.as_millisecond().unsigned_abs()), "{words}");
        }
    }

    #[test]
    fn words_that_tell_no_time_tell_none() {
        let now: Zoned = "2026-11-25T19:00:00+01:00[Europe/Berlin]".parse().unwrap();
        for words in [
            "",
            "You have exhausted your daily quota on this model.",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "try again later",
            "resets 5",
            "resets 25:00",
            "resets 13pm (UTC)",
            "resets 4am (Nowhere/Town)",
            "resets Foo 3 at 4am",
            "resets Feb 30, 2027 at 4am",
            "retry in 999999999 days",
            "resets_at: 99",
        ] {
            assert_eq!(told_in(words, &now), None, "{words}");
        }
    }
}
