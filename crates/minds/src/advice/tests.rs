//! Warnings as a table: a check, what was measured, what is said.

use super::*;
use descent_core::{doc, state::fields::Findings};

fn check(text: &str) -> Check {
    let parsed = doc::parse(text, &doc::Limits::default());
    let mut found = Findings::default();
    Check::read(&parsed.node.unwrap(), "", &mut found).unwrap()
}

fn ended(code: i32, said: &str) -> Measurement {
    Measurement {
        what: MeasurementKind::Command { how: CommandEnd::Exit(code), matched: None, number: None },
        duration_ms: 100,
        excerpt: said.to_owned(),
        whole: None,
    }
}

fn files(found: usize) -> Measurement {
    Measurement {
        what: MeasurementKind::Files { found, fits: true },
        duration_ms: 1,
        excerpt: String::new(),
        whole: None,
    }
}

#[track_caller]
fn expect(
    leaf: &str,
    here: &Measurement,
    fresh: &Measurement,
    facts: LeafFacts<'_>,
    words: &[&str],
) {
    let facts = LeafFacts { here: Some(here), fresh: Some(fresh), timeout_ms: 1_000, ..facts };
    let said = of_leaf(&check(leaf), &facts);
    assert_eq!(said.len(), words.len(), "{said:?}");
    for (advice, words) in said.iter().zip(words) {
        assert!(advice.what.contains(words), "no `{words}` in {advice:?}");
        assert!(!advice.hint.is_empty());
    }
}

fn plain(leaf: &str, code: i32, said: &str, words: &[&str]) {
    let seen = ended(code, said);
    expect(leaf, &seen, &seen, LeafFacts::default(), words);
}

#[test]
fn a_check_that_says_nothing_is_warned_of() {
    plain(r#"{"command": "true"}"#, 0, "", &["cannot fail"]);
    plain(r#"{"command": "x || true"}"#, 0, "", &["cannot fail"]);
    plain(r#"{"command": "echo 3", "stdout_matches": "3"}"#, 0, "3", &[]);
    plain(r#"{"command": "true", "expect_exit": 1}"#, 0, "", &[]);
    plain(r#"{"not_command": "x || :"}"#, 0, "", &["cannot pass"]);
    plain(r#"{"command": "cargo test"}"#, 101, "failed", &[]);
    plain(r#"{"command": "x || true && y"}"#, 0, "", &[]);
    plain(r#"{"command": "grep -q '|| true' x"}"#, 0, "", &[]);
}

#[test]
fn a_program_that_is_not_there_is_no_failure_of_the_goal() {
    let said = "sh: 1: nope: not found";
    plain(r#"{"command": "nope"}"#, 127, said, &["not found"]);
    plain(r#"{"command": "./x"}"#, 126, "", &["not executable"]);
    plain(r#"{"not_command": "nope"}"#, 127, said, &["not found"]);
    plain(r#"{"command": "nope", "expect_exit": 127}"#, 127, "", &[]);
    // If it is found in one place, the difference of the two is shown instead.
    let (here, fresh) = (ended(0, ""), ended(127, said));
    expect(r#"{"command": "tool"}"#, &here, &fresh, LeafFacts::default(), &[]);
}

#[test]
fn a_negation_that_holds_because_it_breaks_is_warned_of() {
    let missing = "grep: src/x.rs: No such file or directory";
    plain(r#"{"not_command": "grep -q TODO src/x.rs"}"#, 2, missing, &["breaks"]);
    plain(r#"{"not_command": "mytool x"}"#, 1, "x: No such file or directory", &["breaks"]);
    plain(r#"{"not_command": "grep -q TODO a"}"#, 1, "", &[]);
    plain(r#"{"not_command": "grep -q TODO a"}"#, 0, "", &[]);
    plain(r#"{"not_command": "grep -q x a", "expect_exit": 2}"#, 2, missing, &[]);
}

#[test]
fn a_number_that_is_not_found_is_warned_of() {
    let leaf = r#"{"command": "x", "number": "(\\d+) ok", "at_least": 3}"#;
    plain(leaf, 0, "three are ok\n", &["finds no number"]);
    plain(leaf, 0, "", &["prints nothing"]);
    let mut seen = ended(0, "4 ok");
    if let MeasurementKind::Command { number, .. } = &mut seen.what {
        *number = Some(4.0);
    }
    expect(leaf, &seen, &seen, LeafFacts::default(), &[]);
}

#[test]
fn a_file_that_git_ignores_and_nothing_makes_is_warned_of() {
    let leaf = r#"{"file": "dist/app"}"#;
    let ignored = || LeafFacts { is_ignored: true, ..LeafFacts::default() };
    expect(leaf, &files(1), &files(0), ignored(), &["git ignores dist/app"]);
    expect(leaf, &files(1), &files(1), ignored(), &[]);
    expect(leaf, &files(0), &files(0), LeafFacts::default(), &[]);
    let made = LeafFacts { may_be_made: true, ..ignored() };
    expect(leaf, &files(0), &files(0), made, &[]);
}

#[test]
fn a_check_that_is_slow_or_leaves_traces_is_warned_of() {
    let slow = Measurement { duration_ms: 600, ..ended(0, "") };
    let none = LeafFacts::default;
    expect(r#"{"command": "x"}"#, &ended(0, ""), &slow, none(), &["0.6 s of the 1.0 s"]);
    expect(r#"{"command": "x", "timeout": "1m"}"#, &slow, &slow, none(), &[]);
    let changed = ["a.lock", "b", "c", "d"].map(str::to_owned);
    let facts = LeafFacts { changed: &changed, ..none() };
    let seen = ended(0, "");
    expect(r#"{"command": "x"}"#, &seen, &seen, facts, &["a.lock, b, c and 1 more"]);
    let left = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
    let facts = LeafFacts { left: &left, ..none() };
    expect(
        r#"{"command": "x"}"#,
        &seen,
        &seen,
        facts,
        &["would start from: a, b, c, d, e and 1 more"],
    );
}
