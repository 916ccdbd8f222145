//! An observation as one line: what the loop knew when it decided, to be compared and replayed.
//!
//! Invariant: derived from the observation alone, and bounded: a long text is cut. Not here: where lines are kept.

use alloc::{string::ToString, vec::Vec};

use super::{
    ConsultAnswer, ConsultEnd, Input, Leftovers, Merge, Observation, Outcome, Scope, record,
};
use crate::{
    doc::{Node, Value},
    id::{AtomId, AttemptId, Digest, Serial},
    state::{
        ResultCommit, Usage,
        fields::{Extra, Writer, texts_node},
        value::FieldValue,
    },
    verdict::{Basis, Measurement, MeasurementKind},
};

const SCHEMA: &str = "descent/input/1";
const TEXT_CHARS_MAX: usize = 2_000;
const ITEMS_MAX: usize = 200;

impl Observation {
    /// `serial`: the commit that took it in.
    pub fn line(&self, serial: Serial) -> Node {
        let mut to = Writer::default();
        to.text("schema", SCHEMA).put("serial", Node::uint(serial.0));
        to.put("at", Node::uint(self.now.0)).put("active_ms", Node::uint(self.active_ms));
        self.event.write(&mut to);
        let mut node = to.finish(&Extra::default());
        bound(&mut node);
        node
    }
}

impl Input {
    fn write(&self, to: &mut Writer) {
        let mut kind = |word: &str| {
            to.text("input", word);
        };
        match self {
            Self::Started { run, from, left } => {
                kind("started");
                to.text("run", run.as_str()).some("from", from.as_ref().map(FieldValue::node));
                write_leftovers(left, to);
            }
            Self::Tick => kind("tick"),
            Self::AskerGone => kind("asker_gone"),
            Self::AllEnded(ended) => {
                kind("all_ended");
                to.put("ended", ended.node());
            }
            Self::Asked { request, reason } => {
                kind("asked");
                to.put("request", request.node())
                    .some("reason", reason.as_deref().map(Node::string));
            }
            Self::Ended { attempt, epoch, outcome } => {
                kind("ended");
                to.text("attempt", attempt.as_str())
                    .put("epoch", Node::uint(epoch.0))
                    .put("outcome", outcome_node(outcome));
            }
            Self::Used { attempt, epoch, usage } => {
                kind("used");
                to.put("epoch", Node::uint(epoch.0)).put("used", usage_node(attempt, usage));
            }
            Self::Consulted { consult, end } => {
                kind("consulted");
                to.text("consult", consult.as_str());
                write_answer(end, to);
            }
            Self::Tried { attempt, onto, merge } => {
                kind("tried");
                to.text("attempt", attempt.as_str())
                    .some("onto", onto.as_ref().map(|commit| Node::string(commit.as_str())));
                write_merge(merge, to);
            }
            Self::Built { start, head, line, dropped } => {
                kind("built");
                to.text("start", start.as_str()).text("head", head.as_str());
                write_commits(line, dropped, to);
            }
            Self::Staged { speculation: (group, choice), start, wanted, head, dropped } => {
                kind("staged");
                to.text("group", group.as_str()).text("choice", choice.as_str());
                to.text("start", start.as_str()).text("head", head.as_str());
                write_commits(wanted, dropped, to);
            }
            Self::Learned { commit, tree } => {
                kind("learned");
                to.text("commit", commit.as_str()).text("tree", tree.as_str());
            }
            Self::Judged { scope, basis, seen } => {
                kind("judged");
                if let Scope::Atom(attempt) = scope {
                    to.text("attempt", attempt.as_str());
                }
                let word = match basis {
                    Basis::Warm(_) => "warm",
                    Basis::Pristine(_) => "pristine",
                    Basis::Serial(_) => "in_place",
                };
                to.text("basis", word).text("tree", &basis.text());
                to.put(
                    "seen",
                    Node::array(seen.iter().map(|(leaf, seen)| measured(leaf, seen)).collect()),
                );
            }
            Self::Unworded => kind("unworded"),
            Self::Unavailable { why } => {
                kind("unavailable");
                to.text("why", why);
            }
            Self::NoRoom { why } => {
                kind("no_room");
                to.text("why", why);
            }
        }
    }
}

fn write_leftovers(left: &Leftovers, to: &mut Writer) {
    let finished = left.finished.iter().map(|(attempt, outcome)| {
        let mut one = Writer::default();
        one.text("attempt", attempt.as_str()).put("outcome", outcome_node(outcome));
        one.finish(&Extra::default())
    });
    let finished: Vec<Node> = finished.collect();
    let used: Vec<Node> =
        left.used.iter().map(|(attempt, usage)| usage_node(attempt, usage)).collect();
    let continued: Vec<&str> = left.continued.iter().map(AttemptId::as_str).collect();
    let gone: Vec<&str> = left.gone.iter().map(|commit| commit.as_str()).collect();
    for (key, all) in [("finished", finished), ("used", used)] {
        to.some(key, (!all.is_empty()).then(|| Node::array(all)));
    }
    to.texts_unless_empty("continued", &continued).texts_unless_empty("gone", &gone);
}

fn outcome_node(outcome: &Outcome) -> Node {
    let mut to = Writer::default();
    record::write(outcome, &mut to);
    to.finish(&Extra::default())
}

fn usage_node(attempt: &AttemptId, usage: &Usage) -> Node {
    let mut to = Writer::default();
    to.text("attempt", attempt.as_str()).put("usage", usage.node());
    to.finish(&Extra::default())
}

fn write_answer(end: &ConsultEnd, to: &mut Writer) {
    match &end.answer {
        ConsultAnswer::Value(value) => to.put("answer", value.clone()),
        ConsultAnswer::Faulty(fault) => to.text("faulty", fault),
        ConsultAnswer::Silent(why) => to.text("silent", why),
        ConsultAnswer::Ended(end) => to.put("agent_end", end.node()),
    };
    to.put("duration_ms", Node::uint(end.duration_ms)).put("usage", end.usage.node());
}

fn write_merge(merge: &Merge, to: &mut Writer) {
    match merge {
        Merge::Unchanged { tree } => {
            to.text("merge", "unchanged")
                .some("tree", tree.as_ref().map(|tree| Node::string(tree.as_str())));
        }
        Merge::Clean { commit, tree, change, files, protected } => {
            to.text("merge", "clean").text("commit", commit.as_str()).text("tree", tree.as_str());
            to.text("change", change.as_str()).put("files", texts_node(files));
            to.texts_unless_empty("protected", protected);
        }
        Merge::Conflict(files) => {
            to.text("merge", "conflict").put("files", texts_node(files));
        }
        Merge::Broken(why) => {
            to.text("merge", "broken").text("why", why);
        }
    }
}

fn write_commits(line: &[ResultCommit], dropped: &[AtomId], to: &mut Writer) {
    to.put("line", Node::array(line.iter().map(FieldValue::node).collect()));
    let dropped: Vec<&str> = dropped.iter().map(AtomId::as_str).collect();
    to.texts_unless_empty("dropped", &dropped);
}

fn measured(leaf: &Digest, seen: &Measurement) -> Node {
    let mut to = Writer::default();
    to.text("leaf", leaf.as_str());
    match &seen.what {
        MeasurementKind::Command { how, matched, number } => {
            record::write_end(how, &mut to);
            let number = number.map(|number| Node::from(Value::Number(number.to_string())));
            to.some("matched", matched.map(Node::bool)).some("number", number);
        }
        MeasurementKind::Files { found, fits } => {
            to.put("found", Node::uint(*found as u64)).put("fits", Node::bool(*fits));
        }
        MeasurementKind::SetupFailed { how } => {
            record::write_end(how, &mut to);
            to.put("is_setup", Node::bool(true));
        }
    }
    to.put("duration_ms", Node::uint(seen.duration_ms)).text_unless_empty("excerpt", &seen.excerpt);
    to.finish(&Extra::default())
}

/// Cuts long texts and lists.
fn bound(node: &mut Node) {
    match &mut node.value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(items) => {
            items.truncate(ITEMS_MAX);
            items.iter_mut().for_each(bound);
        }
        Value::Object(members) => members.iter_mut().for_each(|member| bound(&mut member.node)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
