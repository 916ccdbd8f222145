//! The agents of a loop, by role. The shell reads it off the configuration at a run's start.

use alloc::collections::BTreeMap;

use crate::{
    id::{AgentName, AtomId},
    state::Role,
};

/// The agents of a loop. An atom without one is done by an action, or by nobody.
#[derive(Debug, Clone, Default)]
pub struct AgentTable {
    by_role: BTreeMap<Role, AgentName>,
    by_atom: BTreeMap<AtomId, AgentName>,
}

impl AgentTable {
    pub fn set(&mut self, role: Role, agent: AgentName) {
        self.by_role.insert(role, agent);
    }

    /// An agent for one atom alone.
    pub fn set_for(&mut self, atom: AtomId, agent: AgentName) {
        self.by_atom.insert(atom, agent);
    }

    /// The agent that does an atom in that role.
    pub fn of(&self, role: Role, atom: &AtomId) -> Option<&AgentName> {
        self.by_atom.get(atom).or_else(|| self.by_role.get(&role))
    }
}
