//! How the run ended, what it spent, and what comes next.

use descent_core::{
    state::JudgedBy,
    view::report::{AccountReport, OutcomeReport, Report},
};

use super::{ANSWER_MAX, Item};
use crate::render::{count, time, usage, usage_of_agent};

/// Hexadecimal digits of a commit that are shown.
pub(super) const COMMIT_CHARS: usize = 12;

pub(super) fn outcome(report: &Report) -> Vec<Item> {
    let outcome = &report.outcome;
    let mut items = vec![head(outcome)];
    items.extend(answer(outcome));
    if outcome.changed_since {
        let words = "A person changed something since; the next run goes on from there.";
        items.push(Item::at(0).text(words));
    }
    items.extend(outcome.account.iter().flat_map(account));
    if let Some(verdict) = &outcome.verdict {
        let whole = if verdict.pristine { ", in a fresh checkout" } else { "" };
        let words = format!("{} of {} checks held on the result{whole}", verdict.held, verdict.of);
        let item = Item::at(0).text(words);
        items.push(if verdict.choices.is_empty() {
            item
        } else {
            item.text(", made with ").choices(&verdict.choices)
        });
    }
    // Before anything is solved, the result is what the run started from.
    let made = outcome.commit.as_ref();
    if let Some(commit) = made.filter(|commit| outcome.base.as_ref() != Some(*commit)) {
        let item = Item::at(0).text("Result: commit ").code(short(commit.as_str()));
        items.push(match &outcome.base {
            Some(base) => item.text(", from ").code(short(base.as_str())),
            None => item,
        });
    }
    for open in &outcome.open {
        let item = Item::at(0).word("open").text(" ").code(open.atom.as_str());
        let item = item.text(": ").text(&open.description);
        items.push(match &open.reason {
            Some(reason) => item.text(" (failed: ").text(reason).text(")"),
            None => item,
        });
    }
    for doubt in &outcome.doubts {
        let item = Item::at(0).word("in doubt").text(" ").code(doubt.attempt.as_str());
        let why = doubt.reason.as_deref().unwrap_or_default();
        items.push(item.text(": nobody knows whether its effect happened; ").text(why));
    }
    for check in &outcome.unsteady {
        let words = ": it failed at align on the same files";
        items.push(Item::at(0).word("unsteady").text(" ").code(check).text(words));
    }
    items
}

/// Who is accountable, and what the tasks took.
fn account(account: &AccountReport) -> Vec<Item> {
    let mut items = Vec::new();
    if account.accountable.is_told() {
        let item = Item::at(0).text("Accountable: ");
        let role = account.accountable;
        items.push(item.word(role.word()).text(": ").text(role.meaning()));
    }
    if let Some(metrics) = &account.metrics {
        let (first, later) = (metrics.solved_at_first, metrics.solved_later);
        let mut words = vec![format!("{first} solved at first, {later} later")];
        let more = [
            (metrics.unsolved, "unsolved"),
            (metrics.rested, "rested"),
            (metrics.interruptions, "interrupted"),
        ];
        let more = more.iter().filter(|(n, _)| *n > 0);
        words.extend(more.map(|(n, what)| format!("{n} {what}")));
        let mean = metrics.mean_attempts.iter();
        words.extend(mean.map(|mean| format!("{mean} attempts each")));
        if account.changes > 0 {
            words.push(count(account.changes, "change") + " of the plan");
        }
        let words = words.join(", ");
        items.push(Item::at(0).text(format!("Tasks, those of earlier plans too: {words}")));
    }
    items
}

/// The words of an agent about the ending. Those by code say what the other items say.
fn answer(outcome: &OutcomeReport) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(answer) = &outcome.answer {
        if answer.by == Some(JudgedBy::Model) {
            items.push(Item::at(0).text("In words, by a model: ").prose(&answer.text, ANSWER_MAX));
        }
        let notes = answer.notes.iter();
        items.extend(notes.map(|note| Item::at(0).text("note: ").text(note)));
    }
    let unworded = outcome.unworded.iter();
    items.extend(unworded.map(|one| {
        let item = Item::at(0).text("not worded by a model: ");
        item.code(one.agent.as_str()).text(": ").text(&one.because)
    }));
    items
}

fn head(outcome: &OutcomeReport) -> Item {
    let item = Item::at(0).word(outcome.status);
    if !outcome.ended {
        let words = match outcome.status {
            "aligned" => ": agreed, and not run yet",
            _ => ": it has not ended",
        };
        return item.text(words);
    }
    let reason = outcome.reason.map_or("", |reason| reason.word());
    let item = item.text(" (").code(reason).text("): ").text(&outcome.summary);
    match &outcome.at {
        Some(at) => item.text(format!(", at {at}")),
        None => item,
    }
}

pub(super) fn short(commit: &str) -> String {
    commit.chars().take(COMMIT_CHARS).collect()
}

pub(super) fn spent(report: &Report) -> Vec<Item> {
    let spent = &report.spent;
    let mut words = vec![count(spent.attempts, "attempt")];
    let others = [(spent.repairs, "repair"), (spent.transient, "passing failure")];
    let others = others.iter().filter(|(n, _)| *n > 0);
    words.extend(others.map(|(n, what)| count(n, what)));
    let active = format!("{} of active time", time(spent.active_ms));
    let mut items = vec![Item::at(0).text(format!("{}, {active}", words.join(", ")))];
    let used = spent.usage.as_ref().map(usage);
    items.extend(used.map(|used| Item::at(0).text(format!("Model usage: {used}"))));
    let agents = spent.by_agent.iter().map(usage_of_agent);
    items.extend(agents.map(|agent| Item::at(1).text(agent)));
    let mut tried: Vec<_> = report.work.iter().filter(|atom| atom.attempts > 0).collect();
    tried.sort_by_key(|atom| std::cmp::Reverse(atom.attempts));
    let mut tried = tried.into_iter().filter(|atom| atom.attempts > 1);
    if let Some(first) = tried.next() {
        let one = |item: Item, atom: &descent_core::view::report::AtomReport| {
            item.code(atom.node.id.as_str()).text(format!(" {}", atom.attempts))
        };
        let item = one(Item::at(0).text("Atoms with more than one attempt: "), first);
        let more = tried.clone().skip(super::NAMES_MAX).count();
        let item = tried.take(super::NAMES_MAX).fold(item, |item, atom| one(item.text(", "), atom));
        items.push(match more {
            0 => item,
            more => item.text(format!(" and {more} more")),
        });
    }
    items
}

pub(super) fn next(report: &Report) -> Vec<Item> {
    let one = |step: &String| {
        if step.starts_with("descent ") { Item::at(0).code(step) } else { Item::at(0).text(step) }
    };
    report.next.iter().map(one).collect()
}
