//! Issues of planners' plans: advice, not proof.

use descent_core::{
    state::JudgedBy,
    view::{judged::IssueView, report::Report},
};

use super::Item;

/// Advice that is shown at most: the newest.
const ADVISORIES_MAX: usize = 10;

pub(super) fn judged(report: &Report) -> Vec<Item> {
    let mut items = kind(report);
    items.extend(plan(report));
    items.extend(phases(report));
    items.extend(pass(report));
    items.extend(marked(report));
    items
}

/// The kind of task, where an agent said it, and what was revised of it.
fn kind(report: &Report) -> Vec<Item> {
    let known = report.profile.as_ref();
    let Some((known, agent)) = known.and_then(|known| Some((known, known.agent.as_ref()?))) else {
        return Vec::new();
    };
    let item = Item::at(0).text("kind of task: ");
    let item = match known.fault.as_str() {
        "" => item.text("by ").code(agent.as_str()).text(": ").text(&known.raw_inference),
        fault => item.text("a default; ").code(agent.as_str()).text(": ").text(fault),
    };
    let changes = known.history.iter().map(|one| {
        let item = Item::at(1).text(format!("pass {}: ", one.pass)).code(&one.field);
        let passes = crate::render::passes(one.passes);
        item.text(format!(
            " was {}, is {} ({passes}, {} before): {}",
            one.was, one.is, one.passes_were, one.because
        ))
    });
    std::iter::once(item).chain(changes).collect()
}

/// The issues across the phases of a pass.
fn phases(report: &Report) -> Vec<Item> {
    let Some(said) = &report.reviewed else {
        return Vec::new();
    };
    let head = Item::at(0).text(format!("pass {}, across its phases: ", said.pass));
    let head = match (said.because.as_str(), said.issues.is_empty()) {
        ("", true) => head.code(said.agent.as_str()).text(" found no issue"),
        ("", false) => head.text("by ").code(said.agent.as_str()),
        (why, _) => head.text("not judged by a model: ").text(why),
    };
    std::iter::once(head).chain(said.issues.iter().map(issue)).collect()
}

/// The opinion about a pass that came to its end.
fn pass(report: &Report) -> Vec<Item> {
    let Some(said) = &report.assessed else {
        return Vec::new();
    };
    let head = Item::at(0).text(format!("pass {}: ", said.pass));
    let head = match said.converged {
        None => head.text("not assessed by a model: ").text(&said.because),
        Some(_) => head
            .text("assessed by ")
            .code(said.agent.as_str())
            .text(format!(": {}", said.reason_codes.join(", "))),
    };
    let list = |head: &'static str, all: &[String]| -> Vec<Item> {
        let one = |text: &String| Item::at(1).text(head).text(text);
        all.iter().map(one).collect()
    };
    let mut items = vec![head];
    items.extend(list("missing: ", &said.missing));
    items.extend(list("contradiction: ", &said.contradictions));
    let scores = said.criteria.iter();
    let scores = scores.map(|one| Item::at(1).text(format!("{}: {}", one.name, one.score)));
    items.extend(scores);
    items
}

fn plan(report: &Report) -> Vec<Item> {
    let Some(judged) = &report.judged else {
        return Vec::new();
    };
    let head = Item::at(0).text("the plan of ").code(&judged.atom).text(match judged.by {
        JudgedBy::Code => ": looked at by rules",
        JudgedBy::Model => ": looked at by rules and ",
        JudgedBy::Nobody => ": looked at by rules; not judged by a model: ",
    });
    let head = match (judged.by, &judged.agent) {
        (JudgedBy::Model, Some(agent)) => head.code(agent.as_str()),
        (JudgedBy::Nobody, _) => head.text(&judged.because),
        (JudgedBy::Model | JudgedBy::Code, _) => head,
    };
    let is_clean = judged.issues.is_empty() && judged.by != JudgedBy::Nobody;
    let head = if is_clean { head.text(", no issue was found") } else { head };
    let old = judged.advisories.len().saturating_sub(ADVISORIES_MAX);
    let advice = judged.advisories.iter().skip(old);
    let advice = advice.filter(|one| !one.proposed_repair.is_empty());
    let advice = advice.map(|one| {
        let item = Item::at(0).text("not made, for ").code(&one.location);
        item.text(": ").text(&one.proposed_repair)
    });
    let replaced = judged.replaced.iter().flat_map(|one| {
        let head = Item::at(0).text("planned again for these, ").code(one.atom.as_str());
        std::iter::once(head).chain(one.issues.iter().map(issue))
    });
    let replaced: Vec<Item> = replaced.collect();
    [head]
        .into_iter()
        .chain(judged.issues.iter().map(issue))
        .chain(replaced)
        .chain(advice)
        .collect()
}

fn issue(issue: &IssueView) -> Item {
    let item = Item::at(1).word(issue.severity.word()).text(" ");
    item.code(&issue.location).text(": ").text(&issue.description)
}

/// Atoms that a person should look at, and what was asked or assumed.
fn marked(report: &Report) -> Vec<Item> {
    let marks = report.attention.iter().map(|mark| {
        let text = crate::render::event::attention(&mark.atom, mark.cause, &mark.because);
        Item::at(0).text("attention: ").text(text)
    });
    let questions = report.questions.iter().map(|one| {
        let head = match (one.waits, one.assume.is_empty()) {
            (true, _) => "asked about ",
            (false, true) => "answered for ",
            (false, false) => "assumed for ",
        };
        let item = Item::at(0).text(head).code(one.atom.as_str());
        item.text(": ").text(&one.question).text(" ").text(&one.assume)
    });
    marks.chain(questions).collect()
}
