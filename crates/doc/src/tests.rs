//! Broken texts with what is said about each, and the tree's readers and writers.

mod agreement;

use super::{
    Limits, Node, Places, canonical, parse, parse_bytes, pointer_push, slip_of, suggest, write,
    write_compact, write_filled,
};
use crate::prelude::*;

type Seen = (&'static str, usize, usize);

fn seen(text: &str) -> Vec<Seen> {
    let places = Places::new(text);
    let parsed = parse(text, &Limits::default());
    let place = |fault: &super::Fault| {
        let (line, column) = places.line_col(fault.span.start());
        (fault.rule, line, column)
    };
    parsed.faults.iter().map(place).collect()
}

#[track_caller]
fn check(text: &str, expected: &[Seen], recovered: &str) {
    assert_eq!(seen(text), expected, "{text}");
    let node = parse(text, &Limits::default()).node;
    let written = node.as_ref().map(write_compact).unwrap_or_default();
    assert_eq!(written, recovered, "{text}");
}

#[test]
fn each_broken_separator_or_bracket_gives_one_fault_at_its_place() {
    check("[1,2,]", &[("trailing-comma", 1, 5)], "[1,2]");
    check("{\"a\":1,\n}", &[("trailing-comma", 1, 7)], r#"{"a":1}"#);
    check("[1,,2]", &[("extra-comma", 1, 4)], "[1,2]");
    check("[1 2]", &[("missing-comma", 1, 3)], "[1,2]");
    check("{\"a\":1\n \"b\":2}", &[("missing-comma", 1, 7)], r#"{"a":1,"b":2}"#);
    check("[1; 2]", &[("wrong-separator", 1, 3)], "[1,2]");
    check("[\"a\": 1]", &[("wrong-separator", 1, 5)], r#"["a",1]"#);
    check("{\"a\" 1}", &[("missing-colon", 1, 5)], r#"{"a":1}"#);
    check("{\"a\" = 1}", &[("missing-colon", 1, 6)], r#"{"a":1}"#);
    check("{\"a\"}", &[("missing-value", 1, 5)], r#"{"a":null}"#);
    check("{\"a\":}", &[("missing-value", 1, 6)], r#"{"a":null}"#);
    check("{\"a\":,\"b\":1}", &[("missing-value", 1, 6)], r#"{"a":null,"b":1}"#);
    check("{: 1}", &[("missing-key", 1, 2)], "{}");
    check("{\"a\": [1, 2}", &[("unclosed", 1, 12)], r#"{"a":[1,2]}"#);
    check("{\"a\": [1}, \"b\": 2}", &[("wrong-bracket", 1, 9)], r#"{"a":[1],"b":2}"#);
    check("[1}", &[("wrong-bracket", 1, 3)], "[1]");
    check("{\"a\": [[1,\n", &[("unclosed", 1, 11)], r#"{"a":[[1]]}"#);
    check("{\"a\":1}}", &[("extra-text", 1, 8)], r#"{"a":1}"#);
    check("[@]", &[("unexpected-character", 1, 2)], "[null]");
}

#[test]
fn each_broken_string_gives_one_fault_at_its_place() {
    check("{\"a\": \"x,\n\"b\": 1}", &[("unclosed-string", 1, 7)], r#"{"a":"x","b":1}"#);
    check("{\"a: 1,\n\"b\": 2}", &[("unclosed-string", 1, 2)], r#"{"a":1,"b":2}"#);
    check("{\"a\": \"x}", &[("unclosed-string", 1, 7)], r#"{"a":"x"}"#);
    check("[{\"a\": \"x", &[("unclosed-string", 1, 8)], r#"[{"a":"x"}]"#);
    check("{a\": 1}", &[("missing-quote", 1, 2)], r#"{"a":1}"#);
    check("[x y\", 1]", &[("missing-quote", 1, 2)], r#"["x y",1]"#);
    check("['it', 1]", &[("single-quotes", 1, 2)], r#"["it",1]"#);
    check("[“it”, 1]", &[("curly-quotes", 1, 2)], r#"["it",1]"#);
    check("{a-b: x y}", &[("unquoted-key", 1, 2), ("unquoted-string", 1, 7)], r#"{"a-b":"x y"}"#);
    check(r#"["é\d"]"#, &[("bad-escape", 1, 4)], r#"["é\\d"]"#);
    check(r#"["\u12g4"]"#, &[("bad-escape", 1, 3)], r#"["\\u12g4"]"#);
    check(r#"["\ud800x"]"#, &[("lone-surrogate", 1, 3)], "[\"\u{fffd}x\"]");
    check(r#"["\udc00"]"#, &[("lone-surrogate", 1, 3)], "[\"\u{fffd}\"]");
    check("[\"a\tb\"]", &[("control-character", 1, 4)], r#"["a\tb"]"#);
    check("[\"a\nb\nc\"]", &[("control-character", 1, 4)], r#"["a\nb\nc"]"#);
}

#[test]
fn each_broken_word_gives_one_fault_at_its_place() {
    check("[01]", &[("bad-number", 1, 2)], "[1]");
    check("[+1]", &[("bad-number", 1, 2)], "[1]");
    check("[.5]", &[("bad-number", 1, 2)], "[0.5]");
    check("[5.]", &[("bad-number", 1, 2)], "[5]");
    check("[1_000]", &[("bad-number", 1, 2)], "[1000]");
    check("[-NaN, Infinity]", &[("bad-number", 1, 2), ("bad-number", 1, 8)], "[null,null]");
    check("[0x1f]", &[("bad-number", 1, 2)], r#"["0x1f"]"#);
    check("[1e999]", &[("number-range", 1, 2)], "[1e999]");
    check("[True, None]", &[("bad-literal", 1, 2), ("bad-literal", 1, 8)], "[true,null]");
}

#[test]
fn what_stands_between_values_without_right_is_named_and_skipped() {
    check("[1, // x\n2]", &[("comment", 1, 5)], "[1,2]");
    check("/* x */ [1]", &[("comment", 1, 1)], "[1]");
    check("[1] # x", &[("comment", 1, 5)], "[1]");
    check("[1, /* x", &[("comment", 1, 5)], "[1]");
    check("\u{feff}[1]", &[], "[1]");
    check("\u{feff}[1,]", &[("trailing-comma", 1, 4)], "[1]");
    check("[1,\u{a0}2]", &[("odd-space", 1, 4)], "[1,2]");
    check("[1]\0\0\0", &[("nul-bytes", 1, 4)], "[1]");
    check("\0\0\0", &[("nul-bytes", 1, 1)], "");
    check("", &[("empty-file", 1, 1)], "");
    check(" \n", &[("missing-value", 1, 1)], "");
    check("```json\n[1]\n```\n", &[("code-fence", 1, 1), ("code-fence", 3, 1)], "[1]");
    let conflict = "[\n<<<<<<< ours\n1,\n=======\n2,\n>>>>>>> theirs\n3]";
    let marks = [2, 4, 6].map(|line| ("conflict-marker", line, 1));
    check(conflict, &marks, "[1,2,3]");
}

#[test]
fn all_faults_of_a_text_come_at_once_in_their_order_with_pointers() {
    let text = "{\n  \"a/b\": [01, tru,],\n  'c': {\"d\": +1, \"d\": 2}\n}";
    let parsed = parse(text, &Limits::default());
    let found: Vec<_> = parsed.faults.iter().map(|f| (f.rule, f.pointer.as_str())).collect();
    let expected = vec![
        ("bad-number", "/a~1b/0"),
        ("unquoted-string", "/a~1b/1"),
        ("trailing-comma", "/a~1b"),
        ("single-quotes", ""),
        ("bad-number", "/c/d"),
        ("duplicate-key", "/c/d"),
    ];
    assert_eq!(found, expected);
    assert_eq!(parsed.faults[5].message, "the key `d` already stands at 3:9");
}

#[test]
fn equal_keys_are_a_fault_in_one_object_and_none_in_two() {
    check(r#"{"a":1,"b":2,"\u0061":3}"#, &[("duplicate-key", 1, 14)], r#"{"a":1,"b":2,"a":3}"#);
    check(r#"[{"a":1},{"a":2}]"#, &[], r#"[{"a":1},{"a":2}]"#);
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_their_place_and_the_rest_is_read() {
    let parsed = parse_bytes(b"{\"a\":\n [1, \"x\xff\xfey\"], \xc3}", &Limits::default());
    let first = &parsed.faults[0];
    assert_eq!((first.rule, first.span.start(), first.span.end()), ("invalid-utf-8", 13, 15));
    assert_eq!(first.pointer, "/a/1");
    assert_eq!(first.message, "the byte 0xff at 2:8 is not UTF-8");
    assert!(parsed.faults.iter().any(|fault| fault.span.start() == 20));
    assert_eq!(parsed.node.unwrap().get("a").unwrap().as_array().unwrap().len(), 2);
    let utf16 = parse_bytes(b"\xff\xfe[\0]\0", &Limits::default());
    assert_eq!(utf16.faults.len(), 1);
    assert_eq!(parse_bytes(b"", &Limits::default()).faults[0].rule, "empty-file");
}

#[test]
fn limits_refuse_and_nesting_without_end_is_no_danger() {
    let rules = |text: &str, limits: &Limits| -> Vec<_> {
        let parsed = parse(text, limits);
        parsed.faults.iter().map(|fault| fault.rule).collect()
    };
    let nest = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut limits = Limits::default();
    assert_eq!(rules(&nest(127), &limits), Vec::<&str>::new());
    assert_eq!(rules(&nest(128), &limits), ["too-deep"]);
    assert_eq!(rules(&"[".repeat(1_000_000), &limits), ["too-deep"]);
    assert_eq!(rules(&"{\"a\":".repeat(100_000), &limits), ["too-deep"]);
    limits.depth = usize::MAX;
    assert_eq!(rules(&nest(100_000), &limits), ["too-deep"]);
    limits.nodes = 3;
    assert_eq!(rules("[1,2,3,4,5]", &limits), ["too-many-values"]);
    limits.bytes = 4;
    assert_eq!(rules("[1,2]", &limits), ["too-large"]);
}

#[test]
fn after_a_hundred_faults_the_reading_ends() {
    let text = format!("[{}]", "01,".repeat(100_000));
    assert_eq!(seen(&text).len(), 100);
}

#[test]
fn the_written_forms_are_as_documented() {
    let text = r#"{"b":[1.50,{}],"a":{"c":[],"\u007f":"\u0001é\/"}}"#;
    let node = parse(text, &Limits::default()).node.unwrap();
    let pretty = "{\n  \"b\": [\n    1.50,\n    {}\n  ],\n  \"a\": {\n    \"c\": [],\n    \"\u{7f}\": \"\\u0001é/\"\n  }\n}";
    assert_eq!(write(&node), pretty);
    let sorted = "{\"a\":{\"c\":[],\"\u{7f}\":\"\\u0001é/\"},\"b\":[1.50,{}]}";
    assert_eq!(canonical(&node), sorted);
}

fn filled(text: &str) -> String {
    let node = parse(text, &Limits::default()).node.unwrap();
    let mut out = String::from("\"key\": ");
    write_filled(&node, 0, 1, &mut out);
    let read = parse(&out["\"key\": ".len()..], &Limits::default());
    assert_eq!((read.node, read.faults), (Some(node), Vec::new()));
    out
}

#[test]
fn what_fits_into_a_line_is_in_one_and_the_rest_is_filled() {
    assert_eq!(filled(r#"{"a":[1,{}],"b":"c"}"#), r#""key": {"a": [1, {}], "b": "c"}"#);
    let long = "x".repeat(60);
    let text = format!(r#"{{"a":1,"b":"{long}","c":"{long}","d":{{"all":["{long}","{long}"]}}}}"#);
    let lines = [
        format!(r#""key": {{"a": 1, "b": "{long}","#),
        format!(r#"  "c": "{long}","#),
        r#"  "d": {"all": ["#.to_string(),
        format!(r#"    "{long}","#),
        format!(r#"    "{long}"]}}}}"#),
    ];
    assert_eq!(filled(&text), lines.join("\n"));
}

#[test]
fn no_line_is_longer_than_the_width_where_it_can_be_broken() {
    for length in 80..120 {
        let (one, two) = ("é".repeat(length - 60), "y".repeat(30));
        let text = format!(r#"{{"a":"{one}","b":["{two}"],"c":{{"d":"{two}"}}}}"#);
        let longest = filled(&text).lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(110), "{}", filled(&text));
    }
}

#[test]
fn a_value_of_free_form_that_is_long_takes_one_line() {
    let ones = Node::array(vec![Node::uint(1); 31_000]);
    let value = Node::object(vec![("value", ones.clone()), ("other", ones)]);
    let mut out = String::new();
    write_filled(&value, 0, 0, &mut out);
    let (value, other) = out.split_once("\n  \"other\"").unwrap();
    assert_eq!(value.lines().count(), 1);
    assert_eq!(other.lines().count(), 31_001);
}

#[test]
fn integers_beyond_what_a_double_holds_travel_as_strings() {
    assert_eq!(write(&Node::uint(1 << 53)), "9007199254740992");
    assert_eq!(write(&Node::uint(u64::MAX)), "\"18446744073709551615\"");
    assert_eq!(Node::uint(u64::MAX).as_u64(), Some(u64::MAX));
    let refused = ["", "+1", "-1", "01", "1.0", "18446744073709551616"];
    assert!(refused.iter().all(|text| Node::string(*text).as_u64().is_none()));
}

#[test]
fn equality_ignores_where_things_stand() {
    let read = parse("{ \"a\" : [ true ] }", &Limits::default()).node.unwrap();
    let built = Node::object(vec![("a", Node::array(vec![Node::bool(true)]))]);
    assert_eq!(read, built);
    assert_eq!((read.span.start(), read.span.end()), (0, 18));
    assert_eq!((read.kind_name(), built.get("a").unwrap().kind_name()), ("an object", "a list"));
    assert_eq!(read.member("a").unwrap().key_span, super::Span::new(2, 5));
}

#[test]
fn places_count_characters_and_bear_any_offset() {
    let places = Places::new("é\r\nab\n");
    let cases = [(0, (1, 1)), (1, (1, 1)), (2, (1, 2)), (4, (2, 1)), (6, (2, 3)), (99, (3, 1))];
    for (offset, place) in cases {
        assert_eq!(places.line_col(offset), place, "{offset}");
    }
}

#[test]
fn a_near_word_is_suggested_and_a_far_one_is_not() {
    let known = ["objective", "depends_on", "kind", "why"];
    let cases = [
        ("objetcive", Some("objective")),
        ("Depends_On", Some("depends_on")),
        ("dependson", Some("depends_on")),
        ("kidn", Some("kind")),
        ("wy", Some("why")),
        ("hwo", None),
        ("notes", None),
        ("", None),
    ];
    for (wrong, expected) in cases {
        assert_eq!(suggest(wrong, known), expected, "{wrong}");
    }
}

#[test]
fn a_slip_is_of_few_characters_for_the_length_of_the_word() {
    let known = ["objective", "depends_on", "kind", "agent", "action", "timeout"];
    let cases = [
        ("depend_on", Some("depends_on")),
        ("objetcvie", Some("objective")),
        ("timout", Some("timeout")),
        ("kidn", Some("kind")),
        ("Kind", Some("kind")),
        ("kin", None),
        ("link", None),
        ("parent", None),
        ("section", None),
    ];
    for (wrong, expected) in cases {
        assert_eq!(slip_of(wrong, known), expected, "{wrong}");
    }
}

#[test]
fn pointers_escape_their_tokens() {
    assert_eq!(pointer_push("/a", "b/~c"), "/a/b~1~0c");
}
