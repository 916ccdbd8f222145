//! The patterns in checks: found here, compiled by the shell.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::doc::{self, Member, Node};

const SCHEMA_KEY: &str = "output_schema";

/// A pattern of a person, for the shell to compile: the core knows no regular expressions and no globs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub pointer: String,
    pub span: doc::Span,
    pub text: String,
    pub kind: PatternKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    Regex,
    /// A regular expression with exactly one group.
    RegexWithGroup,
    Glob,
    /// A JSON Schema, as its text.
    Schema,
}

/// The schema of an atom's value.
pub fn schema(atom: &Node, pointer: &str) -> Option<Pattern> {
    let schema = atom.get(SCHEMA_KEY)?;
    Some(Pattern {
        pointer: doc::pointer_push(pointer, SCHEMA_KEY),
        span: schema.span,
        text: doc::write_compact(schema),
        kind: PatternKind::Schema,
    })
}

/// The schemas of the open atoms of a state. One that does not compile leaves the state readable.
pub fn schemas(root: &Node) -> Vec<Pattern> {
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let members = atoms.and_then(Node::as_object).unwrap_or_default().iter();
    let of = |member: &Member| {
        let at = doc::pointer_push("/work_graph/atoms", &member.key);
        schema(&member.node, &at)
    };
    members.filter_map(of).collect()
}

/// Collects the patterns under `node`, read as a check at `pointer`.
pub fn patterns(node: &Node, pointer: &str, into: &mut Vec<Pattern>) {
    if super::LEAF_KEYS.iter().all(|key| node.get(key).is_none()) {
        // The kind is unknown, and so is the meaning of its keys.
        return;
    }
    for key in ["all", "any"] {
        for (index, part) in
            node.get(key).and_then(Node::as_array).unwrap_or_default().iter().enumerate()
        {
            let at = doc::pointer_push(&doc::pointer_push(pointer, key), &format!("{index}"));
            patterns(part, &at, into);
        }
    }
    let keys = [
        ("stdout_matches", PatternKind::Regex),
        ("contains", PatternKind::Regex),
        ("number", PatternKind::RegexWithGroup),
        ("file", PatternKind::Glob),
        ("not_file", PatternKind::Glob),
    ];
    for (key, kind) in keys {
        if let Some((node, text)) = node.get(key).and_then(|node| Some((node, node.as_str()?))) {
            let pointer = doc::pointer_push(pointer, key);
            into.push(Pattern { pointer, span: node.span, text: text.to_owned(), kind });
        }
    }
}
