//! The final answer of a run: what was asked, what holds, what was done, and what is open, in words (contract §9.27).
//!
//! Invariant: it is made by code alone from what the state holds, on every ending, and decides nothing.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::transaction::Transaction;
use crate::{
    id::AtomId,
    state::{
        Extra, JudgedBy,
        check::Thousandths,
        final_result::{FinalOutput, FinalResultRecord},
    },
    verdict::Verdict,
};

/// Characters of the whole text, and of each part.
const TEXT_CHARS_MAX: usize = 4_000;
const GOAL_CHARS_MAX: usize = 600;
const LINE_CHARS_MAX: usize = 240;
/// Lines of each list.
const LINES_MAX: usize = 12;
/// Atoms that are named as used.
const USED_MAX: usize = 100;

/// The answer that a result stands for.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let verdicts = result.evidence.iter().map(|one| one.verdict.as_deref());
    let of = verdicts.clone().count() as u64;
    let held = verdicts.filter(|one| *one == Some(Verdict::Pass.word()));
    let held = held.count() as u64;
    let share = (held * 1_000).checked_div(of).unwrap_or(0);
    let line = transaction.state.run.line.iter();
    let used: Vec<AtomId> = line.map(|one| one.atom.clone()).collect();
    FinalOutput {
        text: text(transaction, result, held, of),
        confidence: (of > 0).then(|| Thousandths(u32::try_from(share).unwrap_or(1_000))),
        used: used.into_iter().take(USED_MAX).collect(),
        notes: notes(transaction, result),
        by: Some(JudgedBy::Code),
        extra: Extra::default(),
    }
}

fn text(transaction: &Transaction, result: &FinalResultRecord, held: u64, of: u64) -> String {
    let objective = &transaction.state.objective;
    let mut text = format!("Asked: {}\n", short(&objective.goal, GOAL_CHARS_MAX));
    text.push_str(&match of {
        0 => format!("Ended: {}\n", result.summary),
        _ => format!("Ended: {}; {held} of {of} checks hold\n", result.summary),
    });
    let failing = result.evidence.iter().filter(|one| {
        one.verdict
            .as_deref()
            .is_some_and(|verdict| verdict != Verdict::Pass.word())
    });
    let failing = failing.map(|one| {
        let verdict = one.verdict.as_deref().unwrap_or_default();
        let check = one.check.as_deref().unwrap_or_default();
        format!("{verdict}: {check}")
    });
    list(&mut text, "Not there yet", failing);
    let order = transaction.graph.order().iter();
    let done = order.filter_map(|x| {
        let id = transaction.graph.id(*x);
        let binding = transaction.state.bindings.get(id)?;
        Some(format!("{id}: {}", binding.summary))
    });
    list(&mut text, "Done", done);
    let open = result.open.iter().map(|step| {
        let why = step.reason.as_deref().map(|why| format!(" ({why})"));
        format!(
            "{}: {}{}",
            step.atom,
            step.description,
            why.unwrap_or_default()
        )
    });
    let failed = result.failed.iter();
    let failed = failed.map(|one| format!("{}: {}", one.atom, one.reason));
    list(&mut text, "Open", open.chain(failed));
    short_lines(&text)
}

/// A head, and its first lines below it; nothing of an empty list.
fn list(text: &mut String, head: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("{head}:\n"));
    for line in lines.iter().take(LINES_MAX) {
        text.push_str(&format!("- {}\n", short(line, LINE_CHARS_MAX)));
    }
    if lines.len() > LINES_MAX {
        text.push_str(&format!("- and {} more\n", lines.len() - LINES_MAX));
    }
}

fn notes(transaction: &Transaction, result: &FinalResultRecord) -> Vec<String> {
    let unsteady = result.unsteady.iter();
    let unsteady = unsteady.map(|check| format!("`{check}` failed and held on the same files"));
    let missing = result.missing.iter();
    let missing = missing.map(|part| format!("{} was left out of {}", part.atom, part.of));
    let judged = transaction.state.run.validation();
    let judged = judged.filter(|report| report.by == JudgedBy::Nobody);
    let judged = judged.map(|report| {
        let why = &report.because;
        format!(
            "the plan of {} was not judged by a model: {why}",
            report.atom
        )
    });
    let unclear = transaction.state.bindings.iter();
    let unclear = unclear.filter(|(_, binding)| binding.unclear);
    let unclear = unclear.map(|(id, _)| format!("the result of {id} is only partially clear"));
    let all = unsteady.chain(missing).chain(judged).chain(unclear);
    all.map(|note| short(&note, LINE_CHARS_MAX))
        .take(LINES_MAX)
        .collect()
}

fn short(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.chars().nth(chars_max) {
        None => line,
        Some(_) => line.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}

/// Whole lines, as many as there is room for.
fn short_lines(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        if kept.chars().count() + line.chars().count() >= TEXT_CHARS_MAX {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.trim_end().to_string()
}
