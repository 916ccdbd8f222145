//! How a growing trail is shortened: which entries stay in full, which become a line, and that no others are left out.

use super::{cuts, shortened};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Limits, Node},
    state::{Entry, EntryKind, fields::Findings, record::added, value::FieldValue},
    world::session::TrailLimits,
};

const LIMITS: TrailLimits = TrailLimits {
    failures: 2,
    failure_lines: 2,
    steps: 2,
    failures_long: 3,
    refuted_long: 1,
    surplus: 1,
};

fn entry(text: &str) -> Arc<Entry> {
    let parsed = doc::parse(text, &Limits::default());
    let node = parsed.node.filter(|_| parsed.faults.is_empty());
    let mut found = Findings::default();
    let entry = Entry::read(&node.expect(text), "", &mut found);
    assert!(found.faults.is_empty(), "{text}: {:?}", found.faults);
    Arc::new(entry.expect("an entry"))
}

fn failure(serial: u64, atom: &str, context: &str, more: &str) -> Arc<Entry> {
    entry(&format!(
        r#"{{"type": "failure", "at": "t{serial:03}", "serial": {serial}, "pass": 1, "atom": "{atom}",
            "attempt": "{atom}.{serial}", "class": "logical", "context": "{context}"{more}}}"#
    ))
}

fn step(serial: u64, group: &str, choice: &str) -> Arc<Entry> {
    entry(&format!(
        r#"{{"type": "choice", "at": "t{serial:03}", "serial": {serial}, "group": "{group}", "choice": "{choice}",
            "untried": [], "commit": "c", "reason": "r"}}"#
    ))
}

fn refuted(serial: u64, output: &str) -> Arc<Entry> {
    entry(&format!(
        r#"{{"type": "refuted", "at": "t{serial:03}", "serial": {serial}, "conflict": {{"G": "A{serial}"}},
            "context": "c", "evidence": [{{"check": "x", "verdict": "fail", "output": "{output}"}}]}}"#
    ))
}

fn shorten(trail: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    shortened(trail, &cuts(trail, LIMITS))
}

fn texts(trail: &[Arc<Entry>]) -> Vec<String> {
    trail.iter().map(|one| doc::canonical(&one.node)).collect()
}

fn text_at(entry: &Entry, key: &str) -> Option<String> {
    entry.node.get(key)?.as_str().map(ToString::to_string)
}

/// An entry in short: its type, its serial, and whether it is a line.
fn told(trail: &[Arc<Entry>]) -> Vec<String> {
    let one = |entry: &Arc<Entry>| {
        let serial = entry.node.get("serial").and_then(Node::as_u64).unwrap_or(0);
        let kind = text_at(entry, "type").unwrap_or_default();
        let line = entry.node.get("fingerprint").map_or("", |_| " as a line");
        format!("{kind} {serial}{line}")
    };
    trail.iter().map(one).collect()
}

#[track_caller]
fn check(trail: &[Arc<Entry>], expected: &[&str]) -> Vec<Arc<Entry>> {
    let short = shorten(trail);
    assert_eq!(told(&short), expected);
    assert!(cuts(&short, LIMITS).is_empty(), "it is done at once");
    // As read from the file.
    let read: Vec<Arc<Entry>> = texts(&short).iter().map(|text| entry(text)).collect();
    assert_eq!(told(&read), expected);
    short
}

#[test]
fn the_newest_failures_of_an_atom_and_context_stand_in_full_and_older_ones_as_lines() {
    let trail = [
        failure(1, "A", "c", ""),
        failure(2, "A", "d", ""),
        failure(3, "A", "c", ""),
        failure(4, "B", "c", ""),
        failure(5, "A", "c", ""),
        failure(6, "A", "c", ""),
        failure(7, "A", "c", ""),
    ];
    check(
        &trail,
        &[
            "failure 2",
            "failure 3 as a line",
            "failure 4",
            "failure 5 as a line",
            "failure 6",
            "failure 7",
        ],
    );
}

#[test]
fn a_line_tells_who_failed_when_and_why_and_nothing_long() {
    let long = r#", "n": 1, "reason": "exit 1: no\nand more", "output": "much\nto say", "criteria": [{"check": "x", "verdict": "fail"}], "files": ["a"],
        "whole": {"digest": "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd", "bytes": 9}, "conflict": {"G": "A"}"#;
    let trail = [failure(1, "A", "c", long), failure(2, "A", "c", ""), failure(3, "A", "c", "")];
    let line = &shorten(&trail)[0];
    let keys = line.node.as_object().expect("an object").iter();
    let keys: Vec<&str> = keys.map(|member| &*member.key).collect();
    assert_eq!(
        keys,
        [
            "type",
            "at",
            "serial",
            "pass",
            "atom",
            "attempt",
            "class",
            "context",
            "n",
            "reason",
            "conflict",
            "fingerprint"
        ]
    );
    assert_eq!(text_at(line, "reason").as_deref(), Some("exit 1: no"));
    let EntryKind::Failure(failure) = &line.kind else {
        panic!("a failure");
    };
    assert_eq!(failure.reason, "exit 1: no");
}

#[test]
fn failures_have_one_fingerprint_exactly_where_they_failed_alike() {
    let of = |serial: u64, more: &str| {
        let trail =
            [failure(serial, "A", "c", more), failure(98, "A", "c", ""), failure(99, "A", "c", "")];
        text_at(&shorten(&trail)[0], "fingerprint").expect("a line")
    };
    let one = r#", "reason": "exit 1", "output": "no""#;
    assert_eq!(of(1, one), of(2, one));
    for other in [
        r#", "reason": "exit 2", "output": "no""#,
        r#", "reason": "exit 1", "output": "yes""#,
        r#", "reason": "exit 1", "output": "no", "criteria": [{"check": "b", "verdict": "fail"}]"#,
    ] {
        assert_ne!(of(1, one), of(1, other), "{other}");
    }
}

#[test]
fn a_trail_of_many_failures_stays_short_and_a_line_stays_as_it_is() {
    let mut trail: Vec<Arc<Entry>> = Vec::new();
    for serial in 1..=50 {
        trail.push(failure(serial, "A", "c", r#", "output": "no""#));
        let short = shorten(&trail);
        assert!(short.len() <= 4, "{:?}", told(&short));
        trail = short;
    }
    check(&trail, &["failure 47 as a line", "failure 48 as a line", "failure 49", "failure 50"]);
}

#[test]
fn the_oldest_choices_and_backtracks_are_left_out() {
    let back = |serial: u64| {
        let text =
            r#"{"type": "backtrack", "at": "t", "serial": SERIAL, "changes": {"G": ["A", "B"]}}"#;
        entry(&text.replace("SERIAL", &serial.to_string()))
    };
    let trail = [step(1, "G", "A"), step(2, "G", "B"), back(3), step(4, "H", "Y")];
    check(&trail, &["backtrack 3", "choice 4"]);
}

#[test]
fn counts_of_earlier_versions_stay_as_they_are() {
    let count = |kind: &str, serial: u64| {
        entry(&format!(
            r#"{{"type": "{kind}", "at": "t", "serial": {serial}, "atom": "A", "context": "c", "count": 40}}"#
        ))
    };
    let trail = [
        count("failures", 1),
        count("steps", 2),
        failure(3, "A", "c", ""),
        failure(4, "A", "c", ""),
    ];
    check(&trail, &["failures 1", "steps 2", "failure 3", "failure 4"]);
}

#[test]
fn every_refuted_selection_stays_and_older_ones_keep_the_last_line_of_their_evidence() {
    let trail: Vec<Arc<Entry>> = (1..=4).map(|n| refuted(n, "much\\nto say\\n")).collect();
    let short = check(&trail, &["refuted 1", "refuted 2", "refuted 3", "refuted 4"]);
    for (before, after) in trail.iter().zip(&short) {
        for key in ["conflict", "context"] {
            assert_eq!(before.node.get(key), after.node.get(key));
        }
        let (EntryKind::Refuted(before), EntryKind::Refuted(after)) = (&before.kind, &after.kind)
        else {
            panic!("refuted");
        };
        assert_eq!(before.conflict, after.conflict);
    }
    let output = |entry: &Arc<Entry>| {
        let proof = entry.node.get("evidence")?.as_array()?.first()?;
        Some(proof.get("output")?.as_str()?.to_string())
    };
    let outputs: Vec<String> = short.iter().filter_map(output).collect();
    assert_eq!(outputs, ["to say", "to say", "to say", "much\nto say\n"]);
}

#[test]
fn an_entry_beside_which_a_person_wrote_stays_as_it_is() {
    let trail = [
        failure(1, "A", "c", r#", "notes": "odd", "output": "no""#),
        failure(2, "A", "c", r#", "mine": true"#),
        failure(3, "A", "c", ""),
        failure(4, "A", "c", ""),
        failure(5, "A", "c", ""),
    ];
    check(&trail, &["failure 1", "failure 2", "failure 3 as a line", "failure 4", "failure 5"]);
}

#[test]
fn of_many_failures_in_full_the_newest_keep_their_outputs() {
    let long = r#", "output": "one\ntwo", "whole": {"digest": "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd", "bytes": 9}"#;
    let trail: Vec<Arc<Entry>> = (1..=5).map(|n| failure(n, &format!("A{n}"), "c", long)).collect();
    let short = shorten(&trail);
    let output = |entry: &Arc<Entry>| entry.node.get("output")?.as_str().map(ToString::to_string);
    let outputs: Vec<String> = short.iter().filter_map(output).collect();
    assert_eq!(outputs, ["two", "two", "one\ntwo", "one\ntwo", "one\ntwo"]);
    assert!(short.iter().all(|entry| entry.node.get("whole").is_some()));
}

#[test]
fn new_entries_of_a_shortened_trail_are_told_from_older_ones() {
    let old: Vec<Arc<Entry>> = (1..=6).map(|n| failure(n, "A", "c", "")).collect();
    let mut grown = old.clone();
    grown.push(failure(7, "A", "c", ""));
    let new = shorten(&grown);
    let fresh = added(&old, &new).map(|fresh| fresh.into_iter().cloned().collect::<Vec<_>>());
    assert_eq!(fresh.map(|fresh| told(&fresh)), Some(Vec::from(["failure 7".to_string()])));
    // A trail that was cleared did not grow.
    let doubt =
        entry(r#"{"type": "in_doubt", "at": "t", "serial": 1, "atom": "A", "attempt": "A.1"}"#);
    assert!(added(&[doubt], &new).is_none() && added(&grown, &[]).is_none());
}
