//! The length of a prompt, whatever the state holds.

use descent_core::doc::prelude::*;
use proptest::prelude::*;

use super::{StateText, next, no_files};
use crate::prompt::{
    BYTES_MAX, GAPS_BYTES_MAX, INSTRUCTIONS_BYTES_MIN, Prompt, SHARED_BYTES_MIN, template,
};

/// A text of that many characters, in lines or not, of one byte each or of more.
#[derive(Debug, Clone)]
struct LongText {
    chars: usize,
    has_lines: bool,
    is_wide: bool,
}

impl LongText {
    /// As the content of a JSON string.
    fn json(&self) -> String {
        let letter = if self.is_wide { "語" } else { "x" };
        if self.has_lines {
            format!("{}\\n", letter.repeat(9)).repeat(self.chars / 10)
        } else {
            letter.repeat(self.chars)
        }
    }
}

fn text(chars_max: usize) -> impl Strategy<Value = LongText> {
    let text = |(chars, has_lines, is_wide)| LongText { chars, has_lines, is_wide };
    (0..=chars_max, any::<bool>(), any::<bool>()).prop_map(text)
}

/// The lengths of a state's parts.
#[derive(Debug, Clone)]
struct Lengths {
    words: LongText,
    goal: LongText,
    description: LongText,
    guidance: Vec<LongText>,
    summary: LongText,
    solved: usize,
    siblings: usize,
    output: LongText,
    report: LongText,
    failures: usize,
    checks: usize,
    schema: LongText,
    in_flight: usize,
}

fn lengths() -> impl Strategy<Value = Lengths> {
    let texts = (
        text(40_000),
        text(20_000),
        text(20_000),
        prop::collection::vec(text(4_000), 0..20),
        text(1_900),
        text(2_000),
        text(1_900),
        text(9_000),
    );
    let counts = (0..200_usize, 0..60_usize, 0..10_usize, 0..80_usize, 0..20_usize);
    (texts, counts).prop_map(|(texts, counts)| {
        let (words, goal, description, guidance, summary, output, report, schema) = texts;
        let (solved, siblings, failures, checks, in_flight) = counts;
        Lengths {
            words,
            goal,
            description,
            guidance,
            summary,
            solved,
            siblings,
            output,
            report,
            failures,
            checks,
            schema,
            in_flight,
        }
    })
}

fn list(count: usize, one: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(one).collect()
}

fn prompt(lengths: &Lengths) -> Prompt {
    let long = lengths.description.json();
    let guidance: Vec<String> =
        lengths.guidance.iter().map(|one| format!("\"{}\"", one.json())).collect();
    let checks =
        list(lengths.checks, |n| format!(r#"{{"command": "make {n} {}"}}"#, "y".repeat(200)));
    let solved = list(lengths.solved, |n| format!("S{n}"));
    let quoted: Vec<String> = solved.iter().map(|id| format!("\"{id}\"")).collect();
    let own = format!(
        r#""A": {{"kind": "task", "description": "{long}", "guidance": [{}], "checks": {{"all": [{}]}},
          "output_schema": {{"title": "{}"}}, "depends_on": [{}]}}"#,
        guidance.join(","),
        checks.join(","),
        lengths.schema.json(),
        quoted.join(","),
    );
    let sibling = |n| format!(r#""B{n}": {{"kind": "task", "description": "{long}"}}"#);
    let parts = list(lengths.siblings, |n| format!("\"B{n}\""));
    let parts: Vec<String> = core::iter::once("\"A\"".into()).chain(parts).collect();
    let group = format!(
        r#""G": {{"kind": "any", "description": "{long}", "selected": "A", "choices": [{}]}}"#,
        parts.join(",")
    );
    let result = |n| {
        format!(
            r#""S{n}": {{"summary": "{0}", "handoff": "{0}", "artifacts": ["a", "b"], "of": {{"kind": "task"}}}}"#,
            lengths.summary.json()
        )
    };
    let failure = |n| {
        format!(
            r#"{{"type": "failure", "atom": "A", "attempt": "A.{n}", "class": "logical", "reason": "{0}", "output": "{1}",
              "summary": "{0}", "handoff": "{0}", "changed": ["{2}"], "criteria": [{{"check": "{0}", "verdict": "fail"}}]}}"#,
            lengths.report.json(),
            lengths.output.json(),
            "z".repeat(4_000),
        )
    };
    let in_flight =
        |n| format!(r#"{{"id": "B{n}.1", "atom": "B{n}", "context": "c", "effect": "tree"}}"#);
    let at_work = lengths.in_flight.min(lengths.siblings);
    let state = StateText {
        objective: format!(
            r#""raw_input": "{}", "goal": "{1}", "background_intent": "{1}""#,
            lengths.words.json(),
            lengths.goal.json()
        ),
        atoms: [own, group].into_iter().chain(list(lengths.siblings, sibling)).collect(),
        bindings: list(lengths.solved, result),
        trail: list(lengths.failures, failure),
        run: format!(
            r#""status": "running", "in_flight": [{}]"#,
            list(at_work, in_flight).join(",")
        ),
        ..StateText::default()
    };
    next(&state.world(), "A", no_files())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_prompt_has_at_most_64_kib_whatever_the_state_holds(lengths in lengths()) {
        let prompt = prompt(&lengths);
        let text = prompt.text();
        assert!(text.len() <= BYTES_MAX, "{} bytes", text.len());
        assert!(text.contains("# How to end"), "the end is never left out");
        assert_eq!(lengths.failures > 0, text.contains("# What was tried before"));
        // Words that were cut lie whole beside it.
        for file in &prompt.files {
            let part = prompt.parts.iter().find(|part| part.is_cut && part.text.contains(&file.name));
            assert!(part.is_some(), "{} is not named", file.name);
        }
    }
}

/// Everything at its limit at once.
fn full() -> Lengths {
    let long = |chars| LongText { chars, has_lines: true, is_wide: false };
    Lengths {
        words: long(40_000),
        goal: long(20_000),
        description: long(20_000),
        guidance: Vec::from([long(4_000), long(4_000)]),
        summary: long(1_900),
        solved: 200,
        siblings: 60,
        output: long(2_000),
        report: long(1_900),
        failures: 10,
        checks: 80,
        schema: long(9_000),
        in_flight: 20,
    }
}

#[test]
fn with_everything_at_its_limit_results_and_failures_share_what_is_left() {
    let prompt = prompt(&full());
    let text = prompt.text();
    assert!(text.len() > BYTES_MAX * 9 / 10, "{} bytes", text.len());
    assert!(text.len() <= BYTES_MAX, "{} bytes", text.len());
    for words in ["- S0: ", "by name only", "- A.9 failed: ", "    xxxxxxxxx\n"] {
        assert!(text.contains(words), "no `{words}` in:\n{text}");
    }
    let files: Vec<&str> = prompt.files.iter().map(|file| &*file.name).collect();
    let expected =
        ["goal.txt", "words.txt", "description.txt", "guidance.txt", "checks.txt", "schema.json"];
    assert_eq!(files, expected);
    let words = full().words.json().replace("\\n", "\n");
    assert!(prompt.files[1].text.ends_with(words.trim_end()));
}

/// The prompt of an atom that `solved` atoms come before, each waiting for the one before it.
fn after_a_chain(solved: usize) -> Prompt {
    let result = |n: usize| {
        let waits = n.checked_sub(1).map(|before| format!("\"S{before}\"")).unwrap_or_default();
        format!(
            r#""S{n}": {{"summary": "{}", "of": {{"kind": "task", "description": "step {n}", "depends_on": [{waits}]}}}}"#,
            "done as it was said ".repeat(20)
        )
    };
    let state = StateText {
        atoms: Vec::from([format!(
            r#""A": {{"kind": "task", "description": "go on", "depends_on": ["S{}"]}}"#,
            solved - 1
        )]),
        bindings: list(solved, result),
        ..StateText::default()
    };
    next(&state.world(), "A", no_files())
}

#[test]
fn what_is_solved_long_ago_makes_no_prompt_longer() {
    let [ten, two_hundred] = [10, 200].map(|solved| after_a_chain(solved).text().len());
    assert!(two_hundred <= ten + 20, "{ten} bytes, then {two_hundred}");
}

/// The sections that share the room that all others leave.
const SHARING: [&str; 9] = [
    "instructions",
    "results",
    "found",
    "reasons",
    "earlier",
    "remembered",
    "project",
    "files",
    "commands",
];

#[test]
fn whatever_is_there_results_and_earlier_attempts_have_room() {
    // A task has no plan behind it, and a planner gives no value.
    for other in [&["value", "checks"][..], &["changes", "directive", "rounds", "budget"]] {
        let sections = template::sections("attempt").into_iter();
        let fixed =
            sections.filter(|one| !SHARING.contains(&one.name) && !other.contains(&one.name));
        let most: usize = fixed.map(|one| one.bytes_max).sum();
        let least = GAPS_BYTES_MAX + SHARED_BYTES_MIN + INSTRUCTIONS_BYTES_MIN;
        assert!(most + least <= BYTES_MAX, "{most} without {other:?}");
    }
}
