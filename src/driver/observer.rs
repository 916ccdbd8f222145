//! A person's view of the loop: what it is told. Not here: who looks, and how it is shown.

use descent_core::{
    desired::DesiredWork,
    event::{Event, Observation},
    id::Serial,
    view::liveness::WaitsFor,
    world::World,
};

use super::Loop;

/// The callbacks of a person's view of the run.
pub struct Observer<'e> {
    /// Gets the events of a commit in their order, with the state that they led to.
    pub on_events: &'e mut dyn FnMut(&[Event], &World),
    /// Gets each input that a commit took in, in its order, with the serial of that commit.
    pub on_input: &'e mut dyn FnMut(&Observation, Serial),
    /// Gets other messages for a person.
    pub on_note: &'e mut dyn FnMut(&str),
    /// Gets the desired work at every turn of the loop.
    pub on_turn: &'e mut dyn FnMut(&World, &DesiredWork, Option<WaitsFor>),
}

impl Loop<'_> {
    /// Reports an input that a commit has taken in.
    pub(super) fn record(&mut self, seen: Observation) {
        (self.observer.on_input)(&seen, self.world.state.serial);
    }

    /// Tells the events of the commit that the loop has arrived at.
    pub(super) fn announce(&mut self, events: &[Event]) {
        if !events.is_empty() {
            (self.observer.on_events)(events, &self.world);
        }
    }
}
