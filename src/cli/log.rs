//! `descent log`: who changed what and why, from the state and the journal beside it; also the state at one commit
//! (`timeline`), and the difference of two.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use descent_core::{
    difference::{self, Difference, Weight},
    doc::Node,
    event::Event,
    id::{Serial, UnixMillis},
    view::log::{self, LogEntry},
};
use serde::Serialize;

use super::{
    Context, End, Failure, clock,
    timeline::{self, Timeline},
    why,
};
use crate::render;
use descent_engine::ops;
use descent_store::{Commit, evidence};

#[derive(Debug, Args)]
pub struct LogArgs {
    /// Only the last N entries
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// The state at a commit: 12, -1 for the one before the present, 10m for ten minutes ago; or what changed between two: 12..40, 12.., ..40, -3.., 10m..
    #[arg(value_name = "SERIAL|A..B", allow_hyphen_values = true, conflicts_with = "number")]
    at: Option<String>,
    /// Print the state file of that commit byte for byte; without a serial that of the newest
    #[arg(long, conflicts_with_all = ["number", "saved"])]
    bytes: bool,
    /// Print what a person saved, that this commit took in
    #[arg(long, requires = "at")]
    saved: bool,
    /// Print all that this attempt printed
    #[arg(long, value_name = "ATTEMPT", conflicts_with_all = ["number", "at", "bytes"])]
    output: Option<String>,
}

/// The history, the newest entry last: `descent log --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LogOutput {
    schema: &'static str,
    /// The number of older entries that `-n` left out.
    left_out: usize,
    #[cfg_attr(test, schemars(with = "Vec<LogEntryOutput<'_>>"))]
    entries: Vec<serde_json::Value>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LogEntryOutput<'a> {
    #[serde(flatten)]
    entry: &'a LogEntry,
    text: String,
}

/// The difference of two commits: `descent log A..B --json`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DifferenceOutput {
    schema: &'static str,
    from: Serial,
    to: Serial,
    /// The important changes, in one line.
    text: String,
    changes: Vec<ChangeOutput>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeOutput {
    atom: Option<String>,
    text: String,
    weight: Weight,
}

/// The kind of an entry for a file that was saved by hand.
const EDIT: &str = "edit";

pub(super) fn log(context: &Context, flags: &LogArgs) -> Result<End, Failure> {
    if let Some(attempt) = &flags.output {
        let found = ops::output::output(&mut context.store()?, Some(attempt))?;
        return Ok(why::print_output(context, &found));
    }
    if flags.bytes && flags.at.is_none() {
        return timeline::newest_bytes(context);
    }
    let (store, loaded) = context.read()?;
    let past = Timeline::of(&store, loaded);
    match flags.at.as_deref().map(|at| (at, at.split_once(".."))) {
        Some((_, Some((from, to)))) => return between(context, &past, from, to),
        Some((at, None)) if flags.saved => return timeline::saved(context, &past, at),
        Some((at, None)) => return timeline::show(context, &store, &past, at, flags.bytes),
        None => {}
    }
    let mut entries = joined(log::diary(&past.now.state), &past.commits);
    if !context.out.json {
        // A correction tells a save better that was taken in.
        let told = entries.iter().filter(|entry| entry.kind != EDIT);
        let told: BTreeSet<Option<u64>> = told.map(|entry| entry.serial).collect();
        entries.retain(|entry| entry.kind != EDIT || !told.contains(&entry.serial));
    }
    let left_out = flags.number.map_or(0, |number| entries.len().saturating_sub(number as usize));
    let entries = entries.get(left_out..).unwrap_or_default();
    let output = |entry| {
        let (label, what) = render::describe_entry(entry);
        let output = LogEntryOutput { entry, text: format!("{label} {what}") };
        let mut value = serde_json::to_value(&output).unwrap_or_default();
        evidence::locate(store.place(), &mut value);
        value
    };
    let output = LogOutput {
        schema: "descent/log/1",
        left_out,
        entries: entries.iter().filter(|_| context.out.json).map(output).collect(),
    };
    // With -v each time is as it was recorded.
    let now = (!context.out.verbose).then(clock::now);
    let page = || render::log(entries, left_out, now, context.out.width());
    Ok(context.answer_page(&output, page))
}

/// Joins the records of the state with the events of the commits: each fact is told once.
fn joined(mut entries: Vec<LogEntry>, commits: &[Commit]) -> Vec<LogEntry> {
    let mut serials: BTreeMap<&str, Serial> = BTreeMap::new();
    for commit in commits {
        for stamp in &commit.stamps {
            serials.entry(stamp).or_insert(commit.serial);
        }
    }
    let mut recorded: BTreeMap<Serial, Vec<usize>> = BTreeMap::new();
    for (i, entry) in entries.iter_mut().enumerate() {
        if let Some(serial) = serials.get(entry.at.as_str()) {
            entry.serial = Some(serial.0);
            recorded.entry(*serial).or_default().push(i);
        }
    }
    for commit in commits {
        let records = recorded.get(&commit.serial).map_or(&[][..], Vec::as_slice);
        let has_news = commit.changes.iter().any(|change| change.weight == Weight::Main);
        let is_untold = records.is_empty() && commit.events.is_empty() && has_news;
        if commit.is_edit() || is_untold {
            entries.push(of_commit(commit));
        }
        for event in commit.events.iter().filter(|event| event.is_lasting()) {
            let is_same = |other: &Event| other.is_same_fact(event);
            let tells = |i: &usize| entries[*i].event.as_ref().is_some_and(is_same);
            match records.iter().copied().filter(tells).collect::<Vec<_>>()[..] {
                [] => entries.push(of_event(commit, event)),
                [record] => entries[record].event = Some(event.clone()),
                // An edit has a correction for each kind of change, and one event.
                _ => {}
            }
        }
    }
    log::sort(&mut entries);
    entries
}

fn of_event(commit: &Commit, event: &Event) -> LogEntry {
    let at = commit.stamps.last().cloned();
    let at = at.unwrap_or_else(|| UnixMillis(commit.at_ms).rfc3339());
    let by_person = matches!(event, Event::Corrected { .. } | Event::Requested { .. });
    let by = if by_person { &commit.by } else { commit.author() };
    LogEntry::of_event(event, at, by.to_owned(), Some(commit.serial.0))
}

fn of_commit(commit: &Commit) -> LogEntry {
    let kind = if commit.is_edit() { EDIT } else { "commit" };
    LogEntry {
        at: UnixMillis(commit.at_ms).rfc3339(),
        kind: kind.to_owned(),
        by: commit.author().to_owned(),
        serial: Some(commit.serial.0),
        entry: Node::object(vec![
            ("serial", Node::uint(commit.serial.0)),
            ("command", Node::string(commit.command.as_str())),
            ("description", Node::string(commit.describe())),
        ]),
        event: None,
    }
}

fn between(context: &Context, timeline: &Timeline, from: &str, to: &str) -> Result<End, Failure> {
    let now = &timeline.now.state;
    let from = match (from, timeline.commits.first()) {
        ("", first) => timeline.point(first.map_or(now.serial, |first| first.serial))?.state,
        _ => timeline.point(timeline.serial(from)?)?.state,
    };
    // Without an end, the range goes up to the file as it is, edited or not.
    let to = match to {
        "" => now.clone(),
        _ => timeline.point(timeline.serial(to)?)?.state,
    };
    let changes = difference::difference(&from, &to);
    let output = |change: &Difference| ChangeOutput {
        atom: change.of.clone(),
        text: change.text(),
        weight: change.weight,
    };
    let output = DifferenceOutput {
        schema: "descent/difference/1",
        from: from.serial,
        to: to.serial,
        text: difference::words(&changes),
        changes: changes.iter().map(output).collect(),
    };
    Ok(context.answer(&output, || output.text.clone()))
}
