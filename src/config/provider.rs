//! A model that is asked over HTTP: the server, the model, the place of its key, and the bounds of a question.
//!
//! Invariant: no key stands in a configuration, only the place where it lies. Not here: asking (`model`).

use std::{fmt, path::PathBuf};

use serde::Deserialize;

/// How many questions a provider is asked side by side, unless its configuration says another number.
pub const MAX_PARALLEL: usize = 4;

/// The format of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions, which local servers speak too.
    Chat,
    /// OpenAI Responses.
    Responses,
}

impl Wire {
    /// Its name in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }

    /// The vendor's own server.
    pub fn vendor(self) -> &'static str {
        match self {
            Self::Messages => "https://api.anthropic.com",
            Self::Chat | Self::Responses => "https://api.openai.com/v1",
        }
    }
}

/// The place of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// A variable of this process.
    Env(String),
    /// A file that its owner alone can read.
    File(PathBuf),
    /// A shell command that prints it.
    Command(String),
}

impl fmt::Display for KeySource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(to, "the variable {name}"),
            Self::File(path) => write!(to, "the file {}", path.display()),
            Self::Command(command) => write!(to, "the command `{command}`"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub wire: Wire,
    /// With a scheme, and without a slash at its end.
    pub base_url: String,
    pub model: String,
    pub key: Option<KeySource>,
    pub max_parallel: usize,
    /// Tokens that fit into a question and its answer.
    pub context: Option<u64>,
    /// Tokens of an answer at most.
    pub max_answer: Option<u64>,
    /// How much the model shall think, in the words of its vendor.
    pub effort: Option<String>,
}

impl Provider {
    /// Whether the vendor itself is asked. Its servers refuse what does not fit.
    pub fn is_vendor(&self) -> bool {
        self.base_url == self.wire.vendor()
    }

    /// It in a line for people.
    pub fn line(&self) -> String {
        format!("{} at {} ({})", self.model, self.base_url, self.wire.word())
    }
}
