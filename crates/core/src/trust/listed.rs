//! The records of a plan as items: all that decides in them, and all that an agent is told.
//!
//! Invariant: each key of a record is listed, also one that nobody knows, unless the program alone writes it, or it says
//! nothing. The words that agents said are listed too. Not here: the digest of a whole state.

use super::{TrustGroup, TrustList};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Member, Node, Value},
    id::AtomId,
    state::{Atom, Check, Objective, Run, side, value::FieldValue},
};

/// The keys of an objective that are words for agents.
const WORDS: [&str; 7] = [
    "goal",
    "raw_input",
    "background_intent",
    "deliverables",
    "definition_of_done",
    "scope",
    "clarifications",
];

impl TrustList {
    /// Lists an objective; gives what a digest is to cover.
    pub(super) fn add_objective(&mut self, objective: &Objective) -> Node {
        let mut objective = objective.clone();
        objective.base_case = objective.base_case.as_ref().map(Check::unmeasured);
        let node = objective.node();
        for Member { key, node, .. } in members(&node) {
            match key.as_str() {
                "base_case" => self.add_checks("", node),
                "constraints" => {
                    for Member { key, node, .. } in members(node) {
                        match key.as_str() {
                            "setup" => self.add_command(TrustGroup::Setup, "", key, node),
                            _ => self.add_values(TrustGroup::Setting, key, node),
                        }
                    }
                }
                "raw_input" if node.as_str() == Some(&objective.goal) => {}
                key if WORDS.contains(&key) => self.add_values(TrustGroup::Task, key, node),
                key => self.add_values(TrustGroup::Setting, key, node),
            }
        }
        node
    }

    /// Lists an atom, but for the keys that the program writes; gives what a digest is to cover.
    pub(super) fn add_atom(&mut self, id: &AtomId, atom: &Atom, by_program: &[&str]) -> Node {
        let mut node = of_person(&atom.node(), by_program);
        let checks = atom.task().and_then(|task| task.spec.checks.as_ref());
        if let Some(check) = checks.map(Check::unmeasured) {
            node = with(&node, "checks", check.node());
        }
        let has_action = node.get("action").is_some();
        if atom.task().is_some() && !has_action {
            self.add(TrustGroup::Task, id.as_str(), atom.title(id));
        }
        for Member { key, node, .. } in members(&node) {
            let at = format!("{key} of {id}");
            match key.as_str() {
                "checks" => self.add_checks(id.as_str(), node),
                "kind" if node.as_str() != Some("plan") => {}
                "description" if atom.task().is_some() && !has_action => {}
                "description" => self.add_values(TrustGroup::Task, id.as_str(), node),
                "guidance" => self.add_values(TrustGroup::Task, &at, node),
                "output_schema" => self.add(TrustGroup::Task, &at, &doc::write_compact(node)),
                "action" => self.add_command(TrustGroup::Action, id.as_str(), &at, node),
                _ => self.add_values(TrustGroup::Setting, &at, node),
            }
        }
        node
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

    /// Lists what planners, refiners and judges are said to have said of an atom.
    pub(super) fn add_said_of(&mut self, id: &AtomId, atom: &Atom) {
        let node = atom.node();
        let origin = node.get("origin");
        let said = [
            ("questions", node.get("questions")),
            ("attention", node.get("attention")),
            ("reason", origin.and_then(|origin| origin.get("reason"))),
        ];
        for (key, node) in said {
            let at = format!("{key} of {id}");
            node.iter().for_each(|node| self.add_texts(TrustGroup::Task, &at, node));
        }
        let fragments = atom.plan().into_iter().flat_map(|plan| plan.fragments());
        let summaries = fragments.filter_map(|fragment| fragment.summary.as_ref()?.text());
        for summary in summaries {
            self.add(TrustGroup::Task, &format!("results of {id}"), &summary.text);
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

    /// Lists a command, and its other keys as settings at another place.
    fn add_command(&mut self, group: TrustGroup, at: &str, rest_at: &str, node: &Node) {
        let run = node.get("run").into_iter();
        run.for_each(|run| self.add_values(group, at, run));
        self.add_values(TrustGroup::Setting, rest_at, &node.filtered(|key, _| key != "run"));
    }

    /// Lists what decides. All of a list must hold: nothing is said of that.
    fn add_checks(&mut self, at: &str, check: &Node) {
        self.add_values(TrustGroup::Check, at, &check.filtered(|key, _| key != "all"));
        let all = check.get("all").and_then(Node::as_array);
        all.unwrap_or_default().iter().for_each(|part| self.add_checks(at, part));
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
