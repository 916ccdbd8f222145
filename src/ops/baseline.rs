//! The value of `"baseline"`: measured by `align`, on the tree that a run would start from (contract §3).

use std::sync::Arc;

use descent_core::{
    id::AtomId,
    state::{Atom, Check, Leaf, State, check::NumberRule},
    view::VerdictView,
};

use super::evaluate::Evaluation;
use crate::failure::{Failure, exit};

/// Lines of a command's output that a refusal shows.
const TAIL_LINES: usize = 8;

/// Forgets values that a plan carries from another tree: they are measured anew.
pub fn forget(state: &mut State) {
    each_rule(state, &mut |_, rule| rule.baseline = None);
}

/// Measures the base case and the leaves of the atoms, and records the values beside the leaves.
pub async fn measure(
    evaluation: &Evaluation<'_>,
    state: &mut State,
    judged: &[VerdictView],
) -> Result<(), Failure> {
    let mut numbers = Vec::new();
    let mut missing = Vec::new();
    let base_case = state.objective.base_case.iter().flat_map(Check::leaves);
    let base_case = base_case.zip(judged).filter(|(leaf, _)| is_wanted(leaf));
    for (_, seen) in base_case {
        note(None, seen, &mut numbers, &mut missing);
    }
    let of_atoms = leaves_of_atoms(state);
    if !of_atoms.is_empty() {
        let leaves: Vec<&Check> = of_atoms.iter().map(|(_, leaf)| leaf).collect();
        let seen = evaluation.leaves(state, &leaves).await?;
        for ((atom, _), seen) in of_atoms.iter().zip(&seen) {
            note(Some(atom), seen, &mut numbers, &mut missing);
        }
    }
    if !missing.is_empty() {
        return Err(refused(missing));
    }
    let mut numbers = numbers.into_iter();
    each_rule(state, &mut |_, rule| {
        if let Some(number) = numbers.next() {
            rule.set_baseline(number);
        }
    });
    Ok(())
}

fn is_wanted(leaf: &Check) -> bool {
    let rule = leaf.leaf().and_then(Leaf::number);
    rule.is_some_and(NumberRule::has_baseline)
}

/// The leaves in the order of `each_rule`.
fn leaves_of_atoms(state: &State) -> Vec<(AtomId, Check)> {
    let mut found = Vec::new();
    for (id, atom) in state.atoms.iter() {
        let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
        let leaves = checks.into_iter().flat_map(Check::leaves);
        found.extend(leaves.filter(|leaf| is_wanted(leaf)).map(|leaf| (id.clone(), leaf.clone())));
    }
    found
}

/// The rules with a baseline: those of the base case, then those of each atom.
fn each_rule(state: &mut State, each: &mut impl FnMut(Option<&AtomId>, &mut NumberRule)) {
    let is_there = |check: &Check| check.leaves().into_iter().any(is_wanted);
    if state.objective.base_case.as_ref().is_some_and(is_there) {
        let check = Arc::make_mut(&mut state.objective).base_case.as_mut();
        let rules = check.into_iter().flat_map(Check::baselines_mut);
        rules.for_each(|rule| each(None, rule));
    }
    for (id, atom) in state.atoms.iter_mut() {
        let checks = |atom: &Atom| Some(atom.task()?.spec.checks.as_ref().is_some_and(is_there));
        if checks(atom) != Some(true) {
            continue;
        }
        let task = Arc::make_mut(atom).task_mut();
        let check = task.and_then(|task| Arc::make_mut(&mut task.spec).checks.as_mut());
        let rules = check.into_iter().flat_map(Check::baselines_mut);
        rules.for_each(|rule| each(Some(id), rule));
    }
}

fn note(
    atom: Option<&AtomId>,
    seen: &VerdictView,
    numbers: &mut Vec<f64>,
    missing: &mut Vec<String>,
) {
    if let Some(number) = seen.number {
        return numbers.push(number);
    }
    let whose =
        atom.map_or_else(|| "the base case".to_owned(), |atom| format!("the checks of {atom}"));
    missing.push(format!("`{}` in {whose}: `number` found no number ({})", seen.check, seen.ended));
    let lines: Vec<&str> = seen.output.lines().collect();
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    missing.extend(tail.iter().map(|line| format!("  | {line}")));
}

fn refused(missing: Vec<String>) -> Failure {
    let hint = "try the command and mend `number`, or write the number in the place of \"baseline\"; then align again";
    let message = "a baseline cannot be measured on the tree that a run would start from";
    Failure::new("E-NOT-ALIGNED", exit::NOT_ALIGNED, message, hint).with(missing)
}
