//! Every kept attempt with its end: failed, solved, parked, in doubt or running.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use serde::Serialize;

use crate::{
    doc::Node,
    graph::Ix,
    id::{AtomId, AttemptId, CommitId},
    state::{Entry, EntryKind, FreeValue, SideFile, TryEnd, record::type_of},
    step::correct::doubts,
    world::World,
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptView {
    pub atom: AtomId,
    /// Not kept for attempts that solved their atom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// Counts from 1 in its context.
    pub n: u64,
    /// `failed`, `solved`, `parked` (solved under choices that are not in force), `running`, or
    /// `in_doubt` (a person is asked how it ended).
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["failed", "solved", "parked", "running", "in_doubt"])))]
    pub ended: &'static str,
    pub started: String,
    /// When it ended; empty while it runs.
    pub at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The reason of the failure, or the result.
    pub reason: String,
    /// For an older failure, kept as a line: equal fingerprints mean equal failures.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    pub choices: BTreeMap<String, String>,
    pub evidence: Vec<FreeValue>,
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The side file with the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<SideFileView>"))]
    pub whole: Option<SideFile>,
}

/// A side file as it is printed, for the schema.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
pub struct SideFileView {
    pub digest: crate::id::Digest,
    pub bytes: u64,
    /// The path of the file; null if it is gone.
    pub path: Option<String>,
}

/// The choices of a context that was tried.
fn choices_of(world: &World, atom: &AtomId, context: &str) -> BTreeMap<String, String> {
    let tries = crate::search::tries(&world.state, atom);
    let tried = tries.iter().find(|tried| tried.context.as_str() == context);
    tried.map(|tried| pairs(&tried.choices)).unwrap_or_default()
}

pub(super) fn attempts(world: &World, x: Ix) -> Vec<AttemptView> {
    let inside = world.graph.subtree(x);
    let ids: Vec<&AtomId> = inside.iter().map(|y| world.graph.id(*y)).collect();
    let mut all: Vec<AttemptView> = world
        .state
        .trail
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::Failure { atom, attempt, .. } if ids.contains(&atom) => {
                Some(failed(world, atom, attempt, &entry.node))
            }
            _ => None,
        })
        .collect();
    for id in &ids {
        if let Some(binding) = world.state.bindings.get(*id) {
            all.push(solved(id, &binding.node(), "solved", BTreeMap::new()));
        }
        for tried in crate::search::tries(&world.state, id) {
            if let Some(TryEnd::Parked(result)) = &tried.ended {
                all.push(solved(
                    id,
                    &result.parked_node(),
                    "parked",
                    pairs(&tried.choices),
                ));
            }
        }
    }
    all.extend(doubtful(world, &ids));
    // Times in records compare as their texts do.
    all.sort_by(|a, b| a.at.cmp(&b.at));
    let flying = world.state.run.in_flight.iter();
    all.extend(
        flying
            .filter(|intent| ids.contains(&&intent.atom))
            .map(|intent| AttemptView {
                atom: intent.atom.clone(),
                attempt: Some(intent.id.clone()),
                n: u64::from(intent.n),
                ended: "running",
                started: intent.at.clone(),
                at: String::new(),
                class: String::new(),
                reason: String::new(),
                fingerprint: String::new(),
                choices: pairs(&intent.choices),
                evidence: Vec::new(),
                files: Vec::new(),
                commit: None,
                output: String::new(),
                whole: None,
            }),
    );
    all
}

fn pairs(choices: &BTreeMap<AtomId, AtomId>) -> BTreeMap<String, String> {
    let pair = |(group, choice): (&AtomId, &AtomId)| (group.to_string(), choice.to_string());
    choices.iter().map(pair).collect()
}

fn text(node: &Node, key: &str) -> String {
    node.get(key)
        .and_then(Node::as_str)
        .unwrap_or("")
        .to_owned()
}

fn list(node: &Node, key: &str) -> Vec<Node> {
    node.get(key)
        .and_then(Node::as_array)
        .unwrap_or_default()
        .to_vec()
}

fn texts(node: &Node, key: &str) -> Vec<String> {
    let items = list(node, key);
    items
        .iter()
        .filter_map(|item| Some(item.as_str()?.to_owned()))
        .collect()
}

fn failed(world: &World, atom: &AtomId, attempt: &AttemptId, node: &Node) -> AttemptView {
    AttemptView {
        atom: atom.clone(),
        attempt: Some(attempt.clone()),
        n: node.get("n").and_then(Node::as_u64).unwrap_or(1),
        ended: "failed",
        started: text(node, "started"),
        at: text(node, "at"),
        class: text(node, "class"),
        reason: text(node, "reason"),
        fingerprint: text(node, "fingerprint"),
        choices: choices_of(world, atom, &text(node, "context")),
        evidence: list(node, "criteria"),
        files: texts(node, "files"),
        commit: None,
        output: text(node, "output"),
        whole: SideFile::beside(node),
    }
}

/// Attempts with an unknown end, about which a person is asked.
fn doubtful(world: &World, ids: &[&AtomId]) -> Vec<AttemptView> {
    let doubts = doubts(&world.state).into_iter();
    let asked: Vec<AttemptId> = doubts.map(|doubt| doubt.attempt).collect();
    let view = |entry: &Arc<Entry>| {
        let node = &entry.node;
        let atom = ids.iter().find(|id| id.as_str() == text(node, "atom"))?;
        let attempt = AttemptId::new(text(node, "attempt").as_str());
        if type_of(entry) != "in_doubt" || !asked.contains(&attempt) {
            return None;
        }
        let tries = crate::search::tries(&world.state, atom);
        let context = text(node, "context");
        let tried = tries.iter().find(|tried| tried.context.as_str() == context);
        let before = tried.map_or(0, |tried| tried.attempts);
        Some(AttemptView {
            n: u64::from(before) + 1,
            ended: "in_doubt",
            ..failed(world, atom, &attempt, node)
        })
    };
    world.state.trail.iter().filter_map(view).collect()
}

fn solved(
    atom: &AtomId,
    result: &Node,
    ended: &'static str,
    choices: BTreeMap<String, String>,
) -> AttemptView {
    AttemptView {
        atom: atom.clone(),
        attempt: None,
        n: result.get("attempts").and_then(Node::as_u64).unwrap_or(1),
        ended,
        started: String::new(),
        at: text(result, "at"),
        class: String::new(),
        reason: text(result, "summary"),
        fingerprint: String::new(),
        choices,
        evidence: list(result, "evidence"),
        files: texts(result, "artifacts"),
        commit: result
            .get("commit")
            .and_then(Node::as_str)
            .map(CommitId::new),
        output: String::new(),
        whole: None,
    }
}
