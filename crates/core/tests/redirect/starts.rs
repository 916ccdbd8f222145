//! Another start: failures and refutations are forgotten, results are carried, and what happened outside stays.

use descent_core::{
    change::{self, Change, ChangeRefusal, ConstraintChange, EarlierState, Redirect},
    doc,
    id::{CommitId, TreeId},
    state::{AtomStatus, StartedFrom, State, fields::Extra, limits, record::CorrectionType},
};
use serde_json::{Value, json};

use super::{DIGEST, NOW, action, descriptions, id, redirected, state};

fn start(name: &str) -> StartedFrom {
    StartedFrom {
        commit: CommitId::new(name),
        tree: TreeId::new(format!("tree of {name}")),
        head: CommitId::new(name),
        branch: None,
        dirty: false,
        extra: Extra::default(),
    }
}

fn bound(run: &str, commit: &str) -> Value {
    let mut of = action(run);
    of["tries"] = json!([{"context": DIGEST, "attempts": 1, "repairs": 2}]);
    json!({
        "summary": "it is there", "attempts": 1, "by": "action", "at": "2026-01-01T00:00:00Z",
        "commit": commit, "context": DIGEST, "inputs": DIGEST, "of": of
    })
}

/// A run from `old` with results, a failure, an effect outside and a refuted selection.
fn begun() -> State {
    state(|state| {
        state["run"]["started_from"] =
            json!({"commit": "old", "tree": "tree of old", "head": "old", "dirty": false});
        state["run"]["head"] = json!("c2");
        state["run"]["line"] =
            json!([{"atom": "made", "commit": "c1"}, {"atom": "rung", "commit": "c2"}]);
        state["run"]["delivered"] = json!("c1");
        state["run"]["agreed"] = json!({"tree": "tree of old", "failed": ["test -f done"]});
        state["run"]["verdicts"] = json!([{
            "serial": 3, "commit": "c1", "tree": "t1", "held": 0, "of": 1, "d": "1", "pristine": true, "choices": {}
        }]);
        state["trail"] = json!([{
            "type": "refuted", "at": "2026-01-01T00:00:00Z", "serial": 3, "pass": 1,
            "conflict": {"way": "left"}, "context": DIGEST, "files": [], "evidence": []
        }]);
        let mut rung = bound("ring", "c2");
        rung["of"]["effect"] = json!("external");
        state["bindings"]["rung"] = rung;
        state["bindings"]["made"] = bound("make", "c1");
        state["bindings"]["there"] = bound("was there already", "old");
    })
}

fn moved(before: &State) -> State {
    let redirect = Redirect { start: Some(start("new")), ..Redirect::default() };
    redirected(before, &redirect).state
}

#[test]
fn another_start_forgets_failures_and_refutations_and_gives_repairs_back() {
    let before = begun();
    assert!(before.trail.iter().any(|entry| entry.refuted().is_some()));
    let after = moved(&before);
    assert!(!after.trail.iter().any(|entry| entry.refuted().is_some()));
    let failed = after.atom(&id("failed")).and_then(|atom| atom.task());
    let failed = failed.expect("a task");
    assert_eq!(failed.status, AtomStatus::Pending);
    assert_eq!(failed.tries[0].attempts, 0);
    let repairs =
        |name: &str| after.bindings.get(name)?.of.task()?.tries.first().map(|one| one.repairs);
    assert_eq!((repairs("made"), repairs("rung")), (Some(0), Some(0)));
    let kinds: Vec<_> = after.corrections.iter().map(|one| one.data.kind).collect();
    assert_eq!(kinds, [Some(CorrectionType::StartChange)]);
    assert_eq!(descriptions(&after), ["the start moved from old to new (it was wrong)"]);
}

#[test]
fn the_tree_begins_at_the_new_start_and_the_agreed_baseline_stays() {
    let before = begun();
    let after = moved(&before);
    let run = &after.run;
    assert_eq!(run.started_from.as_ref(), Some(&start("new")));
    assert_eq!(run.head, Some(CommitId::new("new")));
    assert!(run.line.is_empty() && run.verdicts.is_empty() && run.delivered.is_none());
    let agreed = |state: &State| state.run.agreed.as_ref().map(|one| one.tree.clone());
    assert_eq!(agreed(&after), agreed(&before));
    let commit = |name: &str| after.bindings.get(name).expect("a result").commit.clone();
    assert_eq!(commit("made"), Some(CommitId::new("c1")), "it is tried on the new start");
    assert_eq!(commit("there"), None, "its change was in the start, not in the result");
}

#[test]
fn what_happened_outside_is_settled_whatever_its_inputs_become() {
    let after = moved(&begun());
    let inputs = |name: &str| after.bindings.get(name).expect("a result").inputs.is_some();
    assert!(inputs("made") && !inputs("rung"));
}

#[test]
fn the_same_start_is_no_change() {
    let before = begun();
    let redirect = Redirect { start: Some(start("old")), ..Redirect::default() };
    let refused = change::redirect(&before, &redirect, None, "ada", NOW);
    assert!(matches!(refused, Err(ChangeRefusal::NoDifference)));
}

#[test]
fn an_undo_goes_back_to_the_earlier_start_with_what_was_refuted_there() {
    let before = begun();
    let after = moved(&before);
    let back = |has_commit: &dyn Fn(&CommitId) -> bool| {
        let earlier = EarlierState { state: &before, has_commit };
        change::undo(&after, &earlier, "ada", NOW).expect("an undo").state
    };
    let undone = back(&|_| true);
    assert_eq!(undone.run.started_from, before.run.started_from);
    assert_eq!(
        (undone.run.head.clone(), undone.run.line.len()),
        (Some(CommitId::new("old")), 0),
        "the result is made again, for what happened outside stays"
    );
    assert!(undone.trail.iter().any(|entry| entry.refuted().is_some()));

    let lost = back(&|commit| commit.as_str() != "old");
    assert_eq!(lost.run.started_from, after.run.started_from, "git holds it no more");
    assert_eq!(lost.run.head, after.run.head);
    assert!(!lost.trail.iter().any(|entry| entry.refuted().is_some()));
}

#[test]
fn a_tree_with_a_result_that_is_undone_or_asked_for_in_another_way_is_not_delivered() {
    let then = state(|_| ());
    let now = begun();
    assert_eq!(now.run.verdicts.len(), 1);
    let earlier = EarlierState { state: &then, has_commit: &|_| true };
    let undone = change::undo(&now, &earlier, "ada", NOW).expect("an undo");
    assert!(undone.state.run.verdicts.is_empty());

    // The kept verdict is on a tree with the choice `left`.
    let mut now = now;
    for name in ["left", "right"] {
        let mut bound = now.bindings.get(&id("made")).expect("a result").as_ref().clone();
        bound.of = now.atoms.remove(&id(name)).expect("an atom");
        now.bindings.insert(id(name), std::sync::Arc::new(bound));
    }
    std::sync::Arc::make_mut(&mut now.run).verdicts[0].choices = [(id("way"), id("left"))].into();
    let asked_anew = |name: &str| {
        let mut atom = now.atom(&id(name)).expect("an atom").as_ref().clone();
        let spec = atom.task_mut().map(|task| std::sync::Arc::make_mut(&mut task.spec));
        spec.expect("a task").action = None;
        let mut wanted = now.clone();
        let result = wanted.bindings.get_mut(&id(name)).map(std::sync::Arc::make_mut);
        result.expect("a result").of = std::sync::Arc::new(atom);
        let changed = change::apply(&now, Change::to(wanted), "ada", NOW).expect("a change");
        changed.state.run.verdicts.len()
    };
    assert_eq!(["made", "left", "right"].map(asked_anew), [0, 0, 1]);
}

/// A step that failed without the file that `setup` makes, or without the link, may succeed with it.
#[test]
fn another_setup_forgets_refutations_and_opens_what_failed() {
    for (key, value) in [("setup.run", json!("make it")), ("link", json!(["data"]))] {
        let before = begun();
        let rule = limits::all().into_iter().find(|rule| rule.key == key).expect("a constraint");
        let value = doc::parse_bytes(value.to_string().as_bytes(), &doc::Limits::default()).node;
        let change = ConstraintChange::new(&rule, value.expect("a value")).expect("it fits");
        let change = Change::of_constraints(&before, &[change]).expect("it is read");
        let after = change::apply(&before, change, "ada", NOW).expect("a change").state;
        assert!(!after.trail.iter().any(|entry| entry.refuted().is_some()), "{key}");
        let failed = after.atom(&id("failed")).and_then(|atom| atom.task());
        assert_eq!(failed.expect("a task").status, AtomStatus::Pending, "{key}");
        assert_eq!(after.run.verdicts.len(), 1, "{key}");
    }
}
