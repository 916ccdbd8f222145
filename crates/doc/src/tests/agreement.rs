//! Any text, sound or broken, judged as serde_json judges it, and any bytes borne.

use crate::prelude::*;
use crate::{Fault, Limits, Member, Node, Value, canonical, parse, parse_bytes, write};
use proptest::prelude::*;
use serde_json::Value as Other;

fn same(node: &Node, other: &Other) -> bool {
    match (&node.value, other) {
        (Value::Null, Other::Null) => true,
        (Value::Bool(a), Other::Bool(b)) => a == b,
        (Value::Number(a), Other::Number(b)) => {
            serde_json::from_str::<serde_json::Number>(a).unwrap() == *b
        }
        (Value::String(a), Other::String(b)) => a == b,
        (Value::Array(a), Other::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Other::Object(b)) => {
            let find = |m: &Member| b.get(&m.key).is_some_and(|b| same(&m.node, b));
            a.len() == b.len() && a.iter().all(find)
        }
        _ => false,
    }
}

fn agrees(text: &str) -> Result<(), TestCaseError> {
    let ours = parse(text, &Limits::default());
    let fatal = |fault: &&Fault| fault.rule != "duplicate-key";
    let first = ours.faults.iter().find(fatal);
    for fault in &ours.faults {
        prop_assert!(text.get(fault.span.start()..fault.span.end()).is_some(), "{fault:?}");
    }
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str::<Other>(unmarked) {
        Ok(theirs) => {
            prop_assert!(first.is_none(), "{text:?}: {first:?}");
            let node = ours.node.unwrap();
            let repeats = !ours.faults.is_empty();
            prop_assert!(repeats || same(&node, &theirs), "{text:?}");
        }
        Err(error) => prop_assert!(first.is_some(), "{text:?}: {error}"),
    }
    if let Some(node) = parse(text, &Limits::default()).node {
        let again = parse(&write(&node), &Limits::default());
        let kept = |fault: &&Fault| matches!(fault.rule, "duplicate-key" | "number-range");
        let new = again.faults.iter().find(|fault| !kept(fault));
        prop_assert!(new.is_none(), "{text:?}: {new:?}");
        prop_assert_eq!(again.node.unwrap(), node);
    }
    Ok(())
}

fn json() -> impl Strategy<Value = Other> {
    let leaf = prop_oneof![
        Just(Other::Null),
        any::<bool>().prop_map(Other::from),
        any::<i64>().prop_map(Other::from),
        any::<f64>().prop_map(Other::from),
        any::<String>().prop_map(Other::from),
        "[a-z\\\\\"\n\u{1}]{0,5}".prop_map(Other::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Other::from),
            prop::collection::btree_map("[a-c/~\"é]{0,2}", inner, 0..6)
                .prop_map(|map| Other::Object(map.into_iter().collect())),
        ]
    })
}

const SNIPPETS: &[&str] = &[
    "",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud800",
    "/",
    "//",
    "/*",
    "*/",
    "0",
    "-",
    "+",
    ".",
    "e",
    "1e999",
    "0e999",
    "NaN",
    "true",
    "nul",
    "é",
    "“",
    "\n",
    "\t",
    "\0",
    " ",
    "\u{a0}",
    "\u{feff}",
    "#",
    "=",
    "```",
    "\n<<<<<<< x\n",
    "{\"a\":1,\"a\":2}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn mutated_json_is_judged_as_serde_json_judges_it(
        value in json(),
        pretty in any::<bool>(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(SNIPPETS)), 0..4),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let mut chars: Vec<char> = text.unwrap().chars().collect();
        for (at, cut, snippet) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, snippet.chars());
        }
        agrees(&chars.into_iter().collect::<String>())?;
    }

    #[test]
    fn a_soup_of_json_parts_is_judged_as_serde_json_judges_it(
        parts in prop::collection::vec(prop::sample::select(SNIPPETS), 0..12),
    ) {
        agrees(&parts.concat())?;
    }

    #[test]
    fn canonical_text_comes_back_byte_for_byte(value in json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let node = parse(&text, &Limits::default()).node.unwrap();
        prop_assert_eq!(write(&node), text);
        prop_assert_eq!(canonical(&node), value.to_string());
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let parsed = parse_bytes(&bytes, &Limits::default());
        let refused = serde_json::from_slice::<Other>(&bytes).is_err();
        prop_assert!(!refused || !parsed.faults.is_empty());
        prop_assert!(parsed.faults.iter().all(|fault| fault.span.end() <= bytes.len()));
    }
}
