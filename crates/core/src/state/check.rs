//! Checks: the tree of external conditions that decides whether a goal or an atom holds (contract §3).
//!
//! Not here: measuring a leaf (the shell), verdicts (`verdict`).

mod number;
mod quality;

pub use number::{BASELINE, NumberRule, number_node, number_of};
pub use number::{Pattern, PatternKind, patterns, patterns_of_atom, schema, schemas};
pub use quality::{CRITERIA_MAX, Criterion, LEVEL_MAX, QualityLeaf, Thousandths};

use super::{
    FreeValue,
    fields::{DurationText, Extra, Fields, Findings, Writer},
    rule::{ChoiceRule, Form, RecordRule},
    table::{Part, record, rule},
    value::FieldValue,
};
use crate::doc::prelude::*;
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
    NotCommand(NotCommandLeaf),
    File(FileLeaf),
    NotFile(NotFileLeaf),
    Quality(QualityLeaf),
    Assertion(AssertionLeaf),
    /// A kind that only a newer version knows: unknown for ever, and carried as it stands.
    Newer(FreeValue),
}

record! {
    part
    /// A shell command ends with the expected code, and what it prints fits
    #[derive(Default, PartialEq)]
    pub struct CommandLeaf {
        /// A shell command: it passes with exit 0, or the one in `expect_exit`
        expected(command) command: String {Form::NonBlank},
        /// How long it may take
        optional timeout: DurationText,
        /// 0 unless given
        filled expect_exit: i32 = 0,
        /// A regular expression that the output must match
        optional stdout_matches: String,
        part number: Option<NumberRule>,
    }
}

record! {
    part
    /// A shell command runs and does not end with 0, or ends with the code expected
    #[derive(PartialEq)]
    pub struct NotCommandLeaf {
        /// A shell command: it passes with any other exit than 0
        expected(command) command as "not_command": String {Form::NonBlank},
        /// How long it may take
        optional timeout: DurationText,
        /// The exit that is wrong
        optional expect_exit: i32,
    }
}

record! {
    part
    /// A path or glob exists
    #[derive(PartialEq)]
    pub struct FileLeaf {
        /// A path or a pattern that a file must match
        expected(inside) path as "file": String {Form::NonBlank},
        /// A regular expression that its content must match
        optional contains: String,
        /// The digest of its content
        optional sha256: String,
    }
}

record! {
    part
    /// No path matches
    #[derive(PartialEq)]
    pub struct NotFileLeaf {
        /// A path or a pattern that no file may match
        expected(inside) path as "not_file": String {Form::NonBlank},
    }
}

record! {
    part
    /// A person confirmed it
    #[derive(PartialEq)]
    pub struct AssertionLeaf {
        /// A sentence that a person says holds
        expected(not_blank) statement as "assertion": String {Form::NonBlank},
    }
}

/// Depth at most of a tree of checks.
pub const DEPTH_MAX: usize = 16;

const LEAF_KEYS: [&str; 8] =
    ["all", "any", "command", "not_command", "file", "not_file", "quality", "assertion"];

impl Check {
    /// A check made by the program itself, without a name.
    pub fn of(kind: CheckKind) -> Self {
        Self { name: None, kind, extra: Extra::default() }
    }

    /// The shell command that must end with 0.
    pub fn command(command: &str) -> Self {
        Self::of(CheckKind::Leaf(Box::new(Leaf::Command(CommandLeaf {
            command: command.to_owned(),
            ..CommandLeaf::default()
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
        let present: Vec<&str> =
            LEAF_KEYS.iter().copied().filter(|key| node.get(key).is_some()).collect();
        let kind = match present.as_slice() {
            ["all"] => CheckKind::All(read_parts(&mut fields, "all", depth)),
            ["any"] => CheckKind::Any(read_parts(&mut fields, "any", depth)),
            [key] => CheckKind::Leaf(Box::new(read_leaf(&mut fields, key)?)),
            _ => {
                let is_newer = no_single_kind(&mut fields, &present);
                return is_newer.then(|| Self {
                    name,
                    kind: CheckKind::Leaf(Box::new(Leaf::Newer(node.clone()))),
                    extra: Extra::whole(node, None),
                });
            }
        };
        Some(Self { name, kind, extra: fields.finish() })
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

    /// Every rule of a number with a baseline as its limit, in the order of the leaves.
    pub fn baselines_mut(&mut self) -> Vec<&mut NumberRule> {
        match &mut self.kind {
            CheckKind::All(parts) | CheckKind::Any(parts) => {
                parts.iter_mut().flat_map(Check::baselines_mut).collect()
            }
            CheckKind::Leaf(leaf) => {
                let rule = leaf.number_mut();
                rule.filter(|rule| rule.has_baseline()).into_iter().collect()
            }
        }
    }

    /// The check as it was written, before `align` measured anything.
    pub fn unmeasured(&self) -> Self {
        let mut check = self.clone();
        for rule in check.baselines_mut() {
            rule.baseline = None;
        }
        check
    }

    /// The leaves that a judge rates.
    pub fn qualities(&self) -> impl Iterator<Item = &QualityLeaf> {
        self.leaves().into_iter().filter_map(|leaf| match leaf.leaf() {
            Some(Leaf::Quality(leaf)) => Some(leaf),
            _ => None,
        })
    }

    /// The first leaf that a judge rates.
    pub fn first_quality(&self) -> Option<&Self> {
        let mut leaves = self.leaves().into_iter();
        leaves.find(|leaf| matches!(leaf.leaf(), Some(Leaf::Quality(_))))
    }

    pub fn leaf(&self) -> Option<&Leaf> {
        match &self.kind {
            CheckKind::Leaf(leaf) => Some(leaf),
            CheckKind::All(_) | CheckKind::Any(_) => None,
        }
    }

    /// Its title for a person: its name, else its text.
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

    /// The key of its evidence: its rule without its name.
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
        !matches!(self, Leaf::Quality(_) | Leaf::Assertion(_) | Leaf::Newer(_))
    }

    pub fn number(&self) -> Option<&NumberRule> {
        match self {
            Leaf::Command(leaf) => leaf.number.as_ref(),
            _ => None,
        }
    }

    fn number_mut(&mut self) -> Option<&mut NumberRule> {
        match self {
            Leaf::Command(leaf) => leaf.number.as_mut(),
            _ => None,
        }
    }

    /// Its own text, whatever a person called it.
    pub fn title(&self) -> String {
        match self {
            Leaf::Command(leaf) => leaf.command.clone(),
            Leaf::NotCommand(leaf) => format!("not: {}", leaf.command),
            Leaf::File(leaf) => format!("file {}", leaf.path),
            Leaf::NotFile(leaf) => format!("no file {}", leaf.path),
            Leaf::Quality(leaf) => format!("quality: {}", leaf.statement),
            Leaf::Assertion(leaf) => format!("confirmed: {}", leaf.statement),
            Leaf::Newer(node) => format!("a newer check: {}", doc::write_compact(node)),
        }
    }
}

fn read_parts(fields: &mut Fields<'_, '_>, key: &'static str, depth: usize) -> Vec<Check> {
    let parts = fields.list(key);
    if parts.is_empty() && fields.node.get(key).is_some_and(|node| node.as_array().is_some()) {
        let message = format!("`{key}` holds no check");
        let hint = "add a check, or remove it".to_owned();
        fields.fault_at(key, "empty-checks", message, Some(hint));
    }
    parts
        .into_iter()
        .filter_map(|(at, node)| Check::read_at(node, &at, fields.found, depth + 1))
        .collect()
}

/// The right form for a node that is no check.
fn form_of(node: &Node) -> Option<String> {
    if node.as_array().is_some() {
        return Some("write `{all: [{command: …}, …]}`: all of them must hold".to_owned());
    }
    node.as_str().map(|_| "write `{command: …}`".to_owned())
}

/// True if only a newer version can know the kind.
fn no_single_kind(fields: &mut Fields<'_, '_>, present: &[&str]) -> bool {
    let at = (fields.pointer.clone(), fields.node.span);
    let (message, hint) = if present.is_empty() {
        let keys =
            fields.node.as_object().unwrap_or_default().iter().map(|member| member.key.as_str());
        let near =
            keys.filter_map(|key| doc::suggest(key, LEAF_KEYS).map(|near| (key, near))).next();
        let hint = match near {
            Some((key, near)) => format!("`{key}`: did you mean `{near}`?"),
            None => format!("one of {}", LEAF_KEYS.join(", ")),
        };
        let unknown = "a check of a kind that is not known".to_owned();
        if fields.found.newer((&at.0, at.1), unknown, near.map(|_| hint.clone())) {
            return true;
        }
        ("a check needs one key that tells what is checked".to_owned(), hint)
    } else {
        (
            format!("a check holds only one of `{}`", present.join("`, `")),
            "split it into two checks".to_owned(),
        )
    };
    fields.found.fault("bad-check", (&at.0, at.1), message, Some(hint));
    false
}

fn read_leaf(fields: &mut Fields<'_, '_>, key: &str) -> Option<Leaf> {
    match key {
        "command" => CommandLeaf::read(fields).map(Leaf::Command),
        "not_command" => NotCommandLeaf::read(fields).map(Leaf::NotCommand),
        "file" => FileLeaf::read(fields).map(Leaf::File),
        "not_file" => NotFileLeaf::read(fields).map(Leaf::NotFile),
        "quality" => QualityLeaf::read(fields).map(Leaf::Quality),
        _ => AssertionLeaf::read(fields).map(Leaf::Assertion),
    }
}

/// A path or glob inside the project: relative, and not upwards.
fn inside(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let path = not_blank(fields, key)?;
    let leads_outside = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leads_outside {
        let message = format!("`{path}` leads outside of the project");
        let hint = Some("a relative path without `..`; for anything else a `command`".to_owned());
        fields.fault_at(key, "path-outside", message, hint);
        return None;
    }
    Some(path)
}

fn not_blank(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key);
    fields.filled(key, text?)
}

fn command(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.command(key);
    fields.filled(key, text?)
}

fn write_leaf(leaf: &Leaf, to: &mut Writer) {
    match leaf {
        Leaf::Command(leaf) => leaf.write(to),
        Leaf::NotCommand(leaf) => leaf.write(to),
        Leaf::File(leaf) => leaf.write(to),
        Leaf::NotFile(leaf) => leaf.write(to),
        Leaf::Quality(leaf) => leaf.write(to),
        Leaf::Assertion(leaf) => leaf.write(to),
        Leaf::Newer(node) => {
            for member in node.as_object().unwrap_or_default() {
                to.put(&member.key, member.node.clone());
            }
        }
    }
}

impl Check {
    pub const RULE: ChoiceRule = ChoiceRule {
        name: "Check",
        is_exclusive: true,
        doc: "One condition, or a tree of them",
        common: || Vec::from([rule::<String>("name", "What it is called")]),
        records: &[
            &ALL,
            &ANY,
            &CommandLeaf::RULE,
            &NotCommandLeaf::RULE,
            &FileLeaf::RULE,
            &NotFileLeaf::RULE,
            &QualityLeaf::RULE,
            &AssertionLeaf::RULE,
        ],
    };
}

const ALL: RecordRule = RecordRule {
    name: "AllOf",
    doc: "Passes when every part does",
    fields: || Vec::from([rule::<Vec<Check>>("all", "").required()]),
};

const ANY: RecordRule = RecordRule {
    name: "AnyOf",
    doc: "Passes when one part does",
    fields: || {
        let filled = Form::Filled(Box::new(Vec::<Check>::form()));
        Vec::from([rule::<Vec<Check>>("any", "").required().of_form(filled)])
    },
};

impl FieldValue for Check {
    fn form() -> Form {
        Form::OneOf(&Check::RULE)
    }

    fn read(node: &Node, pointer: &str, found: &mut Findings) -> Option<Self> {
        Check::read(node, pointer, found)
    }

    fn node(&self) -> Node {
        Check::node(self)
    }
}
