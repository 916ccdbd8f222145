//! Values in `internal` that most results have, or that stand elsewhere in it: left out by the writer, and put back by the
//! reader.
//!
//! Invariant: what is put back is what was left out, whatever a person edits outside of `internal`.

use crate::doc::prelude::*;
use crate::{
    doc::{Member, Node, Value},
    id::Digest,
    state::{Atom, Binding, Records},
};

const CONTEXT: &str = "context";
const EVIDENCE: &str = "evidence";
const TRIES: &str = "tries";
const LINE: &str = "line";

/// The half of a solved atom without the one try that its result implies.
pub(super) fn without_try(
    internal: Option<Node>,
    atom: &Atom,
    binding: Option<&Arc<Binding>>,
) -> Option<Node> {
    let implied = binding.and_then(|binding| binding.implied_try());
    let (Some(implied), Some(task)) = (implied, atom.task()) else {
        return internal;
    };
    let mut members = internal.map(Node::into_members).unwrap_or_default();
    match task.tries.as_slice() {
        [] => members.push(Member::new(TRIES, Node::array(Vec::new()))),
        [one] if one.node() == implied.node() => members.retain(|member| member.key != TRIES),
        _ => {}
    }
    (!members.is_empty()).then(|| Value::Object(members).into())
}

/// The half of a result without what most results have, and with the titles of plain checks in the place of their
/// evidence. A value that is absent though most results have one is written as null.
pub(super) fn of_binding(internal: Option<Node>) -> Option<Node> {
    let mut members = internal?.into_members();
    map_list(&mut members, EVIDENCE, |one| {
        let title = one.get("check").and_then(Node::as_str)?;
        (*one == passed(title)).then(|| Node::string(title))
    });
    for usual in usual(&members) {
        let known = members.iter().position(|member| member.key == usual.key);
        match known {
            Some(place) if members.get(place).is_some_and(|own| own.node == usual.node) => {
                members.remove(place);
            }
            Some(_) => {}
            None => members.push(Member::new(&usual.key, Node::null())),
        }
    }
    Some(Value::Object(members).into())
}

/// The half of a result with what was left out.
pub(crate) fn with_usual(half: &Node) -> Node {
    let mut members = half.clone().into_members();
    map_list(&mut members, EVIDENCE, |one| one.as_str().map(passed));
    for usual in usual(&members) {
        if members.iter().all(|member| member.key != usual.key) {
            members.push(usual);
        }
    }
    Value::Object(members).into()
}

fn passed(title: &str) -> Node {
    Node::object(Vec::from([("check", Node::string(title)), ("verdict", Node::string("pass"))]))
}

/// Most results by attempts are those of a first one, and depend on nothing. A person's has no context.
fn usual(half: &[Member]) -> Vec<Member> {
    let usual = [("inputs", Node::string(Digest::of(b"").as_str())), ("attempts", Node::uint(1))];
    if half.iter().any(|member| member.key == CONTEXT) {
        usual.map(|(key, node)| Member::new(key, node)).to_vec()
    } else {
        Vec::new()
    }
}

/// Puts the try of a result back into its atom.
pub(crate) fn give_try(atom: &mut Atom, binding: &Binding, half: &Node) {
    if half.get(TRIES).is_some() {
        return;
    }
    if let (Some(task), Some(implied)) = (atom.task_mut(), binding.implied_try()) {
        task.tries.push(implied);
    }
}

/// The half of the run with the name of an atom in the place of the commit that its binding has.
pub(super) fn without_commits(run: Node, bindings: &Records<Binding>) -> Node {
    let commit = |id: &str| bindings.get(id).and_then(|binding| binding.commit.as_ref());
    let mut members = run.into_members();
    map_list(&mut members, LINE, |one| {
        let atom = one.get("atom").and_then(Node::as_str)?;
        let of_atom = commit(atom)?;
        (*one == made(atom, &Node::string(of_atom.as_str()))).then(|| Node::string(atom))
    });
    Value::Object(members).into()
}

/// Puts the commits of bindings back into the half of the run. A person may have taken out a binding, but not its half in
/// `internal`; of one without either nothing is known.
pub(crate) fn with_commits<'n>(run: &Node, half: impl Fn(&str) -> &'n Node) -> Node {
    let mut members = run.clone().into_members();
    map_list(&mut members, LINE, |one| {
        let atom = one.as_str()?;
        Some(half(atom).get("commit").map_or_else(Node::null, |commit| made(atom, commit)))
    });
    Value::Object(members).into()
}

fn made(atom: &str, commit: &Node) -> Node {
    Node::object(Vec::from([("atom", Node::string(atom)), ("commit", commit.clone())]))
}

/// Puts another item in the place of each for which there is one; null takes it out.
fn map_list(members: &mut [Member], key: &str, map: impl Fn(&Node) -> Option<Node>) {
    let list = members.iter_mut().find(|member| member.key == key);
    let Some(Value::Array(items)) = list.map(|member| &mut member.node.value) else {
        return;
    };
    for item in items.iter_mut() {
        if let Some(other) = map(item) {
            *item = other;
        }
    }
    items.retain(|item| !item.is_null());
}
