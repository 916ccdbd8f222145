//! Reads keys of a result file.

use descent_core::doc::Node;

pub(super) type Reading<T> = Result<T, String>;

pub(super) fn given<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|node| !node.is_null())
}

pub(super) fn wrong(key: &str, found: &Node, wanted: &str) -> String {
    format!("`{key}` is {}, not {wanted}", found.kind_name())
}
