//! Reads results that earlier versions packed into one record, a fold, and the packed beginning of `run.line`.
//!
//! Both become plain records of the tree before anything else reads it; nothing writes them. If a person wrote out a
//! record beside a fold, that record counts. Not here: the meaning of a plain record (`Binding`, `Run`).

mod text;

use alloc::{
    borrow::ToOwned,
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use self::text::{UNPACKED_BYTES_MAX, unpacked};
use super::fields::Findings;
use crate::doc::{self, Limits, Member, Node, Span, Value};

/// The key of packed text.
const KEY: &str = "folded";
const HINT: &str = "put the text back as it was; `descent show --bytes` has it";

/// The records of a tree with folds, in their old form: the seal of the file was taken over these.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) bindings: Vec<Member>,
    pub(super) run: Node,
}

/// Unpacks everything in the tree of a state; `None` if nothing was packed.
pub(super) fn unpack(root: &mut Node, found: &mut Findings) -> Option<Original> {
    let bindings = root.get("bindings").and_then(Node::as_object);
    let has_folds = bindings.is_some_and(|all| all.iter().any(|one| is_fold(&one.node)));
    if !has_folds && packed_line(root).is_none() {
        return None;
    }
    let original = Original {
        bindings: bindings.unwrap_or_default().to_vec(),
        run: root.get("run").cloned().unwrap_or_else(Node::null),
    };
    unpack_bindings(root, found);
    unpack_line(root, found);
    Some(original)
}

fn unpack_bindings(root: &mut Node, found: &mut Findings) {
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let open = keys(atoms.and_then(Node::as_object).unwrap_or_default());
    let bindings = member_mut(root, "bindings").map(|node| &mut node.value);
    let Some(Value::Object(members)) = bindings else {
        return;
    };
    let all = core::mem::take(members);
    let (folds, mut plain): (Vec<Member>, Vec<Member>) =
        all.into_iter().partition(|member| is_fold(&member.node));
    let written_out: BTreeSet<String> = keys(&plain).union(&open).cloned().collect();
    for fold in folds {
        match results_in(&fold.node) {
            Ok(mut results) => {
                results.retain(|result| !written_out.contains(&result.key));
                carry_remarks(fold.node, &mut results);
                let placed = results.into_iter().map(|one| at(one, fold.key_span));
                plain.extend(placed);
            }
            Err(why) => {
                let pointer = doc::pointer_push("/bindings", &fold.key) + "/" + KEY;
                let message = format!("the folded results cannot be read: {why}");
                let place = (pointer.as_str(), fold.node.span);
                found.fault("bad-fold", place, message, Some(HINT.to_owned()));
            }
        }
    }
    plain.sort_by(|a, b| a.key.cmp(&b.key));
    *members = plain;
}

/// Gives a person's remarks beside a fold to the first of its results that lacks the key.
fn carry_remarks(fold: Node, results: &mut [Member]) {
    let Value::Object(mut remarks) = fold.value else {
        return;
    };
    remarks.retain(|member| member.key != "summary" && member.key != KEY);
    for remark in remarks {
        let is_free = |member: &&mut Member| member.node.get(&remark.key).is_none();
        let free = results.iter_mut().find(is_free);
        if let Some(Value::Object(members)) = free.map(|member| &mut member.node.value) {
            members.push(remark);
        }
    }
}

fn results_in(fold: &Node) -> Result<Vec<Member>, &'static str> {
    let packed = fold.get(KEY).and_then(Node::as_str);
    let bytes = unpacked(packed.ok_or("it is no text")?)?;
    let limits = Limits { bytes: UNPACKED_BYTES_MAX, ..Limits::default() };
    let parsed = doc::parse_bytes(&bytes, &limits);
    let is_whole = parsed.faults.is_empty();
    let root = parsed.node.filter(|_| is_whole).ok_or("it holds no JSON")?;
    match root.value {
        Value::Object(results) if !results.iter().any(|one| is_fold(&one.node)) => Ok(results),
        _ => Err("it holds no results"),
    }
}

/// Unpacks the line. It names atoms and the first digits of their commits, which their bindings hold whole.
fn unpack_line(root: &mut Node, found: &mut Findings) {
    let Some((packed, span)) = packed_line(root) else {
        return;
    };
    let bytes = unpacked(packed);
    let Some(text) = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
        let message = "the folded line of commits cannot be read".to_owned();
        let place = ("/run/line/0/folded", span);
        found.fault("bad-fold", place, message, Some(HINT.to_owned()));
        return;
    };
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let commits: Vec<Node> =
        pairs.map(|(atom, digits)| result_commit(root, atom, digits, span)).collect();
    let line = member_mut(root, "run").and_then(|run| member_mut(run, "line"));
    if let Some(Value::Array(items)) = line.map(|line| &mut line.value) {
        items.splice(0..1, commits);
    }
}

fn packed_line(root: &Node) -> Option<(&str, Span)> {
    let first = root.get("run")?.get("line")?.as_array()?.first()?;
    Some((first.get(KEY)?.as_str()?, first.span))
}

/// A commit that the binding of its atom no longer has is not taken for the one that was meant.
fn result_commit(root: &Node, atom: &str, digits: &str, span: Span) -> Node {
    let binding = root.get("bindings").and_then(|all| all.get(atom));
    let commit = binding
        .and_then(|binding| binding.get("commit")?.as_str())
        .filter(|commit| commit.starts_with(digits));
    let member = |key: &str, text: &str| Member {
        key: key.to_string(),
        key_span: span,
        node: Node { span, ..Node::string(text) },
    };
    let commit = commit.unwrap_or(digits);
    Node { value: Value::Object(Vec::from([member("atom", atom), member("commit", commit)])), span }
}

fn is_fold(node: &Node) -> bool {
    node.get(KEY).is_some()
}

fn keys(members: &[Member]) -> BTreeSet<String> {
    members.iter().map(|member| member.key.clone()).collect()
}

fn member_mut<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else {
        return None;
    };
    let member = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut member.node)
}

/// The same with the place of its fold.
fn at(member: Member, span: Span) -> Member {
    Member { key_span: span, node: Node { span, ..member.node }, key: member.key }
}

#[cfg(test)]
mod tests;
