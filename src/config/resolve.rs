//! The agent of a role: which one, and everything that its preset adds.
//!
//! Not here: whether its program is installed.

use std::collections::BTreeSet;

use descent_core::{doc::suggest, id::AgentName, state::Role, world::AgentTable};

use super::{
    Config, ConfigError,
    agent::{
        AFTER_RESULT, Acp, AgentConfig, AgentLimits, AgentSource, FIRST_EVENT, Headless, IDLE,
        Modes, PROVIDER_IDLE, ResolvedAgent, Transport,
    },
    choices::RoleChoice,
    preset::{Preset, PresetTransport},
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
            let agent = match role {
                Role::Planner => self.doer(true, None),
                Role::Worker
                | Role::Probe
                | Role::Judge
                | Role::Aligner
                | Role::Profile
                | Role::Validate
                | Role::Assess
                | Role::Refine
                | Role::Summarise
                | Role::Answer => self.agent(role, None),
            };
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
        found.map(|agent| resolved(name, agent)).ok_or_else(|| self.no_agent(name, named_by))
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

impl ResolvedAgent {
    /// A preset as it is, under its own name.
    pub fn of_preset(preset: &'static Preset) -> Self {
        let agent = AgentConfig {
            source: AgentSource::Preset(preset),
            args: Vec::new(),
            env: Vec::new(),
            modes: Modes::default(),
            first_event: None,
            idle: None,
            price: None,
        };
        resolved(&AgentName::from(preset.name.as_str()), &agent)
    }
}

/// The role whose agent is asked where this one has none.
fn fallback(role: Role) -> Option<Role> {
    match role {
        Role::Validate | Role::Assess | Role::Summarise | Role::Answer => Some(Role::Judge),
        // A planner answers with a plan: it is asked where the program places a step for it. Who is asked at each `align`
        // is named for that.
        Role::Refine | Role::Profile => None,
        Role::Worker | Role::Planner | Role::Probe | Role::Judge | Role::Aligner => None,
    }
}

fn resolved(name: &AgentName, agent: &AgentConfig) -> ResolvedAgent {
    let preset = match &agent.source {
        AgentSource::Preset(preset) => Some(*preset),
        AgentSource::Acp(_)
        | AgentSource::Headless(_)
        | AgentSource::Shell(_)
        | AgentSource::Provider(_) => None,
    };
    let mut env = preset.map_or_else(Vec::new, |preset| preset.env.clone());
    env.extend(agent.env.iter().cloned());
    let set = preset.into_iter().flat_map(|preset| preset.set.clone());
    ResolvedAgent {
        name: name.clone(),
        transport: transport(agent),
        env,
        set: set.collect(),
        limits: limits(agent),
        price: agent.price,
        preset,
    }
}

fn limits(agent: &AgentConfig) -> AgentLimits {
    let is_provider = matches!(agent.source, AgentSource::Provider(_));
    AgentLimits {
        first_event: agent.first_event.unwrap_or(FIRST_EVENT),
        idle: agent.idle.unwrap_or(if is_provider { PROVIDER_IDLE } else { IDLE }),
        after_result: AFTER_RESULT,
    }
}

fn transport(agent: &AgentConfig) -> Transport {
    match &agent.source {
        AgentSource::Preset(preset) => of_preset(preset, agent),
        AgentSource::Acp(argv) => Transport::Acp(Acp {
            argv: with_args(argv, agent),
            modes: agent.modes.clone(),
            session_meta: None,
        }),
        AgentSource::Headless(headless) => headless_with(headless, agent),
        AgentSource::Shell(command) => Transport::Shell(command.clone()),
        AgentSource::Provider(provider) => Transport::Model(provider.clone()),
    }
}

fn of_preset(preset: &'static Preset, agent: &AgentConfig) -> Transport {
    match &preset.transport {
        PresetTransport::Acp(acp) => {
            let (own, given) = (&acp.modes, &agent.modes);
            Transport::Acp(Acp {
                argv: with_args(&acp.argv, agent),
                modes: Modes {
                    write: given.write.clone().or_else(|| own.write.clone()),
                    read: given.read.clone().or_else(|| own.read.clone()),
                },
                session_meta: acp.session_meta.as_deref(),
            })
        }
        PresetTransport::Headless(headless) => headless_with(headless, agent),
    }
}

fn headless_with(headless: &Headless, agent: &AgentConfig) -> Transport {
    let mut headless = headless.clone();
    headless.args.clone_from(&agent.args);
    Transport::Headless(headless)
}

fn with_args(argv: &[String], agent: &AgentConfig) -> Vec<String> {
    argv.iter().chain(&agent.args).cloned().collect()
}
