//! The past in words, a line for each entry.

use descent_core::{
    doc::{Member, Node},
    id::UnixMillis,
    view::log::LogEntry,
};

use super::{Line, Page, ago, field, items, line};

/// Columns of the first word of an entry.
const WORD_WIDTH: usize = 10;
/// The usual width of an age, and the least.
const AGE_WIDTH: usize = 9;
/// Columns of the person's name at most.
const BY_WIDTH_MAX: usize = 16;

/// The form of an entry's time.
#[derive(Debug, Clone, Copy)]
pub enum LogTime {
    /// `3 m ago`.
    Before(UnixMillis),
    /// As it is recorded, in UTC.
    Recorded,
}

pub fn log(entries: &[LogEntry], left_out: usize, time: LogTime, width: usize) -> Page {
    let mut page = Page::new(width);
    if left_out > 0 {
        page.push(Line::new().dim(format!("… {left_out} before")));
    }
    let ages: Vec<Line> = entries
        .iter()
        .map(|entry| {
            Line::new().dim(match time {
                LogTime::Before(now) => ago(&entry.at, now),
                LogTime::Recorded => entry.at.clone(),
            })
        })
        .collect();
    let age_width = ages
        .iter()
        .map(Line::width)
        .max()
        .unwrap_or(0)
        .max(AGE_WIDTH)
        + 2;
    let digits = |entry: &LogEntry| {
        entry
            .serial
            .map_or(0, |serial| serial.to_string().len() + 2)
    };
    let serial_width = entries.iter().map(digits).max().unwrap_or(0);
    let serial_width = if serial_width > 0 {
        serial_width + 1
    } else {
        0
    };
    for (entry, age) in entries.iter().zip(ages) {
        let (word, what) = words(entry);
        let serial = entry
            .serial
            .map_or(String::new(), |serial| format!("#{serial}"));
        let mut head = age
            .pad(age_width)
            .then(Line::new().dim(serial).pad(serial_width))
            .then(Line::new().word(word).pad(WORD_WIDTH));
        if entry.by != "descent" {
            head = head
                .then(Line::new().dim("by ").strong(&entry.by).cut(BY_WIDTH_MAX))
                .plain(": ");
        }
        page.push(head.plain(line(&what)));
    }
    if entries.is_empty() {
        page.push(Line::of("nothing has happened yet"));
    }
    page
}

/// An entry as a word and the text after it.
pub fn words(entry: &LogEntry) -> (&'static str, String) {
    told(&entry.kind, &entry.entry)
}

pub(super) fn told(kind: &str, node: &Node) -> (&'static str, String) {
    let of = |key: &str| field(node, key).to_owned();
    match kind {
        "choice" => ("chosen", chosen(node)),
        "failure" => {
            let nth = node.get("n").and_then(Node::as_u64).unwrap_or(1);
            let what = format!(
                "{}, attempt {nth}: {} ({})",
                of("atom"),
                line(&of("reason")),
                of("class")
            );
            ("failed", what)
        }
        // Counts that earlier versions wrote.
        "failures" => {
            let what = format!("{}, {} attempts before", of("atom"), count(node));
            ("failed", what)
        }
        "steps" => {
            let what = format!("{} choices and backtracks before", count(node));
            ("chosen", what)
        }
        "refuted" => ("rejected", refuted(node)),
        "backtrack" => (
            "switched",
            format!("{} because {}", changes(node), of("reason")),
        ),
        "solved" => {
            let files: Vec<&str> = items(node, "artifacts")
                .iter()
                .filter_map(Node::as_str)
                .collect();
            let nth = node.get("attempts").and_then(Node::as_u64).unwrap_or(0);
            let nth = if nth == 0 {
                String::new()
            } else {
                format!(" in attempt {nth}")
            };
            let what = if files.is_empty() {
                of("summary")
            } else {
                format!("changed {}", super::listed(&files, 4))
            };
            ("solved", format!("{}{nth}: {what}", of("atom")))
        }
        "in_doubt" => {
            let doubted = super::event::doubted(&of("atom"), &of("attempt"), &of("reason"));
            ("in doubt", doubted)
        }
        "request_retired" => (
            "retired",
            format!("a request of {}: it was for an earlier run", of("by")),
        ),
        "ended" => (
            "ended",
            format!("{} ({}): {}", of("result"), of("reason"), of("summary")),
        ),
        "request" => {
            let reason = Some(of("reason")).filter(|reason| !reason.is_empty());
            let reason = reason
                .map(|reason| format!(" ({reason})"))
                .unwrap_or_default();
            ("asked", format!("{}{reason}", of("kind").replace('_', " ")))
        }
        "guidance" => ("guided", of("description")),
        "confirmation" => {
            let name = Some(of("name")).filter(|name| !name.is_empty());
            ("confirmed", name.unwrap_or_else(|| of("description")))
        }
        "resolution" => ("resolved", corrected(node)),
        "undo" => ("undone", corrected(node)),
        "commit" => ("changed", of("description")),
        "edit" => ("edited", of("description")),
        "objective_change" | "dag_adjustment" | "constraint_change" | "bindings_override" => {
            ("corrected", corrected(node))
        }
        "user_correction" => ("corrected", of("description")),
        "plan" => {
            let parts = items(node, "parts").iter().filter_map(Node::as_str);
            let parts: Vec<&str> = parts.collect();
            (
                "planned",
                format!("{}: {}", of("atom"), super::listed(&parts, 6)),
            )
        }
        "refine" => (
            "replanned",
            format!("{} is planned again because {}", of("atom"), of("reason")),
        ),
        "drop" => {
            let missing = items(node, "missing").iter().filter_map(Node::as_str);
            let missing: Vec<&str> = missing.collect();
            let is_partial = node.get("partial").and_then(Node::as_bool) == Some(true);
            (
                "dropped",
                super::event::dropped(&of("atom"), &of("limit"), is_partial, &missing),
            )
        }
        "probe" => ("probed", of("reason")),
        _ => ("noted", format!("{kind} {}", of("description"))),
    }
}

fn count(node: &Node) -> u64 {
    node.get("count").and_then(Node::as_u64).unwrap_or(0)
}

fn chosen(node: &Node) -> String {
    let untried = items(node, "untried").len();
    let reason = Some(field(node, "reason")).filter(|reason| !reason.is_empty());
    let reason = reason
        .map(|reason| format!(" because {reason}"))
        .unwrap_or_default();
    format!(
        "{} = {}{reason} ({untried} untried)",
        field(node, "group"),
        field(node, "choice")
    )
}

fn refuted(node: &Node) -> String {
    let choices = pairs(node.get("conflict"));
    let with = if choices.is_empty() {
        String::new()
    } else {
        format!("with {choices} ")
    };
    let failing: Vec<&str> = items(node, "evidence")
        .iter()
        .filter(|proof| match field(proof, "verdict") {
            "pass" => false,
            // An assertion without an answer did not speak against the selection.
            "unknown" => proof.get("duration_ms").is_some(),
            _ => true,
        })
        .map(|proof| field(proof, "check"))
        .collect();
    format!("{with}a check failed: {}", super::listed(&failing, 3))
}

fn corrected(node: &Node) -> String {
    let effects: Vec<&str> = items(node, "changes")
        .iter()
        .filter_map(Node::as_str)
        .collect();
    let effects = if effects.is_empty() {
        String::new()
    } else {
        format!(" → {}", effects.join("; "))
    };
    let lost = match items(node, "lost") {
        [] => String::new(),
        [one] => format!(" [gave way: {}]", field(one, "at")),
        [one, more @ ..] => format!(" [gave way: {} and {} more]", field(one, "at"), more.len()),
    };
    format!("{}{effects}{lost}", field(node, "description"))
}

/// `auth = jwt, db = sqlite`.
pub(super) fn pairs(choices: Option<&Node>) -> String {
    let members = choices.and_then(Node::as_object).unwrap_or_default();
    let pair = |member: &Member| {
        let choice = member.node.as_str().unwrap_or("nothing");
        format!("{} = {choice}", member.key)
    };
    members.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// `auth: jwt → session`.
fn changes(entry: &Node) -> String {
    let members = entry
        .get("changes")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let change = |member: &Member| {
        let ends = member.node.as_array().unwrap_or_default();
        let end = |i: usize| ends.get(i).and_then(Node::as_str).unwrap_or("nothing");
        format!("{}: {} → {}", member.key, end(0), end(1))
    };
    members.iter().map(change).collect::<Vec<_>>().join(", ")
}
