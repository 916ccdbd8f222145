//! Agents of roles: as a file, a variable or a flag names them.
//!
//! Not here: whether the agent is there (`resolve`).

use std::ffi::OsString;

use descent_core::{doc::did_you_mean, id::AgentName, state::Role};

use super::ConfigError;

/// A variable with this beginning and a role in capitals names the agent of the role.
const VARIABLE: &str = "DESCENT_AGENT_";

pub(super) const NAME_HINT: &str = "1 to 64 of a-z, 0-9, `_`, `.` and `-`";

/// An agent that a role is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleChoice {
    pub role: Role,
    pub agent: AgentName,
    /// The place that says so: a flag, a variable, or a file with its line.
    pub said_in: String,
}

/// The choices of the environment. An empty variable says nothing.
pub(super) fn of_variables(
    vars: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<RoleChoice>, ConfigError> {
    let mut found = Vec::new();
    for (name, value) in vars {
        let Some(name) = name.to_str().filter(|name| name.starts_with(VARIABLE)) else {
            continue;
        };
        if value.is_empty() {
            continue;
        }
        let word = name[VARIABLE.len()..].to_ascii_lowercase();
        found.push(choice(&word, &value.to_string_lossy(), name)?);
    }
    found.sort_by_key(|choice| choice.role.word());
    Ok(found)
}

/// The choices of a command line, each `ROLE=NAME`; the last of a role counts.
///
/// # Errors
/// If a text is no such pair.
pub fn of_flags(flags: &[String]) -> Result<Vec<RoleChoice>, ConfigError> {
    let read = flags.iter().rev().map(|flag| {
        let (role, name) = flag.split_once('=').ok_or_else(|| ConfigError::Choice {
            message: format!("`--agent {}` names no role", flag.escape_debug()),
            hint: "--agent ROLE=NAME, such as --agent worker=claude".to_owned(),
        })?;
        choice(role.trim(), name.trim(), "--agent")
    });
    read.collect()
}

fn choice(word: &str, name: &str, said_in: &str) -> Result<RoleChoice, ConfigError> {
    let role = Role::of_word(word).ok_or_else(|| ConfigError::Choice {
        message: format!("{said_in}: unknown role `{}`", word.escape_debug()),
        hint: meant(word, &Role::WORDS.map(|(known, _)| known)),
    })?;
    if !AgentName::is_valid(name) {
        return Err(ConfigError::Choice {
            message: format!("{said_in}: `{}` is no name of an agent", name.escape_debug()),
            hint: NAME_HINT.to_owned(),
        });
    }
    Ok(RoleChoice { role, agent: AgentName::from(name), said_in: said_in.to_owned() })
}

/// The name that may have been meant, else all.
pub(super) fn meant(name: &str, known: &[&str]) -> String {
    let near = did_you_mean(name, known.iter().copied());
    near.unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}
