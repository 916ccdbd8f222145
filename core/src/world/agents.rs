//! The agents of a loop, by role. The shell reads it off the configuration at a run's start.

use alloc::collections::BTreeMap;

use crate::{
    id::{AgentName, AtomId},
    state::{JudgingLevel, Role},
};

/// The agents of a loop. An atom without one is done by an action, or by nobody.
#[derive(Debug, Clone, Default)]
pub struct AgentTable {
    by_role: BTreeMap<Role, AgentName>,
    by_atom: BTreeMap<AtomId, AgentName>,
    /// Whether an agent is configured for the role of a planner, and not only a worker.
    has_planner: bool,
    /// Whether an agent tells its cost, as far as that is known.
    tells_cost: BTreeMap<AgentName, bool>,
}

impl AgentTable {
    pub fn set(&mut self, role: Role, agent: AgentName) {
        self.by_role.insert(role, agent);
    }

    /// Has an agent of its own do what planners do.
    pub fn set_planner(&mut self, agent: AgentName) {
        self.set(Role::Planner, agent);
        self.has_planner = true;
    }

    /// Whether the plan may be changed where nothing is left to try: by a planner or by a refiner.
    pub fn changes_plans(&self, judging: JudgingLevel) -> bool {
        self.has_planner || self.refines(judging)
    }

    /// Whether a refiner is asked at that level.
    pub fn refines(&self, judging: JudgingLevel) -> bool {
        judging != JudgingLevel::Off && self.in_role(Role::Refine).is_some()
    }

    /// Whether an agent of its own plans.
    pub fn has_planner(&self) -> bool {
        self.has_planner
    }

    /// An agent for one atom alone.
    pub fn set_for(&mut self, atom: AtomId, agent: AgentName) {
        self.by_atom.insert(atom, agent);
    }

    /// Whether this agent tells its cost, or has a price by which it can be known.
    pub fn set_tells_cost(&mut self, agent: AgentName, tells: bool) {
        self.tells_cost.insert(agent, tells);
    }

    /// `None` where nobody knows before it has worked.
    pub fn tells_cost(&self, agent: &AgentName) -> Option<bool> {
        self.tells_cost.get(agent).copied()
    }

    /// The agent of a role.
    pub fn in_role(&self, role: Role) -> Option<&AgentName> {
        self.by_role.get(&role)
    }

    /// The agent that does an atom in that role.
    pub fn of(&self, role: Role, atom: &AtomId) -> Option<&AgentName> {
        self.by_atom.get(atom).or_else(|| self.by_role.get(&role))
    }
}
