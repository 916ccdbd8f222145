//! Describes the difference of single parts: for the correction that tells of it, from what to what; of people's requests
//! to the loop; of its own notes. Two plans of a step are compared by their tasks, since their ids are others each time.

use super::{Comparison, Difference, NOTHING, Weight, between, keys, listed, same, short, words};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::AtomId,
    state::{
        Atom, Binding, Run, State,
        law::{BlockedRecord, LawRecord},
    },
};

/// The keys of the objective that are told before the others. Some of these follow from the checks.
const FIRST: [&str; 2] = ["goal", "base_case"];

/// Everything that differs in the objective, but for its constraints.
pub fn of_objective(before: &State, after: &State) -> String {
    let mut look = Comparison::new(before, after);
    let (old, new) = (before.objective.node(), after.objective.node());
    let mut keys = keys(&old, &new);
    keys.retain(|key| key != "constraints" && key != "notes");
    keys.sort_by_key(|key| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
    for key in &keys {
        look.objective_key(key, old.get(key), new.get(key));
    }
    words(&look.found)
}

/// Everything that a person wrote otherwise in these atoms, but for guidance.
pub fn of_atoms(before: &State, after: &State, ids: &[&AtomId]) -> String {
    let mut found: Vec<Difference> = Vec::new();
    for id in ids {
        let Some((was, is)) = before.atom(id).zip(after.atom(id)) else {
            continue;
        };
        let mut look = Comparison::new(before, after);
        let is_asked = |key: &str| !matches!(key, "tries" | "guidance" | "notes");
        look.written(id, was, is, is_asked);
        found.extend(look.found);
    }
    words(&found)
}

/// The result of an atom: what it was, and what it is. A summary needs no name.
pub fn of_result(was: Option<&Binding>, is: &Binding) -> String {
    let Some(was) = was else {
        return short(&is.summary);
    };
    let (old, new) = (was.parked_node(), is.parked_node());
    let told = ["summary", "value", "artifacts", "handoff", "change"];
    let other = told.iter().filter(|key| old.get(key) != new.get(key));
    let other: Vec<String> = other
        .map(|key| match *key {
            "summary" => format!("{} → {}", short(&was.summary), short(&is.summary)),
            key => between(key, old.get(key), new.get(key)),
        })
        .collect();
    if other.is_empty() { NOTHING.into() } else { other.join(", ") }
}

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

/// Digits of a commit that distinguish it from others.
const COMMIT_CHARS: usize = 12;

impl Comparison<'_> {
    pub(super) fn control(&mut self) {
        let (old, new) = (&self.before.control, &self.after.control);
        if Arc::ptr_eq(old, new) || old.node() == new.node() {
            return;
        }
        let known = self.found.len();
        if old.stop_requested != new.stop_requested {
            let reason = new.stop_reason.as_deref().filter(|_| new.stop_requested);
            let what = match (new.stop_requested, reason) {
                (true, Some(reason)) => format!("a stop was asked for ({})", super::short(reason)),
                (true, None) => "a stop was asked for".to_string(),
                (false, _) => "the stop is obeyed or taken back".to_string(),
            };
            self.note(Weight::Main, what);
        }
        if old.redirect_requested != new.redirect_requested {
            let what = if new.redirect_requested {
                "a redirect was asked for"
            } else {
                "the redirect is obeyed or taken back"
            };
            self.note(Weight::Main, what);
        }
        if known == self.found.len() {
            self.note(Weight::Detail, "the requests changed");
        }
    }

    pub(super) fn notebook(&mut self) {
        if Arc::ptr_eq(&self.before.run, &self.after.run) {
            return;
        }
        let (old, new) = (Arc::clone(&self.before.run), Arc::clone(&self.after.run));
        if old.status != new.status {
            let what = format!("run: {} → {}", old.status.word(), new.status.word());
            self.note(Weight::Main, what.replace('_', " "));
        }
        self.blocked(&old, &new);
        self.flight(&old, &new);
        let left = |run: &Run| run.measure.as_ref().and_then(|measure| measure.attempts.clone());
        if let (was, Some(is)) = (left(&old), left(&new))
            && was.as_ref() != Some(&is)
        {
            let is = is.as_str();
            let plural = if is == "1" { "" } else { "s" };
            self.note(Weight::Left, format!("{is} attempt{plural} left"));
        }
        self.other_keys(&old.node(), &new.node());
    }

    /// At one point of the control law only a person changes what is blocked.
    fn blocked(&mut self, old: &Run, new: &Run) {
        let (Some(old), Some(new)) = (&old.law, &new.law) else {
            return;
        };
        if old.point != new.point {
            return;
        }
        let only = |law: &LawRecord, other: &LawRecord| {
            let known = |one: &&BlockedRecord| other.blocked.iter().any(|two| two.is_about(one));
            let only = law.blocked.iter().filter(|one| !known(one));
            only.map(BlockedRecord::text).collect::<Vec<String>>()
        };
        for (what, texts) in
            [("not blocked any more", only(old, new)), ("blocked again", only(new, old))]
        {
            if !texts.is_empty() {
                self.note(Weight::Main, format!("{what}: {}", texts.join("; ")));
            }
        }
    }

    fn flight(&mut self, old: &Run, new: &Run) {
        for (word, these, others) in
            [("started", &new.in_flight, &old.in_flight), ("ended", &old.in_flight, &new.in_flight)]
        {
            let only = these.iter().filter(|one| others.iter().all(|other| other.id != one.id));
            for intent in only {
                let what = format!("attempt {} {word}", intent.n);
                self.note_of(&intent.atom, Weight::Detail, what);
            }
        }
    }

    fn other_keys(&mut self, old: &Node, new: &Node) {
        for key in keys(old, new) {
            let (was, is) = (old.get(&key), new.get(&key));
            if was.zip(is).is_some_and(|(was, is)| same(was, is)) {
                continue;
            }
            let short = |node: Option<&Node>| {
                let text = node.and_then(Node::as_str).unwrap_or("nothing");
                text.chars().take(COMMIT_CHARS).collect::<String>()
            };
            let what = match key.as_str() {
                "status" => continue,
                "head" => format!("result: {} → {}", short(was), short(is)),
                "started_from" if was.is_some() && is.is_some() => {
                    let commit =
                        |node: Option<&Node>| short(node.and_then(|one| one.get("commit")));
                    self.note(Weight::Main, format!("start: {} → {}", commit(was), commit(is)));
                    continue;
                }
                "in_flight" | "line" | "spent" | "measure" | "judged" | "started_from"
                | "agreed" | "verdicts" => {
                    format!("{}: changed", key.replace('_', " "))
                }
                _ => between(&key, was, is),
            };
            self.note(Weight::Detail, what);
        }
    }
}
