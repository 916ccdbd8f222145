//! The records of a plan as items: all that decides in them, and all that an agent is told.
//!
//! Invariant: each key of a record is listed, also one that nobody knows, unless the program alone writes it, or it says
//! nothing. The words that agents said are listed too. Not here: the rest of it (`told`).

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{TrustGroup, TrustList};
use crate::{
    doc::{self, Member, Node, Value},
    id::AtomId,
    state::{Atom, Check, CheckKind, Leaf, Objective, Run, side, value::FieldValue},
};

/// The words of an objective, by their keys, and as they are called here.
const WORDS: [(&str, &str); 7] = [
    ("goal", "goal"),
    // In `align`, the input is goal and words in one.
    ("raw_input", "words"),
    ("background_intent", "why"),
    ("deliverables", "deliverables"),
    ("definition_of_done", "definition_of_done"),
    ("scope", "scope"),
    ("clarifications", "clarifications"),
];

impl TrustList {
    /// Lists an objective; gives what a digest is to cover.
    pub(super) fn add_objective(&mut self, objective: &Objective) -> Node {
        let mut objective = objective.clone();
        objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
        if let Some(check) = &objective.base_case {
            self.add_checks("", check);
        }
        let node = objective.node();
        for Member { key, node, .. } in members(&node) {
            let word = WORDS.iter().find(|(known, _)| known == key);
            match (key.as_str(), word) {
                ("base_case", _) => {}
                ("constraints", _) => self.add_constraints(node),
                ("raw_input", _) if node.as_str() == Some(&objective.goal) => {}
                (_, Some((_, word))) => self.add_values(TrustGroup::Task, word, node),
                (_, None) => self.add_values(TrustGroup::Setting, key, node),
            }
        }
        node
    }

    fn add_constraints(&mut self, constraints: &Node) {
        for Member { key, node, .. } in members(constraints) {
            match key.as_str() {
                "setup" => {
                    let run = node.get("run").into_iter();
                    run.for_each(|run| self.add_values(TrustGroup::Setup, "", run));
                    let inputs = node.get("inputs").into_iter();
                    inputs
                        .for_each(|all| self.add_values(TrustGroup::Setting, "setup.inputs", all));
                }
                _ => self.add_values(TrustGroup::Setting, key, node),
            }
        }
    }

    /// Lists an atom, but for the keys that the program writes; gives what a digest is to cover.
    pub(super) fn add_atom(&mut self, id: &AtomId, atom: &Atom, by_program: &[&str]) -> Node {
        let node = of_person(&atom.node(), by_program);
        let action = atom.task().and_then(|task| task.spec.action.as_ref());
        match action {
            Some(action) => self.add(TrustGroup::Action, id.as_str(), &action.run),
            None if atom.task().is_some() => {
                self.add(TrustGroup::Task, id.as_str(), atom.title(id));
            }
            None => {}
        }
        let is_titled = atom.task().is_some() && action.is_none();
        let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
        let checks = checks.map(Check::unmeasured);
        if let Some(check) = &checks {
            self.add_checks(id.as_str(), check);
        }
        for Member { key, node, .. } in members(&node) {
            let at = format!("{key} of {id}");
            match key.as_str() {
                "checks" => {}
                "kind" if node.as_str() != Some("plan") => {}
                "description" if is_titled => {}
                "description" => self.add_values(TrustGroup::Task, id.as_str(), node),
                "guidance" => self.add_values(TrustGroup::Task, &at, node),
                "output_schema" => self.add(TrustGroup::Task, &at, &doc::write_compact(node)),
                "action" => {
                    self.add_values(TrustGroup::Setting, &at, &node.filtered(|key, _| key != "run"))
                }
                "depends_on" | "parts" | "choices" => self.add_ids(&at, node),
                _ => self.add_values(TrustGroup::Setting, &at, node),
            }
        }
        match &checks {
            Some(check) => with(&node, "checks", check.node()),
            None => node,
        }
    }

    /// Lists what agents are said to have said of an earlier run, and what its planners may not propose again.
    pub(super) fn add_said(&mut self, run: &Run) {
        let law = run.law.as_ref();
        let point = law.and_then(|law| law.point.as_ref()).map(|point| {
            let words = ["failed_criterion", "rationale"];
            point.node().filtered(|key, _| words.contains(&key))
        });
        let at_work = run.in_flight.iter().map(|one| one.atom.node());
        let said = [
            ("judging", run.judging.as_ref().map(FieldValue::node)),
            ("profile", run.profile.as_ref().map(FieldValue::node)),
            ("law", point),
            ("patterns", Some(FieldValue::node(&run.patterns))),
            ("lessons", run.memory_used.as_ref().map(FieldValue::node)),
            ("in_flight", Some(Node::array(at_work.collect()))),
        ];
        for (at, node) in said {
            let node = node.iter();
            node.for_each(|node| self.add_texts(TrustGroup::Task, at, node));
        }
        for one in law.map_or(&[][..], |law| &law.blocked) {
            self.add_texts(TrustGroup::Setting, "blocked", &one.node());
        }
    }

    /// Each text below a node, by its keys. A digest and a time tell a person nothing.
    fn add_texts(&mut self, group: TrustGroup, at: &str, node: &Node) {
        match &node.value {
            Value::String(text) if side::hex_of(text).is_none() => {
                self.add_values(group, at, node);
            }
            Value::Array(items) => {
                items.iter().for_each(|item| self.add_texts(group, at, item));
            }
            Value::Object(members) => {
                for member in members.iter().filter(|member| member.key != "at") {
                    self.add_texts(group, &joined(at, &member.key), &member.node);
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add_ids(&mut self, at: &str, ids: &Node) {
        let ids = ids.as_array().unwrap_or_default().iter();
        let ids: Vec<&str> = ids.filter_map(Node::as_str).collect();
        if !ids.is_empty() {
            self.add(TrustGroup::Setting, at, &ids.join(", "));
        }
    }

    fn add_checks(&mut self, at: &str, check: &Check) {
        match &check.kind {
            // All of them must hold: nothing is said of that.
            CheckKind::All(parts) => self.add_parts(at, check, parts),
            CheckKind::Any(parts) => self.add_parts(&joined(at, "any"), check, parts),
            CheckKind::Leaf(leaf) => self.add_leaf(at, check, leaf),
        }
    }

    fn add_parts(&mut self, at: &str, check: &Check, parts: &[Check]) {
        let node = check.node().filtered(|key, _| key != "all" && key != "any");
        self.add_values(TrustGroup::Check, at, &node);
        for (index, part) in parts.iter().enumerate() {
            let group = |word: &str| joined(at, &format!("{word} {}", index + 1));
            match &part.kind {
                CheckKind::All(parts) => self.add_parts(&group("all"), part, parts),
                CheckKind::Any(parts) => self.add_parts(&group("any"), part, parts),
                CheckKind::Leaf(leaf) => self.add_leaf(at, part, leaf),
            }
        }
    }

    /// The subject of a leaf, then all that decides how it is looked at.
    fn add_leaf(&mut self, at: &str, check: &Check, leaf: &Leaf) {
        let node = check.node();
        let (group, at, key) = match leaf {
            Leaf::Command(_) => (TrustGroup::Check, at.to_owned(), "command"),
            Leaf::NotCommand(_) => (TrustGroup::Check, joined(at, "not"), "not_command"),
            Leaf::File(_) => (TrustGroup::Check, joined(at, "file"), "file"),
            Leaf::NotFile(_) => (TrustGroup::Check, joined(at, "no file"), "not_file"),
            Leaf::Assertion(_) => (TrustGroup::Check, joined(at, "confirmed"), "assertion"),
            Leaf::Newer(_) => (TrustGroup::Check, joined(at, "newer"), ""),
            Leaf::Quality(_) => (TrustGroup::Task, joined("quality", at), "quality"),
        };
        if let Some(subject) = node.get(key).and_then(Node::as_str) {
            self.add(group, &at, subject);
        }
        self.add_values(group, &at, &node.filtered(|known, _| known != key));
    }

    /// Each value below a node, by its keys. A blank one says nothing.
    fn add_values(&mut self, group: TrustGroup, at: &str, node: &Node) {
        match &node.value {
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => self.add(group, at, text),
            Value::Bool(_) | Value::Number(_) => self.add(group, at, &doc::write_compact(node)),
            Value::Array(items) => {
                let is_plain = |node: &Node| node.as_str().is_some();
                let is_list = items.iter().all(is_plain);
                for (index, item) in items.iter().enumerate() {
                    if is_list {
                        self.add_values(group, at, item)
                    } else {
                        let at = joined(at, &(index + 1).to_string());
                        self.add_values(group, &at, item);
                    }
                }
            }
            Value::Object(members) => {
                for member in members {
                    self.add_values(group, &joined(at, &member.key), &member.node);
                }
            }
        }
    }
}

/// The keys of an atom that say what is wanted. The choice in force is none: the search changes it.
fn of_person(atom: &Node, by_program: &[&str]) -> Node {
    let is_wanted = |key: &str| {
        // A person may write a grant.
        key == "grant" || !(by_program.contains(&key) || ["selected", "planned"].contains(&key))
    };
    atom.filtered(|key, _| is_wanted(key))
}

fn members(node: &Node) -> &[Member] {
    node.as_object().unwrap_or_default()
}

fn with(node: &Node, key: &str, value: Node) -> Node {
    let rest = node.filtered(|known, _| known != key);
    let members = members(&rest).iter();
    let members = members.map(|one| (one.key.clone(), one.node.clone()));
    Node::object(members.chain([(key.to_owned(), value)]).collect())
}

fn joined(one: &str, other: &str) -> String {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other.to_owned(),
        (_, true) => one.to_owned(),
        (false, false) => format!("{one} {other}"),
    }
}
