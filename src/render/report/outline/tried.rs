//! Everything that was tried and dropped, patterns, and the corrections of people.

use descent_core::{
    event::ChoiceChange,
    id::AtomId,
    state::record::CorrectionType,
    view::{
        ChoiceView, PatternView,
        report::{CorrectionReport, FailureGroup, TriedReport},
    },
};

use super::Item;
use crate::render::count;

/// Attempts named at most of a kind of failure.
const ATTEMPTS_MAX: usize = 12;

pub(super) fn tried(tried: &TriedReport) -> Vec<Item> {
    let mut items: Vec<(&str, Item)> = Vec::new();
    items.extend(tried.choices.iter().filter_map(|one| Some(("", choice(one)?))));
    for one in &tried.refuted {
        let item = Item::at(0).text("The base case did not hold");
        let item =
            if one.choices.is_empty() { item } else { item.text(" with ").choices(&one.choices) };
        items.push((&one.at, item.text(": ").codes(&one.failed)));
    }
    for one in &tried.backtracks {
        let item = Item::at(0).text("Switched ");
        let item = one.changes.iter().enumerate().fold(item, |item, (place, one)| {
            change(if place > 0 { item.text(", ") } else { item }, one)
        });
        items.push((&one.at, item.text(", because ").text(&one.reason)));
    }
    for one in &tried.replans {
        let item = Item::at(0).code(one.atom.as_str()).text(" was planned again: ");
        let item = item.text(&one.reason);
        items.push((
            &one.at,
            if one.differs.is_empty() { item } else { item.text("; ").text(&one.differs) },
        ));
    }
    for one in &tried.changes {
        let item = Item::at(0).text("The plan was changed");
        let item = match (&one.atom, &one.by) {
            (Some(atom), _) => item.text(", ").code(atom.as_str()).text(" plans anew: "),
            (None, Some(by)) if one.refused.is_empty() => {
                let item = item.text(" by ").code(by.as_str()).text(" (");
                let names = one.atoms.iter().enumerate();
                let item = names.fold(item, |item, (place, atom)| {
                    let item = if place > 0 { item.text(", ") } else { item };
                    item.code(atom.as_str())
                });
                item.text("): ")
            }
            (None, _) => Item::at(0)
                .text("No change of the plan was admitted (")
                .text(&one.refused)
                .text("): "),
        };
        items.push((&one.at, item.text(&one.reason)));
    }
    for one in &tried.probes {
        let words = match one.feasible {
            Some(true) => " can be done, says a probe: ",
            Some(false) => " cannot be done, says a probe: ",
            None => " was probed, and nothing was found out: ",
        };
        let item = Item::at(0).code(one.atom.as_str()).text(words);
        items.push((&one.at, item.text(&one.findings)));
    }
    for one in &tried.dropped {
        let item = Item::at(0).code(one.atom.as_str()).text(" ended at its budget, without ");
        items.push((&one.at, item.codes(&names(&one.missing))));
    }
    // Times in records compare as their texts do; what has none comes first.
    items.sort_by_key(|(at, _)| *at);
    items.into_iter().map(|(_, item)| item).collect()
}

fn names(ids: &[AtomId]) -> Vec<&str> {
    ids.iter().map(AtomId::as_str).collect()
}

/// The choices that were given up, if there are any.
fn choice(view: &ChoiceView) -> Option<Item> {
    let is_left = |id: &&AtomId| view.selected.as_ref() != Some(id);
    let given_up = |ids: &[AtomId]| ids.iter().filter(is_left).cloned().collect::<Vec<AtomId>>();
    let (failed, refuted) = (given_up(&view.failed), given_up(&view.refuted));
    if failed.is_empty() && refuted.is_empty() {
        return None;
    }
    let item = Item::at(0).code(view.group.as_str());
    let item = match &view.selected {
        Some(choice) => item.text(" = ").code(choice.as_str()),
        None => item.text(": nothing is chosen"),
    };
    let groups = [
        ("failed", failed),
        ("the base case did not hold", refuted),
        ("untried", given_up(&view.untried)),
    ];
    let groups = groups.iter().filter(|(_, ids)| !ids.is_empty());
    Some(groups.fold(item, |item, (what, ids)| item.text(format!("; {what}: ")).codes(&names(ids))))
}

fn change(item: Item, change: &ChoiceChange) -> Item {
    let item = item.code(change.group.as_str()).text(": ");
    let item = match &change.from {
        Some(from) => item.code(from.as_str()).text(" → "),
        None => item,
    };
    item.code(change.to.as_str())
}

pub(super) fn failures(tried: &TriedReport) -> Vec<Item> {
    tried.failures.iter().flat_map(failure).collect()
}

fn failure(group: &FailureGroup) -> Vec<Item> {
    let number = match group.attempts.len() {
        1 => String::new(),
        n => format!(", {n} times alike"),
    };
    let head = Item::at(0).text(&group.reason);
    let head = head.text(format!(" ({}{number})", group.class.word()));
    let mut items = vec![head.printed(&group.output)];
    if !group.checks.is_empty() {
        items.push(Item::at(1).text("Did not hold: ").codes(&group.checks));
    }
    let shown = group.attempts.iter().rev().take(ATTEMPTS_MAX);
    items.extend(shown.map(|one| {
        let n = one.n.map(|n| format!(", attempt {n}")).unwrap_or_default();
        let held = one.held.zip(one.of);
        let held = held.map(|(held, of)| format!(", {held} of {of} checks hold"));
        let n = n + &held.unwrap_or_default();
        let item = Item::at(1).code(one.atom.as_str()).text(format!("{n}, at {}", one.at));
        if one.choices.is_empty() { item } else { item.text(", with ").choices(&one.choices) }
    }));
    if let more @ 1.. = group.attempts.len().saturating_sub(ATTEMPTS_MAX) {
        items.push(Item::at(1).text(format!("… and {more} before")));
    }
    items
}

pub(super) fn patterns(patterns: &[PatternView]) -> Vec<Item> {
    let one = |pattern: &PatternView| {
        let failures = count(pattern.failures, "failure");
        let atoms = count(pattern.atoms.len(), "atom");
        let item = Item::at(0).text(format!("{failures} alike in {atoms}, often one cause: "));
        let item = item.text(&pattern.reason).text(": ");
        item.codes(&names(&pattern.atoms))
    };
    patterns.iter().map(one).collect()
}

pub(super) fn corrections(corrections: &[CorrectionReport]) -> Vec<Item> {
    corrections.iter().flat_map(correction).collect()
}

fn correction(one: &CorrectionReport) -> Vec<Item> {
    let kind = one.kind.map_or("correction", CorrectionType::word).replace('_', " ");
    let head = Item::at(0).text(format!("{kind} by ")).text(&one.by);
    let head = head.text(format!(", at {}: ", one.at)).text(&one.description);
    let effects = one.effects.iter().map(|effect| Item::at(1).text(effect));
    let lost = one.gave_way.iter().map(|lost| Item::at(1).text("Gave way: ").text(lost));
    std::iter::once(head).chain(effects).chain(lost).collect()
}
