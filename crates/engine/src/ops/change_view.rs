//! A person's change as one value: guidance, a skip, a retry, an edit, an undo, a redirect and an edited plan.
//!
//! Not here: how a change is asked for and shown (`cli`).

use descent_core::{
    event::Event,
    id::{AttemptId, Serial},
    judging::Issue,
    state::{RunStatus, State},
    view::BoundView,
};
use serde::Serialize;

use super::current;
use descent_store::Store;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeResult {
    Changed,
    /// With `-n`.
    Planned,
    /// All of it is so already: nothing was written.
    Unchanged,
}

/// A change by a person, or a plan of it: `--json` of redirect, guide, skip, retry, edit, undo
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeView {
    pub(super) schema: &'static str,
    pub result: ChangeResult,
    /// The differences that it makes, in words.
    pub changes: Vec<String>,
    pub effects: Vec<String>,
    /// Values of an edit that a commit meanwhile overrides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The commit that makes it, or would make it; the newest one where nothing changes.
    pub serial: Serial,
    #[serde(flatten)]
    pub redirect: Option<RedirectView>,
    /// One command to type next.
    pub next: String,
}

/// The further facts of a redirect.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedirectView {
    /// The paths in which the new start differs, a thousand at most.
    pub moved: Vec<String>,
    /// Issues of what it changes, by the rules: advice, not proof.
    pub issues: Vec<Issue>,
    pub bound: BoundView,
    /// The attempts that end.
    pub ended: Vec<AttemptId>,
    /// The attempts that the loop started after it.
    pub started: Vec<AttemptId>,
    /// The next commit of the loop.
    pub(super) answered: Option<Serial>,
    /// The status of the run in that commit.
    #[serde(skip)]
    pub answer: Option<RunStatus>,
}

impl ChangeView {
    /// A state that stays as it is.
    pub fn unchanged(store: &Store, state: &State) -> Self {
        Self {
            schema: "descent/change/1",
            result: ChangeResult::Unchanged,
            changes: Vec::new(),
            effects: Vec::new(),
            lost: Vec::new(),
            serial: state.serial,
            redirect: None,
            next: current::next(store, state),
        }
    }

    /// A change with its events, and the state that it makes.
    pub fn of(store: &Store, result: ChangeResult, state: &State, events: &[Event]) -> Self {
        let mut view = Self { result, ..Self::unchanged(store, state) };
        for event in events {
            if let Event::Corrected { what, effects, lost, .. } = event {
                view.changes.push(what.clone());
                view.effects.extend_from_slice(effects);
                view.lost.extend_from_slice(lost);
            }
        }
        view
    }
}
