//! Inputs that arrived together: they are stepped one after another in memory, and are one commit, which an observer hears
//! of.
//!
//! Invariant: each is decided as if those before it had been committed. An input that asks for the end of the run, or of
//! work, is the last of its commit. Not here: the commit.

use std::collections::VecDeque;

use descent_core::{
    desired::DesiredWork,
    event::{Event, Input, Observation},
    id::{Serial, UnixMillis},
    state::RunStatus,
    step::{self, Refusal, Transition},
    view::liveness::WaitsFor,
    world::World,
};

use super::Loop;
use descent_system::failure::Failure;

/// Inputs in one commit at most: the history keeps the events of each.
pub(super) const INPUTS_MAX: usize = 16;

/// The time of inputs that arrived together, and the active time before it.
pub(super) struct Lap {
    pub(super) now: UnixMillis,
    active_ms: u64,
}

/// The step of the first inputs of a list.
pub(super) struct Together {
    pub(super) next: Transition,
    pub(super) taken: usize,
}

impl Lap {
    /// An input with its time; the active time belongs to the first.
    pub(super) fn observation(&mut self, event: Input) -> Observation {
        let active_ms = std::mem::take(&mut self.active_ms);
        Observation { now: self.now, active_ms, event }
    }
}

impl Loop<'_> {
    /// Ends a lap of active time.
    pub(super) fn lap(&mut self) -> Lap {
        let active_ms = self.stopwatch.lap_ms() + self.before_rest_ms.take().unwrap_or(0);
        Lap { now: self.host.clock.now(), active_ms }
    }

    /// Lets no active time pass while nothing goes on but the wait for a person who corrects the file.
    pub(super) fn rest(&mut self) {
        if self.waits_for_file.is_some() && self.running.is_empty() {
            self.before_rest_ms.get_or_insert(self.stopwatch.lap_ms());
        }
    }

    /// Steps the first inputs, as many as are one commit, and `most` of them; `None` if there is nothing to commit. Inputs
    /// before them that change nothing are taken out of the list at once.
    pub(super) fn step_all(
        &mut self,
        inputs: &mut VecDeque<Input>,
        lap: &mut Lap,
        most: usize,
    ) -> Result<Option<Together>, Failure> {
        let (mut open, mut taken): (Option<Transition>, usize) = (None, 0);
        self.note_recording();
        // All of them, since a stop may be stepped before some.
        for input in inputs.iter() {
            if let Input::Ended { attempt, .. } = input {
                self.session.arrives(attempt);
            }
        }
        while let Some(event) = inputs.get(taken) {
            let seen = Observation {
                now: lap.now,
                active_ms: if taken == 0 { lap.active_ms } else { 0 },
                event: event.clone(),
            };
            let next = match &open {
                Some(open) => step::go_on(open, seen),
                None => step::step(&self.world, &self.session, seen),
            };
            let next = match next {
                Ok(next) => Some(next),
                Err(Refusal::MeasureRose { before, after }) => {
                    return Err(Failure::bug(Refusal::MeasureRose { before, after }));
                }
                Err(refusal @ (Refusal::NothingRuns | Refusal::AlreadyAsked)) => {
                    tracing::debug!(%refusal, "a request was not taken");
                    None
                }
            };
            match (next, &open) {
                (None, None) => drop(inputs.pop_front()),
                (Some(next), None) if next.is_quiet => {
                    inputs.pop_front();
                    lap.active_ms = 0;
                    self.arrive(next);
                }
                (next, _) => {
                    taken += 1;
                    open = next.or(open);
                }
            }
            if taken >= most || open.as_ref().is_some_and(is_last) {
                break;
            }
        }
        Ok(open.map(|next| Together { next, taken }))
    }
}

/// Whether something must follow from a commit before the next input is looked at.
fn is_last(next: &Transition) -> bool {
    let state = &next.world.facts.state;
    let (control, status) = (&state.control, state.run.status);
    control.stop_requested || control.redirect_requested || status != RunStatus::Running
}

/// The callbacks of a person's view of the run.
pub struct Observer<'e> {
    /// Gets the events of a commit in their order, with the state that they led to.
    pub(crate) on_events: &'e mut dyn FnMut(&[Event], &World),
    /// Gets each input that a commit took in, in its order, with the serial of that commit.
    pub(crate) on_input: &'e mut dyn FnMut(&Observation, Serial),
    /// Gets other messages for a person.
    pub(crate) on_note: &'e mut dyn FnMut(&str),
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
