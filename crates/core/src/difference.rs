//! Describes the difference of two states in words: "B solved; auth: jwt → session; 3 attempts
//! left".
//!
//! Invariant: total. Two states that differ in any record differ in words too; a difference without
//! words of its own is described as a detail of its record. Not here: the effects of an edit
//! (`change`).

mod atom_difference;
mod parts;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use serde::{Deserialize, Serialize};

pub use parts::{of_atoms, of_objective, of_plans, of_result};

use crate::{
    doc::{self, Node},
    id::AtomId,
    state::{
        Check, Entry, Extra, State, atom_order, fields::Writer, limits, record, value::FieldValue,
    },
};

/// Maximum of characters of one value in words.
const VALUE_CHARS_MAX: usize = 80;
/// Maximum of names in one list.
const NAMES_MAX: usize = 5;
/// Maximum of changes in `words`.
const TOLD_MAX: usize = 12;

/// The text for equal states.
pub const NOTHING: &str = "nothing";

/// How much a change matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    Main,
    /// Comes after what matters: what is left.
    Left,
    /// Bookkeeping.
    Detail,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The atom that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The text after the atom's name, if there is one.
    pub what: String,
    pub weight: Weight,
}

impl Difference {
    /// The whole text.
    pub fn text(&self) -> String {
        match &self.of {
            Some(of) => joined(of, &self.what),
            None => self.what.clone(),
        }
    }
}

fn joined(of: &str, what: &str) -> String {
    let blank = if what.starts_with(':') { "" } else { " " };
    format!("{of}{blank}{what}")
}

/// All differences, the agreement first.
pub fn difference(before: &State, after: &State) -> Vec<Difference> {
    let mut look = Comparison::new(before, after);
    look.objective();
    let states = [before, after];
    let ids = states.iter().flat_map(|state| state.atoms.keys().chain(state.bindings.keys()));
    let ids: BTreeSet<&AtomId> = ids.collect();
    ids.into_iter().for_each(|id| look.atom(id));
    if atom_order::is_other(&before.settled_order(), &after.settled_order()) {
        look.note(Weight::Main, atom_order::MOVED);
    }
    look.lists();
    look.control();
    look.notebook();
    look.state_keys();
    look.older_entries();
    look.found
}

/// The important differences on one line; bookkeeping only if there is nothing else.
pub fn words(changes: &[Difference]) -> String {
    let of = |weight: Weight| changes.iter().filter(move |change| change.weight == weight);
    let mut chosen: Vec<&Difference> = of(Weight::Main).collect();
    if chosen.is_empty() {
        chosen = of(Weight::Detail).collect();
    }
    chosen.extend(of(Weight::Left));
    let groups = grouped(&chosen);
    let shown = groups.iter().take(TOLD_MAX);
    let text = |(names, what): &(Vec<&str>, &str)| match names.is_empty() {
        true => (*what).to_string(),
        false => joined(&listed(names), what),
    };
    let mut texts: Vec<String> = shown.map(text).collect();
    if groups.len() > TOLD_MAX {
        texts.push(format!("{} more", groups.len() - TOLD_MAX));
    }
    if texts.is_empty() {
        return NOTHING.to_string();
    }
    texts.join("; ")
}

/// Groups neighbours with the same text.
fn grouped<'c>(chosen: &[&'c Difference]) -> Vec<(Vec<&'c str>, &'c str)> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for change in chosen {
        let same = groups.iter_mut().find(|(of, what)| {
            !of.is_empty() && change.of.is_some() && *what == change.what.as_str()
        });
        match (same, change.of.as_deref()) {
            (Some((names, _)), Some(of)) => names.push(of),
            (_, of) => groups.push((of.into_iter().collect(), &change.what)),
        }
    }
    groups
}

fn listed(names: &[&str]) -> String {
    match names.len().checked_sub(NAMES_MAX) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMES_MAX].join(", ")),
    }
}

/// A value as words, shortened.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= VALUE_CHARS_MAX {
        return line;
    }
    let cut: String = line.chars().take(VALUE_CHARS_MAX - 1).collect();
    cut + "…"
}

/// Whether two values have the same text.
fn same(old: &Node, new: &Node) -> bool {
    old == new || doc::canonical(old) == doc::canonical(new)
}

/// The same for records; a shared one is not compared.
fn is_same<T: FieldValue>(old: &Arc<T>, new: &Arc<T>) -> bool {
    Arc::ptr_eq(old, new) || same(&old.node(), &new.node())
}

/// Whether a list has all that it had, at its beginning.
fn is_grown<T: FieldValue>(old: &[Arc<T>], new: &[Arc<T>]) -> bool {
    old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
}

struct Comparison<'s> {
    before: &'s State,
    after: &'s State,
    found: Vec<Difference>,
}

impl<'s> Comparison<'s> {
    fn new(before: &'s State, after: &'s State) -> Self {
        Self { before, after, found: Vec::new() }
    }

    fn note(&mut self, weight: Weight, what: impl Into<String>) {
        self.found.push(Difference { of: None, what: what.into(), weight });
    }

    fn note_of(&mut self, id: &AtomId, weight: Weight, what: impl Into<String>) {
        self.found.push(Difference { of: Some(id.to_string()), what: what.into(), weight });
    }

    fn objective(&mut self) {
        if Arc::ptr_eq(&self.before.objective, &self.after.objective) {
            return;
        }
        let (old, new) = (self.before.objective.node(), self.after.objective.node());
        for key in keys(&old, &new) {
            self.objective_key(&key, old.get(&key), new.get(&key));
        }
        if old != new && self.found.is_empty() {
            self.note(Weight::Detail, "the objective is written otherwise");
        }
    }

    fn objective_key(&mut self, key: &str, was: Option<&Node>, is: Option<&Node>) {
        if was.zip(is).is_some_and(|(was, is)| same(was, is)) {
            return;
        }
        let (old, new) = (&self.before.objective, &self.after.objective);
        // The goal before it, which is written with another goal.
        if key == "raw_input" && was.is_none() && new.raw_input == old.goal {
            return;
        }
        let what = match key {
            "constraints" => limits::difference(&old.constraints, &new.constraints),
            "base_case" => checks(old.base_case.as_ref(), new.base_case.as_ref()),
            _ => between(key, was, is),
        };
        self.note(Weight::Main, what);
    }

    fn lists(&mut self) {
        let (old, new) = (&self.before.trail, &self.after.trail);
        if is_grown(old, new) {
            self.after.trail[old.len()..].iter().for_each(|entry| self.entry(entry));
        } else if let Some(fresh) = record::added(old, new) {
            fresh.into_iter().for_each(|entry| self.entry(entry));
        } else {
            let what =
                if new.is_empty() { "the trail was cleared" } else { "the trail is another" };
            self.note(Weight::Main, what);
            self.after.trail.iter().for_each(|entry| self.entry(entry));
        }
        self.corrections();
    }

    /// Nothing else differs: no new entry of the trail says what happened to the older ones.
    fn older_entries(&mut self) {
        let (old, new) = (&self.before.trail, &self.after.trail);
        let is_same = old.len() == new.len() && is_grown(old, new);
        if self.found.is_empty() && !is_same {
            self.note(Weight::Detail, "older entries of the trail are others");
        }
    }

    fn entry(&mut self, entry: &Entry) {
        if let Some(failure) = entry.failure() {
            let nth = failure.nth.unwrap_or(1);
            let what = format!("attempt {nth} failed: {}", short(&failure.reason));
            self.note_of(&failure.atom, Weight::Main, what);
        } else if entry.refuted().is_some() {
            self.note(Weight::Main, "the base case does not hold");
        } else {
            // Described by its effect on groups and requests.
            let what = format!("recorded: {}", entry.kind.word().replace('_', " "));
            self.note(Weight::Detail, what);
        }
    }

    fn corrections(&mut self) {
        let (old, new) = (&self.before.corrections, &self.after.corrections);
        let is_grown = is_grown(old, new);
        if !is_grown {
            self.note(Weight::Main, "the corrections are others");
        }
        let known = if is_grown { old.len() } else { new.len() };
        for correction in &self.after.corrections[known..] {
            let text = correction.data.description.as_deref();
            let what = format!("corrected: {}", short(text.unwrap_or_default()));
            self.note(Weight::Main, what);
        }
    }

    /// Compares the keys beside the sections.
    fn state_keys(&mut self) {
        let (before, after) = (self.before, self.after);
        if before.lineage != after.lineage {
            let what = format!("another lineage: {} → {}", before.lineage, after.lineage);
            self.note(Weight::Main, what);
        }
        if before.version != after.version {
            let what = format!("version: {} → {}", before.version, after.version);
            self.note(Weight::Main, what);
        }
        if before.plan != after.plan {
            self.note(Weight::Detail, "the plan to compare with is another");
        }
        for (old, new) in
            [(&before.extra, &after.extra), (&before.work_graph_extra, &after.work_graph_extra)]
        {
            let node = |extra: &Extra| Writer::default().finish(extra);
            let (was, is) = (node(old), node(new));
            for key in keys(&was, &is) {
                let (was, is) = (was.get(&key), is.get(&key));
                if was.zip(is).is_none_or(|(was, is)| was != is) {
                    self.note(Weight::Detail, between(&key, was, is));
                }
            }
        }
    }
}

/// The leaves that one of two base cases lacks, and those that have another rule under their name.
fn checks(was: Option<&Check>, is: Option<&Check>) -> String {
    let (old, new) = (was.map(Check::leaves), is.map(Check::leaves));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let pairs = old.iter().filter_map(|was| {
        let is = new.iter().find(|is| is.title() == was.title())?;
        (was.key() != is.key()).then(|| rule_change(was, is))
    });
    let changed: Vec<String> = pairs.collect();
    let titles = |leaves: &[&Check]| leaves.iter().map(|leaf| leaf.title()).collect::<Vec<_>>();
    let (was, is) = (titles(&old), titles(&new));
    let only = |what: &str, these: &[String], others: &[String]| {
        let other = these.iter().filter(|title| !others.contains(title));
        let other: Vec<String> = other.map(|title| short(title)).collect();
        let names: Vec<&str> = other.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", listed(&names)))
    };
    let both = [only("checks removed", &was, &is), only("checks added", &is, &was)];
    let all: Vec<String> = both.into_iter().flatten().chain(changed).collect();
    if all.is_empty() { "the base case is another".to_string() } else { all.join("; ") }
}

fn rule_change(was: &Check, is: &Check) -> String {
    let rule = |check: &Check| check.leaf().map_or_else(String::new, |leaf| short(&leaf.title()));
    let (title, old, new) = (short(&was.title()), rule(was), rule(is));
    if old == new {
        format!("check {title}: changed")
    } else {
        format!("check {title}: {old} → {new}")
    }
}

/// The keys of both, in order.
fn keys(old: &Node, new: &Node) -> Vec<String> {
    let of = |node: &Node| -> Vec<String> {
        let members = node.as_object().unwrap_or_default().iter();
        members.map(|member| member.key.clone()).collect()
    };
    let mut all = of(old);
    all.extend(of(new).into_iter().filter(|key| old.get(key).is_none()));
    all
}

/// `goal: the tests pass → all tests pass`.
fn between(key: &str, was: Option<&Node>, is: Option<&Node>) -> String {
    let word = |node: Option<&Node>| match node.map(limits::plain) {
        Some(text) if !text.is_empty() => short(&text),
        _ => "nothing".to_string(),
    };
    let (was, is) = (word(was), word(is));
    let key = key.replace('_', " ");
    if was == is {
        return format!("{key}: changed");
    }
    format!("{key}: {was} → {is}")
}
