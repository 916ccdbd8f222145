//! The control law and the auditor: the curve, what followed the directives, and what a person should know of.

use descent_core::{
    audit::AuditFinding,
    view::{law::LawView, report::Report},
};

use super::Item;
use crate::render::{
    count,
    law::{bars, blocked},
};

/// Points of the curve that are listed: the newest.
const POINTS_MAX: usize = 16;

pub(super) fn law(report: &Report) -> Vec<Item> {
    let Some(law) = &report.law else {
        return Vec::new();
    };
    let mut items = Vec::from([Item::at(0).text(format!("D so far: {}", bars(&law.curve)))]);
    items.extend(outcomes(law));
    let older = law.curve.len().saturating_sub(POINTS_MAX);
    for point in law.curve.iter().skip(older) {
        let words = format!(
            "pass {}: D {}, P {}, Ω {}, L {}: ",
            point.pass, point.d, point.p, point.omega, point.l
        );
        let item = Item::at(1).text(words);
        items.push(item.code(point.directive.word()));
    }
    let blocked = blocked(&law.blocked);
    if !blocked.is_empty() {
        let item = Item::at(0).text("Planners may not propose: ");
        items.push(item.codes(&blocked));
    }
    items
}

/// The directives with what followed them.
fn outcomes(law: &LawView) -> Option<Item> {
    let given: u64 = law.outcomes.iter().map(|one| one.given).sum();
    let followed: u64 = law.outcomes.iter().map(|one| one.followed).sum();
    (given > 0).then(|| {
        let each = law.outcomes.iter().map(|one| {
            let (word, given, followed) = (one.directive.word(), one.given, one.followed);
            format!("{word} {followed} of {given}")
        });
        let each: Vec<String> = each.collect();
        let given = count(given, "directive");
        Item::at(0).text(format!(
            "The law: {given}, {followed} followed by progress ({})",
            each.join(", ")
        ))
    })
}

pub(super) fn findings(report: &Report) -> Vec<Item> {
    let one = |one: &AuditFinding| {
        let item = Item::at(0).word(one.code.word()).text(": ");
        item.text(&one.what).text(format!("; {}", one.hint))
    };
    report.findings.iter().map(one).collect()
}
