//! What happened, by contract 1.3: the choices that were made, what people corrected, and the loop's own counters.

use alloc::{format, vec::Vec};

use super::{
    super::{
        old::{Old, placed},
        report::{Fate, Report},
    },
    graph::Graph,
};
use crate::{
    doc::Node,
    id::AtomId,
    state::{Extra, fields::Writer},
};

const CORRECTIONS: [&str; 4] = [
    "objective_change",
    "dag_adjustment",
    "constraint_change",
    "bindings_override",
];

/// Trail and corrections.
pub(super) fn read(
    old: &mut Old<'_>,
    graph: &Graph,
    report: &mut Report,
) -> (Vec<Node>, Vec<Node>) {
    let mut trail = Vec::new();
    for (at, node) in old.items("trail", report) {
        trail.extend(entry(node, &at, graph, report));
    }
    let mut corrections = Vec::new();
    for (at, node) in old.items("corrections", report) {
        let id = format!("c{}", corrections.len() + 1);
        corrections.extend(correction(node, &at, &id, report));
    }
    (trail, corrections)
}

fn entry(node: &Node, at: &str, graph: &Graph, report: &mut Report) -> Option<Node> {
    let mut old = Old::open(node, at, report)?;
    let mut to = Writer::default();
    let kind = old.name("type", report).map(|(kind, _)| kind);
    let when = old.text("timestamp", report);
    let group = old.name("or_group", report);
    let known = group.as_ref().and_then(|(name, _)| graph.groups.get(name));
    let chosen = old
        .name("selected", report)
        .filter(|(name, _)| AtomId::is_valid(name));
    let is_choice = kind.as_deref().is_none_or(|kind| kind == "choice");
    match (known, &chosen) {
        (Some(group), Some((choice, _))) if is_choice => {
            start(&mut to, "choice", when);
            to.text("group", group).text("choice", choice);
        }
        _ if kind.as_deref() == Some("user_correction") => start(&mut to, "user_correction", when),
        _ => {
            report.keep(at, node, "it names no choice of a group that is here");
            return None;
        }
    }
    to.some("reason", old.text("reason", report));
    to.some("description", old.text("description", report));
    old.finish(report);
    report.add(Fate::Carried, (at, node.span), "/trail");
    Some(placed(node.span, to.finish(&Extra::default())))
}

fn start(to: &mut Writer, kind: &str, when: Option<Node>) {
    to.text("type", kind);
    to.put("at", when.unwrap_or_else(|| Node::string("")));
    to.put("serial", Node::uint(1)).put("pass", Node::uint(1));
}

fn correction(node: &Node, at: &str, id: &str, report: &mut Report) -> Option<Node> {
    let mut old = Old::open(node, at, report)?;
    let Some((kind, _)) = old
        .name("type", report)
        .filter(|(kind, _)| CORRECTIONS.contains(&kind.as_str()))
    else {
        report.keep(at, node, "a correction of no known type");
        return None;
    };
    let mut to = Writer::default();
    to.text("id", id);
    to.put(
        "timestamp",
        old.text("timestamp", report)
            .unwrap_or_else(|| Node::string("")),
    );
    to.text("type", &kind);
    to.put(
        "description",
        old.text("description", report)
            .unwrap_or_else(|| Node::string("")),
    );
    to.put(
        "trail_cleared",
        Node::bool(old.flag("trail_cleared", report)),
    );
    to.text("by", "aot").put("changes", Node::array(Vec::new()));
    old.finish(report);
    report.add(Fate::Carried, (at, node.span), "/corrections");
    Some(placed(node.span, to.finish(&Extra::default())))
}

/// The loop's notebook. None of it goes on: a new run counts and asks anew.
pub(super) fn control(node: Option<&Node>, report: &mut Report) {
    let Some(mut old) = node.and_then(|node| Old::open(node, "/control", report)) else {
        return;
    };
    for (key, why) in [
        (
            "status",
            "descent finds out for itself how things stand: the state begins as aligned",
        ),
        ("iteration", "iterations are counted anew"),
        ("stall_count", "there is no count of stalls"),
        (
            "prev_pending_count",
            "whether the work shrinks is told by the measure",
        ),
        ("stop_reason", "it was said to the old loop"),
    ] {
        if let Some(node) = old.take(key) {
            let path = old.path(key);
            report.keep(&path, node, why);
        }
    }
    for key in ["stop_requested", "redirect_requested"] {
        let Some(node) = old.take(key) else { continue };
        let path = old.path(key);
        if old.flag(key, report) {
            report.keep(
                &path,
                node,
                "asked of the old loop: a new run does not obey it",
            );
        }
    }
    old.finish(report);
}
