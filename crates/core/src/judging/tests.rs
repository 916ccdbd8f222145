//! Plans of a few atoms, and the rules that speak of each.

use super::*;
use crate::doc::prelude::*;
use crate::{id::Lineage, plan};

fn issues_with(atoms: &str, constraints: &str, facts: &PlanFacts) -> Vec<String> {
    let text = format!(
        r#"{{"objective": {{"constraints": {{{constraints}}}}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#
    );
    let read = plan::read(text.as_bytes());
    assert!(read.faults.is_empty(), "{:?}", read.faults);
    let state = read.into_state(Lineage::new("l"));
    let graph = Graph::of(&state);
    let plan = JudgedPlan::of_pending(&state, &graph, facts);
    let one = |issue: &Issue| {
        let (severity, rule) = (issue.severity.word(), issue.rule.word());
        format!("{} {rule} {severity}", issue.location)
    };
    judge(&plan).iter().map(one).collect()
}

#[track_caller]
fn check(atoms: &str, wanted: &[&str]) {
    assert_eq!(issues_with(atoms, "", &PlanFacts::default()), wanted);
}

const DONE: &str = r#""checks": {"command": "test -e x"}"#;

#[test]
fn a_worker_is_told_what_to_do_and_when_it_is_done() {
    check(&format!(r#""A": {{{DONE}}}"#), &["A no-order high"]);
    check(&format!(r#""A": {{"description": "A", {DONE}}}"#), &["A no-order high"]);
    // The goal's own checks come right after the only step.
    check(r#""A": {"description": "do it"}"#, &[]);
    let two = format!(r#""A": {{"description": "do it"}}, "B": {{"description": "b", {DONE}}}"#);
    check(&two, &["A no-end medium"]);
    check(r#""A": {"description": "do it", "unknown": true}"#, &[]);
    let before = format!(
        r#""A": {{"description": "do it"}}, "B": {{"description": "b", "depends_on": ["A"]}},
        "C": {{"description": "c", "depends_on": ["G"], {DONE}}}, "G": {{"parts": ["B"]}}"#
    );
    // B is inside of what C waits for, and A is not within its reach.
    check(&before.replace(r#", "depends_on": ["A"]"#, ""), &["A no-end medium"]);
    check(r#""A": {"description": "do it", "output_schema": {"type": "string"}}"#, &[]);
}

#[test]
fn what_does_nothing_or_cannot_fail_is_told() {
    for (action, wanted) in [
        ("true", "A does-nothing high"),
        (" : ", "A does-nothing high"),
        ("echo well", "A does-nothing high"),
        ("make all || true", "A cannot-fail medium"),
    ] {
        check(
            &format!(r#""A": {{"description": "a", "action": {{"run": "{action}"}}}}"#),
            &[wanted],
        );
    }
    for action in ["echo a > b", "echo a | sh", "echo $(make)", "./true", "truefx"] {
        check(&format!(r#""A": {{"description": "a", "action": {{"run": "{action}"}}}}"#), &[]);
    }
    let outside = r#""A": {"description": "a", "action": {"run": "true"}, "effect": "external"}"#;
    check(outside, &[]);
    let gate = format!(r#""A": {{"description": "a", "action": {{"run": "true"}}, {DONE}}}"#);
    check(&gate, &[]);
    check(
        r#""A": {"description": "a", "checks": {"command": "make || true"}}"#,
        &["A cannot-fail medium"],
    );
}

#[test]
fn what_is_needed_is_provided_before() {
    let maker = format!(r#""A": {{"description": "a", "provides": ["api"], {DONE}}}"#);
    let user = |more: &str| {
        format!(r#"{maker}, "B": {{"description": "b", "needs": ["api"], {DONE}{more}}}"#)
    };
    check(&user(""), &["B not-provided high"]);
    check(&user(r#", "depends_on": ["A"]"#), &[]);
    let two = format!(r#"{maker}, "B": {{"description": "b", "provides": ["api"], {DONE}}}"#);
    check(&two, &["B provided-twice medium"]);
    check(&format!(r#"{two}, "G": {{"choices": ["A", "B"]}}"#), &[]);
    let planned = format!(
        r#""P": {{"kind": "plan", "description": "p"}},
        "B": {{"description": "b", "needs": ["api"], "depends_on": ["P"], {DONE}}}"#
    );
    check(&planned, &[]);
}

#[test]
fn two_atoms_that_are_the_same_are_told() {
    let same =
        format!(r#""A": {{"description": "a", {DONE}}}, "B": {{"description": "a", {DONE}}}"#);
    check(&same, &["B same-atom medium"]);
    check(&format!(r#"{same}, "G": {{"choices": ["A", "B"]}}"#), &[]);
    let again = same.replace(r#""B": {"#, r#""B": {"depends_on": ["A"], "#);
    check(&again, &[]);
}

#[test]
fn files_that_two_atoms_touch_weigh_more_in_one_tree() {
    let both = format!(
        r#""A": {{"description": "a", "touches": ["x"], {DONE}}}, "B": {{"description": "b", "touches": ["x"], {DONE}}}"#
    );
    let with = |constraints: &str| issues_with(&both, constraints, &PlanFacts::default());
    assert_eq!(with(""), ["B collide low"]);
    assert_eq!(with(r#""workspace": "shared""#), ["B collide medium"]);
}

fn lacking(command: &str) -> PlanFacts {
    let target = MissingTarget {
        words: "make x".to_owned(),
        manifest: "Makefile".to_owned(),
        makers: Vec::new(),
    };
    let facts =
        CommandFacts { missing_program: Some("frob".to_owned()), missing_target: Some(target) };
    PlanFacts {
        commands: [(command.to_owned(), facts)].into(),
        absent: ["src/a.py".to_string(), "docs/b.md".to_string()].into(),
        protected: ["./tests/a".to_string()].into(),
        ..PlanFacts::default()
    }
}

#[test]
fn what_is_not_there_weighs_by_what_is_done_before() {
    let facts = lacking("frob it");
    let with = |atoms: &str| issues_with(atoms, "", &facts);
    let frob = |more: &str| {
        format!(r#""B": {{"description": "b", "action": {{"run": "frob it"}}{more}}}"#)
    };
    assert_eq!(with(&frob("")), ["B no-program high", "B no-target high"]);
    let before = |touches: &str| {
        let more = r#", "depends_on": ["A"]"#;
        format!(
            r#""A": {{"description": "a", "action": {{"run": "sh x"}}{touches}}}, {}"#,
            frob(more)
        )
    };
    assert_eq!(with(&before("")), ["B no-program medium", "B no-target medium"]);
    let told = before(r#", "touches": ["Makefile"]"#);
    assert_eq!(with(&told), ["B no-program medium", "B no-target low"]);
    let other = before(r#", "touches": ["src/**"]"#);
    assert_eq!(with(&other), ["B no-target high", "B no-program medium"]);
    // A check comes after its own work.
    let check = r#""B": {"description": "b", "checks": {"command": "frob it"}}"#;
    assert_eq!(with(check), ["B no-program medium", "B no-target medium"]);
}

#[test]
fn a_file_that_is_not_there_is_told_unless_something_makes_it() {
    let facts = lacking("");
    let with = |description: &str, more: &str| {
        let text = format!(
            r#""B": {{"description": "{description}", "touches": ["src/a.py"], {DONE}{more}}}"#
        );
        issues_with(&text, "", &facts)
    };
    assert_eq!(with("mend the parser", ""), ["B no-file medium"]);
    assert_eq!(with("write the parser", ""), [""; 0]);
    let provided = with("mend the parser", r#", "provides": ["src/a.py"]"#);
    assert_eq!(provided, [""; 0]);
    let checked = r#""B": {"description": "mend it", "touches": ["src/**"], "checks": {"file": "docs/b.md"}}"#;
    assert_eq!(issues_with(checked, "", &facts), ["B no-file medium"]);
    let checked = checked.replace("src/**", "docs/**");
    assert_eq!(issues_with(&checked, "", &facts), [""; 0]);
    let protected = r#""B": {"description": "mend it", "touches": ["./tests/a"], "checks": {"command": "make"}}"#;
    assert_eq!(issues_with(protected, "", &facts), ["B protected high"]);
}

#[test]
fn every_rule_has_its_own_word() {
    let words = BTreeSet::from(PlanRule::WORDS.map(|(word, _)| word));
    assert_eq!(words.len(), PlanRule::WORDS.len());
    for (_, rule) in PlanRule::WORDS {
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(text.trim_matches('"'), rule.word());
    }
}
