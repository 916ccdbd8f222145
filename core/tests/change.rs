//! Changes as data: their results, their consequences, and the reasons for refusals.

use descent_core::{
    change::{self, Change, ChangeRefusal, ConstraintChange},
    doc::Node,
    id::{RequestId, UnixMillis},
    state::{AtomStatus, Extra, Request, State, decode::decode, limits, objective::RequestKind},
    step::{
        Refusal,
        correct::{Adoption, Consequence},
    },
};
use serde_json::{Value, json};

const NOW: UnixMillis = UnixMillis(1_000);

fn state(change: impl Fn(&mut Value)) -> State {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let mut value = json!({
        "version": "2.0", "lineage": "one", "serial": 7, "seal": "",
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
    let decoded = decode(value.to_string().as_bytes());
    assert_eq!(decoded.faults, Vec::new());
    decoded.state.expect("a state")
}

fn constraint(key: &str, value: Node) -> ConstraintChange {
    let rule = limits::all()
        .into_iter()
        .find(|rule| rule.key == key)
        .expect("a limit");
    ConstraintChange::new(&rule, value).expect("a value")
}

fn constrain(state: &State, changes: &[ConstraintChange]) -> Result<Adoption, ChangeRefusal> {
    change::apply(state, &Change::Constraints(changes), "ada", NOW)
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
    assert_eq!(raised.effects, [Consequence::LimitReopened]);
    assert_eq!(raised.state.serial.0, before.serial.0 + 1);
    let task = raised
        .state
        .atoms
        .values()
        .next()
        .and_then(|atom| atom.task());
    assert_eq!(task.map(|task| &task.status), Some(&AtomStatus::Pending));
    assert!(!raised.state.corrections.is_empty());
}

#[test]
fn null_takes_a_constraint_back_and_the_last_of_one_key_counts() {
    let before = state(|_| ());
    let changes = [
        constraint("max_attempts", Node::uint(5)),
        constraint("max_attempts", Node::null()),
    ];
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
    let asked = change::request(&before, stop(RequestKind::Stop), None).expect("asked");
    assert!(asked.state.control.stop_requested);
    assert!(asked.touched.control && !asked.touched.run && asked.touched.atoms.is_empty());
    let again = change::request(&asked.state, stop(RequestKind::Stop), None);
    assert_eq!(again.err(), Some(Refusal::AlreadyAsked));
    change::request(&asked.state, stop(RequestKind::StopNow), None).expect("it asks for more");
}

#[test]
fn nothing_is_asked_of_a_state_that_does_not_run() {
    let idle = state(|state| state["run"]["status"] = json!("stopped"));
    let asked = change::request(&idle, stop(RequestKind::StopNow), None);
    assert_eq!(asked.err(), Some(Refusal::NothingRuns));
}
