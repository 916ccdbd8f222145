//! The atoms of contract 1.3, with what it tells of them elsewhere: decompositions become `all`, groups of choices
//! become `any`, results become bindings.
//!
//! Invariant: every arrow of the old file is there, lifted to the group where its end is inside of one.

use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};

use super::super::{
    facts::Facts,
    old::{Name, Old, placed},
    report::{Fate, Report},
};
use super::results;
use crate::{
    doc::{self, Node, Span},
    state::{Extra, fields::Writer},
};

#[derive(Default)]
pub(super) struct Graph {
    pub(super) atoms: Vec<(String, Node)>,
    pub(super) bindings: Vec<(String, Node)>,
    pub(super) facts: Facts,
    /// The atom that each group of choices became.
    pub(super) groups: BTreeMap<String, String>,
}

#[derive(Clone)]
struct Atom {
    at: String,
    span: Span,
    description: Option<Node>,
    is_resolved: bool,
    depends_on: Vec<Name>,
    or_group: Option<Name>,
}

struct Group {
    span: Span,
    choices: Vec<Name>,
    selected: Option<String>,
}

struct Split {
    span: Span,
    children: Vec<Name>,
    reasons: Vec<Node>,
}

#[derive(Default)]
struct Sections {
    atoms: BTreeMap<String, Atom>,
    splits: BTreeMap<String, Split>,
    /// By the id that the group gets here.
    groups: BTreeMap<String, Group>,
    /// Of each member, the group that it is part or choice of.
    owner: BTreeMap<String, String>,
}

pub(super) fn read(old: &mut Old<'_>, report: &mut Report) -> Graph {
    let mut graph = Graph::default();
    let mut all = Sections::default();
    for (at, node) in old.items("atoms", report) {
        atom(node, &at, &mut all, report);
    }
    for (at, node) in old.items("decompositions", report) {
        split(node, &at, &mut all, report);
    }
    groups(old, &mut all, &mut graph, report);
    members(&all, &graph, report);
    own(&mut all);
    let mut results = results::all(old, report);
    for (id, atom) in &all.atoms {
        let node = written(id, atom, &all, report);
        let result = results.remove(id);
        let is_group = all.splits.contains_key(id);
        let result = result.and_then(|result| solved(id, atom, is_group, result, report));
        match result {
            Some(result) => {
                let binding = results::binding(result, id, node, report);
                graph.bindings.push((id.clone(), binding));
            }
            None => {
                if atom.is_resolved && !is_group {
                    let what = "resolved, but there is no result of it: it is open again";
                    report.add(Fate::Changed, (&atom.at, atom.span), what);
                }
                graph.atoms.push((id.clone(), node));
            }
        }
    }
    for (id, result) in results {
        let at = doc::pointer_push("/bindings", &id);
        report.keep(&at, result, "there is no such atom");
    }
    for (id, group) in &all.groups {
        graph.atoms.push((id.clone(), any(group)));
    }
    graph.atoms.sort_by(|a, b| a.0.cmp(&b.0));
    graph
}

/// A result counts where its atom is resolved, and is no group: that is solved by its parts.
fn solved<'a>(
    id: &str,
    atom: &Atom,
    is_group: bool,
    result: &'a Node,
    report: &mut Report,
) -> Option<&'a Node> {
    let why = match (is_group, atom.is_resolved) {
        (true, _) => "a group is solved by its parts",
        (false, false) => "the atom is not resolved, so it is made again",
        (false, true) => return Some(result),
    };
    report.keep(&doc::pointer_push("/bindings", id), result, why);
    None
}

fn atom(node: &Node, at: &str, all: &mut Sections, report: &mut Report) {
    let Some(mut old) = Old::open(node, at, report) else {
        return;
    };
    let Some((id, id_at)) = old.name("id", report) else {
        report.fault(
            "missing-key",
            (at, node.span),
            "an atom without its `id`",
            None,
        );
        return;
    };
    if let Some(first) = all.atoms.get(&id) {
        let message = format!("`{id}` stands there already, at {}", first.at);
        report.fault(
            "named-twice",
            (at, id_at),
            message,
            Some("keep one of them"),
        );
        return;
    }
    let description = old.text("description", report);
    let status = old.name("status", report);
    let path = old.path("status");
    let is_resolved = match status.as_ref().map(|(word, _)| word.as_str()) {
        Some("resolved") => true,
        None | Some("pending") => false,
        Some("in_progress") => {
            let span = status.as_ref().map_or(node.span, |(_, span)| *span);
            let what = "it was under way; nothing of it is known, so it is open again";
            report.add(Fate::Changed, (&path, span), what);
            false
        }
        Some(other) => {
            let message = format!("`{}` is no status of an atom", super::quoted(other));
            let span = status.as_ref().map_or(node.span, |(_, span)| *span);
            let hint = Some("pending, in_progress or resolved");
            report.fault("unknown-value", (&path, span), message, hint);
            false
        }
    };
    let atom = Atom {
        at: at.to_owned(),
        span: node.span,
        description,
        is_resolved,
        depends_on: old.names("depends_on", report),
        or_group: old.name("or_group", report),
    };
    old.finish(report);
    report.add(Fate::Carried, (at, id_at), format!("the atom `{id}`"));
    all.atoms.insert(id, atom);
}

fn split(node: &Node, at: &str, all: &mut Sections, report: &mut Report) {
    let Some(mut old) = Old::open(node, at, report) else {
        return;
    };
    let parent = old.name("parent", report);
    let children = old.names("children", report);
    let reason = old.text("reason", report);
    old.finish(report);
    let Some((parent, place)) = parent else {
        report.fault(
            "missing-key",
            (at, node.span),
            "a decomposition without its `parent`",
            None,
        );
        return;
    };
    if !all.atoms.contains_key(&parent) {
        report.fault(
            "unknown-atom",
            (at, place),
            format!("there is no atom `{parent}`"),
            None,
        );
        return;
    }
    if children.is_empty() {
        report.keep(at, node, "it names no children");
        return;
    }
    report.add(
        Fate::Changed,
        (at, node.span),
        format!("`{parent}` is the group `all` of its children"),
    );
    let split = all.splits.entry(parent).or_insert_with(|| Split {
        span: node.span,
        children: Vec::new(),
        reasons: Vec::new(),
    });
    split.children.extend(children);
    split.reasons.extend(reason);
}

fn groups(old: &mut Old<'_>, all: &mut Sections, graph: &mut Graph, report: &mut Report) {
    let Some(node) = old.take("or_groups") else {
        return;
    };
    if node.as_array().is_some_and(<[_]>::is_empty) {
        return;
    }
    let Some(_) = Old::open(node, "/or_groups", report) else {
        return;
    };
    for member in node.as_object().unwrap_or_default() {
        let at = doc::pointer_push("/or_groups", &member.key);
        let Some(mut old) = Old::open(&member.node, &at, report) else {
            continue;
        };
        let id = free_id(&member.key, all);
        if id != member.key {
            let what = format!("called `{id}` here");
            report.add(Fate::Changed, (&at, member.key_span), what);
        }
        let choices = choices(&mut old, &at, all, report);
        let failed = old.names("failed", report);
        let selected = selected(&mut old, &choices, &failed, report);
        let speculative = old.take("speculative");
        if let Some(node) = speculative {
            report.keep(
                &old.path("speculative"),
                node,
                "choices are tried one after the other",
            );
        }
        old.finish(report);
        for (name, span) in &failed {
            if choices.iter().any(|(choice, _)| choice == name) {
                graph.facts.failed(&id, name, *span);
            } else {
                let at = doc::pointer_push(&at, "failed");
                let text = Node::string(name.as_str());
                report.keep(&at, &placed(*span, text), "it is no choice of the group");
            }
        }
        report.add(
            Fate::Carried,
            (&at, member.key_span),
            format!("the group `{id}`"),
        );
        graph.groups.insert(member.key.clone(), id.clone());
        let span = member.node.span;
        all.groups.insert(
            id,
            Group {
                span,
                choices,
                selected,
            },
        );
    }
}

/// The name of a group where it can be an id and is none yet.
fn free_id(name: &str, all: &Sections) -> String {
    let mut id: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .take(56)
        .collect();
    if !id.starts_with(|c: char| c.is_ascii_alphabetic()) {
        id.insert(0, 'G');
    }
    let is_taken = |id: &str| all.atoms.contains_key(id) || all.groups.contains_key(id);
    if !is_taken(&id) {
        return id;
    }
    (1..10_000)
        .map(|n| format!("{id}_g{n}"))
        .find(|id| !is_taken(id))
        .unwrap_or(id)
}

/// A choice without an atom is nothing that could be tried: told, and kept.
fn choices(old: &mut Old<'_>, at: &str, all: &Sections, report: &mut Report) -> Vec<Name> {
    let (there, missing): (Vec<Name>, Vec<Name>) = old
        .names("choices", report)
        .into_iter()
        .partition(|(name, _)| all.atoms.contains_key(name));
    for (name, span) in missing {
        let path = format!("{at}/choices");
        let why = format!("there is no atom `{name}`, so this choice cannot be made");
        report.keep(&path, &placed(span, Node::string(name)), &why);
    }
    there
}

fn selected(
    old: &mut Old<'_>,
    choices: &[Name],
    failed: &[Name],
    report: &mut Report,
) -> Option<String> {
    let (name, span) = old.name("selected", report)?;
    let path = old.path("selected");
    if !choices.iter().any(|(choice, _)| *choice == name) {
        let message = format!("`{name}` is selected and is no choice that can be made");
        report.fault(
            "selected-not-a-choice",
            (&path, span),
            message,
            Some("name one of the choices, or null"),
        );
        return None;
    }
    if failed.iter().any(|(one, _)| *one == name) {
        let what = format!("`{name}` is selected and failed too: nothing is selected");
        report.add(Fate::Changed, (&path, span), what);
        return None;
    }
    Some(name)
}

/// What an atom says of its group, and what the group says of its choices, has to agree.
fn members(all: &Sections, graph: &Graph, report: &mut Report) {
    for (id, atom) in &all.atoms {
        let Some((name, span)) = &atom.or_group else {
            continue;
        };
        let at = format!("{}/or_group", atom.at);
        let group = graph.groups.get(name).and_then(|id| all.groups.get(id));
        let is_choice =
            group.is_some_and(|group| group.choices.iter().any(|(choice, _)| choice == id));
        if !is_choice {
            let message = format!(
                "`{id}` says that it is a choice of `{name}`, and /or_groups does not say so"
            );
            let hint = Some("add it to the choices there, or take the `or_group` out");
            report.fault("halves-disagree", (&at, *span), message, hint);
        }
    }
}

/// Who is part or choice of which group; a choice among the children of a split stands there by its group.
fn own(all: &mut Sections) {
    for (id, group) in &all.groups {
        for (choice, _) in &group.choices {
            all.owner.insert(choice.clone(), id.clone());
        }
    }
    for (parent, split) in &mut all.splits {
        let mut seen = BTreeSet::new();
        for (child, _) in &mut split.children {
            if let Some(group) = all
                .owner
                .get(child)
                .filter(|owner| all.groups.contains_key(*owner))
            {
                child.clone_from(group);
            }
        }
        split
            .children
            .retain(|(child, _)| seen.insert(child.clone()));
        for (child, _) in &split.children {
            all.owner
                .entry(child.clone())
                .or_insert_with(|| parent.clone());
        }
    }
}

impl Sections {
    /// The groups around an atom, the innermost first; a circle ends, and is a fault elsewhere.
    fn above(&self, id: &str) -> Vec<&str> {
        let mut above: Vec<&str> = Vec::new();
        let mut owner = self.owner.get(id);
        while let Some(next) = owner.filter(|next| !above.contains(&next.as_str())) {
            above.push(next);
            owner = self.owner.get(next);
        }
        above
    }

    /// What `id` can wait for where `dep` was meant: the outermost group around it that is not around `id` too.
    fn reachable<'a>(&'a self, id: &str, dep: &'a str) -> &'a str {
        let around = self.above(id);
        let mut dep = dep;
        for group in self.above(dep) {
            if around.contains(&group) || group == id {
                break;
            }
            dep = group;
        }
        dep
    }
}

fn written(id: &str, atom: &Atom, all: &Sections, report: &mut Report) -> Node {
    let mut to = Writer::default();
    let split = all.splits.get(id);
    to.text("kind", if split.is_some() { "all" } else { "task" });
    to.some("description", atom.description.clone());
    if let Some(split) = split {
        to.put("parts", placed(split.span, names(split.children.clone())));
    }
    let mut deps: Vec<Name> = Vec::new();
    for (dep, span) in &atom.depends_on {
        let lifted = all.reachable(id, dep);
        if lifted != dep {
            let what = format!("`{id}` waits for `{lifted}`, the group that `{dep}` is in");
            report.add(
                Fate::Changed,
                (&format!("{}/depends_on", atom.at), *span),
                what,
            );
        }
        if !deps.iter().any(|(known, _)| known == lifted) {
            deps.push((lifted.to_owned(), *span));
        }
    }
    to.put("depends_on", placed(atom.span, names(deps)));
    if split.is_none() {
        to.text("status", "pending");
    }
    let mut origin = Writer::default();
    origin.text("by", "migrate");
    origin.some(
        "reason",
        split.and_then(|split| split.reasons.first().cloned()),
    );
    to.put("origin", origin.finish(&Extra::default()));
    placed(atom.span, to.finish(&Extra::default()))
}

fn any(group: &Group) -> Node {
    let selected = group
        .selected
        .as_deref()
        .map_or_else(Node::null, Node::string);
    let mut to = Writer::default();
    to.text("kind", "any")
        .put("choices", placed(group.span, names(group.choices.clone())))
        .put("selected", selected)
        .put("depends_on", Node::array(Vec::new()));
    placed(group.span, to.finish(&Extra::default()))
}

fn names(names: Vec<Name>) -> Node {
    let node = |(name, span): Name| placed(span, Node::string(name));
    Node::array(names.into_iter().map(node).collect())
}
