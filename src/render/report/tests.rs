//! Whole reports in each format: their limits, and texts that try to be more than a text.

use std::fmt::Write as _;

use descent_core::{
    state::decode,
    view::report::{Report, report},
    world::World,
};
use serde_json::{Value, json};

use super::{html, html::drawing, junit, look_of, markdown, plain, tail};

/// Everything that a format could take for its own.
const NASTY: &str = "# x\n- y\n```\n<script>alert(1)</script> @octocat #12 GH-3 ]]> &amp; \"q\" 'r' [a](http://e.example) \
     www.e.example **b** | \u{1b}[31mred\u{1b}[0m \u{0}\u{8}\u{ffff}\u{202e} </pre></text></failure> --> \\";

fn of(state: &Value) -> Report {
    let decoded = decode::decode(crate::whole_records::file(state).to_string().as_bytes());
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    report(&World::new(decoded.state.expect("a state")))
}

fn state(atoms: Value, text: &str) -> Value {
    let evidence = json!([{"check": text, "verdict": "fail", "ended": text, "output": text}]);
    json!({
        "version": "3.0", "lineage": "l", "serial": 7, "seal": "",
        "objective": {
            "raw_input": text, "goal": text, "background_intent": text, "deliverables": text,
            "definition_of_done": text, "scope": text, "constraints": {"setup": {"run": text.replace('\0', "")}},
            "base_case": {"all": [{"name": text, "command": "make"}]}
        },
        "control": {"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null},
        "work_graph": {"atoms": atoms}, "bindings": {}, "trail": [], "corrections": [],
        "run": {"status": "exhausted", "reason": "no_choice", "ended": "2026-11-24T10:00:00Z",
            "summary": text, "iteration": 1, "moves": [text],
            "judged": {"at": "2026-11-24T10:00:00Z", "evidence": evidence}}
    })
}

fn nasty() -> Report {
    let task = |deps: &[&str]| {
        json!({"description": NASTY, "depends_on": deps, "status": "failed", "guidance": [NASTY],
            "action": {"run": "true"}})
    };
    let mut state = state(
        json!({"g": {"choices": ["a", "b"], "selected": "a"}, "a": task(&[]), "b": task(&[]), "c": task(&["g"])}),
        NASTY,
    );
    state["trail"] = json!([
        {"type": "failure", "at": NASTY, "atom": "c", "attempt": "c.1", "nth": 1, "class": "logical",
            "reason": NASTY, "output": NASTY, "criteria": [{"check": NASTY, "verdict": "fail"}]},
        {"type": "backtrack", "at": "2", "group": "g", "from": "b", "to": "a", "reason": NASTY},
        {"type": "refuted", "at": "3", "conflict": {"g": "b"}, "evidence": [{"check": NASTY, "verdict": "fail"}]},
    ]);
    state["corrections"] = json!([
        {"id": "c1", "timestamp": "1", "type": "guidance", "by": NASTY, "description": NASTY, "changes": [NASTY]}
    ]);
    of(&state)
}

/// Tags and attributes of XML; gives the text without them, or panics.
fn text_of_xml(xml: &str) -> String {
    let mut open: Vec<&str> = Vec::new();
    let mut text = String::new();
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = after.split_once('>').expect("a tag ends");
        assert!(tag.matches('"').count() % 2 == 0, "{tag}");
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{xml}"),
            None if tag.starts_with(['?', '!']) || tag.ends_with('/') || name == "meta" => {}
            None => open.push(name),
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
    text + rest
}

#[test]
fn no_text_ends_its_element_in_xml_or_html() {
    let report = nasty();
    for text in [junit(&report), html(&report), drawing(&report.work)] {
        let content = text_of_xml(&text);
        assert!(!content.contains("]]>"), "{content}");
        let is_odd = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(|c| is_odd(c) || c == '\u{ffff}'), "{text}");
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;"), "{text}");
    }
}

#[test]
fn a_kept_result_of_a_choice_looks_like_what_is_not_chosen() {
    assert_eq!(look_of("parked"), look_of("not chosen"));
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let page = html(&nasty());
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    let (_, inside) = page.split_once("<style>").expect("a style");
    let (style, _) = inside.split_once("</style>").expect("its end");
    assert!(!style.contains("url(") && !style.contains("@import"));
    for word in [" src=", " href=", "<script", "<link", "<img", "<iframe", " onload="] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn no_text_of_markdown_becomes_a_block_html_a_link_or_a_mention() {
    let text = markdown(&nasty());
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let ticks: String = bare.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(end) if bare == end => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => is_harmless(line),
        }
    }
    assert_eq!(fence, None, "{text}");
    assert!(text.contains("\\<script\\>") && text.contains("@&#8203;octocat"), "{text}");
}

/// A line outside of a block begins as the report's own lines do, and has no mark but in codes.
#[track_caller]
fn is_harmless(line: &str) {
    let bare = line.trim_start();
    let own = ["- ", "# ", "## ", "Of the state", "The outputs"];
    assert!(bare.is_empty() || own.iter().any(|start| bare.starts_with(start)), "{line}");
    let mut words = String::new();
    let mut rest = bare;
    while let Some(at) = rest.find('`') {
        words.push_str(&rest[..at]);
        let ticks: String = rest[at..].chars().take_while(|c| *c == '`').collect();
        if words.ends_with('\\') {
            rest = &rest[at + 1..];
            continue;
        }
        let inside = &rest[at + ticks.len()..];
        let end = inside.find(&ticks).unwrap_or_else(|| panic!("no end: {line}"));
        rest = &inside[end + ticks.len()..];
    }
    words.push_str(rest);
    for (at, _) in words.match_indices(['<', '[', ']', '>']) {
        assert!(words[..at].ends_with('\\'), "{words}");
    }
    for (at, _) in words.match_indices('@') {
        assert!(words[at..].starts_with("@&#8203;"), "{words}");
    }
    assert!(!words.contains("://") && !words.contains("www.") && !words.contains("#12"), "{words}");
}

/// Very long in everything at once.
fn long() -> Report {
    let long = "many words of a text ".repeat(12);
    let mut atoms = json!({});
    let mut trail = Vec::new();
    let mut corrections = Vec::new();
    for n in 0..500 {
        let id = format!("a{n}");
        atoms[&id] = json!({"description": long, "depends_on": [], "action": {"run": "true"}, "guidance": ["w"]});
        let mut output = String::new();
        for line in 0..15 {
            writeln!(output, "{line} {long}").expect("a text");
        }
        // Each of another kind.
        let reason = format!("exit 1: {}", "z".repeat(n));
        trail.push(json!({"type": "failure", "at": format!("{n:05}"), "atom": id, "attempt": format!("{id}.1"),
            "n": 1, "class": "logical", "reason": reason, "output": output}));
        corrections.push(json!({"id": id, "timestamp": "1", "type": "guidance", "by": "ada",
            "description": format!("{n} {long}"), "changes": [long]}));
    }
    let mut state = state(atoms, &long);
    state["trail"] = json!(trail);
    state["corrections"] = json!(corrections);
    of(&state)
}

#[test]
fn markdown_is_never_longer_than_a_pull_request_takes_and_says_what_is_missing() {
    let report = long();
    let text = markdown(&report);
    let chars = text.chars().count();
    assert!((50_000..=60_000).contains(&chars), "{chars}");
    // Short sections stay whole, and the newest of what happened is kept.
    for words in [
        "## Outcome",
        "## Next",
        "lines are left out",
        "The outputs are left out",
        "499 many words",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains("- guidance by ada, at 1: 0 many"), "the oldest is there");
    assert_eq!(text, markdown(&report));
}

#[test]
fn a_long_report_loses_its_outputs_first() {
    let mut report = long();
    report.work.truncate(20);
    report.corrections.clear();
    report.tried.failures.truncate(40);
    let text = markdown(&report);
    assert!(text.chars().count() <= 60_000);
    assert!(text.contains("## Failures") && !text.contains("lines are left out:"), "{text}");
    assert!(text.matches("text\n").count() > 30, "{text}");
}

#[test]
fn what_speaks_to_a_terminal_is_gone_and_the_text_stays() {
    let pairs = [
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("a\r\nb\rc\u{0}\u{8}\u{85}\u{ffff}", "a\nb\nc"),
        ("cut \u{1b}[", "cut "),
        ("日本 \u{202e}x", "日本 \\u{202e}x"),
    ];
    for (text, expected) in pairs {
        assert_eq!(plain(text), expected);
    }
}

#[test]
fn an_output_keeps_its_end_and_says_how_much_came_before() {
    assert_eq!(tail("a\nb\nc\n\n", 2, 9), "… 1 line before\nb\nc");
    assert_eq!(tail("a\nb", 2, 9), "a\nb");
    assert_eq!(tail("", 2, 9), "");
}
