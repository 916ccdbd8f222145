//! A provider, tried: its key, its server, its model, and what it can do. It costs one tiny question at most.
//!
//! Invariant: it is said to hold its answers to a schema only where it held this one.

use std::time::Duration;

use descent_core::doc::{self, Limits};
use serde_json::{Value, json};

use crate::{
    agent::{AskedModel, last_object},
    config::{
        agent::{AgentLimits, ResolvedAgent},
        provider::Provider,
    },
    model::{
        AnswerStop, Asker, ModelAnswer, ModelError, ModelQuestion, ModelTurn, ServerLook, Speaker,
    },
    ops::agents::AgentLook,
    process,
    shape::Shape,
};

/// Nobody waits longer for a diagnosis.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Tokens of the answer at most, with those of a model that thinks first.
const ANSWER_TOKENS: u64 = 8_192;
const QUESTION: &str = "Answer with this JSON object and nothing else: {\"ok\": true}";

/// The consequence of answers that do not fit.
pub(super) const MISFIT: &str =
    "an answer that does not fit is asked for twice more; then the attempt fails";

/// A provider that answered.
pub(super) struct TriedProvider {
    /// A line about it.
    pub(super) found: String,
    /// Whether it answered as it was asked to.
    pub(super) fits: bool,
}

pub(super) fn mend(agent: &ResolvedAgent) -> String {
    let name = &agent.name;
    format!("try another model in agents.{name}.model, or another server for it")
}

/// The trial of a provider: what it can do, else the fault with its mend.
pub(super) fn tried(
    look: &AgentLook<'_>,
    agent: &ResolvedAgent,
    provider: &Provider,
) -> Result<TriedProvider, (String, String)> {
    let name = agent.name.as_str();
    let told = |error: &ModelError| {
        let what = format!("{}: {error} ({})", provider.line(), error.code());
        (what, error.hint(name))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (error.to_string(), String::new()))?;
    let model = AskedModel {
        provider: provider.clone(),
        name: agent.name.clone(),
        limits: AgentLimits {
            first_event: agent.limits.first_event.min(ANSWER_MAX),
            ..agent.limits
        },
        price: agent.price,
        asker: Asker::default(),
        slot: 0,
    };
    process::prepare().map_err(|failure| (failure.message, failure.hint))?;
    let mark = format!("doctor-{}/{name}", std::process::id());
    let server = runtime.block_on(model.look(look.programs, &mark));
    let server = server.map_err(|error| told(&error))?;
    if let Some(error) = missing(provider, &server) {
        return Err(told(&error));
    }
    let answered = runtime.block_on(model.ask(look.programs, &mark, &question()));
    let answered = answered.map_err(|error| told(&error))?;
    let fits = fits(&answered);
    let is_structured = model.asker.is_structured(provider);
    let answers = match &answered.stop {
        AnswerStop::Done => "answers".to_owned(),
        AnswerStop::Length => "answers, and its answer is cut at its end".to_owned(),
        AnswerStop::Refused(words) => format!("refuses to answer: {words}"),
    };
    let form = match (is_structured, fits) {
        (Some(true), true) => "holds answers to a schema",
        (Some(true), false) => "takes a schema, and does not hold its answer to it",
        (Some(false), true) => "holds no answer to a schema",
        (Some(false), false) => {
            "holds no answer to a schema, and does not answer in the form asked for"
        }
        (None, true) => "was not asked for a schema",
        (None, false) => "does not answer in the form asked for",
    };
    let context = provider.context.or(server.context.map(|size| size.tokens));
    let context = match context {
        Some(tokens) => format!("{tokens} tokens fit"),
        None => "it does not tell how much fits".to_owned(),
    };
    let found = format!("{}: {answers}; {form}; {context}", provider.line());
    Ok(TriedProvider { found, fits })
}

/// Whether an answer is the object that was asked for.
fn fits(answered: &ModelAnswer) -> bool {
    let schema = doc::parse(&schema().to_string(), &Limits::default()).node;
    let shape = schema.and_then(|schema| Shape::compile(&schema).ok());
    let answer = last_object(&answered.text);
    answered.stop == AnswerStop::Done && shape.is_some_and(|shape| shape.fits(&answer))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"],
        "additionalProperties": false,
    })
}

/// A question whose answer is an object that fits a schema.
fn question() -> ModelQuestion {
    ModelQuestion {
        system: String::new(),
        turns: vec![ModelTurn { by: Speaker::User, text: QUESTION.to_owned() }],
        schema: Some(schema()),
        is_object: true,
        max_answer: ANSWER_TOKENS,
    }
}

/// The model is not among those that the server lists.
fn missing(provider: &Provider, server: &ServerLook) -> Option<ModelError> {
    let models = server.models.as_ref().filter(|models| !models.is_empty())?;
    let latest = format!("{}:latest", provider.model);
    let is_there = models.iter().any(|model| *model == provider.model || *model == latest);
    let some: Vec<&str> = models.iter().take(8).map(String::as_str).collect();
    (!is_there && !provider.is_vendor()).then(|| ModelError::NoModel {
        model: provider.model.clone(),
        words: format!("it has {}", some.join(", ")),
    })
}
