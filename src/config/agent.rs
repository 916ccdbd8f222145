//! An agent of the configuration: what is started, and how it is talked to.
//!
//! Not here: reading it from a file (`read`), starting it (`agent`).

use std::time::Duration;

use descent_core::id::AgentName;

use super::{preset::Preset, price::Price, provider::KeySource};

pub use super::transport::{Acp, Headless, Modes, SESSION, Transport};

/// How long an agent may be silent before its first event.
pub const FIRST_EVENT: Duration = Duration::from_secs(2 * 60);
/// How long an agent may be silent between two events.
pub const IDLE: Duration = Duration::from_secs(10 * 60);
/// How long the server of a model may be silent between two bytes.
pub const PROVIDER_IDLE: Duration = Duration::from_secs(60);
/// How long an agent may go on after its result.
pub const AFTER_RESULT: Duration = Duration::from_secs(5);

/// All that is needed to start an agent and to talk to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAgent {
    pub name: AgentName,
    pub transport: Transport,
    /// Names of variables that are passed on beside the default list.
    pub env: Vec<String>,
    /// Variables with these values, set for it.
    pub set: Vec<(String, String)>,
    pub limits: AgentLimits,
    pub price: Option<Price>,
    pub preset: Option<&'static Preset>,
}

impl ResolvedAgent {
    /// With all that its preset adds.
    pub(super) fn new(
        name: AgentName,
        transport: Transport,
        preset: Option<&'static Preset>,
    ) -> Self {
        let set = preset.into_iter().flat_map(|preset| preset.set.clone());
        Self {
            name,
            transport,
            env: preset.map_or_else(Vec::new, |preset| preset.env.clone()),
            set: set.collect(),
            limits: AgentLimits {
                first_event: FIRST_EVENT,
                idle: IDLE,
                after_result: AFTER_RESULT,
            },
            price: None,
            preset,
        }
    }

    /// A preset as it is, under its own name.
    pub fn of_preset(preset: &'static Preset) -> Self {
        Self::new(AgentName::from(preset.name.as_str()), preset.transport.clone(), Some(preset))
    }

    /// The variable that its key is read from.
    pub fn key_variable(&self) -> Option<&str> {
        match &self.transport {
            Transport::Model(provider) => match &provider.key {
                Some(KeySource::Env(name)) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn program(&self) -> &str {
        self.transport.program()
    }

    /// The files of a project that it reads by itself.
    pub fn reads(&self) -> &[String] {
        self.preset.map_or(&[], |preset| &preset.reads)
    }

    /// Whether its cost can be known: it tells it, or it has a price. `None` where only its work will show.
    pub fn tells_cost(&self) -> Option<bool> {
        let by_protocol = || match &self.transport {
            Transport::Headless(headless) => headless.dialect.tells_cost(),
            Transport::Model(_) => Some(false),
            Transport::Acp(_) | Transport::Shell(_) => None,
        };
        match (self.price, self.preset) {
            (Some(_), _) => Some(true),
            (None, Some(preset)) => Some(preset.tells_cost),
            (None, None) => by_protocol(),
        }
    }

    /// It in a line for people: its command, or its name and its program.
    pub fn line(&self) -> String {
        match (&self.transport, self.preset) {
            (Transport::Shell(command), _) => command.clone(),
            (Transport::Model(provider), _) => format!("{}, {}", self.name, provider.line()),
            (Transport::Headless(_) | Transport::Acp(_), Some(preset)) => {
                format!("{}, by {}", self.name, preset.title)
            }
            (Transport::Headless(_) | Transport::Acp(_), None) => {
                format!("{}, by `{}`", self.name, self.program())
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    pub first_event: Duration,
    pub idle: Duration,
    pub after_result: Duration,
}
