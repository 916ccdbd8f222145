//! The place of the work, its time, and the way in which an attempt ends.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use super::{section::PromptSection, subject::PromptSubject};
use descent_core::{
    id::AgentName,
    state::{SideEffect, Workspace},
    world,
};

const PLACE_BYTES_MAX: usize = 1 << 10;
const ENDING_BYTES_MAX: usize = 2 << 10;
/// All that this file adds.
pub(super) const BYTES_MAX: usize = PLACE_BYTES_MAX + ENDING_BYTES_MAX;

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

const NO_TOOLS: &str = "You have no tools, and see no more of the project than stands here.";
const LOOK_AROUND: &str = "Look around in the current directory, read and try as much as you like: nothing that you \
                           change there is kept.";

/// The work of a role that only thinks.
fn role_of(subject: &PromptSubject<'_>) -> Option<&'static str> {
    if subject.is_probe() {
        Some("You find out whether this can be done; others do it later.")
    } else if subject.is_plan() {
        Some("You plan what is to be done; others do it.")
    } else {
        None
    }
}

pub(super) fn place(subject: &PromptSubject<'_>, ending: Ending) -> PromptSection {
    let section = PromptSection::new("workspace", "How you work", PLACE_BYTES_MAX);
    let constraints = &subject.world.state.objective.constraints;
    let mut lines = Vec::new();
    match role_of(subject) {
        Some(role) => {
            let around = match ending {
                Ending::Answer => NO_TOOLS,
                Ending::ResultFile | Ending::LastMessage => LOOK_AROUND,
            };
            lines.push(format!("{role} {around}"));
        }
        None => {
            lines.push(directory(constraints.workspace()).to_owned());
            lines.extend(effect(subject).map(ToOwned::to_owned));
        }
    }
    let told_in = match (subject.is_probe(), subject.is_plan()) {
        (true, _) => "`findings`",
        (false, true) => "`reasoning`",
        (false, false) => "the summary",
    };
    lines.push(format!(
        "Nobody can answer a question. Decide yourself, and tell in {told_in} what you assumed."
    ));
    lines.push(time(subject));
    let state = &subject.world.state;
    for left in world::budget_left(state, subject.intent) {
        let left = left.text();
        lines.push(format!("{left} for all that is still to do. Spend them with care."));
    }
    let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    section.with(lines)
}

fn directory(workspace: Workspace) -> &'static str {
    match workspace {
        Workspace::Git | Workspace::Shadow => {
            "Work in the current directory. It is a workspace of your own: nobody else writes there, and nothing \
             outside it is yours. It holds the project and all that is solved so far. You may commit there or not: \
             the files count, as they are at the end."
        }
        Workspace::Shared => {
            "Work in the current directory. It is the project itself, and no copy: others may change it at the same \
             time, and nothing that you change is undone. Leave commits and branches to its owner."
        }
    }
}

fn effect(subject: &PromptSubject<'_>) -> Option<&'static str> {
    match subject.intent.effect {
        SideEffect::Tree => None,
        SideEffect::External { idempotent: true } => Some(
            "This part has an effect outside of the directory. Nothing undoes it, and it may be made again.",
        ),
        SideEffect::External { idempotent: false } => Some(
            "This part has an effect outside of the directory, which may happen once only. Nothing undoes it.",
        ),
    }
}

fn time(subject: &PromptSubject<'_>) -> String {
    let constraints = &subject.world.state.objective.constraints;
    let own = subject.task().and_then(|task| task.spec.timeout.clone());
    let length = own.unwrap_or_else(|| constraints.attempt_timeout());
    format!("You have {} in all. After that the attempt is ended.", length.as_str())
}

pub(super) fn ending(
    subject: &PromptSubject<'_>,
    ending: Ending,
    worker: Option<&AgentName>,
) -> PromptSection {
    if subject.is_probe() {
        return probing(ending);
    }
    let lines: &[&str] = match (subject.is_plan(), ending) {
        (false, Ending::ResultFile) => &[
            "End with exit code 0 when it is done. What you say does not decide: the checks do, run by somebody else.",
            "You may write a result to the file named by $DESCENT_RESULT, as JSON. All keys are optional:",
            REPORT,
            "`summary` tells those who build on it what they must know, and `handoff` what is left to do or to mind.",
            "If it cannot be done, write there \"clarity\": \"BLOCKED\", and why in \"summary\".",
            PASSING,
        ],
        (false, Ending::LastMessage | Ending::Answer) => &[
            "When it is done, answer with one JSON object and nothing else. What you say does not decide: the checks \
             do, run by somebody else.",
            ANSWER,
            "`summary` tells those who build on it what they must know, and `handoff` what is left to do or to mind.",
            "If you did not get it done, answer with \"success\": false, and why in \"summary\".",
            "If it cannot be done at all, answer with \"clarity\": \"BLOCKED\" besides.",
        ],
        (true, Ending::ResultFile) => &[
            "Print one JSON object on standard output, and nothing else there, then end with exit code 0:",
            FRAGMENT,
            ATOMS,
            NAMES,
            JUDGED,
            "If it cannot be planned, write to the file named by $DESCENT_RESULT: {\"clarity\": \"BLOCKED\", \"summary\": \"why\"}",
            PASSING,
        ],
        (true, Ending::LastMessage | Ending::Answer) => &[
            "Answer with one JSON object, and nothing else:",
            FRAGMENT,
            ATOMS,
            NAMES,
            JUDGED,
            "If it cannot be planned, answer with {\"clarity\": \"BLOCKED\", \"summary\": \"why\"}",
        ],
    };
    let is_shaped = subject.is_shaped();
    let line = |line: &&str| match line.starts_with('{') {
        true if is_shaped => format!("  {}\n", line.replace(NO_VALUE, "\"value\": VALUE")),
        true => format!("  {line}\n"),
        false => format!("- {line}\n"),
    };
    let mut lines: String = lines.iter().map(line).collect();
    if subject.is_plan() {
        lines.push_str(&format!("- {}\n", who_works(worker)));
        if worker.is_none() {
            lines = lines.replace(BY_WORKER, BY_ACTION);
        }
    }
    if is_shaped {
        lines.push_str("- VALUE fits the JSON Schema of the task.\n");
    }
    PromptSection::new("ending", "How to end", ENDING_BYTES_MAX).with(lines)
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

fn probing(ending: Ending) -> PromptSection {
    let how = match ending {
        Ending::ResultFile => {
            "Print one JSON object on standard output, and nothing else there, then end with exit code 0:"
        }
        Ending::LastMessage | Ending::Answer => "Answer with one JSON object, and nothing else:",
    };
    let lines = [how, FINDING, FOUND];
    let line = |line: &&str| {
        if line.starts_with('{') { format!("  {line}\n") } else { format!("- {line}\n") }
    };
    let lines: String = lines.iter().map(line).collect();
    PromptSection::new("ending", "How to end", ENDING_BYTES_MAX).with(lines)
}

const FINDING: &str = "{\"feasible\": true, \"findings\": \"what you found out\", \"cost_estimate\": {\"attempts\": 1, \"time\": \"20m\", \"cost_usd\": 0.5}}";
const FOUND: &str = "`findings` tells whoever does it what to know: what is there, what is missing, which way is open. Leave out of \
                     `cost_estimate` what you cannot tell. What you say orders the choices, and rules none out.";
/// The value in the form of an answer.
const NO_VALUE: &str = "\"value\": null";
const REPORT: &str = "{\"summary\": \"...\", \"value\": null, \"artifacts\": [\"path\"], \"clarity\": \"CLEAR\", \"handoff\": \"...\"}";
const ANSWER: &str = "{\"success\": true, \"summary\": \"...\", \"value\": null, \"artifacts\": [\"path\"], \"clarity\": \"CLEAR\", \"handoff\": \"...\"}";
const FRAGMENT: &str = "{\"reasoning\": \"why so\", \"atoms\": {\"parse\": {\"description\": \"write the parser\", \"action\": {\"run\": \"make parser\"}}, \"test\": {\"description\": \"test it\", \"depends_on\": [\"parse\"]}}}";
/// The task of that form that a worker does, and with a command.
const BY_WORKER: &str = "\"description\": \"test it\",";
const BY_ACTION: &str = "\"description\": \"test it\", \"action\": {\"run\": \"make test\"},";
const ATOMS: &str = "An atom is a task (`action`: a shell command), a choice (`choices`: one of them is enough), a group (`parts`: all are needed), or a step that plans further (`\"kind\": \"plan\"`). It may have `depends_on`, `checks` and `timeout`.";
const NAMES: &str = "Atoms name one another alone: what this step waited for is done. They get other ids than yours.";
const JUDGED: &str =
    "The program looks at the whole; what it finds wrong is told to the next attempt.";
const PASSING: &str = "Exit code 75 says that something passing was in the way (network, a lock): you will be called again.";
