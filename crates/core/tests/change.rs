//! Changes as data: their results, their consequences, and the reasons for refusals.

use std::sync::Arc;

use descent_core::{
    change::{self, Adoption, Change, ChangeRefusal, ConstraintChange, Redirect},
    doc::Node,
    event::Event,
    id::{RequestId, UnixMillis},
    state::{
        Atom, AtomStatus, Body, Extra, Request, State, decode::decode, limits,
        objective::RequestKind,
    },
    step::Refusal,
};
use serde_json::{Value, json};

const NOW: UnixMillis = UnixMillis(1_000);
const GRAPH_REOPENED: &str = "results whose context no longer fits are open again";

/// The consequences of a change, in words.
pub(crate) fn effects_of(made: &Adoption) -> &[String] {
    let effects = made.events.iter().find_map(|event| match event {
        Event::Corrected { effects, .. } => Some(effects.as_slice()),
        _ => None,
    });
    effects.unwrap_or_default()
}

fn state(change: impl Fn(&mut Value)) -> State {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let mut value = json!({
        "version": "3.0", "lineage": "one", "serial": 7, "seal": "",
        "objective": {
            "raw_input": "it", "goal": "it is so", "background_intent": "because",
            "base_case": {"all": [{"command": "test -f done"}]},
            "constraints": {"max_attempts": 2}
        },
        "control": {"stop_requested": false, "redirect_requested": false, "request": null},
        "work_graph": {"atoms": {
            "A": {"kind": "task", "description": "one", "status": "failed", "action": {"run": "false"},
                  "tries": [{"context": digest, "attempts": 2, "ended": "failed", "class": "logical"}]}
        }},
        "bindings": {}, "trail": [], "corrections": [],
        "run": {"id": "r", "status": "running", "epoch": 1, "pass": 2, "attempts_started": 4, "in_flight": []}
    });
    change(&mut value);
    let decoded = decode(crate::whole_records::file(&value).to_string().as_bytes());
    assert_eq!(decoded.faults, Vec::new());
    decoded.state.expect("a state")
}

fn constraint(key: &str, value: Node) -> ConstraintChange {
    let rule = limits::all().into_iter().find(|rule| rule.key == key).expect("a limit");
    ConstraintChange::new(&rule, value).expect("a value")
}

fn constrain(state: &State, changes: &[ConstraintChange]) -> Result<Adoption, ChangeRefusal> {
    change::apply(state, Change::of_constraints(state, changes)?, "ada", NOW)
}

fn stop(kind: RequestKind) -> Request {
    Request {
        id: RequestId::new("q"),
        run: None,
        by: "ada".to_owned(),
        at: "then".to_owned(),
        kind,
        extra: Extra::default(),
    }
}

#[test]
fn a_raised_limit_opens_what_it_ended_and_says_so_by_type() {
    let before = state(|_| ());
    let raised = constrain(&before, &[constraint("max_attempts", Node::uint(3))]).expect("applied");
    assert_eq!(effects_of(&raised), ["what a raised limit had ended is open again"]);
    assert_eq!(raised.state.serial.0, before.serial.0 + 1);
    let task = raised.state.atoms.values().next().and_then(|atom| atom.task());
    assert_eq!(task.map(|task| &task.status), Some(&AtomStatus::Pending));
    assert!(!raised.state.corrections.is_empty());
}

#[test]
fn null_takes_a_constraint_back_and_the_last_of_one_key_counts() {
    let before = state(|_| ());
    let changes =
        [constraint("max_attempts", Node::uint(5)), constraint("max_attempts", Node::null())];
    let back = constrain(&before, &changes).expect("applied");
    assert_eq!(back.state.objective.constraints.max_attempts, None);
}

#[test]
fn a_constraint_that_stands_already_is_no_change_and_the_workspace_of_a_run_is_fixed() {
    let before = state(|_| ());
    let same = constrain(&before, &[constraint("max_attempts", Node::uint(2))]);
    assert!(matches!(same, Err(ChangeRefusal::NoDifference)));
    let other = [constraint("workspace", Node::string("shared"))];
    let moved = constrain(&before, &other);
    assert!(matches!(moved, Err(ChangeRefusal::WorkspaceIsFixed)));
    let unstarted = state(|state| state["run"] = json!({"status": "aligned"}));
    constrain(&unstarted, &other).expect("nothing has begun there");
}

#[test]
fn a_request_changes_nothing_but_what_is_asked_of_the_loop() {
    let before = state(|_| ());
    let asked = change::request(&before, stop(RequestKind::Stop), None, NOW).expect("asked");
    assert!(asked.state.control.stop_requested);
    assert!(asked.touched.control && !asked.touched.run && asked.touched.atoms.is_empty());
    let again = change::request(&asked.state, stop(RequestKind::Stop), None, NOW);
    assert_eq!(again.err(), Some(Refusal::AlreadyAsked));
    change::request(&asked.state, stop(RequestKind::StopNow), None, NOW).expect("it asks for more");
}

#[test]
fn nothing_is_asked_of_a_state_that_does_not_run() {
    let idle = state(|state| state["run"]["status"] = json!("stopped"));
    let asked = change::request(&idle, stop(RequestKind::StopNow), None, NOW);
    assert_eq!(asked.err(), Some(Refusal::NothingRuns));
}

fn with_a_group(state: &mut Value) {
    state["work_graph"]["atoms"]["G"] =
        json!({"kind": "any", "description": "either", "choices": ["B", "C"], "selected": "B"});
    for id in ["B", "C"] {
        state["work_graph"]["atoms"][id] = json!({"kind": "task", "description": id, "status": "pending", "action": {"run": "true"}});
    }
}

#[test]
fn several_changes_are_one_commit_with_a_correction_a_kind() {
    let before = state(with_a_group);
    let limits = [constraint("max_attempts", Node::uint(4))];
    let mut change = Change::of_constraints(&before, &limits).expect("it is read");
    Arc::make_mut(&mut change.state.objective).goal = "it is better".to_owned();
    choose(&mut change.state, "C");
    let failed = change.state.atoms.get_mut("A").map(Arc::make_mut);
    failed.and_then(Atom::task_mut).expect("a task").status = AtomStatus::Pending;
    let made = change::apply(&before, change, "ada", NOW).expect("applied");
    assert_eq!(made.state.serial.0, before.serial.0 + 1);
    assert_eq!(
        effects_of(&made),
        ["the trail is cleared, every failed atom is open again", GRAPH_REOPENED]
    );
    let texts = made.state.corrections.iter();
    let texts: Vec<_> = texts.filter_map(|one| one.data.description.as_deref()).collect();
    assert_eq!(
        texts,
        [
            "goal: it is so → it is better",
            "max_attempts: 2 → 4",
            "changed G: B → C",
            "to be tried again: A"
        ]
    );
    let held = made.state.corrections.iter();
    let held: Vec<usize> = held.map(|one| one.data.changes.len()).collect();
    assert_eq!(held, [1, 0, 1, 0], "each holds its own consequences");
    let group = made.state.atom(&"G".into()).expect("a group");
    assert_eq!(group.selected(), Some(&"C".into()));
}

#[test]
fn an_atom_that_is_taken_away_and_a_result_by_a_person_are_changes() {
    let before = state(with_a_group);
    let mut change = Change::to(before.clone());
    change.state.atoms.remove("A");
    let gone = change::apply(&before, change, "ada", NOW).expect("applied");
    assert!(gone.state.atom(&"A".into()).is_none());
    assert!(gone.touched.atoms.contains("A"));
    assert_eq!(effects_of(&gone), [GRAPH_REOPENED]);
}

#[test]
fn what_stands_already_is_no_change() {
    let before = state(with_a_group);
    let mut change = Change::to(before.clone());
    change.state.objective = Arc::new((*before.objective).clone());
    choose(&mut change.state, "B");
    let same = before.atom(&"C".into()).map(|atom| Arc::new((**atom).clone()));
    change.state.atoms.insert("C".into(), same.expect("an atom"));
    let refused = change::apply(&before, change, "ada", NOW);
    assert!(matches!(refused, Err(ChangeRefusal::NoDifference)));
}

fn choose(state: &mut State, choice: &str) {
    let group = state.atoms.get_mut("G").map(Arc::make_mut);
    let Body::Any { selected, .. } = &mut group.expect("a group").body else {
        unreachable!("a group with choices");
    };
    *selected = Some(choice.into());
}

/// The state without the result of X.
fn forget(before: &State) -> Adoption {
    let forgotten = Redirect { forgotten: vec!["X".into()], ..Redirect::default() };
    let change = forgotten.change(before, "now").expect("a change");
    change::apply(before, change, "ada", NOW).expect("applied")
}

/// X rang a bell outside, once; the result stands.
fn with_an_effect(state: &mut Value) {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    state["bindings"]["X"] = json!({
        "summary": "rung", "attempts": 1, "by": "action", "at": "2026-01-01T00:00:00Z", "context": digest,
        "of": {"kind": "task", "description": "ring", "effect": "external", "status": "pending", "action": {"run": "ring"}}
    });
}

fn undo(now: &State, then: &State) -> State {
    let earlier = change::EarlierState { state: then, has_commit: &|_| true };
    change::undo(now, &earlier, "ada", NOW).expect("something is undone").state
}

fn is_in_doubt(state: &State, id: &str) -> bool {
    let task = state.atoms.get(id).and_then(|atom| atom.task());
    task.is_some_and(|task| matches!(task.status, AtomStatus::InDoubt(_)))
}

#[test]
fn an_effect_that_an_undo_took_away_is_asked_about_when_its_atom_comes_back() {
    for goal in ["it is so", "it is better"] {
        let before = state(|state| state["objective"]["goal"] = json!(goal));
        let added = state(|state| {
            with_an_effect(state);
            let of = state["bindings"]["X"]["of"].take();
            state["bindings"] = json!({});
            state["work_graph"]["atoms"]["X"] = of;
        });
        let done = state(with_an_effect);
        let gone = undo(&done, &before);
        assert!(gone.atom(&"X".into()).is_none());
        let back = undo(&gone, &added);
        assert!(is_in_doubt(&back, "X"), "with the goal `{goal}`");
        // To undo the undo brings the result back.
        let result = undo(&gone, &done);
        assert!(result.bindings.contains_key("X"));
    }
}

#[test]
fn the_result_of_an_effect_outside_that_a_person_takes_out_leaves_it_in_doubt() {
    let before = state(with_an_effect);
    let forgotten = forget(&before);
    let doubted = "in doubt, and not made again before `descent confirm` says so: X".to_owned();
    assert!(effects_of(&forgotten).contains(&doubted), "the person is told");
    let forgotten = forgotten.state;
    assert!(is_in_doubt(&forgotten, "X"));
    assert_eq!(descent_core::world::earlier::doubts(&forgotten).len(), 1);
}

#[test]
fn a_word_on_a_doubt_that_is_undone_is_asked_for_again() {
    let before = state(with_an_effect);
    let doubtful = forget(&before).state;
    let attempt = &descent_core::world::earlier::doubts(&doubtful)[0].attempt;
    let word = change::Resolution::Done(None);
    let told = change::resolve(&doubtful, attempt, word, "ada", NOW).expect("applied").state;
    assert!(!is_in_doubt(&told, "X"));
    assert!(is_in_doubt(&undo(&told, &doubtful), "X"));
}

#[test]
fn a_correction_of_an_unknown_type_is_carried() {
    let odd = state(|state| state["corrections"] = json!([{"id": "c1", "type": "odd", "x": 1}]));
    assert_eq!(odd.corrections.len(), 1);
}

#[test]
fn a_doubt_of_another_goal_gets_a_number_of_its_own_in_the_trail_that_comes_back() {
    let entry = |kind: &str, atom: &str| {
        json!({"n": 1, "type": kind, "at": "then", "atom": atom, "attempt": format!("{atom}.1"),
               "class": "logical", "started": "then", "reason": "it broke"})
    };
    let atom = |status: &str| {
        json!({"description": "ring", "effect": "external", "status": status, "because": "E1.1",
               "action": {"run": "ring"}})
    };
    let now = state(|now| {
        now["run"]["status"] = json!("stopped");
        now["objective"]["goal"] = json!("another");
        now["work_graph"]["atoms"]["E1"] = atom("in_doubt");
        now["trail"] = json!([entry("in_doubt", "E1")]);
    });
    let then = state(|then| {
        then["serial"] = json!(3);
        then["work_graph"]["atoms"]["E1"] = atom("pending");
        then["run"]["status"] = json!("stopped");
        then["trail"] = json!([entry("failure", "E1")]);
    });
    let earlier = change::EarlierState { state: &then, has_commit: &|_| false };
    let back = change::undo(&now, &earlier, "ada", NOW);
    let back = back.expect("a change").state;
    let numbers: Vec<u64> = back.trail.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [1, 2]);
    let text = descent_core::state::encode::StateText::of(&back).text(&back);
    assert_eq!(decode(text.as_bytes()).faults, Vec::new());
}
