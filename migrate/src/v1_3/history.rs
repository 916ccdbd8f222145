//! The past by contract 1.3: the choices that were made, a person's corrections, and the loop's own counters.

use alloc::{format, vec::Vec};

use descent_core::{doc::Node, id::AtomId, state::fields::Writer};

use super::graph::WorkGraph;
use crate::{reader::Reader, report::Fate};

const CORRECTIONS: [&str; 4] =
    ["objective_change", "dag_adjustment", "constraint_change", "bindings_override"];

/// The counters of the loop that are kept, and why they do not go on.
const COUNTERS: [(&str, &str); 5] = [
    ("status", "descent finds out for itself how things stand: the state begins as aligned"),
    ("iteration", "iterations are counted anew"),
    ("stall_count", "there is no count of stalls"),
    ("prev_pending_count", "whether the work shrinks is told by the measure"),
    ("stop_reason", "it was said to the old loop"),
];

/// Trail and corrections.
pub(super) fn read(old: &mut Reader<'_, '_>, graph: &WorkGraph) -> (Vec<Node>, Vec<Node>) {
    let mut trail = Vec::new();
    for element in old.elements("trail") {
        let entry = element.open(old.report);
        let n = trail.len() as u64 + 1;
        trail.extend(entry.and_then(|entry| trail_entry(entry, n, graph)));
    }
    let mut corrections = Vec::new();
    for element in old.elements("corrections") {
        let id = format!("c{}", corrections.len() + 1);
        let one = element.open(old.report);
        corrections.extend(one.and_then(|one| correction(one, &id)));
    }
    (trail, corrections)
}

fn trail_entry(mut old: Reader<'_, '_>, n: u64, graph: &WorkGraph) -> Option<Node> {
    let kind = old.name("type").map(|kind| kind.text);
    let when = old.text("timestamp");
    let group = old.name("or_group");
    let group = group.and_then(|name| graph.groups.get(&name.text));
    let chosen = old.name("selected");
    let chosen = chosen.filter(|name| AtomId::is_valid(&name.text));
    let mut to = Writer::default();
    to.put("n", Node::uint(n));
    match (kind.as_deref(), group, chosen) {
        (None | Some("choice"), Some(group), Some(choice)) => {
            start(&mut to, "choice", when);
            to.text("group", group).text("choice", &choice.text);
        }
        (Some("user_correction"), ..) => start(&mut to, "user_correction", when),
        _ => {
            old.keep_here("it names no choice of a group that is here");
            return None;
        }
    }
    to.some("reason", old.text("reason"));
    to.some("description", old.text("description"));
    old.note_here(Fate::Carried, "/trail");
    Some(old.finish_as(to))
}

fn start(to: &mut Writer, kind: &str, when: Option<Node>) {
    to.text("type", kind).put("at", or_empty(when));
}

fn or_empty(text: Option<Node>) -> Node {
    text.unwrap_or_else(|| Node::string(""))
}

fn correction(mut old: Reader<'_, '_>, id: &str) -> Option<Node> {
    let kind = old.name("type");
    let Some(kind) = kind.filter(|kind| CORRECTIONS.contains(&kind.text.as_str())) else {
        old.keep_here("a correction of no known type");
        return None;
    };
    let mut to = Writer::default();
    to.text("id", id);
    to.put("timestamp", or_empty(old.text("timestamp")));
    to.text("type", &kind.text);
    to.put("description", or_empty(old.text("description")));
    to.put("trail_cleared", Node::bool(old.flag("trail_cleared")));
    to.text("by", "aot").put("changes", Node::array(Vec::new()));
    old.note_here(Fate::Carried, "/corrections");
    Some(old.finish_as(to))
}

/// The loop's notebook. None of it continues: a new run counts and asks anew.
pub(super) fn control(old: &mut Reader<'_, '_>) {
    let Some(mut old) = old.object("control") else {
        return;
    };
    for (key, why) in COUNTERS {
        old.keep(key, why);
    }
    for key in ["stop_requested", "redirect_requested"] {
        if old.flag(key) {
            old.keep(key, "asked of the old loop: a new run does not obey it");
        }
    }
    old.finish();
}
