//! The beginning of the result's line, contracted: the commits of folded atoms, whose ids their bindings hold.
//!
//! Invariant: what stands here is the line as it was packed, or it is written out; a commit that the binding of its atom
//! has no longer is not taken for the one that was meant.

use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{
    KEY, member_mut,
    packing::{pack, unpacked},
};
use crate::{
    doc::{Member, Node, Span, Value},
    state::{
        ResultCommit, State,
        fields::{Findings, Writer},
    },
};

/// Digits of a commit that tell it from another of the same atom.
const DIGITS: usize = 6;

#[derive(Debug, Clone)]
pub struct FoldedLine {
    prefix: Arc<[ResultCommit]>,
    packed: String,
}

impl FoldedLine {
    pub fn of(prefix: &[ResultCommit]) -> Self {
        let mut text = String::new();
        for placed in prefix {
            text.push_str(placed.atom.as_str());
            text.push(' ');
            text.push_str(digits(placed.commit.as_str()));
            text.push('\n');
        }
        Self {
            prefix: prefix.into(),
            packed: pack(&text),
        }
    }

    pub(in crate::state) fn written(&self) -> Written {
        (self.prefix.len(), self.packed.clone())
    }

    pub fn len(&self) -> usize {
        self.prefix.len()
    }

    pub fn is_empty(&self) -> bool {
        self.prefix.is_empty()
    }

    /// What of `line` is to be written out after this; `None` where it does not begin so.
    pub fn rest<'l>(&self, line: &'l [ResultCommit]) -> Option<&'l [ResultCommit]> {
        line.starts_with(&self.prefix)
            .then(|| line.get(self.prefix.len()..).unwrap_or_default())
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text(KEY, &self.packed);
        to.finish(&Default::default())
    }
}

fn digits(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}

/// The packed beginning of a line as it stood in the file: of how many commits, and its text.
pub(in crate::state) type Written = (usize, String);

/// Puts the packed beginning of `run.line` into the tree, by the bindings that stand in it.
pub(in crate::state) fn unfold(root: &mut Node, found: &mut Findings) -> Option<Written> {
    let (packed, span) = packed_in(root)?;
    let placed = match unpacked(&packed).map(String::from_utf8) {
        Ok(Ok(text)) => text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(atom, digits)| placed(root, atom, digits, span))
            .collect::<Vec<_>>(),
        Ok(Err(_)) | Err(_) => {
            let hint = "put the text back as it was; `descent show --bytes` has it";
            found.fault(
                "bad-fold",
                ("/run/line/0/folded", span),
                "the folded line of commits cannot be read".to_string(),
                Some(hint.to_string()),
            );
            return None;
        }
    };
    let count = placed.len();
    let line = member_mut(root, "run").and_then(|run| member_mut(run, "line"));
    if let Some(Value::Array(items)) = line.map(|line| &mut line.value) {
        items.splice(0..1, placed);
    }
    Some((count, packed))
}

fn packed_in(root: &Node) -> Option<(String, Span)> {
    let first = root.get("run")?.get("line")?.as_array()?.first()?;
    let packed = first.get(KEY)?.as_str()?;
    Some((packed.to_string(), first.span))
}

fn placed(root: &Node, atom: &str, digits: &str, span: Span) -> Node {
    let binding = root.get("bindings").and_then(|all| all.get(atom));
    let commit = binding
        .and_then(|binding| binding.get("commit"))
        .and_then(Node::as_str)
        .filter(|commit| commit.starts_with(digits));
    let text = |text: &str| Node {
        span,
        ..Node::string(text)
    };
    let member = |key: &str, node: Node| Member {
        key: key.to_string(),
        key_span: span,
        node,
    };
    Node {
        value: Value::Object(Vec::from([
            member("atom", text(atom)),
            member("commit", text(commit.unwrap_or(digits))),
        ])),
        span,
    }
}

/// The same around the line that came out of it.
pub(in crate::state) fn folded(state: &State, written: Option<Written>) -> Option<Arc<FoldedLine>> {
    let (count, packed) = written.filter(|(count, _)| *count > 0)?;
    let prefix = state.run.line.get(..count)?.into();
    Some(Arc::new(FoldedLine { prefix, packed }))
}
