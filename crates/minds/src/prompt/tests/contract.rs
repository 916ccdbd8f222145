//! Values in short, by their schemas.

use crate::prompt::upstream::shortened;
use descent_core::doc::prelude::*;
use descent_core::doc::{self, Node};

fn node(text: &str) -> Node {
    let parsed = doc::parse(text, &Default::default());
    assert!(parsed.faults.is_empty(), "{text}: {:?}", parsed.faults);
    parsed.node.expect("a value")
}

#[test]
fn a_value_is_cut_where_its_schema_lets_it() {
    let long = |letter: &str, chars: usize| letter.repeat(chars);
    let text = |text: String| format!("\"{text}\"");
    for (value, schema, expected) in [
        ("7".into(), "{}", "7".into()),
        (text(long("語", 200)), "{}", text(long("語", 200))),
        (text(long("語", 201)), "{}", text(long("語", 200) + "…")),
        ("[1, 2, 3]".into(), "{}", "[1, 2, 3]".into()),
        ("[1, 2, 3, 4]".into(), "{}", r#"[1, 2, 3, "… 4 in all"]"#.into()),
        // Required keys first, the others as they stand.
        (
            r#"{"c": 1, "b": 2, "a": 3}"#.into(),
            r#"{"required": ["a"]}"#,
            r#"{"a": 3, "c": 1, "b": 2}"#.into(),
        ),
        // In parts of it too.
        (
            r#"{"list": [{"c": 1, "a": 3}], "x": {"c": 1, "b": 2}}"#.into(),
            r#"{"properties": {"list": {"items": {"required": ["a"]}}, "x": {"required": ["b"]}}}"#,
            r#"{"list": [{"a": 3, "c": 1}], "x": {"b": 2, "c": 1}}"#.into(),
        ),
        (
            r#"{"a": {"b": {"c": {"d": 1}, "e": [1, 2], "f": 3}}}"#.into(),
            "{}",
            r#"{"a": {"b": {"c": "… 1 keys", "e": "… 2 items", "f": 3}}}"#.into(),
        ),
        // A schema that is none changes nothing.
        (r#"{"b": 1, "a": 2}"#.into(), r#"{"required": 7}"#, r#"{"b": 1, "a": 2}"#.into()),
    ] {
        let short = shortened(&node(&value), Some(&node(schema)));
        // As it is written: the order of the keys counts.
        let expected = doc::write_compact(&node(&expected));
        assert_eq!(doc::write_compact(&short), expected, "{value} by {schema}");
    }
}
