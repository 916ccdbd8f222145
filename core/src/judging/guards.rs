//! A rule about the constraints: a pattern that matches nothing guards nothing.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{Issue, JudgedPlan, PlanRule, Severity, Unmatched, UnmatchedPattern};

pub(super) fn judge(plan: &JudgedPlan<'_>, issues: &mut Vec<Issue>) {
    issues.extend(plan.facts.unmatched.iter().map(no_match));
}

/// The issue of a pattern that has no effect.
pub fn no_match(one: &UnmatchedPattern) -> Issue {
    let UnmatchedPattern { key, pattern, .. } = one;
    let does = match *key {
        "protected" => "protects",
        "link" => "shares",
        "setup.keep" => "keeps",
        "setup" => "prepares",
        _ => "names",
    };
    let (why, repair) = match &one.why {
        Unmatched::NoPath { nearest } => ("matches nothing here", instead(key, nearest.as_deref())),
        Unmatched::Linked => {
            ("matches only what is linked, and so your own", "leave the link out".to_owned())
        }
        Unmatched::InPlace => (
            "has no effect where agents work in place",
            "choose the workspace `git` or `shadow`, or leave it out".to_owned(),
        ),
    };
    Issue {
        rule: PlanRule::NoMatch,
        kind: PlanRule::NoMatch.issue_type(),
        severity: Severity::Medium,
        location: "constraints".to_string(),
        at: one.at.clone(),
        description: format!("{key} `{pattern}` {why}: it {does} nothing"),
        proposed_repair: repair,
    }
}

fn instead(key: &str, nearest: Option<&str>) -> String {
    match (nearest, key) {
        (Some(near), _) => format!("the nearest path that is there: `{near}`"),
        (None, "link") => "link a path of the project, or leave it out".to_owned(),
        (None, _) => "a pattern begins at the top; `**/NAME` is a name at any depth".to_owned(),
    }
}
