//! Findings about tools and workers: how often their uses were hindered.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{AuditCode, AuditFinding, AuditedCommit};
use crate::{
    event::Event,
    id::{AgentName, AtomId},
    law::approach,
    state::{Atom, FailureClass, Role, run::ACTION},
    world::World,
};

/// The newest uses that are looked at, and how many it takes.
const USES_MAX: usize = 8;
const USES_MIN: usize = 4;

/// The uses of each tool by their time: whether they were hindered.
type Uses = BTreeMap<String, Vec<(String, bool)>>;

pub(super) fn findings(world: &World, commits: &[AuditedCommit<'_>]) -> Vec<AuditFinding> {
    let mut uses = Uses::new();
    let mut used = |tool: Option<String>, at: &str, hindered: bool| {
        if let Some(tool) = tool {
            let known = uses.entry(tool).or_default();
            known.push((at.to_string(), hindered));
        }
    };
    let state = &world.state;
    for (entry, failed) in state.failures() {
        let tool = tool(world, &failed.atom, failed.agent.as_ref());
        let is_hindered = failed.class == FailureClass::Environmental;
        used(tool, &entry.at, is_hindered);
    }
    for (id, binding) in state.bindings.iter() {
        // A person's result used nothing.
        if binding.context.is_some() {
            used(tool(world, id, only_worker(world)), &binding.at, false);
        }
    }
    for commit in commits {
        for event in commit.events {
            // Retries in passing stand in no failure.
            if let Event::Transient { atom, .. } = event {
                used(tool(world, atom, only_worker(world)), commit.at, true);
            }
        }
    }
    let found = uses.into_iter();
    let found = found.filter_map(|(tool, uses)| unhealthy(&tool, uses));
    found.collect()
}

/// The program of an atom's action, else its agent.
fn tool(world: &World, id: &AtomId, agent: Option<&AgentName>) -> Option<String> {
    let atom = world.state.atom(id)?;
    let own = atom.task().and_then(|task| task.spec.agent.as_ref());
    of_action(atom).or_else(|| own.or(agent).map(ToString::to_string))
}

/// The agent that does tasks without one of their own, where the run had one alone.
fn only_worker(world: &World) -> Option<&AgentName> {
    let rows = world.state.run.spent_by_agent.iter();
    let mut workers = rows.filter(|row| row.role == Role::Worker && row.agent.as_str() != ACTION);
    let worker = workers.next()?;
    workers.next().is_none().then_some(&worker.agent)
}

fn of_action(atom: &Atom) -> Option<String> {
    atom.task()?.spec.action.as_ref()?;
    let first = approach::of_atom(atom).into_iter().next();
    first.map(|first| first.tool)
}

fn unhealthy(tool: &str, mut uses: Vec<(String, bool)>) -> Option<AuditFinding> {
    // Times in records compare as their texts do.
    uses.sort_by(|a, b| a.0.cmp(&b.0));
    let old = uses.len().saturating_sub(USES_MAX);
    let newest = uses.get(old..).unwrap_or_default();
    let hindered = newest.iter().filter(|(_, hindered)| *hindered).count();
    let is_unhealthy = newest.len() >= USES_MIN && hindered * 2 >= newest.len();
    is_unhealthy.then(|| AuditFinding {
        code: AuditCode::ToolHealth,
        count: hindered as u64,
        what: format!("{tool} was hindered in {hindered} of its newest {} uses", newest.len()),
        hint: "descent why shows what hindered it; descent doctor looks at the surroundings",
    })
}
