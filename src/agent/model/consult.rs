//! A question outside of the graph's attempts: its answer fits a schema, or is no answer.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use descent_core::state::Usage;
use serde_json::Value;

use super::{AskedModel, ModelTalkError, kept::KeptAnswers, talk::ModelTalk, usage_of};
use crate::{
    agent::{answer as reader, repair},
    model::{AnswerStop, AskObserver, ModelAnswer, TokenCounts},
    process::Programs,
};

/// A question whose answer is one JSON object.
pub struct ConsultRequest<'a> {
    pub model: &'a AskedModel,
    pub programs: &'a dyn Programs,
    /// The directory in which the command of a key runs.
    pub cwd: &'a Path,
    pub system: &'a str,
    pub prompt: &'a str,
    /// The JSON Schema of the answer.
    pub schema: Option<&'a Value>,
    /// Why an answer is no use, in one sentence; `None` if it is good. It gets one JSON object.
    pub fault: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// Further turns at most in which an answer is mended: two, as everywhere, or fewer.
    pub mends_max: u32,
    /// Tries of each question at most.
    pub tries_max: u32,
    /// A directory that is there: it keeps the answers until they are acted on.
    pub dir: &'a Path,
    /// The purpose that they are kept for.
    pub bound: &'a str,
}

impl std::fmt::Debug for ConsultRequest<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("ConsultRequest")
            .field("model", &self.model.name)
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

/// The last answer, and all that the talk used.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsultAnswer {
    /// One JSON object, if `fault` is none.
    pub text: String,
    /// Why it is no use after all, though it was asked for twice more.
    pub fault: Option<String>,
    pub usage: Usage,
}

/// Asks one question. An answer that is no use is asked for twice more. Dropping the future cancels it.
///
/// # Errors
/// If there is no answer, or if it cannot be kept.
pub async fn answer(request: &ConsultRequest<'_>) -> Result<ConsultAnswer, ModelTalkError> {
    let model = request.model;
    let kept = KeptAnswers::open(request.dir, request.bound, &model.provider, request.prompt);
    let meter = UsageMeter::default();
    let talk = ModelTalk {
        model,
        programs: request.programs,
        cwd: request.cwd,
        system: request.system,
        schema: request.schema,
        dir: request.dir,
        tries_max: request.tries_max,
        observer: &meter,
    };
    let (mut last, mut mended) = (None, 0);
    let mut take = |answer: &ModelAnswer, was_there: bool| {
        if was_there {
            meter.there(&answer.tokens);
        }
        meter.next_turn();
        let text = reader::last_object(&answer.text);
        let (fault, may_mend) = match &answer.stop {
            AnswerStop::Refused(words) => (Some(format!("the model refused: {words}")), false),
            AnswerStop::Length => (Some("the answer was cut at its end".to_owned()), true),
            AnswerStop::Done if !text.trim_start().starts_with('{') => {
                (Some("it holds no JSON object".to_owned()), true)
            }
            AnswerStop::Done => ((request.fault)(&text), true),
        };
        last = Some((text, fault.clone()));
        let fault =
            fault.filter(|_| may_mend && mended < request.mends_max.min(repair::TURNS_MAX))?;
        mended += 1;
        Some(format!(
            "Your answer cannot be used: {fault}. Answer with one JSON object and nothing else, as it was asked for."
        ))
    };
    talk.go(kept, &mut take).await?;
    let (text, fault) = last.unwrap_or_default();
    let mut usage = meter.usage();
    if let (Some(price), 1..) = (model.price, usage.tokens.total()) {
        let tokens = &usage.tokens;
        usage.cost = Some(price.cost(tokens.input, tokens.output, tokens.cached, 0));
        usage.is_estimated = true;
    }
    Ok(ConsultAnswer { text, fault, usage })
}

/// Counts what the tries of a talk used.
#[derive(Debug, Default)]
struct UsageMeter(Mutex<MeterReading>);

#[derive(Debug, Default)]
struct MeterReading {
    turn: u32,
    tries: BTreeMap<(u32, u32), TokenCounts>,
}

impl UsageMeter {
    fn with<T>(&self, change: impl FnOnce(&mut MeterReading) -> T) -> T {
        // Every change is one insertion or one assignment.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An answer that was there before.
    fn there(&self, tokens: &TokenCounts) {
        self.with(|reading| reading.tries.insert((reading.turn, 0), *tokens));
    }

    fn next_turn(&self) {
        self.with(|reading| reading.turn += 1);
    }

    fn usage(&self) -> Usage {
        self.with(|reading| {
            let mut usage = Usage::default();
            let tries = reading.tries.values();
            tries.for_each(|tokens| usage.add(&usage_of(tokens)));
            usage
        })
    }
}

impl AskObserver for UsageMeter {
    fn used(&self, number: u32, tokens: &TokenCounts) {
        self.with(|reading| reading.tries.insert((reading.turn, number), *tokens));
    }

    fn waits(&self, length: Duration, why: &str) {
        tracing::info!(seconds = length.as_secs(), why, "a question waits");
    }
}
