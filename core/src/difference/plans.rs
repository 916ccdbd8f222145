//! Describes how a plan of a step differs from the one before it, by its tasks. Their ids are others each time.
//!
//! Not here: the difference of two states.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{between, listed, short};
use crate::{doc::Node, state::Atom};

/// The tasks that a plan adds, changes and leaves out; empty where they are the same.
pub fn of_plans(before: &[&Atom], after: &[&Atom]) -> String {
    let (mut gone, mut new) = (parts(before), parts(after));
    take_pairs(&mut gone, &mut new, |was, is| was == is);
    let alike = take_pairs(&mut gone, &mut new, |was, is| was.title == is.title);
    let changed = alike.iter().map(|(was, is)| was.changed_to(is));
    let groups = [("new", titles(&new)), ("changed", changed.collect()), ("gone", titles(&gone))];
    let told = groups.iter().filter(|(_, names)| !names.is_empty());
    let told: Vec<String> = told
        .map(|(word, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{word}: {}", listed(&names))
        })
        .collect();
    told.join("; ")
}

/// A task of a plan, by what it is and does.
#[derive(PartialEq)]
struct PlannedPart {
    title: String,
    action: String,
    /// A digest.
    checks: String,
}

impl PlannedPart {
    fn changed_to(&self, other: &Self) -> String {
        let action = |part: &Self| Node::string(part.action.as_str());
        let how = if self.action == other.action {
            "other checks".to_string()
        } else {
            between("action", Some(&action(self)), Some(&action(other)))
        };
        format!("{} ({how})", self.title)
    }
}

fn parts(atoms: &[&Atom]) -> Vec<PlannedPart> {
    let tasks = atoms.iter().filter_map(|atom| Some((atom, atom.task()?)));
    let parts = tasks.map(|(atom, task)| {
        let action = task.spec.action.as_ref();
        let action = action.map(|action| action.run.clone()).unwrap_or_default();
        let checks = task.spec.checks.as_ref();
        PlannedPart {
            title: match atom.description.trim() {
                "" => short(&action),
                description => short(description),
            },
            checks: checks.map(|one| one.key().to_string()).unwrap_or_default(),
            action,
        }
    });
    parts.collect()
}

fn titles(parts: &[PlannedPart]) -> Vec<String> {
    parts.iter().map(|part| part.title.clone()).collect()
}

/// Takes what belongs together out of both.
fn take_pairs(
    gone: &mut Vec<PlannedPart>,
    new: &mut Vec<PlannedPart>,
    is_pair: impl Fn(&PlannedPart, &PlannedPart) -> bool,
) -> Vec<(PlannedPart, PlannedPart)> {
    let mut pairs = Vec::new();
    let mut place = 0;
    while let Some(was) = gone.get(place) {
        match new.iter().position(|is| is_pair(was, is)) {
            Some(other) => pairs.push((gone.remove(place), new.remove(other))),
            None => place += 1,
        }
    }
    pairs
}
