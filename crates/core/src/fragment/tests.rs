//! The output of a planner: every stage with its fault, and the outcome of a valid fragment.

use crate::doc::prelude::*;
use num_bigint::BigUint;

use super::*;
use crate::{
    graph::active::{ActiveGraph, selection_of},
    id::Lineage,
    plan,
    state::{Constraints, Grant},
};

fn state(constraints: &str) -> State {
    let text = format!(
        r#"{{"objective": {{"constraints": {{{constraints}}}}}, "work_graph": {{"atoms": {{
            "before": {{}}, "N": {{"kind": "plan", "depends_on": ["before"]}}, "N-1": {{}},
            "after": {{"depends_on": ["N"]}}}}}}}}"#
    );
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    plan.into_state(Lineage::new("l"))
}

fn with_asked<T>(state: &State, then: impl FnOnce(FragmentRequest<'_>) -> T) -> T {
    let graph = Graph::of(state);
    let active = ActiveGraph::of(&graph, selection_of(&graph, state));
    let plan = AtomId::new("N");
    let context = active.context(graph.ix(&plan).unwrap()).unwrap();
    then(FragmentRequest {
        state,
        graph: &graph,
        active: &active,
        plan: &plan,
        context,
        choices: &Choices::new(),
        attempt: &AttemptId::new("N.1"),
    })
}

fn judged(state: &State, text: &str) -> Result<AcceptedFragment, Vec<Fault>> {
    with_asked(state, |asked| read(text).and_then(|node| judge(asked, &node, &Default::default())))
}

/// Exactly these faults, as `rule pointer`.
fn check(constraints: &str, text: &str, expected: &[&str]) {
    let found = judged(&state(constraints), text).expect_err(text);
    let found: Vec<String> =
        found.iter().map(|fault| format!("{} {}", fault.rule, fault.pointer)).collect();
    assert_eq!(found, expected, "{text}");
}

fn atoms(constraints: &str, atoms: &str, expected: &[&str]) {
    check(constraints, &format!(r#"{{"atoms": {atoms}}}"#), expected);
}

fn row(count: usize) -> String {
    let atoms: Vec<&str> = (0..count).map(|_| "{}").collect();
    format!("[{}]", atoms.join(", "))
}

#[test]
fn what_is_no_fragment_is_told_so() {
    check("", "", &["empty "]);
    check("", "here is my plan", &["no-object "]);
    check("", "[]", &["wrong-type "]);
    check("", "{}", &["missing-key "]);
    check("", r#"{"atom": {}}"#, &["near-miss /atom", "missing-key "]);
    atoms("", "7", &["wrong-type /atoms", "empty-fragment /atoms"]);
    atoms("", "{}", &["empty-fragment /atoms"]);
}

#[test]
fn keys_that_are_the_programs_or_nobodys_are_refused_wherever_they_stand() {
    atoms("", r#"{"a": {"status": "failed"}}"#, &["program-key /atoms/a/status"]);
    atoms("", r#"[{"parts": [{"origin": {}}]}]"#, &["program-key /atoms/0/parts/0/origin"]);
    atoms("", r#"{"a": {"depend_on": []}}"#, &["unknown-key /atoms/a/depend_on"]);
}

#[test]
fn a_planner_gives_no_attempt_more_time_than_the_agreement_and_keeps_none_from_being_stopped() {
    let limit = r#""attempt_timeout": "10m""#;
    let of = |timeout: &str| format!(r#"{{"a": {{"description": "it", "timeout": "{timeout}"}}}}"#);
    atoms(limit, &of("11m"), &["too-slow /atoms/a/timeout"]);
    judged(&state(limit), &format!(r#"{{"atoms": {}}}"#, of("10m"))).unwrap();
    atoms(limit, r#"{"a": {"interruptible": false}}"#, &["persons-key /atoms/a/interruptible"]);
}

#[test]
fn the_schema_of_a_fragment_is_json_with_a_definition_of_an_atom() {
    let parsed = doc::parse(&schema(), &doc::Limits::default());
    assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
    let atom = parsed.node.unwrap();
    let atom = atom.get("$defs").and_then(|defs| defs.get("atom")).unwrap();
    let required = atom.get("required").and_then(Node::as_array).unwrap();
    assert_eq!(required.len(), 1);
    assert!(atom.get("properties").unwrap().get("unknown").is_some());
}

#[test]
fn an_answer_that_cannot_be_used_is_told_in_words_to_mend_it_by() {
    let state = state("");
    let fault = |text: &str| with_asked(&state, |asked| fault(asked, text, |_| Default::default()));
    assert_eq!(fault(r#"{"reasoning": "r", "atoms": {"a": {"action": {"run": "make a"}}}}"#), None);
    let told = fault(r#"{"atmos": {"a": {"action": {"run": "make a"}}}}"#).unwrap();
    assert!(told.contains("`atmos` is no key of the answer"), "{told}");
    let more = r#"{"summary": "s", "atoms": {"a": {"action": {"run": "make a"}}}}"#;
    assert_eq!(fault(more), None, "one more key says nothing");
    let told = fault("I plan it so").unwrap();
    assert!(told.contains("no JSON object") && told.contains("\"atoms\""), "{told}");
    // A planner that cannot plan says so.
    assert_eq!(fault(r#"{"success": false, "summary": "no", "clarity": "BLOCKED"}"#), None);
    assert_eq!(fault(r#"{"success": false, "summary": "no"}"#), None);
    assert!(fault(r#"{"success": true, "summary": "done"}"#).is_some());
}

#[test]
fn all_that_is_wrong_with_ids_and_references_is_told_at_once() {
    atoms(
        "",
        r#"{"a b": {}, "c": {"depends_on": ["d"]}, "e": {"parts": []}}"#,
        &["bad-id /atoms/a b", "empty-group /atoms/e/parts", "unknown-atom /atoms/c/depends_on/0"],
    );
}

#[test]
fn an_atom_outside_of_the_fragment_is_not_named_and_the_planner_is_told_why() {
    let text = r#"{"atoms": {"a": {"depends_on": ["before"]}}}"#;
    let faults = judged(&state(""), text).unwrap_err();
    assert_eq!(faults[0].rule, "unknown-atom");
    let hint = faults[0].hint.as_deref().unwrap();
    assert!(hint.contains("done before"), "{hint}");
}

#[test]
fn atoms_that_do_not_hang_together_are_refused() {
    let circle = r#"{"a": {"depends_on": ["b"]}, "b": {"depends_on": ["a"]}}"#;
    atoms("", circle, &["cycle /atoms/a"]);
    let twice = r#"{"p": {"parts": ["a"]}, "q": {"parts": ["a"]}, "a": {}}"#;
    atoms("", twice, &["two-parents /atoms/q/parts/0"]);
    let inside = r#"{"p": {"parts": ["a"]}, "a": {}, "b": {"depends_on": ["a"]}}"#;
    atoms("", inside, &["dependency-out-of-reach /atoms/b/depends_on/0"]);
}

#[test]
fn a_fragment_has_its_limits() {
    atoms("", &row(21), &["too-many-atoms /atoms"]);
    atoms(r#""planning": {"atoms": 2}"#, &row(3), &["too-many-atoms /atoms"]);
    let deep =
        r#"[{"id": "p", "parts": [{"id": "q", "parts": [{"id": "r", "parts": [{"id": "s"}]}]}]}]"#;
    atoms("", deep, &["too-deep /atoms/s"]);
    atoms(r#""planning": {"depth": 3}"#, deep, &["too-deep /atoms/s"]);
    let steps = r#"{"a": {"kind": "plan"}, "b": {"kind": "plan"}}"#;
    atoms(r#""planning": {"phases": 2}"#, steps, &["too-many-phases /atoms"]);
}

/// Six groups of two have 64 combinations; what waits for them sees each.
#[test]
fn what_does_not_fit_the_grant_is_refused() {
    let group = |n: usize| {
        format!(
            r#"{{"id": "g{n}", "choices": [{{"description": "{n} one"}}, {{"description": "{n} two"}}]}}"#
        )
    };
    let groups: Vec<String> = (0..6).map(group).collect();
    let of_all = r#"{"id": "last", "description": "it", "depends_on": ["g0", "g1", "g2", "g3", "g4", "g5"]}"#;
    let text = format!("[{}, {of_all}]", groups.join(", "));
    atoms("", &text, &["budget /atoms", "budget /atoms"]);
    let few = format!(
        "[{}, {}]",
        groups[..2].join(", "),
        r#"{"description": "it", "depends_on": ["g0", "g1"]}"#
    );
    atoms(r#""planning": {"atoms": 7}"#, &few, &["budget /atoms"]);
    assert!(
        judged(&state(r#""planning": {"atoms": 8}"#), &format!(r#"{{"atoms": {few}}}"#)).is_ok()
    );
}

#[test]
fn what_a_step_inside_serves_waits_for_it() {
    let text = r#"{"a": {"kind": "plan", "convergence_target": "b"}, "b": {}}"#;
    atoms("", text, &["convergence /atoms/a/convergence_target"]);
    let text = r#"{"a": {"kind": "plan", "convergence_target": "after"}}"#;
    atoms("", text, &["unknown-atom /atoms/a/convergence_target"]);
}

#[test]
fn ids_are_the_programs_own_and_what_was_proposed_is_kept() {
    let text = r#"{"reasoning": "why", "atoms": {"after": {"description": "a"}, "G": {"choices": ["x", {"id": "y", "description": "b"}], "depends_on": "after"}, "x": {"description": "c"}}}"#;
    let taken = judged(&state(""), text).unwrap();
    let ids: Vec<&str> = taken.atoms.keys().map(AtomId::as_str).collect();
    assert_eq!(ids, ["N-2", "N-3", "N-4", "N-5"], "`N-1` is taken");
    let parts: Vec<&str> = taken.fragment.parts.iter().map(AtomId::as_str).collect();
    assert_eq!(parts, ["N-2", "N-3"]);
    let group = &taken.atoms[&AtomId::new("N-3")];
    assert_eq!(group.depends_on[0].as_str(), "N-2");
    let origin = doc::write_compact(group.origin.as_ref().unwrap());
    for words in
        [r#""by":"planner""#, r#""reason":"why""#, r#""proposed":"G""#, r#""fragment":"N.1""#]
    {
        assert!(origin.contains(words), "{origin}");
    }
}

#[test]
fn an_id_that_would_be_too_long_is_cut() {
    let long = AtomId::new("x".repeat(64));
    assert_eq!(derived(&long, 12).as_str().len(), 64);
    assert!(AtomId::is_valid(derived(&long, 12).as_str()));
}

#[test]
fn a_step_inside_is_granted_a_share_of_what_is_left() {
    let text = r#"{"atoms": {"a": {"kind": "plan", "description": "a"}, "b": {"kind": "plan", "description": "b"}, "c": {"description": "c"}}}"#;
    let taken = judged(&state(""), text).unwrap();
    let grants: Vec<Grant> = taken
        .atoms
        .values()
        .filter_map(|atom| Some(atom.plan()?.grant(&Constraints::default())))
        .collect();
    let [one, two] = grants[..] else { panic!("{grants:?}") };
    assert_eq!(one, two);
    assert_eq!((one.alternatives, one.rounds), (2, 2), "two of two rounds: 16 ways");
    let used = (one.round(3, 3) * one.rounds) * 2u8 + 3u8;
    assert!(used <= BigUint::from(60u32), "{used} attempts");
    assert!(one.atoms > 2, "{one:?}");
}

#[test]
fn the_plan_that_was_made_before_in_this_context_is_refused_however_it_is_written() {
    let text = r#"{"atoms": {"a": {"description": "x", "depends_on": []}}}"#;
    let mut state = state("");
    let taken = judged(&state, text).unwrap();
    state = with_asked(&state, |asked| with(asked, &taken));
    let again =
        r#"{"reasoning": "another", "atoms": { "a" : {"depends_on": [], "description": "x"}}}"#;
    let faults = judged(&state, again).unwrap_err();
    assert_eq!(faults[0].rule, "same-plan");
    assert!(judged(&state, r#"{"atoms": {"a": {"description": "y"}}}"#).is_ok());
}

#[test]
fn a_step_inside_may_be_told_results_in_its_own_way_and_no_more_of_them() {
    let step = |context: &str| {
        format!(r#"{{"a": {{"kind": "plan", "description": "go on", "context": {context}}}}}"#)
    };
    let few = r#""planning": {"context": {"chars": 20000}}"#;
    let taken = judged(
        &state(few),
        &format!(r#"{{"atoms": {}}}"#, step(r#"{"mode": "full", "chars": 20000}"#)),
    );
    let taken = taken.expect("it may");
    let atom = taken.atoms.values().next().unwrap();
    let constraints = &state(few).objective.constraints;
    assert_eq!(atom.plan().unwrap().context(constraints).chars(), 20_000);
    for (constraints, context, expected) in [
        (few, r#"{"chars": 20001}"#, "context /atoms/a/context/chars"),
        ("", r#"{"chars": 64000}"#, "context /atoms/a/context/chars"),
        ("", r#"{"chars": 1}"#, "limit /atoms/a/context/chars"),
        ("", r#"{"mode": "ful"}"#, "unknown-value /atoms/a/context/mode"),
        ("", r#"{"mod": "full"}"#, "unknown-key /atoms/a/context/mod"),
    ] {
        atoms(constraints, &step(context), &[expected]);
    }
}

#[test]
fn a_planner_is_told_of_each_limit_of_which_a_fifth_is_left() {
    use crate::state::{Micros, PhaseLimit, Tokens};
    let limits = r#""budget": {"iterations": 10, "time": "10s", "calls": 10, "tokens": 10, "cost_usd": "0.00001"}"#;
    let little = |used: u64| {
        let mut state = state(limits);
        let run = Arc::make_mut(&mut state.run);
        run.iteration = used;
        run.spent.active.ms = used * 1_000;
        run.spent.usage.calls = used;
        run.spent.usage.tokens = Tokens::new(used, 0, 0);
        run.spent.usage.cost = Some(Micros(used));
        with_asked(&state, |asked| Remaining::of(asked).little)
    };
    assert_eq!(little(7), []);
    let all = PhaseLimit::WORDS.map(|(_, limit)| limit);
    assert_eq!(little(8), all);
    assert_eq!(little(99), all);
    let none = with_asked(&state(""), |asked| Remaining::of(asked).little);
    assert_eq!(none, []);
}
