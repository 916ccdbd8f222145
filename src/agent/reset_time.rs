//! The end of a provider's limit, read from the words of an agent's error.
//!
//! Facts: Claude Code says `resets 4:12am (UTC)` or `resets Sep 15 at 7pm`. Codex says `try again at 3:48 AM` or
//! `try again at Dec 3rd, 2026 3:48 AM`. Gemini says `reset after 5h59m59s`, opencode `try again in 20s`. Servers tell JSON
//! such as `"resets_at":1777936568`. A clock time is of the zone that is named, else of this machine.

use std::sync::LazyLock;

use descent_core::id::UnixMillis;
use jiff::{Span, Timestamp, Zoned, civil, tz::TimeZone};
use regex::{Captures, Regex};

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
    let moment = epoch(&words)
        .or_else(|| instant(&words))
        .or_else(|| length(&words, now))
        .or_else(|| clock(&words, now))?;
    u64::try_from(moment.as_millisecond()).ok().map(UnixMillis)
}

fn find<'a>(pattern: &LazyLock<Option<Regex>>, words: &'a str) -> Option<Captures<'a>> {
    pattern.as_ref()?.captures(words)
}

fn epoch(words: &str) -> Option<Timestamp> {
    let found = find(&EPOCH, words)?;
    let seconds: i64 = found.get(1)?.as_str().parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

fn instant(words: &str) -> Option<Timestamp> {
    find(&INSTANT, words)?.get(1)?.as_str().parse().ok()
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
        let then = then.to_datetime(time).to_zoned(now.time_zone().clone());
        then.ok()
    };
    match number(&found, "year") {
        Some(year) => on_day(year),
        None => {
            let passed = now.checked_sub(Span::new().days(PASSED_DAYS)).ok()?;
            let this_year = on_day(now.year()).filter(|then| *then >= passed);
            this_year.or_else(|| on_day(now.year() + 1))
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
