//! Which failures are alike.

use super::of;
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{AtomId, AttemptId, Digest},
    state::{FailureClass, record::FailureEntry},
};

fn failed(class: FailureClass, reason: &str, check: &str, output: &str) -> FailureEntry {
    let leaf = |check: &str, verdict: &str| {
        Node::object(Vec::from([
            ("check", Node::string(check)),
            ("verdict", Node::string(verdict)),
        ]))
    };
    FailureEntry {
        atom: AtomId::new("A1"),
        attempt: AttemptId::new("A1.1"),
        started: String::new(),
        nth: None,
        class,
        reason: reason.into(),
        context: None,
        output: output.into(),
        whole: None,
        criteria: Vec::from([leaf("make lint", "pass"), leaf(check, "fail")]),
        files: Vec::new(),
        changed: Vec::new(),
        conflict: None,
        fingerprint: None,
        summary: String::new(),
        value: None,
        handoff: None,
        unclear: false,
        by_form: false,
        agent: None,
        tried: Vec::new(),
        usage: Default::default(),
    }
}

fn printed(output: &str) -> Digest {
    of(&failed(FailureClass::Logical, "exit 1", "cargo test", output))
}

#[test]
fn failures_that_differ_in_paths_numbers_times_and_addresses_are_alike() {
    let pairs = [
        ("at /tmp/a1/src/lib.rs:12:5", "at /home/ada/x/src/lib.rs:14:7"),
        ("took 1.25 s", "took 31.7 s"),
        ("2026-11-24T01:02:03Z refused", "2027-01-02T11:12:13Z refused"),
        ("at 0x7ffee4c0ab12", "at 0x55d0aa31bc00"),
        ("commit 9ab53ed1f", "commit 044eba6c2"),
        ("\u{1b}[31merror\u{1b}[0m:  x", "error: x"),
        ("no file '/var/x/tmpQwErTy'", "no file '/var/y/tmpAsDfGh'"),
        ("x\n\n\n", "x"),
    ];
    for (one, other) in pairs {
        assert_eq!(printed(one), printed(other), "{one} / {other}");
    }
}

#[test]
fn failures_with_other_words_checks_endings_or_classes_differ() {
    use FailureClass::{Environmental, Logical};
    let base = of(&failed(Logical, "exit 1: no table", "make test", "no table"));
    let others = [
        failed(Environmental, "exit 1: no table", "make test", "no table"),
        failed(Logical, "exit 2: no table", "make test", "no table"),
        failed(Logical, "exit 1: no column", "make test", "no table"),
        failed(Logical, "exit 1: no table", "make docs", "no table"),
        failed(Logical, "exit 1: no table", "make test", "no column"),
    ];
    for other in others {
        assert_ne!(base, of(&other), "{other:?}");
    }
    // A word of hexadecimal letters alone is a word.
    assert_ne!(printed("effaced"), printed("defaced"));
}

#[test]
fn only_the_end_of_a_long_output_counts() {
    let long = |first: &str| {
        let rest: Vec<String> = (0..20).map(|n| format!("line {}", "x".repeat(n))).collect();
        format!("{first}\n{}", rest.join("\n"))
    };
    assert_eq!(printed(&long("began here")), printed(&long("began there")));
}

#[test]
fn checks_that_hold_tell_nothing() {
    let one = failed(FailureClass::Logical, "exit 1", "make test", "");
    let mut other = one.clone();
    other.criteria.remove(0);
    assert_eq!(of(&one), of(&other));
}
