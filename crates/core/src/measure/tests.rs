//! Counts of the measure on small graphs.

use super::*;
use crate::doc::prelude::*;
use crate::state::run::DecimalText;
use crate::{
    id::Lineage,
    plan,
    state::{FailureClass, TryEnd},
    world::World,
};

fn state(atoms: &str) -> State {
    let text = format!(
        r#"{{"objective": {{"constraints": {{"max_attempts": 2}}}}, "work_graph": {{"atoms": {{{atoms}}}}}}}"#
    );
    let plan = plan::read(text.as_bytes());
    assert!(plan.faults.is_empty(), "{:?}", plan.faults);
    plan.into_state(Lineage::new("l"))
}

fn check(state: State, attempts: &str, verdicts: &str) {
    let record = World::new(state).measure().record();
    let text =
        |count: &Option<DecimalText>| count.as_ref().map(|count| String::from(count.as_str()));
    assert_eq!(
        (text(&record.attempts), text(&record.verdicts)),
        (Some(attempts.into()), Some(verdicts.into()))
    );
}

#[test]
fn a_task_has_as_many_attempts_as_it_may() {
    check(state(r#""a": {}"#), "2", "1");
}

#[test]
fn independent_groups_add_up_in_attempts_and_multiply_in_verdicts() {
    check(
        state(
            r#""G": {"choices": ["a", "b"]}, "H": {"choices": ["c", "d"]}, "a": {}, "b": {}, "c": {}, "d": {}"#,
        ),
        "8",
        "4",
    );
}

#[test]
fn what_waits_for_a_group_has_its_attempts_under_each_choice() {
    check(
        state(r#""G": {"choices": ["a", "b"]}, "a": {}, "b": {}, "f": {"depends_on": ["G"]}"#),
        "8",
        "2",
    );
}

#[test]
fn a_group_reached_over_two_ways_counts_once() {
    let atoms = r#""G": {"choices": ["a", "b"]}, "a": {}, "b": {}, "c": {"depends_on": ["G"]},
        "d": {"depends_on": ["G", "c"]}"#;
    check(state(atoms), "12", "2");
}

#[test]
fn what_has_failed_for_good_has_nothing_left_whatever_it_had_used() {
    let mut state = state(r#""a": {}, "b": {}"#);
    let world = World::new(state.clone());
    let context = world.active.context(world.graph.roots()[0]).expect("it is live").clone();
    let task = alloc::sync::Arc::make_mut(state.atoms.get_mut("a").expect("an atom"))
        .task_mut()
        .expect("a task");
    task.tried_mut(&context, &Default::default()).attempts = 1;
    check(state.clone(), "3", "1");
    let task = alloc::sync::Arc::make_mut(state.atoms.get_mut("a").expect("an atom"))
        .task_mut()
        .expect("a task");
    task.tried_mut(&context, &Default::default()).ended =
        Some(TryEnd::Failed(FailureClass::Logical));
    check(state, "2", "1");
}

#[test]
fn what_was_tried_of_another_specification_counts_for_nothing() {
    let mut state = state(r#""a": {}"#);
    let task = alloc::sync::Arc::make_mut(state.atoms.get_mut("a").expect("an atom"))
        .task_mut()
        .expect("a task");
    task.tried_mut(&"sha256:other".into(), &Default::default()).attempts = 2;
    check(state, "2", "1");
}

#[test]
fn counts_larger_than_any_machine_word_are_told_whole() {
    let group = |n: usize| {
        format!(r#""G{n}": {{"choices": ["a{n}", "b{n}"]}}, "a{n}": {{}}, "b{n}": {{}}"#)
    };
    let groups: Vec<String> = (0..100).map(group).collect();
    check(state(&groups.join(", ")), "400", "1267650600228229401496703205376");
}
