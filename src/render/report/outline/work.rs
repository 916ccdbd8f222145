//! Each atom: how it stands, who solved it in which attempt, and with which evidence.

use descent_core::{
    event::Clarity,
    view::report::{AtomReport, EvidenceReport, SolvedReport},
};

use super::{Item, ended::short};
use crate::render::time;

/// Pieces of evidence at most of an atom.
const EVIDENCE_MAX: usize = 12;
/// An atom may be in more groups; it stands no deeper on a page.
const DEPTH_MAX: usize = 6;

pub(super) fn work(atoms: &[AtomReport]) -> Vec<Item> {
    atoms.iter().flat_map(atom).collect()
}

fn atom(atom: &AtomReport) -> Vec<Item> {
    let depth = atom.node.depth.min(DEPTH_MAX);
    let mut items = vec![head(atom, depth)];
    for words in &atom.guidance {
        items.push(Item::at(depth + 1).text("Guidance: ").text(words));
    }
    if let Some(solved) = &atom.solved {
        let unclear = Clarity::words(solved.unclear, &solved.unclear_because);
        items.push(with_clarity(result(solved, depth + 1), unclear));
        let evidence = solved.evidence.iter();
        items.extend(evidence.clone().take(EVIDENCE_MAX).map(|one| proof(one, depth + 1)));
        if let more @ 1.. = evidence.len().saturating_sub(EVIDENCE_MAX) {
            items.push(Item::at(depth + 1).text(format!("… and {more} more checks")));
        }
    }
    if let Some(one) = &atom.confidence {
        let share = format!("{} of {} of its checks held", one.held, one.of);
        items.push(Item::at(depth + 1).text(share));
    }
    if let Some(failed) = &atom.failed {
        let item = Item::at(depth + 1).text("Newest failure: ").text(&failed.reason);
        let item = item.text(format!(" ({})", failed.class.word()));
        items.push(with_clarity(item, Clarity::words(failed.unclear, "")));
    }
    if let Some(words) = &atom.invalid {
        items.push(Item::at(depth + 1).text("It cannot be done: ").text(words));
    }
    items
}

fn with_clarity(item: Item, unclear: Option<String>) -> Item {
    match unclear {
        Some(words) => item.text("; ").text(words),
        None => item,
    }
}

fn head(atom: &AtomReport, depth: usize) -> Item {
    let node = &atom.node;
    let item = Item::at(depth).word(status(&node.state));
    // Under choices that are not in force.
    let item = match node.tried {
        Some("failed") => item.text(" (it failed)"),
        Some(_) | None => item,
    };
    let item = item.text(" ").code(node.id.as_str());
    let item = match node.kind {
        "any" => item.text(", one of"),
        "all" => item.text(", all of"),
        "plan" => item.text(", a step that plans"),
        _ => item,
    };
    let item = match &node.selected {
        Some(choice) => item.text(": chosen is ").code(choice.as_str()),
        None => item,
    };
    let item = match node.description.as_str() {
        "" => item,
        text => item.text(": ").text(text),
    };
    match (&atom.solved, node.depends_on.as_slice()) {
        (None, deps @ [_, ..]) => item.text(", after ").codes(&names(deps)),
        _ => item,
    }
}

fn names(ids: &[descent_core::id::AtomId]) -> Vec<&str> {
    ids.iter().map(|id| id.as_str()).collect()
}

/// The words of the core as words of our own.
pub(super) fn status(state: &str) -> &'static str {
    let known = [
        "resolved",
        "running",
        "failed",
        "invalid",
        "needs guidance",
        "in doubt",
        "not chosen",
        "dropped",
        "pending",
        "open",
    ];
    known.into_iter().find(|word| *word == state).unwrap_or("open")
}

fn result(solved: &SolvedReport, depth: usize) -> Item {
    let item = Item::at(depth);
    let item = match (solved.by.as_str(), solved.attempt) {
        ("person", _) => item.text("By a person"),
        (by, 0) => item.text(format!("By {by}")),
        (by, n) => item.text(format!("Attempt {n}, by {by}")),
    };
    let item =
        if solved.in_force { item } else { item.text(", kept for when its choices come back") };
    let item = match &solved.commit {
        Some(commit) => item.text(", commit ").code(short(commit.as_str())),
        None => item,
    };
    let item = match solved.summary.as_str() {
        "" => item,
        text => item.text(": ").text(text),
    };
    // The summary of an action names the first.
    let is_told = |file: &&String| !solved.summary.contains(file.as_str());
    let files: Vec<&String> = solved.files.iter().filter(is_told).collect();
    match files.as_slice() {
        [] => item,
        files => item.text("; files ").codes(files),
    }
}

fn proof(one: &EvidenceReport, depth: usize) -> Item {
    let verdict = match one.verdict.as_str() {
        "pass" => "pass",
        "fail" => "fail",
        _ => "unknown",
    };
    let item = Item::at(depth).word(verdict).text(" ").code(&one.check);
    let took = one.duration_ms.map(|ms| format!("in {}", time(ms)));
    let ended = Some(one.ended.clone()).filter(|text| !text.is_empty());
    let facts: Vec<String> = ended.into_iter().chain(took).collect();
    let item = if facts.is_empty() { item } else { item.text(format!(" ({})", facts.join(", "))) };
    match verdict {
        "pass" => item,
        _ => item.printed(&one.output),
    }
}
