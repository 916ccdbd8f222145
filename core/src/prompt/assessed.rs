//! The opinion of whoever assessed a pass, and issues, for those who change the plan: advice, not proof.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    state::{AssessmentRecord, IssueRecord},
    world::World,
};

/// The newest assessment, for whoever changes the plan; empty where nobody gave one.
pub(super) fn said(world: &World) -> String {
    let judging = world.state.run.judging.as_ref();
    let said = judging.and_then(|judging| judging.assessment.as_ref());
    said.filter(|said| said.converged.is_some()).map(lines).unwrap_or_default()
}

fn lines(said: &AssessmentRecord) -> String {
    let mut text = String::new();
    let mut list = |head: &str, all: &[String]| {
        for one in all {
            text.push_str(&format!("- {head}: {one}\n"));
        }
    };
    list("missing", &said.missing);
    list("contradiction", &said.contradictions);
    let blame: Vec<String> = said.blame.iter().map(ToString::to_string).collect();
    list("to blame", &blame);
    text
}

/// An issue in a line.
pub(super) fn issue(issue: &IssueRecord) -> String {
    let severity = issue.severity.word();
    format!("- {} ({severity}): {}\n", issue.location, issue.description)
}
