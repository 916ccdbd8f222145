//! What becomes of a trail that grows: what stands in full, what is counted, and that nothing else is lost.

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::Plan;
use crate::{
    doc::{self, Limits, Node},
    state::{
        Entry, EntryKind,
        fields::Findings,
        record::{contracted, counted},
    },
    world::contraction::Full,
};

const FULL: Full = Full {
    failures: 2,
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
        r#"{{"type": "choice", "at": "t{serial:03}", "serial": {serial}, "group": "{group}", "choice": "{choice}"}}"#
    ))
}

fn refuted(serial: u64, output: &str) -> Arc<Entry> {
    entry(&format!(
        r#"{{"type": "refuted", "at": "t{serial:03}", "serial": {serial}, "conflict": {{"G": "A{serial}"}},
            "context": "c", "evidence": [{{"check": "x", "verdict": "fail", "output": "{output}"}}]}}"#
    ))
}

fn contract(trail: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    let plan = Plan::of(trail, FULL);
    let is_less = plan.surplus() > 0;
    let contracted = plan.carry_out(trail);
    assert!(is_less || same(&contracted, trail));
    contracted
}

fn same(a: &[Arc<Entry>], b: &[Arc<Entry>]) -> bool {
    texts(a) == texts(b)
}

fn texts(trail: &[Arc<Entry>]) -> Vec<String> {
    trail.iter().map(|one| doc::canonical(&one.node)).collect()
}

/// An entry in short: its type, its serial, and how many it stands for.
fn told(trail: &[Arc<Entry>]) -> Vec<String> {
    let one = |entry: &Arc<Entry>| {
        let of = |key: &str| entry.node.get(key).and_then(Node::as_u64).unwrap_or(0);
        let kind = entry.node.get("type").and_then(Node::as_str).unwrap_or("");
        match &entry.kind {
            EntryKind::Failures { count, .. } | EntryKind::Steps { count } => {
                assert_eq!(*count, of("count"));
                format!("{kind} {} x{count}", of("serial"))
            }
            _ => format!("{kind} {}", of("serial")),
        }
    };
    trail.iter().map(one).collect()
}

#[track_caller]
fn check(trail: &[Arc<Entry>], expected: &[&str]) -> Vec<Arc<Entry>> {
    let contracted = contract(trail);
    assert_eq!(told(&contracted), expected);
    assert!(
        same(&contract(&contracted), &contracted),
        "it is done at once"
    );
    // As the file has it.
    let read: Vec<Arc<Entry>> = texts(&contracted).iter().map(|text| entry(text)).collect();
    assert_eq!(told(&read), expected);
    contracted
}

#[test]
fn the_newest_failures_of_an_atom_and_context_stand_in_full_and_older_ones_are_counted() {
    let trail = [
        failure(1, "A", "c", r#", "reason": "exit 1""#),
        failure(2, "A", "d", r#", "reason": "exit 1""#),
        failure(
            3,
            "A",
            "c",
            r#", "reason": "exit 2", "conflict": {"G": "A"}"#,
        ),
        failure(4, "B", "c", ""),
        failure(5, "A", "c", r#", "reason": "exit 1""#),
        failure(6, "A", "c", ""),
        failure(7, "A", "c", ""),
    ];
    let contracted = check(
        &trail,
        &[
            "failure 2",
            "failure 4",
            "failures 5 x3",
            "failure 6",
            "failure 7",
        ],
    );
    let count = &contracted[2].node;
    assert_eq!(counted::reasons_in_words(count), "2 × exit 1; 1 × exit 2");
    for (key, value) in [
        ("since", r#""t001""#),
        ("at", r#""t005""#),
        ("classes", r#"{"logical":3}"#),
        ("conflict", r#"{"G":"A"}"#),
    ] {
        assert_eq!(
            count.get(key).map(doc::canonical).as_deref(),
            Some(value),
            "{key}"
        );
    }
}

#[test]
fn a_count_goes_on_counting() {
    let mut trail: Vec<Arc<Entry>> = Vec::new();
    for serial in 1..=50 {
        trail.push(failure(
            serial,
            "A",
            "c",
            &format!(r#", "reason": "exit {}""#, serial % 20),
        ));
        trail = contract(&trail);
        assert!(trail.len() <= 3, "{:?}", told(&trail));
    }
    check(&trail, &["failures 48 x48", "failure 49", "failure 50"]);
    let reasons = counted::reasons(&trail[0].node);
    // What came last is told, and no more of it than a line holds.
    assert_eq!(reasons.len(), 8);
    assert_eq!(
        reasons.last().map(|(reason, _)| reason.as_str()),
        Some("exit 8")
    );
}

#[test]
fn choices_and_backtracks_are_counted_by_group() {
    let back = |serial: u64| {
        let text =
            r#"{"type": "backtrack", "at": "t", "serial": SERIAL, "changes": {"G": ["A", "B"]}}"#;
        entry(&text.replace("SERIAL", &serial.to_string()))
    };
    let trail = [
        step(1, "G", "A"),
        back(2),
        step(2, "G", "B"),
        step(3, "H", "X"),
        step(4, "H", "Y"),
    ];
    let contracted = check(&trail, &["steps 2 x3", "choice 3", "choice 4"]);
    let groups = contracted[0].node.get("groups").map(doc::canonical);
    assert_eq!(groups.as_deref(), Some(r#"{"G":2}"#));
}

#[test]
fn every_refuted_selection_stays_and_older_ones_keep_the_last_line_of_their_evidence() {
    let trail: Vec<Arc<Entry>> = (1..=4).map(|n| refuted(n, "much\\nto say\\n")).collect();
    let contracted = check(
        &trail,
        &["refuted 1", "refuted 2", "refuted 3", "refuted 4"],
    );
    for (before, after) in trail.iter().zip(&contracted) {
        for key in ["conflict", "context"] {
            assert_eq!(before.node.get(key), after.node.get(key));
        }
        let (EntryKind::Refuted { conflict, .. }, EntryKind::Refuted { conflict: kept, .. }) =
            (&before.kind, &after.kind)
        else {
            panic!("refuted");
        };
        assert_eq!(conflict, kept);
    }
    let output = |entry: &Arc<Entry>| {
        let proof = entry.node.get("evidence")?.as_array()?.first()?;
        Some(proof.get("output")?.as_str()?.to_string())
    };
    let outputs: Vec<String> = contracted.iter().filter_map(output).collect();
    assert_eq!(outputs, ["to say", "to say", "to say", "much\nto say\n"]);
}

#[test]
fn what_a_person_wrote_beside_an_entry_keeps_it() {
    let trail = [
        failure(1, "A", "c", r#", "notes": "odd""#),
        failure(2, "A", "c", r#", "mine": true"#),
        failure(3, "A", "c", ""),
        failure(4, "A", "c", ""),
        failure(5, "A", "c", ""),
    ];
    check(
        &trail,
        &[
            "failure 1",
            "failure 2",
            "failures 3 x1",
            "failure 4",
            "failure 5",
        ],
    );
}

#[test]
fn of_many_failures_in_full_the_newest_keep_their_outputs() {
    let long = r#", "output": "one\ntwo", "whole": {"digest": "d", "bytes": 9}"#;
    let trail: Vec<Arc<Entry>> = (1..=5)
        .map(|n| failure(n, &format!("A{n}"), "c", long))
        .collect();
    let contracted = contract(&trail);
    let output = |entry: &Arc<Entry>| entry.node.get("output")?.as_str().map(ToString::to_string);
    let outputs: Vec<String> = contracted.iter().filter_map(output).collect();
    assert_eq!(outputs, ["two", "two", "one\ntwo", "one\ntwo", "one\ntwo"]);
    assert!(
        contracted
            .iter()
            .all(|entry| entry.node.get("whole").is_some())
    );
}

#[test]
fn what_is_new_in_a_contracted_trail_is_told_from_what_was_counted() {
    let old: Vec<Arc<Entry>> = (1..=4).map(|n| failure(n, "A", "c", "")).collect();
    let mut grown = old.clone();
    grown.push(failure(5, "A", "c", ""));
    let new = contract(&grown);
    let fresh = contracted(&old, &new).map(|fresh| fresh.into_iter().cloned().collect::<Vec<_>>());
    assert_eq!(
        fresh.map(|fresh| told(&fresh)),
        Some(Vec::from(["failure 5".to_string()]))
    );
    // A trail that was cleared was not contracted.
    let doubt =
        entry(r#"{"type": "in_doubt", "at": "t", "serial": 1, "atom": "A", "attempt": "A.1"}"#);
    let cleared = contracted(&[doubt], &new);
    assert!(cleared.is_none() && contracted(&grown, &[]).is_none());
}
