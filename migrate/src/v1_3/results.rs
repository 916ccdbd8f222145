//! The results of contract 1.3: for each atom a summary and artifacts.

use alloc::{collections::BTreeMap, format, string::String};

use descent_core::{
    doc::Node,
    state::{binding::SUMMARY_CHARS_MAX, fields::Writer},
};

use crate::{
    reader::{Entry, Reader, placed},
    report::{Fate, Report},
};

/// The results by the id of the atom.
pub(super) fn all<'a>(old: &mut Reader<'a, '_>) -> BTreeMap<String, Entry<'a>> {
    let entries = old.entries("bindings").into_iter();
    entries.map(|result| (result.member.key.clone(), result)).collect()
}

pub(super) fn binding(result: &Entry<'_>, id: &str, report: &mut Report) -> Node {
    let Some(mut old) = result.open(report) else {
        return result.member.node.clone();
    };
    let summary = old.text("summary");
    let text = summary.as_ref().and_then(Node::as_str).unwrap_or_default();
    let short: String = text.chars().take(SUMMARY_CHARS_MAX).collect();
    if short.len() < text.len() {
        let why = format!(
            "a summary has at most {SUMMARY_CHARS_MAX} characters: its beginning is carried"
        );
        old.keep("summary", &why);
    }
    let mut to = Writer::default();
    to.put("summary", placed(old.span(), Node::string(short)));
    let artifacts = old.take("artifacts");
    let is_empty = |node: &Node| node.as_array().is_some_and(<[Node]>::is_empty);
    to.some("artifacts", artifacts.filter(|node| !is_empty(node)).cloned());
    to.text("by", "aot");
    old.note_here(Fate::Carried, format!("the result of `{id}`"));
    old.finish_as(to)
}
