//! Words of an atom that carry data, each with the keys that it stands in: where an atom stands, how a try ended, and
//! how far an action reaches.
//!
//! Invariant: a word that only a newer version knows is written back as it is, with the keys beside it.

use alloc::{borrow::ToOwned, string::String, sync::Arc, vec::Vec};

use super::{AtomStatus, BlockedReport, FailureClass, ShownStatus, SideEffect, TryEnd};
use crate::{
    doc::Node,
    id::AttemptId,
    state::{
        Binding,
        fields::{Fields, Writer},
        rule::{FieldRule, Owner},
        table::{Part, rule, words},
        value::FieldValue,
    },
};

words! {
    pub enum StatusWord {
        Pending = "pending",
        /// No attempt is left in the present context
        Failed = "failed",
        /// An attempt said that it cannot be done
        Invalid = "invalid",
        NeedsGuidance = "needs_guidance",
        /// An external effect that may or may not have happened
        InDoubt = "in_doubt",
    }
}

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
        let word = fields.owned(Owner::Internal, |fields| StatusWord::take(fields, "status"));
        let word = word.unwrap_or(StatusWord::Pending);
        if word == StatusWord::InDoubt {
            // The id of the attempt, by which `resolve` asks for it.
            let named = fields.need("because").and_then(Node::as_str);
            let _ = named.and_then(|attempt| fields.filled("because", attempt.to_owned()));
        }
        let because = fields.text_or_empty("because");
        let is_invalid = word == StatusWord::Invalid;
        let output = is_invalid.then(|| Node::take(fields, "output")).flatten();
        fields
            .owned(Owner::Internal, |fields| keep_beside(fields, "status", &["because", "output"]));
        Some(match word {
            StatusWord::Pending => AtomStatus::Pending,
            StatusWord::Failed => AtomStatus::Failed,
            StatusWord::Invalid => AtomStatus::Invalid(BlockedReport { words: because, output }),
            StatusWord::NeedsGuidance => AtomStatus::NeedsGuidance,
            StatusWord::InDoubt => AtomStatus::InDoubt(AttemptId::new(because)),
        })
    }

    fn write(&self, to: &mut Writer) {
        let output = match self {
            AtomStatus::Invalid(report) => report.output.clone(),
            _ => None,
        };
        let (word, because) = match self {
            AtomStatus::Pending => (StatusWord::Pending, None),
            AtomStatus::Failed => (StatusWord::Failed, None),
            AtomStatus::Invalid(report) => (StatusWord::Invalid, Some(report.words.as_str())),
            AtomStatus::NeedsGuidance => (StatusWord::NeedsGuidance, None),
            AtomStatus::InDoubt(attempt) => (StatusWord::InDoubt, Some(attempt.as_str())),
        };
        if word != StatusWord::Pending {
            to.owned(Owner::Internal, |to| {
                to.text("status", word.word());
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
