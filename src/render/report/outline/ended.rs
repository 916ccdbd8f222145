//! The agreement with its checks, how the run ended, what it spent, and what comes next.

use descent_core::{
    state::{FreeValue, JudgedBy, final_result::FinalResultRecord, limits},
    view::{
        LeafView,
        report::{AgreementReport, OutcomeReport, Report},
    },
};

use super::{Item, after, choices, code, commit, facts, prose, row, said, word};
use crate::render::{count, event::behind, report::flat, time, usage, usage_of_agent};

/// Characters at most of the final answer.
const ANSWER_MAX: usize = 4_000;

pub(super) fn agreement(agreed: &AgreementReport) -> Vec<Item> {
    let mut items = Vec::new();
    if !agreed.raw_input.trim().is_empty() && agreed.raw_input.trim() != agreed.goal.trim() {
        let item = Item::at(0, "First asked, before what is agreed on now:");
        items.push(Item { words: said(&agreed.raw_input), ..item });
    }
    let free = |value: &Option<FreeValue>| value.as_ref().map(limits::plain).unwrap_or_default();
    let constraints = agreed.constraints.iter();
    let constraints =
        constraints.map(|one| format!("{} = {}", code(&one.key), code(limits::plain(&one.value))));
    let texts = [
        after("Why: ", &agreed.background_intent),
        after("To be delivered: ", &agreed.deliverables),
        after("Done when: ", &agreed.definition_of_done),
        after("Scope: ", &free(&agreed.scope)),
        after("Clarified: ", &free(&agreed.clarifications)),
        behind("Constraints: ", &constraints.collect::<Vec<_>>().join(", ")),
    ];
    items.extend(texts.into_iter().filter(|text| !text.is_empty()).map(|text| Item::at(0, text)));
    items
}

pub(super) fn leaf(leaf: &LeafView) -> Item {
    let verdict = match leaf.verdict.as_deref() {
        Some("pass") => "pass",
        Some("fail") => "fail",
        Some(_) => "unknown",
        None => "not evaluated",
    };
    let rule = leaf.rule.as_ref().map(|rule| format!(": {}", code(rule))).unwrap_or_default();
    let number = leaf.number.as_ref().map(|number| format!("number {}", limits::plain(number)));
    let took = leaf.duration_ms.map(|ms| format!("in {}", time(ms)));
    let facts = facts([leaf.ended.clone(), number, took]);
    let spared = leaf.spared.then(|| format!("; another choice of its {} holds", code("any")));
    let spared = spared.unwrap_or_default();
    let text = format!("{} {}{rule}{facts}{spared}", word(verdict), code(&leaf.check));
    Item::at(0, text).printed(if verdict == "pass" { "" } else { &leaf.output })
}

pub(super) fn outcome(outcome: &OutcomeReport) -> Vec<Item> {
    let mut texts = vec![head(outcome)];
    let last = outcome.last.as_ref();
    if let Some(answer) = last.and_then(|last| last.output.as_ref()) {
        // Words by code say what the other items say.
        let by_model = answer.by == Some(JudgedBy::Model);
        let words = || format!("In words, by a model: {}", flat(&answer.text, ANSWER_MAX));
        texts.extend(by_model.then(words));
        texts.extend(answer.notes.iter().map(|note| after("note: ", note)));
    }
    let changed = "A person changed something since; the next run goes on from there.";
    texts.extend(outcome.changed_since.then(|| changed.to_owned()));
    texts.extend(last.into_iter().flat_map(account));
    if let Some(verdict) = last.and_then(|last| last.verdict.as_ref()) {
        let whole = if verdict.pristine { ", in a fresh checkout" } else { "" };
        let made = choices(", made with ", &verdict.choices);
        let (held, of) = (verdict.held, verdict.of);
        texts.push(format!("{held} of {of} checks held on the result{whole}{made}"));
    }
    // Before anything is solved, the result is what the run started from.
    let made = outcome.commit.as_ref();
    if let Some(made) = made.filter(|made| outcome.base.as_ref() != Some(*made)) {
        let base = outcome.base.as_ref().map(|base| format!(", from {}", commit(base)));
        texts.push(format!("Result: commit {}{}", commit(made), base.unwrap_or_default()));
    }
    texts.extend(last.into_iter().flat_map(|last| &last.open).map(|open| {
        let (head, about) = (word("open"), prose(&open.description));
        let why = open.reason.as_ref().map(|why| format!(" (failed: {})", prose(why)));
        format!("{head} {}: {about}{}", code(&open.atom), why.unwrap_or_default())
    }));
    texts.extend(outcome.doubts.iter().map(|doubt| {
        let (head, why) = (word("in doubt"), doubt.reason.as_deref().unwrap_or_default());
        let attempt = code(&doubt.attempt);
        format!("{head} {attempt}: nobody knows whether its effect happened{}", after("; ", why))
    }));
    texts.extend(last.into_iter().flat_map(|last| &last.unsteady).map(|check| {
        format!("{} {}: it failed at align on the same files", word("unsteady"), code(check))
    }));
    texts.into_iter().map(|text| Item::at(0, text)).collect()
}

/// Who is accountable, and what the tasks took.
fn account(account: &FinalResultRecord) -> Vec<String> {
    let role = account.accountable.filter(|role| role.is_told());
    let role = role.map(|role| format!("Accountable: {}: {}", word(role.word()), role.meaning()));
    let mut texts = Vec::from_iter(role);
    if let Some(metrics) = &account.metrics {
        let (first, later) = (metrics.solved_at_first, metrics.solved_later);
        let mut words = vec![format!("{first} solved at first, {later} later")];
        let more = [
            (metrics.unsolved, "unsolved"),
            (metrics.rested, "rested"),
            (metrics.interruptions, "interrupted"),
            (account.changes, "changes of the plan"),
        ];
        let more = more.iter().filter(|(n, _)| *n > 0);
        words.extend(more.map(|(n, what)| format!("{n} {what}")));
        texts.push(format!("Tasks, those of earlier plans too: {}", words.join(", ")));
    }
    texts
}

fn head(outcome: &OutcomeReport) -> String {
    let head = word(outcome.status);
    match (&outcome.last, outcome.status) {
        (None, "aligned") => format!("{head}: agreed, and not run yet"),
        (None, _) => format!("{head}: it has not ended"),
        (Some(last), _) => {
            let reason = code(last.reason.map_or("", |reason| reason.word()));
            let at = after(", at ", last.at.as_deref().unwrap_or_default());
            format!("{head} ({reason}): {}{at}", prose(&last.summary))
        }
    }
}

pub(super) fn spent(report: &Report) -> Vec<Item> {
    let spent = &report.spent;
    let mut words = vec![count(spent.attempts, "attempt")];
    let others = [(spent.repairs, "repair"), (spent.transient, "passing failure")];
    let others = others.iter().filter(|(n, _)| *n > 0);
    words.extend(others.map(|(n, what)| count(n, what)));
    words.push(format!("{} of active time", time(spent.active_ms)));
    let mut items = vec![Item::at(0, words.join(", "))];
    let used = spent.usage.as_ref().map(|used| format!("Model usage: {}", usage(used)));
    items.extend(used.map(|used| Item::at(0, used)));
    items.extend(spent.by_agent.iter().map(|agent| Item::at(1, prose(&usage_of_agent(agent)))));
    let mut tried: Vec<_> = report.work.iter().filter(|atom| atom.attempts > 1).collect();
    tried.sort_by_key(|atom| std::cmp::Reverse(atom.attempts));
    if !tried.is_empty() {
        let each = tried.iter().map(|atom| format!("{} {}", code(&atom.node.id), atom.attempts));
        items.push(Item::at(0, format!("Atoms with more than one attempt: {}", row(each))));
    }
    items
}

pub(super) fn next(step: &String) -> Item {
    Item::at(0, if step.starts_with("descent ") { code(step) } else { prose(step) })
}
