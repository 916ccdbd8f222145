//! The constraints as a table (contract §4): what may be chosen, in which form, and what is in force.
//!
//! Not here: reading and writing them (`objective`).

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{Constraints, FreeValue};
use crate::doc::{self, Node};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    Count,
    /// A span of time, a word or a command: text as it stands.
    Text,
    List,
    Flag,
}

/// One constraint that may be chosen.
#[derive(Debug)]
pub struct ConstraintRule {
    pub key: &'static str,
    pub form: ValueForm,
    /// What it limits.
    pub what: &'static str,
}

const fn limit(key: &'static str, form: ValueForm, what: &'static str) -> ConstraintRule {
    ConstraintRule { key, form, what }
}

pub const LIMITS: [ConstraintRule; 24] = [
    limit(
        "max_parallel_agents",
        ValueForm::Count,
        "attempts at the same time",
    ),
    limit(
        "max_attempts",
        ValueForm::Count,
        "attempts of an atom in a context",
    ),
    limit(
        "max_transient",
        ValueForm::Count,
        "retries of an attempt or a check",
    ),
    limit(
        "max_interruptions",
        ValueForm::Count,
        "crashes that may cut off one atom",
    ),
    limit(
        "max_repairs",
        ValueForm::Count,
        "repairs of an atom in one context",
    ),
    limit("max_iterations", ValueForm::Count, "iterations in all"),
    limit("max_depth", ValueForm::Count, "how deep groups may nest"),
    limit(
        "max_planned_atoms",
        ValueForm::Count,
        "atoms that planners may add in all",
    ),
    limit(
        "max_replans",
        ValueForm::Count,
        "plans that failed and are made again",
    ),
    limit(
        "max_refinements_per_atom",
        ValueForm::Count,
        "how often one step is planned again",
    ),
    limit(
        "max_planning_phases",
        ValueForm::Count,
        "planning steps at the same time",
    ),
    limit(
        "max_fragment_atoms",
        ValueForm::Count,
        "atoms that one planner may add",
    ),
    limit(
        "max_fragment_depth",
        ValueForm::Count,
        "how deep a fragment may nest",
    ),
    limit(
        "time_budget",
        ValueForm::Text,
        "active time in all, over restarts",
    ),
    limit(
        "attempt_timeout",
        ValueForm::Text,
        "time of one attempt or check",
    ),
    limit("workspace", ValueForm::Text, "where attempts work"),
    limit("link", ValueForm::List, "paths shared into each workspace"),
    limit("setup", ValueForm::Text, "run once in each new workspace"),
    limit(
        "setup_inputs",
        ValueForm::List,
        "the only files that setup reads",
    ),
    limit("keep", ValueForm::List, "ignored paths that checkouts keep"),
    limit("env", ValueForm::List, "variables passed on beside others"),
    limit("protected", ValueForm::List, "what no attempt may change"),
    limit(
        "finish_early",
        ValueForm::Flag,
        "end at the first verdict that holds",
    ),
    limit("on_stuck", ValueForm::Text, "when nothing is left to try"),
];

/// A constraint as it stands.
#[derive(Debug, Clone)]
pub struct InForce {
    pub key: String,
    /// Null where nothing limits. Of `max_attempts`, where nobody chose it, an object: `worker` and `action`.
    pub value: FreeValue,
    pub is_chosen: bool,
    /// Empty for a key that nothing reads.
    pub what: &'static str,
}

/// Every constraint, chosen or not, in the order of the table; then the unknown ones, which nothing reads.
pub fn in_force(constraints: &Constraints) -> Vec<InForce> {
    let chosen = constraints.node();
    let mut all: Vec<InForce> = LIMITS
        .iter()
        .map(|limit| {
            let value = chosen.get(limit.key);
            InForce {
                key: limit.key.to_owned(),
                value: value.cloned().unwrap_or_else(|| default_of(limit)),
                is_chosen: value.is_some(),
                what: limit.what,
            }
        })
        .collect();
    let members = chosen.as_object().unwrap_or_default().iter();
    let odd = members.filter(|member| LIMITS.iter().all(|limit| limit.key != member.key));
    all.extend(odd.map(|member| InForce {
        key: member.key.clone(),
        value: member.node.clone(),
        is_chosen: true,
        what: "",
    }));
    all
}

fn default_of(limit: &ConstraintRule) -> Node {
    let none = Constraints::default();
    let small = |count: u32| Node::uint(u64::from(count));
    match limit.key {
        "max_parallel_agents" => small(none.max_parallel_agents()),
        "max_attempts" => Node::object(Vec::from([
            ("worker", small(none.max_attempts(false))),
            ("action", small(none.max_attempts(true))),
        ])),
        "max_transient" => small(none.max_transient()),
        "max_interruptions" => small(none.max_interruptions()),
        "max_repairs" => small(none.max_repairs()),
        "max_depth" => small(none.max_depth()),
        "max_planned_atoms" => small(none.max_planned_atoms()),
        "max_replans" => small(none.max_replans()),
        "max_refinements_per_atom" => small(none.max_refinements_per_atom()),
        "max_planning_phases" => small(none.max_planning_phases()),
        "max_fragment_atoms" => small(none.max_fragment_atoms()),
        "max_fragment_depth" => small(none.max_fragment_depth()),
        "attempt_timeout" => Node::string(format!("{}m", none.attempt_timeout_ms() / 60_000)),
        "workspace" => Node::string(none.workspace().word()),
        "on_stuck" => Node::string(none.on_stuck().word()),
        _ if limit.form == ValueForm::List => Node::array(Vec::new()),
        _ if limit.form == ValueForm::Flag => Node::bool(false),
        _ => Node::null(),
    }
}

/// What differs, in words: `max_attempts: 1 → 3; time_budget: none → 2h`.
pub fn difference(before: &Constraints, after: &Constraints) -> String {
    let (old, new) = (before.node(), after.node());
    let keys = |node: &Node| -> Vec<String> {
        let members = node.as_object().unwrap_or_default().iter();
        members.map(|member| member.key.clone()).collect()
    };
    let mut all = keys(&old);
    all.extend(keys(&new).into_iter().filter(|key| old.get(key).is_none()));
    let word = |node: Option<&Node>| node.map_or("default".to_owned(), plain);
    let changed = all.iter().filter_map(|key| {
        let (old, new) = (old.get(key), new.get(key));
        (old.map(doc::canonical) != new.map(doc::canonical))
            .then(|| format!("{key}: {} → {}", word(old), word(new)))
    });
    let changed: Vec<String> = changed.collect();
    if changed.is_empty() {
        "the constraints changed".to_owned()
    } else {
        changed.join("; ")
    }
}

/// A value as a person writes it.
pub fn plain(node: &Node) -> String {
    if node.is_null() {
        return "none".to_owned();
    }
    if let Some(text) = node.as_str() {
        return text.to_owned();
    }
    if let Some(items) = node.as_array() {
        let items: Vec<String> = items.iter().map(plain).collect();
        return if items.is_empty() {
            "none".to_owned()
        } else {
            items.join(", ")
        };
    }
    if let Some(members) = node.as_object() {
        let one = |member: &doc::Member| format!("{} {}", member.key, plain(&member.node));
        let members: Vec<String> = members.iter().map(one).collect();
        return members.join(", ");
    }
    doc::write_compact(node).to_string()
}
