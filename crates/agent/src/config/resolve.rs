//! The agent of a role, as a file, a variable or a flag names it.
//!
//! Not here: whether its program is installed.

use std::{collections::BTreeSet, ffi::OsString};

use descent_core::{doc::suggest, id::AgentName, state::Role, world::AgentTable};

use super::{
    Config, ConfigError,
    agent_table::{ResolvedAgent, Transport},
    fault::{NAME_HINT, meant},
};

impl Config {
    /// The agent of a role, or the one that an atom names. `None` if the configuration has none for the role.
    ///
    /// # Errors
    /// If an agent is named that the configuration does not have.
    pub fn agent(
        &self,
        role: Role,
        named_by_atom: Option<&AgentName>,
    ) -> Result<Option<ResolvedAgent>, ConfigError> {
        if let Some(name) = named_by_atom {
            return self.by_name(name, "its atom").map(Some);
        }
        let named = self.named(role).or_else(|| self.named(fallback(role)?));
        named.map(|choice| self.by_name(&choice.agent, &choice.said_in)).transpose()
    }

    /// The worker in a line for people; `None` without one that could work.
    pub fn worker_line(&self) -> Option<String> {
        let worker = self.agent(Role::Worker, None).ok().flatten();
        worker.map(|worker| worker.line())
    }

    /// The agent that makes an attempt of an atom: the one that the atom names, else a planner for a planning step, else
    /// the worker.
    ///
    /// # Errors
    /// If an agent is named that the configuration does not have.
    pub fn doer(
        &self,
        is_plan: bool,
        named_by_atom: Option<&AgentName>,
    ) -> Result<Option<ResolvedAgent>, ConfigError> {
        let planner = if is_plan { self.agent(Role::Planner, named_by_atom)? } else { None };
        match planner {
            Some(planner) => Ok(Some(planner)),
            None => self.agent(Role::Worker, named_by_atom),
        }
    }

    /// The agents of a run, by role, for what its intents say.
    pub fn table(&self) -> AgentTable {
        let mut table = AgentTable::default();
        for (_, role) in Role::WORDS {
            let is_planner = role == Role::Planner;
            let agent = if is_planner { self.doer(true, None) } else { self.agent(role, None) };
            if let Ok(Some(agent)) = agent {
                table.set(role, agent.name);
            }
        }
        if let Ok(Some(planner)) = self.agent(Role::Planner, None) {
            table.set_planner(planner.name);
        }
        for name in self.names() {
            let agent = self.by_name(&name, "the configuration").ok();
            if let Some(tells) = agent.and_then(|agent| agent.tells_cost()) {
                table.set_tells_cost(name, tells);
            }
        }
        table
    }

    /// The agent of that name; `named_by` says who names it.
    ///
    /// # Errors
    /// If there is none.
    pub fn by_name(&self, name: &AgentName, named_by: &str) -> Result<ResolvedAgent, ConfigError> {
        let mut layers = self.layers().into_iter();
        let found = layers.find_map(|layer| layer.agents.get(name));
        found.cloned().ok_or_else(|| self.no_agent(name, named_by))
    }

    /// An agent that can be named for a role that thinks: a model, else one that is talked with, else any.
    pub fn thinker(&self) -> Option<AgentName> {
        let rank = |name: &AgentName| match self.by_name(name, "").map(|one| one.transport) {
            Ok(Transport::Model(_)) => 0,
            Ok(Transport::Headless(_) | Transport::Acp(_)) => 1,
            Ok(Transport::Shell(_)) | Err(_) => 2,
        };
        self.names().into_iter().min_by_key(rank)
    }

    /// Whether the agent of that name is one of the project's file.
    pub fn is_of_project(&self, name: &AgentName) -> bool {
        self.project.agents.contains_key(name)
    }

    /// The names of all agents, sorted.
    pub fn names(&self) -> BTreeSet<AgentName> {
        self.layers().into_iter().flat_map(|layer| layer.agents.keys().cloned()).collect()
    }

    /// The choices that count, one a role.
    pub fn roles(&self) -> Vec<RoleChoice> {
        let roles = Role::WORDS.iter();
        roles.filter_map(|(_, role)| self.named(*role)).collect()
    }

    fn named(&self, role: Role) -> Option<RoleChoice> {
        let of = |choices: &[RoleChoice]| choices.iter().find(|one| one.role == role).cloned();
        of(&self.choices).or_else(|| {
            let mut layers = self.layers().into_iter();
            layers.find_map(|layer| of(&layer.roles))
        })
    }

    fn no_agent(&self, name: &AgentName, named_by: &str) -> ConfigError {
        let known: Vec<String> = self.names().iter().map(ToString::to_string).collect();
        ConfigError::NoAgent {
            name: name.clone(),
            named_by: named_by.to_owned(),
            near: suggest(name.as_str(), known.iter().map(String::as_str)).map(str::to_owned),
            known,
        }
    }
}

/// The role whose agent is asked where this one has none.
fn fallback(role: Role) -> Option<Role> {
    // A planner answers with a plan, so it does not refine; who is asked at each `align` is named for that.
    let is_judged = matches!(role, Role::Validate | Role::Assess | Role::Summarise | Role::Answer);
    is_judged.then_some(Role::Judge)
}

/// A variable with this beginning and a role in capitals names the agent of the role.
const VARIABLE: &str = "DESCENT_AGENT_";

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
