//! The agents of a run: which one does an attempt, and with which environment.
//!
//! Not here: reading the configuration (`config`), talking with an agent (`agent`).

use std::sync::Arc;

use descent_core::{
    id::AgentName,
    state::{Action, Intent, Role, State},
};
use descent_minds::prompt::Ending;

use descent_agent::{
    agent::{HiredAgent, Maker},
    config::{
        Config, ConfigError,
        agent_table::{ResolvedAgent, Transport},
    },
    model::Asker,
};
use descent_process::environment::Environment;
use descent_system::failure::{Failure, exit};

#[derive(Debug, Clone, Default)]
pub struct Agents {
    config: Arc<Config>,
    /// Asks the models of all attempts.
    asker: Asker,
}

impl Agents {
    pub fn new(config: Config) -> Self {
        Self { config: Arc::new(config), asker: Asker::default() }
    }

    /// The worker of tasks without an action. A model that is asked changes no file.
    pub fn worker(&self) -> Option<AgentName> {
        let worker = self.config.doer(false, None).ok().flatten();
        let worker = worker.filter(|worker| !matches!(worker.transport, Transport::Model(_)));
        worker.map(|worker| worker.name)
    }

    /// Whether the agent of an attempt reads that file of the project by itself.
    pub fn reads(&self, intent: &Intent, is_plan: bool, file: &str) -> bool {
        let agent = self.agent(intent, is_plan).ok().flatten();
        agent.is_some_and(|agent| agent.reads().iter().any(|one| one == file))
    }

    /// Whether an attempt is made by a model that is asked.
    pub fn is_asked(&self, intent: &Intent) -> bool {
        let agent = self.agent(intent, false).ok().flatten();
        agent.is_some_and(|agent| matches!(agent.transport, Transport::Model(_)))
    }

    /// Whether the agent of an attempt can go on with a session.
    pub fn goes_on(&self, intent: &Intent) -> bool {
        let agent = self.agent(intent, false).ok().flatten();
        agent.is_some_and(|agent| agent.transport.goes_on())
    }

    /// The way in which an attempt gives its result.
    pub fn ending(&self, state: &State, intent: &Intent) -> Ending {
        let atom = state.atoms.get(&intent.atom);
        let is_plan = atom.is_some_and(|atom| atom.plan().is_some());
        match self.agent(intent, is_plan) {
            _ if action_of(state, intent).is_some() => Ending::ResultFile,
            Ok(Some(agent)) => match agent.transport {
                Transport::Headless(_) | Transport::Acp(_) => Ending::LastMessage,
                Transport::Model(_) => Ending::Answer,
                Transport::Shell(_) => Ending::ResultFile,
            },
            Ok(None) | Err(_) => Ending::ResultFile,
        }
    }

    /// By which an attempt without an action is made: the agent that its intent names.
    pub fn maker(
        &self,
        intent: &Intent,
        is_plan: bool,
        environment: &Environment,
        slot: usize,
    ) -> Result<Maker, Failure> {
        let agent = self.agent(intent, is_plan)?.ok_or_else(no_worker)?;
        let var = |name: &str| std::env::var_os(name);
        let env = environment.for_agent(&agent.env, &agent.set, var);
        let asker = self.asker.clone();
        Ok(Maker::Agent(Box::new(HiredAgent { agent, env, asker, slot })))
    }

    fn agent(&self, intent: &Intent, is_plan: bool) -> Result<Option<ResolvedAgent>, ConfigError> {
        match &intent.agent {
            Some(name) => self.config.by_name(name, "an attempt").map(Some),
            None => self.config.doer(is_plan, None),
        }
    }
}

/// The action of an attempt's atom, if it has one. A probe only thinks about it.
pub(super) fn action_of<'s>(state: &'s State, intent: &Intent) -> Option<&'s Action> {
    let action = state.atoms.get(&intent.atom)?.task()?.spec.action.as_ref();
    action.filter(|_| intent.role != Role::Probe)
}

pub fn no_worker() -> Failure {
    let hint = "give the task an `action`, or name a worker in descent.toml: agents.worker.run = \"…\" and roles.worker \
                = \"worker\"";
    Failure::new("E-CONFIG", exit::CONFIG, "a task has no action and no worker is configured", hint)
}
