//! A question about the kind of a task, at `align`: before anything is planned (contract §9.26).
//!
//! Invariant: without an answer that can be used there is the default, with the reason. Not here: what follows from a
//! profile (the core).

use std::path::Path;

use descent_core::{
    id::UnixMillis,
    profile,
    prompt::profiling,
    state::{Role, Usage, profile::ProfileRecord},
    world::World,
};
use tokio_util::sync::CancellationToken;

use super::outside::{OutsideAnswer, OutsideQuestion};
use crate::{
    agent,
    config::{Config, agent::ResolvedAgent},
    failure::Failure,
};

/// The agent that says what kind of task a goal is.
#[derive(Debug)]
pub struct Profiler<'a> {
    pub agent: ResolvedAgent,
    config: &'a Config,
    now: UnixMillis,
}

impl<'a> Profiler<'a> {
    /// The agent that a configuration names; `None` if it names none.
    pub fn of(config: &'a Config, now: UnixMillis) -> Result<Option<Self>, Failure> {
        let agent = config.agent(Role::Profile, None)?;
        Ok(agent.map(|agent| Self { agent, config, now }))
    }

    /// Asks about an agreement; `None` where it is cancelled.
    pub async fn ask(
        &self,
        top: &Path,
        world: &World,
        cancel: &CancellationToken,
    ) -> Result<Option<(ProfileRecord, Usage)>, Failure> {
        let prompt = profiling(world, self.now);
        let outside = OutsideQuestion {
            config: self.config,
            agent: &self.agent,
            prompt: &prompt,
            form: agent::kind_of_task(),
            now: self.now,
        };
        let (answer, used) = outside.ask(top, cancel).await?;
        let said = match answer {
            OutsideAnswer::Value(node) => profile::read(&node),
            OutsideAnswer::None(why) => Err(why),
            OutsideAnswer::Cancelled => return Ok(None),
        };
        let record = profile::record(self.agent.name.clone(), self.now.rfc3339(), said);
        Ok(Some((record, used)))
    }
}
