//! Attempts by a model that is asked over HTTP: one question, and two more turns in which its answer is mended.
//!
//! Invariant: an answer is on disk before it is acted on, and what is there is not asked again. Not here: HTTP, retries
//! and keys (`model`).

mod kept_answer;

use std::{io, path::Path, time::Duration};

use descent_core::{
    event::{AgentEnd, AgentLack, Outcome},
    id::AgentName,
    state::{Role, Tokens},
    verdict::CommandEnd,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    AgentError, AttemptJob, HiredAgent, InputFile,
    answer::Repairs,
    conversation,
    directory::SessionRecord,
    heard::{EarlierUsage, Heard},
};
use crate::{
    config::provider::{Provider, Wire},
    model::{
        AnswerStop, AskContext, AskObserver, ModelAnswer, ModelError, ModelFault, ModelQuestion,
        ModelTurn, Speaker, TRIES_MAX, TokenCounts,
    },
};
use descent_process::Timer;

use kept_answer::KeptAnswers;

/// The name of a session that is no session: the answers that are kept.
const SESSION: &str = "answers";
/// Bytes at most of the files beside a prompt, which a model gets in its question.
const FILES_BYTES_MAX: usize = 128 << 10;

/// Turns of a talk at most, whatever is said in it.
const TURNS_MAX: usize = 16;
/// Tokens of an answer at most, where the wire wants a number and the configuration names none.
const ANSWER_TOKENS: u64 = 8_192;
const SYSTEM: &str =
    "You are a careful engineer. You answer exactly in the form that is asked for.";

/// Notes what a question uses, and why it waits.
impl AskObserver for Heard {
    fn used(&self, number: u32, tokens: &TokenCounts) {
        self.with(|heard| {
            let turn = heard.turn;
            heard.model_message(&format!("{turn}/{number}"), tokens.tokens(), tokens.is_estimated);
        });
    }

    fn waits(&self, length: Duration, why: &str) {
        let line = format!("[waits {:.1} s: {why}]\n", length.as_secs_f64());
        self.with(|heard| heard.log(&line));
    }
}

impl TokenCounts {
    /// Those that a state counts.
    fn tokens(&self) -> Tokens {
        let input = self.input.saturating_add(self.cache_written);
        Tokens::new(input, self.output, self.cached)
    }
}

/// Asks until there is an answer or none to be had; `None` if it was cancelled.
pub(super) async fn made(
    attempt: &AttemptJob<'_>,
    hired: &HiredAgent,
    provider: &Provider,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, AgentError> {
    let (since, name) = (Timer::start(), &hired.agent.name);
    if !attempt.prints_object() {
        return Ok(Some(no_worker(name)));
    }
    let log = attempt.context.dir.join("output.log");
    let intent = attempt.context.intent;
    // This very attempt, and none with the same number.
    let bound = format!("{}/{}", intent.id, intent.identity());
    let kept = KeptAnswers::open(&attempt.context.dir, &bound, provider, &question(attempt));
    let before = kept.usage();
    let heard = Heard::new(&log, EarlierUsage::OfThisSession(before))
        .map_err(|source| unwritable(&log, source))?;
    attempt.usage.follow(&heard);
    SessionRecord::new(intent, hired.slot, name.as_str(), SESSION).keep(&attempt.context.dir);
    let mut repairs = Repairs::new(attempt, || false);
    // Servers that hold an answer to a schema hold it to none with names that are free, as those of atoms are.
    let held = attempt.question.as_ref().filter(|form| form.duty != Role::Planner.into());
    let schema = held.and_then(|form| serde_json::from_str(&form.schema).ok());
    let talk = ModelTalk { attempt, hired, provider, schema, heard: &heard };
    let talked = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(None),
        talked = talk.go(kept, &mut repairs) => Some(talked?),
        () = tokio::time::sleep(attempt.context.timeout) => None,
    };
    Ok(Some(conversation::outcome(attempt, &heard, talked.is_none(), since)))
}

/// One talk: questions and answers in turns, each answer kept before it is looked at.
struct ModelTalk<'a> {
    attempt: &'a AttemptJob<'a>,
    hired: &'a HiredAgent,
    provider: &'a Provider,
    schema: Option<Value>,
    heard: &'a Heard,
}

impl ModelTalk<'_> {
    /// Talks until there is no further question, or no answer.
    async fn go(&self, mut kept: KeptAnswers, repairs: &mut Repairs) -> Result<(), AgentError> {
        let (heard, name) = (self.heard, &self.hired.agent.name);
        let mut turns = vec![ModelTurn { by: Speaker::User, text: kept.prompt().to_owned() }];
        for nth in 0..TURNS_MAX {
            let answer = match kept.answer(nth) {
                Some(answer) => answer,
                None => match self.ask(turns.clone()).await {
                    Ok(answer) => {
                        let added = kept.add(&answer);
                        added.map_err(|error| unwritable(&self.attempt.context.dir, error))?;
                        answer
                    }
                    Err(error) => {
                        heard.with(|heard| heard.log(&format!("[{error}]\n")));
                        heard.ended(end_of_error(&error, name));
                        return Ok(());
                    }
                },
            };
            heard.with(|heard| heard.message(&answer.text));
            heard.ended(end_of(&answer, name, self.provider));
            let Some(words) = repairs.next(heard) else { return Ok(()) };
            // Some servers take no empty turn.
            let text = match answer.text.trim() {
                "" => "(nothing)".to_owned(),
                _ => answer.text,
            };
            turns.push(ModelTurn { by: Speaker::Model, text });
            turns.push(ModelTurn { by: Speaker::User, text: words });
        }
        Ok(())
    }

    async fn ask(&self, turns: Vec<ModelTurn>) -> Result<ModelAnswer, ModelError> {
        let question = ModelQuestion {
            system: SYSTEM.to_owned(),
            turns,
            schema: self.schema.clone(),
            max_answer: ANSWER_TOKENS,
        };
        let job = &self.attempt.context;
        let context = AskContext {
            provider: self.provider,
            limits: self.hired.agent.limits,
            programs: job.programs,
            mark: &job.mark,
            observer: self.heard,
            tries_max: TRIES_MAX,
        };
        self.hired.asker.ask(context, &question).await
    }
}

fn unwritable(path: &Path, source: io::Error) -> AgentError {
    AgentError::Unwritable { path: path.to_owned(), source }
}

/// The outcome of a task that a plan or an edit in mid-run gave to a model.
fn no_worker(name: &AgentName) -> Outcome {
    let words = "a model that is asked changes no file: name another agent for tasks".to_owned();
    let how = CommandEnd::NotRun(format!("{name} is no worker"));
    Outcome {
        agent_end: Some(AgentEnd::Unavailable { kind: AgentLack::Provider, words, variable: None }),
        ..Outcome::ended(how, 0)
    }
}

/// The prompt with all that lies beside it: a model can open no file.
fn question(attempt: &AttemptJob<'_>) -> String {
    let mut text = attempt.prompt.clone();
    let bindings = InputFile {
        name: "$DESCENT_BINDINGS".to_owned(),
        bytes: attempt.bindings.clone().into_bytes(),
    };
    // A planner is told results in its prompt, as far as its context allows.
    let has_bindings = attempt.budget.is_none() && attempt.bindings.trim().len() > "{}".len();
    let bindings = has_bindings.then_some(&bindings);
    let mut room = FILES_BYTES_MAX;
    for file in attempt.files.iter().chain(bindings) {
        let Some(left) = room.checked_sub(file.bytes.len()) else { continue };
        let Ok(content) = str::from_utf8(&file.bytes) else { continue };
        room = left;
        text.push_str(&format!("\n# The file {}\n\n{content}\n", file.name));
    }
    text
}

/// A cut answer names the setting that is to be raised.
fn end_of(answer: &ModelAnswer, name: &AgentName, provider: &Provider) -> AgentEnd {
    match &answer.stop {
        AnswerStop::Done => AgentEnd::Done,
        AnswerStop::Length => {
            // This program names one by itself where the wire wants it.
            let own = (provider.wire == Wire::Messages).then_some(ANSWER_TOKENS);
            AgentEnd::CutShort(match provider.max_answer.or(own) {
                Some(most) => {
                    format!("it was cut after {most} tokens; raise agents.{name}.max_answer")
                }
                None => format!(
                    "its server cut it; set agents.{name}.max_answer, or give the server a larger context"
                ),
            })
        }
        AnswerStop::Refused(words) => AgentEnd::Refused(words.clone()),
    }
}

fn end_of_error(error: &ModelError, name: &AgentName) -> AgentEnd {
    let hinted = || format!("{error} ({})", error.hint(name.as_str()));
    match error.kind {
        // A server on this machine is a person's to start.
        ModelFault::Unreachable { is_here: false } | ModelFault::Down => {
            AgentEnd::Down(error.to_string())
        }
        ModelFault::Limited { until } => AgentEnd::Limited { until },
        ModelFault::Silent(after) => {
            AgentEnd::Silent { ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }
        }
        ModelFault::Broken => AgentEnd::Protocol(error.to_string()),
        ModelFault::Endless => AgentEnd::CutShort(hinted()),
        ModelFault::Unreachable { .. } | ModelFault::Lacks(_) | ModelFault::SecretInAnswer => {
            let is_unreachable = error.lack() == AgentLack::Unreachable;
            let words = if is_unreachable { error.to_string() } else { hinted() };
            AgentEnd::Unavailable { kind: error.lack(), words, variable: None }
        }
    }
}
