//! Reports of small states.

use super::{Report, report};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::Digest,
    state::{Check, decode, fields::Findings},
    world::World,
};

fn of(text: &str) -> Report {
    let text = crate::whole_records::file_of(text);
    let decoded = decode::decode(text.as_bytes());
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    report(&World::new(decoded.state.expect("a state")))
}

/// A state with this base case, these atoms, and these entries of the trail.
fn state(base_case: &str, atoms: &str, trail: &str, run: &str) -> String {
    format!(
        r#"{{"version": "3.0", "lineage": "l", "serial": 7, "seal": "",
  "objective": {{"raw_input": "r", "goal": "g", "background_intent": "w", "deliverables": "d",
    "definition_of_done": "o", "base_case": {base_case}, "constraints": {{"max_attempts": 2}}}},
  "control": {{"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null}},
  "work_graph": {{"atoms": {atoms}}}, "bindings": {{}}, "trail": [{trail}], "corrections": [],
  "run": {run}}}"#
    )
}

fn run(status: &str, evidence: &str) -> String {
    format!(
        r#"{{"status": "{status}", "reason": "base_case", "ended": "2026-11-24T10:00:00Z", "summary": "s",
  "iteration": 1, "moves": ["descent run", "descent edit"],
  "judged": {{"at": "2026-11-24T10:00:00Z", "evidence": [{evidence}]}}}}"#
    )
}

fn failure(atom: &str, output: &str) -> String {
    format!(
        r#"{{"type": "failure", "at": "2026-11-24T09:00:00Z", "serial": 3, "pass": 1, "atom": "{atom}",
  "attempt": "{atom}.1", "nth": 1, "class": "logical", "reason": "exit 1", "output": "{output}"}}"#
    )
}

const TASKS: &str = r#"{"A": {"description": "a", "action": {"run": "true"}}, "B": {"action": {"run": "true"}},
  "C": {"action": {"run": "true"}}, "D": {"action": {"run": "true"}}}"#;

#[test]
fn failures_that_are_alike_stand_together_and_the_patterns_are_those_of_the_run() {
    let trail = [
        failure("A", "port 80 refused"),
        failure("D", "no such file"),
        failure("B", "port 82 refused"),
    ];
    let told = r#"{"patterns": [
      {"fingerprint": "sha256:a", "failures": 4, "atoms": ["A", "B", "C"], "reason": "refused", "told": true},
      {"fingerprint": "sha256:b", "failures": 1, "atoms": ["D"], "reason": "no such file"}]}"#;
    let check = r#"{"command": "make"}"#;
    let report = of(&state(check, TASKS, &trail.join(","), told));
    let groups = report.tried.failures.iter();
    let sizes: Vec<usize> = groups.map(|one| one.attempts.len()).collect();
    assert_eq!(sizes, [2, 1]);
    // The newest tells most.
    assert_eq!(report.tried.failures[0].output, "port 82 refused");
    let patterns: Vec<(u64, usize)> =
        report.patterns.iter().map(|one| (one.failures, one.atoms.len())).collect();
    assert_eq!(patterns, [(4, 3)]);
}

fn key_of(command: &str) -> Digest {
    let node = Node::object(Vec::from([("command".to_owned(), Node::string(command))]));
    Check::read(&node, "", &mut Findings::default()).expect("a check").key()
}

#[test]
fn a_leaf_may_fail_where_another_choice_of_its_any_holds() {
    let check = r#"{"all": [{"any": [{"command": "x"}, {"command": "y"}]},
      {"any": [{"command": "z"}]}]}"#;
    let evidence = [("x", "fail"), ("y", "pass"), ("z", "fail")].map(|(command, verdict)| {
        let key = key_of(command);
        format!(r#"{{"check": "{command}", "key": "{key}", "verdict": "{verdict}"}}"#)
    });
    let report = of(&state(check, TASKS, "", &run("exhausted", &evidence.join(", "))));
    let leaves = report.agreement.base_case.iter();
    let stands: Vec<(&str, Option<&str>, bool)> =
        leaves.map(|leaf| (leaf.check.as_str(), leaf.verdict.as_deref(), leaf.spared)).collect();
    let expected =
        [("x", Some("fail"), true), ("y", Some("pass"), false), ("z", Some("fail"), false)];
    assert_eq!(stands, expected);
}

#[test]
fn a_leaf_without_evidence_held_if_the_run_completed_and_could_not_without_it() {
    let check = r#"{"all": [{"command": "x"}, {"any": [{"command": "y"}, {"command": "z"}]}]}"#;
    for (status, expected) in [("completed", [Some("pass"), None, None]), ("stopped", [None; 3])] {
        let report = of(&state(check, TASKS, "", &run(status, "")));
        let leaves = report.agreement.base_case.iter();
        let verdicts: Vec<Option<&str>> = leaves.map(|leaf| leaf.verdict.as_deref()).collect();
        assert_eq!(verdicts, expected, "{status}");
    }
}

#[test]
fn an_ending_of_an_earlier_run_is_not_told_as_the_outcome() {
    let ended = run("exhausted", "");
    let over = of(&state(r#"{"command": "make"}"#, TASKS, "", &ended));
    assert_eq!(over.outcome.last.map(|last| last.summary).as_deref(), Some("s"));
    assert_eq!(over.next, ["descent run", "descent edit"]);
    let again = ended.replacen("exhausted", "running", 1);
    let again = of(&state(r#"{"command": "make"}"#, TASKS, "", &again));
    assert!(again.outcome.last.is_none());
    // The state does not tell whether a loop is at work on it.
    assert_eq!(again.next, ["descent status"]);
}
