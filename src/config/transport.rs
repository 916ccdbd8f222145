//! How an agent is talked to, and the arguments that it is started with.
//!
//! Not here: which agent, and its preset (`agent`).

use descent_core::state::Role;
use serde::Deserialize;

use super::provider::Provider;

/// Stands for the id of a session in `resume` and `session`.
pub const SESSION: &str = "{session}";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A command for the shell; it ends with an exit code.
    #[serde(skip)]
    Shell(String),
    /// A program that reads a prompt, prints events and ends.
    Headless(Headless),
    /// A program that speaks the Agent Client Protocol, version 1, on its standard streams.
    Acp(Acp),
    /// A model that is asked over HTTP, for roles that only think.
    #[serde(skip)]
    Model(Box<Provider>),
}

/// The events that a headless program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Dialect {
    #[serde(rename = "claude-stream-json")]
    ClaudeStreamJson,
    #[serde(rename = "codex-exec-json")]
    CodexExecJson,
    /// Plain text: its last JSON object is the answer.
    #[serde(rename = "text")]
    Text,
}

impl Dialect {
    /// Whether its events tell a cost. `None`: it depends on the program.
    pub fn tells_cost(self) -> Option<bool> {
        match self {
            Self::CodexExecJson => Some(false),
            Self::ClaudeStreamJson | Self::Text => None,
        }
    }
}

/// Whether a role changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Write,
    Read,
}

impl Access {
    /// The access of a role: only a worker changes files.
    pub fn of(role: Role) -> Self {
        if role == Role::Worker { Self::Write } else { Self::Read }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Headless {
    #[serde(rename = "events")]
    pub dialect: Dialect,
    /// The program, and the arguments before those of a session.
    pub argv: Vec<String>,
    /// Arguments that let us choose the id of a new session, with `{session}`; without them the agent makes one.
    #[serde(default)]
    pub session: Option<Vec<String>>,
    /// Arguments that go on with a session, with `{session}`; empty if it cannot.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Arguments of every start, after those of a session.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Arguments for roles that change files.
    #[serde(default)]
    pub write: Vec<String>,
    /// Arguments for roles that only read.
    #[serde(default)]
    pub read: Vec<String>,
    /// More arguments of a person, the last of all.
    #[serde(skip)]
    pub args: Vec<String>,
}

impl Transport {
    /// The program that is started: the shell, for a command, and none for a model that is asked.
    pub fn program(&self) -> &str {
        let argv = match self {
            Self::Shell(_) => return "sh",
            Self::Model(_) => return "",
            Self::Headless(headless) => &headless.argv,
            Self::Acp(acp) => &acp.argv,
        };
        argv.first().map_or("", String::as_str)
    }
}

impl Headless {
    /// Program and arguments of a new session. `session` is its id, where it can be chosen.
    pub fn start(&self, access: Access, session: &str) -> Vec<String> {
        let chosen = self.session.iter().flatten();
        self.with(access, chosen.map(|arg| arg.replace(SESSION, session)))
    }

    /// Program and arguments that go on with a session; `None` if it cannot.
    pub fn go_on(&self, access: Access, session: &str) -> Option<Vec<String>> {
        let resume = self.resume.iter().map(|arg| arg.replace(SESSION, session));
        (!self.resume.is_empty()).then(|| self.with(access, resume))
    }

    fn with(&self, access: Access, middle: impl Iterator<Item = String>) -> Vec<String> {
        let of_access = match access {
            Access::Write => &self.write,
            Access::Read => &self.read,
        };
        let tail = self.flags.iter().chain(of_access).chain(&self.args);
        let whole = self.argv.iter().cloned().chain(middle);
        whole.chain(tail.cloned()).collect()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acp {
    pub argv: Vec<String>,
    pub modes: Modes,
    /// A JSON object for `_meta` of `session/new`, if it needs one.
    pub session_meta: Option<String>,
}

/// Ids of session modes, by access. Without one the agent's own mode stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Modes {
    pub write: Option<String>,
    pub read: Option<String>,
}

impl Modes {
    pub fn of(&self, access: Access) -> Option<&str> {
        match access {
            Access::Write => self.write.as_deref(),
            Access::Read => self.read.as_deref(),
        }
    }
}
