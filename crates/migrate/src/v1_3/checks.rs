//! The base case of contract 1.3: a checklist whose items hold one check, a group that must hold whole, or a choice.

use descent_core::doc::prelude::*;
use descent_core::{doc::Node, state::fields::Writer};

use super::quoted;
use crate::{
    reader::{HERE, Reader, placed, written},
    report::Fate,
};

/// Tools that end with 0 if they find nothing: expected to fail, they pass only when something is wrong.
const CLEAN_IS_ZERO: [&str; 12] = [
    "audit",
    "lint",
    "eslint",
    "clippy",
    "tsc",
    "mypy",
    "pylint",
    "ruff",
    "flake8",
    "shellcheck",
    "bandit",
    "semgrep",
];

/// The parts of `all`.
pub(super) fn base_case(mut old: Reader<'_, '_>) -> Vec<Node> {
    if !old.has("checklist") {
        let hint = "a `checklist`, or `type` and `value`";
        old.fault_in(HERE, "bad-check", "there is no check in the base case", Some(hint));
    }
    let parts = items(&mut old, "checklist");
    old.finish();
    parts
}

/// Its depth is limited by that of the text.
fn items(old: &mut Reader<'_, '_>, key: &'static str) -> Vec<Node> {
    let mut parts = Vec::new();
    old.each(key, |one| parts.extend(item(one)));
    parts
}

fn item(mut old: Reader<'_, '_>) -> Option<Node> {
    let name = old.text("item");
    let kinds = ["check", "group", "any_of"].into_iter();
    let kinds: Vec<&str> = kinds.filter(|key| old.has(key)).collect();
    let check = match kinds.as_slice() {
        ["check"] => old.object("check").and_then(|check| leaf(check, name)),
        ["group"] => Some(list(&mut old, "group", "all", name)),
        ["any_of"] => Some(list(&mut old, "any_of", "any", name)),
        _ => {
            let hint = Some("one of `check`, `group` and `any_of`");
            old.fault_in(HERE, "bad-check", "an item holds one kind of check", hint);
            None
        }
    };
    old.finish();
    check
}

fn list(old: &mut Reader<'_, '_>, key: &'static str, here: &str, name: Option<Node>) -> Node {
    let parts = Node::array(items(old, key));
    let mut to = Writer::default();
    to.some("name", name).put(here, placed(old.span_of(key), parts));
    written(old.span(), &mut to)
}

fn leaf(mut old: Reader<'_, '_>, name: Option<Node>) -> Option<Node> {
    let Some(kind) = old.name("type") else {
        old.fault_in(HERE, "bad-check", "a check without its `type`", None);
        return None;
    };
    let mut to = Writer::default();
    to.some("name", name);
    let kind = kind.text.as_str();
    match kind {
        "quality" => {
            quality(&mut old, &mut to);
            return Some(written(old.span(), &mut to));
        }
        "command" | "file" | "not_command" | "not_file" | "assertion" => {}
        _ => {
            let hint = "one of command, file, not_command, not_file, assertion, quality";
            let message = format!("`{}` is no known type of a check", quoted(kind));
            old.fault_in("type", "unknown-value", message, Some(hint));
            return None;
        }
    }
    let Some(value) = old.text("value") else {
        let message = format!("a `{kind}` without its `value`");
        old.fault_in(HERE, "missing-key", message, None);
        return None;
    };
    if matches!(kind, "file" | "not_file") {
        file(&mut old, kind, &value, &mut to);
    } else {
        if kind == "not_command" {
            warn_of_inverted(&mut old, &value);
        }
        old.note(Fate::Carried, "value", format!("a check `{kind}`"));
        to.put(kind, value);
    }
    Some(old.finish_as(to))
}

/// `npm audit` ends with 0 if all is well: the check as written holds only if it is not.
fn warn_of_inverted(old: &mut Reader<'_, '_>, value: &Node) {
    let command = value.as_str().unwrap_or_default();
    let mut words = command.split(|c: char| !c.is_alphanumeric());
    if let Some(tool) = words.find(|word| CLEAN_IS_ZERO.contains(word)) {
        let what = format!(
            "`{}` must fail, and `{tool}` ends with 0 when it finds nothing: the check holds only while something is wrong. Most likely `command` was meant",
            quoted(command)
        );
        old.note(Fate::Warned, "value", what);
    }
}

/// A path of the project is carried; any other one is checked by a command.
fn file(old: &mut Reader<'_, '_>, kind: &str, value: &Node, to: &mut Writer) {
    let written = value.as_str().unwrap_or_default().trim();
    let path = written.trim_start_matches("./").trim_end_matches('/');
    let is_outside = written.starts_with('/') || written.split('/').any(|part| part == "..");
    let is_glob = written.contains(['*', '?', '[', '{']);
    if is_outside && !is_glob {
        let not = if kind == "file" { "" } else { "! " };
        let command = format!("{not}test -e '{}'", written.replace('\'', r"'\''"));
        let what = format!("outside of the project, so it is looked at by `{command}`");
        old.note(Fate::Changed, "value", what);
        to.put("command", placed(value.span, Node::string(command)));
        return;
    }
    let is_carried = is_outside || path.is_empty() || path == written;
    let path = if is_carried { written } else { path };
    if is_carried {
        old.note(Fate::Carried, "value", format!("a check `{kind}`"));
    } else {
        old.note(Fate::Changed, "value", format!("written as `{path}`"));
    }
    to.put(kind, placed(value.span, Node::string(path)));
}

/// A judge rates it here too. A rubric without criteria of their own is no rubric.
fn quality(old: &mut Reader<'_, '_>, to: &mut Writer) {
    let criteria = old.text("criteria").or_else(|| old.text("value"));
    let rubric = old.take("rubric");
    let named = rubric.and_then(Node::as_array).unwrap_or_default().iter();
    let named = named.filter_map(|one| one.get("criterion").and_then(Node::as_str));
    let words = match criteria.as_ref().and_then(Node::as_str) {
        Some(text) => String::from(text),
        None => named.collect::<Vec<_>>().join("; "),
    };
    if words.trim().is_empty() {
        old.fault_in(HERE, "bad-check", "a `quality` without criteria or rubric", None);
        return;
    }
    let what = "a judge rates it: name one in descent.toml (roles.judge)";
    old.note(Fate::Carried, HERE, what);
    to.put("quality", placed(old.span(), Node::string(words)));
    to.some("rubric", rubric.cloned());
    to.some("pass_threshold", old.take("pass_threshold").cloned());
    to.some("scope", old.text("scope"));
}
