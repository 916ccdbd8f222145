//! The values about the place of the work, its time, and the way in which an attempt ends.

use super::{section::flag, subject::PromptSubject};
use descent_core::doc::prelude::*;
use descent_core::{
    id::AgentName,
    state::{SideEffect, Workspace},
    world,
};

/// The way in which an attempt gives its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A command: its exit code, and the file that `$DESCENT_RESULT` names.
    ResultFile,
    /// An agent that talks a protocol: its last message.
    LastMessage,
    /// A model that is asked: its answer. It has no tools, and sees no file.
    Answer,
}

pub(super) fn value(
    subject: &PromptSubject<'_>,
    ending: Ending,
    worker: Option<&AgentName>,
    name: &str,
) -> Option<String> {
    let state = &subject.world.state;
    let constraints = &state.objective.constraints;
    let does = !subject.is_probe() && !subject.is_plan();
    let is_external = |idempotent| subject.intent.effect == SideEffect::External { idempotent };
    Some(match name {
        "probe" => flag(subject.is_probe()),
        "plan" => flag(subject.is_plan()),
        "plans" => flag(subject.is_plan() && !subject.is_probe()),
        "does" => flag(does),
        "blind" => flag(ending == Ending::Answer),
        "prints" => flag(ending == Ending::ResultFile),
        "shared" => flag(constraints.workspace() == Workspace::Shared),
        "again" => flag(does && is_external(true)),
        "once_only" => flag(does && is_external(false)),
        "shaped" => flag(subject.is_shaped()),
        "value_form" => if subject.is_shaped() { "VALUE" } else { "null" }.to_owned(),
        "worker" => flag(worker.is_some()),
        "who_works" => who_works(worker),
        "time" => {
            let own = subject.task().and_then(|task| task.spec.timeout.clone());
            own.unwrap_or_else(|| constraints.attempt_timeout()).as_str().to_string()
        }
        "budget_left" => {
            let left = world::budget_left(state, subject.intent).into_iter();
            let line = |left: String| {
                format!("- {left} for all that is still to do. Spend them with care.\n")
            };
            left.map(|left| line(left.text())).collect()
        }
        _ => return None,
    })
}

/// Who does the tasks that a plan gives no command.
pub(super) fn who_works(worker: Option<&AgentName>) -> String {
    match worker {
        Some(worker) => format!("Who can do the work: {worker} does a task without `action`."),
        None => {
            "Who can do the work: nobody does a task without `action`, so every task needs one."
                .to_owned()
        }
    }
}
