//! Results that nothing takes back, contracted: the file holds many of them as one short record (contract §5).
//!
//! A fold is a way of writing. In memory every result stands for itself; in the file a fold stands at a name of its own,
//! which is no atom's (so that who writes a result of their own by hand is in no fold's way), with the whole records of all of them packed into one text.
//! Invariant: a fold counts only while each of its members is the very record that was packed; as soon as one is
//! changed or taken out, or a person writes something beside, all of them are written out again. So no change can hide
//! behind a fold, and no remark goes with one.
//! Not here: which results nothing takes back (`step::contract`).

pub mod line;
mod packing;
#[cfg(test)]
mod tests;

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};

use self::packing::{UNPACKED_BYTES_MAX, pack, unpacked};
use super::{
    Binding, Records, Shared, State,
    fields::{Extra, Fields, Findings, Writer},
};
use crate::{
    doc::{self, Limits, Member, Node, Span, Value},
    id::AtomId,
};

/// The key under which the packed records stand.
pub const KEY: &str = "folded";

/// Results as one record.
#[derive(Debug, Clone)]
pub struct Fold {
    members: BTreeMap<AtomId, Arc<Binding>>,
    packed: String,
    /// Bytes of the records as text.
    pub bytes: usize,
}

/// The folds of a state, by the name that they stand at.
#[derive(Debug, Clone, Default)]
pub struct Folds {
    all: Shared<BTreeMap<AtomId, Arc<Fold>>>,
    /// The fold that a result is in.
    of: Shared<BTreeMap<AtomId, AtomId>>,
}

impl Fold {
    /// `None` where there is nothing to fold.
    pub fn of(members: BTreeMap<AtomId, Arc<Binding>>) -> Option<Self> {
        members.first_key_value()?;
        let text = text_of(&members);
        Some(Self {
            members,
            packed: pack(&text),
            bytes: text.len(),
        })
    }

    pub fn members(&self) -> &BTreeMap<AtomId, Arc<Binding>> {
        &self.members
    }

    fn is_intact(&self, bindings: &Records<Binding>) -> bool {
        let stands = |(id, packed): (&AtomId, &Arc<Binding>)| {
            bindings.get(id).is_some_and(|now| Arc::ptr_eq(now, packed))
        };
        self.members.iter().all(stands)
    }

    pub fn node(&self) -> Node {
        let mut to = Writer::default();
        to.text("summary", &self.summary()).text(KEY, &self.packed);
        to.finish(&Extra::default())
    }

    fn summary(&self) -> String {
        let ends = self
            .members
            .first_key_value()
            .zip(self.members.last_key_value());
        let (first, last) = ends.map_or(("", ""), |((first, _), (last, _))| {
            (first.as_str(), last.as_str())
        });
        format!(
            "{} atoms are resolved: {first} to {last}",
            self.members.len()
        )
    }
}

impl Folds {
    pub fn len(&self) -> usize {
        self.of.len()
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&AtomId, &Arc<Fold>)> {
        self.all.iter()
    }

    pub fn at(&self, key: &AtomId) -> Option<&Arc<Fold>> {
        self.all.get(key)
    }

    pub fn holds(&self, id: &AtomId) -> bool {
        self.of.contains_key(id)
    }

    pub fn add(&mut self, key: AtomId, fold: Fold) {
        for id in fold.members.keys() {
            self.of.insert(id.clone(), key.clone());
        }
        self.all.insert(key, Arc::new(fold));
    }

    /// A name for one more that nothing in the state has.
    pub fn fresh(state: &State) -> AtomId {
        let is_free = |name: &AtomId| {
            state.folds.at(name).is_none()
                && !state.atoms.contains_key(name)
                && !state.bindings.contains_key(name)
        };
        let mut names = (1_usize..).map(|n| AtomId::new(format!("folded-{n}")));
        let free = names.find(is_free);
        free.expect("BUG: there are more numbers than names")
    }

    /// Takes the fold at `key` apart; its members stand for themselves again.
    pub fn remove(&mut self, key: &AtomId) -> Option<Arc<Fold>> {
        let fold = self.all.remove(key)?;
        for id in fold.members.keys() {
            self.of.remove(id);
        }
        Some(fold)
    }

    /// All that is in the fold of `id`.
    pub fn beside(&self, id: &AtomId) -> Option<impl Iterator<Item = &AtomId>> {
        let fold = self.all.get(self.of.get(id)?)?;
        Some(fold.members.keys())
    }

    /// The fold that `id` is in.
    pub fn key_of(&self, id: &AtomId) -> Option<&AtomId> {
        self.of.get(id)
    }
}

impl State {
    /// The folds that are written as such, by the id that they stand at.
    pub fn intact_folds(&self) -> BTreeMap<&AtomId, &Fold> {
        let all = self.folds.all.iter().map(|(key, fold)| (key, &**fold));
        all.filter(|(_, fold)| fold.is_intact(&self.bindings))
            .collect()
    }

    /// The same state with every result written out.
    pub fn written_out(&self) -> Self {
        Self {
            folds: Folds::default(),
            run: Arc::new(self.run.written_out()),
            ..self.clone()
        }
    }
}

fn text_of(members: &BTreeMap<AtomId, Arc<Binding>>) -> String {
    let mut text = String::from("{");
    for (index, (id, binding)) in members.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        doc::write_quoted(id.as_str(), &mut text);
        text.push(':');
        text.push_str(&doc::write_compact(&binding.node()));
    }
    text.push('}');
    text
}

/// A fold as it stood in the file.
#[derive(Debug)]
pub(super) struct Written {
    key: AtomId,
    members: Vec<AtomId>,
    packed: String,
    bytes: usize,
}

/// Puts the members of every fold into the tree, in the fold's place: what reads it needs not know of folds. They bear
/// the place of the fold.
pub(super) fn unfold(root: &mut Node, found: &mut Findings) -> Vec<Written> {
    let mut folds = Vec::new();
    let atoms = root.get("work_graph").and_then(|graph| graph.get("atoms"));
    let open = keys(atoms.and_then(Node::as_object).unwrap_or_default());
    let Some(bindings) = member_mut(root, "bindings") else {
        return folds;
    };
    let Value::Object(members) = &mut bindings.value else {
        return folds;
    };
    if !members.iter().any(|member| is_fold(&member.node)) {
        return folds;
    }
    let all = core::mem::take(members);
    let (packed, mut out): (Vec<Member>, Vec<Member>) =
        all.into_iter().partition(|member| is_fold(&member.node));
    // What a person writes out, as a result or as an open atom, stands, whatever a fold says of it; the rest of that fold
    // is written out then.
    let plain: BTreeSet<String> = keys(&out).union(&open).cloned().collect();
    for member in packed {
        let pointer = doc::pointer_push("/bindings", &member.key);
        let key = AtomId::new(member.key.as_str());
        match unpack(key, &member.node, &pointer, found) {
            Ok((mut inner, written)) => {
                let count = inner.len();
                inner.retain(|inner| !plain.contains(&inner.key));
                let beside = beside(member.node);
                let is_whole = inner.len() == count && beside.is_empty();
                folds.extend(Some(written).filter(|_| is_whole));
                carry(beside, &mut inner);
                out.extend(inner.into_iter().map(|inner| at(inner, member.key_span)));
            }
            Err(why) => {
                let hint = "put the text back as it was; `descent show --bytes` has it";
                found.fault(
                    "bad-fold",
                    (&(pointer + "/" + KEY), member.node.span),
                    format!("the folded results cannot be read: {why}"),
                    Some(hint.to_owned()),
                );
            }
        }
    }
    out.sort_by(|a, b| a.key.cmp(&b.key));
    *members = out;
    folds
}

/// What a person wrote beside a fold.
fn beside(fold: Node) -> Vec<Member> {
    let Value::Object(mut members) = fold.value else {
        return Vec::new();
    };
    members.retain(|member| member.key != "summary" && member.key != KEY);
    members
}

/// Folds come and go: what stands beside one goes to the first of its results that has nothing of that name.
fn carry(beside: Vec<Member>, inner: &mut [Member]) {
    for remark in beside {
        let is_free = |member: &&mut Member| member.node.get(&remark.key).is_none();
        let free = inner.iter_mut().find(is_free);
        if let Some(Value::Object(members)) = free.map(|member| &mut member.node.value) {
            members.push(remark);
        }
    }
}

fn keys(members: &[Member]) -> BTreeSet<String> {
    members.iter().map(|member| member.key.clone()).collect()
}

fn is_fold(node: &Node) -> bool {
    node.get(KEY).is_some()
}

fn member_mut<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else {
        return None;
    };
    let member = members.iter_mut().find(|member| member.key == key)?;
    Some(&mut member.node)
}

fn at(member: Member, span: Span) -> Member {
    Member {
        key_span: span,
        node: Node {
            span,
            ..member.node
        },
        key: member.key,
    }
}

fn unpack(
    key: AtomId,
    node: &Node,
    pointer: &str,
    found: &mut Findings,
) -> Result<(Vec<Member>, Written), &'static str> {
    let mut fields = Fields::open(node, pointer, found).ok_or("it is no record")?;
    let (_, packed) = (fields.take("summary"), fields.take(KEY));
    let packed = packed.and_then(Node::as_str).ok_or("it is no text")?;
    let bytes = unpacked(packed)?;
    let limits = Limits {
        bytes: UNPACKED_BYTES_MAX,
        ..Limits::default()
    };
    let parsed = doc::parse_bytes(&bytes, &limits);
    let is_whole = parsed.faults.is_empty();
    let root = parsed.node.filter(|_| is_whole).ok_or("it holds no JSON")?;
    let Value::Object(members) = root.value else {
        return Err("it holds no results");
    };
    if members.is_empty() || members.iter().any(|member| is_fold(&member.node)) {
        return Err("it holds no results");
    }
    let written = Written {
        key,
        members: members
            .iter()
            .map(|member| AtomId::new(member.key.as_str()))
            .collect(),
        packed: packed.to_owned(),
        bytes: bytes.len(),
    };
    Ok((members, written))
}

/// One fold as it is written, around the records that it holds.
pub(super) fn read(node: &Node, bindings: &Records<Binding>) -> Option<Fold> {
    let nameless = AtomId::new("");
    let (_, written) = unpack(nameless, node, "", &mut Findings::default()).ok()?;
    around(written, bindings)
}

fn around(written: Written, bindings: &Records<Binding>) -> Option<Fold> {
    let member = |id: AtomId| Some((id.clone(), Arc::clone(bindings.get(&id)?)));
    Some(Fold {
        members: written
            .members
            .into_iter()
            .map(member)
            .collect::<Option<_>>()?,
        packed: written.packed,
        bytes: written.bytes,
    })
}

/// The folds of what was read, around the records that came out of them.
pub(super) fn folds_of(written: Vec<Written>, bindings: &Records<Binding>) -> Folds {
    let mut folds = Folds::default();
    for fold in written {
        let key = fold.key.clone();
        if let Some(fold) = around(fold, bindings) {
            folds.add(key, fold);
        }
    }
    folds
}
