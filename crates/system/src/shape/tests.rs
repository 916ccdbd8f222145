//! Schemas within the bounds and beyond, and the misfits of values.

use descent_core::doc::{self, Limits};
use serde_json::json;

use super::*;

fn node(value: &Value) -> Node {
    let text = value.to_string();
    doc::parse_bytes(text.as_bytes(), &Limits::default()).node.unwrap()
}

fn misfits(schema: &Value, value: Option<Value>) -> Vec<Misfit> {
    let shape = Shape::compile(&node(schema)).unwrap();
    shape.misfits(value.as_ref().map(node).as_ref())
}

fn refused(schema: &Value) -> ShapeError {
    Shape::compile(&node(schema)).unwrap_err()
}

#[test]
fn a_misfit_names_its_place_and_what_is_wrong() {
    let schema =
        json!({"properties": {"files": {"items": {"properties": {"name": {"type": "string"}}}}}});
    let found = misfits(&schema, Some(json!({"files": [{"name": 1}]})));
    assert_eq!(Misfit::reason(&found), "value: /files/0/name: it is not of type \"string\"");
    assert!(misfits(&schema, Some(json!({"files": [{"name": "a"}]}))).is_empty());
}

#[test]
fn a_value_that_is_absent_counts_as_null() {
    assert!(misfits(&json!({"type": ["object", "null"]}), None).is_empty());
    assert!(misfits(&json!({}), None).is_empty());
    let found = misfits(&json!({"type": "object"}), None);
    assert!(Misfit::reason(&found).contains("it is missing"));
}

#[test]
fn what_is_told_of_misfits_is_bounded_and_shows_nothing_of_a_terminal() {
    let schema = json!({"items": {"type": "string"}, "additionalProperties": false});
    let many = misfits(&schema, Some(json!((0..10_000).collect::<Vec<u32>>())));
    assert_eq!(many.len(), MISFITS_MAX);
    let name = format!("\u{1b}[2J\u{202e}{}", "x".repeat(9_000));
    let found = misfits(&schema, Some(json!({ name: 1 })));
    let reason = Misfit::reason(&found);
    assert!(reason.len() < 400 && !reason.contains(['\u{1b}', '\u{202e}']), "{reason}");
    assert!(!misfits(&json!({"type": "number", "maximum": 1}), Some(json!(1e300))).is_empty());
}

#[test]
fn no_reference_leads_out_of_a_schema() {
    for to in [
        "http://127.0.0.1:1/x.json",
        "https://json-schema.org/draft/2020-12/schema",
        "file:///etc/passwd",
        "other.json#/a",
        "#anchor",
        "#/%24defs/a",
    ] {
        let schema = json!({"properties": {"a": {"$ref": to}}});
        assert_eq!(refused(&schema), ShapeError::Elsewhere(to.to_owned()));
    }
    let based = json!({"$defs": {"a": {"$id": "http://127.0.0.1:1/"}}});
    assert!(matches!(refused(&based), ShapeError::Elsewhere(_)));
    let meta = json!({"$schema": "http://127.0.0.1:1/x.json"});
    assert!(matches!(refused(&meta), ShapeError::NotASchema(_)));
    // A property may have any name, and data may look like a reference.
    let named = json!({"properties": {"id": {"type": "string"}, "$ref": {"type": "string"}, "enum": {}},
        "default": {"$ref": "http://127.0.0.1:1/"}});
    assert!(misfits(&named, Some(json!({"id": "a"}))).is_empty());
}

#[test]
fn a_schema_without_end_is_refused() {
    let itself = json!({"properties": {"a": {"$ref": "#"}}});
    assert_eq!(refused(&itself), ShapeError::Circle("#".into()));
    let pair = json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}});
    assert!(matches!(refused(&pair), ShapeError::Circle(_)));
    let dynamic = json!({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}});
    assert!(matches!(refused(&dynamic), ShapeError::Elsewhere(_)));
    let recursive = json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}});
    assert!(matches!(refused(&recursive), ShapeError::Elsewhere(_)));
    assert_eq!(refused(&json!({"$ref": "#/a"})), ShapeError::Nowhere("#/a".into()));
}

#[test]
fn references_to_references_cannot_multiply() {
    let mut schema = json!({"$ref": "#/$defs/a0", "$defs": {}});
    for n in 0..15 {
        let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
        schema["$defs"][format!("a{n}")] = json!({"allOf": [next, next]});
    }
    schema["$defs"]["a15"] = json!({"minimum": 0});
    assert_eq!(refused(&schema), ShapeError::TooCostly);
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}))
}

#[test]
fn size_depth_and_patterns_of_a_schema_are_bounded() {
    assert_eq!(refused(&json!({"title": "x".repeat(70_000)})), ShapeError::TooLarge);
    assert_eq!(refused(&nested(65)), ShapeError::TooDeep);
    let many: Vec<Value> = (0..33).map(|n| json!({"pattern": format!("a{n}")})).collect();
    assert_eq!(refused(&json!({"anyOf": many})), ShapeError::TooManyPatterns);
    let chain = |n: usize| match n {
        40 => json!({"items": nested(30)}),
        n => json!({"items": {"$ref": format!("#/$defs/a{}", n + 1)}}),
    };
    let defs: serde_json::Map<String, Value> =
        (0..=40).map(|n| (format!("a{n}"), chain(n))).collect();
    assert_eq!(refused(&json!({"$ref": "#/$defs/a0", "$defs": defs})), ShapeError::TooDeep);
    for pattern in ["(a{1000}){1000}", "(?=a)b", "("] {
        let fault = refused(&json!({"pattern": pattern}));
        assert!(matches!(fault, ShapeError::NotASchema(_)), "{fault}");
    }
    let evil = json!({"pattern": "^(a+)+$"});
    assert_eq!(misfits(&evil, Some(json!("a".repeat(60_000) + "b"))).len(), 1);
}

#[test]
fn the_deepest_schema_fits_the_stack_of_a_thread() {
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let looked = small.spawn(|| {
        let value = (0..60).fold(json!(1), |inner, _| json!([inner]));
        misfits(&nested(64), Some(value)).len()
    });
    assert_eq!(looked.unwrap().join().unwrap(), 0);
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    let fault = refused(&json!({"properties": {"a": {"type": "strin"}}})).to_string();
    assert!(fault.starts_with("/properties/a/type: "), "{fault}");
    assert!(matches!(refused(&json!(5)), ShapeError::NotASchema(_)));
    assert!(Shape::fault("{\"maximum\": 1e999}").is_some());
}
