//! A person's edit of the file becomes a correction: the difference of two states, and its consequences (contract §8).

mod confirm;
mod consequence;
mod fork;
mod merge;
mod missing_binding;
mod reopen;
mod resolve;
mod undo;

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use crate::{
    difference,
    doc::{self, Node, Value},
    event::Event,
    graph::{Graph, Ix},
    id::{AtomId, Epoch, Serial, UnixMillis},
    state::{
        AtomStatus, Binding, Correction, Entry, EntryKind, Extra, RunStatus, State,
        encode::ChangeSet,
        record::{CorrectionRecord, CorrectionType, LostValue, UserCorrectionEntry},
    },
    step::phase,
};

pub use confirm::{Answer, confirm, corrected, lost_lines, news};
pub use consequence::Consequence;
pub use fork::fork;
pub use merge::{LOST_MAX, MergeOutcome, is_out_of_reach, merge};
pub use missing_binding::put_back_forgotten;
pub use resolve::{Doubt, NotInDoubt, Resolution, doubts, resolve};
pub use undo::Undo;

/// An edit that was adopted: the next state, to be committed whole.
#[derive(Debug)]
pub struct Adoption {
    pub state: State,
    pub touched: ChangeSet,
    /// The time of the new records.
    pub at: String,
    pub effects: Vec<Consequence>,
    pub events: Vec<Event>,
}

/// Records a person's changes and draws the consequences.
///
/// `before` is the last committed state, if it is known. Without it, only the fact of an edit can be recorded.
pub fn adopt(
    before: Option<&State>,
    merged: impl Into<MergeOutcome>,
    by: &str,
    now: UnixMillis,
) -> Adoption {
    let merged: MergeOutcome = merged.into();
    let saved_again = merged.saved_again;
    let mut edit = PersonEdit {
        state: merged.state,
        removed: merged.removed,
        lost: merged.lost.clone(),
        effects: Vec::new(),
        kinds: Vec::new(),
    };
    edit.state.serial = Serial(edit.state.serial.0 + 1);
    let mut cleared = false;
    match before {
        None => {
            edit.kinds.push((
                CorrectionType::DagAdjustment,
                "edited; what stood there before is not kept".to_string(),
            ));
            edit.open_within_limits(None);
        }
        Some(before) => cleared = edit.compare(before),
    }
    if edit.kinds.is_empty() && !edit.lost.is_empty() {
        edit.kinds.push((
            CorrectionType::Resolution,
            "of the edit nothing but what stands below".to_string(),
        ));
    }
    let at = now.rfc3339();
    edit.record(cleared, by, &at);
    let kinds: Vec<&str> = edit.kinds.iter().map(|(_, what)| what.as_str()).collect();
    let is_request = before.is_some_and(|before| asks(before) != asks(&edit.state));
    let what = match kinds.as_slice() {
        [] if is_request => "a request by hand".to_string(),
        [] => match saved_again {
            Some(Serial(old)) => alloc::format!(
                "nothing: serial {old} was saved again, and what came since stands (descent undo {old} goes back to it)"
            ),
            None => describe_edit(before, &edit.state),
        },
        kinds => kinds.join("; "),
    };
    let events = Vec::from([Event::Corrected {
        what,
        effects: consequence::texts(&edit.effects),
        lost: lost_lines(&edit.lost),
    }]);
    Adoption {
        touched: ChangeSet::all(&edit.state),
        state: edit.state,
        at,
        effects: edit.effects,
        events,
    }
}

/// Describes an edit that no kind of correction stands for: a remark, a summary, a count.
fn describe_edit(before: Option<&State>, after: &State) -> String {
    let changes = before.map(|before| difference::difference(before, after));
    let words = changes.as_deref().map(difference::words);
    match words.filter(|words| words != difference::NOTHING) {
        Some(words) => words,
        None => "how the file is written, and nothing else".to_string(),
    }
}

/// The flags by which a person requests something of the loop.
fn asks(state: &State) -> (bool, bool) {
    (
        state.control.stop_requested,
        state.control.redirect_requested,
    )
}

struct PersonEdit {
    state: State,
    /// Unresolved atoms that were taken out: none of them comes back as a forgotten result.
    removed: BTreeSet<AtomId>,
    /// The values that gave way, in the form that the correction keeps.
    lost: Vec<LostValue>,
    effects: Vec<Consequence>,
    kinds: Vec<(CorrectionType, String)>,
}

impl PersonEdit {
    /// Finds what changed; returns whether the trail was cleared.
    fn compare(&mut self, before: &State) -> bool {
        let goal_changed = self.objective(before);
        self.constraints(before);
        // An atom whose binding was taken out comes back before it could be told as removed.
        self.bindings(before);
        self.graph(before);
        resolve::ask(&mut self.state, resolve::of_the_absent(before));
        self.statuses(before);
        let added = self
            .state
            .corrections
            .len()
            .saturating_sub(before.corrections.len());
        if added > 0 {
            self.kinds.push((
                CorrectionType::Confirmation,
                alloc::format!("{added} corrections added by hand"),
            ));
        }
        goal_changed
    }

    fn objective(&mut self, before: &State) -> bool {
        let bare = |state: &State| {
            let mut objective = (*state.objective).clone();
            objective.constraints = Default::default();
            objective.extra = Extra::default();
            doc::canonical(&without_notes(objective.node()))
        };
        if bare(before) == bare(&self.state) {
            return false;
        }
        self.kinds.push((
            CorrectionType::ObjectiveChange,
            "the objective changed".to_string(),
        ));
        self.effects.push(Consequence::TrailCleared);
        // Entries that a person is still asked about stay.
        let doubts = resolve::entries(&self.state);
        self.state.trail = doubts.into();
        self.reopen_failed(|_, _| true);
        let run = Arc::make_mut(&mut self.state.run);
        run.verdicts = Default::default();
        run.agreed = None;
        run.epoch = Epoch(run.epoch.0 + 1);
        if !run.status.is_active() {
            run.status = RunStatus::Aligned;
        }
        true
    }

    fn graph(&mut self, before: &State) {
        let names = |state: &State| -> BTreeSet<AtomId> {
            state.all_atoms().into_keys().cloned().collect()
        };
        let (old, new) = (names(before), names(&self.state));
        let list = |ids: &BTreeSet<AtomId>, other: &BTreeSet<AtomId>| -> Vec<String> {
            ids.difference(other).map(ToString::to_string).collect()
        };
        let (added, removed) = (list(&new, &old), list(&old, &new));
        let changed: Vec<String> = old
            .intersection(&new)
            .filter(|id| self.spec_changed(before, id))
            .map(ToString::to_string)
            .collect();
        for (what, ids) in [
            ("added", &added),
            ("removed", &removed),
            ("changed", &changed),
        ] {
            if !ids.is_empty() {
                self.kinds.push((
                    CorrectionType::DagAdjustment,
                    alloc::format!("{what} {}", ids.join(", ")),
                ));
            }
        }
        if !(added.is_empty() && removed.is_empty() && changed.is_empty()) {
            self.effects.push(Consequence::GraphReopened);
        }
        let kids = |state: &State| -> BTreeSet<AtomId> {
            let all = state.all_atoms();
            all.values().flat_map(|atom| atom.kids()).cloned().collect()
        };
        let (were, are) = (kids(before), kids(&self.state));
        let alone = were.difference(&are).filter(|id| new.contains(*id));
        let alone: Vec<AtomId> = alone.cloned().collect();
        if !alone.is_empty() {
            self.effects.push(Consequence::NewRoots(alone));
        }
    }

    fn spec_changed(&self, before: &State, id: &AtomId) -> bool {
        let shape = |state: &State| {
            state.atom(id).map(|atom| {
                (
                    atom.spec_digest(),
                    atom.depends_on.clone(),
                    atom.kids().to_vec(),
                    atom.selected().cloned(),
                )
            })
        };
        shape(before) != shape(&self.state)
    }

    fn bindings(&mut self, before: &State) {
        let ids: Vec<AtomId> = self
            .state
            .bindings
            .keys()
            .chain(before.bindings.keys())
            .cloned()
            .collect();
        let (mut changed, mut forgotten) = (BTreeSet::new(), BTreeSet::new());
        let mut given_back = Vec::new();
        for id in ids {
            let old = before
                .bindings
                .get(&id)
                .map(|binding| binding.result_digest());
            let new = self
                .state
                .bindings
                .get(&id)
                .map(|binding| binding.result_digest());
            match (old, new) {
                (Some(_), None) => {
                    forgotten.insert(id.to_string());
                    let attempts = self.forget(before, &id);
                    given_back.push((id, attempts));
                }
                (old, Some(new)) if old.as_ref() != Some(&new) => {
                    self.overwrite(&id);
                    changed.insert(id.to_string());
                }
                _ => {}
            }
        }
        self.drop_unfounded(&forgotten);
        self.give_back(&given_back);
        self.reopen_downstream(changed.iter().chain(&forgotten));
        for (what, ids) in [
            ("bindings overwritten: ", changed),
            ("bindings forgotten: ", forgotten),
        ] {
            if !ids.is_empty() {
                let ids: Vec<String> = ids.into_iter().collect();
                self.kinds.push((
                    CorrectionType::BindingsOverride,
                    what.to_string() + &ids.join(", "),
                ));
                self.effects.push(Consequence::DependentsReopened);
            }
        }
    }

    /// Gives new attempts to tasks that failed for good with other results than these.
    fn reopen_downstream<'r>(&mut self, results: impl Iterator<Item = &'r String>) {
        let mut results = results.peekable();
        if results.peek().is_none() {
            return;
        }
        let graph = Graph::of(&self.state);
        let mut todo: Vec<Ix> = results
            .filter_map(|id| graph.ix(&AtomId::new(id.as_str())))
            .collect();
        let mut downstream: BTreeSet<Ix> = BTreeSet::new();
        while let Some(x) = todo.pop() {
            let holders = core::iter::once(x).chain(graph.above(x));
            let users = holders.flat_map(|y| graph.needed_by(y));
            let users = users.flat_map(|user| graph.subtree(*user));
            todo.extend(users.filter(|user| downstream.insert(*user)));
        }
        self.reopen_failed(|id, _| graph.ix(id).is_some_and(|x| downstream.contains(&x)));
    }

    fn overwrite(&mut self, id: &AtomId) {
        let Some(binding) = self.state.bindings.get_mut(id) else {
            return;
        };
        let binding: &mut Binding = Arc::make_mut(binding);
        binding.by = "person".to_string();
    }

    /// Takes out atoms that were forgotten together with what they need. One more is gone in each round.
    fn drop_unfounded(&mut self, forgotten: &BTreeSet<String>) {
        let is_unfounded = |state: &State, id: &&AtomId| {
            let atom = state
                .atoms
                .get(*id)
                .filter(|_| forgotten.contains(id.as_str()));
            atom.is_some_and(|atom| {
                let mut named = atom.depends_on.iter().chain(atom.kids());
                named.any(|named| state.atom(named).is_none())
            })
        };
        let first = |state: &State| {
            let mut ids = state.atoms.keys();
            ids.find(|id| is_unfounded(state, id)).cloned()
        };
        while let Some(id) = first(&self.state) {
            self.state.atoms.remove(&id);
        }
    }

    /// Opens the atom of a binding that a person took out; gives the attempts that the result took.
    fn forget(&mut self, before: &State, id: &AtomId) -> u32 {
        let Some(binding) = before.bindings.get(id) else {
            return 0;
        };
        let is_named = self
            .state
            .all_atoms()
            .values()
            .any(|atom| atom.depends_on.contains(id) || atom.kids().contains(id));
        let was_root = !before
            .all_atoms()
            .values()
            .any(|atom| atom.kids().contains(id));
        // The atom may have been written by hand, or put back already because others name it.
        let is_there = self.state.atoms.get(id).cloned();
        let is_gone = self.removed.contains(id) || !(is_named || was_root);
        if is_there.is_none() && is_gone {
            return 0;
        }
        let mut atom = (*is_there.unwrap_or_else(|| Arc::clone(&binding.of))).clone();
        let mut given_back = 0;
        if let (Some(task), Some(context)) = (atom.task_mut(), &binding.context) {
            let of_result = task.tries.iter().filter(|tried| tried.context == *context);
            given_back = of_result.map(|tried| tried.attempts).sum();
            task.tries.retain(|tried| tried.context != *context);
            task.status = AtomStatus::Pending;
        }
        self.state.atoms.insert(id.clone(), Arc::new(atom));
        given_back
    }

    /// Takes the attempts of removed results out of the budgets of the plans around them.
    fn give_back(&mut self, taken_out: &[(AtomId, u32)]) {
        if taken_out.is_empty() {
            return;
        }
        let graph = Graph::of(&self.state);
        for (id, given_back) in taken_out {
            let less =
                |_: bool, attempts: &mut u32| *attempts = attempts.saturating_sub(*given_back);
            phase::recount(&mut self.state, &graph, id, less);
        }
    }

    fn record(&mut self, cleared: bool, by: &str, at: &str) {
        if self.kinds.is_empty() {
            return;
        }
        let adjusts = self
            .kinds
            .iter()
            .any(|(kind, _)| *kind == CorrectionType::DagAdjustment);
        for (n, (kind, what)) in self.kinds.clone().into_iter().enumerate() {
            let id = free_id(&self.state.corrections);
            let lost = if n == 0 {
                self.lost.clone()
            } else {
                Vec::new()
            };
            let correction = Correction::new(CorrectionRecord {
                description: Some(what),
                trail_cleared: Some(cleared && kind == CorrectionType::ObjectiveChange),
                changes: consequence::texts(&self.effects),
                lost,
                ..CorrectionRecord::new(id, at, kind, by)
            });
            self.state.corrections.push(Arc::new(correction));
        }
        if adjusts {
            let (serial, pass) = (self.state.serial.0, self.state.run.pass);
            let what: Vec<&str> = self.kinds.iter().map(|(_, what)| what.as_str()).collect();
            let description = what.join("; ");
            let kind = EntryKind::UserCorrection(UserCorrectionEntry { description });
            let entry = Entry::new(at, serial, pass, kind);
            self.state.trail.push(Arc::new(entry));
        }
        let run = Arc::make_mut(&mut self.state.run);
        run.pass += 1;
    }
}

/// A person's remarks decide nothing.
fn without_notes(mut node: Node) -> Node {
    match &mut node.value {
        Value::Object(members) => {
            members.retain(|member| member.key != "notes");
            for member in members {
                member.node = without_notes(core::mem::replace(&mut member.node, Node::null()));
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_notes(core::mem::replace(item, Node::null()));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    node
}

/// The next id of a correction; a person may have added some under any.
fn free_id(corrections: &[Arc<Correction>]) -> String {
    let taken: BTreeSet<&str> = corrections
        .iter()
        .filter_map(|one| one.data.id.as_deref())
        .collect();
    // There is one candidate more than corrections, so one is free.
    let mut names =
        (1..=corrections.len() + 1).map(|n| alloc::format!("c{}", corrections.len() + n));
    names
        .find(|id| !taken.contains(id.as_str()))
        .unwrap_or_default()
}
