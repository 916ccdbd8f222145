//! Merges atoms and their results by id. An atom is one thing, whether it stands among the atoms or among the bindings.

use super::{
    MergeOutcome, Sides,
    tree::{self, Rule, Three, Trees, same},
};
use crate::doc::prelude::*;
use crate::{
    doc::{self, Member, Node, Span},
    id::AtomId,
    state::{
        Atom, AtomStatus, Binding, State,
        atom::{self, atom_text::ATOM},
    },
};

/// An atom and its binding.
pub(in crate::change) struct AtomEntry {
    atom: Arc<Atom>,
    binding: Option<Arc<Binding>>,
}

impl AtomEntry {
    pub(in crate::change) fn of(state: &State, id: &AtomId) -> Option<Self> {
        let binding = state.bindings.get(id).cloned();
        let atom = match &binding {
            Some(binding) => Arc::clone(&binding.of),
            None => Arc::clone(state.atoms.get(id)?),
        };
        Some(Self { atom, binding })
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.atom, &other.atom) && self.binding.is_none() && other.binding.is_none()
            || same(
                Some(&self.result().unwrap_or_else(Node::null)),
                Some(&other.result().unwrap_or_else(Node::null)),
            ) && same(Some(&self.atom.node()), Some(&other.atom.node()))
    }

    fn result(&self) -> Option<Node> {
        self.binding.as_ref().map(|binding| binding.parked_node())
    }

    pub(in crate::change) fn place(self, id: &AtomId, state: &mut State) {
        match self.binding {
            Some(binding) => {
                state.atoms.remove(id);
                state.bindings.insert(id.clone(), binding);
            }
            None => {
                state.bindings.remove(id);
                state.atoms.insert(id.clone(), self.atom);
            }
        }
    }
}

pub(super) fn graph(sides: &Sides<'_>, trees: &mut Trees, merged: &mut MergeOutcome) {
    let states = [sides.base, Some(sides.ours), Some(sides.theirs)];
    let ids: BTreeSet<&AtomId> = states
        .into_iter()
        .flatten()
        .flat_map(|state| state.atoms.keys().chain(state.bindings.keys()))
        .collect();
    for id in ids {
        let items = states.map(|state| state.and_then(|state| AtomEntry::of(state, id)));
        let at = doc::pointer_push("/work_graph/atoms", id.as_str());
        AtomMerge { trees, merged, id, at: &at }.merge(items);
    }
}

/// The merge of one atom.
struct AtomMerge<'m> {
    trees: &'m mut Trees,
    merged: &'m mut MergeOutcome,
    id: &'m AtomId,
    /// Its path.
    at: &'m str,
}

impl AtomMerge<'_> {
    fn merge(&mut self, items: [Option<AtomEntry>; 3]) {
        let [base, ours, theirs] = items;
        let theirs = theirs.map(|theirs| match &base {
            Some(base) => self.with_facts(base, theirs),
            None => theirs,
        });
        match [base, ours, theirs] {
            [_, None, None] => {}
            [base, None, Some(theirs)] => self.added(base.as_ref(), theirs),
            [base, Some(ours), None] => self.taken_out(base.as_ref(), ours),
            [base, Some(ours), Some(theirs)] => {
                let is_as_it_was = base.as_ref().is_some_and(|base| base.is_same(&theirs));
                let item = if is_as_it_was || ours.is_same(&theirs) && self.trees.has_base {
                    ours
                } else {
                    self.both(base.as_ref(), &ours, &theirs)
                };
                item.place(self.id, &mut self.merged.state);
            }
        }
    }

    /// Tries and their results are facts: they stand as in the base, whatever the edit made of them.
    fn with_facts(&mut self, base: &AtomEntry, mut theirs: AtomEntry) -> AtomEntry {
        let are_bound = (base.binding.is_some(), theirs.binding.is_some());
        if let (Some(was), Some(is)) = (base.atom.task(), theirs.atom.task()) {
            let (before, node) = (base.atom.node(), theirs.atom.node());
            let is_retried = !same(before.get("tries"), node.get("tries"));
            // Those of a result go with it.
            if is_retried && are_bound.0 == are_bound.1 {
                self.trees.program(&internal(self.at, "tries"), node.get("tries").cloned());
            }
            let is_said = was.status != is.status && are_bound == (false, false);
            // A word that a person writes is read beside it.
            if is_said {
                self.trees.program(&internal(self.at, "status"), node.get("status").cloned());
            }
            if (is_retried || is_said)
                && let Some(task) = Arc::make_mut(&mut theirs.atom).task_mut()
            {
                task.tries.clone_from(&was.tries);
                if is_said {
                    task.status.clone_from(&was.status);
                }
            }
        }
        if let (Some(was), Some(_)) = (base.atom.plan(), theirs.atom.plan()) {
            let plan = Arc::make_mut(&mut theirs.atom).plan_mut();
            let changed = plan.map(|plan| plan.keep_facts(was));
            for (place, edited) in changed.unwrap_or_default() {
                let place = match place {
                    Some(index) => format!("{}/fragments/{index}", self.at),
                    None => format!("{}/fragment", self.at),
                };
                self.trees.program(&place, Some(edited));
            }
        }
        if let (Some(was), Some(is)) = (&base.binding, &mut theirs.binding) {
            let (was_node, is_node) = (was.node(), is.node());
            let is_other = |key: &&&str| !same(was_node.get(key), is_node.get(key));
            let changed: Vec<&&str> = FACTS.iter().filter(is_other).collect();
            for key in &changed {
                let at = of_result(self.at);
                let is_shown = SHOWN_FACTS.contains(key);
                let at = if is_shown { doc::pointer_push(&at, key) } else { internal(&at, key) };
                self.trees.program(&at, is_node.get(key).cloned());
            }
            if is.artifacts.is_empty() && was.names_its_files() {
                Arc::make_mut(is).artifacts.clone_from(&was.artifacts);
            }
            if !changed.is_empty() {
                let is = Arc::make_mut(is);
                is.commit.clone_from(&was.commit);
                is.change.clone_from(&was.change);
                is.evidence.clone_from(&was.evidence);
                is.context.clone_from(&was.context);
                is.inputs.clone_from(&was.inputs);
                is.attempts = was.attempts;
                is.by.clone_from(&was.by);
                is.at.clone_from(&was.at);
            }
        }
        theirs
    }

    /// For an atom in the edit alone: added by the edit, or removed since the base.
    fn added(&mut self, base: Option<&AtomEntry>, theirs: AtomEntry) {
        if base.is_some_and(|base| base.is_same(&theirs)) {
            self.merged.state.atoms.remove(self.id);
            self.merged.state.bindings.remove(self.id);
            return;
        }
        if base.is_some() || !self.trees.has_base {
            self.trees.edit(self.at, None);
        }
        theirs.place(self.id, &mut self.merged.state);
    }

    /// For an atom that the edit lacks: removed by the edit, or added since the base.
    fn taken_out(&mut self, base: Option<&AtomEntry>, ours: AtomEntry) {
        let Some(base) = base else {
            if !self.trees.has_base {
                self.trees.program(self.at, None);
            }
            return ours.place(self.id, &mut self.merged.state);
        };
        if base.binding.is_none() {
            self.merged.removed.insert(self.id.clone());
        }
        if !ours.is_same(base) {
            match &ours.binding {
                Some(binding) => self.trees.edit(&of_result(self.at), Some(binding.node())),
                None => self.trees.edit(self.at, Some(ours.atom.node())),
            }
        }
    }

    fn both(
        &mut self,
        base: Option<&AtomEntry>,
        ours: &AtomEntry,
        theirs: &AtomEntry,
    ) -> AtomEntry {
        let result = self.result(base, ours, theirs);
        let atom = self.atom(base, ours, theirs);
        let binding = result.and_then(|result| bound(result, &settled(&atom), ours, theirs));
        AtomEntry { atom, binding }
    }

    /// If one side changed the kind, all of that side is taken: the parts of a group mean nothing to a task.
    fn atom(
        &mut self,
        base: Option<&AtomEntry>,
        ours: &AtomEntry,
        theirs: &AtomEntry,
    ) -> Arc<Atom> {
        let node = |item: &AtomEntry| match theirs.binding {
            Some(_) => settled(&item.atom).node(),
            None => item.atom.node(),
        };
        let (b, o, t) = (base.map(node), node(ours), node(theirs));
        let kind = atom::atom_text::kind_of;
        if kind(&o) != kind(&t) {
            let is_ours = b.as_ref().is_some_and(|base| kind(base) == kind(&t));
            if is_ours {
                self.trees.program(self.at, Some(t));
                return Arc::clone(&ours.atom);
            }
            if !b.as_ref().is_some_and(|base| same(Some(base), Some(&o))) {
                self.trees.edit(self.at, Some(o));
            }
            return Arc::clone(&theirs.atom);
        }
        let rules = tree::rules(ATOM.all_fields());
        // Facts are in place already, and a person may remark on a fragment.
        let rule =
            |key: &str| if key.starts_with("fragment") { Rule::REMARKED } else { rules(key) };
        let nodes: Three<'_> = [b.as_ref(), Some(&o), Some(&t)];
        let merged = self.trees.record(nodes, self.at, rule);
        let read = merged.and_then(|node| tree::read(&node, Atom::read));
        // A merge of two readable atoms of one kind can be read; were it not so, the person's stands.
        read.map_or_else(|| Arc::clone(&theirs.atom), Arc::new)
    }

    /// Merges whether the atom is resolved, and to what: a person's own result is never overwritten.
    fn result(
        &mut self,
        base: Option<&AtomEntry>,
        ours: &AtomEntry,
        theirs: &AtomEntry,
    ) -> Option<Node> {
        let (trees, at) = (&mut *self.trees, of_result(self.at));
        let results = [base.and_then(AtomEntry::result), ours.result(), theirs.result()];
        let nodes = results.each_ref().map(Option::as_ref);
        let [b, o, t] = nodes;
        if let Some(settled) = trees.settled(nodes).filter(|_| o.is_none() || t.is_none()) {
            return settled.cloned();
        }
        match (o, t) {
            (Some(_), Some(_)) if b.is_some() || !trees.has_base => {
                trees.record(nodes, &at, tree::rules((Binding::RULE.fields)()))
            }
            // Without a base, a result of the program stays, and so does a person's own result.
            (Some(_), None) if !trees.has_base => {
                trees.program(&at, None);
                o.cloned()
            }
            (None, Some(_)) if !trees.has_base && !is_by_person(theirs) => {
                trees.program(&at, t.cloned());
                None
            }
            _ => {
                trees.edit(&at, o.cloned());
                t.cloned()
            }
        }
    }
}

/// The path of an atom's result.
fn of_result(atom: &str) -> String {
    atom.replacen("/work_graph/atoms", "/bindings", 1)
}

/// The path of a key that a record has in `internal`.
fn internal(at: &str, key: &str) -> String {
    let at = doc::pointer_push(at, key);
    format!("/internal{}", at.strip_prefix("/work_graph").unwrap_or(&at))
}

/// Keys of a binding.
const FACTS: [&str; 8] =
    ["commit", "change", "evidence", "context", "inputs", "attempts", "by", "at"];

/// Those that people see.
const SHOWN_FACTS: [&str; 2] = ["by", "at"];

fn is_by_person(item: &AtomEntry) -> bool {
    let binding = item.binding.as_ref();
    binding.is_some_and(|binding| binding.is_by_person())
}

/// The atom without a status, as results have it.
fn settled(atom: &Arc<Atom>) -> Arc<Atom> {
    let mut atom = Arc::clone(atom);
    if atom.task().is_some_and(|task| task.status != AtomStatus::Pending)
        && let Some(task) = Arc::make_mut(&mut atom).task_mut()
    {
        task.status = AtomStatus::Pending;
    }
    atom
}

/// Puts a result around its atom.
fn bound(
    mut result: Node,
    atom: &Arc<Atom>,
    ours: &AtomEntry,
    theirs: &AtomEntry,
) -> Option<Arc<Binding>> {
    if let doc::Value::Object(members) = &mut result.value {
        members.push(Member { key: "of".into(), key_span: Span::default(), node: atom.node() });
    }
    let known = || theirs.binding.as_ref().or(ours.binding.as_ref()).cloned();
    tree::read(&result, Binding::read).map(Arc::new).or_else(known)
}
