//! Bindings: what replaces a solved atom (contract §6).
//!
//! Invariant: a binding holds its atom whole (`of`), so that backtracking may open it again. A parked one stands
//! inside that very atom and leaves `of` out.

use alloc::{borrow::ToOwned, boxed::Box, string::String, sync::Arc, vec::Vec};

use super::{
    Atom, Body, FreeValue, SideEffect, Spec, Task,
    fields::{Extra, Fields, Findings, Writer},
};
use crate::{
    doc::{self, Node},
    id::{CommitId, Digest},
};

/// Characters at most in a summary.
pub const SUMMARY_CHARS_MAX: usize = 2_000;
/// Bytes at most of a value, as JSON.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub struct Binding {
    pub summary: String,
    pub value: Option<FreeValue>,
    pub artifacts: Vec<String>,
    /// The commit on the line of the result; absent where the tree did not change.
    pub commit: Option<CommitId>,
    /// Digest of the change to the tree.
    pub change: Option<Digest>,
    pub evidence: Vec<FreeValue>,
    pub context: Option<Digest>,
    pub inputs: Option<Digest>,
    pub attempts: u32,
    pub by: String,
    pub at: String,
    pub of: Arc<Atom>,
    pub handoff: Option<String>,
    pub partial: bool,
    pub extra: Extra,
}

impl Binding {
    pub fn is_by_person(&self) -> bool {
        self.by == "person"
    }

    /// The digest of what others may have built on: value, artifacts, change; a summary only where an agent or a
    /// person wrote it.
    pub fn result_digest(&self) -> Digest {
        let mut to = Writer::default();
        to.some("value", self.value.clone())
            .texts_unless_empty("artifacts", &self.artifacts);
        to.some(
            "change",
            self.change
                .as_ref()
                .map(|change| Node::string(change.as_str())),
        );
        if self.by != "action" {
            to.text("summary", &self.summary);
        }
        Digest::of(doc::canonical(&to.finish(&Extra::default())).as_bytes())
    }

    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        let mut fields = Fields::open(node, pointer, found)?;
        let summary = fields.text_or_empty("summary");
        let value = fields.take("value").cloned();
        let artifacts = fields.texts("artifacts");
        let commit = fields.text("commit").map(CommitId::new);
        let change = fields.text("change").map(Digest::new);
        let evidence = fields
            .list("evidence")
            .into_iter()
            .map(|(_, node)| node.clone())
            .collect();
        let context = fields.text("context").map(Digest::new);
        let inputs = fields.text("inputs").map(Digest::new);
        let attempts = fields.small("attempts").unwrap_or(0);
        let by = fields.text("by").unwrap_or_else(|| "person".to_owned());
        let at = fields.text_or_empty("at");
        let of = fields.take("of").and_then(|node| {
            let at = fields.at("of");
            Atom::read(node, &at, fields.found)
        });
        let handoff = fields.text("handoff");
        let partial = fields.flag("partial");
        check_sizes(&mut fields, &summary, value.as_ref());
        Some(Self {
            summary,
            value,
            artifacts,
            commit,
            change,
            evidence,
            context,
            inputs,
            attempts,
            by,
            at,
            of: Arc::new(of.unwrap_or_else(nothing)),
            handoff,
            partial,
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        self.write(true)
    }

    /// As it stands inside its own atom.
    pub fn parked_node(&self) -> Node {
        self.write(false)
    }

    fn write(&self, with_atom: bool) -> Node {
        let digest =
            |digest: &Option<Digest>| digest.as_ref().map(|digest| Node::string(digest.as_str()));
        let mut to = Writer::default();
        to.text("summary", &self.summary)
            .some("value", self.value.clone());
        to.texts_unless_empty("artifacts", &self.artifacts);
        to.some(
            "commit",
            self.commit
                .as_ref()
                .map(|commit| Node::string(commit.as_str())),
        );
        to.some("change", digest(&self.change));
        if !self.evidence.is_empty() {
            to.put("evidence", Node::array(self.evidence.clone()));
        }
        to.some("context", digest(&self.context))
            .some("inputs", digest(&self.inputs));
        to.put("attempts", Node::uint(u64::from(self.attempts)));
        to.text("by", &self.by).text_unless_empty("at", &self.at);
        if with_atom {
            to.put("of", self.of.node());
        }
        to.some("handoff", self.handoff.as_deref().map(Node::string))
            .flag_if("partial", self.partial);
        to.finish(&self.extra)
    }
}

/// Stands in `of` where a binding has none: a task that asks for nothing.
pub fn nothing() -> Atom {
    let spec = Spec {
        action: None,
        effect: SideEffect::Tree,
        checks: None,
        output_schema: None,
        timeout: None,
    };
    Atom {
        description: String::new(),
        depends_on: Vec::new(),
        body: Body::Task(Box::new(Task::new(spec))),
        accepts_partial: false,
        origin: None,
        extra: Extra::default(),
    }
}

fn check_sizes(fields: &mut Fields<'_, '_>, summary: &str, value: Option<&Node>) {
    let place = |key| {
        (
            fields.at(key),
            fields
                .node
                .get(key)
                .map_or(fields.node.span, |node| node.span),
        )
    };
    let (at, value_at) = (place("summary"), place("value"));
    if summary.chars().count() > SUMMARY_CHARS_MAX {
        let message = alloc::format!("the summary is longer than {SUMMARY_CHARS_MAX} characters");
        fields.found.fault(
            "limit",
            (&at.0, at.1),
            message,
            Some("shorten it".to_owned()),
        );
    }
    if value.is_some_and(|value| doc::write_compact(value).len() > VALUE_BYTES_MAX) {
        let message = "the value is larger than 64 KiB".to_owned();
        let hint = Some("put it into a file of the tree".to_owned());
        fields
            .found
            .fault("limit", (&value_at.0, value_at.1), message, hint);
    }
}
