//! Counts, ages, sizes and strange characters as a person reads them, and JSON as a terminal shows it.
//!
//! Not here: colours, lines and pages, which are `render`'s.

use descent_core::id::UnixMillis;

use crate::secrets;

/// Characters at most of a text from elsewhere: a goal, a command, a reason.
pub(crate) const TEXT_WIDTH_MAX: usize = 160;
/// A smaller correction of the clock is not reported.
const SET_BACK_MS: u64 = 60_000;

/// Makes control characters visible, except line breaks and tabs. So too marks that turn the reading direction or have
/// no width. The two joiners stay, since scripts and emoji need them.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\u{1b}' => clean.push('␛'),
            c if is_obeyed(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}

/// A character that a terminal obeys or draws as nothing.
fn is_obeyed(c: char) -> bool {
    let is_mark = matches!(c,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}');
    is_mark || c.is_control()
}

/// A value as one line of JSON that a terminal shows as it is.
pub fn json_text(value: &impl serde::Serialize) -> String {
    let text = exact_json(value);
    if secrets::fault_of(&text).is_none() {
        return text;
    }
    let mut value = serde_json::from_str(&text).unwrap_or_default();
    hide_in(&mut value);
    exact_json(&value)
}

/// Hides secrets in each text, so that the whole stays JSON.
fn hide_in(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => secrets::hide_in(text),
        serde_json::Value::Array(items) => items.iter_mut().for_each(hide_in),
        serde_json::Value::Object(members) => members.values_mut().for_each(hide_in),
        _ => {}
    }
}

/// The same for files of the project, in which nothing is hidden.
pub fn exact_json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value);
    let text = text.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            shown.extend(units.map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c)
        }
    }
    shown
}

/// `40 ms`, `1.2 s`, `3 m 05 s`.
pub fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} m {:02} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// A length that somebody chose: `30 m`, `2 h`, else as in `time`.
pub fn length(ms: u64) -> String {
    match ms {
        ms if ms >= 3_600_000 && ms % 3_600_000 == 0 => format!("{} h", ms / 3_600_000),
        ms if ms >= 60_000 && ms % 60_000 == 0 => format!("{} m", ms / 60_000),
        ms => time(ms),
    }
}

/// Rounded: kilobytes, megabytes or gigabytes.
pub fn megabytes(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} kB", bytes.div_ceil(1_024)),
        megabytes @ 1..10_240 => format!("{megabytes} MB"),
        megabytes => format!("{} GB", megabytes >> 10),
    }
}

/// An age in a person's words: `12 s`, `3 m`, `5 h`, `2 d`.
pub fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} m", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// The time of a record in milliseconds since 1970; `None` if it cannot be read.
pub fn moment(at: &str) -> Option<UnixMillis> {
    let time: jiff::Timestamp = at.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(UnixMillis)
}

/// The time of a record as a person reads it: `2026-11-28 16:13:22 UTC`.
pub fn to_the_second(at: &str) -> String {
    let time: Result<jiff::Timestamp, _> = at.parse();
    time.map_or_else(|_| at.to_owned(), |time| time.strftime("%F %T UTC").to_string())
}

/// The time from a record until now; `None` if the clock was set back.
pub fn since(at: &str, now: UnixMillis) -> Option<u64> {
    moment(at).map(|UnixMillis(at)| now.0.saturating_sub(at))
}

/// `3 m ago`.
pub fn ago(at: &str, now: UnixMillis) -> String {
    moment(at).map_or_else(|| "some time ago".to_owned(), |at| since_moment(at, now))
}

/// `3 m ago`; the day, for a time in the future after the clock was set back.
pub fn since_moment(at: UnixMillis, now: UnixMillis) -> String {
    if at.0 > now.0.saturating_add(SET_BACK_MS) {
        return format!("on {}, by a clock that was set back since", at.day());
    }
    format!("{} ago", age(now.0.saturating_sub(at.0)))
}

/// `1 attempt`, `2 attempts`.
pub fn count(n: impl std::fmt::Display, word: &str) -> String {
    let n = n.to_string();
    let end = if n == "1" { "" } else { "s" };
    format!("{n} {word}{end}")
}

/// A number of passes.
pub fn passes(n: u32) -> String {
    match n {
        1 => "1 pass".to_owned(),
        n => format!("{n} passes"),
    }
}

/// Names in a row, and the number of further ones.
pub fn listed<T: std::fmt::Display>(names: &[T], most: usize) -> String {
    let shown: Vec<String> = names.iter().take(most).map(ToString::to_string).collect();
    let more = names.len().saturating_sub(most);
    match more {
        0 => shown.join(", "),
        more => format!("{} … and {more} more", shown.join(", ")),
    }
}

/// A text on one line, cut to a readable length.
pub fn line(text: &str) -> String {
    let flat =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    cut(&flat, TEXT_WIDTH_MAX)
}

pub fn cut(text: &str, width_max: usize) -> String {
    if text.chars().count() <= width_max {
        return text.to_owned();
    }
    text.chars().take(width_max - 1).chain(['…']).collect()
}

/// A text on one line. Every character that would be drawn as nothing, or as another, is spelled out.
pub fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => seen.extend(c.escape_default()),
            c if is_unseen(c) => seen.extend(c.escape_unicode()),
            c => seen.push(c),
        }
    }
    clean(&seen)
}

fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
        | '\u{a0}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// A number of times, as a word.
pub fn times(count: u32) -> String {
    match count {
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}
