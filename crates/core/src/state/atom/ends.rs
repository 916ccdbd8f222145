//! Values of an atom with a form of their own: words that carry data, each with its keys, the word for people, the members
//! of a group, checks, guidance.
//!
//! Invariant: a word that only a newer version knows is written back as it is, with the keys beside it.

use super::{Atom, AtomStatus, BlockedReport, FailureClass, SideEffect, Task, Try, TryEnd};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    id::{AtomId, AttemptId},
    state::{
        Binding, Check,
        fields::{Fields, Findings, Writer},
        rule::{FieldRule, Owner},
        table::{Part, rule, words},
        value::FieldValue,
    },
};

words! {
    pub enum TryEndWord {
        Failed = "failed",
        /// Solved in a context that is not in force
        Parked = "parked",
    }
}

words! {
    pub enum EffectWord {
        /// Lives in the workspace alone
        Tree = "tree",
        /// Reaches outside: nothing undoes it
        External = "external",
    }
}

impl Part for AtomStatus {
    fn rules() -> Vec<FieldRule> {
        Vec::from([
            rule::<ShownStatus>("status", "`pending` unless given"),
            rule::<String>("because", "Why it is `invalid`, or the attempt that is `in_doubt`"),
            rule::<Node>("output", "Of one that is `invalid`: the value, and what it hands on"),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        if fields.is_in_halves() {
            // People read this one, and a word that they write is no status yet.
            let _ = ShownStatus::take(fields, "status");
        }
        let words = ShownStatus::WORDS.into_iter();
        let words: Vec<_> = words.filter(|(_, word)| *word != ShownStatus::Resolved).collect();
        let word = fields.owned(Owner::Internal, |fields| fields.word("status", &words));
        let word = word.unwrap_or(ShownStatus::Pending);
        if word == ShownStatus::InDoubt {
            // The id of the attempt, by which `resolve` asks for it.
            let named = fields.need("because").and_then(Node::as_str);
            let _ = named.and_then(|attempt| fields.filled("because", attempt.to_owned()));
        }
        let because = fields.text_or_empty("because");
        let is_invalid = word == ShownStatus::Invalid;
        let output = is_invalid.then(|| Node::take(fields, "output")).flatten();
        fields
            .owned(Owner::Internal, |fields| keep_beside(fields, "status", &["because", "output"]));
        Some(match word {
            ShownStatus::Pending | ShownStatus::Resolved => AtomStatus::Pending,
            ShownStatus::Failed => AtomStatus::Failed,
            ShownStatus::Invalid => AtomStatus::Invalid(BlockedReport { words: because, output }),
            ShownStatus::NeedsGuidance => AtomStatus::NeedsGuidance,
            ShownStatus::InDoubt => AtomStatus::InDoubt(AttemptId::new(because)),
        })
    }

    fn write(&self, to: &mut Writer) {
        let (because, output) = match self {
            AtomStatus::Invalid(report) => (Some(report.words.as_str()), report.output.clone()),
            AtomStatus::InDoubt(attempt) => (Some(attempt.as_str()), None),
            _ => (None, None),
        };
        if *self != AtomStatus::Pending {
            to.owned(Owner::Internal, |to| {
                to.text("status", self.shown().word());
            });
        }
        to.some("because", because.map(Node::string)).some("output", output);
    }
}

impl Part for Option<TryEnd> {
    fn rules() -> Vec<FieldRule> {
        Vec::from([
            rule::<TryEndWord>("ended", ""),
            rule::<FailureClass>("class", "How it failed"),
            rule::<Binding>("result", "What is parked"),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let word = TryEndWord::take(fields, "ended");
        if word == Some(TryEndWord::Parked) {
            let _ = fields.need("result");
        }
        let class = FailureClass::take(fields, "class").unwrap_or(FailureClass::Logical);
        let parked = Binding::take(fields, "result");
        keep_beside(fields, "ended", &["class", "result"]);
        Some(match word {
            None => None,
            Some(TryEndWord::Failed) => Some(TryEnd::Failed(class)),
            Some(TryEndWord::Parked) => parked.map(|binding| TryEnd::Parked(Arc::new(binding))),
        })
    }

    fn write(&self, to: &mut Writer) {
        match self {
            None => {}
            Some(TryEnd::Failed(class)) => {
                to.text("ended", TryEndWord::Failed.word()).text("class", class.word());
            }
            Some(TryEnd::Parked(binding)) => {
                to.text("ended", TryEndWord::Parked.word()).put("result", binding.parked_node());
            }
        }
    }
}

impl Part for SideEffect {
    fn rules() -> Vec<FieldRule> {
        Vec::from([
            rule::<EffectWord>("effect", "`tree` unless given"),
            rule::<bool>("idempotent", "An external effect that may happen twice"),
        ])
    }

    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let word = EffectWord::take(fields, "effect").unwrap_or(EffectWord::Tree);
        let idempotent = fields.flag("idempotent").unwrap_or(false);
        keep_beside(fields, "effect", &["idempotent"]);
        Some(match word {
            EffectWord::Tree => SideEffect::Tree,
            EffectWord::External => SideEffect::External { idempotent },
        })
    }

    fn write(&self, to: &mut Writer) {
        if let SideEffect::External { idempotent } = self {
            to.text("effect", EffectWord::External.word())
                .put("idempotent", Node::bool(*idempotent));
        }
    }
}

/// Keys that are written only beside a known value of `word` stay where that one is not understood.
fn keep_beside(fields: &mut Fields<'_, '_>, word: &str, keys: &[&'static str]) {
    if fields.keeps(word) {
        keys.iter().for_each(|key| fields.keep(key));
    }
}

words! {
    /// The status of an atom for people
    pub enum ShownStatus {
        Pending = "pending",
        /// It has a binding, or all that it needs of its members has
        Resolved = "resolved",
        /// No attempt is left
        Failed = "failed",
        /// An attempt said that it cannot be done
        Invalid = "invalid",
        NeedsGuidance = "needs_guidance",
        /// An external effect that may or may not have happened
        InDoubt = "in_doubt",
    }
}

impl ShownStatus {
    /// The status of an atom that is open.
    pub fn of_open(atom: &Atom) -> Self {
        let Some(task) = atom.task() else {
            return Self::Pending;
        };
        match task.status.shown() {
            Self::Pending if has_failed(task) => Self::Failed,
            shown => shown,
        }
    }
}

impl AtomStatus {
    fn shown(&self) -> ShownStatus {
        match self {
            AtomStatus::Pending => ShownStatus::Pending,
            AtomStatus::Failed => ShownStatus::Failed,
            AtomStatus::Invalid(_) => ShownStatus::Invalid,
            AtomStatus::NeedsGuidance => ShownStatus::NeedsGuidance,
            AtomStatus::InDoubt(_) => ShownStatus::InDoubt,
        }
    }
}

/// Whether its newest context is used up.
fn has_failed(task: &Task) -> bool {
    task.tries.last().is_some_and(Try::has_failed)
}

pub(super) fn kids(fields: &mut Fields<'_, '_>, key: &'static str) -> Vec<AtomId> {
    if let Some(flat) = flat_form(fields, key) {
        let _ = fields.take(key);
        let message = format!("atoms are nested in `{key}`, as only a plan has them");
        fields.fault_at(key, "nested-atoms", message, Some(flat));
        return Vec::new();
    }
    let kids = Vec::take(fields, key).unwrap_or_default();
    let is_list = |node: &Node| node.as_array().is_some_and(<[_]>::is_empty);
    if kids.is_empty() && fields.node.get(key).is_none_or(is_list) {
        let node = fields.node;
        let pointer = fields.pointer.clone();
        no_kids(fields.found, node, &pointer, key);
    }
    kids
}

/// The form of the file for members that are written where they are named.
fn flat_form(fields: &Fields<'_, '_>, key: &str) -> Option<String> {
    let (group, list) = (fields.pointer.rsplit('/').next()?, fields.node.get(key)?);
    let (mut names, mut nested) = (Vec::new(), Vec::new());
    let members = list.as_object().unwrap_or_default().iter();
    nested.extend(members.map(|member| member.key.clone()));
    names.extend_from_slice(&nested);
    for (n, item) in list.as_array().unwrap_or_default().iter().enumerate() {
        let own_id = item.as_str().or_else(|| item.get("id")?.as_str());
        let name = own_id.map_or_else(|| format!("{group}-{}", n + 1), ToOwned::to_owned);
        nested.extend(item.as_object().map(|_| name.clone()));
        names.push(name);
    }
    let quoted = |names: &[String], after: &str| {
        let names = names.iter().map(|name| format!("\"{name}\"{after}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let (names, atoms) = (quoted(&names, ""), quoted(&nested, ": {…}"));
    let flat = || format!("write \"{key}\": [{names}], and beside `{group}`: {atoms}");
    (!nested.is_empty()).then(flat)
}

/// A group without parts or choices, at the list or, where there is none, at the group.
pub(super) fn no_kids(found: &mut Findings, group: &Node, pointer: &str, key: &str) {
    let (at, span) = match group.get(key) {
        Some(list) => (doc::pointer_push(pointer, key), list.span),
        None => (pointer.to_owned(), group.span),
    };
    let hint = Some("name at least one atom, or remove the group".to_owned());
    let message = format!("a group without {key}");
    found.fault("empty-group", (&at, span), message, hint);
}

/// The form of an action, for a value that is none.
pub(super) fn form_of_action(node: &Node) -> Option<String> {
    node.as_str().map(|_| "write `action: {run: …}`".to_owned())
}

/// Exit codes of a command that failed.
pub(super) fn exit_codes(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<i32>> {
    let mut codes = Vec::new();
    for (at, node) in fields.list(key) {
        match node.numeral().and_then(|text| text.parse().ok()) {
            Some(code) if (1..=255).contains(&code) => codes.push(code),
            _ => {
                let message = "an exit code is a whole number from 1 to 255".to_owned();
                fields.found.fault("bad-count", (&at, node.span), message, None);
            }
        }
    }
    Some(codes)
}

/// How much a person may say to an atom.
pub const GUIDANCE_MAX: usize = 20;
pub const GUIDANCE_CHARS_MAX: usize = 4_000;

pub(super) fn guidance(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let words: Vec<String> = Vec::take(fields, key)?;
    let count = words.len();
    if count > GUIDANCE_MAX {
        let message = format!("{count} pieces of guidance, the limit is {GUIDANCE_MAX}");
        let hint = Some("say in one what several say".to_owned());
        fields.fault_at(key, "too-many", message, hint);
    }
    let longest = words.iter().map(|one| one.chars().count()).max();
    if let Some(longest) = longest.filter(|longest| *longest > GUIDANCE_CHARS_MAX) {
        let message =
            format!("guidance of {longest} characters, the limit is {GUIDANCE_CHARS_MAX}");
        let hint = Some("put the rest into a file of the project, and name that file".to_owned());
        fields.fault_at(key, "too-large", message, hint);
    }
    Some(words)
}

/// An atom may write `{"all": []}` to have no checks.
pub(super) fn own_checks(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Check> {
    let all = fields.take(key)?.get("all").and_then(Node::as_array);
    if all.is_some_and(<[_]>::is_empty) {
        return None;
    }
    Check::take(fields, key)
}
