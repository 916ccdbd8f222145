//! Answers of aligners: taken whole, or refused with every fault.

use super::*;
use crate::doc::prelude::*;

fn node(text: &str) -> Node {
    let parsed = doc::parse(text, &doc::Limits::default());
    parsed.node.unwrap_or_else(Node::null)
}

const GOOD: &str = r#"{"goal": "a log", "base_case": {"command": "test -f log"}, "protected": ["tests/**"],
    "atoms": [{"id": "a", "description": "write it", "choices": [{"id": "b"}, {"id": "c"}]}],
    "questions": [{"question": "where?", "why": "two places", "options": ["here", "there"]}]}"#;

#[test]
fn an_answer_becomes_a_plan_and_questions() {
    let (plan, questions) = read_agreement(&node(GOOD), true).expect("it is good");
    let plan = doc::canonical(&plan);
    for words in [
        r#""base_case":{"command":"test -f log"}"#,
        r#""constraints":{"protected":["tests/**"]}"#,
        r#""work_graph":{"atoms":[{"#,
    ] {
        assert!(plan.contains(words), "no {words} in {plan}");
    }
    assert_eq!(questions[0].options, ["here", "there"]);
    let more = GOOD.replacen("goal", "thoughts\": \"hm\", \"goal", 1);
    assert!(read_agreement(&node(&more), true).is_ok(), "one more key says nothing");
    // The second turn asks nothing, whatever it says.
    assert_eq!(read_agreement(&node(GOOD), false).expect("good").1, []);
}

#[test]
fn every_fault_of_an_answer_is_told_with_its_place() {
    let long = "x".repeat(WORDS_CHARS_MAX + 1);
    let many = format!("[{}]", ["{\"question\": \"q\", \"why\": \"w\"}"; 6].join(","));
    let atoms: Vec<String> = (0..=ATOMS_MAX).map(|n| format!("{{\"id\": \"a{n}\"}}")).collect();
    for (change, told) in [
        (
            r#""goal": "a log""#,
            format!(r#""goal": "{long}""#),
            "/goal: 4001 characters, the limit is 4000",
        ),
        (r#""goal": "a log", "#, String::new(), "the key `goal` is missing"),
        (r#""goal""#, r#""gaol""#.into(), "`gaol` is no key of the answer (did you mean `goal`?)"),
        (r#"{"command": "test -f log"}"#, "[]".into(), "/base_case: expected an object, found"),
        (
            r#""write it""#,
            r#""write it", "status": "resolved""#.into(),
            "/atoms/0/status: `status` is the program's",
        ),
        (
            r#"{"id": "c"}"#,
            r#"{"id": "c", "guidance": ["x"]}"#.into(),
            "/atoms/0/choices/1/guidance: `guidance` is a person's",
        ),
        (
            r#"[{"question": "where?", "why": "two places", "options": ["here", "there"]}]"#,
            many,
            "/questions: 6 questions, the limit is 5",
        ),
        (r#""here", "there""#, r#""here", 2"#.into(), "/questions/0/options/1: expected a string"),
        (
            r#"[{"id": "a", "description": "write it", "choices": [{"id": "b"}, {"id": "c"}]}]"#,
            "[]".into(),
            "/atoms: there is no atom",
        ),
        (
            r#"[{"id": "a", "description": "write it", "choices": [{"id": "b"}, {"id": "c"}]}]"#,
            format!("[{}]", atoms.join(",")),
            "/atoms: 41 atoms, the limit is 40",
        ),
    ]
    .map(|(from, to, told)| (GOOD.replacen(from, &to, 1), told))
    {
        let faults = read_agreement(&node(&change), true).expect_err(told);
        assert!(faults.iter().any(|one| one.contains(told)), "{told}: {faults:?}");
    }
    assert!(read_agreement(&node("[]"), true).is_err());
}

#[test]
fn both_schemas_are_objects_and_say_how_much_may_be_asked() {
    for schema in [agreement_schema(true), change_schema(true)] {
        let most = schema
            .get("properties")
            .and_then(|all| all.get("questions")?.get("maxItems")?.as_u64());
        assert_eq!(most, Some(5));
    }
    let none = agreement_schema(false);
    let most =
        none.get("properties").and_then(|all| all.get("questions")?.get("maxItems")?.as_u64());
    assert_eq!(most, Some(0));
}

#[test]
fn answers_come_after_those_that_stand_already() {
    let stands = node(r#"[{"question": "a?", "resolution": "b"}]"#);
    let more = [Clarification { question: "c?".into(), resolution: "d".into() }];
    let all = Clarification::added(Some(&stands), &more).expect("two");
    assert_eq!(all.as_array().map(<[Node]>::len), Some(2));
    assert_eq!(Clarification::added(None, &[]), None);
}
