//! Prompts of small states, and of states at their limits.

mod bounded;
mod contract;
mod phases;

use super::{Ending, Prompt, PromptFiles, PromptInputs, TreeStart, attempt, next_attempt};
use descent_core::doc::prelude::*;
use descent_core::{
    id::{AtomId, UnixMillis},
    state::{State, decode},
    world::World,
};

const NOW: UnixMillis = UnixMillis(1_764_000_000_000);

pub(super) fn state(text: &str) -> State {
    let text = crate::whole_records::file_of(text);
    let decoded = decode::decode(text.as_bytes());
    assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    decoded.state.expect("a state")
}

/// The files of an attempt that has none.
pub(super) fn no_files() -> PromptFiles<'static> {
    PromptFiles { lies_at: &|_| None, patches: &[], start: &TreeStart::Clean }
}

/// The prompt that the next attempt of an atom would have.
pub(super) fn next(world: &World, atom: &str, files: PromptFiles<'_>) -> Prompt {
    let next = next_attempt(world, &AtomId::new(atom)).expect("a task");
    attempt(&PromptInputs {
        project: None,
        instructions: None,
        worker: None,
        world: &next.world,
        intent: &next.intent,
        now: NOW,
        files,
        ending: Ending::ResultFile,
    })
}

/// A state as text, with these members of the objective, and these records.
pub(super) struct StateText {
    pub(super) objective: String,
    pub(super) constraints: String,
    pub(super) atoms: Vec<String>,
    pub(super) bindings: Vec<String>,
    pub(super) trail: Vec<String>,
    pub(super) run: String,
}

impl Default for StateText {
    fn default() -> Self {
        Self {
            objective: r#""raw_input": "please make it so", "goal": "it is so", "background_intent": "people wait""#
                .into(),
            constraints: r#""max_attempts": 3"#.into(),
            atoms: Vec::new(),
            bindings: Vec::new(),
            trail: Vec::new(),
            run: r#""status": "running""#.into(),
        }
    }
}

impl StateText {
    pub(super) fn world(&self) -> World {
        let text = format!(
            r#"{{"version": "3.0", "lineage": "l", "serial": 7, "seal": "",
  "objective": {{{}, "deliverables": "", "definition_of_done": "",
    "base_case": {{"all": [{{"name": "suite", "command": "make test"}}]}}, "constraints": {{{}}}}},
  "control": {{"stop_requested": false, "stop_reason": null, "redirect_requested": false, "request": null}},
  "work_graph": {{"atoms": {{{}}}}}, "bindings": {{{}}}, "trail": [{}], "corrections": [],
  "run": {{{}}}}}"#,
            self.objective,
            self.constraints,
            self.atoms.join(", "),
            self.bindings.join(", "),
            self.trail.join(", "),
            self.run,
        );
        World::new(state(&text))
    }
}
