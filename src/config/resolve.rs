//! The agent of a role: which one, and everything that its preset adds.
//!
//! Not here: whether its program is installed.

use descent_core::{doc::suggest, id::AgentName, state::Role};

use super::{
    Config, ConfigError, Worker,
    agent::{
        AFTER_RESULT, Acp, AgentConfig, AgentLimits, AgentSource, FIRST_EVENT, Headless, IDLE,
        Modes, ResolvedAgent, Transport,
    },
    preset::{Preset, PresetTransport},
};

/// The agent that `worker = {run = …}` is.
pub const WORKER: &str = "worker";

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
            return self.by_name(name, "an atom").map(Some);
        }
        let chosen = self.chosen(role).or_else(|| self.chosen(fallback(role)?));
        match chosen {
            Some(choice) => self.by_name(&choice.agent, &choice.said_in).map(Some),
            None if role == Role::Worker => Ok(self.worker.as_ref().map(shell)),
            None => Ok(None),
        }
    }

    /// The agent of that name.
    pub fn by_name(&self, name: &AgentName, named_by: &str) -> Result<ResolvedAgent, ConfigError> {
        if let Some(agent) = self.agents.get(name) {
            return Ok(resolved(name, agent));
        }
        match &self.worker {
            Some(worker) if name.as_str() == WORKER => Ok(shell(worker)),
            Some(_) | None => Err(self.no_agent(name, named_by)),
        }
    }

    fn no_agent(&self, name: &AgentName, named_by: &str) -> ConfigError {
        let known: Vec<String> = self.names().map(str::to_owned).collect();
        ConfigError::NoAgent {
            name: name.clone(),
            named_by: named_by.to_owned(),
            near: suggest(name.as_str(), known.iter().map(String::as_str)).map(str::to_owned),
            known,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let worker = self.worker.as_ref().map(|_| WORKER);
        worker
            .into_iter()
            .chain(self.agents.keys().map(AgentName::as_str))
    }
}

/// The role whose agent is asked where this one has none.
fn fallback(role: Role) -> Option<Role> {
    match role {
        Role::Profile | Role::Validate | Role::Assess | Role::Summarise | Role::Answer => {
            Some(Role::Judge)
        }
        Role::Refine => Some(Role::Planner),
        Role::Worker | Role::Planner | Role::Probe | Role::Judge | Role::Aligner => None,
    }
}

fn shell(worker: &Worker) -> ResolvedAgent {
    ResolvedAgent {
        name: AgentName::from(WORKER),
        transport: Transport::Shell(worker.run.clone()),
        env: Vec::new(),
        set: Vec::new(),
        limits: limits(None),
        price: None,
        preset: None,
    }
}

fn resolved(name: &AgentName, agent: &AgentConfig) -> ResolvedAgent {
    let preset = match &agent.source {
        AgentSource::Preset(preset) => Some(*preset),
        AgentSource::Acp(_) | AgentSource::Headless(_) | AgentSource::Shell(_) => None,
    };
    let mut env = preset.map_or_else(Vec::new, |preset| preset.env.clone());
    env.extend(agent.env.iter().cloned());
    let set = preset.into_iter().flat_map(|preset| preset.set.clone());
    ResolvedAgent {
        name: name.clone(),
        transport: transport(agent),
        env,
        set: set.collect(),
        limits: limits(Some(agent)),
        price: agent.price,
        preset,
    }
}

fn limits(agent: Option<&AgentConfig>) -> AgentLimits {
    AgentLimits {
        first_event: agent
            .and_then(|agent| agent.first_event)
            .unwrap_or(FIRST_EVENT),
        idle: agent.and_then(|agent| agent.idle).unwrap_or(IDLE),
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
