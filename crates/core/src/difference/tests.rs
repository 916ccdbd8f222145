//! Totality: whatever is changed in a state has words, and a patch that makes the very state.

use super::*;
use crate::doc::prelude::*;
use crate::{
    doc::{Member, Value},
    state::{
        Action, Atom,
        decode::decode,
        encode::{ChangeSet, StateText},
        patch::Patch,
    },
};

/// A state in which every kind of record stands.
fn rich() -> State {
    let text = crate::whole_records::file_of(include_str!("tests/rich.json"));
    let decoded = decode(text.as_bytes());
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    let mut state = decoded.state.expect("a state");
    state.seal = Some(StateText::of(&state).seal(&state));
    state
}

/// The state with one value of its text changed; `None` where that is no state any more.
fn changed(state: &State, at: usize, way: Way) -> Option<State> {
    let text = StateText::of(state).text(state);
    let mut root = decode(text.as_bytes()).root?;
    let mut left = at;
    change(&mut root, &mut left, way)?;
    let decoded = decode(doc::write(&root).as_bytes());
    decoded.faults.is_empty().then_some(decoded.state).flatten()
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Other,
    Gone,
}

/// Changes the `left`-th value below; `Some` when it was found.
fn change(node: &mut Node, left: &mut usize, way: Way) -> Option<()> {
    let members = match &mut node.value {
        Value::Object(members) => members,
        Value::Array(items) => {
            return items.iter_mut().find_map(|item| visit(item, left, way));
        }
        _ => return None,
    };
    if way == Way::Gone {
        for at in 0..members.len() {
            if *left == 0 {
                members.remove(at);
                return Some(());
            }
            *left -= 1;
            if change(&mut members[at].node, left, way).is_some() {
                return Some(());
            }
        }
        return None;
    }
    members.iter_mut().find_map(|Member { node, .. }| visit(node, left, way))
}

fn visit(node: &mut Node, left: &mut usize, way: Way) -> Option<()> {
    if *left > 0 {
        *left -= 1;
        return change(node, left, way);
    }
    let other = match &node.value {
        Value::Null => Value::Bool(true),
        Value::Bool(is) => Value::Bool(!is),
        Value::Number(text) => Value::Number(format!("{text}1")),
        Value::String(text) => Value::String(text.clone() + "x"),
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) => Value::Array(items[1..].to_vec()),
        Value::Object(_) => return change(node, left, way),
    };
    node.value = other;
    Some(())
}

/// The content of a state, without serial and seal, in whatever order keys stand.
fn content(state: &State) -> String {
    let mut state = state.clone();
    state.serial = crate::id::Serial(0);
    let text = StateText::of(&state).text(&state);
    let mut root = decode(text.as_bytes()).root.expect("a tree");
    if let Value::Object(members) = &mut root.value {
        let internal = members.iter_mut().find(|member| member.key == "internal");
        if let Some(Value::Object(members)) = internal.map(|internal| &mut internal.node.value) {
            members.retain(|member| member.key != "seal");
        }
    }
    doc::canonical(&root)
}

#[test]
fn no_change_of_a_state_is_without_words() {
    let before = rich();
    let values = 400;
    let mut tried = 0;
    for (at, way) in (0..values).flat_map(|at| [(at, Way::Other), (at, Way::Gone)]) {
        let Some(after) = changed(&before, at, way) else {
            continue;
        };
        let differs = content(&before) != content(&after);
        let (found, back) = (difference(&before, &after), difference(&after, &before));
        assert_eq!(differs, !found.is_empty(), "value {at}: {found:?}");
        assert_eq!(differs, !back.is_empty(), "value {at}: {back:?}");
        tried += usize::from(differs);
    }
    assert!(tried > 150, "only {tried} changes were tried");
}

#[test]
fn a_patch_makes_the_very_state() {
    let before = rich();
    for (at, way) in (0..400).flat_map(|at| [(at, Way::Other), (at, Way::Gone)]) {
        let Some(mut after) = changed(&before, at, way) else {
            continue;
        };
        let beside = |state: &State| {
            let extras = (state.extra.clone(), state.work_graph_extra.clone());
            (state.lineage.clone(), state.version, extras)
        };
        if beside(&before) != beside(&after) {
            // No transition changes these: a whole state is kept where they do.
            continue;
        }
        after.serial = crate::id::Serial(before.serial.0 + 1);
        after.seal = Some(StateText::of(&after).seal(&after));
        let mut touched = ChangeSet::all(&after);
        touched.atoms.extend(before.atoms.keys().cloned());
        touched.bindings.extend(before.bindings.keys().cloned());
        let patch = Patch::between(&before, &after, &touched);
        let text = serde_json::to_string(&patch).expect("JSON");
        let patch: Patch = serde_json::from_str(&text).expect("a patch");
        let made = patch.apply(&before).expect("made for this state");
        assert_eq!(
            StateText::of(&made).text(&made),
            StateText::of(&after).text(&after),
            "value {at}"
        );
        assert!(patch.apply(&after).is_none(), "a patch fits its own state alone");
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut State), words_are: &str) {
    let before = rich();
    let mut after = before.clone();
    change(&mut after);
    assert_eq!(words(&difference(&before, &after)), words_are);
}

#[test]
fn the_words_say_what_matters_first() {
    check(
        |state| {
            let atom = state.atoms.remove("short").expect("an atom");
            let mut binding = (**state.bindings.values().next().expect("a binding")).clone();
            binding.of = atom;
            state.bindings.insert("short".into(), Arc::new(binding));
            let group = Arc::make_mut(state.atoms.get_mut("translate").expect("a group"));
            if let crate::state::Body::Any { selected, .. } = &mut group.body {
                *selected = Some("polite".into());
            }
            let run = Arc::make_mut(&mut state.run);
            run.iteration += 1;
            let measure = run.measure.as_mut().expect("a measure");
            measure.attempts = Some(String::from("3").into());
        },
        "short solved; translate: short → polite; 3 attempts left",
    );
}

#[test]
fn atoms_of_which_the_same_is_said_are_told_together() {
    check(
        |state| {
            let ids: Vec<AtomId> = state.atoms.keys().cloned().collect();
            for id in ids {
                if state.atoms.get(&id).is_some_and(|atom| atom.task().is_some()) {
                    state.atoms.remove(&id);
                }
            }
        },
        "polite, short removed",
    );
}

#[test]
fn two_plans_differ_by_their_tasks_whatever_their_ids() {
    let state = rich();
    let mut tasks = state.atoms.values().filter(|atom| atom.task().is_some());
    let one: &Atom = tasks.next().expect("a task");
    let mut other = one.clone();
    let task = other.task_mut().expect("a task");
    Arc::make_mut(&mut task.spec).action =
        Some(Action { run: "make other".into(), transient: None, extra: Extra::default() });
    let mut third = other.clone();
    third.description = "a third".into();
    assert_eq!(of_plans(&[one], &[one]), "");
    assert_eq!(of_plans(&[one, &third], &[&third, one]), "");
    assert_eq!(of_plans(&[one], &[one, &third]), "new: a third");
    assert_eq!(of_plans(&[one, &third], &[one]), "gone: a third");
    let told = of_plans(&[one, &third], &[&other, &third]);
    assert!(told.starts_with("changed: "), "{told}");
    assert!(told.ends_with("→ make other)"), "{told}");
    let mut checked = one.clone();
    let task = checked.task_mut().expect("a task");
    Arc::make_mut(&mut task.spec).checks = Some(Check::command("test -e other"));
    let told = of_plans(&[one], &[&checked]);
    assert!(told.ends_with(" (other checks)"), "{told}");
}
