//! The agents of a run: which one does an attempt, and with which environment.
//!
//! Not here: reading the configuration (`config`), talking with an agent (`agent`).

use std::sync::Arc;

use descent_core::{prompt::Ending, state::Intent};

use crate::{
    agent::{Maker, TalkWay, TalkingAgent},
    config::{
        Config, ConfigError,
        agent::ResolvedAgent,
        transport::{Access, Transport},
    },
    failure::{Failure, exit},
    process::environment::Environment,
};

#[derive(Debug, Clone, Default)]
pub struct Agents(Arc<Config>);

impl Agents {
    pub fn new(config: Config) -> Self {
        Self(Arc::new(config))
    }

    /// A worker is available for tasks without an action.
    pub fn has_worker(&self) -> bool {
        matches!(self.0.doer(false, None), Ok(Some(_)))
    }

    /// Whether the agent of an attempt can go on with a session.
    pub fn goes_on(&self, intent: &Intent) -> bool {
        let maker = self.maker(intent, false, &Environment::default(), 0);
        match maker {
            Ok(Maker::Agent(agent)) => agent.goes_on(),
            Ok(Maker::Shell { .. }) | Err(_) => false,
        }
    }

    /// The way in which an attempt gives its result.
    pub fn ending(&self, intent: &Intent, is_plan: bool) -> Ending {
        match self.agent(intent, is_plan) {
            Ok(Some(agent)) if !matches!(agent.transport, Transport::Shell(_)) => {
                Ending::LastMessage
            }
            Ok(_) | Err(_) => Ending::ResultFile,
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
        let way = match agent.transport.clone() {
            Transport::Shell(command) => {
                let price = agent.price;
                return Ok(Maker::Shell {
                    command,
                    env,
                    price,
                });
            }
            Transport::Headless(headless) => TalkWay::Headless(headless),
            Transport::Acp(acp) => TalkWay::Acp(acp),
        };
        Ok(Maker::Agent(Box::new(TalkingAgent {
            way,
            env,
            access: Access::of(intent.role),
            slot,
            agent,
        })))
    }

    fn agent(&self, intent: &Intent, is_plan: bool) -> Result<Option<ResolvedAgent>, ConfigError> {
        match &intent.agent {
            Some(name) => self.0.by_name(name, "an attempt").map(Some),
            None => self.0.doer(is_plan, None),
        }
    }
}

pub fn no_worker() -> Failure {
    let hint =
        "give the task an `action`, or name a worker in descent.toml: worker = {run = \"…\"}";
    Failure::new(
        "E-NO-WORKER",
        exit::CONFIG,
        "a task has no action and no worker is configured",
        hint,
    )
}
