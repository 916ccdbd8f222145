//! Merges atoms and their results by id. An atom is one thing, whether it stands among the atoms or among the bindings.

use alloc::{collections::BTreeSet, format, string::String, sync::Arc};

use super::{
    MergeOutcome, Sides,
    tree::{self, Rule, Three, Trees, same},
};
use crate::{
    doc::{self, Member, Node, Span},
    id::AtomId,
    state::{
        Atom, AtomStatus, Binding, State,
        atom::{self, atom_text::ATOM},
    },
};

/// An atom and its binding.
pub(super) struct AtomEntry {
    atom: Arc<Atom>,
    binding: Option<Arc<Binding>>,
}

impl AtomEntry {
    pub(super) fn of(state: &State, id: &AtomId) -> Option<Self> {
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

    pub(super) fn place(self, id: &AtomId, state: &mut State) {
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
        one(trees, merged, id, items);
    }
}

fn one(trees: &mut Trees, merged: &mut MergeOutcome, id: &AtomId, items: [Option<AtomEntry>; 3]) {
    let at = doc::pointer_push("/work_graph/atoms", id.as_str());
    let [base, ours, theirs] = items;
    let theirs = theirs.map(|theirs| match &base {
        Some(base) => with_facts(trees, base, theirs, &at),
        None => theirs,
    });
    match [base, ours, theirs] {
        [_, None, None] => {}
        [base, None, Some(theirs)] => added(trees, merged, id, base, theirs, &at),
        [base, Some(ours), None] => taken_out(trees, merged, id, base, ours, &at),
        [base, Some(ours), Some(theirs)] => {
            let is_as_it_was = base.as_ref().is_some_and(|base| base.is_same(&theirs));
            let item = if is_as_it_was || ours.is_same(&theirs) && trees.has_base() {
                ours
            } else {
                both(trees, base, ours, theirs, &at)
            };
            item.place(id, &mut merged.state);
        }
    }
}

/// Tries and their results are facts: they stand as in the base, whatever the edit made of them.
fn with_facts(trees: &mut Trees, base: &AtomEntry, mut theirs: AtomEntry, at: &str) -> AtomEntry {
    let tries = |item: &AtomEntry| item.atom.node().get("tries").cloned();
    if let (Some(was), Some(_)) = (base.atom.task(), theirs.atom.task())
        && !same(tries(base).as_ref(), tries(&theirs).as_ref())
    {
        // Those of a result go with it.
        if base.binding.is_some() == theirs.binding.is_some() {
            trees.program(&internal(&doc::pointer_push(at, "tries")), tries(&theirs));
        }
        let was = was.tries.clone();
        if let Some(task) = Arc::make_mut(&mut theirs.atom).task_mut() {
            task.tries = was;
        }
    }
    if let (Some(was), Some(is)) = (base.atom.task(), theirs.atom.task())
        && was.status != is.status
        && base.binding.is_none()
        && theirs.binding.is_none()
    {
        // A word that a person writes is read beside it.
        let status = theirs.atom.node().get("status").cloned();
        trees.program(&internal(&doc::pointer_push(at, "status")), status);
        let was = was.status.clone();
        if let Some(task) = Arc::make_mut(&mut theirs.atom).task_mut() {
            task.status = was;
        }
    }
    if let (Some(was), Some(_)) = (base.atom.plan(), theirs.atom.plan()) {
        let plan = Arc::make_mut(&mut theirs.atom).plan_mut();
        let changed = plan.map(|plan| plan.keep_facts(was));
        for (place, edited) in changed.unwrap_or_default() {
            let place = match place {
                Some(index) => format!("{at}/fragments/{index}"),
                None => format!("{at}/fragment"),
            };
            trees.program(&place, Some(edited));
        }
    }
    if let (Some(was), Some(is)) = (&base.binding, &mut theirs.binding) {
        let (was_node, is_node) = (was.node(), is.node());
        let changed = FACTS.iter().filter(|key| !same(was_node.get(key), is_node.get(key)));
        let mut is_changed = false;
        for key in changed {
            let place = doc::pointer_push(&of_result(at), key);
            let is_shown = SHOWN_FACTS.contains(key);
            let place = if is_shown { place } else { internal(&place) };
            trees.program(&place, is_node.get(key).cloned());
            is_changed = true;
        }
        if is.artifacts.is_empty() && was.names_its_files() {
            Arc::make_mut(is).artifacts.clone_from(&was.artifacts);
        }
        if is_changed {
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

/// The path of an atom's result.
fn of_result(atom: &str) -> String {
    atom.replacen("/work_graph/atoms", "/bindings", 1)
}

/// The path of what a record has in `internal`.
fn internal(at: &str) -> String {
    format!("/internal{}", at.strip_prefix("/work_graph").unwrap_or(at))
}

/// Keys of a binding.
const FACTS: [&str; 8] =
    ["commit", "change", "evidence", "context", "inputs", "attempts", "by", "at"];

/// Those that people see.
const SHOWN_FACTS: [&str; 2] = ["by", "at"];

/// For an atom in the edit alone: added by the edit, or removed since the base.
fn added(
    trees: &mut Trees,
    merged: &mut MergeOutcome,
    id: &AtomId,
    base: Option<AtomEntry>,
    theirs: AtomEntry,
    at: &str,
) {
    if base.as_ref().is_some_and(|base| base.is_same(&theirs)) {
        merged.state.atoms.remove(id);
        merged.state.bindings.remove(id);
        return;
    }
    if base.is_some() || !trees.has_base() {
        trees.edit(at, None);
    }
    theirs.place(id, &mut merged.state);
}

/// For an atom that the edit lacks: removed by the edit, or added since the base.
fn taken_out(
    trees: &mut Trees,
    merged: &mut MergeOutcome,
    id: &AtomId,
    base: Option<AtomEntry>,
    ours: AtomEntry,
    at: &str,
) {
    let Some(base) = base else {
        if !trees.has_base() {
            trees.program(at, None);
        }
        return ours.place(id, &mut merged.state);
    };
    if base.binding.is_none() {
        merged.removed.insert(id.clone());
    }
    if !ours.is_same(&base) {
        match &ours.binding {
            Some(binding) => trees.edit(&of_result(at), Some(binding.node())),
            None => trees.edit(at, Some(ours.atom.node())),
        }
    }
}

fn both(
    trees: &mut Trees,
    base: Option<AtomEntry>,
    ours: AtomEntry,
    theirs: AtomEntry,
    at: &str,
) -> AtomEntry {
    let result = result(trees, base.as_ref(), &ours, &theirs, &of_result(at));
    let atom = atom(trees, base.as_ref(), &ours, &theirs, at);
    let binding = result.and_then(|result| bound(result, &settled(&atom), &ours, &theirs));
    AtomEntry { atom, binding }
}

/// If one side changed the kind, all of that side is taken: the parts of a group mean nothing to a task.
fn atom(
    trees: &mut Trees,
    base: Option<&AtomEntry>,
    ours: &AtomEntry,
    theirs: &AtomEntry,
    at: &str,
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
            trees.program(at, Some(t));
            return Arc::clone(&ours.atom);
        }
        if !b.as_ref().is_some_and(|base| same(Some(base), Some(&o))) {
            trees.edit(at, Some(o));
        }
        return Arc::clone(&theirs.atom);
    }
    let rules = tree::rules(ATOM.all_fields());
    // Facts are in place already, and a person may remark on a fragment.
    let rule = |key: &str| if key.starts_with("fragment") { Rule::REMARKED } else { rules(key) };
    let nodes: Three<'_> = [b.as_ref(), Some(&o), Some(&t)];
    let merged = trees.record(nodes, at, rule);
    let read = merged.and_then(|node| tree::read(&node, Atom::read));
    // A merge of two readable atoms of one kind can be read; were it not so, the person's stands.
    read.map_or_else(|| Arc::clone(&theirs.atom), Arc::new)
}

/// Merges whether the atom is resolved, and to what: a person's own result is never overwritten.
fn result(
    trees: &mut Trees,
    base: Option<&AtomEntry>,
    ours: &AtomEntry,
    theirs: &AtomEntry,
    at: &str,
) -> Option<Node> {
    let results = [base.and_then(AtomEntry::result), ours.result(), theirs.result()];
    let nodes = results.each_ref().map(Option::as_ref);
    let [b, o, t] = nodes;
    if let Some(settled) = trees.settled(nodes).filter(|_| o.is_none() || t.is_none()) {
        return settled.cloned();
    }
    match (o, t) {
        (Some(_), Some(_)) if b.is_some() || !trees.has_base() => {
            trees.record(nodes, at, tree::rules((Binding::RULE.fields)()))
        }
        // Without a base, a result of the program stays, and so does a person's own result.
        (Some(_), None) if !trees.has_base() => {
            trees.program(at, None);
            o.cloned()
        }
        (None, Some(_)) if !trees.has_base() && !is_by_person(theirs) => {
            trees.program(at, t.cloned());
            None
        }
        _ => {
            trees.edit(at, o.cloned());
            t.cloned()
        }
    }
}

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
