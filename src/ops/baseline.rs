//! The value of `"baseline"`: measured by `align`, on the tree that a run would start from (contract §3).

use std::{collections::BTreeMap, sync::Arc};

use descent_core::{
    id::{AtomId, Digest},
    state::{Check, Leaf, State, check::NumberRule},
    view::VerdictView,
};

use super::evaluate;
use crate::failure::{Failure, exit};

/// Lines of a command's output that a refusal shows.
const TAIL_LINES: usize = 8;

/// Forgets values that a plan carries from another tree: they are measured anew.
pub fn forget(state: &mut State) {
    each_rule(state, &mut |rule| rule.baseline = None);
}

/// Records the numbers that were measured beside the leaves of the base case and of the atoms.
pub fn record(state: &mut State, seen: &BTreeMap<Digest, VerdictView>) -> Result<(), Failure> {
    let base_case = evaluate::leaves(state).into_iter().map(|leaf| (None, leaf));
    let of_atoms = leaves_of_atoms(state).map(|(atom, leaf)| (Some(atom), leaf));
    let wanted = base_case.chain(of_atoms).filter(|(_, leaf)| is_wanted(leaf));
    let (mut numbers, mut missing) = (Vec::new(), Vec::new());
    for (atom, leaf) in wanted {
        match seen.get(&leaf.key()).map(|seen| seen.number.ok_or(seen)) {
            Some(Ok(number)) => numbers.push(number),
            Some(Err(seen)) => missing.extend(lines_of(atom, seen)),
            None => {}
        }
    }
    if !missing.is_empty() {
        let hint = "try the command and mend `number`, or write the number in the place of \"baseline\"; then align again";
        let message = "a baseline cannot be measured on the tree that a run would start from";
        return Err(Failure::new("E-BASELINE", exit::NOT_ALIGNED, message, hint).with(missing));
    }
    let mut numbers = numbers.into_iter();
    each_rule(state, &mut |rule| {
        if let Some(number) = numbers.next() {
            rule.set_baseline(number);
        }
    });
    Ok(())
}

/// Whether the value of a leaf is to be measured.
pub fn is_wanted(leaf: &Check) -> bool {
    let rule = leaf.leaf().and_then(Leaf::number);
    rule.is_some_and(NumberRule::has_baseline)
}

/// The leaves of all atoms, in the order of `each_rule`.
pub fn leaves_of_atoms(state: &State) -> impl Iterator<Item = (&AtomId, &Check)> {
    state.atoms.iter().flat_map(|(id, atom)| {
        let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
        checks.into_iter().flat_map(Check::leaves).map(move |leaf| (id, leaf))
    })
}

/// The rules with a baseline: those of the base case, then those of each atom.
fn each_rule(state: &mut State, each: &mut impl FnMut(&mut NumberRule)) {
    if evaluate::leaves(state).into_iter().any(is_wanted) {
        let check = Arc::make_mut(&mut state.objective).base_case.as_mut();
        check.into_iter().flat_map(Check::baselines_mut).for_each(&mut *each);
    }
    let wanted = leaves_of_atoms(state).filter(|(_, leaf)| is_wanted(leaf));
    let mut wanted: Vec<AtomId> = wanted.map(|(id, _)| id.clone()).collect();
    wanted.dedup();
    for (_, atom) in state.atoms.iter_mut().filter(|(id, _)| wanted.contains(id)) {
        let task = Arc::make_mut(atom).task_mut();
        let check = task.and_then(|task| Arc::make_mut(&mut task.spec).checks.as_mut());
        check.into_iter().flat_map(Check::baselines_mut).for_each(&mut *each);
    }
}

/// A leaf that found no number, with the end of its output.
fn lines_of(atom: Option<&AtomId>, seen: &VerdictView) -> Vec<String> {
    let whose =
        atom.map_or_else(|| "the base case".to_owned(), |atom| format!("the checks of {atom}"));
    let ended = &seen.ended;
    let head = format!("`{}` in {whose}: `number` found no number ({ended})", seen.check);
    let lines: Vec<&str> = seen.output.lines().collect();
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let tail = tail.iter().map(|line| format!("  | {line}"));
    [head].into_iter().chain(tail).collect()
}
