//! Answers of each form, the faults of others, and the schemas.

use super::*;
use crate::{
    id::Lineage,
    plan,
    state::{Complexity, Micros, Severity, answer_records::ProbeAnswer, check::Thousandths},
};

const PASS: &str = r#"{"completeness": 0.95, "coherence": 0.9, "aligned": {"plan": true, "step": true, "answer": true, "memory": true}}"#;
const ISSUE: &str =
    r#"{"type": "relevance", "severity": "low", "location": "A", "description": "no\n use"}"#;
const KIND: &str = r#"{"reasoning_depth": 4, "information_sufficiency": 0.3, "expected_tool_usage": "moderate", "output_breadth": "broad", "confidence_requirement": "medium", "raw_inference": "many  files"}"#;

fn node(text: &str) -> Node {
    object(text).unwrap()
}

fn world(constraints: &str) -> World {
    let text = format!(
        r#"{{"objective": {{"goal": "g", "base_case": {{"command": "make"}}, "constraints": {{{constraints}}}}},
            "work_graph": {{"atoms": {{"A": {{"description": "a"}}}}}}}}"#
    );
    World::new(plan::read(text.as_bytes()).into_state(Lineage::new("l")))
}

fn with(text: &str, more: &str) -> String {
    text.replacen('{', &format!("{{{more}, "), 1)
}

/// Each text is refused for that fault.
fn refused<T: core::fmt::Debug>(
    read: impl Fn(&Node) -> Result<T, String>,
    faults: &[(String, &str)],
) {
    for (text, fault) in faults {
        let found = read(&node(text)).unwrap_err();
        assert!(found.contains(fault), "{text}: {found}");
    }
}

#[test]
fn a_text_is_one_object_or_none() {
    for text in ["fine", "[]", r#"{"text": "a"} {"text": "b"}"#, ""] {
        assert_eq!(object(text).unwrap_err(), "it is no JSON object", "{text}");
    }
}

#[test]
fn words_lose_what_a_terminal_would_obey_and_their_number_is_limited() {
    let read = r#"{"text": " It\n\u001b[31m is. ", "notes": ["a\tb", " "], "drift": ["c"]}"#;
    let read: TextAnswer = super::read(&node(read)).unwrap();
    assert_eq!(read.text, "It\n[31m is.");
    assert_eq!((read.notes.len(), read.notes[0].as_str()), (1, "a b"));
    refused(
        super::read::<TextAnswer>,
        &[
            ("{}".into(), "the key `text` is missing"),
            (r#"{"text": " "}"#.into(), "`text` is empty"),
            (r#"{"text": 1}"#.into(), "expected a string"),
            (r#"{"text": "a", "notes": "b"}"#.into(), "/notes: expected a list"),
            (r#"{"text": "a", "notes": [1]}"#.into(), "expected a string"),
            (r#"{"text": "a", "drift": ["1","2","3","4","5","6"]}"#.into(), "at most 5 texts"),
            (r#"{"text": "a", "note": []}"#.into(), "did you mean `notes`?"),
            (format!(r#"{{"text": "{}"}}"#, "é".repeat(4_001)), "more than 4000"),
        ],
    );
    // A key of its own says nothing, and is not kept.
    let own: TextAnswer =
        super::read(&node(r#"{"text": "a", "result": "completed", "internal": [[]]}"#)).unwrap();
    assert_eq!(FieldValue::node(&own), node(r#"{"text": "a"}"#));
}

#[test]
fn issues_are_sorted_and_those_of_no_atom_are_counted() {
    let other = ISSUE.replace("\"A\"", "\"X\"");
    let high = ISSUE.replace("low", "high").replace('}', r#", "rule": "no-end"}"#);
    let read = |text: &str| issues(&node(text), |id| id == "A");
    let found = read(&format!(r#"{{"issues": [{ISSUE}, {other}, {high}], "unplaced": 7}}"#));
    let found = found.unwrap();
    let severities: Vec<Severity> = found.issues.iter().map(|one| one.severity).collect();
    assert_eq!(severities, [Severity::High, Severity::Low]);
    assert_eq!((found.unplaced, found.issues[0].description.as_str()), (1, "no use"));
    assert!(found.issues.iter().all(|one| one.rule.is_none()), "an agent is no rule");
    assert_eq!(read(r#"{"issues": []}"#), Ok(IssuesAnswer::default()));
    let with = |from: &str, to: &str| format!(r#"{{"issues": [{}]}}"#, ISSUE.replace(from, to));
    refused(
        |node| issues(node, |_| true),
        &[
            ("{}".into(), "the key `issues` is missing"),
            (r#"{"issue": []}"#.into(), "did you mean `issues`?"),
            (with("relevance", "style"), "/issues/0/type: `style` is no known `type`"),
            (with("\"low\"", "\"grave\""), "one of high, medium, low"),
            (with("\"A\"", "\"\""), "`location` is empty"),
            (with(r#", "description": "no\n use""#, ""), "the key `description` is missing"),
            (format!(r#"{{"issues": [{}]}}"#, [ISSUE; 21].join(",")), "20 issues at most"),
        ],
    );
}

#[test]
fn a_pass_converged_from_the_three_shares_on() {
    let world = world("");
    let read = |text: &str| opinion(&world.state, &node(text));
    assert!(read(PASS).unwrap().has_converged(&[]));
    for (from, to, code) in [
        ("0.95", "0.949", "incomplete"),
        ("0.9,", "0.899,", "incoherent"),
        (r#""memory": true"#, r#""memory": false"#, "inconsistent"),
    ] {
        let other = read(&PASS.replace(from, to)).unwrap();
        assert!(!other.has_converged(&[]), "{to}");
        assert!(other.codes(&[]).iter().any(|one| one == code), "{other:?}");
    }
    let quoted = read(&PASS.replace("0.95", "\"0.95\"")).unwrap();
    assert_eq!(quoted.completeness, Thousandths(950));
    let more = format!(r#""blame": ["A", "X"], "issues": [{ISSUE}]"#);
    let said = read(&with(PASS, &more)).unwrap();
    assert_eq!(said.blame, [AtomId::new("A")], "atoms of no plan are not blamed");
    assert_eq!(said.issues.len(), 1);
    refused(
        |node| opinion(&world.state, node),
        &[
            ("{}".into(), "the key `completeness` is missing"),
            (PASS.replace("0.95", "1.5"), "`completeness` is a number from 0 to 1"),
            (PASS.replace("0.9,", "\"high\","), "/coherence"),
            (PASS.replace("\"plan\": true, ", ""), "/aligned: the key `plan` is missing"),
            (with(PASS, r#""missing": "a test""#), "/missing: expected a list"),
            (with(PASS, r#""blame": ["1", "2", "3", "4", "5", "6"]"#), "at most 5 texts"),
            (with(PASS, r#""contradiction": ["x"]"#), "did you mean `contradictions`?"),
            (PASS.replace("\"memory\"", "\"memry\""), "/aligned/memry: `memry` is no key"),
        ],
    );
}

#[test]
fn a_persons_criteria_count_beside_the_others_and_may_change_their_thresholds() {
    let world = world(
        r#""convergence": [{"name": "tested", "statement": "it is so", "at_least": 0.8},
            {"name": "completeness", "at_least": 0.5}]"#,
    );
    let criteria = &world.state.objective.constraints.convergence;
    let read = |score: &str| {
        let more = format!(
            r#""criteria": [{{"name": "tested", "score": {score}}}], "complexity": "higher""#
        );
        opinion(&world.state, &node(&with(PASS, &more).replace("0.95", "0.5")))
    };
    assert!(read("0.8").unwrap().has_converged(criteria));
    let low = read("0.7").unwrap();
    assert!(!low.has_converged(criteria));
    assert_eq!(low.complexity, Some(Complexity::Higher));
    assert_eq!(low.codes(criteria), ["complete", "criterion:tested"]);
    let more = r#""criteria": [{"name": "tested", "score": 1}, {"name": "x", "score": 1}]"#;
    let said = opinion(&world.state, &node(&with(PASS, more))).unwrap();
    assert_eq!(said.criteria.len(), 1, "nobody asked for the other");
    assert!(read("2").unwrap_err().contains("from 0 to 1"));
    assert!(opinion(&world.state, &node(PASS)).unwrap_err().contains("of `tested`"));
}

#[test]
fn a_kind_of_task_is_read_whole() {
    let read: KindAnswer = super::read(&node(KIND)).unwrap();
    assert_eq!(read.raw_inference, "many files");
    assert_eq!(profile::passes(&read.profile, 11), 7);
    let with = |from: &str, to: &str| KIND.replacen(from, to, 1);
    refused(
        super::read::<KindAnswer>,
        &[
            (with("4", "6"), "from 1 to 5"),
            (with("4", "\"deep\""), "/reasoning_depth"),
            (with("0.3", "3"), "from 0 to 1"),
            (with("\"broad\"", "\"wide\""), "one of narrow, moderate, broad"),
            (with("\"moderate\"", "1"), "/expected_tool_usage"),
            (with("\"raw_inference\"", "\"raw_inferences\""), "did you mean `raw_inference`?"),
        ],
    );
}

#[test]
fn a_finding_is_read_with_its_estimate_or_without() {
    let whole = r#"{"feasible": true, "findings": " it works ", "cost_estimate": {"attempts": 2, "time": "20m", "cost_usd": 0.50000001}}"#;
    let found: ProbeAnswer = read(&node(whole)).unwrap();
    assert_eq!((found.feasible, found.findings.as_str()), (true, "it works"));
    let estimate = found.cost_estimate.unwrap();
    assert_eq!(estimate.attempts, Some(2));
    assert_eq!(estimate.time.map(|time| time.ms), Some(1_200_000));
    assert_eq!(estimate.cost_usd, Some(Micros(500_001)));
    let short = r#"{"feasible": false, "findings": "no such API", "cost_estimate": null}"#;
    assert_eq!(read::<ProbeAnswer>(&node(short)).unwrap().cost_estimate, None);
    for text in [
        "{}",
        r#"{"feasible": "yes", "findings": "x"}"#,
        r#"{"feasible": true}"#,
        r#"{"feasible": true, "findings": " "}"#,
        r#"{"feasible": true, "findings": "x", "cost_estimate": {"attempts": 0}}"#,
        r#"{"feasible": true, "findings": "x", "cost_estimate": {"attempts": 1e9}}"#,
        r#"{"feasible": true, "findings": "x", "cost_estimate": {"time": "soon"}}"#,
        r#"{"feasible": true, "findings": "x", "cost_estimate": {"cost_usd": -1}}"#,
    ] {
        assert!(read::<ProbeAnswer>(&node(text)).is_err(), "{text}");
    }
}

#[test]
fn a_schema_is_closed_and_has_the_keys_that_are_asked_for() {
    let keys = |schema: &str| {
        let schema = node(schema);
        assert_eq!(schema.get("additionalProperties").and_then(Node::as_bool), Some(false));
        let properties = schema.get("properties").and_then(Node::as_object).unwrap();
        properties.iter().map(|one| one.key.clone()).collect::<Vec<String>>()
    };
    let of = |constraints: &str, question| schema(&world(constraints), question, None);
    assert_eq!(keys(&of("", Question::Summarise)), ["notes", "text"]);
    assert_eq!(keys(&of("", Question::Plan)), ["issues"]);
    assert!(!of("", Question::Plan).contains("\"rule\""));
    let short = keys(&of(r#""judging": "model""#, Question::Pass));
    assert!(!short.iter().any(|key| ["issues", "criteria"].contains(&key.as_str())), "{short:?}");
    let long = keys(&of(
        r#""judging": "full", "convergence": [{"name": "a", "statement": "b", "at_least": 1}]"#,
        Question::Pass,
    ));
    assert!(long.len() == short.len() + 2, "{long:?}");
    assert!(keys(&of_answer(&KindAnswer::RULE, &[])).contains(&"reasoning_depth".into()));
    let (kind, finding) = (of_answer(&KindAnswer::RULE, &[]), of_answer(&ProbeAnswer::RULE, &[]));
    assert!(!kind.contains("null") && finding.contains("cost_estimate"), "{kind}\n{finding}");
}
