//! Asks a model one question over HTTP, and gives its whole answer or a typed error.
//!
//! Invariant: a key leaves this room in one header alone, marked as sensitive. No answer, text of a server or wait is
//! without a maximum. Not here: roles, attempts, and where an answer is kept (`agent`).

mod asker;
mod http;
mod key;
mod retry;
mod server;
#[cfg(test)]
pub mod tests;
mod wire;

use std::{fmt::Display, time::Duration};

use descent_core::{event::AgentLack, id::UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{agent_table::AgentLimits, provider::Provider};
use descent_process::Programs;

pub use asker::Asker;
pub use retry::TRIES_MAX;
pub use server::ServerLook;

/// One question, whose answer is one JSON object: a pure function of it and of the provider is the request.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelQuestion {
    /// The instructions before all turns.
    pub system: String,
    pub turns: Vec<ModelTurn>,
    /// The JSON Schema of the answer.
    pub schema: Option<Value>,
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
    pub(crate) cache_written: u64,
    /// Counted by characters, since the server told nothing.
    #[serde(rename = "estimated")]
    pub is_estimated: bool,
}

/// Follows a question while it is asked.
pub trait AskObserver: std::fmt::Debug + Send + Sync {
    /// The tokens of this try so far. Each try has a number of its own.
    fn used(&self, _number: u32, _tokens: &TokenCounts) {}
    /// It waits so long, for this reason.
    fn waits(&self, _length: Duration, _why: &str) {}
}

/// The circumstances of a question.
#[derive(Debug, Clone, Copy)]
pub struct AskContext<'a> {
    pub provider: &'a Provider,
    pub limits: AgentLimits,
    pub programs: &'a dyn Programs,
    /// The mark of what asks: the command of a key has one below it.
    pub mark: &'a str,
    pub observer: &'a dyn AskObserver,
    /// Tries at most.
    pub tries_max: u32,
}

/// Looks at nothing.
#[derive(Debug)]
pub struct NoObserver;

impl AskObserver for NoObserver {}

/// The name that replaces a key in the words of a server.
const HIDDEN_KEY: &str = "key";

/// Bytes of an answer's text at most.
pub const TEXT_BYTES_MAX: usize = 256 << 10;
/// Bytes of a stream at most, with all its events.
pub(crate) const STREAM_BYTES_MAX: usize = 8 << 20;

/// Why there is no answer, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct ModelError {
    pub kind: ModelFault,
    pub words: String,
    /// In it `agents.NAME` means the agent.
    hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFault {
    /// Its agent lacks it, and no time makes it better.
    Lacks(AgentLack),
    /// Nobody answers there; whether that is this machine.
    Unreachable {
        is_here: bool,
    },
    /// The server takes no more until then.
    Limited {
        until: Option<UnixMillis>,
    },
    /// The server said nothing for so long.
    Silent(Duration),
    /// It may go better another time.
    Broken,
    /// The server has trouble of its own, or the connection to it broke.
    Down,
    Endless,
    SecretInAnswer,
}

impl ModelError {
    fn new(kind: ModelFault, words: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, words: words.into(), hint: hint.into() }
    }

    fn lacks(lack: AgentLack, words: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ModelFault::Lacks(lack), words, hint)
    }

    /// The key cannot be read from its place.
    fn no_key(what: impl Display, hint: impl Into<String>) -> Self {
        Self::lacks(AgentLack::NoKey, format!("the key cannot be read: {what}"), hint)
    }

    pub fn no_model(model: &str, words: &str) -> Self {
        let words = format!("the server has no model `{model}`: {words}");
        Self::lacks(AgentLack::Model, words, "name a model that it has in agents.NAME.model")
    }

    fn passing(kind: ModelFault, words: impl Into<String>) -> Self {
        Self::new(kind, words, "try again; if it stays, look at the server and at `base_url`")
    }

    fn limited(until: Option<UnixMillis>, words: &str) -> Self {
        let words = format!("the server takes no more for now: {words}");
        Self::passing(ModelFault::Limited { until }, words)
    }

    /// The answer holds the secret of that name.
    fn secret_in_answer(name: &str) -> Self {
        let (held, hint) = if name == HIDDEN_KEY {
            (
                "the key that was sent with its question".to_owned(),
                "use another server and another key; if agents.NAME.key is no secret, leave it out"
                    .to_owned(),
            )
        } else {
            (
                format!("the value of {name}, a secret"),
                format!("if it is no secret, start descent without {name}"),
            )
        };
        let words = format!("the answer held {held}, and was refused");
        Self::new(ModelFault::SecretInAnswer, words, hint)
    }

    /// Something that is no model's server answered.
    fn foreign(words: impl Into<String>) -> Self {
        let hint = "look at `base_url`: it is the address before /messages, /chat/completions or /responses";
        Self::lacks(AgentLack::Provider, words, hint)
    }

    /// The thing that its agent lacks, if no time makes it better.
    pub fn lack(&self) -> AgentLack {
        match self.kind {
            ModelFault::Lacks(lack) => lack,
            ModelFault::Unreachable { .. } => AgentLack::Unreachable,
            _ => AgentLack::Provider,
        }
    }

    pub fn code(&self) -> &'static str {
        self.lack().trouble().word()
    }

    /// The next step of a person; `name` is that of the agent.
    pub fn hint(&self, name: &str) -> String {
        self.hint.replace("agents.NAME", &format!("agents.{name}"))
    }
}
