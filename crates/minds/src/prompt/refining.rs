//! The prompts about a pass that came to its end: for who changes the plan, assesses the pass, or looks for issues.
//!
//! Invariant: the plan stands in a fence that it cannot close, and is called data. Not here: the form of an answer
//! (`fragment::delta`).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    Prompt, preamble, replan,
    section::{PromptSection, cut, data},
    validating, workplace,
};
use descent_core::{
    assessment, doc,
    fragment::delta,
    graph::Ix,
    id::{AgentName, UnixMillis},
    measure::granted,
    state::{
        AtomStatus,
        atom::AttentionCause,
        judged::{self, ConvergenceCriterion},
        limits::FRAGMENT_ATOMS_MAX,
    },
    world::World,
};

const TASK_BYTES_MAX: usize = 4 << 10;
const PLAN_BYTES_MAX: usize = 28 << 10;
const FAILED_BYTES_MAX: usize = 8 << 10;
/// Bytes of what a failure printed.
const OUTPUT_BYTES_MAX: usize = 1_000;
const RULES_BYTES_MAX: usize = 4 << 10;
const SAID_BYTES_MAX: usize = 4 << 10;
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// The prompt of a question to a refiner.
pub fn refining(world: &World, worker: Option<&AgentName>, now: UnixMillis) -> Prompt {
    let agreed = preamble::sections(&world.state.objective, now);
    Prompt::of(agreed.into_iter().chain([
        task(world),
        failed(world),
        plan(world),
        issues(world),
        opinion(world),
        answer(worker),
    ]))
}

fn task(world: &World) -> PromptSection {
    let left = granted::changes_left(&world.state);
    PromptSection::new("refine", "What you do", TASK_BYTES_MAX).with(format!(
        "Nothing of this plan is left to try, and its base case does not hold. You propose how the plan changes so that \
         it can. You read, and change no file.\n\nChange as little as reaches the goal. Add a task: after all else, or \
         as one more choice of a group. Or change or take out a task that is marked `may be changed`: other words open it \
         again. What is solved stays; where a result contradicts another, mark it and add a task that mends it. Where \
         something is unclear in a task that you add or change, ask beside it, and say what to assume. Each change, taken or refused, uses one up: {left} are left."
    ))
}

/// The failures with their reasons, and the changes before this one.
pub(super) fn failed(world: &World) -> PromptSection {
    let section = PromptSection::new("failed", "What failed", FAILED_BYTES_MAX);
    let blocked = blocked(world) + &contradicted(world);
    let failed = replan::what_failed(world, OUTPUT_BYTES_MAX);
    let earlier = replan::every_change(world);
    let mut text = failed + &blocked;
    if !earlier.is_empty() {
        let head = "Changes before this one; the same again is refused";
        text.push_str(&format!("\n{head}:\n{earlier}"));
    }
    section.with(text)
}

fn blocked(world: &World) -> String {
    let mut text = String::new();
    for x in world.graph.tasks() {
        let id = world.graph.id(x);
        let task = world.state.atom(id).and_then(|atom| atom.task());
        if let Some(AtomStatus::Invalid(report)) = task.map(|task| &task.status) {
            text.push_str(&format!(
                "- {id} cannot be done as it is said: {}\n",
                super::section::in_a_line(&report.words, 600)
            ));
        }
    }
    text
}

/// Results that a change before marked.
fn contradicted(world: &World) -> String {
    let mut text = String::new();
    for (id, binding) in world.state.bindings.iter() {
        let mark = binding.of.task().and_then(|task| task.attention.as_ref());
        let mark = mark.filter(|mark| mark.because == AttentionCause::Contradicted);
        if let Some(mark) = mark {
            let why = super::section::in_a_line(&mark.text, 300);
            text.push_str(&format!("- the result of {id} is said to contradict: {why}\n"));
        }
    }
    text
}

pub(super) fn plan(world: &World) -> PromptSection {
    plan_with(world, |x| marks(world, x))
}

/// The plan without what may be changed of it.
pub(super) fn bare_plan(world: &World) -> PromptSection {
    plan_with(world, |_| String::new())
}

fn plan_with(world: &World, marks: impl Fn(Ix) -> String) -> PromptSection {
    let mut text = String::new();
    let program = [
        "status",
        "tries",
        "interruptions",
        "refined",
        "attention",
        "unjudged",
        "origin",
        "planned",
        "planning",
    ];
    for x in world.graph.order().iter().copied() {
        let id = world.graph.id(x);
        let Some(atom) = world.state.atom(id) else {
            continue;
        };
        let node = atom.node().filtered(|key, _| !program.contains(&key));
        let marks = marks(x);
        text.push_str(&format!("{id}{marks}: {}\n", doc::write_compact(&node)));
    }
    let text = cut(&text, PLAN_BYTES_MAX - (2 << 10));
    PromptSection::new("plan", "The plan", PLAN_BYTES_MAX).with(data(&text))
}

fn marks(world: &World, x: Ix) -> String {
    let (state, graph) = (&world.state, &world.graph);
    if world.solved()[x] {
        return " (solved)".to_string();
    }
    if delta::may_grow(graph, x) {
        return " (may get a choice)".to_string();
    }
    let is_task = graph.tasks().any(|task| task == x);
    match delta::may_change(state, graph, x) {
        Ok(()) => " (may be changed)".to_string(),
        Err(why) if is_task => format!(" ({why})"),
        Err(_) => String::new(),
    }
}

/// The issues of the newest report.
pub(super) fn issues(world: &World) -> PromptSection {
    let head = "Issues of the plan that were found: your change must not leave them";
    let issues: String = world.state.run.issues().map(replan::issue).collect();
    PromptSection::new("issues", head, RULES_BYTES_MAX).with(data(&issues))
}

/// The opinion of whoever assessed the pass.
pub(super) fn opinion(world: &World) -> PromptSection {
    let head = "What a judge of this pass says: advice, not proof";
    PromptSection::new("assessed", head, SAID_BYTES_MAX).with(data(&replan::said(world)))
}

fn answer(worker: Option<&AgentName>) -> PromptSection {
    let form = r#"{"reasoning": "…", "actions": [{"type": "step_add", "atoms": {"new": {"description": "…", "action": {"run": "…"}, "depends_on": ["an id of the plan"]}}, "target": "the group, if it is a choice"}, {"type": "step_modify", "target": "an id of the plan", "changes": {"description": "…"}}, {"type": "step_remove", "target": "an id of the plan"}, {"type": "subplan_create", "atoms": {"more": {"kind": "plan", "description": "…"}}}, {"type": "step_mark_invalid", "target": "a solved id", "reason": "…"}], "questions": [{"about": "an id", "question": "…", "assume": "…"}]}"#;
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else: {form}\n\nAt most {} new tasks. {} A step of the kind `plan` \
         without `action` is done by a planner. The answer fits this JSON Schema: {}",
        FRAGMENT_ATOMS_MAX,
        workplace::who_works(worker),
        delta::schema()
    ))
}

// The prompt of an agent that assesses a pass that came to its end.

const ASSESSING_TASK_BYTES_MAX: usize = 4 << 10;
const DONE_BYTES_MAX: usize = 16 << 10;
const ASSESSING_ANSWER_BYTES_MAX: usize = 4 << 10;

/// The prompt of a question about the pass that came to its end.
pub fn assessing(world: &World, now: UnixMillis) -> Prompt {
    let agreed = preamble::sections(&world.state.objective, now);
    Prompt::of(agreed.into_iter().chain([
        assessing_task(),
        failed(world),
        plan(world),
        done(world),
        issues(world),
        assessing_answer(world),
    ]))
}

fn assessing_task() -> PromptSection {
    PromptSection::new("assess", "What you do", ASSESSING_TASK_BYTES_MAX).with(
        "Everything in this plan was tried, and the base case does not hold. You say how complete and how coherent the \
         work is, what is missing, and what contradicts itself. You read, and change nothing. What you say helps whoever \
         changes the plan; it decides nothing."
            .to_string(),
    )
}

/// The results, a line each.
pub(super) fn done(world: &World) -> PromptSection {
    PromptSection::new("done", "What was done", DONE_BYTES_MAX)
        .with(super::final_words::done(world))
}

fn assessing_answer(world: &World) -> PromptSection {
    let criteria = &world.state.objective.constraints.convergence;
    let line = |one: &ConvergenceCriterion| format!("- `{}`: {}\n", one.name, one.statement);
    let lines: String = judged::others(criteria).map(line).collect();
    let own = if lines.is_empty() {
        String::new()
    } else {
        format!("\n\n`criteria` has a score from 0 to 1 for each of these:\n{lines}")
    };
    PromptSection::new("answer", "Your answer", ASSESSING_ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else. `completeness` and `coherence` are shares from 0 to 1; `blame` \
         names atoms of the plan.{own} It fits this JSON Schema: {}",
        assessment::SCHEMA
    ))
}

// The prompt of an agent that looks for issues across the phases of a pass that came to its end.

const REVIEWING_TASK_BYTES_MAX: usize = 4 << 10;

/// The prompt of a question about all phases together.
pub fn reviewing(world: &World, now: UnixMillis) -> Prompt {
    let agreed = preamble::sections(&world.state.objective, now);
    Prompt::of(agreed.into_iter().chain([
        reviewing_task(),
        failed(world),
        bare_plan(world),
        done(world),
        issues(world),
        validating::answer(),
    ]))
}

fn reviewing_task() -> PromptSection {
    PromptSection::new("review", "What you do", REVIEWING_TASK_BYTES_MAX).with(
        "Everything in this plan was tried, and the base case does not hold. You tell what does not fit together across \
         its steps: a result that contradicts another or the goal (consistency), that is not what its step was to make \
         (do_say_mismatch), that has no part in the goal (relevance), that names something that is not there \
         (hallucination), or that nobody could build on (specificity). You read, and change nothing. An empty list is a \
         good answer. Tell only what you are sure of.",
    )
}
