//! The agent of a role, as a file, a variable or a flag names it.
//!
//! Not here: whether its program is installed.

use std::{collections::BTreeSet, ffi::OsString};

use descent_core::{
    doc::suggest,
    id::AgentName,
    state::{Duty, Role},
    world::AgentTable,
};

use super::{
    Config, ConfigError,
    agent_table::{ResolvedAgent, Transport},
    fault::{NAME_HINT, meant},
};

impl Config {
    /// The agent of a role or for a question, or the one that an atom names. `None` if the configuration has none.
    ///
    /// # Errors
    /// If an agent is named that the configuration does not have.
    pub fn agent(
        &self,
        duty: impl Into<Duty>,
        named_by_atom: Option<&AgentName>,
    ) -> Result<Option<ResolvedAgent>, ConfigError> {
        if let Some(name) = named_by_atom {
            return self.by_name(name, "its atom").map(Some);
        }
        let duty: Duty = duty.into();
        let is_of_role = duty.question.is_some_and(|question| !question.row().is_named);
        let of_role = is_of_role.then(|| Duty::from(duty.role));
        let named = self.named(duty).or_else(|| self.named(of_role?));
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
        for duty in Duty::all() {
            let is_planner = duty == Role::Planner.into();
            let agent = if is_planner { self.doer(true, None) } else { self.agent(duty, None) };
            if let Ok(Some(agent)) = agent {
                table.set(duty, agent.name);
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
    pub fn by_name(&self, name: &AgentName, named_by: &str) -> Result<ResolvedAgent, ConfigError> {
        let mut layers = self.layers().into_iter();
        let found = layers.find_map(|layer| layer.agents.get(name));
        found.cloned().ok_or_else(|| {
            let known: Vec<String> = self.names().iter().map(ToString::to_string).collect();
            ConfigError::NoAgent {
                name: name.clone(),
                named_by: named_by.to_owned(),
                near: suggest(name.as_str(), known.iter().map(String::as_str)).map(str::to_owned),
                known,
            }
        })
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

    /// The names of all agents, sorted.
    pub fn names(&self) -> BTreeSet<AgentName> {
        self.layers().into_iter().flat_map(|layer| layer.agents.keys().cloned()).collect()
    }

    /// The choices that count, one a role or question.
    pub fn roles(&self) -> Vec<RoleChoice> {
        Duty::all().filter_map(|duty| self.named(duty)).collect()
    }

    fn named(&self, duty: Duty) -> Option<RoleChoice> {
        let of = |choices: &[RoleChoice]| choices.iter().find(|one| one.duty == duty).cloned();
        of(&self.choices).or_else(|| {
            let mut layers = self.layers().into_iter();
            layers.find_map(|layer| of(&layer.roles))
        })
    }
}

/// A variable with this beginning and a role in capitals names the agent of the role; one with `_` and a question behind
/// it that for the question.
const VARIABLE: &str = "DESCENT_AGENT_";

/// An agent that is given a role or a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleChoice {
    pub duty: Duty,
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
        let word = name[VARIABLE.len()..].to_ascii_lowercase().replacen('_', ".", 1);
        found.push(choice(&word, &value.to_string_lossy(), name)?);
    }
    found.sort_by_key(|choice| choice.duty);
    Ok(found)
}

/// The choices of a command line, each `ROLE=NAME`; the last of a role counts. A role may have a question: `judge.plan`.
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
    let duty = Duty::parse(word).ok_or_else(|| ConfigError::Choice {
        message: format!("{said_in}: unknown role `{}`", word.escape_debug()),
        hint: meant_duty(word),
    })?;
    if !AgentName::is_valid(name) {
        return Err(ConfigError::Choice {
            message: format!("{said_in}: `{}` is no name of an agent", name.escape_debug()),
            hint: NAME_HINT.to_owned(),
        });
    }
    Ok(RoleChoice { duty, agent: AgentName::from(name), said_in: said_in.to_owned() })
}

/// The duty that is close to a text, or all that there are.
pub(super) fn meant_duty(text: &str) -> String {
    let known: Vec<String> = Duty::all().map(Duty::text).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    meant(text, &known)
}
