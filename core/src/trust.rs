//! Everything that a state, a plan or a worker can execute, as a list with a digest; and the owner
//! of a file.
//!
//! Invariant: the list holds everything that can run and everything that widens what runs. The
//! digest covers exactly the list that a person is shown, so equal digests allow the same. Not
//! here: files, git, earlier consents.

mod origin;
#[cfg(test)]
mod tests;

pub use origin::{
    Hand, History, Me, Origin, OriginFacts, is_another_committer, is_another_hand, origin,
};

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
    state::{Atom, Check, Leaf, Objective, State, Workspace},
};

/// The use of a text, in the order of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TrustGroup {
    /// Run in each new workspace.
    Setup,
    /// Run for each task without an action.
    Worker,
    /// Run for the roles that name it.
    Agent,
    /// Run to tell a person of the run.
    Notify,
    /// Run to judge.
    Check,
    /// Run as an attempt.
    Action,
    /// Words for a worker: to an agent they are as good as commands.
    Task,
    /// Widens the reach of the others.
    Setting,
}

impl TrustGroup {
    pub fn word(self) -> &'static str {
        match self {
            TrustGroup::Setup => "setup",
            TrustGroup::Worker => "worker",
            TrustGroup::Agent => "agent",
            TrustGroup::Notify => "notify",
            TrustGroup::Check => "check",
            TrustGroup::Action => "action",
            TrustGroup::Task => "task",
            TrustGroup::Setting => "setting",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrustItem {
    pub group: TrustGroup,
    /// The atom, or the key; empty if the group is enough.
    pub at: String,
    /// In full, as it would be run.
    pub text: String,
}

/// Sorted by group, within a group as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustList {
    items: Vec<TrustItem>,
}

impl TrustList {
    pub fn of_plan<'a>(
        objective: &'a Objective,
        atoms: impl IntoIterator<Item = (&'a AtomId, &'a Atom)>,
    ) -> Self {
        let mut carried = Self::default();
        carried.add_objective(objective);
        let mut needs_worker = false;
        for (id, atom) in atoms {
            needs_worker |= carried.add_atom(id, atom);
        }
        if needs_worker {
            carried.add_words(objective);
        }
        carried.sorted()
    }

    /// Includes resolved atoms: whatever may be reopened may run again.
    pub fn of_state(state: &State) -> Self {
        let atoms = state.all_atoms();
        let atoms = atoms.into_iter().map(|(id, atom)| (id, &**atom));
        let mut carried = Self::of_plan(&state.objective, atoms);
        let start = state.run.started_from.as_ref().map(|start| &start.commit);
        if let Some(commit) = state.run.head.as_ref().or(start) {
            carried.add(TrustGroup::Setting, "starts from", commit.as_str());
        }
        if carried
            .items
            .iter()
            .any(|item| item.group == TrustGroup::Task)
            && let Some(digest) = earlier(state)
        {
            carried.add(TrustGroup::Task, "earlier results", digest.as_str());
        }
        carried.sorted()
    }

    pub fn of_worker(command: &str) -> Self {
        let mut carried = Self::default();
        carried.add(TrustGroup::Worker, "", command);
        carried
    }

    /// A list of something else than a state, such as a configuration.
    pub fn of_items(items: Vec<TrustItem>) -> Self {
        Self { items }.sorted()
    }

    /// Whether an agent is started by it.
    pub fn starts_agents(&self) -> bool {
        self.items.iter().any(|item| match item.group {
            TrustGroup::Worker | TrustGroup::Agent => true,
            TrustGroup::Setup
            | TrustGroup::Notify
            | TrustGroup::Check
            | TrustGroup::Action
            | TrustGroup::Task
            | TrustGroup::Setting => false,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.items.extend(other.items);
        self.sorted()
    }

    pub fn items(&self) -> &[TrustItem] {
        &self.items
    }

    pub fn digest(&self) -> Digest {
        let item = |item: &TrustItem| {
            let parts = [item.group.word(), &item.at, &item.text];
            Node::array(parts.map(Node::string).to_vec())
        };
        let list = Node::array(self.items.iter().map(item).collect());
        Digest::of(doc::canonical(&list).as_bytes())
    }

    fn add(&mut self, group: TrustGroup, at: &str, text: &str) {
        self.items.push(TrustItem {
            group,
            at: at.to_owned(),
            text: text.to_owned(),
        });
    }

    fn sorted(mut self) -> Self {
        self.items.sort_by_key(|item| item.group);
        self
    }

    fn add_objective(&mut self, objective: &Objective) {
        let constraints = &objective.constraints;
        if let Some(setup) = &constraints.setup {
            self.add(TrustGroup::Setup, "", setup);
        }
        if let Some(check) = &objective.base_case {
            self.add_checks("", check);
        }
        if constraints.workspace() == Workspace::Shared {
            self.add(TrustGroup::Setting, "workspace", Workspace::Shared.word());
        }
        for path in &constraints.link {
            self.add(TrustGroup::Setting, "link", path);
        }
        for name in &constraints.env {
            self.add(TrustGroup::Setting, "env", name);
        }
    }

    /// Returns whether the worker does it.
    fn add_atom(&mut self, id: &AtomId, atom: &Atom) -> bool {
        let Some(task) = atom.task() else {
            return false;
        };
        if let Some(check) = &task.spec.checks {
            self.add_checks(id.as_str(), check);
        }
        if let Some(agent) = &task.spec.agent {
            self.add(
                TrustGroup::Setting,
                &format!("agent of {id}"),
                agent.as_str(),
            );
        }
        match &task.spec.action {
            Some(action) => self.add(TrustGroup::Action, id.as_str(), &action.run),
            None => self.add(TrustGroup::Task, id.as_str(), atom.title(id)),
        }
        task.spec.action.is_none()
    }

    fn add_checks(&mut self, at: &str, check: &Check) {
        for leaf in check.leaves() {
            match leaf.leaf() {
                Some(Leaf::Command(rule)) => self.add(TrustGroup::Check, at, &rule.command),
                Some(Leaf::NotCommand(rule)) => self.add(TrustGroup::Check, at, &rule.command),
                // Nothing runs for a file leaf, an assertion, or an unknown kind.
                Some(
                    Leaf::File { .. }
                    | Leaf::NotFile { .. }
                    | Leaf::Assertion { .. }
                    | Leaf::Newer(_),
                )
                | None => {}
                Some(Leaf::Quality(leaf)) => {
                    self.add(TrustGroup::Task, &format!("quality {at}"), &leaf.statement);
                }
            }
        }
    }

    fn add_words(&mut self, objective: &Objective) {
        let words = [
            ("goal", &objective.goal),
            // In `align`, the input is goal and words in one.
            ("words", &objective.raw_input),
            ("why", &objective.background_intent),
        ];
        for (at, text) in words {
            let is_said = at == "words" && *text == objective.goal;
            if !text.is_empty() && !is_said {
                self.add(TrustGroup::Task, at, text);
            }
        }
    }
}

/// The digest of what a worker may be told of earlier work; `None` if there was none.
fn earlier(state: &State) -> Option<Digest> {
    let bindings = state.bindings.values().map(|binding| binding.node());
    let trail = state.trail.iter().map(|entry| entry.node.clone());
    let corrections = state.corrections.iter().map(|one| one.node.clone());
    let facts: Vec<Node> = bindings.chain(trail).chain(corrections).collect();
    (!facts.is_empty()).then(|| Digest::of(doc::canonical(&Node::array(facts)).as_bytes()))
}

/// A digest as a person may have typed or pasted it; `None` for anything else.
pub fn typed_digest(text: &str) -> Option<Digest> {
    let lower = text.trim().to_ascii_lowercase();
    let hex = lower.strip_prefix("sha256:").unwrap_or(&lower).trim();
    let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| Digest::new("sha256:".to_string() + hex))
}
