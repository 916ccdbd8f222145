//! A person's configuration: which agents do the work in which role, and how a person is told. It stands in `descent.toml`
//! at the top of a project.
//!
//! Invariant: an unknown key is an error, never passed over. Not here: what was agreed for one run
//! (the state file's constraints).

#![allow(dead_code, reason = "the backends of agents come after their data")]

pub mod agent;
pub mod preset;
pub mod price;
mod program;
pub mod read;
mod resolve;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use descent_core::{doc::Places, id::AgentName, state::Role};

use agent::AgentConfig;
pub use program::missing_program;
use read::{ConfigFault, RoleChoice};

use crate::failure::{Failure, exit};

pub const FILE_NAME: &str = "descent.toml";
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// A shell command that does tasks without an action of their own: the agent `worker`.
    pub worker: Option<Worker>,
    /// The shell command that tells a person of an ending, or that a run waits.
    pub notify: Option<String>,
    pub agents: BTreeMap<AgentName, AgentConfig>,
    /// The agents of roles, one a role.
    pub roles: Vec<RoleChoice>,
}

impl Config {
    fn chosen(&self, role: Role) -> Option<&RoleChoice> {
        self.roles.iter().find(|choice| choice.role == role)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// A shell command.
    pub run: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}:{column}: {message}", path.display())]
    Fault {
        path: PathBuf,
        line: usize,
        column: usize,
        message: String,
        hint: Option<String>,
    },
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("no agent has the name `{name}`, which {named_by} names")]
    NoAgent {
        name: AgentName,
        named_by: String,
        near: Option<String>,
        known: Vec<String>,
    },
}

impl ConfigError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Fault { .. } | Self::Unreadable { .. } => "E-CONFIG",
            Self::NoAgent { .. } => "E-NO-AGENT",
        }
    }

    pub fn exit(&self) -> u8 {
        exit::CONFIG
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Fault {
                hint: Some(hint), ..
            } => hint.clone(),
            Self::Fault { hint: None, .. } => {
                r#"it looks like this: worker = {run = "my-agent < \"$DESCENT_PROMPT\""}"#
                    .to_owned()
            }
            Self::NoAgent {
                near: Some(near), ..
            } => format!("did you mean `{near}`?"),
            Self::NoAgent { name, known, .. } if known.is_empty() => {
                format!("write it into {FILE_NAME}: [agents.{name}] preset = …")
            }
            Self::NoAgent { known, .. } => format!("configured: {}", known.join(", ")),
            Self::Unreadable { .. } => "it is a text file in UTF-8, of 1 MiB at most".to_owned(),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::new(error.code(), error.exit(), &error, error.hint())
    }
}

/// Without a file the configuration is empty.
pub fn load(project: &Path) -> Result<Config, ConfigError> {
    let path = project.join(FILE_NAME);
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(source) => return Err(ConfigError::Unreadable { path, source }),
    };
    parse(&path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let place = |offset| {
        let (line, column) = Places::new(text).line_col(offset);
        format!("{}:{line}:{column}", path.display())
    };
    read::parse(text, &place).map_err(|fault| at(fault, path, text))
}

fn at(fault: ConfigFault, path: &Path, text: &str) -> ConfigError {
    let (line, column) = Places::new(text).line_col(fault.span.start);
    ConfigError::Fault {
        path: path.to_owned(),
        line,
        column,
        message: fault.message,
        hint: fault.hint,
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}
