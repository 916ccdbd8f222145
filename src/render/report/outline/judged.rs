//! Issues of planners' plans: advice, not proof.

use descent_core::{
    state::JudgedBy,
    view::{judged::IssueView, report::Report},
};

use super::Item;

/// Advice that is shown at most: the newest.
const ADVISORIES_MAX: usize = 10;

pub(super) fn judged(report: &Report) -> Vec<Item> {
    let mut items = plan(report);
    items.extend(pass(report));
    items
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
    items
}

fn plan(report: &Report) -> Vec<Item> {
    let Some(judged) = &report.judged else {
        return Vec::new();
    };
    let head = Item::at(0)
        .text("the plan of ")
        .code(&judged.atom)
        .text(match judged.by {
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
    let head = match is_clean {
        true => head.text(", no issue was found"),
        false => head,
    };
    let old = judged.advisories.len().saturating_sub(ADVISORIES_MAX);
    let advice = judged.advisories.iter().skip(old);
    let advice = advice.filter(|one| !one.proposed_repair.is_empty());
    let advice = advice.map(|one| {
        let item = Item::at(0).text("not made, for ").code(&one.location);
        item.text(": ").text(&one.proposed_repair)
    });
    [head]
        .into_iter()
        .chain(judged.issues.iter().map(issue))
        .chain(advice)
        .collect()
}

fn issue(issue: &IssueView) -> Item {
    let item = Item::at(1).word(issue.severity.word()).text(" ");
    item.code(&issue.location)
        .text(": ")
        .text(&issue.description)
}
