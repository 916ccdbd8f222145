//! The base case of contract 1.3: a checklist whose items hold one check, a group that must hold whole, or a choice.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::super::{
    old::{Old, placed},
    report::{Fate, Report},
};
use crate::{
    doc::{Node, Span},
    state::{Extra, check::DEPTH_MAX, fields::Writer},
};

/// Tools that end with 0 when they find nothing: told to fail, they pass only when something is wrong.
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
pub(super) fn base_case(node: &Node, at: &str, report: &mut Report) -> Vec<Node> {
    let Some(mut old) = Old::open(node, at, report) else {
        return Vec::new();
    };
    if node.get("checklist").is_none() {
        let hint = "a `checklist`, or `type` and `value`";
        report.fault(
            "bad-check",
            (at, node.span),
            "there is no check in the base case",
            Some(hint),
        );
    }
    let parts = items(&mut old, "checklist", report, 0);
    old.finish(report);
    parts
}

fn items(old: &mut Old<'_>, key: &'static str, report: &mut Report, depth: usize) -> Vec<Node> {
    if depth >= DEPTH_MAX {
        report.fault(
            "checks-too-deep",
            (&old.at, old.span()),
            "checks are nested too deep",
            None,
        );
        return Vec::new();
    }
    let items = old.items(key, report);
    let one = |(at, node): (String, &Node)| item(node, &at, report, depth);
    items.into_iter().filter_map(one).collect()
}

fn item(node: &Node, at: &str, report: &mut Report, depth: usize) -> Option<Node> {
    let mut old = Old::open(node, at, report)?;
    let name = old.text("item", report);
    let kinds: Vec<&str> = ["check", "group", "any_of"]
        .into_iter()
        .filter(|key| node.get(key).is_some_and(|node| !node.is_null()))
        .collect();
    let check = match kinds.as_slice() {
        ["check"] => {
            let check = old.take("check")?;
            leaf(check, &old.path("check"), name, report)
        }
        [key] => {
            let (key, here) = if *key == "group" {
                ("group", "all")
            } else {
                ("any_of", "any")
            };
            let parts = items(&mut old, key, report, depth + 1);
            let span = node.get(key).map_or(node.span, |node| node.span);
            let mut to = Writer::default();
            to.some("name", name)
                .put(here, placed(span, Node::array(parts)));
            Some(placed(node.span, to.finish(&Extra::default())))
        }
        _ => {
            let hint = Some("one of `check`, `group` and `any_of`");
            report.fault(
                "bad-check",
                (at, node.span),
                "an item holds one kind of check",
                hint,
            );
            None
        }
    };
    old.finish(report);
    check
}

fn leaf(node: &Node, at: &str, name: Option<Node>, report: &mut Report) -> Option<Node> {
    let mut old = Old::open(node, at, report)?;
    let (kind, span) = match old.name("type", report) {
        Some(kind) => kind,
        None => {
            report.fault(
                "bad-check",
                (at, node.span),
                "a check without its `type`",
                None,
            );
            return None;
        }
    };
    let mut to = Writer::default();
    to.some("name", name);
    if kind == "quality" {
        quality(&mut old, &mut to, node, report);
        return Some(placed(node.span, to.finish(&Extra::default())));
    }
    if !["command", "not_command", "file", "not_file", "assertion"].contains(&kind.as_str()) {
        let hint = "one of command, file, not_command, not_file, assertion, quality";
        let message = format!("`{}` is no known type of a check", super::quoted(&kind));
        report.fault(
            "unknown-value",
            (&old.path("type"), span),
            message,
            Some(hint),
        );
        return None;
    }
    let Some(value) = old.text("value", report) else {
        let message = format!("a `{kind}` without its `value`");
        report.fault("missing-key", (at, node.span), message, None);
        return None;
    };
    let path = old.path("value");
    match kind.as_str() {
        "file" | "not_file" => file(&kind, &value, &path, &mut to, report),
        _ => {
            if kind == "not_command" {
                inverted(&value, &path, report);
            }
            report.add(
                Fate::Carried,
                (&path, value.span),
                format!("a check `{kind}`"),
            );
            to.put(&kind, value);
        }
    }
    old.finish(report);
    Some(placed(node.span, to.finish(&Extra::default())))
}

/// `npm audit` ends with 0 when all is well: the check as written holds only when it is not.
fn inverted(value: &Node, at: &str, report: &mut Report) {
    let command = value.as_str().unwrap_or_default();
    let mut words = command.split(|c: char| !c.is_alphanumeric());
    if let Some(tool) = words.find(|word| CLEAN_IS_ZERO.contains(word)) {
        let what = format!(
            "`{}` must fail, and `{tool}` ends with 0 when it finds nothing: the check holds only while something is wrong. Most likely `command` was meant",
            super::quoted(command)
        );
        report.add(Fate::Warned, (at, value.span), what);
    }
}

/// A path of the project is carried; any other is looked at by a command.
fn file(kind: &str, value: &Node, at: &str, to: &mut Writer, report: &mut Report) {
    let written = value.as_str().unwrap_or_default().trim();
    let path = written.trim_start_matches("./").trim_end_matches('/');
    let is_outside = written.starts_with('/') || written.split('/').any(|part| part == "..");
    let is_glob = written.contains(['*', '?', '[', '{']);
    if is_outside && !is_glob {
        let not = if kind == "file" { "" } else { "! " };
        let command = format!("{not}test -e '{}'", written.replace('\'', r"'\''"));
        let what = format!("outside of the project, so it is looked at by `{command}`");
        report.add(Fate::Changed, (at, value.span), what);
        to.put("command", placed(value.span, Node::string(command)));
        return;
    }
    let path = if is_outside || path.is_empty() {
        written
    } else {
        path
    };
    if path != written {
        report.add(
            Fate::Changed,
            (at, value.span),
            format!("written as `{path}`"),
        );
    } else {
        report.add(Fate::Carried, (at, value.span), format!("a check `{kind}`"));
    }
    to.put(kind, placed(value.span, Node::string(path)));
}

/// A model would judge it; here a person says that it holds, or nobody does.
fn quality(old: &mut Old<'_>, to: &mut Writer, node: &Node, report: &mut Report) {
    let criteria = old
        .text("criteria", report)
        .or_else(|| old.text("value", report));
    let rubric = old.take("rubric");
    let named = rubric.and_then(Node::as_array).unwrap_or_default().iter();
    let named: Vec<&str> = named
        .filter_map(|one| one.get("criterion").and_then(Node::as_str))
        .collect();
    let words = match &criteria {
        Some(text) => text.as_str().unwrap_or_default().to_owned(),
        None => named.join("; "),
    };
    for key in ["pass_threshold", "scope"] {
        let _ = old.take(key);
    }
    let at = old.at.clone();
    let span: Span = node.span;
    if words.trim().is_empty() {
        report.fault(
            "bad-check",
            (&at, span),
            "a `quality` without criteria or rubric",
            None,
        );
        return;
    }
    let what =
        "no model judges here: it became an assertion, which a person confirms (`descent confirm`)";
    report.add(Fate::Changed, (&at, span), what);
    report.keep(&at, node, "what the model was to judge by");
    to.put("assertion", placed(span, Node::string(words)));
}
