//! The agreement and the base case.

use descent_core::{
    state::limits,
    view::report::{AgreementReport, LeafReport},
};

use super::Item;
use crate::render::time;

pub(super) fn agreement(agreed: &AgreementReport) -> Vec<Item> {
    let mut items = Vec::new();
    if !agreed.raw_input.trim().is_empty() && agreed.raw_input.trim() != agreed.goal.trim() {
        items.push(
            Item::at(0).text("First asked, before what is agreed on now:").said(&agreed.raw_input),
        );
    }
    let texts = [
        ("Why: ", &agreed.background_intent),
        ("To be delivered: ", &agreed.deliverables),
        ("Done when: ", &agreed.definition_of_done),
    ];
    for (label, text) in texts {
        if !text.trim().is_empty() {
            items.push(Item::at(0).text(label).text(text));
        }
    }
    let free = [("Scope: ", &agreed.scope), ("Clarified: ", &agreed.clarifications)];
    for (label, value) in free {
        if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
            items.push(Item::at(0).text(label).text(limits::plain(value)));
        }
    }
    let mut constraints = agreed.constraints.iter();
    if let Some(first) = constraints.next() {
        let item = Item::at(0).text("Constraints: ").code(&first.key).text(" = ");
        let item = item.code(limits::plain(&first.value));
        items.push(constraints.fold(item, |item, one| {
            let item = item.text(", ").code(&one.key).text(" = ");
            item.code(limits::plain(&one.value))
        }));
    }
    items
}

pub(super) fn checks(agreed: &AgreementReport) -> Vec<Item> {
    agreed.base_case.iter().map(leaf).collect()
}

fn leaf(leaf: &LeafReport) -> Item {
    let verdict = match leaf.verdict.as_deref() {
        Some("pass") => "pass",
        Some("fail") => "fail",
        Some(_) => "unknown",
        None => "not evaluated",
    };
    let mut item = Item::at(0).word(verdict).text(" ").code(&leaf.check);
    if let Some(rule) = &leaf.rule {
        item = item.text(": ").code(rule);
    }
    let took = leaf.duration_ms.map(|ms| format!("in {}", time(ms)));
    let number = leaf.number.as_ref().map(|number| format!("number {}", limits::plain(number)));
    let facts = [leaf.ended.clone(), number, took];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if !facts.is_empty() {
        item = item.text(format!(" ({})", facts.join(", ")));
    }
    if leaf.spared {
        item = item.text("; another choice of its ").code("any").text(" holds");
    }
    match verdict {
        "pass" => item,
        _ => item.printed(&leaf.output),
    }
}
