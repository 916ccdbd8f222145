//! The final answer of a run: what was asked, what holds, what was done, and what is open, in words (contract §9.27).
//!
//! Invariant: it is made by code alone from what the state holds, on every ending, and decides nothing.

use alloc::{format, string::String, vec::Vec};

use super::transaction::Transaction;
use crate::{
    id::AtomId,
    state::{
        AtomStatus, Extra, JudgedBy, RunStatus, State, Task,
        atom::TaskQuestion,
        check::Thousandths,
        final_result::{FinalOutput, FinalResultRecord},
    },
    verdict::Verdict,
};

/// Characters of the whole text, and of each part.
const TEXT_CHARS_MAX: usize = 4_000;
const GOAL_CHARS_MAX: usize = 600;
const ITEM_CHARS_MAX: usize = 240;
/// Items of each list.
const ITEMS_MAX: usize = 12;
/// Atoms that are named as used.
const USED_MAX: usize = 100;

/// The answer that a result stands for.
pub(super) fn of(transaction: &Transaction, result: &FinalResultRecord) -> FinalOutput {
    let verdicts = result.evidence.iter().map(|one| one.verdict.as_deref());
    let of = verdicts.clone().count() as u64;
    let held = verdicts.filter(|one| *one == Some(Verdict::Pass.word()));
    let held = held.count() as u64;
    let share = (held * 1_000).checked_div(of).unwrap_or(0);
    let used = delivered(&transaction.state);
    FinalOutput {
        text: text(transaction, result, held, of),
        confidence: (of > 0).then(|| Thousandths(u32::try_from(share).unwrap_or(1_000))),
        used: used.into_iter().take(USED_MAX).collect(),
        notes: notes(transaction, result),
        doubted: false,
        by: Some(JudgedBy::Code),
        extra: Extra::default(),
    }
}

/// The atoms whose changes are in the delivered tree. An earlier tree of the same line has those up to its commit.
fn delivered(state: &State) -> Vec<AtomId> {
    let line: Vec<_> = state.run.line.iter().collect();
    let known = match &state.run.delivered {
        None => line.len(),
        Some(commit) => {
            let place = line.iter().position(|one| one.commit == *commit);
            place.map_or(0, |place| place + 1)
        }
    };
    line[..known].iter().map(|one| one.atom.clone()).collect()
}

/// One line: it is read by programs too, and some of them print it by a shell.
fn text(transaction: &Transaction, result: &FinalResultRecord, held: u64, of: u64) -> String {
    let objective = &transaction.state.objective;
    let mut parts = Vec::from([
        format!("Asked: {}.", short(&objective.goal, GOAL_CHARS_MAX)),
        match of {
            0 => format!("Ended: {}.", result.summary),
            _ => format!("Ended: {}; {held} of {of} checks hold.", result.summary),
        },
    ]);
    let failing = result.evidence.iter().filter(|one| {
        one.verdict.as_deref().is_some_and(|verdict| verdict != Verdict::Pass.word())
    });
    let failing = failing.map(|one| {
        let verdict = one.verdict.as_deref().unwrap_or_default();
        let check = one.check.as_deref().unwrap_or_default();
        format!("{check} ({verdict})")
    });
    parts.extend(list("Not there yet", failing));
    let order = transaction.graph.order().iter();
    let done = order.filter_map(|x| {
        let id = transaction.graph.id(*x);
        let binding = transaction.state.bindings.get(id)?;
        Some(format!("{id}: {}", binding.summary))
    });
    match transaction.state.run.delivered.is_some() {
        // That tree has none of what is done now.
        true => parts.push("An earlier tree is delivered: it is nearer.".into()),
        false => parts.extend(list("Done", done)),
    }
    let open = result.open.iter().map(|step| {
        let why = step.reason.as_deref().map(|why| format!(" ({why})"));
        format!("{}: {}{}", step.atom, step.description, why.unwrap_or_default())
    });
    let is_completed = result.result == Some(RunStatus::Completed);
    // A choice that failed is not open where another one led to the goal.
    let failed = result.still_failed().filter(|_| !is_completed);
    let failed = failed.map(|one| format!("{}: {}", one.atom, one.reason));
    let state = &transaction.state;
    let is_told = |id: &AtomId| {
        let mut told = result.open.iter().map(|step| &step.atom);
        told.any(|one| one == id) || result.failed.iter().any(|one| one.atom == id.as_str())
    };
    let waiting = transaction.graph.tasks().filter(|x| {
        let id = transaction.graph.id(*x);
        transaction.active.is_live(*x) && state.atoms.contains_key(id) && !is_told(id)
    });
    let waiting = waiting.filter(|x| transaction.active.is_leaf(&transaction.graph, *x));
    let waiting = waiting.map(|x| {
        let id = transaction.graph.id(x);
        let title = state.atom(id).map_or("", |atom| atom.title(id));
        format!("{id}: {title} (not done)")
    });
    parts.extend(list("Open", open.chain(failed).chain(waiting)));
    short(&parts.join(" "), TEXT_CHARS_MAX)
}

/// A head with the first of its items; nothing of an empty list.
fn list(head: &str, items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    let more = items.len().saturating_sub(ITEMS_MAX);
    let shown = items.iter().take(ITEMS_MAX);
    let mut shown: Vec<String> = shown.map(|item| short(item, ITEM_CHARS_MAX)).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    (!shown.is_empty()).then(|| format!("{head}: {}.", shown.join("; ")))
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
        format!("the plan of {} was not judged by a model: {why}", report.atom)
    });
    let unclear = transaction.state.bindings.iter();
    let unclear = unclear.filter(|(_, binding)| binding.unclear);
    let unclear = unclear.map(|(id, binding)| match binding.unclear_because.as_str() {
        "" => format!("the result of {id} is only partially clear"),
        words => format!("the result of {id} is unclear: {words}"),
    });
    let state = &transaction.state;
    let asked = state.all_atoms().into_iter().flat_map(|(id, atom)| {
        let is_assumed = |task: &&Task| task.status != AtomStatus::NeedsGuidance;
        let task = atom.task().filter(is_assumed);
        let questions = task.map_or(&[][..], |task| &task.questions);
        let questions = questions.iter().filter(|one| !one.assume.is_empty());
        let assumed =
            |one: &TaskQuestion| format!("{id}: {} {} was assumed", one.question, one.assume);
        questions.map(assumed).collect::<Vec<String>>()
    });
    let all = unsteady.chain(missing).chain(judged).chain(unclear);
    let all = all.chain(asked);
    all.map(|note| short(&note, ITEM_CHARS_MAX)).take(ITEMS_MAX).collect()
}

fn short(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.chars().nth(chars_max) {
        None => line,
        Some(_) => line.chars().take(chars_max - 1).chain(['…']).collect(),
    }
}
