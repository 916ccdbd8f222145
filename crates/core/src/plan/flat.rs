//! Flattens nested atoms: afterwards every atom is a member of `work_graph.atoms`.
//!
//! A plan may write parts and choices where they are named: as an object with or without an `id`,
//! or as a map from id to atom. `atoms` may be a list, and `depends_on` may be one id. Not here:
//! what the keys of an atom mean.
//!
//! Invariant: every node keeps its place in the text, and no two atoms get one id. An id made by
//! the program depends only on the place of the atom and on the ids in the plan.

use crate::doc::prelude::*;
use crate::{
    doc::{self, Fault, Member, Node, Span, Value},
    id::AtomId,
};

const ATOMS: &str = "/work_graph/atoms";

/// Maps pointers into the flat tree to pointers into the plan as written.
#[derive(Debug, Clone, Default)]
pub struct PointerMap(BTreeMap<String, String>);

impl PointerMap {
    /// The place in the plan as it was written.
    pub fn pointer(&self, flat: &str) -> String {
        let mut end = flat.len();
        while end > 0 {
            if let Some(written) = self.0.get(&flat[..end]) {
                return format!("{written}{}", &flat[end..]);
            }
            end = flat[..end].rfind('/').unwrap_or(0);
        }
        flat.to_owned()
    }

    pub fn put_back(&self, faults: &mut [Fault]) {
        for fault in faults {
            fault.pointer = self.pointer(&fault.pointer);
        }
    }

    fn note(&mut self, flat: String, written: &str) {
        if flat != written {
            self.0.insert(flat, written.to_owned());
        }
    }
}

/// The tree in the form of the file, and the faults of its nesting, placed as written. `known` are
/// the faults of the text, which are not reported again.
pub(super) fn flatten(mut root: Node, known: &[Fault]) -> (Node, PointerMap, Vec<Fault>) {
    let mut flattening = Flattening {
        known: known.iter().map(|fault| fault.span.start()).collect(),
        ..Flattening::default()
    };
    let graph = member_mut(&mut root, "work_graph");
    if let Some(atoms) = graph.and_then(|graph| member_mut(graph, "atoms")) {
        taken_by_atoms(atoms, &mut flattening.taken);
        match core::mem::replace(&mut atoms.value, Value::Null) {
            Value::Object(members) => flattening.map(members),
            Value::Array(items) => flattening.list(items),
            other => {
                atoms.value = other;
                return (root, flattening.written, flattening.faults);
            }
        }
        atoms.value = Value::Object(flattening.flat);
    }
    (root, flattening.written, flattening.faults)
}

pub(super) fn member_mut<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else {
        return None;
    };
    let member = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut member.node)
}

/// Every id that the plan itself writes, however deep.
fn taken_by_atoms(atoms: &Node, taken: &mut BTreeSet<String>) {
    for member in atoms.as_object().unwrap_or_default() {
        taken.insert(member.key.clone());
        taken_by_kids(&member.node, taken);
    }
    for item in atoms.as_array().unwrap_or_default() {
        taken.extend(item.get("id").and_then(Node::as_str).map(ToOwned::to_owned));
        taken_by_kids(item, taken);
    }
}

fn taken_by_kids(atom: &Node, taken: &mut BTreeSet<String>) {
    for key in ["choices", "parts"] {
        if let Some(kids) = atom.get(key) {
            taken_by_atoms(kids, taken);
        }
    }
}

#[derive(Default)]
struct Flattening {
    /// The places that have a fault in the text.
    known: BTreeSet<usize>,
    /// Ids that the program must not make.
    taken: BTreeSet<String>,
    /// Ids of atoms in `flat`.
    placed: BTreeSet<String>,
    flat: Vec<Member>,
    written: PointerMap,
    faults: Vec<Fault>,
}

/// A nested atom, and where it was written.
type Kid = (Member, String);

impl Flattening {
    /// `atoms` as a map from id to atom.
    fn map(&mut self, members: Vec<Member>) {
        for mut member in members {
            let at = doc::pointer_push(ATOMS, &member.key);
            self.same_id(&mut member, &at);
            self.atom(member, &at);
        }
    }

    /// `atoms` as a list.
    fn list(&mut self, items: Vec<Node>) {
        for (index, node) in items.into_iter().enumerate() {
            let at = format!("{ATOMS}/{index}");
            let member = self.named(node, &format!("A{}", index + 1), &at);
            self.atom(member, &at);
        }
    }

    /// An atom of a list under its own id, else under a new one.
    fn named(&mut self, mut node: Node, wish: &str, at: &str) -> Member {
        let place = node.span;
        let own_id = self.take_id(&mut node, at);
        let (key, key_span) = own_id.unwrap_or_else(|| (self.fresh(wish), place));
        Member { key, key_span, node }
    }

    /// An atom under its id need not repeat the id, and may not have another.
    fn same_id(&mut self, member: &mut Member, at: &str) {
        let own_id = self.take_id(&mut member.node, at);
        if let Some((id, span)) = own_id.filter(|(id, _)| *id != member.key) {
            let message = format!("the `id` is `{id}`, the key above it `{}`", member.key);
            let hint = "one of the two is enough";
            self.fault("two-ids", (format!("{at}/id"), span), message, hint);
        }
    }

    fn take_id(&mut self, atom: &mut Node, at: &str) -> Option<(String, Span)> {
        let Value::Object(members) = &mut atom.value else {
            return None;
        };
        let index = members.iter().position(|member| member.key == "id")?;
        let id = members.remove(index).node;
        let Some(text) = id.as_str() else {
            let message = format!("expected an id, found {}", id.kind_name());
            let place = (format!("{at}/id"), id.span);
            self.fault("wrong-type", place, message, "put it in quotes");
            return None;
        };
        Some((text.to_owned(), id.span))
    }

    /// One atom, with the atoms nested in it.
    fn atom(&mut self, mut atom: Member, at: &str) {
        let flat = doc::pointer_push(ATOMS, &atom.key);
        if self.placed.insert(atom.key.clone()) {
            self.written.note(flat.clone(), at);
        } else if !self.known.contains(&atom.key_span.start()) {
            let message = format!("two atoms have the id `{}`", atom.key);
            let hint = "an id names one atom of the whole plan, nested or not";
            let place = (at.to_owned(), atom.key_span);
            self.fault("duplicate-id", place, message, hint);
        }
        self.kind(&mut atom.node, at);
        self.one_as_list(&mut atom.node, &flat, at);
        let mut kids = Vec::new();
        for key in ["choices", "parts"] {
            let Some(list) = member_mut(&mut atom.node, key) else {
                continue;
            };
            let (flat, at) = (format!("{flat}/{key}"), format!("{at}/{key}"));
            match core::mem::replace(&mut list.value, Value::Null) {
                Value::Object(members) => {
                    list.value = self.kids_by_id(members, &flat, &at, &mut kids);
                }
                Value::Array(items) => {
                    list.value = self.kids_in_row(items, &atom.key, &at, &mut kids);
                }
                other => list.value = other,
            }
        }
        self.flat.push(atom);
        for (kid, at) in kids {
            self.atom(kid, &at);
        }
    }

    /// The list of ids that replaces a map of nested atoms.
    fn kids_by_id(
        &mut self,
        members: Vec<Member>,
        flat: &str,
        at: &str,
        kids: &mut Vec<Kid>,
    ) -> Value {
        let mut names = Vec::new();
        for (index, mut member) in members.into_iter().enumerate() {
            let at = doc::pointer_push(at, &member.key);
            self.written.note(format!("{flat}/{index}"), &at);
            self.same_id(&mut member, &at);
            names.push(name(&member));
            kids.push((member, at));
        }
        Value::Array(names)
    }

    /// The list, with an id for every atom nested in it.
    fn kids_in_row(
        &mut self,
        items: Vec<Node>,
        group: &str,
        at: &str,
        kids: &mut Vec<Kid>,
    ) -> Value {
        let mut names = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            if item.as_object().is_none() {
                names.push(item);
                continue;
            }
            let at = format!("{at}/{index}");
            let kid = self.named(item, &derived(group, index + 1), &at);
            names.push(name(&kid));
            kids.push((kid, at));
        }
        Value::Array(names)
    }

    /// Checks that the given kind is the one implied by the keys; then the atom is read as that
    /// one.
    fn kind(&mut self, atom: &mut Node, at: &str) {
        let place = |key: &str| {
            let span = atom.member(key).map_or(atom.span, |member| member.key_span);
            (format!("{at}/{key}"), span)
        };
        let has = |key: &str| atom.get(key).is_some_and(|node| !node.is_null());
        let (key, kind) = match (has("choices"), has("parts")) {
            (false, false) => return,
            (true, false) => ("choices", "any"),
            (false, true) => ("parts", "all"),
            (true, true) => {
                let message = "an atom has `choices` or `parts`, not both".to_owned();
                let hint = "of `choices` one is enough, of `parts` all are needed";
                return self.fault("two-kinds", place("parts"), message, hint);
            }
        };
        let given = atom.get("kind").and_then(Node::as_str);
        let is_other = |given: &&str| ["task", "all", "any"].contains(given) && *given != kind;
        if let Some(given) = given.filter(is_other) {
            let message = format!("`{key}` belongs to the kind `{kind}`, not to `{given}`");
            let hint = "leave `kind` out: the keys tell it";
            self.fault("wrong-kind", place("kind"), message, hint);
            if let Some(node) = member_mut(atom, "kind") {
                node.value = Value::String(kind.to_owned());
            }
        }
    }

    /// `depends_on: A1` is `depends_on: [A1]`.
    fn one_as_list(&mut self, atom: &mut Node, flat: &str, at: &str) {
        if let Some(node) = member_mut(atom, "depends_on")
            && node.as_str().is_some()
        {
            let span = node.span;
            let one = core::mem::replace(node, Node::null());
            let value = Value::Array(Vec::from([one]));
            *node = Node { value, span };
            let written = format!("{at}/depends_on");
            self.written.note(format!("{flat}/depends_on/0"), &written);
        }
    }

    /// The id that the program gives: as wished, or with the next free number.
    fn fresh(&mut self, wish: &str) -> String {
        let mut id = wish.to_owned();
        let mut n = 2;
        while !self.taken.insert(id.clone()) {
            id = derived(wish, n);
            n += 1;
        }
        id
    }

    fn fault(&mut self, rule: &'static str, at: (String, Span), message: String, hint: &str) {
        let (pointer, span) = at;
        self.faults.push(Fault { span, pointer, rule, message, hint: Some(hint.to_owned()) });
    }
}

/// `auth` and 1 give `auth-1`: an id, whatever the group is called.
pub(crate) fn derived(group: &str, n: usize) -> String {
    let tail = format!("-{n}");
    let head = if AtomId::is_valid(group) { group } else { "atom" };
    let room = AtomId::MAX_BYTES.saturating_sub(tail.len());
    head.chars().take(room).chain(tail.chars()).collect()
}

/// An atom's id in the list of its group.
fn name(member: &Member) -> Node {
    let value = Value::String(member.key.to_string());
    let span = member.key_span;
    Node { value, span }
}
