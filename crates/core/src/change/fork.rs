//! States of another beginning: a second lineage that begins at this one, with its parent recorded, and a state of
//! another hand, whose ratings decide nothing.
//!
//! Not here: its place, and its needs from the repository.

use super::{
    Adoption,
    draft::{Draft, drop_ratings},
};
use crate::doc::prelude::*;
use crate::{
    doc::Node,
    id::{Epoch, Lineage, Serial, UnixMillis},
    state::{Control, Spent, State, record::CorrectionType},
};

/// A fork takes along what was agreed, found and tried. Attempts in flight, requests and spending stay with the parent.
/// An effect outside that is under way, and may happen once only, goes along as cut off: the fork does not know its
/// outcome.
pub fn fork(parent: &State, lineage: Lineage) -> State {
    let mut state = parent.clone();
    state.lineage = lineage;
    state.serial = Serial(1);
    state.seal = None;
    let control = Control { extra: parent.control.extra.clone(), ..Control::default() };
    state.control = Arc::new(control);
    let run = Arc::make_mut(&mut state.run);
    run.id = None;
    run.in_flight.retain(|intent| intent.effect.is_once_only());
    run.epoch = Epoch(run.epoch.0 + 1);
    run.spent = Spent { extra: run.spent.extra.clone(), ..Spent::default() };
    run.spent_by_agent = Default::default();
    run.iteration = 0;
    run.grant = None;
    run.delivered = None;
    run.agree_anew();
    let from = Node::object(vec![
        ("lineage", Node::string(parent.lineage.as_str())),
        ("serial", Node::uint(parent.serial.0)),
    ]);
    run.parent = Some(from);
    state
}

/// The state without its ratings and its question to a judge; `None` if it has none.
pub fn unrated(before: &State, by: &str, now: UnixMillis) -> Option<Adoption> {
    if before.run.ratings.is_empty() && before.run.consult.is_none() {
        return None;
    }
    let mut draft = Draft::new(before.clone(), by, now);
    let told = drop_ratings(&mut draft.state);
    let told = told.unwrap_or_else(|| "a question to a judge is dropped".to_string());
    draft.correct(CorrectionType::Resolution, told.as_str());
    draft.count_pass(0);
    Some(draft.close(Some(before), told))
}
