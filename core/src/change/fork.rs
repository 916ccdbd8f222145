//! A second state that begins at this one: another lineage, with its parent recorded.
//!
//! Not here: its place, and its needs from the repository.

use alloc::sync::Arc;

use crate::{
    doc::Node,
    id::{Epoch, Lineage, Serial},
    state::{Control, Spent, State},
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
    let from = Node::object(alloc::vec![
        ("lineage", Node::string(parent.lineage.as_str())),
        ("serial", Node::uint(parent.serial.0)),
    ]);
    run.parent = Some(from);
    state
}
