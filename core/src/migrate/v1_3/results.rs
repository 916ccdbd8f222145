//! The results of contract 1.3: a summary and artifacts an atom.

use alloc::{collections::BTreeMap, format, string::String};

use super::super::{
    old::{Old, placed},
    report::{Fate, Report},
};
use crate::{
    doc::{self, Node},
    state::{Extra, binding::SUMMARY_CHARS_MAX, fields::Writer},
};

pub(super) fn all<'a>(old: &mut Old<'a>, report: &mut Report) -> BTreeMap<String, &'a Node> {
    let Some(node) = old.take("bindings") else {
        return BTreeMap::new();
    };
    if node.as_array().is_none_or(|items| !items.is_empty())
        && Old::open(node, "/bindings", report).is_none()
    {
        return BTreeMap::new();
    }
    let members = node.as_object().unwrap_or_default().iter();
    members
        .map(|member| (member.key.clone(), &member.node))
        .collect()
}

pub(super) fn binding(result: &Node, id: &str, of: Node, report: &mut Report) -> Node {
    let at = doc::pointer_push("/bindings", id);
    let Some(mut old) = Old::open(result, &at, report) else {
        return result.clone();
    };
    let mut to = Writer::default();
    let summary = old.text("summary", report);
    let text = summary.as_ref().and_then(Node::as_str).unwrap_or_default();
    if text.chars().count() > SUMMARY_CHARS_MAX {
        let why = format!(
            "a summary has at most {SUMMARY_CHARS_MAX} characters: its beginning is carried"
        );
        report.keep(
            &old.path("summary"),
            summary.as_ref().unwrap_or(result),
            &why,
        );
    }
    let short: String = text.chars().take(SUMMARY_CHARS_MAX).collect();
    to.put("summary", placed(result.span, Node::string(short)));
    if let Some(artifacts) = old
        .take("artifacts")
        .filter(|node| node.as_array().is_none_or(|all| !all.is_empty()))
    {
        to.put("artifacts", artifacts.clone());
    }
    to.put("attempts", Node::uint(0)).text("by", "aot");
    to.put("of", of);
    old.finish(report);
    report.add(
        Fate::Carried,
        (&at, result.span),
        format!("the result of `{id}`"),
    );
    placed(result.span, to.finish(&Extra::default()))
}
