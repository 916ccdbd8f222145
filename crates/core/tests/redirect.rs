//! A redirect: words and names become typed changes, or faults, and one commit that ends what is in flight.

mod plans;
mod requests;
mod starts;

use std::collections::BTreeMap;

use descent_core::{
    change::{self, Adoption, ChangeRefusal, Redirect},
    doc::{Fault, Node},
    id::{AtomId, UnixMillis},
    plan,
    proposal::ProposalReading,
    state::{AtomStatus, State, decode::decode, encode::StateText},
    step,
    world::World,
};
use serde_json::{Value, json};

const NOW: UnixMillis = UnixMillis(1_000);
const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn action(run: &str) -> Value {
    json!({"kind": "task", "description": run, "status": "pending", "action": {"run": run}})
}

/// `way` is `left` or `right`; `end` waits for it; `made` is solved; `failed` has failed.
fn state(change: impl Fn(&mut Value)) -> State {
    let mut failed = action("false");
    failed["status"] = json!("failed");
    failed["tries"] =
        json!([{"context": DIGEST, "attempts": 2, "ended": "failed", "class": "logical"}]);
    let mut end = action("finish");
    end["depends_on"] = json!(["way"]);
    let mut value = json!({
        "version": "3.0", "lineage": "one", "serial": 7, "seal": "",
        "objective": {
            "raw_input": "it", "goal": "it is so", "background_intent": "because",
            "deliverables": "The project, changed so that: `test -f done` passes",
            "definition_of_done": "when I say so",
            "base_case": {"all": [{"command": "test -f done"}]},
            "constraints": {"max_attempts": 2}
        },
        "control": {"stop_requested": false, "redirect_requested": false, "request": null},
        "work_graph": {"atoms": {
            "way": {"kind": "any", "description": "either", "choices": ["left", "right"], "selected": "left"},
            "left": action("go left"), "right": action("go right"), "end": end, "failed": failed
        }},
        "bindings": {"made": {
            "summary": "it is there", "attempts": 1, "by": "action", "at": "2026-01-01T00:00:00Z",
            "context": DIGEST, "of": action("make")
        }},
        "trail": [], "corrections": [],
        "run": {
            "id": "r", "status": "running", "epoch": 3, "pass": 2, "attempts_started": 4,
            "in_flight": [{"id": "left.4", "atom": "left", "context": DIGEST, "epoch": 3, "n": 1,
                           "at": "2026-01-01T00:00:00Z"}]
        }
    });
    change(&mut value);
    let decoded = decode(crate::whole_records::file(&value).to_string().as_bytes());
    assert_eq!(decoded.faults, Vec::new());
    decoded.state.expect("a state")
}

fn id(name: &str) -> AtomId {
    AtomId::new(name)
}

fn try_redirect(before: &State, redirect: &Redirect) -> Result<Adoption, ChangeRefusal> {
    change::redirect(before, redirect, Some("it was wrong"), "ada", NOW)
}

#[track_caller]
fn redirected(before: &State, redirect: &Redirect) -> Adoption {
    let made = try_redirect(before, redirect).expect("a redirect");
    let text = |state: &State| StateText::of(state).text(state);
    let written = text(&made.state);
    let read = decode(written.as_bytes());
    assert_eq!(read.faults, Vec::new());
    assert_eq!(text(&read.state.expect("a state")), written, "read as written");
    made
}

#[track_caller]
fn faults(before: &State, redirect: &Redirect) -> Vec<Fault> {
    let refused = try_redirect(before, redirect).expect_err("faults");
    let faults = match &refused {
        ChangeRefusal::Invalid(faults) => Some(faults.clone()),
        _ => None,
    };
    faults.unwrap_or_else(|| unreachable!("{refused}"))
}

fn atoms(text: &Value) -> Redirect {
    let node = descent_core::doc::parse(&text.to_string(), &Default::default());
    let read = plan::atoms_of_tree(node);
    assert_eq!(read.faults, Vec::new());
    Redirect { atoms: read.atoms, ..Redirect::default() }
}

fn descriptions(state: &State) -> Vec<String> {
    let corrections = state.corrections.iter();
    corrections.filter_map(|one| one.data.description.clone()).collect()
}

#[test]
fn every_part_of_a_redirect_is_made_in_one_commit_with_a_correction_a_kind() {
    let before = state(|_| ());
    let made = redirected(
        &before,
        &Redirect {
            goal: Some("it is better".to_owned()),
            selected: choice("way", "right"),
            results: BTreeMap::from([(id("made"), "another".to_owned())]),
            retried: vec![id("failed")],
            ..Redirect::default()
        },
    );
    assert_eq!(made.state.serial.0, before.serial.0 + 1);
    assert_eq!(
        descriptions(&made.state),
        [
            "goal: it is so → it is better (it was wrong)",
            "result of made: it is there → another",
            "changed way: left → right",
        ],
        "the objective opened what had failed already"
    );
    let reasons = made.state.corrections.iter();
    let reasons: Vec<_> = reasons.map(|one| one.data.reason.as_deref()).collect();
    assert_eq!(reasons, [Some("it was wrong"); 3]);
    assert_eq!(made.state.objective.goal, "it is better");
    let binding = made.state.bindings.get(&id("made")).expect("a result");
    assert_eq!((binding.summary.as_str(), binding.by.as_str()), ("another", "person"));
}

#[test]
fn with_now_all_that_is_in_flight_ends_and_the_epoch_rises() {
    let before = state(|_| ());
    let retried = vec![id("failed")];
    let redirect = Redirect { retried, interrupts: true, ..Redirect::default() };
    let made = redirected(&before, &redirect);
    assert!(made.state.run.in_flight.is_empty());
    assert!(made.state.run.epoch > before.run.epoch);
    assert_eq!(
        crate::change::effects_of(&made),
        ["what is in flight ends, and costs no attempt: left"]
    );
    let left = made.state.atom(&id("left")).and_then(|atom| atom.task());
    assert_eq!(left.map(|task| task.interruptions), Some(0), "it costs nothing");
    let failed = made.state.atom(&id("failed")).and_then(|atom| atom.task());
    let failed = failed.expect("a task");
    assert_eq!(failed.status, AtomStatus::Pending);
    assert!(failed.tries.iter().all(|tried| !tried.has_failed() && tried.attempts == 0));
    assert_eq!(descriptions(&made.state), ["to be tried again: failed (it was wrong)"]);
}

#[test]
fn an_effect_that_may_happen_once_only_is_in_doubt_when_a_redirect_cuts_it_off() {
    let before = state(|state| {
        state["work_graph"]["atoms"]["left"]["effect"] = json!("external");
        state["run"]["in_flight"][0]["effect"] = json!("external");
    });
    let redirect = Redirect { goal: Some("it is better".to_owned()), ..Redirect::default() };
    let made = redirected(&before, &redirect);
    let left = made.state.atom(&id("left")).and_then(|atom| atom.task());
    let left = left.map(|task| &task.status);
    assert!(matches!(left, Some(AtomStatus::InDoubt(_))), "{left:?}");
}

#[test]
fn a_choice_that_is_made_again_leaves_an_effect_below_it_in_doubt() {
    let before = state(|state| {
        let atoms = &mut state["work_graph"]["atoms"];
        atoms["way"]["selected"] = json!("right");
        atoms["left"]["effect"] = json!("external");
        atoms["left"]["tries"] = atoms["failed"]["tries"].clone();
        state["run"]["in_flight"][0]["effect"] = json!("external");
        state["run"]["in_flight"][0]["context"] = json!(DIGEST.replace('5', "6"));
    });
    let redirect = Redirect { selected: choice("way", "left"), ..Redirect::default() };
    let made = redirected(&before, &redirect);
    assert_eq!(descriptions(&made.state), ["changed way: right → left (it was wrong)"]);
    let state = step::in_line(&World::new(made.state), NOW).expect("a state");
    let left = state.atom(&id("left")).and_then(|atom| atom.task());
    let left = left.map(|task| &task.status);
    assert!(matches!(left, Some(AtomStatus::InDoubt(_))), "{left:?}");
}

#[test]
fn a_redirect_that_changes_nothing_ends_nothing() {
    let before = state(|_| ());
    let redirect = Redirect {
        goal: Some("it is so".to_owned()),
        selected: choice("way", "left"),
        ..Redirect::default()
    };
    let refused = try_redirect(&before, &redirect);
    assert!(matches!(refused, Err(ChangeRefusal::NoDifference)));
}

#[test]
fn all_faults_of_a_redirect_are_told_at_once_with_places_and_suggestions() {
    let before = state(|_| ());
    let mut redirect = atoms(&json!({"work_graph": {"atoms": {"end": action("again")}}}));
    redirect.into = Some(id("made"));
    redirect.removed = vec![id("nobody")];
    redirect.selected = choice("way", "rihgt");
    redirect.results = BTreeMap::from([(id("left"), "x".repeat(70_000))]);
    redirect.forgotten = vec![id("left")];
    redirect.retried = vec![id("made"), id("way"), id("faield")];
    let told: Vec<(String, String)> = faults(&before, &redirect)
        .into_iter()
        .map(|fault| (fault.pointer, fault.message))
        .collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(at, what)| (&**at, &**what)).collect();
    assert_eq!(
        told,
        [
            ("/work_graph/atoms/nobody", "no atom is named nobody"),
            ("/work_graph/atoms/left", "left has no result"),
            ("/bindings/left", "the result of left has 70000 bytes, the limit is 65536"),
            ("/work_graph/atoms/end", "there is an atom end already"),
            ("/work_graph/atoms/made", "made is solved"),
            ("/work_graph/atoms/way", "rihgt is no choice of way"),
            ("/work_graph/atoms/made", "made is solved"),
            ("/work_graph/atoms/way", "way is a group, and does not fail itself"),
            ("/work_graph/atoms/faield", "no atom is named faield"),
        ]
    );
    let hints = faults(&before, &redirect);
    let hints: Vec<&str> = hints.iter().filter_map(|one| one.hint.as_deref()).collect();
    assert!(hints.contains(&"did you mean `failed`?"), "{hints:?}");
    assert!(hints.contains(&"did you mean `right`?"), "{hints:?}");
}

fn choice(group: &str, choice: &str) -> BTreeMap<AtomId, AtomId> {
    BTreeMap::from([(id(group), id(choice))])
}

#[test]
fn atoms_that_a_redirect_takes_out_are_named_by_nothing_else_of_it() {
    let before = state(|_| ());
    let mut redirect = atoms(&json!({"work_graph": {"atoms": {"new": action("new")}}}));
    redirect.into = Some(id("way"));
    redirect.removed = vec![id("way")];
    redirect.selected = choice("way", "left");
    redirect.retried = vec![id("left")];
    let told = faults(&before, &redirect);
    let told: Vec<&str> = told.iter().map(|fault| &*fault.message).collect();
    assert_eq!(
        told,
        [
            "end waits for way",
            "way is taken out by this redirect",
            "way is taken out by this redirect",
            "left is taken out by this redirect",
        ]
    );
    let gone = Redirect {
        removed: vec![id("left")],
        selected: choice("way", "left"),
        ..Redirect::default()
    };
    let told = faults(&before, &gone);
    let told: Vec<&str> = told.iter().map(|fault| &*fault.message).collect();
    assert_eq!(told, ["left is no choice of way"]);
}

#[test]
fn a_part_of_a_new_atom_is_no_choice_of_the_group_that_gets_it() {
    let before = state(|_| ());
    let nested = json!({"work_graph": {"atoms": {
        "middle": {"description": "through", "parts": {"a": action("a"), "b": action("b")}}
    }}});
    let mut redirect = atoms(&nested);
    redirect.into = Some(id("way"));
    redirect.selected = choice("way", "a");
    let told = faults(&before, &redirect);
    let told: Vec<&str> = told.iter().map(|fault| &*fault.message).collect();
    assert_eq!(told, ["a is no choice of way"]);
}

#[test]
fn new_atoms_that_wait_for_one_another_in_a_circle_are_refused_with_their_place() {
    let before = state(|_| ());
    let mut one = action("one");
    one["depends_on"] = json!(["two"]);
    let mut two = action("two");
    two["depends_on"] = json!(["one"]);
    let redirect = atoms(&json!({"work_graph": {"atoms": {"one": one, "two": two}}}));
    let told = faults(&before, &redirect);
    let pointers: Vec<&str> = told.iter().map(|fault| &*fault.pointer).collect();
    assert!(pointers.iter().any(|at| at.starts_with("/work_graph/atoms/")), "{told:?}");
}

#[test]
fn topmost_new_atoms_become_the_last_choices_of_a_group() {
    let before = state(|_| ());
    let nested = json!({"work_graph": {"atoms": {
        "middle": {"description": "through", "parts": {"a": action("a"), "b": action("b")}}
    }}});
    let mut redirect = atoms(&nested);
    redirect.into = Some(id("way"));
    redirect.selected = choice("way", "middle");
    let made = redirected(&before, &redirect);
    let way = made.state.atom(&id("way")).expect("a group");
    assert_eq!(way.kids(), [id("left"), id("right"), id("middle")]);
    assert_eq!(way.selected(), Some(&id("middle")));
    assert!(made.state.atom(&id("b")).is_some());
}

#[test]
fn a_solved_atom_that_is_removed_does_not_come_back_as_an_open_one() {
    let before = state(|_| ());
    let redirect = Redirect { removed: vec![id("made"), id("left")], ..Redirect::default() };
    let made = redirected(&before, &redirect);
    assert!(made.state.atom(&id("made")).is_none());
    let way = made.state.atom(&id("way")).expect("a group");
    assert_eq!((way.kids(), way.selected()), (&[id("right")][..], None));
    let forgotten = Redirect { forgotten: vec![id("made")], ..Redirect::default() };
    let opened = redirected(&before, &forgotten);
    assert!(opened.state.atoms.contains_key(&id("made")));
}

#[test]
fn a_group_does_not_lose_its_last_part() {
    let before = state(|_| ());
    let redirect = Redirect { removed: vec![id("left"), id("right")], ..Redirect::default() };
    let told = faults(&before, &redirect);
    let told: Vec<&str> = told.iter().map(|fault| &*fault.message).collect();
    assert_eq!(told, ["nothing would be left of the group"]);
}

#[test]
fn a_redirect_of_more_changes_than_the_limit_is_refused() {
    let before = state(|_| ());
    let redirect = Redirect {
        removed: (0..=change::CHANGES_MAX).map(|n| id(&format!("a{n}"))).collect(),
        ..Redirect::default()
    };
    let told = faults(&before, &redirect);
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("the limit is 1000"), "{told:?}");
}

#[test]
fn an_atom_whose_effect_outside_may_have_happened_is_not_tried_again() {
    let before = state(|state| {
        state["work_graph"]["atoms"]["left"]["effect"] = json!("external");
        state["run"]["in_flight"][0]["effect"] = json!("external");
    });
    let retried = Redirect { retried: vec![id("left")], ..Redirect::default() };
    let refused = try_redirect(&before, &retried);
    assert!(matches!(refused, Err(ChangeRefusal::NoDifference)), "its attempt goes on");
}

fn proposed(text: &str, may_ask: bool) -> ProposalReading<(Redirect, Option<Node>)> {
    let parsed = descent_core::doc::parse(text, &Default::default());
    Redirect::proposed(&parsed.node.expect("JSON"), may_ask)
}

#[test]
fn a_proposed_change_names_what_is_another_and_one_of_nothing_is_a_fault() {
    let text =
        r#"{"checks": ["make test"], "remove": ["A1"], "select": {"g": "c2"}, "goal": null}"#;
    let ((read, _), _) = proposed(text, true).expect("it is good");
    assert_eq!((read.checks, read.removed), (vec!["make test".to_owned()], vec![id("A1")]));
    assert_eq!(read.selected[&id("g")], id("c2"));
    assert_eq!(read.goal, None);
    let none = proposed("{}", true).expect_err("nothing");
    assert_eq!(none, ["it changes nothing, and asks nothing"]);
    let asks = r#"{"questions": [{"question": "which?", "why": "two"}]}"#;
    assert_eq!(proposed(asks, true).expect("a question").1.len(), 1);
    assert!(proposed(asks, false).is_err());
}
