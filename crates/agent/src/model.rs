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

use std::time::Duration;

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
    fn used(&self, number: u32, tokens: &TokenCounts);
    /// It waits so long, for this reason.
    fn waits(&self, length: Duration, why: &str);
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

impl AskObserver for NoObserver {
    fn used(&self, _: u32, _: &TokenCounts) {}
    fn waits(&self, _: Duration, _: &str) {}
}

/// The name that replaces a key in the words of a server.
const HIDDEN_KEY: &str = "key";

/// Bytes of an answer's text at most.
pub const TEXT_BYTES_MAX: usize = 256 << 10;
/// Bytes of a stream at most, with all its events.
pub(crate) const STREAM_BYTES_MAX: usize = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The key cannot be read from its place.
    #[error("the key cannot be read: {what}")]
    Key { what: String, hint: String },
    #[error("the server takes no such key ({status}): {words}")]
    Login { status: u16, words: String },
    /// It wants a key, and none is configured.
    #[error("the server wants a key ({status}), and none is configured: {words}")]
    Keyless { status: u16, words: String },
    /// Nobody answers there.
    #[error("cannot connect to {address}: is the server up? ({cause})")]
    Unreachable {
        address: String,
        cause: String,
        /// Whether it is a server on this machine.
        is_here: bool,
    },
    #[error("the account has no credit left: {words}")]
    Credit { words: String },
    #[error("the server has no model `{model}`: {words}")]
    NoModel { model: String, words: String },
    /// The server will never take this request.
    #[error("{words}")]
    Refused { words: String, hint: String },
    #[error("the question has about {needed} tokens with its answer, and {there} fit")]
    Context { needed: u64, there: u64, hint: String },
    /// The server takes no more until then.
    #[error("the server takes no more for now: {words}")]
    Limited { until: Option<UnixMillis>, words: String },
    #[error("the server said nothing for {} s", after.as_secs())]
    Silent { after: Duration },
    /// It may go better another time.
    #[error("{words}")]
    Broken { words: String },
    /// The server has trouble of its own, or the connection to it broke.
    #[error("{words}")]
    Down { words: String },
    #[error("the answer does not end: it has more than {what}")]
    Endless { what: String },
    /// The name of the secret.
    #[error("the answer held {}, and was refused", match .0.as_str() {
        HIDDEN_KEY => "the key that was sent with its question".to_owned(),
        name => format!("the value of {name}, a secret"),
    })]
    SecretInAnswer(String),
}

impl ModelError {
    /// The thing that its agent lacks, if no time makes it better.
    pub fn lack(&self) -> AgentLack {
        match self {
            Self::Key { .. } => AgentLack::NoKey,
            Self::Login { .. } | Self::Keyless { .. } => AgentLack::Key,
            Self::Unreachable { .. } => AgentLack::Unreachable,
            Self::Credit { .. } => AgentLack::Credit,
            Self::NoModel { .. } => AgentLack::Model,
            Self::Context { .. } => AgentLack::Context,
            Self::Refused { .. }
            | Self::Limited { .. }
            | Self::Silent { .. }
            | Self::Broken { .. }
            | Self::Down { .. }
            | Self::Endless { .. }
            | Self::SecretInAnswer(_) => AgentLack::Provider,
        }
    }

    pub fn code(&self) -> &'static str {
        self.lack().trouble().word()
    }

    /// The next step of a person; `name` is that of the agent.
    pub fn hint(&self, name: &str) -> String {
        match self {
            Self::Key { hint, .. } | Self::Refused { hint, .. } => hint.clone(),
            Self::Context { hint, .. } => hint.replace("NAME", name),
            Self::Login { .. } => format!("put a key that works where agents.{name}.key says"),
            Self::Keyless { .. } => {
                format!("name the place of a key: agents.{name}.key = {{env = \"…\"}}")
            }
            Self::Unreachable { .. } => {
                format!("start the server, or mend agents.{name}.base_url")
            }
            Self::Credit { .. } => "give the account credit, or name another agent".to_owned(),
            Self::NoModel { .. } => format!("name a model that it has in agents.{name}.model"),
            Self::Limited { .. }
            | Self::Silent { .. }
            | Self::Broken { .. }
            | Self::Down { .. } => {
                "try again; if it stays, look at the server and at `base_url`".to_owned()
            }
            Self::Endless { .. } => {
                format!("limit the answer: agents.{name}.max_answer = 8000 (tokens)")
            }
            Self::SecretInAnswer(variable) if variable != HIDDEN_KEY => {
                format!("if it is no secret, start descent without {variable}")
            }
            Self::SecretInAnswer(_) => format!(
                "use another server and another key; if agents.{name}.key is no secret, leave it out"
            ),
        }
    }

    fn broken(words: impl Into<String>) -> Self {
        let words = words.into();
        Self::Broken { words }
    }

    /// Something that is no model's server answered.
    fn foreign(words: impl Into<String>) -> Self {
        Self::Refused {
            words: words.into(),
            hint: "look at `base_url`: it is the address before /messages, /chat/completions or /responses"
                .to_owned(),
        }
    }
}
