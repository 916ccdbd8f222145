//! The prompt of an agent that judges a planner's plan before anything of it starts.
//!
//! Invariant: the plan stands in a fence that it cannot close, and is called data.

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    Prompt, agreement, assessed,
    section::PromptSection,
    text::{cut, data, title},
};
use crate::{
    doc::{self, Node},
    graph::unjudged::{self, UnjudgedPlan},
    id::{AtomId, UnixMillis},
    state::{Consult, IssueRecord},
    validation,
    world::World,
};

const PLAN_BYTES_MAX: usize = 96 << 10;
const STEP_BYTES_MAX: usize = 4 << 10;
const RULES_BYTES_MAX: usize = 8 << 10;
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// The prompt; `None` if the plan is no more.
pub fn validating(world: &World, consult: &Consult, now: UnixMillis) -> Option<Prompt> {
    let judged = unjudged::find(&world.graph, &world.state, &consult.subject)?;
    let agreed = agreement::sections(&world.state.objective, now);
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
    let lines: String = issues.iter().map(assessed::issue).collect();
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
