//! A report as JUnit's XML, for the test view of a CI: a case for each leaf of the base case, and for each atom.
//!
//! Invariant: well-formed XML 1.0, whatever an agent printed. In a completed run nothing counts as a failure. Not here:
//! how long an atom took, which no state keeps.

use std::time::Duration;

use descent_core::view::{
    LeafView,
    report::{AtomReport, Report},
};
use quick_junit::{NonSuccessKind, Report as JunitReport, TestCase, TestCaseStatus, TestSuite};

use super::{flat, plain};
use crate::render::usage_of_agent;

/// Characters at most of a name or a message.
const TEXT_MAX: usize = 300;

/// Without the last line feed.
pub fn junit(report: &Report) -> String {
    let mut all = JunitReport::new(flat(&report.agreement.goal, TEXT_MAX));
    let leaves = report.agreement.base_case.iter();
    all.add_test_suite(suite(report, "base case", leaves.map(|one| leaf(report, one))));
    all.add_test_suite(suite(report, "work", report.work.iter().map(|one| atom(report, one))));
    let xml = all.to_string().expect("BUG: a text in memory takes all");
    xml.trim_end().to_owned()
}

fn suite(report: &Report, name: &str, cases: impl Iterator<Item = TestCase>) -> TestSuite {
    let mut suite = TestSuite::new(name);
    let outcome = &report.outcome;
    let last = outcome.last.as_ref();
    let at = last.and_then(|last| last.at.as_deref());
    suite.extra.extend(at.map(|at| ("timestamp".into(), at.into())));
    let properties = [
        ("status", outcome.status),
        ("summary", last.map_or("", |last| &last.summary)),
        ("lineage", report.lineage.as_str()),
        ("commit", outcome.commit.as_ref().map_or("", |commit| commit.as_str())),
    ];
    let agents: Vec<String> = report.spent.by_agent.iter().map(usage_of_agent).collect();
    let agents = agents.iter().map(|agent| ("usage", agent.as_str()));
    let properties = properties.into_iter().chain(agents).filter(|(_, value)| !value.is_empty());
    suite.add_properties(properties.map(|(key, value)| (key.to_owned(), flat(value, TEXT_MAX))));
    for mut case in cases {
        case.set_classname(name);
        suite.add_test_case(case);
    }
    suite
}

fn failed(kind: &str, message: &str) -> TestCaseStatus {
    let status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    noted(status, message).set_type(kind).clone()
}

/// It could not be decided, or a person is needed.
fn unclear(kind: &str, message: &str) -> TestCaseStatus {
    let status = TestCaseStatus::non_success(NonSuccessKind::Error);
    noted(status, message).set_type(kind).clone()
}

/// A skipped case has a message alone.
fn skipped(message: &str) -> TestCaseStatus {
    noted(TestCaseStatus::skipped(), message)
}

fn noted(mut status: TestCaseStatus, message: &str) -> TestCaseStatus {
    status.set_message(flat(message, TEXT_MAX)).clone()
}

/// A case with what was printed.
fn case(name: &str, about: &str, mut status: TestCaseStatus, output: &str) -> TestCase {
    let behind = if about.is_empty() { "" } else { ": " };
    if !output.is_empty() {
        status.set_description(plain(output));
    }
    TestCase::new(flat(&format!("{name}{behind}{about}"), TEXT_MAX), status)
}

fn leaf(report: &Report, leaf: &LeafView) -> TestCase {
    let ended = leaf.ended.as_deref().unwrap_or_default();
    let is_completed = report.outcome.status == "completed";
    // A stopped run goes on where it was.
    let is_over = report.outcome.last.is_some() && report.outcome.status != "stopped";
    let status = match leaf.verdict.as_deref() {
        Some("pass") => TestCaseStatus::success(),
        Some("fail") if leaf.spared => skipped("it failed, and another choice of its `any` holds"),
        Some("fail") if is_completed => skipped("it failed before the base case held"),
        Some("fail") => failed("fail", &format!("it does not hold: {ended}")),
        Some(_) if leaf.by_person => skipped("a person must confirm it"),
        Some(_) => unclear("unknown", &format!("it could not be decided: {ended}")),
        None if is_over && !leaf.spared && !is_completed => {
            unclear("unknown", "it was not evaluated before the run ended")
        }
        None => skipped("it was not evaluated"),
    };
    let rule = leaf.rule.as_deref().unwrap_or_default();
    let mut case = case(&leaf.check, rule, status, &leaf.output);
    case.time = leaf.duration_ms.map(Duration::from_millis);
    case
}

fn atom(report: &Report, atom: &AtomReport) -> TestCase {
    let (node, failure) = (&atom.node, atom.failed.as_ref());
    let (state, reason) = (node.state.as_str(), failure.map_or("", |one| &one.reason));
    let kind = failure.map_or("failed", |one| &one.class);
    let is_completed = report.outcome.status == "completed";
    let solved = atom.solved.as_ref().filter(|one| one.ended == "solved");
    let status = match (state, solved) {
        ("resolved", Some(one)) if one.skipped => skipped(&one.reason),
        ("resolved", _) => TestCaseStatus::success(),
        ("failed" | "invalid" | "needs guidance" | "in doubt", _) if is_completed => {
            skipped(&format!("open, and the base case holds without it: {reason}"))
        }
        ("failed", _) => failed(kind, reason),
        ("invalid", _) => {
            let words = atom.invalid.as_deref().unwrap_or_default();
            failed(kind, &format!("it cannot be done: {words}"))
        }
        ("needs guidance", _) => unclear(kind, &format!("it needs guidance: {reason}")),
        ("in doubt", _) => unclear("in doubt", "nobody knows whether its effect happened"),
        _ if node.tried == Some("failed") => skipped(&format!("{state}: it failed: {reason}")),
        _ => skipped(state),
    };
    let is_told = !is_completed && matches!(state, "failed" | "invalid" | "needs guidance");
    let output = failure.filter(|_| is_told).map_or("", |one| &one.output);
    case(node.id.as_str(), &node.description, status, output)
}
