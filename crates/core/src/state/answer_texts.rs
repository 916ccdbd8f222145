//! The reading of texts, lists and numbers that agents and people say: on one line, within limits.
//!
//! Not here: the records that have them (`answer_records`, `judged`, `profile`).

use super::{
    check::Thousandths,
    fields::{Fields, NEAR_MISS},
    rule::Form,
    usage::Micros,
    value::{FieldValue, up_to},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Member, Value},
    id::AtomId,
};

/// Characters of a text, and of a finding.
pub(super) const TEXT_CHARS_MAX: usize = 4_000;
const FINDINGS_CHARS_MAX: usize = 2_000;
/// Texts of one list, and characters kept of each.
const LIST_MAX: usize = 5;
const LINE_CHARS_MAX: usize = 300;
/// Characters kept of reasons, and of a repair.
const REASON_CHARS_MAX: usize = 600;
/// Attempts in an estimate at most.
pub(super) const ATTEMPTS_MAX: u32 = 1_000;

/// The fault of a key at the top of an answer: one that nobody knows says nothing, unless it is a misspelt one.
pub(crate) fn misspelt_key(key: &str, known: &[&str]) -> Option<Fault> {
    let near = doc::did_you_mean(key, known.iter().copied())?;
    let message = format!("`{key}` is no key of the answer");
    Some(Fault::at(NEAR_MISS, &doc::pointer_push("", key), message, Some(&near)))
}

/// An unknown key is passed over, unless it is a misspelt one.
pub(crate) fn misspelt(
    member: &Member,
    fields: &Fields<'_, '_>,
) -> Option<(&'static str, String, String)> {
    let near = doc::did_you_mean(&member.key, fields.asked().iter().copied())?;
    Some((NEAR_MISS, format!("`{}` is no key of the answer", member.key), near))
}

/// The words of a text on one line, without what a terminal would obey.
pub fn in_a_line(text: &str, chars_max: usize) -> String {
    let is_break = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_break).filter(|word| !word.is_empty()).collect();
    let line: String = words.join(" ").chars().take(chars_max).collect();
    line.trim_end().into()
}

pub(super) fn few_texts() -> Form {
    Form::AtMost(LIST_MAX, Box::new(Form::Text))
}

pub(super) fn few(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<String>> {
    let all = Vec::<String>::take(fields, key)?;
    if all.len() > LIST_MAX {
        let message = format!("`{key}` is a list of at most {LIST_MAX} texts");
        fields.fault_at(key, "too-many", message, None);
        return None;
    }
    let lines = all.iter().map(|one| in_a_line(one, LINE_CHARS_MAX));
    Some(lines.filter(|line| !line.is_empty()).collect())
}

pub(super) fn few_ids(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Vec<AtomId>> {
    Some(few(fields, key)?.into_iter().map(AtomId::new).collect())
}

/// A text of several lines.
pub(super) fn text(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    let is_shown = |c: &char| !c.is_control() || *c == '\n';
    let text: String = text.chars().filter(is_shown).collect();
    let text = String::from(text.trim());
    if text.chars().count() > TEXT_CHARS_MAX {
        let message = format!("`{key}` has more than {TEXT_CHARS_MAX} characters");
        fields.fault_at(key, "too-long", message, None);
        return None;
    }
    fields.filled(key, text)
}

/// Words that are not left out, cut to a line.
pub(super) fn said(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    fields.filled(key, in_a_line(&text, LINE_CHARS_MAX))
}

/// Words that may be left out, cut to a line.
pub(super) fn line(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    fields.text(key).map(|text| in_a_line(&text, REASON_CHARS_MAX))
}

pub(super) fn findings(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    fields.filled(key, text.trim().chars().take(FINDINGS_CHARS_MAX).collect())
}

/// A number from 0 to 1.
pub(super) fn share(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Thousandths> {
    let share = Thousandths::take(fields, key)?;
    let is_share = share.0 <= 1_000;
    if !is_share {
        fields.fault_at(key, "bad-share", format!("`{key}` is a number from 0 to 1"), None);
    }
    is_share.then_some(share)
}

pub(super) fn attempts(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<u32> {
    up_to(fields, key, ATTEMPTS_MAX, "bad-count")
}

/// Dollars as programs print them: what is below a millionth is rounded up.
pub(super) fn dollars(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Micros> {
    let node = fields.take(key)?;
    let read = match &node.value {
        Value::Number(text) => Micros::rounded_up(text),
        _ => node.as_str().and_then(Micros::parse),
    };
    if read.is_none() {
        fields.fault_at(key, "bad-amount", format!("`{key}` is no amount of dollars"), None);
    }
    read
}
