//! Checks: the tree of external conditions that decides whether something holds (contract §3).
//!
//! Not here: measuring a leaf (the shell), verdicts (`verdict`).

mod number;
mod pattern;

pub use number::{BASELINE, NumberRule, number_node};
pub use pattern::{Pattern, PatternKind, patterns};

use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec::Vec};

use super::{
    FreeValue,
    fields::{DurationText, Extra, Fields, Findings, Writer},
};
use crate::{
    doc::{self, Node},
    id::Digest,
};

/// A node of the tree, with the name that a person gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: Option<String>,
    pub kind: CheckKind,
    extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CheckKind {
    All(Vec<Check>),
    Any(Vec<Check>),
    Leaf(Box<Leaf>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Leaf {
    Command(CommandLeaf),
    NotCommand {
        command: String,
        timeout: Option<DurationText>,
        expect_exit: Option<i32>,
    },
    File {
        path: String,
        contains: Option<String>,
        sha256: Option<String>,
    },
    NotFile {
        path: String,
    },
    Quality {
        statement: String,
        pass_threshold: Option<FreeValue>,
        rubric: Option<FreeValue>,
    },
    Assertion {
        statement: String,
    },
    /// Of a kind that only a newer version knows: unknown for ever, and carried as it stands.
    Newer(FreeValue),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommandLeaf {
    pub command: String,
    pub timeout: Option<DurationText>,
    pub expect_exit: i32,
    pub stdout_matches: Option<String>,
    pub number: Option<NumberRule>,
}

/// Depth at most of a tree of checks.
pub const DEPTH_MAX: usize = 16;

const LEAF_KEYS: [&str; 8] = [
    "all",
    "any",
    "command",
    "not_command",
    "file",
    "not_file",
    "quality",
    "assertion",
];

impl Check {
    /// A check made by the program itself, without a name.
    pub fn of(kind: CheckKind) -> Self {
        Self {
            name: None,
            kind,
            extra: Extra::default(),
        }
    }

    /// The shell command that must end with 0.
    pub fn command(command: &str) -> Self {
        Self::of(CheckKind::Leaf(Box::new(Leaf::Command(CommandLeaf {
            command: command.to_owned(),
            timeout: None,
            expect_exit: 0,
            stdout_matches: None,
            number: None,
        }))))
    }

    pub fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        Self::read_at(node, pointer, found, 0)
    }

    fn read_at(node: &Node, pointer: &str, found: &mut Findings, depth: usize) -> Option<Self> {
        if depth > DEPTH_MAX {
            let message = format!("checks are nested more than {DEPTH_MAX} deep");
            found.fault("checks-too-deep", (pointer, node.span), message, None);
            return None;
        }
        let mut fields = Fields::open_or(node, pointer, found, form_of)?;
        let name = fields.text("name");
        let present: Vec<&str> = LEAF_KEYS
            .iter()
            .copied()
            .filter(|key| node.get(key).is_some())
            .collect();
        let kind = match present.as_slice() {
            ["all"] => CheckKind::All(read_parts(&mut fields, "all", depth)),
            ["any"] => CheckKind::Any(read_parts(&mut fields, "any", depth)),
            [key] => CheckKind::Leaf(Box::new(read_leaf(&mut fields, key)?)),
            _ => {
                let is_newer = no_single_kind(&mut fields, &present);
                return is_newer.then(|| Self {
                    name,
                    kind: CheckKind::Leaf(Box::new(Leaf::Newer(node.clone()))),
                    extra: Extra::whole(node),
                });
            }
        };
        Some(Self {
            name,
            kind,
            extra: fields.finish(),
        })
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        if let Some(name) = &self.name {
            to.text("name", name);
        }
        match &self.kind {
            CheckKind::All(parts) => {
                to.put("all", Node::array(parts.iter().map(Check::node).collect()));
            }
            CheckKind::Any(parts) => {
                to.put("any", Node::array(parts.iter().map(Check::node).collect()));
            }
            CheckKind::Leaf(leaf) => write_leaf(leaf, &mut to),
        }
        to.finish(&self.extra)
    }

    /// Every leaf, as written.
    pub fn leaves(&self) -> Vec<&Check> {
        match &self.kind {
            CheckKind::All(parts) | CheckKind::Any(parts) => {
                parts.iter().flat_map(Check::leaves).collect()
            }
            CheckKind::Leaf(_) => Vec::from([self]),
        }
    }

    /// Every rule of a number whose limit is a baseline, in the order of the leaves.
    pub fn baselines_mut(&mut self) -> Vec<&mut NumberRule> {
        match &mut self.kind {
            CheckKind::All(parts) | CheckKind::Any(parts) => {
                parts.iter_mut().flat_map(Check::baselines_mut).collect()
            }
            CheckKind::Leaf(leaf) => {
                let rule = leaf.number_mut();
                rule.filter(|rule| rule.has_baseline())
                    .into_iter()
                    .collect()
            }
        }
    }

    /// The same as it was written, before `align` measured anything.
    pub fn unmeasured(&self) -> Self {
        let mut check = self.clone();
        for rule in check.baselines_mut() {
            rule.baseline = None;
        }
        check
    }

    pub fn leaf(&self) -> Option<&Leaf> {
        match &self.kind {
            CheckKind::Leaf(leaf) => Some(leaf),
            CheckKind::All(_) | CheckKind::Any(_) => None,
        }
    }

    /// What a person calls it: its name, else its text.
    pub fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        match &self.kind {
            CheckKind::All(_) => "all of".to_owned(),
            CheckKind::Any(_) => "any of".to_owned(),
            CheckKind::Leaf(leaf) => leaf.title(),
        }
    }

    /// What its evidence is keyed by: its rule without its name.
    pub fn key(&self) -> Digest {
        let mut to = Writer::default();
        if let CheckKind::Leaf(leaf) = &self.kind {
            write_leaf(leaf, &mut to);
        }
        Digest::of(doc::canonical(&to.finish(&Extra::default())).as_bytes())
    }
}

impl Leaf {
    /// Whether a machine decides it without a model or a person.
    pub fn is_machine(&self) -> bool {
        match self {
            Leaf::Command(_)
            | Leaf::NotCommand { .. }
            | Leaf::File { .. }
            | Leaf::NotFile { .. } => true,
            Leaf::Quality { .. } | Leaf::Assertion { .. } | Leaf::Newer(_) => false,
        }
    }

    pub fn number(&self) -> Option<&NumberRule> {
        match self {
            Leaf::Command(leaf) => leaf.number.as_ref(),
            Leaf::NotCommand { .. }
            | Leaf::File { .. }
            | Leaf::NotFile { .. }
            | Leaf::Quality { .. }
            | Leaf::Assertion { .. }
            | Leaf::Newer(_) => None,
        }
    }

    fn number_mut(&mut self) -> Option<&mut NumberRule> {
        match self {
            Leaf::Command(leaf) => leaf.number.as_mut(),
            Leaf::NotCommand { .. }
            | Leaf::File { .. }
            | Leaf::NotFile { .. }
            | Leaf::Quality { .. }
            | Leaf::Assertion { .. }
            | Leaf::Newer(_) => None,
        }
    }

    fn title(&self) -> String {
        match self {
            Leaf::Command(leaf) => leaf.command.clone(),
            Leaf::NotCommand { command, .. } => format!("not: {command}"),
            Leaf::File { path, .. } => format!("file {path}"),
            Leaf::NotFile { path } => format!("no file {path}"),
            Leaf::Quality { statement, .. } => format!("quality: {statement}"),
            Leaf::Assertion { statement } => format!("confirmed: {statement}"),
            Leaf::Newer(node) => format!("a newer check: {}", doc::write_compact(node)),
        }
    }
}

fn read_parts(fields: &mut Fields<'_, '_>, key: &'static str, depth: usize) -> Vec<Check> {
    let parts = fields.list(key);
    if parts.is_empty()
        && fields
            .node
            .get(key)
            .is_some_and(|node| node.as_array().is_some())
    {
        let at = fields.at(key);
        let span = fields
            .node
            .get(key)
            .map_or(fields.node.span, |node| node.span);
        let message = format!("`{key}` holds no check");
        fields.found.fault(
            "empty-checks",
            (&at, span),
            message,
            Some("add a check, or remove it".to_owned()),
        );
    }
    parts
        .into_iter()
        .filter_map(|(at, node)| Check::read_at(node, &at, fields.found, depth + 1))
        .collect()
}

/// What to write for what is no check.
fn form_of(node: &Node) -> Option<String> {
    if node.as_array().is_some() {
        return Some("write `{all: [{command: …}, …]}`: all of them must hold".to_owned());
    }
    node.as_str().map(|_| "write `{command: …}`".to_owned())
}

/// True where only a newer version can know what kind it is.
fn no_single_kind(fields: &mut Fields<'_, '_>, present: &[&str]) -> bool {
    let at = (fields.pointer.clone(), fields.node.span);
    let (message, hint) = if present.is_empty() {
        let keys = fields
            .node
            .as_object()
            .unwrap_or_default()
            .iter()
            .map(|member| member.key.as_str());
        let near = keys
            .filter_map(|key| doc::suggest(key, LEAF_KEYS).map(|near| (key, near)))
            .next();
        let hint = match near {
            Some((key, near)) => format!("`{key}`: did you mean `{near}`?"),
            None => format!("one of {}", LEAF_KEYS.join(", ")),
        };
        let unknown = "a check of a kind that is not known".to_owned();
        if fields
            .found
            .newer((&at.0, at.1), unknown, near.map(|_| hint.clone()))
        {
            return true;
        }
        (
            "a check needs one key that tells what is checked".to_owned(),
            hint,
        )
    } else {
        (
            format!("a check holds only one of `{}`", present.join("`, `")),
            "split it into two checks".to_owned(),
        )
    };
    fields
        .found
        .fault("bad-check", (&at.0, at.1), message, Some(hint));
    false
}

fn read_leaf(fields: &mut Fields<'_, '_>, key: &str) -> Option<Leaf> {
    Some(match key {
        "command" => Leaf::Command(CommandLeaf {
            command: command(fields, "command")?,
            timeout: fields.length("timeout"),
            expect_exit: fields.integer("expect_exit").unwrap_or(0),
            stdout_matches: fields.text("stdout_matches"),
            number: NumberRule::read(fields),
        }),
        "not_command" => Leaf::NotCommand {
            command: command(fields, "not_command")?,
            timeout: fields.length("timeout"),
            expect_exit: fields.integer("expect_exit"),
        },
        "file" => Leaf::File {
            path: inside(fields, "file")?,
            contains: fields.text("contains"),
            sha256: fields.text("sha256"),
        },
        "not_file" => Leaf::NotFile {
            path: inside(fields, "not_file")?,
        },
        "quality" => Leaf::Quality {
            statement: quality(fields)?,
            pass_threshold: fields.take("pass_threshold").cloned(),
            rubric: fields.take("rubric").cloned(),
        },
        _ => Leaf::Assertion {
            statement: not_blank(fields, "assertion")?,
        },
    })
}

/// A path or glob of the project: relative, and not upwards.
fn inside(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let path = not_blank(fields, key)?;
    let leads_outside = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leads_outside {
        let at = fields.at(key);
        let span = fields
            .node
            .get(key)
            .map_or(fields.node.span, |node| node.span);
        let message = format!("`{path}` leads outside of the project");
        let hint = Some("a relative path without `..`; for anything else a `command`".to_owned());
        fields
            .found
            .fault("path-outside", (&at, span), message, hint);
        return None;
    }
    Some(path)
}

fn not_blank(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key);
    fields.filled(key, text?)
}

/// No model judges in this version; in a newer one it may.
fn quality(fields: &mut Fields<'_, '_>) -> Option<String> {
    let text = not_blank(fields, "quality")?;
    let at = (fields.at("quality"), fields.node.span);
    let _ = fields.found.newer(
        (&at.0, at.1),
        "a judging model is not known".to_owned(),
        None,
    );
    Some(text)
}

fn command(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.command(key);
    fields.filled(key, text?)
}

fn write_leaf(leaf: &Leaf, to: &mut Writer) {
    let length =
        |length: &Option<DurationText>| length.as_ref().map(|length| Node::string(length.as_str()));
    let text = |text: &Option<String>| text.as_ref().map(|text| Node::string(text.as_str()));
    let exit = |code: i32| Node {
        value: doc::Value::Number(format!("{code}")),
        span: doc::Span::default(),
    };
    match leaf {
        Leaf::Command(leaf) => {
            to.text("command", &leaf.command)
                .some("timeout", length(&leaf.timeout));
            to.some(
                "expect_exit",
                (leaf.expect_exit != 0).then(|| exit(leaf.expect_exit)),
            );
            to.some("stdout_matches", text(&leaf.stdout_matches));
            if let Some(number) = &leaf.number {
                number.write(to);
            }
        }
        Leaf::NotCommand {
            command,
            timeout,
            expect_exit,
        } => {
            to.text("not_command", command)
                .some("timeout", length(timeout));
            to.some("expect_exit", expect_exit.map(exit));
        }
        Leaf::File {
            path,
            contains,
            sha256,
        } => {
            to.text("file", path)
                .some("contains", text(contains))
                .some("sha256", text(sha256));
        }
        Leaf::NotFile { path } => {
            to.text("not_file", path);
        }
        Leaf::Quality {
            statement,
            pass_threshold,
            rubric,
        } => {
            to.text("quality", statement).some("rubric", rubric.clone());
            to.some("pass_threshold", pass_threshold.clone());
        }
        Leaf::Assertion { statement } => {
            to.text("assertion", statement);
        }
        Leaf::Newer(node) => {
            for member in node.as_object().unwrap_or_default() {
                to.put(&member.key, member.node.clone());
            }
        }
    }
}
