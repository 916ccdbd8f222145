//! A person's configuration: which agents do the work in which role, and how a person is told. It stands in `descent.toml`
//! at the top of a project, and in a file of the person's own.
//!
//! Invariant: an unknown key is an error, never passed over. Not here: what was agreed for one run
//! (the state file's constraints).

pub mod agent_table;
pub mod fault;
pub mod program;
pub mod provider;
mod read_config;
pub mod resolve;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use descent_core::{
    doc::Places,
    id::{AgentName, AtomId},
};

use agent_table::ResolvedAgent;
use resolve::RoleChoice;

use descent_system::{
    failure::{Failure, exit},
    files::{self, private},
    secrets,
};

pub const FILE_NAME: &str = "descent.toml";
/// The person's own, in `descent` of their directory of configurations.
pub(crate) const OWN_FILE_NAME: &str = "config.toml";
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// The configuration: choices of a command line and of variables, then the project's file, then the person's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Agents of roles, said by a flag or a variable; the first of a role counts.
    pub choices: Vec<RoleChoice>,
    /// The file of the project: it may have come from elsewhere.
    pub project: ConfigLayer,
    /// The file in the person's own directory.
    pub own: ConfigLayer,
}

/// One file of configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigLayer {
    /// The shell command that tells a person of an ending, or that a run waits.
    pub notify: Option<String>,
    pub agents: BTreeMap<AgentName, ResolvedAgent>,
    /// The agents of roles, one a role.
    pub roles: Vec<RoleChoice>,
    /// All of it as it was read.
    pub text: String,
}

impl Config {
    /// The layers, the one that counts first.
    fn layers(&self) -> [&ConfigLayer; 2] {
        [&self.project, &self.own]
    }

    /// Whether an agent asks for a variable of the environment, or its key is read from there.
    pub fn uses(&self, variable: &str) -> bool {
        self.layers().into_iter().flat_map(|layer| layer.agents.values()).any(|agent| {
            let named = agent.env.iter().any(|name| name == variable);
            named || agent.key_variable() == Some(variable)
        })
    }

    /// The shell command that tells a person.
    pub fn notify(&self) -> Option<&str> {
        self.layers().into_iter().find_map(|layer| layer.notify.as_deref())
    }

    /// The same with choices of a command line, before all others.
    #[must_use]
    pub fn chosen_first(mut self, choices: &[RoleChoice]) -> Self {
        self.choices.splice(0..0, choices.iter().cloned());
        self
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}:{line}:{column}: {message}", path.display())]
    Fault { path: PathBuf, line: usize, column: usize, message: String, hint: String },
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{message}")]
    Choice { message: String, hint: String },
    #[error("no agent is named `{name}`, as {named_by} says")]
    NoAgent { name: AgentName, named_by: String, near: Option<String>, known: Vec<String> },
}

impl ConfigError {
    /// The same, where an atom names the agent.
    #[must_use]
    pub fn of_atom(mut self, id: &AtomId) -> Self {
        if let Self::NoAgent { named_by, .. } = &mut self {
            *named_by = format!("atom `{id}`");
        }
        self
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Fault { hint, .. } | Self::Choice { hint, .. } => hint.clone(),
            Self::NoAgent { near: Some(near), .. } => format!("did you mean `{near}`?"),
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
        Failure::new("E-CONFIG", exit::CONFIG, &error, error.hint())
    }
}

/// The configuration of a project, with the person's own. Without files and variables it is empty.
pub fn load(project: &Path) -> Result<Config, ConfigError> {
    let own = private::config_home(private::variable).map(|home| home.join(OWN_FILE_NAME));
    let config = Config {
        choices: resolve::of_variables(std::env::vars_os())?,
        project: layer(&project.join(FILE_NAME))?,
        own: own.map_or_else(|| Ok(ConfigLayer::default()), |path| layer(&path))?,
    };
    for agent in config.layers().into_iter().flat_map(|layer| layer.agents.values()) {
        secrets::add_named(agent.env.iter().map(String::as_str));
        agent.key_variable().into_iter().for_each(secrets::add_key);
    }
    Ok(config)
}

/// A configuration of the text of a project's file.
pub fn of_text(text: &str) -> Result<ConfigLayer, ConfigError> {
    parse(Path::new(FILE_NAME), text)
}

fn layer(path: &Path) -> Result<ConfigLayer, ConfigError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let text = files::read_linked(path, FILE_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    match text {
        Ok(text) => parse(path, &text),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            Ok(ConfigLayer::default())
        }
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn parse(path: &Path, text: &str) -> Result<ConfigLayer, ConfigError> {
    let place = |offset| {
        let (line, column) = Places::new(text).line_col(offset);
        format!("{}:{line}:{column}", path.display())
    };
    read_config::parse(text, &place).map_err(|fault| {
        let (line, column) = Places::new(text).line_col(fault.span.start);
        let hint = fault.hint.unwrap_or_else(|| fault::shape(text, fault.span.start));
        ConfigError::Fault { path: path.to_owned(), line, column, message: fault.message, hint }
    })
}
