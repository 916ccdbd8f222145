//! The atoms of contract 1.3, with their facts from other sections: decompositions become `all`, groups of choices
//! become `any`, results become bindings.
//!
//! Invariant: every dependency of the old file is kept. If its end is inside a group, it is lifted to the group.

use descent_core::doc::prelude::*;
use descent_core::{
    doc::{self, Member, Node, Span, Value},
    id::AtomId,
    state::{
        ShownStatus,
        binding::SUMMARY_CHARS_MAX,
        fields::{Extra, Writer},
    },
};

use super::{Facts, FailedChoice, quoted};
use crate::{
    reader::{Element, HERE, Name, Reader, placed, written},
    report::{Fate, Report},
};

#[derive(Default)]
pub(super) struct WorkGraph {
    pub(super) atoms: Vec<(String, Node)>,
    pub(super) bindings: Vec<(String, Node)>,
    pub(super) facts: Facts,
    /// The atom that each group of choices became.
    pub(super) groups: BTreeMap<String, String>,
}

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

struct Decomposition {
    span: Span,
    children: Vec<Name>,
    reason: Option<Node>,
}

#[derive(Default)]
struct Sections {
    atoms: BTreeMap<String, Atom>,
    /// Decompositions by parent.
    decompositions: BTreeMap<String, Decomposition>,
    /// Groups by their new id.
    groups: BTreeMap<String, Group>,
    /// For each member, its group.
    owner: BTreeMap<String, String>,
}

pub(super) fn read(old: &mut Reader<'_, '_>) -> WorkGraph {
    let mut graph = WorkGraph::default();
    let mut all = Sections::default();
    old.each("atoms", |atom| all.add_atom(atom));
    old.each("decompositions", |decomposition| all.add_decomposition(decomposition));
    for entry in old.entries("or_groups") {
        if let Some(group) = entry.open(old.report) {
            all.add_group(group, &entry, &mut graph);
        }
    }
    all.check_members(&graph, old.report);
    all.find_owners();
    let mut results = results_all(old);
    for (id, atom) in &all.atoms {
        let node = all.atom_node(id, atom, old.report);
        let result = results.remove(id);
        match result.filter(|result| all.counts(id, atom, result, old.report)) {
            Some(result) => {
                let binding = results_binding(&result, id, old.report);
                graph.bindings.push((id.clone(), binding));
                graph.atoms.push((id.clone(), resolved(node)));
            }
            None => {
                if atom.is_resolved && !all.decompositions.contains_key(id) {
                    let what = "resolved, but there is no result of it: it is open again";
                    old.report.add(Fate::Changed, &atom.at, atom.span, what);
                }
                graph.atoms.push((id.clone(), node));
            }
        }
    }
    for Element { at, node, .. } in results.values() {
        old.report.keep(at, node, "there is no such atom");
    }
    let groups = all.groups.iter();
    graph.atoms.extend(groups.map(|(id, group)| (id.clone(), any(group))));
    graph.atoms.sort_by(|a, b| a.0.cmp(&b.0));
    graph
}

impl Sections {
    fn add_atom(&mut self, mut old: Reader<'_, '_>) {
        let Some(id) = old.name("id") else {
            old.fault_in(HERE, "missing-key", "an atom without its `id`", None);
            return;
        };
        if let Some(first) = self.atoms.get(&id.text) {
            let message = format!("`{}` stands there already, at {}", id.text, first.at);
            let hint = Some("keep one of them");
            old.report.fault("named-twice", &old.at, id.span, message, hint);
            return;
        }
        let atom = Atom {
            at: old.at.clone(),
            span: old.span(),
            description: old.text("description"),
            is_resolved: is_resolved(&mut old),
            depends_on: old.names("depends_on"),
            or_group: old.name("or_group"),
        };
        let what = format!("the atom `{}`", id.text);
        old.report.add(Fate::Carried, &old.at, id.span, what);
        old.finish();
        self.atoms.insert(id.text, atom);
    }

    fn add_decomposition(&mut self, mut old: Reader<'_, '_>) {
        let span = old.span();
        let Some(parent) = old.name("parent") else {
            old.fault_in(HERE, "missing-key", "a decomposition without its `parent`", None);
            return;
        };
        let children = old.names("children");
        let reason = old.text("reason");
        if !self.atoms.contains_key(&parent.text) {
            let message = format!("there is no atom `{}`", parent.text);
            old.report.fault("unknown-atom", &old.at, parent.span, message, None);
        } else if children.is_empty() {
            old.keep_here("it names no children");
            return;
        } else {
            let what = format!("`{}` is the group `all` of its children", parent.text);
            old.note(Fate::Changed, HERE, what);
            let first = self.decompositions.entry(parent.text);
            let known =
                first.or_insert_with(|| Decomposition { span, children: Vec::new(), reason: None });
            known.children.extend(children);
            known.reason = known.reason.take().or(reason);
        }
        old.finish();
    }

    fn add_group(&mut self, mut old: Reader<'_, '_>, entry: &Element<'_>, graph: &mut WorkGraph) {
        let (at, key, key_span) = (&entry.at, entry.key, entry.key_span);
        let id = self.free_id(key);
        if id != key {
            let what = format!("called `{id}` here");
            old.report.add(Fate::Changed, at, key_span, what);
        }
        let choices = self.choices(&mut old);
        let failed = old.names("failed");
        let selected = selected(&mut old, &choices, &failed);
        old.keep("speculative", "choices are tried one after the other");
        for name in failed {
            if choices.iter().any(|choice| choice.text == name.text) {
                graph.facts.failed.push(FailedChoice {
                    group: AtomId::new(id.as_str()),
                    choice: AtomId::new(name.text),
                    span: name.span,
                });
            } else {
                keep_name(&mut old, "failed", &name, "it is no choice of the group");
            }
        }
        let what = format!("the group `{id}`");
        old.report.add(Fate::Carried, at, key_span, what);
        let span = old.span();
        old.finish();
        graph.groups.insert(String::from(key), id.clone());
        let group = Group { span, choices, selected };
        self.groups.insert(id, group);
    }

    /// A free id made from the name of a group.
    fn free_id(&self, name: &str) -> String {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let chars = name.chars().map(|c| if is_fit(c) { c } else { '_' });
        let mut id: String = chars.take(56).collect();
        if !id.starts_with(|c: char| c.is_ascii_alphabetic()) {
            id.insert(0, 'G');
        }
        let is_taken = |id: &str| self.atoms.contains_key(id) || self.groups.contains_key(id);
        if !is_taken(&id) {
            return id;
        }
        let mut others = (1..10_000).map(|n| format!("{id}_g{n}"));
        others.find(|id| !is_taken(id)).unwrap_or(id)
    }

    /// A choice without an atom cannot be tried: it is reported, and kept.
    fn choices(&self, old: &mut Reader<'_, '_>) -> Vec<Name> {
        let names = old.names("choices").into_iter();
        let (there, missing): (Vec<Name>, Vec<Name>) =
            names.partition(|name| self.atoms.contains_key(&name.text));
        for name in missing {
            let why = format!("there is no atom `{}`, so this choice cannot be made", name.text);
            keep_name(old, "choices", &name, &why);
        }
        there
    }

    /// Checks that an atom's group and the group's choices agree.
    fn check_members(&self, graph: &WorkGraph, report: &mut Report) {
        for (id, atom) in &self.atoms {
            let Some(name) = &atom.or_group else {
                continue;
            };
            let group = graph.groups.get(&name.text);
            let group = group.and_then(|id| self.groups.get(id));
            let is_choice = |group: &Group| group.choices.iter().any(|choice| choice.text == *id);
            if !group.is_some_and(is_choice) {
                let message = format!(
                    "`{id}` says that it is a choice of `{}`, and /or_groups does not say so",
                    name.text
                );
                let hint = Some("add it to the choices there, or take the `or_group` out");
                let at = format!("{}/or_group", atom.at);
                report.fault("halves-disagree", &at, name.span, message, hint);
            }
        }
    }

    /// Finds the group of each part or choice. A choice among the children of a parent is there by its group.
    fn find_owners(&mut self) {
        for (id, group) in &self.groups {
            for choice in &group.choices {
                self.owner.insert(choice.text.clone(), id.clone());
            }
        }
        for (parent, decomposition) in &mut self.decompositions {
            for child in &mut decomposition.children {
                let owner = self.owner.get(&child.text);
                if let Some(group) = owner.filter(|owner| self.groups.contains_key(*owner)) {
                    child.text.clone_from(group);
                }
            }
            let mut seen = BTreeSet::new();
            let children = &mut decomposition.children;
            children.retain(|child| seen.insert(child.text.clone()));
            for child in children {
                let owner = self.owner.entry(child.text.clone());
                owner.or_insert_with(|| parent.clone());
            }
        }
    }

    /// The groups around an atom, the innermost first; a cycle ends here, and is a fault elsewhere.
    fn above(&self, id: &str) -> Vec<&str> {
        let mut above: Vec<&str> = Vec::new();
        let mut owner = self.owner.get(id);
        while let Some(next) = owner.filter(|next| !above.contains(&next.as_str())) {
            above.push(next);
            owner = self.owner.get(next);
        }
        above
    }

    /// The atom that `id` can wait for instead of `dep`: the outermost group around `dep` that is not around `id` too.
    fn reachable<'a>(&'a self, id: &str, dep: &'a str) -> &'a str {
        let around = self.above(id);
        let above = self.above(dep).into_iter();
        let outside = above.take_while(|group| !around.contains(group) && *group != id);
        outside.last().unwrap_or(dep)
    }

    /// Whether a result counts: its atom is resolved, and is no group, since a group is solved by its parts.
    fn counts(&self, id: &str, atom: &Atom, result: &Element<'_>, report: &mut Report) -> bool {
        let why = match (self.decompositions.contains_key(id), atom.is_resolved) {
            (true, _) => "a group is solved by its parts",
            (false, false) => "the atom is not resolved, so it is made again",
            (false, true) => return true,
        };
        report.keep(&result.at, result.node, why);
        false
    }

    fn atom_node(&self, id: &str, atom: &Atom, report: &mut Report) -> Node {
        let mut to = Writer::default();
        let mut origin = Writer::default();
        origin.text("by", "migrate");
        let deps = self.lifted_deps(id, atom, report);
        let deps = placed(atom.span, names(&deps));
        if let Some(decomposition) = self.decompositions.get(id) {
            let parts = placed(decomposition.span, names(&decomposition.children));
            to.text("kind", "all");
            to.some("description", atom.description.clone());
            to.put("parts", parts).put("depends_on", deps);
            origin.some("reason", decomposition.reason.clone());
        } else {
            to.text("kind", "task");
            to.some("description", atom.description.clone());
            to.put("depends_on", deps).text("status", "pending");
        }
        to.put("origin", origin.finish(&Extra::default()));
        written(atom.span, &mut to)
    }

    fn lifted_deps(&self, id: &str, atom: &Atom, report: &mut Report) -> Vec<Name> {
        let mut deps: Vec<Name> = Vec::new();
        for dep in &atom.depends_on {
            let lifted = self.reachable(id, &dep.text);
            if lifted != dep.text {
                let what =
                    format!("`{id}` waits for `{lifted}`, the group that `{}` is in", dep.text);
                let at = format!("{}/depends_on", atom.at);
                report.add(Fate::Changed, &at, dep.span, what);
            }
            if !deps.iter().any(|known| known.text == lifted) {
                deps.push(Name { text: String::from(lifted), span: dep.span });
            }
        }
        deps
    }
}

fn is_resolved(old: &mut Reader<'_, '_>) -> bool {
    let status = old.name("status");
    match status.as_ref().map(|status| status.text.as_str()) {
        Some("resolved") => return true,
        None | Some("pending") => {}
        Some("in_progress") => {
            let what = "it was under way; nothing of it is known, so it is open again";
            old.note(Fate::Changed, "status", what);
        }
        Some(other) => {
            let message = format!("`{}` is no status of an atom", quoted(other));
            let hint = Some("pending, in_progress or resolved");
            old.fault_in("status", "unknown-value", message, hint);
        }
    }
    false
}

fn selected(old: &mut Reader<'_, '_>, choices: &[Name], failed: &[Name]) -> Option<String> {
    let name = old.name("selected")?.text;
    if !choices.iter().any(|choice| choice.text == name) {
        let message = format!("`{name}` is selected and is no choice that can be made");
        let hint = Some("name one of the choices, or null");
        old.fault_in("selected", "selected-not-a-choice", message, hint);
        return None;
    }
    if failed.iter().any(|one| one.text == name) {
        let what = format!("`{name}` is selected and failed too: nothing is selected");
        old.note(Fate::Changed, "selected", what);
        return None;
    }
    Some(name)
}

/// Keeps one name of a list, as a list.
fn keep_name(old: &mut Reader<'_, '_>, key: &str, name: &Name, why: &str) {
    let node = placed(name.span, Node::string(name.text.as_str()));
    old.report.keep(&doc::pointer_push(&old.at, key), &node, why);
}

fn any(group: &Group) -> Node {
    let selected = group.selected.as_deref();
    let mut to = Writer::default();
    to.text("kind", "any")
        .put("choices", placed(group.span, names(&group.choices)))
        .put("selected", selected.map_or_else(Node::null, Node::string))
        .put("depends_on", Node::array(Vec::new()));
    written(group.span, &mut to)
}

fn names(names: &[Name]) -> Node {
    let node = |name: &Name| placed(name.span, Node::string(name.text.as_str()));
    Node::array(names.iter().map(node).collect())
}

/// The atom of a result.
fn resolved(mut atom: Node) -> Node {
    if let Value::Object(members) = &mut atom.value {
        members.retain(|member| member.key != "status");
        let status = Node::string(ShownStatus::Resolved.word());
        members.push(Member { key: "status".into(), key_span: Span::default(), node: status });
    }
    atom
}

// The results of contract 1.3: for each atom a summary and artifacts.

/// The results by the id of the atom.
fn results_all<'a>(old: &mut Reader<'a, '_>) -> BTreeMap<String, Element<'a>> {
    let entries = old.entries("bindings").into_iter();
    entries.map(|result| (String::from(result.key), result)).collect()
}

fn results_binding(result: &Element<'_>, id: &str, report: &mut Report) -> Node {
    let Some(mut old) = result.open(report) else {
        return result.node.clone();
    };
    let summary = old.text("summary");
    let text = summary.as_ref().and_then(Node::as_str).unwrap_or_default();
    let short: String = text.chars().take(SUMMARY_CHARS_MAX).collect();
    if short.len() < text.len() {
        let why = format!(
            "a summary has at most {SUMMARY_CHARS_MAX} characters: its beginning is carried"
        );
        old.keep("summary", &why);
    }
    let mut to = Writer::default();
    to.put("summary", placed(old.span(), Node::string(short)));
    let artifacts = old.take("artifacts");
    let is_empty = |node: &Node| node.as_array().is_some_and(<[Node]>::is_empty);
    to.some("artifacts", artifacts.filter(|node| !is_empty(node)).cloned());
    to.text("by", "aot");
    old.note(Fate::Carried, HERE, format!("the result of `{id}`"));
    old.finish_as(to)
}
