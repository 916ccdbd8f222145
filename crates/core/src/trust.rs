//! Everything that a state, a plan or a worker can execute, as a list with a digest; and the owner
//! of a file.
//!
//! Invariant: the list holds everything that can run, everything that widens what runs or decides
//! what holds, and everything that an agent is told, of earlier results their digest. The digest
//! covers the list that a person is shown, and the plan or the state that it was made of, whole: so
//! equal digests allow the same. Not here: files, git, earlier consents.

mod listed;
#[cfg(test)]
mod tests;

use crate::doc::prelude::*;
use crate::{
    doc::{self, Node},
    id::{AtomId, Digest},
    state::{
        Atom, Binding, Objective, State, atom::atom_text::keys_of_program, fields::Writer,
        records::Records, table::words,
    },
};

/// Who owns a file, and its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    pub uid: u32,
    pub mode: u32,
}

/// The user who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Me {
    pub uid: u32,
    /// The user for whom root acts.
    pub sudo_uid: Option<u32>,
}

/// Whether the file belongs to an account that is neither ours nor the system's.
pub fn is_another_hand(hand: Hand, me: Me) -> bool {
    let is_mine = hand.uid == me.uid || (me.uid == 0 && me.sudo_uid == Some(hand.uid));
    // Root could change this program too. A file that anybody may write proves nothing.
    let is_roots = hand.uid == 0 && hand.mode & 0o022 == 0;
    !(is_mine || is_roots)
}

/// The item that stands for all that was made before, by its digest.
pub const EARLIER_RESULTS: &str = "earlier results";

words! {
    /// The use of a text, in the order of display
    pub enum TrustGroup {
        /// Run in each new workspace
        Setup = "setup",
        /// Run for the roles that name it
        Agent = "agent",
        /// Run to tell a person of the run
        Notify = "notify",
        /// Judges: a command that runs, a file that is looked at
        Check = "check",
        /// Run as an attempt
        Action = "action",
        /// Words for a worker: to an agent they are as good as commands
        Task = "task",
        /// Widens the reach of the others
        Setting = "setting",
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
    /// The digest of each plan and state in it, as one value: no two of them have one list by chance.
    records: Vec<Digest>,
}

impl TrustList {
    pub fn of_plan<'a>(
        objective: &'a Objective,
        atoms: impl IntoIterator<Item = (&'a AtomId, &'a Atom)>,
    ) -> Self {
        let mut carried = Self::default();
        let objective = carried.add_objective(objective);
        let atoms = atoms.into_iter();
        let by_program = keys_of_program();
        let atoms =
            atoms.map(|(id, atom)| (id.to_string(), carried.add_atom(id, atom, &by_program)));
        let atoms = Node::object(atoms.collect());
        let whole = Node::array(Vec::from([objective, atoms]));
        carried.records.push(Digest::sha256(doc::canonical(&whole).as_bytes()));
        carried.sorted()
    }

    /// The plan of a state. Resolved atoms are in it: whatever may be reopened may run again. No fact of the program
    /// changes it.
    fn of_wanted(state: &State) -> Self {
        let atoms = state.all_atoms();
        let atoms = atoms.into_iter().map(|(id, atom)| (id, &**atom));
        Self::of_plan(&state.objective, atoms)
    }

    pub fn of_state(state: &State) -> Self {
        let mut carried = Self::of_wanted(state);
        let start = state.run.started_from.as_ref().map(|start| &start.commit);
        if let Some(commit) = state.run.head.as_ref().or(start) {
            carried.add(TrustGroup::Setting, "starts from", commit.as_str());
        }
        carried.add_said(&state.run);
        for (id, atom) in state.all_atoms() {
            carried.add_said_of(id, atom);
        }
        let whole = whole(state);
        if is_any(state) {
            carried.add(TrustGroup::Task, EARLIER_RESULTS, whole.as_str());
        }
        carried.records.push(whole);
        carried.sorted()
    }

    pub fn of_agent(command: &str) -> Self {
        let mut carried = Self::default();
        carried.add(TrustGroup::Agent, "", command);
        carried
    }

    /// A list of something else than a state, such as a configuration.
    pub fn of_items(items: Vec<TrustItem>) -> Self {
        let records = Vec::new();
        Self { items, records }.sorted()
    }

    /// Whether an agent is started by it.
    pub fn starts_agents(&self) -> bool {
        self.items.iter().any(|item| item.group == TrustGroup::Agent)
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.items.extend(other.items);
        self.records.extend(other.records);
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
        let records = self.records.iter().map(|one| Node::string(one.as_str()));
        let list = Node::array(self.items.iter().map(item).chain(records).collect());
        Digest::sha256(doc::canonical(&list).as_bytes())
    }

    fn add(&mut self, group: TrustGroup, at: &str, text: &str) {
        self.items.push(TrustItem { group, at: at.to_owned(), text: text.to_owned() });
    }

    fn sorted(mut self) -> Self {
        self.items.sort_by_key(|item| item.group);
        self
    }
}

/// The digest of all of a state but its version, lineage, serial and seal.
fn whole(state: &State) -> Digest {
    // Without `..`: a new part of a state has to be put in one of the two places.
    let State {
        version: _,
        lineage: _,
        serial: _,
        seal: _,
        said: _,
        objective,
        control,
        atoms,
        bindings,
        trail,
        corrections,
        run,
        plan,
        extra,
        work_graph_extra,
        order,
    } = state;
    let unknown = |extra| Writer::default().finish(extra);
    let parts = [
        objective.node(),
        control.node(),
        by_id(atoms, Atom::node),
        by_id(bindings, Binding::node),
        Node::array(trail.iter().map(|one| one.node.clone()).collect()),
        Node::array(corrections.iter().map(|one| one.node.clone()).collect()),
        run.node(),
        plan.as_deref().cloned().unwrap_or_else(Node::null),
        unknown(extra),
        unknown(work_graph_extra),
        Node::array(order.iter().map(|id| Node::string(id.as_str())).collect()),
    ];
    Digest::sha256(doc::canonical(&Node::array(parts.to_vec())).as_bytes())
}

fn by_id<T>(records: &Records<T>, node: impl Fn(&T) -> Node) -> Node {
    let one = |(id, record): (&AtomId, &Arc<T>)| (id.as_str().to_owned(), node(record));
    Node::object(records.iter().map(one).collect())
}

/// Whether anything was tried or said before: agents may be told of it.
fn is_any(state: &State) -> bool {
    let tried = |atom: &Atom| atom.task().is_some_and(|task| !task.tries.is_empty());
    let is_empty = state.bindings.is_empty() && state.trail.is_empty();
    let is_new = is_empty && state.corrections.is_empty() && !state.run.ending.is_known();
    !is_new || state.atoms.values().any(|atom| tried(atom))
}

/// A digest as a person may have typed or pasted it; `None` for anything else.
pub fn typed_digest(text: &str) -> Option<Digest> {
    let lower = text.trim().to_ascii_lowercase();
    let hex = lower.strip_prefix("sha256:").unwrap_or(&lower).trim();
    let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| Digest::new("sha256:".to_string() + hex))
}
