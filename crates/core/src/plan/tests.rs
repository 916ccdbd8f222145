//! Plans as people write them: nested, without kinds, with one id for a list. Each form gives the same state.

use super::{PlanReading, read, text_of};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Places},
    graph::validate,
    id::{AgentName, AtomId, Lineage},
    state::{Body, Constraints, objective::PlanningLimits},
};

fn with_graph(graph: &str) -> String {
    format!(
        r#"{{"objective": {{"goal": "g", "base_case": {{"command": "true"}}}}, "work_graph": {graph}}}"#
    )
}

fn with_atoms(atoms: &str) -> String {
    with_graph(&format!(r#"{{"atoms": {atoms}}}"#))
}

/// Every atom in the form of the file.
fn flat(atoms: &str) -> String {
    let plan = read(with_atoms(atoms).as_bytes());
    assert_eq!(faults_of(plan, &with_atoms(atoms)), Vec::<String>::new());
    let plan = read(with_atoms(atoms).as_bytes());
    let line = |(id, atom): (&AtomId, &crate::state::Atom)| {
        format!("{id} {}\n", doc::canonical(&atom.node()))
    };
    plan.atoms.iter().map(line).collect()
}

fn faults_of(plan: PlanReading, text: &str) -> Vec<String> {
    let mut plan = plan;
    let mut faults = core::mem::take(&mut plan.faults);
    let (root, written) = (plan.root.clone(), plan.written.clone());
    if let Some(root) = root {
        let state = plan.into_state(Lineage::new("l"));
        let mut of_graph = validate::check(&state, &root);
        written.put_back(&mut of_graph);
        faults.extend(of_graph);
    }
    faults.sort_by_key(|fault| fault.span.start());
    let places = Places::new(text);
    let show = |fault: &doc::Fault| {
        let (line, column) = places.line_col(fault.span.start());
        format!("{line}:{column} {} {}", fault.pointer, fault.rule)
    };
    faults.iter().map(show).collect()
}

#[track_caller]
fn check_faults(atoms: &str, expected: &[&str]) {
    let text = with_graph(&format!("{{\"atoms\":\n{atoms}}}"));
    assert_eq!(faults_of(read(text.as_bytes()), &text), expected, "{text}");
}

const FLAT: &str = r#"{
    "base": {"kind": "task", "description": "b", "depends_on": []},
    "auth": {"kind": "any", "choices": ["auth-1", "jwt"], "depends_on": ["base"]},
    "auth-1": {"kind": "all", "description": "sessions", "parts": ["store", "auth-1-2"]},
    "store": {"kind": "task", "description": "s"},
    "auth-1-2": {"kind": "task", "description": "c", "depends_on": ["store"]},
    "jwt": {"kind": "task", "description": "j", "action": {"run": "make jwt"}}
}"#;

#[test]
fn nested_atoms_give_the_same_atoms_as_flat_ones() {
    let nested = r#"{
        "base": {"description": "b"},
        "auth": {"depends_on": "base", "choices": [
            {"description": "sessions", "parts": [
                {"id": "store", "description": "s"},
                {"description": "c", "depends_on": "store"}]},
            {"id": "jwt", "description": "j", "action": {"run": "make jwt"}}]}
    }"#;
    assert_eq!(flat(nested), flat(FLAT));
}

#[test]
fn groups_may_hold_their_members_by_id_and_a_list_may_hold_the_atoms() {
    let by_id = r#"[
        {"id": "auth", "depends_on": ["base"], "choices": {
            "auth-1": {"description": "sessions", "parts": {
                "store": {"description": "s", "id": "store"},
                "auth-1-2": {"description": "c", "depends_on": "store"}}},
            "jwt": {"description": "j", "action": {"run": "make jwt"}}}},
        {"id": "base", "description": "b"}
    ]"#;
    assert_eq!(flat(by_id), flat(FLAT));
}

#[test]
fn an_id_in_a_list_stays_a_reference_and_the_order_is_as_written() {
    let mixed = r#"{
        "z": {"description": "z"}, "a": {"description": "a"},
        "g": {"choices": ["z", {"id": "m", "description": "m"}, "a"]}
    }"#;
    let plan = read(with_atoms(mixed).as_bytes());
    let Body::Any { choices, .. } = &plan.atoms[&AtomId::new("g")].body else {
        panic!("no group");
    };
    let choices: Vec<&str> = choices.iter().map(AtomId::as_str).collect();
    assert_eq!(choices, ["z", "m", "a"]);
    let text = doc::write(&text_of(&plan.into_state(Lineage::new("l"))));
    let again = read(text.as_bytes()).into_state(Lineage::new("l"));
    let order: Vec<&str> = again.order.iter().map(AtomId::as_str).collect();
    assert_eq!(order, ["z", "a", "g", "m"], "{text}");
}

#[test]
fn an_id_that_the_program_gives_is_nobody_elses() {
    let atoms = r#"[
        {"description": "first"},
        {"description": "says the id of the first", "id": "A1", "parts": [
            {"description": "p"}, {"description": "q", "id": "A1-1"}]}
    ]"#;
    let plan = read(with_atoms(atoms).as_bytes());
    let ids: Vec<&str> = plan.atoms.keys().map(AtomId::as_str).collect();
    assert_eq!(ids, ["A1", "A1-1", "A1-1-2", "A1-2"]);
    let long = format!(r#"{{"{}": {{"parts": [{{"description": "p"}}]}}}}"#, "x".repeat(64));
    let plan = read(with_atoms(&long).as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    let longest = plan.atoms.keys().map(|id| id.as_str().len()).max();
    assert_eq!((plan.atoms.len(), longest), (2, Some(64)));
}

#[test]
fn a_kind_that_the_keys_contradict_is_a_fault() {
    for (atom, rule) in [
        (r#"{"kind": "task", "choices": ["b"]}"#, "2:7 /work_graph/atoms/a/kind wrong-kind"),
        (r#"{"kind": "all", "choices": ["b"]}"#, "2:7 /work_graph/atoms/a/kind wrong-kind"),
        (r#"{"kind": "any", "parts": ["b"]}"#, "2:7 /work_graph/atoms/a/kind wrong-kind"),
        (r#"{"parts": ["b"], "choices": ["b"]}"#, "2:7 /work_graph/atoms/a/parts two-kinds"),
    ] {
        let text = with_atoms(&format!("{{\n\"a\": {atom}, \"b\": {{}}}}"));
        let faults = faults_of(read(text.as_bytes()), &text);
        assert!(faults.contains(&rule.to_string()), "{atom}: {faults:?}");
    }
}

#[test]
fn faults_inside_of_nested_atoms_are_placed_as_written() {
    check_faults(
        r#"{"auth": {"choices": [
{"id": "jwt", "timeout": "soon", "checks": {"all": [{"comand": "x"}]}},
{"description": "c", "depends_on": "nobody"},
{"parts": {"own fonts": {"description": "f"}, "deep": {"depends_on": ["missing"]}}}]}}"#,
        &[
            "3:26 /work_graph/atoms/auth/choices/0/timeout bad-duration",
            "3:53 /work_graph/atoms/auth/choices/0/checks/all/0 bad-check",
            "4:36 /work_graph/atoms/auth/choices/1/depends_on unknown-atom",
            "5:12 /work_graph/atoms/auth/choices/2/parts/own fonts bad-id",
            "5:71 /work_graph/atoms/auth/choices/2/parts/deep/depends_on/0 unknown-atom",
        ],
    );
}

#[test]
fn an_id_given_twice_is_named_at_its_second_place() {
    check_faults(
        r#"{"a": {"description": "x"},
"g": {"choices": [{"description": "y", "id": "a"}, {"id": 7}]},
"h": {"parts": {"i": {"id": "j"}}}}"#,
        &[
            "3:46 /work_graph/atoms/g/choices/0 duplicate-id",
            "3:59 /work_graph/atoms/g/choices/1/id wrong-type",
            "4:29 /work_graph/atoms/h/parts/i/id two-ids",
        ],
    );
}

#[test]
fn what_stands_twice_in_the_text_is_named_once() {
    check_faults(
        "{\"a\": {\"description\": \"x\"},\n\"a\": {\"description\": \"y\"}}",
        &["3:1 /work_graph/atoms/a duplicate-key"],
    );
}

#[test]
fn atoms_of_another_type_are_faults() {
    check_faults("7", &["2:1 /work_graph/atoms wrong-type"]);
    check_faults(
        "[7, \"cargo fmt\"]",
        &["2:2 /work_graph/atoms/0 wrong-type", "2:5 /work_graph/atoms/1 wrong-type"],
    );
    check_faults(
        "{\"a\": {\"choices\": 7}, \"b\": {\"parts\": {}}, \"c\": {\"parts\": [7]}}",
        &[
            "2:19 /work_graph/atoms/a/choices wrong-type",
            "2:38 /work_graph/atoms/b/parts empty-group",
            "2:59 /work_graph/atoms/c/parts/0 wrong-type",
        ],
    );
}

#[test]
fn a_command_that_no_system_can_start_is_a_fault() {
    let long =
        |bytes: usize| format!("{{\"a\": {{\"action\": {{\"run\": \"{}\"}}}}}}", "x".repeat(bytes));
    check_faults(&long((127 << 10) + 1), &["2:26 /work_graph/atoms/a/action/run limit"]);
    check_faults(&long(127 << 10), &[]);
}

#[test]
fn keys_of_a_state_are_left_out_and_other_unknown_keys_are_kept() {
    let text = r#"{"$schema": "s", "version": "2.4", "objective": {"goal": "g"}, "trail": [],
        "run": {"status": "completed"}, "control": {"stop_requested": false}, "mine": 1,
        "notes": "n", "work_graph": {"atoms": {}, "theirs": 2}}"#;
    let plan = read(text.as_bytes());
    let warned: Vec<(&str, &str)> =
        plan.warnings.iter().map(|fault| (fault.pointer.as_str(), fault.rule)).collect();
    assert_eq!(
        warned,
        [("/run", "state-key"), ("/work_graph/theirs", "unknown-key"), ("/mine", "unknown-key")]
    );
    let state = plan.into_state(Lineage::new("l"));
    let file = crate::state::encode::StateText::of(&state).text(&state);
    for key in ["\"mine\": 1", "\"notes\": \"n\"", "\"theirs\": 2"] {
        assert!(file.contains(key), "{file}");
    }
    assert_eq!(file.matches("\n\"run\": {\"status\"").count(), 1, "{file}");
}

#[test]
fn steps_added_to_a_plan_wait_for_one_another_and_take_no_id_of_it() {
    let mut plan = read(with_atoms(r#"{"A1": {}, "S2": {}}"#).as_bytes());
    plan.add_step("one");
    plan.add_step("two=make two");
    let told: Vec<(String, Vec<AtomId>)> =
        plan.atoms.iter().map(|(id, atom)| (id.to_string(), atom.depends_on.clone())).collect();
    let none = Vec::new;
    assert_eq!(
        told,
        [
            ("A1".to_string(), none()),
            ("S2".to_string(), none()),
            ("S3".to_string(), none()),
            ("S4".to_string(), Vec::from([AtomId::new("S3")])),
        ]
    );
}

#[test]
fn a_planning_step_that_is_added_waits_for_the_last_step_and_names_its_agent() {
    let mut plan = PlanReading::default();
    plan.add_step("one");
    plan.add_planning(AgentName::from("wise"));
    let step = &plan.atoms[&AtomId::new("S2")];
    assert_eq!(step.depends_on, [AtomId::new("S1")]);
    let spec = &step.plan().expect("a planning step").task.spec;
    assert_eq!(spec.agent, Some(AgentName::from("wise")));
}

#[test]
fn what_was_left_out_of_a_grant_is_as_the_constraints_say() {
    let plan = |grant: &str| {
        let atoms = format!(r#"{{"n": {{"kind": "plan", "grant": {grant}}}}}"#);
        let plan = read(with_atoms(&atoms).as_bytes());
        assert!(plan.faults.is_empty(), "{:?}", plan.faults);
        let step = plan.atoms[&AtomId::new("n")].plan().cloned();
        let constraints = Constraints {
            planning: PlanningLimits { atoms: Some(7), refinements: Some(1), ..Default::default() },
            ..Constraints::default()
        };
        let grant = step.expect("a planning step").grant(&constraints);
        (grant.atoms, grant.alternatives, grant.rounds)
    };
    assert_eq!(plan("{}"), (7, 16, 2));
    assert_eq!(plan(r#"{"atoms": 3}"#), (3, 16, 2));
    assert_eq!(plan(r#"{"alternatives": 4, "rounds": 5}"#), (7, 4, 5));
}
