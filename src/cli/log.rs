//! `descent log`: who changed what and why, from the state and the journal beside it; also the difference of two
//! commits.

use std::collections::BTreeSet;

use clap::Args;
use descent_core::{
    difference::{self, Weight},
    doc::Node,
    id::UnixMillis,
    view::log::{self, LogEntry},
};

use super::{
    End,
    context::Context,
    timeline::{Point, Timeline},
};
use crate::{clock, evidence, failure::Failure, render, store::Commit};

#[derive(Debug, Args)]
pub struct LogArgs {
    /// Only the last N entries
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// What changed between two commits: 12..40, 12.., ..40, -3.., 10m..
    #[arg(value_name = "A..B", allow_hyphen_values = true)]
    range: Option<String>,
}

pub(super) fn log(context: &Context, flags: &LogArgs) -> Result<End, Failure> {
    let mut store = context.store()?;
    let loaded = store.read()?;
    context.warn(&store, &loaded);
    let timeline = Timeline::of(&store, loaded);
    if let Some(range) = &flags.range {
        return between(context, &timeline, range);
    }
    let entries = joined(log::diary(&timeline.now.state), &timeline.commits);
    let left_out = flags
        .number
        .map_or(0, |number| entries.len().saturating_sub(number as usize));
    let entries = entries.get(left_out..).unwrap_or_default();
    if context.out.json {
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| {
                let mut value = serde_json::to_value(entry).unwrap_or_default();
                let (word, what) = render::words(entry);
                value["text"] = format!("{word} {what}").into();
                evidence::locate(store.place(), &mut value);
                value
            })
            .collect();
        context.out.json(&serde_json::json!({
            "schema": "descent/log/1",
            "left_out": left_out,
            "entries": entries,
        }));
    } else {
        let time = match context.out.verbose {
            true => render::LogTime::Recorded,
            false => render::LogTime::Before(clock::now()),
        };
        let page = render::log(entries, left_out, time, context.out.width());
        context.out.page(&page);
    }
    Ok(End::Code(0))
}

/// Entries that stand for many others.
const COUNTS: [&str; 2] = ["failures", "steps"];

/// Joins the events of the state, each with its serial, and those that only the journal still knows.
fn joined(mut diary: Vec<LogEntry>, commits: &[Commit]) -> Vec<LogEntry> {
    let mut told = BTreeSet::new();
    for entry in &mut diary {
        let commit = commits
            .iter()
            .rev()
            .find(|commit| commit.stamps.contains(&entry.at));
        if let Some(commit) = commit {
            entry.serial = Some(commit.serial.0);
            // A count says nothing about the commit of its newest entry.
            if !COUNTS.contains(&&*entry.kind) {
                told.insert(commit.serial);
            }
        }
    }
    let matters = |commit: &Commit| {
        let mut changes = commit.changes.iter();
        changes.any(|change| change.weight == Weight::Main)
    };
    let untold = commits
        .iter()
        .filter(|commit| commit.is_edit() || (!told.contains(&commit.serial) && matters(commit)));
    diary.extend(untold.map(of_commit));
    diary.sort_by(|a, b| a.at.cmp(&b.at));
    diary
}

fn of_commit(commit: &Commit) -> LogEntry {
    let kind = if commit.is_edit() { "edit" } else { "commit" };
    let by = if commit.command == "run" {
        "descent"
    } else {
        &commit.by
    };
    LogEntry {
        at: UnixMillis(commit.at_ms).rfc3339(),
        kind: kind.to_owned(),
        by: by.to_owned(),
        serial: Some(commit.serial.0),
        entry: Node::object(vec![
            ("serial", Node::uint(commit.serial.0)),
            ("command", Node::string(commit.command.as_str())),
            ("description", Node::string(commit.words())),
        ]),
    }
}

fn between(context: &Context, timeline: &Timeline, range: &str) -> Result<End, Failure> {
    let Some((from, to)) = range.split_once("..") else {
        let hint = "such as 12..40, 12.. up to now, ..40 from the oldest that is kept, 10m..";
        return Err(Failure::usage(format!("`{range}` is no range"), hint));
    };
    let (from, to) = (oldest_or(timeline, from)?, newest_or(timeline, to)?);
    let changes = difference::difference(&from.state, &to.state);
    let words = difference::words(&changes);
    if context.out.json {
        let changes: Vec<_> = changes
            .iter()
            .map(|change| {
                serde_json::json!({
                    "atom": change.of,
                    "text": change.text(),
                    "weight": change.weight,
                })
            })
            .collect();
        context.out.json(&serde_json::json!({
            "schema": "descent/difference/1",
            "from": from.state.serial.0,
            "to": to.state.serial.0,
            "text": words,
            "changes": changes,
        }));
    } else {
        context.out.data(&render::clean(&words));
    }
    Ok(End::Code(0))
}

fn oldest_or(timeline: &Timeline, text: &str) -> Result<Point, Failure> {
    match (text, timeline.commits.first()) {
        ("", Some(first)) => timeline.point(first.serial),
        ("", None) => timeline.point(timeline.now.state.serial),
        _ => timeline.point(timeline.serial(text)?),
    }
}

/// Without an end, the range goes up to the file as it is, edited or not.
fn newest_or(timeline: &Timeline, text: &str) -> Result<Point, Failure> {
    if text.is_empty() {
        return Ok(Point {
            state: timeline.now.state.clone(),
            bytes: timeline.now.bytes.clone(),
        });
    }
    timeline.point(timeline.serial(text)?)
}
