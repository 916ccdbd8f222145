//! The past, a line for each entry.

use descent_core::{doc::Node, event::Event, id::UnixMillis, view::log::LogEntry};

use super::{Line, Page, ago, event, event::LABEL_WIDTH, field, line};

/// The usual width of an age, and the least.
const AGE_WIDTH: usize = 9;
/// Columns of the person's name at most.
const BY_WIDTH_MAX: usize = 16;

/// With `now` a time is as `3 m ago`; else as it is recorded, in UTC, and no line is cut.
pub fn log(entries: &[LogEntry], left_out: usize, now: Option<UnixMillis>, width: usize) -> Page {
    let mut page = Page::new(width);
    if left_out > 0 {
        page.push(Line::new().dim(format!("… {left_out} before")));
    }
    let age = |at: &str| now.map_or_else(|| at.to_owned(), |now| ago(at, now));
    let ages: Vec<Line> = entries.iter().map(|one| Line::new().dim(age(&one.at))).collect();
    let age_width = ages.iter().map(Line::width).max().unwrap_or(0).max(AGE_WIDTH) + 2;
    let digits = |entry: &LogEntry| entry.serial.map_or(0, |serial| serial.to_string().len() + 2);
    let serial_width = entries.iter().map(digits).max().unwrap_or(0);
    let serial_width = if serial_width > 0 { serial_width + 1 } else { 0 };
    for (entry, age) in entries.iter().zip(ages) {
        let (word, what) = describe(entry);
        let serial = entry.serial.map_or(String::new(), |serial| format!("#{serial}"));
        let mut head = age
            .pad(age_width)
            .then(Line::new().dim(serial).pad(serial_width))
            .then(Line::new().word(word).pad(LABEL_WIDTH));
        if entry.by != "descent" {
            head =
                head.then(Line::new().dim("by ").strong(&entry.by).cut(BY_WIDTH_MAX)).plain(": ");
        }
        let row = head.plain(line(&what));
        if now.is_some() { page.push(row) } else { page.whole(row) }
    }
    if entries.is_empty() {
        page.push(Line::of("nothing has happened yet"));
    }
    page
}

/// An entry as a label and a text.
pub fn describe(entry: &LogEntry) -> (&'static str, String) {
    describe_record(entry.event.as_ref(), &entry.entry)
}

/// A record in the words of its event, or in its own without one.
pub(super) fn describe_record(event: Option<&Event>, node: &Node) -> (&'static str, String) {
    let Some(event) = event else {
        let texts = ["description", "reason", "summary", "type"].map(|key| field(node, key));
        let text = texts.into_iter().find(|text| !text.is_empty());
        let is_commit = node.get("command").is_some();
        let label = if is_commit { "changed" } else { "noted" };
        return (label, text.unwrap_or_default().to_owned());
    };
    let (label, what) = event::describe(event);
    let lost = match event.lost() {
        [] => String::new(),
        [one] => format!(" [gave way: {}]", line(one)),
        [one, more @ ..] => format!(" [gave way: {}, and {} more]", line(one), more.len()),
    };
    (label, what + &lost)
}
