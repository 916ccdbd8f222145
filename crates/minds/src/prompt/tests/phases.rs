//! Prompts of a planner, after phases of work.

use super::{StateText, next, no_files};
use crate::prompt::{Prompt, bindings, next_attempt};
use descent_core::doc::prelude::*;
use descent_core::{id::AtomId, world::World};

/// Phases one after the other, each planned by a step of its own, then the step `N`.
struct PhasesText {
    count: usize,
    /// Results of each phase.
    results: usize,
    /// Characters of each summary, and items of each value.
    chars: usize,
    items: usize,
    constraints: String,
    /// More keys of `N`.
    own: String,
}

impl Default for PhasesText {
    fn default() -> Self {
        Self {
            count: 4,
            results: 1,
            chars: 20,
            items: 1,
            constraints: String::new(),
            own: String::new(),
        }
    }
}

impl PhasesText {
    fn world(&self) -> World {
        let mut text = StateText { constraints: self.constraints.clone(), ..StateText::default() };
        for k in 1..=self.count {
            let waits = waits(k - 1);
            let ids: Vec<String> = (1..=self.results).map(|n| format!("P{k}-{n}")).collect();
            plan(&mut text, &format!("P{k}"), &waits, &ids, k);
            text.bindings.extend((1..=self.results).map(|n| self.result(k, n)));
        }
        let waits = waits(self.count);
        let own = &self.own;
        text.atoms.push(format!(r#""N": {{"kind": "plan"{waits}{own}}}"#));
        text.world()
    }

    fn result(&self, k: usize, n: usize) -> String {
        let words = |head: &str| format!("{head} of {k}-{n} {}", "x".repeat(self.chars));
        let items = ["7"].repeat(self.items).join(", ");
        format!(
            r#""P{k}-{n}": {{"summary": "{}", "handoff": "{}", "artifacts": ["file-{k}"],
              "value": {{"rest": [{items}], "first": "{}"}},
              "of": {{"kind": "task", "description": "do", "provides": ["thing-{k}"],
                "output_schema": {{"required": ["first"]}},
                "origin": {{"by": "planner", "reason": "reason of {k}", "proposed": "do-{k}"}}}}}}"#,
            words("summary"),
            words("handoff"),
            words("value"),
        )
    }

    fn prompt(&self) -> Prompt {
        next(&self.world(), "N", no_files())
    }
}

/// Adds a planning step whose fragment of these parts is in force.
fn plan(text: &mut StateText, id: &str, more: &str, parts: &[String], attempt: usize) {
    text.atoms.push(format!(r#""{id}": {{"kind": "plan", "action": {{"run": "plan"}}{more}}}"#));
    let world = text.world();
    let x = world.graph.ix(&AtomId::new(id)).unwrap();
    let context = world.active.context(x).unwrap();
    let parts: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
    let _ = text.atoms.pop();
    text.atoms.push(format!(
        r#""{id}": {{"kind": "all", "parts": [{}]{more}, "planned": {{"action": {{"run": "plan"}},
          "fragment": {{"context": "{context}", "digest": "d", "attempt": "{id}.{attempt}"}}}}}}"#,
        parts.join(", ")
    ));
}

fn waits(k: usize) -> String {
    match k {
        0 => String::new(),
        k => format!(r#", "depends_on": ["P{k}"]"#),
    }
}

/// The section of a prompt.
fn part<'p>(prompt: &'p Prompt, name: &str) -> &'p str {
    let part = prompt.parts.iter().find(|part| part.name == name);
    part.map_or("", |part| &part.text)
}

/// How each of four results, from the newest on, is told: `f`ull, by `c`ontract, in `s`ummary, or by `n`ame.
fn levels(prompt: &Prompt, count: usize) -> String {
    let text = part(prompt, "results");
    let level = |k: usize| {
        let Some((_, rest)) = text.split_once(&format!("- P{k}-1: ")) else {
            assert!(text.contains("by name only: "), "{text}");
            return 'n';
        };
        let item = rest.split("\n- ").next().unwrap_or_default();
        let item = item.split("\nPhase ").next().unwrap_or_default();
        match (item.contains("(its value"), item.contains("(what it hands on")) {
            (true, true) => 'f',
            (true, false) => 'c',
            (false, true) => 's',
            (false, false) => '?',
        }
    };
    (1..=count).rev().map(level).collect()
}

#[test]
fn each_mode_tells_of_the_phases_what_it_says() {
    let needs = r#", "needs": ["thing-2"]"#;
    for (mode, own, expected) in [
        ("auto", "", "fccc"),
        ("full", "", "ffff"),
        ("contract", "", "cccc"),
        ("summary", "", "ssss"),
        ("hierarchical", "", "snnn"),
        ("selective", needs, "nnfn"),
        ("selective", r#", "needs": ["P3-1"]"#, "nfnn"),
        ("selective", r#", "needs": ["do-1"]"#, "nnnf"),
        ("selective", r#", "needs": ["P4"]"#, "fnnn"),
        // Nothing provides it, so the mode behaves as `auto`.
        ("selective", r#", "needs": ["what nobody makes"]"#, "fccc"),
        ("selective", "", "fccc"),
    ] {
        let by_constraint = PhasesText {
            constraints: format!(r#""planning": {{"context": {{"mode": "{mode}"}}}}"#),
            own: own.into(),
            ..PhasesText::default()
        };
        let by_step = PhasesText {
            constraints: r#""planning": {"context": {"mode": "full"}}"#.into(),
            own: format!(r#"{own}, "context": {{"mode": "{mode}"}}"#),
            ..PhasesText::default()
        };
        for phases in [by_constraint, by_step] {
            let prompt = phases.prompt();
            assert_eq!(levels(&prompt, 4), expected, "{mode} {own}");
            assert!(prompt.text().contains(&format!("the mode `{mode}`")));
        }
    }
}

#[test]
fn auto_tells_less_where_less_has_room_and_the_rest_by_name() {
    let phases = |chars: usize, count: usize, summary: usize, items: usize| PhasesText {
        constraints: format!(r#""planning": {{"context": {{"chars": {chars}}}}}"#),
        count,
        chars: summary,
        items,
        ..PhasesText::default()
    };
    for (phases, expected) in [
        // Half of the room is one long value: what is before it has room in short.
        (phases(60_000, 4, 100, 10_000), "fccc"),
        // The newest has no room in full.
        (phases(20_000, 4, 100, 10_000), "cccc"),
        // Those before the newest three share a fifth of the room of these, or 1,000 bytes.
        (phases(60_000, 7, 300, 1), "fccccnn"),
        (phases(60_000, 7, 1_900, 1), "fccccnn"),
        (phases(4_000, 4, 1_500, 1), "cnnn"),
    ] {
        let prompt = phases.prompt();
        assert_eq!(levels(&prompt, phases.count), expected);
    }
}

#[test]
fn what_is_long_by_its_schema_is_told_in_summary() {
    let keys: Vec<String> = (0..2_000).map(|n| format!("\"k{n}\": {n}")).collect();
    let mut text = StateText::default();
    text.atoms.push(r#""N": {"kind": "plan", "depends_on": ["A"]}"#.into());
    text.bindings.push(format!(
        r#""A": {{"summary": "s", "handoff": "h", "value": {{{}}}, "of": {{"kind": "task"}}}}"#,
        keys.join(", ")
    ));
    for (chars, expected) in [(60_000, "(its value: "), (20_000, "(what it hands on:)")] {
        text.constraints = format!(r#""planning": {{"context": {{"chars": {chars}}}}}"#);
        let prompt = next(&text.world(), "N", no_files());
        assert!(part(&prompt, "results").contains(expected));
    }
}

#[test]
fn a_prompt_of_ten_phases_is_hardly_longer_than_one_of_three() {
    for (results, chars, items) in [
        (1, 1, 1),
        (1, 200, 10),
        (3, 200, 10),
        (3, 800, 300),
        (5, 1_900, 2_000),
        (20, 100, 1),
        (40, 1_900, 500),
    ] {
        let length = |count| {
            let phases = PhasesText { count, results, chars, items, ..PhasesText::default() };
            let text = phases.prompt().text();
            assert!(text.len() <= 60_000, "{count} phases: {} bytes", text.len());
            text.len()
        };
        let [three, five, ten] = [3, 5, 10].map(length);
        let most = three * 13 / 10;
        let figures = format!("{results} × {chars}: {three}, {five}, {ten}");
        assert!(five <= most && ten <= most, "{figures}");
    }
}

#[test]
fn the_limit_of_characters_holds_for_the_whole_prompt() {
    for chars in [8_000, 12_000, 30_000, 64_000] {
        let phases = PhasesText {
            count: 10,
            results: 20,
            chars: 1_000,
            constraints: format!(
                r#""planning": {{"context": {{"mode": "full", "chars": {chars}}}}}"#
            ),
            ..PhasesText::default()
        };
        let text = phases.prompt().text();
        let told = format!("{chars} characters of this prompt at most, about {} tokens", chars / 4);
        assert!(text.contains(&told), "{text}");
        assert!(text.len() <= chars, "{} of {chars}", text.len());
        // All the room is used, but for what is kept for names, reasons and failures.
        assert!(text.len() + 8_000 > chars, "{} of {chars}", text.len());
        assert!(text.contains("# How to end"));
    }
}

#[test]
fn every_result_upstream_lies_whole_beside_the_prompt() {
    let phases = PhasesText {
        count: 10,
        chars: 1_900,
        items: 3_000,
        constraints: r#""planning": {"context": {"mode": "hierarchical", "chars": 4000}}"#.into(),
        ..PhasesText::default()
    };
    let world = phases.world();
    let prompt = next(&world, "N", no_files());
    let files = prompt.files.iter();
    let names: Vec<&str> = files.map(|file| &*file.name).collect();
    assert_eq!(names.len(), 10);
    assert!(names.contains(&"bindings/P1-1.json") && names.contains(&"bindings/P10-1.json"));
    let next = next_attempt(&world, &AtomId::new("N")).unwrap();
    let all = descent_core::doc::parse(&bindings(&next.world, &next.intent), &Default::default());
    let all = all.node.unwrap();
    for file in &prompt.files {
        let own = descent_core::doc::parse(&file.text, &Default::default()).node.unwrap();
        let id = file.name.strip_prefix("bindings/").unwrap().strip_suffix(".json");
        let known = all.get(id.unwrap()).expect("it stands in the bindings too");
        assert_eq!(descent_core::doc::canonical(known), descent_core::doc::canonical(&own));
    }
    assert!(part(&prompt, "results").contains("the file bindings/ID.json beside"));
}

#[test]
fn the_reasons_of_the_newest_five_plans_are_told() {
    let phases = PhasesText {
        count: 7,
        chars: 400,
        constraints: r#""planning": {"context": {"mode": "hierarchical"}}"#.into(),
        ..PhasesText::default()
    };
    let prompt = phases.prompt();
    let text = part(&prompt, "reasons");
    for k in 3..=7 {
        assert!(text.contains(&format!("- P{k}, plan P{k}.{k}: reason of {k}\n")), "{text}");
    }
    assert!(!text.contains("reason of 2"), "{text}");
    // The newest is told among the results.
    assert!(!text.contains("P7-1: summary") && text.contains("P6-1: summary"), "{text}");
    let longest = text.lines().map(|line| line.len()).max();
    assert!(longest < Some(330), "{text}");
}

#[test]
fn a_phase_is_what_was_made_after_the_same_number_of_planning_steps() {
    let mut text = StateText::default();
    let result = |id: &str, more: &str| {
        format!(
            r#""{id}": {{"summary": "s", "of": {{"kind": "task", "description": "do"{more}}}}}"#
        )
    };
    let after = |id: &str| format!(r#", "depends_on": ["{id}"]"#);
    // A person's tasks before and after a step that plans.
    text.bindings.push(result("begin", ""));
    plan(&mut text, "M", &after("begin"), &["M-1".into(), "M-2".into()], 1);
    text.bindings.push(result("M-1", ""));
    text.bindings.push(result("beside", &after("M")));
    // A step inside of its fragment that plans.
    plan(&mut text, "M-2", &after("M-1"), &["M-2-1".into()], 2);
    text.bindings.push(result("M-2-1", ""));
    text.atoms.push(r#""N": {"kind": "plan", "depends_on": ["beside"]}"#.into());
    let prompt = next(&text.world(), "N", no_files());
    let told = part(&prompt, "results").lines();
    let told: Vec<&str> = told.skip(2).take(7).collect();
    let expected = [
        "Phase 3 of 3:",
        "- M-2-1: s",
        "- beside: s",
        "Phase 2 of 3:",
        "- M-1: s",
        "Phase 1 of 3:",
        "- begin: s",
    ];
    assert_eq!(told, expected);
}
