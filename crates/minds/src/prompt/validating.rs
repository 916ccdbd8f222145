//! The prompt of an agent that judges a planner's plan before anything of it starts.
//!
//! Invariant: the plan stands in a fence that it cannot close, and is called data.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Prompt, preamble, replan,
    result_text::ResultText,
    section::{PromptSection, cut, data, names, title},
    upstream,
};
use descent_core::{
    doc::{self, Node},
    event::Clarity,
    graph::unjudged::{self, UnjudgedPlan},
    id::{AtomId, UnixMillis},
    phase_summary,
    state::{Binding, Consult, IssueRecord},
    validation,
    world::{
        World,
        long_phase::{self, LongPhase},
        results,
    },
};

const PLAN_BYTES_MAX: usize = 96 << 10;
const STEP_BYTES_MAX: usize = 4 << 10;
const RULES_BYTES_MAX: usize = 8 << 10;
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// The prompt; `None` if the plan is no more.
pub fn validating(world: &World, consult: &Consult, now: UnixMillis) -> Option<Prompt> {
    let judged = unjudged::find(&world.graph, &world.state, &consult.subject)?;
    let agreed = preamble::sections(&world.state.objective, now);
    let known = world.state.run.validation();
    let known = known.filter(|report| report.subject == consult.subject);
    Some(Prompt::of(agreed.into_iter().chain([
        step(world, &judged),
        plan(world, &judged.atoms),
        rules(known.map_or(&[], |report| &report.issues)),
        answer(),
    ])))
}

fn step(world: &World, judged: &UnjudgedPlan) -> PromptSection {
    let head = "What you do";
    let what = match judged.step {
        Some(_) => {
            format!("It was planned for this step: {}", cut(title(world, &judged.atom), 2_000))
        }
        None => "It changes a plan of which nothing was left to try.".to_string(),
    };
    PromptSection::new("validate", head, STEP_BYTES_MAX).with(format!(
        "You judge a plan before anything of it is carried out. You read, and change nothing. Nothing of it was tried \
         yet.\n{what}\n\nTell what is wrong with it: a step that nobody could carry out or \
         whose end nobody could tell (specificity), that has no part in the goal (relevance), that does not fit another \
         (consistency), that names something that is not there (hallucination), or whose action does something else \
         than its description says (do_say_mismatch). An empty list is a good answer. Tell only what you are sure of."
    ))
}

fn plan(world: &World, atoms: &[AtomId]) -> PromptSection {
    let mut text = String::new();
    let program = [
        "status",
        "tries",
        "interruptions",
        "origin",
        "planned",
        "selected",
        "unjudged",
        "attention",
        "refined",
    ];
    for id in atoms {
        let Some(atom) = world.state.atom(id) else {
            continue;
        };
        let node = atom.node().filtered(|key, _| !program.contains(&key));
        text.push_str(&format!("{}: {}\n", id, doc::write_compact(&node)));
    }
    let text = cut(&text, PLAN_BYTES_MAX - (8 << 10));
    PromptSection::new("plan", "The plan", PLAN_BYTES_MAX).with(data(&text))
}

fn rules(issues: &[IssueRecord]) -> PromptSection {
    let head = "What rules found already: do not say it again";
    let lines: String = issues.iter().map(replan::issue).collect();
    PromptSection::new("rules", head, RULES_BYTES_MAX).with(data(&lines))
}

pub(super) fn answer() -> PromptSection {
    let form = r#"{"issues": [{"type": "…", "severity": "high|medium|low", "location": "the id of an atom, or `plan` for all of it", "description": "…", "proposed_repair": "…"}]}"#;
    PromptSection::new("answer", "Your answer", ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else: {form}\n\nIt fits this JSON Schema: {}",
        doc::write_compact(&schema())
    ))
}

fn schema() -> Node {
    let parsed = doc::parse(validation::SCHEMA, &doc::Limits::default());
    parsed.node.unwrap_or_else(Node::null)
}

// The prompt of an agent that puts the results of a phase in short, for the planners that build on them.
//
// Invariant: the results stand in a fence that they cannot close, and are called data. Each has the same room, so
// that none is left out for a longer one.

const TASK_BYTES_MAX: usize = 4 << 10;
const TITLE_BYTES_MAX: usize = 2_000;
const RESULTS_BYTES_MAX: usize = 48 << 10;
/// Left of them for the sentence before the fence, and the fence.
const AROUND_BYTES: usize = 1 << 10;
const RESULT_BYTES_MIN: usize = 200;
const VALUE_BYTES_MAX: usize = 500;
const FILES_MAX: usize = 8;
const SUMMARISING_ANSWER_BYTES_MAX: usize = 4 << 10;

/// The prompt; `None` if the phase is no more, or has other results.
pub fn summarising(world: &World, consult: &Consult, now: UnixMillis) -> Option<Prompt> {
    let (graph, active, state) = (&world.graph, &world.active, &world.state);
    let plan = consult.atom.as_ref()?;
    let phase = long_phase::find(graph, active, state, plan, &consult.subject)?;
    let agreed = preamble::sections(&state.objective, now);
    Some(Prompt::of(agreed.into_iter().chain([
        task(world, &phase),
        done(world, &phase),
        summarising_answer(),
    ])))
}

fn task(world: &World, phase: &LongPhase) -> PromptSection {
    let planned = cut(title(world, &phase.plan), TITLE_BYTES_MAX);
    PromptSection::new("summarise", "What you do", TASK_BYTES_MAX).with(format!(
        "You put the results of a phase in short, for whoever plans what comes next. Your words stand there in the place \
         of the results. You read, and change nothing.\nThe phase was planned for this step: {planned}\n\nKeep what a \
         plan needs: what was found and decided, what is there now, names, numbers and paths as they are written, what a \
         result hands on, and what is open or unclear. Leave out how it was done. Say nothing that is not here."
    ))
}

fn done(world: &World, phase: &LongPhase) -> PromptSection {
    let results = phase.atoms.iter().filter_map(|id| {
        let x = world.graph.ix(id)?;
        let result = results::result_in(&world.graph, &world.state, &world.active, x)?;
        Some((id, result))
    });
    let results: Vec<(&AtomId, &Binding)> = results.collect();
    let room = RESULTS_BYTES_MAX - AROUND_BYTES;
    let each = (room / results.len().max(1)).max(RESULT_BYTES_MIN);
    let items = results.iter().map(|(id, result)| {
        let item = cut(item(id, result).trim_end(), each - 1);
        format!("{item}\n")
    });
    let text = cut(&items.collect::<String>(), room);
    PromptSection::new("results", "The results", RESULTS_BYTES_MAX).with(data(&text))
}

fn item(id: &AtomId, result: &Binding) -> String {
    let value = result.value.as_ref();
    let value = value.map(|value| doc::write_compact(&upstream::shortened(value, None)));
    let told = ResultText {
        id,
        summary: result.summary.clone(),
        handoff: result.handoff.clone().unwrap_or_default(),
        unclear: Clarity::words(result.unclear, &result.unclear_because),
        value: cut(&value.unwrap_or_default(), VALUE_BYTES_MAX),
        files: names(result.artifacts.iter().cloned(), FILES_MAX),
    };
    told.item()
}

fn summarising_answer() -> PromptSection {
    let form = r#"{"summary": "…"}"#;
    PromptSection::new("answer", "Your answer", SUMMARISING_ANSWER_BYTES_MAX).with(format!(
        "Answer with one JSON object and nothing else: {form}. It has 2,000 characters at most, and fits this JSON \
         Schema: {}",
        phase_summary::SCHEMA
    ))
}
