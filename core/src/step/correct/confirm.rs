//! A person's word on an assertion becomes a correction of type `confirmation` (contract §3, §8).

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use super::{Adoption, free_id, merge};
use crate::{
    doc::Node,
    event::Event,
    id::{Serial, TreeId, UnixMillis},
    state::{
        Confirmation, Correction, Extra, State,
        encode::ChangeSet,
        fields::{Writer, texts_node},
        record::CorrectionType,
    },
    verdict::assertions::{Assertion, newest},
};

/// A person's answer to an assertion.
#[derive(Debug)]
pub struct Answer<'a> {
    pub assertion: &'a Assertion,
    pub holds: bool,
    /// The tree that was looked at, if the answer holds for that one alone.
    pub on: Option<&'a TreeId>,
    pub reason: Option<&'a str>,
}

/// Records an answer; `Err` with the earlier one if the same was recorded already.
pub fn confirm(
    state: &State,
    word: &Answer<'_>,
    by: &str,
    now: UnixMillis,
) -> Result<Adoption, Box<Confirmation>> {
    let on = word.on.map(|tree| tree.as_str().to_string());
    let (name, statement) = (&word.assertion.name, &word.assertion.statement);
    let counts = |earlier: &Confirmation| earlier.on.is_none() || earlier.on == on;
    if let Some(earlier) = newest(&state.corrections, name, statement, counts)
        && earlier.holds == word.holds
    {
        return Err(Box::new(earlier.clone()));
    }
    let mut state = state.clone();
    state.serial = Serial(state.serial.0 + 1);
    let confirms = Confirmation {
        name: name.clone(),
        holds: word.holds,
        commit: on.as_ref().and_then(|_| state.run.result().cloned()),
        on,
        by: by.to_string(),
        at: now.rfc3339(),
        reason: word.reason.map(ToString::to_string),
    };
    let what = describe(&confirms);
    let node = node(&confirms, &what, &free_id(&state.corrections));
    state.corrections.push(Arc::new(Correction {
        node,
        confirms: Some(confirms),
    }));
    let effects = Vec::new();
    Ok(Adoption {
        state,
        touched: ChangeSet::default(),
        at: now.rfc3339(),
        effects: Vec::new(),
        events: Vec::from([Event::Corrected {
            what,
            effects,
            lost: Vec::new(),
        }]),
    })
}

fn describe(word: &Confirmation) -> alloc::string::String {
    let verb = if word.holds { "confirmed" } else { "denied" };
    let why = word
        .reason
        .as_ref()
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    format!("{verb}: {}{why}", word.name)
}

fn node(word: &Confirmation, what: &str, id: &str) -> Node {
    let mut to = Writer::default();
    to.text("id", id)
        .text("timestamp", &word.at)
        .text("type", CorrectionType::Confirmation.word())
        .text("description", what)
        .put("trail_cleared", Node::bool(false))
        .text("by", &word.by)
        .put("changes", texts_node::<&str>(&[]))
        .text("name", &word.name)
        .put("holds", Node::bool(word.holds));
    to.some("on", word.on.as_deref().map(Node::string));
    to.some(
        "commit",
        word.commit
            .as_ref()
            .map(|commit| Node::string(commit.as_str())),
    );
    to.some("reason", word.reason.as_deref().map(Node::string));
    to.finish(&Extra::default())
}

/// Corrections that others added since `before`, for the loop that finds them in the file.
pub fn news(before: &State, after: &State) -> Vec<Event> {
    let added = after.corrections.iter().skip(before.corrections.len());
    added.filter_map(|one| corrected(&one.node)).collect()
}

/// The event that a correction stands for.
pub fn corrected(correction: &Node) -> Option<Event> {
    let list = |key: &str| correction.get(key).and_then(Node::as_array);
    let effects = list("changes").unwrap_or_default().iter();
    let effects = effects.filter_map(Node::as_str);
    Some(Event::Corrected {
        what: correction.get("description")?.as_str()?.to_string(),
        effects: effects.map(ToString::to_string).collect(),
        lost: lost_lines(list("lost").unwrap_or_default()),
    })
}

/// The values that gave way in a correction, a line each.
pub fn lost_lines(lost: &[Node]) -> Vec<String> {
    lost.iter().filter_map(merge::sentence).collect()
}
