//! Asks a model one question over HTTP, and gives its whole answer or a typed error.
//!
//! Invariant: a key leaves this room in one header alone, marked as sensitive. No answer, text of a server or wait is
//! without a maximum. Not here: roles, attempts, and where an answer is kept (`agent`).

mod apart;
mod asker;
mod error;
mod http;
mod key;
mod remembered;
mod retry;
mod server;
mod sse;
#[cfg(test)]
pub(crate) mod tests;
mod throttle;
mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use asker::Asker;
pub use error::ModelError;
pub use retry::TRIES_MAX;
pub use server::ServerLook;

use crate::{config::provider::Provider, process::Programs};

/// One question: a pure function of it and of the provider is the request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelQuestion {
    /// The instructions before all turns.
    pub system: String,
    pub turns: Vec<ModelTurn>,
    /// The JSON Schema of the answer.
    pub schema: Option<Value>,
    /// Whether the answer is one JSON object.
    pub is_object: bool,
    /// Tokens of the answer at most, where the configuration says nothing.
    pub max_answer: u64,
}

/// Words of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurn {
    pub by: Speaker,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Model,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub text: String,
    #[serde(flatten)]
    pub tokens: TokenCounts,
    pub stop: AnswerStop,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerStop {
    Done,
    /// The model may write no more tokens.
    Length,
    /// The model refused, in its words.
    Refused(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Read, those of the cache left out.
    pub input: u64,
    pub output: u64,
    /// Read from the cache.
    pub cached: u64,
    /// Read and written to the cache.
    pub cache_written: u64,
    /// Counted by characters, since the server told nothing.
    #[serde(rename = "estimated")]
    pub is_estimated: bool,
}

/// The time limits of a question.
#[derive(Debug, Clone, Copy)]
pub struct AskLimits {
    /// Up to the first byte of an answer.
    pub first_byte: Duration,
    /// Between two bytes.
    pub idle: Duration,
}

/// Follows a question while it is asked.
pub trait AskObserver: Send + Sync {
    /// The tokens of this try so far. Each try has a number of its own.
    fn used(&self, number: u32, tokens: &TokenCounts);
    /// It waits so long, for this reason.
    fn waits(&self, length: Duration, why: &str);
}

/// The circumstances of a question.
#[derive(Clone, Copy)]
pub struct AskContext<'a> {
    pub provider: &'a Provider,
    pub limits: AskLimits,
    pub programs: &'a dyn Programs,
    /// The mark of what asks: the command of a key has one below it.
    pub mark: &'a str,
    pub observer: &'a dyn AskObserver,
    /// Distinguishes this question: its waits are drawn from it.
    pub seed: &'a str,
    /// Tries at most.
    pub tries_max: u32,
}

impl std::fmt::Debug for AskContext<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("AskContext")
            .field("provider", self.provider)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Looks at nothing.
#[derive(Debug)]
pub struct NoObserver;

impl AskObserver for NoObserver {
    fn used(&self, _: u32, _: &TokenCounts) {}
    fn waits(&self, _: Duration, _: &str) {}
}
