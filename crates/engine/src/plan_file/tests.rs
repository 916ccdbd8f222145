//! Plans in YAML: the tree equals that of the same JSON, and every fault has its place.

use std::path::Path;

use descent_core::{
    doc::{self, Fault, Limits, Node, Places, Value},
    id::Lineage,
};
use proptest::prelude::*;

use super::{Notation, PlanFile, draft, yaml};

fn file(bytes: impl AsRef<[u8]>) -> PlanFile {
    PlanFile { name: "plan.yaml".into(), bytes: bytes.as_ref().to_vec(), notation: Notation::Yaml }
}

fn tree_of_json(text: &str) -> Node {
    let parsed = doc::parse(text, &Limits::default());
    assert_eq!(parsed.faults, [], "{text}");
    parsed.node.unwrap()
}

fn shown(bytes: &[u8], faults: &[Fault]) -> Vec<String> {
    let places = Places::new(&doc::readable(bytes));
    let show = |fault: &Fault| {
        let (line, column) = places.line_col(fault.span.start());
        format!("{line}:{column} {} {}", fault.pointer, fault.rule)
    };
    faults.iter().map(show).collect()
}

#[track_caller]
fn check_tree(yaml: &str, json: &str) {
    let parsed = file(yaml).tree();
    assert_eq!(shown(yaml.as_bytes(), &parsed.faults), [""; 0], "{yaml}");
    assert_eq!(parsed.node.unwrap(), tree_of_json(json), "{yaml}");
}

/// The faults of the text alone, not of its meaning.
#[track_caller]
fn check_faults(yaml: impl AsRef<[u8]>, expected: &[&str]) {
    let file = file(yaml);
    let parsed = file.tree();
    let text = String::from_utf8_lossy(&file.bytes[..file.bytes.len().min(200)]);
    assert_eq!(shown(&file.bytes, &parsed.faults), expected, "{text}");
}

#[test]
fn yaml_reads_as_the_json_that_says_the_same() {
    check_tree("a: 1\nb: [x, 'y', \"z\"]\n", r#"{"a": 1, "b": ["x", "y", "z"]}"#);
    check_tree("a:\n- b: c\n  d: e\n- f\n", r#"{"a": [{"b": "c", "d": "e"}, "f"]}"#);
    check_tree(
        "a: |\n  one\n  two\nb: >-\n  one\n  two\n",
        r#"{"a": "one\ntwo\n", "b": "one two"}"#,
    );
    check_tree("a: one\n  two # three\n", r#"{"a": "one two"}"#);
    check_tree("'a b': 'it''s'\n\"c\": \"\\td\\u00e9\"\n", r#"{"a b": "it's", "c": "\tdé"}"#);
    check_tree("---\na: b\n...\n", r#"{"a": "b"}"#);
    check_tree("\u{feff}# ü\r\na: b\r\nc: |\r\n  d\r\n  e\r\n", r#"{"a": "b", "c": "d\ne\n"}"#);
    check_tree("a:\nb: ~\nc: null\n", r#"{"a": null, "b": null, "c": null}"#);
}

#[test]
fn a_bare_word_is_what_yaml_1_2_says() {
    check_tree(
        "[yes, no, on, off, y, n, 12:30, 2001-01-01, 1_000, 1.2.3, '1', +, -x, .]",
        concat!(
            r#"["yes", "no", "on", "off", "y", "n", "12:30", "2001-01-01", "1_000", "1.2.3", "1","#,
            r#" "+", "-x", "."]"#
        ),
    );
    check_tree("[true, True, FALSE, Null]", "[true, true, false, null]");
    check_tree(
        "[0, -7, +7, 1.5, .5, 5., -.5e3, 1E+2, 0.10]",
        "[0, -7, 7, 1.5, 0.5, 5.0, -0.5e3, 1E+2, 0.10]",
    );
    for word in ["010", "-010", "0x1F", "0o17", ".inf", "-.INF", ".nan", "1e999"] {
        check_faults(format!("a: {word}"), &["1:4 /a bad-number"]);
    }
}

#[test]
fn anchors_and_aliases_are_refused() {
    check_faults("a: &x [1]\nd: *x\n", &["1:7 /a yaml-alias"]);
    check_faults("files: *.md", &["1:8 /files yaml-syntax"]);
}

#[test]
fn faults_of_yaml_have_their_places() {
    check_faults("a: b\nc: d: e\n", &["2:5  yaml-syntax"]);
    check_faults("a:\n\tb: c\n", &["2:1 /a yaml-syntax"]);
    check_faults("a: b\n \tc: d\n", &["2:4  yaml-syntax"]);
    check_faults("# ünïcödé\na: \"ü\\d\"\n", &["2:4 /a yaml-syntax"]);
    check_faults("a: {b: [1, 2}\n", &["1:8 /a/b yaml-syntax"]);
    check_faults("a: 'b\n", &["1:4 /a yaml-syntax"]);
    check_faults("é: {ü: 1, ü: 2}\né: 3\n", &["1:11 /é/ü duplicate-key", "2:1 /é duplicate-key"]);
    check_faults("a: b\r\na: c\r\n", &["2:1 /a duplicate-key"]);
    check_faults("a: b\n---\na: c\n", &["2:1  extra-text"]);
    check_faults("a:\n  <<: *x\n", &["2:3 /a merge-key", "2:7 /a/<< yaml-syntax"]);
    check_faults(
        "a: {1: b, ~: c, true: d}\n",
        &["1:5 /a bad-key", "1:11 /a bad-key", "1:17 /a bad-key"],
    );
    check_faults("? [a]\n: b\n", &["1:3  bad-key"]);
    check_faults("a: !!str 1\nb: !own {c: d}\n", &["1:4 /a yaml-tag", "2:4 /b yaml-tag"]);
    check_faults("a: `b`\n", &["1:4 /a yaml-syntax"]);
}

#[test]
fn a_text_that_holds_nothing_is_a_fault() {
    check_faults("", &["1:1  empty-file"]);
    check_faults("\u{feff}", &["1:1  empty-file"]);
    for text in ["# only a comment\n", "---\n", "\n\n", "~"] {
        check_faults(text, &["1:1  missing-value"]);
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_named() {
    check_faults(b"a: b\xff\nc: d", &["1:5 /a invalid-utf-8"]);
    check_faults(b"\xff\xfea\0", &["1:1  invalid-utf-8"]);
}

#[test]
fn a_huge_or_deep_text_is_refused_and_does_no_harm() {
    check_faults("x".repeat((16 << 20) + 1), &["1:1  too-large"]);
    for open in ["[", "- ", "{a: "] {
        let parsed = file(open.repeat(1 << 14)).tree();
        assert_eq!((parsed.node, parsed.faults[0].rule), (None, "too-deep"), "{open}");
    }
    let limits = Limits { nodes: 100, ..Limits::default() };
    let parsed = yaml::parse(&"- 1\n".repeat(100), &limits, &mut Vec::new());
    assert_eq!(parsed.faults[0].rule, "too-many-values");
}

#[test]
fn a_long_line_has_its_places_too() {
    let items = "ü, ".repeat(1000);
    check_faults(format!("a: [{items}010]"), &["1:3005 /a/1000 bad-number"]);
    check_json_is_yaml(&format!("[{}7]", "\"ü\", ".repeat(1000)));
}

#[test]
fn what_yaml_made_of_a_command_is_told_with_what_to_type() {
    let of = |check: &str| {
        let yaml = format!("objective:\n  goal: g\n  base_case:\n    all:\n      {check}\n");
        let file = file(&yaml);
        let faults = draft(file.plan(), Lineage::new("l")).faults;
        file.lines(&faults).join("\n")
    };
    for (check, words) in [
        ("- grep -q foo: bar", "5:9: /objective/base_case/all/0: a check needs"),
        ("- grep -q foo: bar", "a command stands behind `command: `"),
        ("- command: true", "expected a string, found true or false (put it in quotes)"),
        ("- command: [ -f x ]", "begins with `[` needs quotes"),
        ("- command:\n          grep foo: bar", "6:11: /objective/base_case/all/0/command"),
        ("- command:\n          grep foo: bar", "a text with `: ` in it is an object"),
        ("- command: grep foo: bar", "put the whole text in quotes"),
        ("- {command: x, timeout: 30}", "not a duration (write \"30s\" or \"30m\")"),
        ("- file: *.md", "begins with `*` needs quotes"),
        ("- {command: x, stdout_matches: \"\\d\"}", "single quotes keep backslashes"),
    ] {
        assert!(of(check).contains(words), "{check}: {}", of(check));
    }
}

#[test]
fn a_comment_that_cuts_a_command_is_warned_of_and_an_ordinary_one_is_not() {
    let yaml = "a: grep -c #include x\nb: make # builds\nc: |\n  x: y #z\nd: 'e: f' #g\n";
    let warnings = file(yaml).plan().warnings;
    let warned = shown(yaml.as_bytes(), &warnings);
    assert!(warned.contains(&"1:12 /a comment".to_owned()), "{warned:?}");
    assert_eq!(warnings.iter().filter(|w| w.rule == "comment").count(), 1, "{warned:?}");
}

#[test]
fn the_notation_is_told_by_the_name_and_else_by_the_first_character() {
    for (name, text, notation) in [
        ("p.yaml", "{}", Notation::Yaml),
        ("p.YML", "{}", Notation::Yaml),
        ("p.json", "a: b", Notation::Json),
        ("p", " \r\n{}", Notation::Json),
        ("-", "\u{feff}{}", Notation::Json),
        ("-", "a: b", Notation::Yaml),
        ("p.plan", "# c\na: b", Notation::Yaml),
    ] {
        assert_eq!(Notation::of(Path::new(name), text.as_bytes()), notation, "{name} {text}");
    }
}

/// JSON is YAML: the tree is the same, and so is every place.
#[track_caller]
fn check_json_is_yaml(text: &str) {
    let read = yaml::parse(text, &Limits::default(), &mut Vec::new());
    assert_eq!(shown(text.as_bytes(), &read.faults), [""; 0], "{text}");
    same_places(&read.node.unwrap(), &tree_of_json(text), text);
}

#[track_caller]
fn same_places(yaml: &Node, json: &Node, text: &str) {
    assert_eq!(yaml.span, json.span, "{text}");
    match (&yaml.value, &json.value) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{text}");
            a.iter().zip(b).for_each(|(a, b)| same_places(a, b, text));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.len(), b.len(), "{text}");
            for (a, b) in a.iter().zip(b) {
                assert_eq!((&a.key, a.key_span), (&b.key, b.key_span), "{text}");
                same_places(&a.node, &b.node, text);
            }
        }
        (a, b) => assert_eq!(a, b, "{text}"),
    }
}

#[test]
fn every_json_fixture_reads_the_same_as_yaml() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    check_json_is_yaml(&std::fs::read_to_string(root.join("calc-plan.json")).unwrap());
    let mut seen = 0;
    for entry in std::fs::read_dir(root.join("valid")).unwrap() {
        check_json_is_yaml(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 0);
}

fn json() -> impl Strategy<Value = Node> {
    let text = "[ -~äß€😀\n\t]{0,12}";
    let leaf = prop_oneof![
        Just(Node::null()),
        any::<bool>().prop_map(Node::bool),
        any::<u32>().prop_map(|n| Node::uint(u64::from(n))),
        "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,3})?([eE][-+]?[0-9]{1,2})?"
            .prop_map(|number| Node::from(Value::Number(number))),
        text.prop_map(Node::string),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Node::array),
            prop::collection::btree_map(text, inner, 0..6)
                .prop_map(|members| Node::object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_reads_the_same_as_yaml(node in json()) {
        if !node.is_null() {
            check_json_is_yaml(&doc::write(&node));
            check_json_is_yaml(&doc::write_compact(&node));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "([a-c]|[-:#&*!|>'\"\\[\\]{},?%@` \n\t\r~é\u{feff}\u{85}0.]){0,40}") {
        let parsed = file(&text).tree();
        for fault in &parsed.faults {
            prop_assert!(text.get(fault.span.start()..fault.span.end()).is_some(), "{fault:?}");
        }
        prop_assert!(parsed.node.is_some() || !parsed.faults.is_empty());
        let plan = file(&text).plan();
        let _ = draft(plan, Lineage::new("l"));
    }
}
